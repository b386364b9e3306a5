#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

/// A well-typed kernel with inputs: elementwise DAGs with shared operands over views of every kind
/// (masks, broadcasts, negative strides, stacks), up to three reduces, above and beside each other,
/// casts and bitcasts; one in eight has up to four variables, which are sizes of axes or hide a
/// part of them. One in six is a single operation, or two, over many elements, of which many are at
/// an edge of that operation.
enum class Checks : bool { None, Drawn };  // of positions: then a case may have no answer
KernelCase draw_kernel_case(Chooser& chooser, Checks checks = Checks::None);

/// A contraction of two operands of up to 33 a side, with little computed before and after it:
/// rows, tiles and lanes that share what they read; one in two has a fourth axis. One case in 48 is
/// one, of those that are not single operations.
KernelCase draw_contraction(Chooser& chooser);

/// A convolution, with padding on any side of the image or of its windows, steps of any sign, and a
/// factor of other axes: neighbouring terms see what other lanes do. Twice as many as contractions.
KernelCase draw_windows(Chooser& chooser);

/// Values combined with a reduce of their row, as of a softmax; one in three with a reduce of
/// almost these. As many cases as contractions.
KernelCase draw_normalised(Chooser& chooser);

/// Two or three reduces of one buffer along rows or columns of the output, some of equal terms. As
/// many cases as contractions.
KernelCase draw_reduces(Chooser& chooser);

/// A product of two matrices, or windows or rows that are reduced, of up to 72 lanes and 48 terms:
/// an operand that is transposed, or backwards, is packed in tiles, and these are turned. As many
/// cases as contractions.
KernelCase draw_tiles(Chooser& chooser);

/// Elements less a reduce of them along one axis, as of a variance or a softmax, reduced over some
/// axes, of up to 100 elements each; one size may be a variable. As many cases as contractions.
KernelCase draw_spread(Chooser& chooser);

/// Those kernels of the shipped models (tensor/models.h), forward and backward, that are small
/// enough to be judged in a millisecond; each once. One case in 64 is one of them.
const std::vector<LazyOpPtr>& network_kernels();

/// A ShapeTracker whose logical shape is `shape`, through up to five movement operations.
ShapeTracker draw_view(Chooser& chooser, const std::vector<std::int64_t>& shape);

}  // namespace touchstone::fuzz
