#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {

/// The arguments of a call, with the defaults of the signature, and its arrays by name.
struct GivenArrays {
  Call call{};
  std::vector<std::pair<std::string, Array>> arrays{};  // in the signature's order

  const Array* find(std::string_view name) const {
    const auto it = std::ranges::find_if(arrays, [&](const auto& a) { return a.first == name; });
    return it == arrays.end() ? nullptr : &it->second;
  }
  const Array& operator[](std::string_view name) const {
    const Array* found = find(name);
    want(found != nullptr, "an array is missing");
    return *found;
  }
  bool is(std::string_view name) const { return call.whole(name, 0) != 0; }
  std::string_view word(std::string_view name) const { return call.required(name); }
  std::size_t axis(const Array& of, std::string_view name = "axis") const {
    return axis_of(call, of, name);
  }
  /// The result of calls as a row has them.
  Array by(std::string_view calls) const;
};

/// Losses times the weight, if there is one, reduced as the argument says.
Array reduced(const GivenArrays& g, Array losses);
/// Rows of samples between elements, and of the definitions that are formulas.
std::span<const KernelLoops> sampling_and_formula_loops();

}  // namespace touchstone::fuzz::defined
