#pragma once

#include <cstdint>
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

/// A contraction of two operands of up to 33 a side with little computation around it: rows, tiles
/// and lanes that share reads; one in two has a fourth axis. One in 48 of the cases that are not
/// single operations.
KernelCase draw_contraction(Chooser& chooser);

/// A convolution, with padding on any side of the image or its windows, steps of any sign, and a
/// factor over other axes; neighbouring terms read the same elements in other lanes. Twice as
/// frequent as contractions.
KernelCase draw_windows(Chooser& chooser);

/// Values combined with a reduce of their row, as in softmax; in one of three the reduce's terms
/// differ slightly from the values. As frequent as contractions.
KernelCase draw_normalised(Chooser& chooser);

/// Two or three reduces of one buffer along rows or columns of the output, some with equal terms.
/// As frequent as contractions.
KernelCase draw_reduces(Chooser& chooser);

/// A matrix product, or reduced windows or rows, of up to 72 lanes and 48 terms; a transposed or
/// reversed operand is packed in tiles, which are transposed. As frequent as contractions.
KernelCase draw_tiles(Chooser& chooser);

/// Elements minus a reduce of them along one axis, as in variance or softmax, reduced over some
/// axes, up to 100 elements each; one size may be a variable. As frequent as contractions.
KernelCase draw_spread(Chooser& chooser);

/// The kernels of the shipped models (tensor/models.h), forward and backward, small enough to be
/// judged in a millisecond; each once. One case in 64 uses one.
const std::vector<LazyOpPtr>& network_kernels();

/// A ShapeTracker of this logical shape, made by up to five movement operations.
ShapeTracker draw_view(Chooser& chooser, const std::vector<std::int64_t>& shape);

}  // namespace touchstone::fuzz
