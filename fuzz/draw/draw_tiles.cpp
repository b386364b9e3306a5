// Kernels like matrix products, for the area `kernel`.
#include <algorithm>
#include <iterator>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostOfTiles = 1 << 14;

/// A matrix product, windows into a row with a factor per output, or a plain reduce of rows. Sizes
/// lie just below, at and above the thresholds from which code packs an operand in tiles, and
/// transposes these in registers if lanes are strided and terms contiguous.
class TilesDraw {
 public:
  explicit TilesDraw(Chooser& chooser) : chooser_(chooser) {}

  KernelCase draw() {
    constexpr DType kTypes[] = {DType::Float32, DType::Int32, DType::Float32, DType::UInt32,
                                DType::Int32,   DType::Int16, DType::Float64, DType::Float16};
    dtype_ = kTypes[chooser_.below(std::size(kTypes))];
    draw_sizes();
    LazyOpPtr term = lanes();
    if (chooser_.chance(1, 5))
      term = LazyOp::binary(Op::Add, term, chooser_.chance(1, 2) ? term : lanes());
    if (!chooser_.chance(1, 8)) {
      constexpr Op kTerms[] = {Op::Mul, Op::Mul, Op::Mul, Op::Add, Op::Max};
      const Op op = kTerms[chooser_.below(std::size(kTerms))];
      const LazyOpPtr x = load({terms_, 0, 1});
      term = chooser_.chance(1, 2) ? LazyOp::binary(op, term, x) : LazyOp::binary(op, x, term);
    }
    const Op reduce = chooser_.chance(1, 6) ? Op::ReduceMax : Op::ReduceSum;
    LazyOpPtr result = LazyOp::reduce(reduce, term, {2});
    if (chooser_.chance(1, 5)) result = LazyOp::unary(Op::Neg, result);
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(result->shape()), result), {}};
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.kernel);
    return c;
  }

 private:
  void draw_sizes() {
    constexpr std::int64_t kRows[] = {16, 9, 12, 8, 17, 7, 32, 1},
                           kLanes[] = {16, 32, 17, 33, 31, 15, 48, 72},
                           kTerms[] = {16, 32, 17, 33, 31, 15, 48, 20};
    rows_ = kRows[chooser_.below(std::size(kRows))];
    lanes_ = kLanes[chooser_.below(std::size(kLanes))];
    terms_ = kTerms[chooser_.below(std::size(kTerms))];
    rows_ = std::min(rows_, kMostOfTiles / (lanes_ * terms_));
  }

  // A buffer with these strides along rows, lanes and terms.
  LazyOpPtr load(const Strides& strides) {
    const Shape shape{rows_, lanes_, terms_};
    std::int64_t first = 0;
    for (std::size_t i = 0; i < shape.size(); ++i)
      first += std::max<std::int64_t>(-strides[i].as_int(), 0) * (shape[i].as_int() - 1);
    ShapeTracker st({View::strided(shape, strides, first)});
    if (chooser_.chance(1, 6)) st = padded(st, shape);
    return LazyOp::load(++buffers_, dtype_, st);
  }

  // Replaces one or two elements at an end of an axis by padding.
  ShapeTracker padded(const ShapeTracker& st, const Shape& shape) {
    const auto axis = static_cast<std::size_t>(chooser_.index(shape.size()));
    const std::int64_t size = shape[axis].as_int(), off = std::min(chooser_.between(1, 2), size);
    const bool front = chooser_.chance(1, 2);
    Mask kept;
    for (const sint& s : shape) kept.emplace_back(0, s);
    Padding padding(shape.size(), {sint(0), sint(0)});
    (front ? kept[axis].first : kept[axis].second) = front ? off : size - off;
    (front ? padding[axis].first : padding[axis].second) = off;
    return st.shrink(kept).pad(padding);
  }

  // The operand that all rows share: transposed, reversed, with gaps, as windows of a row, or
  // plain.
  LazyOpPtr lanes() {
    const std::int64_t backwards = chooser_.chance(1, 3) ? -1 : 1;  // along the terms
    constexpr std::int64_t kSteps[] = {1, 2, 16, 3};
    switch (chooser_.below(8)) {
      case 4:
        return load({0, -terms_, backwards});
      case 5:
        return load({0, 1, backwards * lanes_});
      case 6:
        return load({0, kSteps[chooser_.below(std::size(kSteps))], backwards});
      case 7:
        return load({0, 2 * terms_, 2 * backwards});
      default:
        return load({0, terms_ + chooser_.between(0, 1), backwards});
    }
  }

  Chooser& chooser_;
  DType dtype_ = DType::Float32;
  std::int64_t rows_ = 16, lanes_ = 16, terms_ = 16;
  int buffers_ = 0;
};

}  // namespace

KernelCase draw_tiles(Chooser& chooser) { return TilesDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
