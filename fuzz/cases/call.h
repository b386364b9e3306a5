#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// An input tensor of a call; `via` selects its memory layout.
struct CallInput {
  DType dtype = DType::Float32;
  std::string via{};  // "": contiguous; "turned", "flipped", "cut", "wide", "computed"
  std::vector<std::int64_t> shape{};
  std::vector<std::string> values{};  // repeated to fill the elements

  std::int64_t size() const;
  Scalar at(std::int64_t element) const;
};

/// A call of a function of the tensor library: name, non-tensor arguments, tensors.
///   "call conv1d stride=2 | float32 1,1,4: 1 2 -0.5 | float32@flipped 1,1,2: 1"
/// The function's definition (definitions/calls.h) interprets the arguments and sets their
/// defaults.
struct Call {
  std::string name{};
  std::vector<std::pair<std::string, std::string>> args{};
  std::vector<CallInput> inputs{};

  /// Throws ParseError.
  static Call parse(std::string_view text);
  std::string str() const;

  std::optional<std::string_view> arg(std::string_view key) const;
  /// Throws ParseError if it is missing.
  std::string_view required(std::string_view key) const;
  bool has(std::string_view key) const { return arg(key).has_value(); }
  std::int64_t whole(std::string_view key, std::int64_t otherwise) const;
  double real(std::string_view key, double otherwise) const;
  /// "1,2"; "()" for an empty list.
  std::vector<std::int64_t> list(std::string_view key,
                                 const std::vector<std::int64_t>& otherwise = {}) const;
  void set(std::string_view key, std::string value);
  void set(std::string_view key, const std::vector<std::int64_t>& numbers);
};

bool is_call(std::string_view text);
std::string listed(const std::vector<std::int64_t>& numbers);
std::vector<std::int64_t> numbers_of(std::string_view word);

Call draw_call(Chooser& chooser);
/// Of a definition of `touchstone kernel --list`.
Call draw_kernel_call(Chooser& chooser);
/// The names of the functions that draw_call draws.
std::vector<std::string> drawn_calls();
std::vector<std::string> smaller_calls(const Call& call);
Measure measure_of(const Call& call);
Extent extent_of(const Call& call);

}  // namespace touchstone::fuzz
