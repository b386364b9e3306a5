#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

/// Checked positions: drawn ones may leave a case without an answer.
enum class Checks : bool { None, Drawn };

/// A well-typed kernel with inputs: elementwise DAGs with shared operands over views of every kind
/// (masks, broadcasts, negative strides, stacks), up to three nested and sibling reduces, casts and
/// bitcasts. One in eight has up to four variables, as axis sizes or mask bounds. One in six is one
/// or two operations over many elements, many of them edge values of that operation.
KernelCase draw_kernel_case(Chooser& chooser, Checks checks = Checks::None);

/// Kernels of a few strided loads and reduces; one in 56 of the cases that are not single
/// operations is of each of these kinds, tiles, lines and windows twice as many.
enum class Loops : std::uint8_t {
  Product,  // of two operands of up to 33 a side with little computation around it, or a batch
  Lines,    // values combined with reduces of their lines, as in softmax or variance
  Crossed,  // reduces of one buffer along rows or columns of the output, some with equal terms
  Tiles,    // matrix products of up to 72 lanes and 48 terms, whose operands are packed in tiles
  Windows   // convolutions, with padding on any side of the image or its windows, steps of any sign
};
/// Of any kind unless one is given.
KernelCase draw_loops(Chooser& chooser, std::optional<Loops> kind = {});

/// The kernels of the shipped models (tensor/models.h), forward and backward, small enough to be
/// judged in a millisecond; each once. One case in 64 uses one.
const std::vector<LazyOpPtr>& network_kernels();

/// A ShapeTracker of this logical shape, made by up to five movement operations.
ShapeTracker draw_view(Chooser& chooser, const std::vector<std::int64_t>& shape);

}  // namespace touchstone::fuzz
