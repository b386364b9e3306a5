#pragma once

#include "touchstone/device/config.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/pattern_matcher.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone::kernelize {

using Examples = std::vector<RuleExample>;

/// Turns movement into views and merges views of views; views of empty values or constants are
/// folded into the constant.
PatternMatcher merge_views();

/// Arithmetic identities that hold bit for bit: no x*0, x/x, x*y/y or x+0 for floats. Context:
/// none.
PatternMatcher arithmetic();

/// Tensor rules: empty values, reduces of copies, copies between devices, contiguous, assign,
/// elementwise work before an expand. Apply after `arithmetic()`. Context: Simplifying.
PatternMatcher simplify_tensors();

/// Redirects readers of the base of a view that contiguous() stored to the stored elements.
/// Context: Simplifying.
PatternMatcher replace_contiguous();

/// Pushes FUSE down to its reduces, marking them to be computed in the kernel that reads them.
PatternMatcher fuse();

/// All of these in pipeline order.
PatternMatcher simplification();

/// The state shared by simplification rules.
struct Simplifying {
  const Config& config;
  UOpMap<UOp> stored{};  // base of a view -> the base, read from the stored view
};

/// A reduce split in two: axis `axis` viewed as (size / divisor, divisor).
struct Split {
  int axis = 0;
  std::int64_t divisor = 1;
  bool operator==(const Split&) const = default;
};
/// Returns how to split a reduce; nullopt for none. `source`: the operand, with at least threshold
/// elements per result. Chooses the first reduced axis, in order, that has a divisor d from
/// min(256, 2^size / results) down to 8, less than the number of all terms, and along which
/// adjacent elements are not adjacent in memory.
std::optional<Split> split_of(const ShapeTracker& source, std::span<const int> axes,
                              const Config& config);

/// True if a reduce gives the same bits however it is split; not for float sums, which round once
/// per part.
bool same_in_parts(GraphOp op, DType d);

/// A flat buffer viewed as `shape`, which may be smaller if it is symbolic.
UOp as_shape(const UOp& flat, const Shape& shape);

/// The view of a reduce's operand when its results are seen through `st`: the axes of st, then the
/// reduced axes.
ShapeTracker terms_of(const UOp& reduce, const ShapeTracker& st);

/// `value`, of the shape of `st`, with 0 where `st` is masked.
LazyOpPtr where_valid(const ShapeTracker& st, LazyOpPtr value);

/// The default buffer limit of a device's kernels, as in the lineage; 0: no limit.
int most_buffers_of(std::string_view device);

}  // namespace touchstone::kernelize
