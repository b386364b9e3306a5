#pragma once

#include <vector>

#include "touchstone/files/npy.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/judge/edges.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::fuzz {

/// How the elements of the inputs of a kernel are drawn. Each family shows what the others hide.
enum class ValueFamily : std::uint8_t {
  Integers,  // so small that sums are exact in any order: one term too few or too many shows
  Full,      // full significands; of every other sum all but two terms are zeros, so that one
             // answer is legal and cut inputs show
  Edges,     // the operands at which implementations of the kernel's own operations part
  Zeros,     // of both signs: what was in an accumulator before shows
  Random,    // floats over a few binades, integers over their range
  Neutral    // 0, 1, -1, the ends of the type and infinities: what leaves the other operand as it
             // is, or hides it
};
/// Those of a suite.
inline constexpr ValueFamily kValueFamilies[] = {ValueFamily::Integers, ValueFamily::Full,
                                                 ValueFamily::Edges, ValueFamily::Zeros,
                                                 ValueFamily::Random};
/// One of these or, as often, Neutral.
ValueFamily draw_family(Chooser& chooser);
std::string_view name(ValueFamily family);

/// Elements of a shape.
std::int64_t product(const std::vector<std::int64_t>& sizes);

/// `size` elements of `dtype`, for no kernel in particular.
HostArray draw_values(Chooser& chooser, ValueFamily family, DType dtype, std::int64_t size);

/// Inputs for every buffer of a concrete kernel that it reads; element i is buffer i + 1. What the
/// kernel computes decides what has power: the terms of its sums bound the integers, its operations
/// choose the edges; positions that are checked are inside. Edges come in a fixed turn; `draw` says
/// how many inputs of this family the same kernel had before, so that the turn goes on.
std::vector<HostArray> draw_inputs(Chooser& chooser, ValueFamily family, const LazyOpPtr& kernel,
                                   int draw = 0);

}  // namespace touchstone::fuzz
