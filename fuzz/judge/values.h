#pragma once

#include <vector>

#include "touchstone/files/npy.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/judge/edges.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::fuzz {

/// How the elements of a kernel's inputs are drawn. Each family shows errors that others hide.
enum class ValueFamily : std::uint8_t {
  Integers,  // so small that sums are exact in any order: a missing or extra term shows
  Full,      // full significands; every other sum has only two nonzero terms, so that one answer
             // is legal and truncated inputs show
  Edges,     // operands on which implementations of the kernel's operations differ
  Zeros,     // of both signs: stale accumulator contents show
  Random,    // floats over a few binades, integers over their range
  Neutral    // 0, 1, -1, the ends of the type and infinities: identities and absorbing elements
};
/// The families of a suite.
inline constexpr ValueFamily kValueFamilies[] = {ValueFamily::Integers, ValueFamily::Full,
                                                 ValueFamily::Edges, ValueFamily::Zeros,
                                                 ValueFamily::Random};
/// One of these or, equally often, Neutral.
ValueFamily draw_family(Chooser& chooser);
std::string_view name(ValueFamily family);

/// The number of elements of a shape.
std::int64_t product(const std::vector<std::int64_t>& sizes);

/// `size` elements of `dtype`, for no particular kernel.
HostArray draw_values(Chooser& chooser, ValueFamily family, DType dtype, std::int64_t size);

/// Inputs for every buffer that a concrete kernel reads; element i is buffer i + 1. The kernel
/// decides which values have power: the terms of its sums bound the integers, its operations choose
/// the edges, checked positions are inside. Edges follow a fixed rotation; `draw` is the number of
/// earlier inputs of this family for the same kernel and continues it.
std::vector<HostArray> draw_inputs(Chooser& chooser, ValueFamily family, const LazyOpPtr& kernel,
                                   int draw = 0);

}  // namespace touchstone::fuzz
