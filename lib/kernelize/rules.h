#pragma once

#include "touchstone/device/config.h"
#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/pattern_matcher.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone::kernelize {

/// Movement becomes views of what it moves, views of views one view; what they say of nothing or of
/// a constant goes into the constant.
PatternMatcher merge_views();

/// Laws of arithmetic that hold bit for bit: no x*0, x/x, x*y/y or x+0 of floats. Context: none.
PatternMatcher arithmetic();

/// Laws of tensors: what has no elements, reduces of copies, copies between devices, contiguous,
/// assign, elementwise work before an expand. `arithmetic()` comes first. Context: Simplifying.
PatternMatcher simplify_tensors();

/// Who reads the base of a view that contiguous() stored reads the stored elements. Context:
/// Simplifying.
PatternMatcher replace_contiguous();

/// FUSE goes down to what it names, marking reduces to be computed in the kernel that reads them.
PatternMatcher fuse();

/// All of them in the order of the pipeline.
PatternMatcher simplification();

/// What the rules of simplification share.
struct Simplifying {
  const Config& config;
  UOpMap<UOp> stored{};  // base of a view -> the base again, read from what was stored of the view
};

/// How a reduce is parted in two; nullopt where it is not. `source`: what is reduced, of which each
/// result takes threshold elements or more. The first reduced axis, in order, that has a divisor d
/// from min(256, 2^size / results) down to 8, less than all terms, and along which neighbours lie
/// apart.
struct Split {
  int axis = 0;
  std::int64_t divisor = 1;
  bool operator==(const Split&) const = default;
};
std::optional<Split> split_of(const ShapeTracker& source, std::span<const int> axes,
                              const Config& config);

/// Whether a reduce gives the same bits in whatever parts it is computed: not a sum of floats,
/// which is rounded once a part.
bool same_in_parts(Ops op, DType d);

/// x as it lies in a buffer of flat elements, seen as `shape`, which may be less than all of it
/// where it is symbolic.
UOp as_shape(const UOp& flat, const Shape& shape);

/// The source of a reduce whose results are seen through `st`: the axes of st, then those that are
/// reduced.
ShapeTracker terms_of(const UOp& reduce, const ShapeTracker& st);

/// `value`, of the shape of `st`, where that is not masked, else 0.
LazyOpPtr where_valid(const ShapeTracker& st, LazyOpPtr value);

/// Buffers that a kernel of a device takes where no option says it, as in the lineage; 0: any
/// number.
int most_buffers_of(std::string_view device);

/// Elements that must be there for any values of the variables.
std::int64_t most_elements(const Shape& shape);

}  // namespace touchstone::kernelize
