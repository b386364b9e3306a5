// Kernels that reduce products of two operands, for the area `kernel`.
#include <array>
#include <cstdlib>
#include <limits>

#include "touchstone/fuzz/draw/loops_draw.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostTerms = 2048, kMostOfTiles = 1 << 14;
constexpr std::size_t kRank = 5;  // of windows

/// Two operands with a common axis, each with a little computation before they meet; code for rows,
/// tiles and lanes shares and precomputes much of it. Sometimes a batch of these, with parts of
/// their own; the batch size may be a variable and 0.
class ContractionDraw final : public LoopsDraw {
 public:
  explicit ContractionDraw(Chooser& chooser)
      : LoopsDraw(chooser, {DType::Float32, DType::Int32, DType::Float32, DType::Float64,
                            DType::Float16, DType::Float32, DType::UInt8, DType::BFloat16,
                            DType::Float8E4M3, DType::Float8E5M2}) {
    draw_sizes();
  }

 private:
  enum Role : std::uint8_t { Rows, Columns, Contracted, Batch };

  LazyOpPtr value() override {
    const LazyOpPtr a = part(with_batch({Rows, Contracted})),
                    b = shared_ ? shared_part() : part({Columns, Contracted});
    const LazyOpPtr term = joined(one_of({Op::Mul, Op::Add, Op::Mul, Op::Max}), a, b);
    std::vector<int> axes{place_[Contracted]};
    if (chance(1, 8)) axes.push_back(place_[Rows]);
    std::ranges::sort(axes);
    for (const int axis : axes) shape_[static_cast<std::size_t>(axis)] = 1;
    LazyOpPtr result = reduced(6, term, axes);
    if (chance(1, 2)) result = LazyOp::binary(Op::Add, result, leaf({Columns}));
    if (chance(1, 2)) result = LazyOp::unary(unary_op(), result);
    if (!all_) count_ = chance(1, 2) ? 0 : chooser_.between(1, sizes_[Batch]);
    return result;
  }

  // Sizes near the sizes of lanes and tiles; the axes in any order.
  void draw_sizes() {
    for (const Role role : {Rows, Columns, Contracted})
      sizes_[role] = one_of<std::int64_t>({4, 2, 8, 3, 16, 1, 5, 12, 17, 33});
    if (chance(1, 2)) sizes_[Batch] = chooser_.between(2, 4);
    all_ = !batched() || !chance(1, 3);
    if (!all_)  // large enough for lanes and for arrays precomputed ahead of loops
      for (const Role role : {Columns, Contracted})
        sizes_[role] = std::max<std::int64_t>(sizes_[role], 8);
    while (product({sizes_.begin(), sizes_.end()}) > kMostTerms)
      *std::ranges::max_element(sizes_) /= 2;
    shape_.resize(batched() ? 4 : 3);
    for (std::size_t i = shape_.size() - 1; i > 0; --i)
      std::swap(place_[i], place_[chooser_.below(i + 1)]);
    if (!all_ && chance(1, 2)) place_ = {0, 3, 1, 2};  // between rows and columns
    shared_ = all_ && batched() && chance(1, 2);
    if (shared_) place_ = {1, 2, 3, 0};
    for (std::size_t role = 0; role < shape_.size(); ++role)
      shape_[static_cast<std::size_t>(place_[role])] = sizes_[role];
  }
  bool batched() const { return sizes_[Batch] > 1; }
  std::vector<Role> with_batch(std::vector<Role> roles) {
    if (batched() && std::ranges::count(roles, Batch) == 0 && chance(1, 2)) roles.push_back(Batch);
    return roles;
  }
  std::size_t at(Role role) const { return static_cast<std::size_t>(place_[role]); }

  Op unary_op() {
    std::vector<Op> ops;
    for (const OpInfo& row : op_table)
      if (is_elementwise(row.op) && row.arity == 1 && row.op != Op::Cast && row.op != Op::Noop &&
          takes(row.op, dtype_))
        ops.push_back(row.op);
    return chooser_.pick(ops);
  }

  // A computation over leaves with some or all of these axes.
  LazyOpPtr part(const std::vector<Role>& roles) {
    LazyOpPtr x = leaf(roles);
    for (std::uint64_t steps = chooser_.below(4); steps > 0; --steps) {
      if (chance(1, 2)) {
        x = LazyOp::unary(unary_op(), x);
        continue;
      }
      std::vector<Role> some = roles;
      if (chance(1, 2)) some = {chooser_.pick(roles)};
      const LazyOpPtr y = leaf(with_batch(some));
      x = LazyOp::binary(one_of({Op::Add, Op::Mul, Op::Max}), x, y);
    }
    return x;
  }

  // The part shared by the batch, and each member's own.
  LazyOpPtr shared_part() {
    LazyOpPtr x = leaf({Columns, Contracted});
    if (chance(1, 2)) x = LazyOp::unary(unary_op(), x);
    const LazyOpPtr own = leaf({Batch, Columns}, false);
    return LazyOp::binary(chance(1, 2) ? Op::Add : Op::Mul, x, own);
  }

  // A buffer with these axes, viewed along the kernel's axes; perhaps transposed, padded at one end
  // of an axis, or of a narrower type.
  LazyOpPtr leaf(std::vector<Role> roles, bool turns = true) {
    std::ranges::sort(roles, {}, [&](Role role) { return place_[role]; });
    Shape stored(shape_.size(), sint(1));
    for (const Role role : roles) stored[at(role)] = shape_[at(role)];
    Padding padding(shape_.size(), {sint(0), sint(0)});
    const std::size_t axis = at(chooser_.pick(roles));
    if (shape_[axis] > 1 && chance(1, 4)) {
      stored[axis] = shape_[axis] - 1;
      (chance(1, 2) ? padding[axis].first : padding[axis].second) = 1;
    }
    if (!turns || !chance(1, 2)) std::ranges::reverse(roles);  // now innermost first
    Strides strides(shape_.size(), sint(0));
    sint stride = 1;
    for (const Role role : roles) {
      strides[at(role)] = stride;
      stride = stride * stored[at(role)];
    }
    const Shape whole(shape_.begin(), shape_.end());
    ShapeTracker st = strided(stored, strides).pad(padding).expand(whole);
    if (all_ && chance(1, 6)) st = padded_where_it_repeats(st);
    if (!all_) {
      Mask some;
      for (const sint& size : whole) some.emplace_back(0, size);
      some[at(Batch)].second = symbolic::variable("n", 0, sizes_[Batch]);
      st = st.shrink(some);
    }
    if (!chance(1, 8)) return LazyOp::load(++buffers_, dtype_, st);
    const DType narrow = one_of({DType::Int8, DType::Float8E4M3, DType::Float8E5M2});
    return LazyOp::cast(LazyOp::load(++buffers_, narrow, st), dtype_);
  }

  // Broadcast along an axis except at one end.
  ShapeTracker padded_where_it_repeats(const ShapeTracker& st) {
    const std::size_t axis = chooser_.below(shape_.size());
    if (shape_[axis] < 2) return st;
    return padded_at_an_end(st, axis, chooser_.between(1, shape_[axis] - 1));
  }

  std::array<std::int64_t, 4> sizes_{1, 1, 1, 1};  // by role
  std::array<int, 4> place_{0, 1, 2, 3};           // of a role among the axes
  std::vector<std::int64_t> shape_;                // by axis; 1 where it was reduced
  bool all_ = true;                                // of a batch
  bool shared_ = false;                            // the batch shares some of the columns' part
};

/// A matrix product, windows into a row with a factor per output, or a plain reduce of rows. Sizes
/// lie just below, at and above the thresholds from which code packs an operand in tiles, and
/// transposes these in registers if lanes are strided and terms contiguous.
class TilesDraw final : public LoopsDraw {
 public:
  explicit TilesDraw(Chooser& chooser)
      : LoopsDraw(chooser, {DType::Float32, DType::Int32, DType::Float32, DType::UInt32,
                            DType::Int32, DType::Int16, DType::Float64, DType::Float16}) {
    rows_ = one_of<std::int64_t>({16, 9, 12, 8, 17, 7, 32, 1});
    lanes_ = one_of<std::int64_t>({16, 32, 17, 33, 31, 15, 48, 72});
    terms_ = one_of<std::int64_t>({16, 32, 17, 33, 31, 15, 48, 20});
    rows_ = std::min(rows_, kMostOfTiles / (lanes_ * terms_));
  }

 private:
  LazyOpPtr value() override {
    LazyOpPtr term = lanes();
    if (chance(1, 5)) term = LazyOp::binary(Op::Add, term, chance(1, 2) ? term : lanes());
    if (!chance(1, 8)) {
      const Op op = one_of({Op::Mul, Op::Mul, Op::Mul, Op::Add, Op::Max});
      term = joined(op, term, leaf({terms_, 0, 1}));
    }
    const LazyOpPtr result = reduced(6, term, {2});
    return chance(1, 5) ? LazyOp::unary(Op::Neg, result) : result;
  }

  // A buffer with these strides along rows, lanes and terms.
  LazyOpPtr leaf(const Strides& strides) {
    const std::array sizes{rows_, lanes_, terms_};
    ShapeTracker st = strided({sizes.begin(), sizes.end()}, strides);
    if (chance(1, 6)) {
      const std::size_t axis = chooser_.below(sizes.size());
      st = padded_at_an_end(st, axis, std::min(chooser_.between(1, 2), sizes[axis]));
    }
    return LazyOp::load(++buffers_, dtype_, st);
  }

  // The operand that all rows share: transposed, reversed, with gaps, as windows of a row, or
  // plain.
  LazyOpPtr lanes() {
    const std::int64_t backwards = chance(1, 3) ? -1 : 1;  // along the terms
    switch (chooser_.below(8)) {
      case 4: return leaf({0, -terms_, backwards});
      case 5: return leaf({0, 1, backwards * lanes_});
      case 6: return leaf({0, one_of<std::int64_t>({1, 2, 16, 3}), backwards});
      case 7: return leaf({0, 2 * terms_, 2 * backwards});
      default: return leaf({0, terms_ + chooser_.between(0, 1), backwards});
    }
  }

  std::int64_t rows_ = 16, lanes_ = 16, terms_ = 16;
};

/// A reduce over windows into rows padded on any side, alone or with a factor of the outputs and
/// one of some axes. Window terms lie any step apart, and so do windows; a window may span several
/// rows. Padding may be another number than 0.
class WindowsDraw final : public LoopsDraw {
 public:
  explicit WindowsDraw(Chooser& chooser)
      : LoopsDraw(chooser,
                  {DType::Float32, DType::Int32, DType::Float32, DType::Float64, DType::UInt8}) {
    constexpr std::array<std::array<std::int64_t, 4>, kRank> kSizes{
        {{4, 8, 1, 3}, {2, 1, 4, 3}, {8, 4, 9, 17}, {1, 2, 1, 3}, {3, 2, 5, 4}}};
    for (std::size_t i = 0; i < kRank; ++i) sizes_[i] = kSizes[i][chooser_.below(4)];
    while (product({sizes_.begin(), sizes_.end()}) > kMostTerms)
      sizes_[sizes_[Outputs] > 1 ? Outputs : Lanes] /= 2;
  }

 private:
  enum Axis : std::uint8_t { Outputs, Height, Lanes, Channels, Terms };

  LazyOpPtr value() override {
    const LazyOpPtr rows = windows();
    const Op first = op();
    const bool alone = chance(1, 4);
    LazyOpPtr term = alone ? rows : LazyOp::binary(first, leaf({Outputs, Channels, Terms}), rows);
    if (chance(1, alone ? 8 : 3)) {
      const Op second = op();
      const auto one = static_cast<Axis>(chooser_.below(kRank)),
                 other = static_cast<Axis>(chooser_.below(kRank));
      term = LazyOp::binary(second, term, leaf({one, other}));
    }
    const LazyOpPtr result = reduced(alone ? 2 : 6, term, {Channels, Terms});
    return chance(1, 4) ? LazyOp::binary(Op::Max, result, result) : result;
  }

  Op op() { return one_of({Op::Mul, Op::Mul, Op::Mul, Op::Add}); }
  Shape whole() const { return {sizes_.begin(), sizes_.end()}; }

  // A buffer with these axes.
  LazyOpPtr leaf(std::initializer_list<Axis> axes) {
    Shape stored(kRank, sint(1));
    for (const Axis axis : axes) stored[axis] = sizes_[axis];
    return LazyOp::load(++buffers_, dtype_, ShapeTracker::contiguous(stored).expand(whole()));
  }

  // Elements of padding at the ends of an axis: up to two each, fewer than `most` together.
  std::pair<std::int64_t, std::int64_t> ends(std::int64_t most) {
    std::pair<std::int64_t, std::int64_t> out{0, 0};
    for (std::int64_t* const end : {&out.first, &out.second})
      if (chance(1, 2)) *end = chooser_.between(1, 2);
    return out.first + out.second >= most ? std::pair<std::int64_t, std::int64_t>{0, 0} : out;
  }

  // For each channel some rows, for each row `Lanes` windows of `Terms` elements; padding applies
  // to the rows or to the windows.
  LazyOpPtr windows() {
    const auto any_step = [&] { return one_of<std::int64_t>({1, 1, 2, -1, 3, -2}); };
    const std::int64_t apart = any_step();
    // Often a multiple: then terms periodically read what other lanes read.
    const std::int64_t step = chance(1, 3) ? apart * chooser_.between(2, 3) : any_step();
    const auto [above, below] = ends(sizes_[Height]);
    const bool whole_windows = chance(1, 2);
    const auto [left, right] = ends(sizes_[Lanes]);
    const std::int64_t height = sizes_[Height] - above - below;
    const std::int64_t lanes = whole_windows ? sizes_[Lanes] - left - right : sizes_[Lanes];
    const std::int64_t reach =
        (lanes - 1) * std::abs(step) + (sizes_[Terms] - 1) * std::abs(apart) + 1;
    const std::int64_t cut = whole_windows || left + right >= reach ? 0 : left + right;
    // Channels are separate images, or rows of one image shared by windows further down.
    const bool of_rows = chance(1, 3);
    const std::int64_t down = of_rows ? chooser_.between(1, 2) : 1;
    const std::int64_t rows = of_rows ? (height - 1) * down + sizes_[Channels] : height;
    const std::int64_t next = of_rows ? reach : height * reach;
    std::vector<View> views =
        ShapeTracker::contiguous({of_rows ? 1 : sizes_[Channels], rows, reach - cut})
            .pad({{0, 0}, {0, 0}, {cut == 0 ? 0 : left, cut == 0 ? 0 : right}})
            .views();
    views.push_back(
        strided({sizes_[Channels], height, lanes, sizes_[Terms]}, {next, down * reach, step, apart})
            .views()[0]);
    const std::pair<sint, sint> sides{whole_windows ? left : 0, whole_windows ? right : 0};
    const ShapeTracker st =
        ShapeTracker(views)
            .pad({{0, 0}, {above, below}, sides, {0, 0}})
            .permute(std::vector<int>{1, 2, 0, 3})
            .reshape({1, sizes_[Height], sizes_[Lanes], sizes_[Channels], sizes_[Terms]})
            .expand(whole());
    const LazyOpPtr x = LazyOp::load(++buffers_, dtype_, st);
    if (chance(1, 4)) return padded_with_another(x);
    // A computation on a window may be done once, ahead, for all that read it.
    return chance(2, 3) ? LazyOp::binary(Op::Add, x, x) : x;
  }

  // A choice by a load's own mask, seldom by another, between it and a number or another load.
  LazyOpPtr padded_with_another(const LazyOpPtr& x) {
    const ShapeTracker all = ShapeTracker::contiguous({1, 1, 1, 1, 1}).expand(whole());
    ShapeTracker mask = x->buffer().st;
    if (chance(1, 8))  // mask one lane more, at the other end
      mask = padded(all, Lanes, 0, sizes_[Lanes] > 1 ? 1 : 0);
    const double lowest = is_float(dtype_) && chance(1, 2)
                              ? -std::numeric_limits<double>::infinity()
                              : -1 - static_cast<double>(chooser_.below(3));
    const LazyOpPtr rest = chance(1, 8)
                               ? leaf({Lanes, Terms})
                               : LazyOp::constant(Scalar::from_double(dtype_, lowest), all);
    return LazyOp::ternary(Op::Where, LazyOp::constant(Scalar::from_bits(DType::Bool, 1), mask), x,
                           rest);
  }

  std::array<std::int64_t, kRank> sizes_{};
};

}  // namespace

KernelCase draw_contraction(Chooser& chooser) { return ContractionDraw(chooser).draw(); }
KernelCase draw_tiles(Chooser& chooser) { return TilesDraw(chooser).draw(); }
KernelCase draw_windows(Chooser& chooser) { return WindowsDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
