// Kernels of several reduces of one buffer, for the area `kernel`.
#include <iterator>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

/// Reduces that compute the same per line, with one or several results side by side, or add up
/// equal terms. Lines are rows or columns of the output. Reduces of the same lines, term count and
/// function are the ones that fuse.
class ReducesDraw {
 public:
  explicit ReducesDraw(Chooser& chooser) : chooser_(chooser) {}

  KernelCase draw() {
    constexpr DType kTypes[] = {DType::Int32, DType::Float32, DType::Int32, DType::UInt8,
                                DType::Float64};
    dtype_ = kTypes[chooser_.below(std::size(kTypes))];
    lines_ = chooser_.between(2, 5);
    terms_ = chooser_.between(2, 4);
    constexpr std::int64_t kLanes[] = {8, 16, 9, 4};
    if (chooser_.chance(1, 3)) lanes_ = kLanes[chooser_.below(std::size(kLanes))];
    side_by_side_ = chooser_.chance(1, 2);
    LazyOpPtr result = reduced();
    for (std::uint64_t more = 1 + chooser_.below(2); more > 0; --more) {
      constexpr Op kOps[] = {Op::Sub, Op::Add, Op::Mul, Op::Max};
      result = LazyOp::binary(kOps[chooser_.below(std::size(kOps))], result, reduced());
    }
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(result->shape()), result), {}};
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.kernel);
    return c;
  }

 private:
  LazyOpPtr reduced() {
    Shape shape{lines_, lines_, lanes_, terms_};
    std::vector<sint> strides{sint(0), sint(0), sint(terms_), sint(1)};
    if (side_by_side_) strides = {sint(0), sint(0), sint(1), sint(lanes_)};
    strides[chooser_.below(2)] = terms_ * lanes_;
    if (chooser_.chance(1, 3)) {
      strides[3] = 0;
      shape[3] = chooser_.between(1, terms_);
    }
    LazyOpPtr x = LazyOp::load(1, dtype_, ShapeTracker({View::strided(shape, strides, 0)}));
    if (chooser_.chance(1, 4)) x = LazyOp::binary(Op::Mul, x, x);
    return LazyOp::reduce(chooser_.chance(1, 4) ? Op::ReduceMax : Op::ReduceSum, x, {3});
  }

  Chooser& chooser_;
  DType dtype_ = DType::Int32;
  std::int64_t lines_ = 2, terms_ = 2;
  std::int64_t lanes_ = 1;  // sums per line
  bool side_by_side_ = false;
};

}  // namespace

KernelCase draw_reduces(Chooser& chooser) { return ReducesDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
