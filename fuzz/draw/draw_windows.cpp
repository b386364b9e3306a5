// Kernels like convolutions, for the area `kernel`.
#include <array>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostTerms = 2048;
constexpr std::size_t kRank = 5;

/// A reduce over windows into rows padded on any side, alone or with a factor of the outputs and
/// one of some axes. Window terms lie any step apart, and so do windows; a window may span several
/// rows. Padding may be another number than 0.
class WindowsDraw {
 public:
  explicit WindowsDraw(Chooser& chooser) : chooser_(chooser) {}

  KernelCase draw() {
    constexpr DType kTypes[] = {DType::Float32, DType::Int32, DType::Float32, DType::Float64,
                                DType::UInt8};
    dtype_ = kTypes[chooser_.below(std::size(kTypes))];
    draw_sizes();
    const LazyOpPtr rows = windows();
    const Op first = op();
    const bool alone = chooser_.chance(1, 4);
    LazyOpPtr term = alone ? rows : LazyOp::binary(first, leaf({Outputs, Channels, Terms}), rows);
    if (chooser_.chance(1, alone ? 8 : 3)) {
      constexpr Axis kAxes[] = {Outputs, Height, Lanes, Channels, Terms};
      const Op second = op();
      const Axis one = kAxes[chooser_.below(kRank)], other = kAxes[chooser_.below(kRank)];
      term = LazyOp::binary(second, term, leaf({one, other}));
    }
    const Op reduce = chooser_.chance(1, alone ? 2 : 6) ? Op::ReduceMax : Op::ReduceSum;
    LazyOpPtr result = LazyOp::reduce(reduce, term, {Channels, Terms});
    if (chooser_.chance(1, 4)) result = LazyOp::binary(Op::Max, result, result);
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(result->shape()), result), {}};
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.kernel);
    return c;
  }

 private:
  enum Axis : std::uint8_t { Outputs, Height, Lanes, Channels, Terms };

  void draw_sizes() {
    constexpr std::array<std::array<std::int64_t, 4>, kRank> kSizes{
        {{4, 8, 1, 3}, {2, 1, 4, 3}, {8, 4, 9, 17}, {1, 2, 1, 3}, {3, 2, 5, 4}}};
    for (std::size_t i = 0; i < kRank; ++i) sizes_[i] = kSizes[i][chooser_.below(4)];
    const auto product = [&] {
      std::int64_t all = 1;
      for (const std::int64_t size : sizes_) all *= size;
      return all;
    };
    while (product() > kMostTerms) sizes_[sizes_[Outputs] > 1 ? Outputs : Lanes] /= 2;
  }

  Op op() {
    constexpr Op kOps[] = {Op::Mul, Op::Mul, Op::Mul, Op::Add};
    return kOps[chooser_.below(4)];
  }

  static Shape shape_of(const std::array<std::int64_t, kRank>& sizes) {
    return {sizes.begin(), sizes.end()};
  }

  // A buffer with these axes.
  LazyOpPtr leaf(std::initializer_list<Axis> axes) {
    std::array<std::int64_t, kRank> ones{1, 1, 1, 1, 1};
    for (const Axis axis : axes) ones[axis] = sizes_[axis];
    const ShapeTracker st = ShapeTracker::contiguous(shape_of(ones)).expand(shape_of(sizes_));
    return LazyOp::load(++buffers_, dtype_, st);
  }

  // For each channel some rows, for each row `Lanes` windows of `Terms` elements; padding applies
  // to the rows or to the windows.
  LazyOpPtr windows() {
    constexpr std::int64_t kSteps[] = {1, 1, 2, -1, 3, -2};
    const std::int64_t apart = kSteps[chooser_.below(std::size(kSteps))];
    // Often a multiple: then terms periodically read what other lanes read.
    const std::int64_t step = chooser_.chance(1, 3) ? apart * chooser_.between(2, 3)
                                                    : kSteps[chooser_.below(std::size(kSteps))];
    const auto ends = [&](std::int64_t most) {
      std::pair<std::int64_t, std::int64_t> out{0, 0};
      for (std::int64_t* const end : {&out.first, &out.second})
        if (chooser_.chance(1, 2)) *end = 1 + static_cast<std::int64_t>(chooser_.below(2));
      if (out.first + out.second >= most) out = {0, 0};
      return out;
    };
    const auto [above, below] = ends(sizes_[Height]);
    const bool whole_windows = chooser_.chance(1, 2);
    const auto [left, right] = ends(sizes_[Lanes]);
    const std::int64_t height = sizes_[Height] - above - below;
    const std::int64_t lanes = whole_windows ? sizes_[Lanes] - left - right : sizes_[Lanes];
    const std::int64_t reach =
        (lanes - 1) * std::abs(step) + (sizes_[Terms] - 1) * std::abs(apart) + 1;
    const std::int64_t cut = whole_windows || left + right >= reach ? 0 : left + right;
    const std::int64_t first =
        (step < 0 ? -step * (lanes - 1) : 0) + (apart < 0 ? -apart * (sizes_[Terms] - 1) : 0);
    // Channels are separate images, or rows of one image shared by windows further down.
    const bool of_rows = chooser_.chance(1, 3);
    const std::int64_t down = of_rows ? 1 + static_cast<std::int64_t>(chooser_.below(2)) : 1;
    const std::int64_t rows = of_rows ? (height - 1) * down + sizes_[Channels] : height;
    const std::int64_t next = of_rows ? reach : height * reach;
    std::vector<View> views =
        ShapeTracker::contiguous({of_rows ? 1 : sizes_[Channels], rows, reach - cut})
            .pad({{0, 0}, {0, 0}, {cut == 0 ? 0 : left, cut == 0 ? 0 : right}})
            .views();
    views.push_back(View::strided({sizes_[Channels], height, lanes, sizes_[Terms]},
                                  {next, down * reach, step, apart}, first));
    const std::pair<sint, sint> sides{whole_windows ? left : 0, whole_windows ? right : 0};
    const ShapeTracker st =
        ShapeTracker(views)
            .pad({{0, 0}, {above, below}, sides, {0, 0}})
            .permute(std::vector<int>{1, 2, 0, 3})
            .reshape({1, sizes_[Height], sizes_[Lanes], sizes_[Channels], sizes_[Terms]})
            .expand(shape_of(sizes_));
    const LazyOpPtr x = LazyOp::load(++buffers_, dtype_, st);
    if (chooser_.chance(1, 4)) return padded_with_another(x);
    // A computation on a window may be done once, ahead, for all that read it.
    return chooser_.chance(2, 3) ? LazyOp::binary(Op::Add, x, x) : x;
  }

  // A choice by a load's own mask, seldom by another, between it and a number or another load.
  LazyOpPtr padded_with_another(const LazyOpPtr& x) {
    const ShapeTracker all = ShapeTracker::contiguous({1, 1, 1, 1, 1}).expand(shape_of(sizes_));
    ShapeTracker mask = x->buffer().st;
    if (chooser_.chance(1, 8))  // mask one lane more, at the other end
      mask = all.shrink({{0, sizes_[Outputs]},
                         {0, sizes_[Height]},
                         {0, sizes_[Lanes] > 1 ? sizes_[Lanes] - 1 : 1},
                         {0, sizes_[Channels]},
                         {0, sizes_[Terms]}})
                 .pad({{0, 0}, {0, 0}, {0, sizes_[Lanes] > 1 ? 1 : 0}, {0, 0}, {0, 0}});
    const double lowest = is_float(dtype_) && chooser_.chance(1, 2)
                              ? -std::numeric_limits<double>::infinity()
                              : -1 - static_cast<double>(chooser_.below(3));
    const LazyOpPtr rest = chooser_.chance(1, 8)
                               ? leaf({Lanes, Terms})
                               : LazyOp::constant(Scalar::from_double(dtype_, lowest), all);
    return LazyOp::ternary(Op::Where, LazyOp::constant(Scalar::from_bits(DType::Bool, 1), mask), x,
                           rest);
  }

  Chooser& chooser_;
  DType dtype_ = DType::Float32;
  std::array<std::int64_t, kRank> sizes_{};
  int buffers_ = 0;
};

}  // namespace

KernelCase draw_windows(Chooser& chooser) { return WindowsDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
