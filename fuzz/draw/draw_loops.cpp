// Kernels of a few loops, for the area `kernel`: strided loads, a little computation, and reduces.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostTerms = 2048, kMostOfTiles = 1 << 14, kMostOfLines = 1 << 12;

class LoopsDraw {
 public:
  using Axes = std::vector<std::size_t>;

  explicit LoopsDraw(Chooser& chooser) : chooser_(chooser) {}

  KernelCase draw(LazyOpPtr (LoopsDraw::*value)()) {
    const LazyOpPtr stored = (this->*value)();
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(stored->shape()), stored), {}};
    if (!variables_of(c.kernel).empty()) c.values["n"] = count_;
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.concrete());
    return c;
  }

  // Two operands with a common axis, each with a little computation before they meet; code for
  // rows, tiles and lanes shares and precomputes much of it. Sometimes a batch of these, with parts
  // of their own; the batch size may be a variable and 0.
  LazyOpPtr product() {
    dtype_ = one_of({DType::Float32, DType::Int32, DType::Float32, DType::Float64, DType::Float16,
                     DType::Float32, DType::UInt8, DType::BFloat16, DType::Float8E4M3,
                     DType::Float8E5M2});
    draw_product_axes();
    const LazyOpPtr a = part(with_batch({Rows, Terms})),
                    b = shared_ ? shared_part() : part({Columns, Terms});
    const LazyOpPtr term = joined(one_of({Op::Mul, Op::Add, Op::Mul, Op::Max}), a, b);
    std::vector<int> axes{static_cast<int>(place_[Terms])};
    if (chance(1, 8)) axes.push_back(static_cast<int>(place_[Rows]));
    std::ranges::sort(axes);
    for (const int axis : axes) shape_[static_cast<std::size_t>(axis)] = 1;
    LazyOpPtr result = reduced(6, term, axes);
    if (chance(1, 2)) result = LazyOp::binary(Op::Add, result, leaf({Columns}));
    return chance(1, 2) ? unary(result) : result;
  }

  // A matrix product, windows into a row with a factor per output, or a plain reduce of rows. Sizes
  // lie just below, at and above the thresholds from which code packs an operand in tiles, and
  // transposes these in registers if lanes are strided and terms contiguous.
  LazyOpPtr tiles() {
    dtype_ = one_of({DType::Float32, DType::Int32, DType::Float32, DType::UInt32, DType::Int32,
                     DType::Int16, DType::Float64, DType::Float16});
    const auto lanes = one_of<std::int64_t>({16, 32, 17, 33, 31, 15, 48, 72}),
               terms = one_of<std::int64_t>({16, 32, 17, 33, 31, 15, 48, 20}),
               rows = one_of<std::int64_t>({16, 9, 12, 8, 17, 7, 32, 1});
    set_axes({std::min(rows, kMostOfTiles / (lanes * terms)), lanes, terms});
    LazyOpPtr term = leaf({Columns, Terms});
    if (chance(1, 5))
      term = LazyOp::binary(Op::Add, term, chance(1, 2) ? term : leaf({Columns, Terms}));
    if (!chance(1, 8)) {
      const LazyOpPtr factor = leaf({Rows, Terms});
      term = joined(one_of({Op::Mul, Op::Mul, Op::Mul, Op::Add, Op::Max}), term, factor);
    }
    const LazyOpPtr result = reduced(6, term, {Terms});
    return chance(1, 5) ? LazyOp::unary(Op::Neg, result) : result;
  }

  // Elements f(x) with three axes beside reduces of the same along one axis, as in softmax or
  // variance; or almost the same: with another function, other elements or another buffer. Reduced
  // over none, some or all axes; one case in five is only a sum over long rows. Axes are shorter
  // and longer than the lanes and parallel sums; one size may be a variable.
  LazyOpPtr lines() {
    dtype_ = one_of({DType::Float32, DType::Int32, DType::Float32, DType::Float64, DType::Float16,
                     DType::Float32, DType::BFloat16});
    draw_line_axes();
    LazyOpPtr result = along(along_, {.backwards = chance(1, 8)});
    for (std::uint64_t more = long_rows_ ? 0 : 1 + chooser_.below(2); more > 0; --more) {
      LineRead read;
      if (chance(1, 3)) {
        const std::uint64_t what = chooser_.below(4);
        read = {what == 0 ? 1 : 0, what == 1, what == 2, what == 3};
      }
      LazyOpPtr all = reduced(3, along(kLine, read), {kLine});
      if (is_float(dtype_) && chance(1, 3)) all = LazyOp::unary(Op::Recip, all);
      result = LazyOp::binary(one_of({Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Sub}), result, all);
    }
    if (chance(1, 4)) result = LazyOp::binary(Op::Mul, result, result);
    std::vector<int> over;
    for (int axis = 0; axis < kLine; ++axis)
      if (chance(1, !long_rows_ ? 3 : axis > 0 ? 1 : 2)) over.push_back(axis);
    if (!over.empty()) result = reduced(5, result, over);
    return chance(1, 8) ? LazyOp::cast(result, DType::Float32) : result;
  }

  // Reduces that compute the same per line, with one or several results side by side, or add up
  // equal terms. Lines are rows or columns of the output. Reduces of the same lines, term count and
  // function are the ones that fuse.
  LazyOpPtr crossed() {
    dtype_ = one_of({DType::Int32, DType::Float32, DType::Int32, DType::UInt8, DType::Float64});
    const std::int64_t lines = chooser_.between(2, 5), terms = chooser_.between(2, 4),
                       lanes = chance(1, 3) ? one_of<std::int64_t>({8, 16, 9, 4}) : 1;
    const bool side_by_side = chance(1, 2);
    const auto line = [&] {
      Shape shape{lines, lines, lanes, terms};
      Strides strides{0, 0, side_by_side ? 1 : terms, side_by_side ? lanes : 1};
      strides[chooser_.below(2)] = terms * lanes;
      if (chance(1, 3)) {
        strides[kLine] = 0;
        shape[kLine] = chooser_.between(1, terms);
      }
      LazyOpPtr x = LazyOp::load(1, dtype_, strided(shape, strides));
      if (chance(1, 4)) x = LazyOp::binary(Op::Mul, x, x);
      return reduced(4, x, {kLine});
    };
    LazyOpPtr result = line();
    for (std::uint64_t more = 1 + chooser_.below(2); more > 0; --more) {
      const LazyOpPtr next = line();
      result = LazyOp::binary(one_of({Op::Sub, Op::Add, Op::Mul, Op::Max}), result, next);
    }
    return result;
  }

  // A reduce over windows into rows padded on any side, alone or with a factor of the outputs and
  // one of some axes. Window terms lie any step apart, and so do windows; a window may span several
  // rows. Padding may be another number than 0.
  LazyOpPtr windows() {
    dtype_ = one_of({DType::Float32, DType::Int32, DType::Float32, DType::Float64, DType::UInt8});
    constexpr std::int64_t kSizes[][4] = {
        {4, 8, 1, 3}, {2, 1, 4, 3}, {8, 4, 9, 17}, {1, 2, 1, 3}, {3, 2, 5, 4}};
    std::vector<std::int64_t> sizes;
    for (const auto& of_axis : kSizes) sizes.push_back(of_axis[chooser_.below(4)]);
    while (fuzz::product(sizes) > kMostTerms) sizes[sizes[Outputs] > 1 ? Outputs : Lanes] /= 2;
    set_axes(sizes);
    const auto op = [&] { return one_of({Op::Mul, Op::Mul, Op::Mul, Op::Add}); };
    const bool alone = chance(1, 4);
    LazyOpPtr term = window(sizes);
    if (!alone) {
      const LazyOpPtr factor = leaf({Outputs, Channels, Inside});
      term = joined(op(), factor, term);
    }
    if (chance(1, alone ? 8 : 3)) {
      const LazyOpPtr factor = leaf({chooser_.below(5), chooser_.below(5)});
      term = LazyOp::binary(op(), term, factor);
    }
    const LazyOpPtr result = reduced(alone ? 2 : 6, term, {Channels, Inside});
    return chance(1, 4) ? LazyOp::binary(Op::Max, result, result) : result;
  }

 private:
  enum : std::uint8_t { Rows, Columns, Terms, Batch };               // of a product
  enum : std::uint8_t { Outputs, Height, Lanes, Channels, Inside };  // of windows
  static constexpr int kLine = 3, kMost = 4;  // axes along which inner reduces read a line

  // --- what all kinds use

  bool chance(std::uint64_t times, std::uint64_t of) { return chooser_.chance(times, of); }
  template <class T>
  T one_of(std::initializer_list<T> from) {
    return from.begin()[chooser_.below(from.size())];
  }
  void set_axes(const std::vector<std::int64_t>& sizes) {
    shape_.assign(sizes.begin(), sizes.end());
    place_.resize(sizes.size());
    std::iota(place_.begin(), place_.end(), std::size_t{0});
  }

  // An axis with a negative stride starts at its last element.
  static ShapeTracker strided(const Shape& shape, const Strides& strides, sint first = 0) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (certainly_le(strides[i], 0)) first = first - strides[i] * (shape[i] - 1);
    return ShapeTracker({View::strided(shape, strides, first)});
  }

  // Replaces elements at the ends of an axis by padding.
  static ShapeTracker padded(const ShapeTracker& st, std::size_t axis, std::int64_t front,
                             std::int64_t back) {
    Mask kept;
    for (const sint& size : st.shape()) kept.emplace_back(0, size);
    Padding padding(kept.size(), {sint(0), sint(0)});
    kept[axis] = {front, kept[axis].second - back};
    padding[axis] = {front, back};
    return st.shrink(kept).pad(padding);
  }

  // A buffer with some of the axes: transposed or not, reversed, with gaps, overlapping, padded at
  // one end of an axis, along which it may be broadcast, or of a narrower type.
  LazyOpPtr leaf(const Axes& roles, bool turns = true) {
    Axes axes;
    for (const std::size_t role : roles) axes.push_back(place_[role]);
    std::ranges::sort(axes);
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    if (!turns || !chance(1, 3)) std::ranges::reverse(axes);  // now innermost first
    Strides strides(shape_.size(), sint(0));
    sint stride = 1;
    const bool whole = chance(1, 2);  // rows as long as if variables were largest
    for (const std::size_t axis : axes) {
      strides[axis] = stride;
      stride = stride * (whole ? sint(*shape_[axis].max()) : shape_[axis]);
    }
    sint &inner = strides[axes.front()], &outer = strides[axes.back()];
    switch (chooser_.below(7)) {
      case 4: outer = one_of<std::int64_t>({1, 2, 16, 3}); break;
      case 5: outer = outer + 1; break;
      case 6: outer = outer * -1; break;
      default: break;
    }
    if (chance(1, 3)) inner = inner * -1;
    ShapeTracker st = strided(shape_, strides);
    const std::size_t end = chooser_.below(shape_.size());
    if (shape_[end].is_int() && shape_[end].as_int() > 1 && chance(1, 4)) {
      const std::int64_t gone = chooser_.between(1, shape_[end].as_int() - 1);
      st = chance(1, 2) ? padded(st, end, gone, 0) : padded(st, end, 0, gone);
    }
    if (!chance(1, 8)) return LazyOp::load(++buffers_, dtype_, st);
    const DType narrow = one_of({DType::Int8, DType::Float8E4M3, DType::Float8E5M2});
    return LazyOp::cast(LazyOp::load(++buffers_, narrow, st), dtype_);
  }

  // Operands in either order.
  LazyOpPtr joined(Op op, const LazyOpPtr& a, const LazyOpPtr& b) {
    return chance(1, 2) ? LazyOp::binary(op, a, b) : LazyOp::binary(op, b, a);
  }
  // A maximum in one of `of` cases, otherwise a sum.
  LazyOpPtr reduced(std::uint64_t of, const LazyOpPtr& x, const std::vector<int>& axes) {
    return LazyOp::reduce(chance(1, of) ? Op::ReduceMax : Op::ReduceSum, x, axes);
  }
  Op unary_op() {
    std::vector<Op> ops;
    for (const OpInfo& row : op_table)
      if (is_elementwise(row.op) && row.arity == 1 && row.op != Op::Cast && row.op != Op::Noop &&
          takes(row.op, dtype_))
        ops.push_back(row.op);
    return chooser_.pick(ops);
  }
  LazyOpPtr unary(const LazyOpPtr& x) { return LazyOp::unary(unary_op(), x); }

  // --- products

  // Sizes near the sizes of lanes and tiles; the axes in any order.
  void draw_product_axes() {
    std::vector<std::int64_t> sizes;
    for (int role = Rows; role <= Terms; ++role)
      sizes.push_back(one_of<std::int64_t>({4, 2, 8, 3, 16, 1, 5, 12, 17, 33}));
    if (chance(1, 2)) sizes.push_back(chooser_.between(2, 4));
    const bool batched = sizes.size() > Batch, varies = batched && chance(1, 3);
    if (varies)  // large enough for lanes and for arrays precomputed ahead of loops
      for (const auto role : {Columns, Terms}) sizes[role] = std::max<std::int64_t>(sizes[role], 8);
    while (fuzz::product(sizes) > kMostTerms) *std::ranges::max_element(sizes) /= 2;
    set_axes(sizes);
    for (std::size_t i = sizes.size() - 1; i > 0; --i)
      std::swap(place_[i], place_[chooser_.below(i + 1)]);
    if (varies && chance(1, 2)) place_ = {0, 3, 1, 2};  // between rows and columns
    shared_ = batched && !varies && chance(1, 2);
    if (shared_) place_ = {1, 2, 3, 0};
    for (std::size_t role = 0; role < sizes.size(); ++role) shape_[place_[role]] = sizes[role];
    if (!varies) return;
    shape_[place_[Batch]] = symbolic::variable("n", 0, sizes[Batch]);
    count_ = chance(1, 2) ? 0 : chooser_.between(1, sizes[Batch]);
  }
  Axes with_batch(Axes roles) {
    if (place_.size() > Batch && chance(1, 2)) roles.push_back(Batch);
    return roles;
  }

  // A computation over leaves with some or all of these axes.
  LazyOpPtr part(const Axes& roles) {
    LazyOpPtr x = leaf(roles);
    for (std::uint64_t steps = chooser_.below(4); steps > 0; --steps) {
      if (chance(1, 2)) {
        x = unary(x);
        continue;
      }
      const LazyOpPtr y = leaf(with_batch(chance(1, 2) ? Axes{chooser_.pick(roles)} : roles));
      x = LazyOp::binary(one_of({Op::Add, Op::Mul, Op::Max}), x, y);
    }
    return x;
  }

  // The part shared by the batch, and each member's own.
  LazyOpPtr shared_part() {
    LazyOpPtr x = leaf({Columns, Terms});
    if (chance(1, 2)) x = unary(x);
    const LazyOpPtr own = leaf({Batch, Columns}, false);
    return LazyOp::binary(chance(1, 2) ? Op::Add : Op::Mul, x, own);
  }

  // --- lines

  struct LineRead {
    std::int64_t further = 0;  // offset in the buffer
    bool backwards = false;    // along the lines
    bool other_buffer = false, other_function = false;
  };

  void draw_line_axes() {
    long_rows_ = chance(1, 5);
    std::int64_t room = kMostOfLines;
    std::vector<std::int64_t> sizes;
    for (int axis = 0; axis < kLine; ++axis) {
      sizes.push_back(std::min(
          long_rows_ ? (axis < 2 ? chooser_.between(1, 4) : one_of<std::int64_t>({70, 100, 65, 83}))
                     : one_of<std::int64_t>({2, 3, 9, 16, 1, 16, 70, 5, 33, 8, 64, 100, 17, 20}),
          room));
      room /= sizes.back();
    }
    set_axes(sizes);
    along_ = chooser_.below(kLine);
    // Otherwise rows form one long row.
    for (std::int64_t& gap : gaps_)
      gap = chance(1, long_rows_ ? 2 : 8) ? chooser_.between(1, 3) : 0;
    less_maximum_ = !long_rows_ && sizes[along_] <= 16 && room > 4 && chance(1, 3);
    two_inputs_ = chance(1, 6);
    if (chance(1, 4)) std::swap(place_[chooser_.below(2)], place_[2]);
    const std::size_t axis = chooser_.below(kLine);
    if (chance(1, 8)) {
      shape_[axis] = symbolic::variable("n", 0, sizes[axis]);
      count_ = chance(1, 3) ? 0 : chooser_.between(0, sizes[axis]);
    }
    if (chance(1, 4)) alike_ = axis;
    shape_.emplace_back(1);
    if (less_maximum_) shape_.emplace_back(1);
    for (std::uint64_t steps = long_rows_ ? 0 : chooser_.below(3); steps > 0; --steps)
      functions_.push_back(unary_op());
  }

  // The elements of a buffer along the output's axes; `to` replaces the axis of the lines.
  // `repeats`: for each element of a line that inner reduces read.
  LazyOpPtr elements(int buffer, std::size_t to, const LineRead& read, bool repeats = false) const {
    Shape shape = shape_;
    if (repeats) shape[kLine] = shape[along_];
    Strides strides(shape.size(), sint(0));
    sint stride = 1;
    for (std::size_t i = kLine; i-- > 0;) {
      strides[place_[i]] = stride;
      stride = stride * shape_[place_[i]] + gaps_[i];
    }
    if (to != along_) {
      shape[to] = shape[along_];
      if (alike_) strides[*alike_] = 0;
      std::swap(strides[along_], strides[to]);
    }
    if (read.backwards) strides[to] = strides[to] * -1;
    return LazyOp::load(buffer, dtype_, strided(shape, strides, read.further));
  }

  LazyOpPtr along(std::size_t to, const LineRead& read) {
    LazyOpPtr x = elements(read.other_buffer ? 2 + (two_inputs_ ? 1 : 0) : 1, to, read);
    if (less_maximum_)
      x = LazyOp::binary(
          Op::Sub, x, LazyOp::reduce(Op::ReduceMax, elements(1, kMost, {}, to == kLine), {kMost}));
    if (two_inputs_) x = LazyOp::binary(Op::Mul, x, elements(2, to, read));
    for (std::size_t i = 0; i < functions_.size(); ++i)
      x = LazyOp::unary(read.other_function && i == 0 ? unary_op() : functions_[i], x);
    return x;
  }

  // --- windows

  // Elements of padding at the ends of an axis: up to two each, fewer than `most` together.
  std::pair<std::int64_t, std::int64_t> ends(std::int64_t most) {
    std::pair<std::int64_t, std::int64_t> out{0, 0};
    for (std::int64_t* const end : {&out.first, &out.second})
      if (chance(1, 2)) *end = chooser_.between(1, 2);
    return out.first + out.second >= most ? std::pair<std::int64_t, std::int64_t>{0, 0} : out;
  }

  // For each channel some rows, for each row `Lanes` windows of `Inside` elements; padding applies
  // to the rows or to the windows.
  LazyOpPtr window(const std::vector<std::int64_t>& sizes) {
    const auto any_step = [&] { return one_of<std::int64_t>({1, 1, 2, -1, 3, -2}); };
    const std::int64_t apart = any_step();
    // Often a multiple: then terms periodically read what other lanes read.
    const std::int64_t step = chance(1, 3) ? apart * chooser_.between(2, 3) : any_step();
    const auto [above, below] = ends(sizes[Height]);
    const bool whole_windows = chance(1, 2);
    const auto [left, right] = ends(sizes[Lanes]);
    const std::int64_t height = sizes[Height] - above - below;
    const std::int64_t lanes = whole_windows ? sizes[Lanes] - left - right : sizes[Lanes];
    const std::int64_t reach =
        (lanes - 1) * std::abs(step) + (sizes[Inside] - 1) * std::abs(apart) + 1;
    const std::int64_t cut = whole_windows || left + right >= reach ? 0 : left + right;
    // Channels are separate images, or rows of one image shared by windows further down.
    const bool of_rows = chance(1, 3);
    const std::int64_t down = of_rows ? chooser_.between(1, 2) : 1;
    const std::int64_t rows = of_rows ? (height - 1) * down + sizes[Channels] : height;
    const std::int64_t next = of_rows ? reach : height * reach;
    std::vector<View> views =
        ShapeTracker::contiguous({of_rows ? 1 : sizes[Channels], rows, reach - cut})
            .pad({{0, 0}, {0, 0}, {cut == 0 ? 0 : left, cut == 0 ? 0 : right}})
            .views();
    views.push_back(
        strided({sizes[Channels], height, lanes, sizes[Inside]}, {next, down * reach, step, apart})
            .views()[0]);
    const std::pair<sint, sint> sides{whole_windows ? left : 0, whole_windows ? right : 0};
    const ShapeTracker st =
        ShapeTracker(views)
            .pad({{0, 0}, {above, below}, sides, {0, 0}})
            .permute(std::vector<int>{1, 2, 0, 3})
            .reshape({1, sizes[Height], sizes[Lanes], sizes[Channels], sizes[Inside]})
            .expand(shape_);
    const LazyOpPtr x = LazyOp::load(++buffers_, dtype_, st);
    if (chance(1, 4)) return padded_with_another(x);
    // A computation on a window may be done once, ahead, for all that read it.
    return chance(2, 3) ? LazyOp::binary(Op::Add, x, x) : x;
  }

  // A choice by a load's own mask, seldom by another, between it and a number or another load.
  LazyOpPtr padded_with_another(const LazyOpPtr& x) {
    const ShapeTracker all = ShapeTracker::contiguous({1, 1, 1, 1, 1}).expand(shape_);
    ShapeTracker mask = x->buffer().st;
    if (chance(1, 8))  // mask one lane more, at the other end
      mask = padded(all, Lanes, 0, shape_[Lanes] == sint(1) ? 0 : 1);
    const double lowest = is_float(dtype_) && chance(1, 2)
                              ? -std::numeric_limits<double>::infinity()
                              : -1 - static_cast<double>(chooser_.below(3));
    const LazyOpPtr rest = chance(1, 8)
                               ? leaf({Lanes, Inside})
                               : LazyOp::constant(Scalar::from_double(dtype_, lowest), all);
    return LazyOp::ternary(Op::Where, LazyOp::constant(Scalar::from_bits(DType::Bool, 1), mask), x,
                           rest);
  }

  Chooser& chooser_;
  DType dtype_ = DType::Float32;
  int buffers_ = 0;
  std::int64_t count_ = 0;  // value of the variable n, if any
  Shape shape_;             // by axis; 1 where it was reduced
  Axes place_;              // of a role among the axes; of lines: memory order of the axes
  bool shared_ = false;     // the batch of a product shares some of the columns' part
  std::size_t along_ = 0;   // the axis of the lines
  std::optional<std::size_t> alike_;  // an axis along which inner reduces repeat
  std::array<std::int64_t, kLine> gaps_{};
  bool long_rows_ = false, less_maximum_ = false, two_inputs_ = false;
  std::vector<Op> functions_;
};

}  // namespace

KernelCase draw_loops(Chooser& chooser, std::optional<Loops> kind) {
  using D = LoopsDraw;
  constexpr LazyOpPtr (D::*kKinds[])() = {&D::product, &D::lines,   &D::crossed, &D::tiles,
                                          &D::windows, &D::windows, &D::tiles,   &D::lines};
  const auto which = kind ? static_cast<std::size_t>(*kind) : chooser.below(std::size(kKinds));
  return D(chooser).draw(kKinds[which]);
}

}  // namespace touchstone::fuzz
