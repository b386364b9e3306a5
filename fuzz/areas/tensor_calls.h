#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/cases/call.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone::fuzz {

using Tensors = std::vector<Tensor>;

/// A function of the tensor library, as a call names it.
struct TensorFunction {
  std::string_view name;
  Tensors (*of)(const Call& call, const Tensors& x);
};
std::span<const TensorFunction> plain_functions();     // methods and operators of Tensor
std::span<const TensorFunction> network_functions();   // functional.h and what it includes, nn.h
std::span<const TensorFunction> training_functions();  // optim.h, gradients

/// The call's tensors on a device, laid out in memory as the call says.
Tensors tensors_of(const Call& call, const std::string& device);
/// The library's results for the call. Throws ParseError if it is no call.
Tensors called(const Call& call, const Tensors& inputs);

/// A row of a table: the result, of `call` and its tensors x.
#define TOUCHSTONE_CALL(name, ...)                                             \
  {                                                                            \
    name, []([[maybe_unused]] const Call& call, const Tensors& x) -> Tensors { \
      return {__VA_ARGS__};                                                    \
    }                                                                          \
  }

/// Helpers of the tables.
TensorOptions options_of(const Call& call, const Tensors& x);
int int_in(const Call& call, std::string_view key, std::int64_t otherwise = 0);
Number number_in(const Call& call, std::string_view key = "value",
                 std::string_view otherwise = "0");
Shape shape_in(const Call& call, std::string_view key);
Padding pairs_in(const Call& call);  // of before and after
std::vector<Slice> slices_in(std::string_view parts);
/// x after `set` wrote a number, or the last tensor, to it.
template <class Set>
Tensors written(const Call& call, const Tensors& x, const Set& set) {
  Tensor y = x[0].clone();
  call.has("value") ? set(y, number_in(call)) : set(y, x.back());
  return {y};
}

}  // namespace touchstone::fuzz
