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

/// Helpers of the tables.
TensorOptions options_of(const Call& call, const Tensors& x);
std::vector<int> ints_of(const std::vector<std::int64_t>& all);
Number number_in(std::string_view text);
Shape shape_in(const Call& call, std::string_view key);
std::vector<Slice> slices_in(const Call& call);

}  // namespace touchstone::fuzz
