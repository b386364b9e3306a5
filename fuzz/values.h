#pragma once

#include <vector>

#include "touchstone/device/npy.h"
#include "touchstone/fuzz/chooser.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::fuzz {

/// How the elements of an input are drawn.
enum class ValueFamily : std::uint8_t {
  Integers,  // small integers: sums and products of them are exact in any order
  Edges,     // NaN, infinities, zeros of both signs, subnormals, extremes among small integers
  Random     // floats over a few binades, integers over their range
};
inline constexpr ValueFamily kValueFamilies[] = {ValueFamily::Integers, ValueFamily::Edges,
                                                 ValueFamily::Random};
std::string_view name(ValueFamily family);

/// The values of a type at which implementations part: the simplest first.
const std::vector<Scalar>& edge_values(DType dtype);

/// `size` elements of `dtype`.
HostArray draw_values(Chooser& chooser, ValueFamily family, DType dtype, std::int64_t size);

/// Inputs for every buffer of a concrete kernel that it reads; element i is buffer i + 1.
std::vector<HostArray> draw_inputs(Chooser& chooser, ValueFamily family, const LazyOpPtr& kernel);

}  // namespace touchstone::fuzz
