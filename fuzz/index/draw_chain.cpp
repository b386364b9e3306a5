#include <algorithm>
#include <numeric>

#include "touchstone/fuzz/index/movement_draw.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {
namespace {

using Kind = MovementOp::Kind;
using Sizes = MovementDraw::Sizes;

class ChainDraw {
 public:
  explicit ChainDraw(Chooser& chooser) : chooser_(chooser) {}

  std::string draw(const ChainKind& kind) {
    if (kind.strided > 0) return draw_strided(kind.strided);
    among_ = kind.among;
    left_out_ = among_.empty() ? chooser_.below(1 << 14) : 0;
    std::int64_t length = chooser_.between(kind.least, kind.most);
    kind.dense ? draw_dense_base() : draw_base();
    case_.base = {shape_.begin(), shape_.end()};
    // Masks several axes, then reshapes.
    const bool masked_first = among_.empty() && chooser_.chance(1, 3);
    if (masked_first && length < 2) length = 2;
    for (std::int64_t i = 0; i < length; ++i) {
      if (masked_first && i < 2)
        i == 0 ? pad() : reshape();
      else
        step();
    }
    return case_.str();
  }

 private:
  void add(MovementOp op) { case_.ops.push_back(std::move(op)); }
  std::int64_t count() const {
    return std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
  }
  std::int64_t bulk() const { return MovementDraw::bulk(shape_); }
  static constexpr std::int64_t kMost = 160;

  void draw_base() {
    constexpr std::int64_t kSizes[] = {2, 3, 1, 4, 6, 2, 3, 5, 7, 4, 8, 0};
    for (std::uint64_t rank = chooser_.chance(1, 12) ? 5 + chooser_.below(4) : chooser_.below(5);
         rank > 0; --rank) {
      std::int64_t size = kSizes[chooser_.below(chooser_.chance(1, 4) ? 12 : 11)];
      if (bulk() * size > 96) size = 1;
      shape_.push_back(size);
    }
  }

  void draw_dense_base() {
    for (std::int64_t rank = chooser_.between(2, 4); rank > 0; --rank)
      shape_.push_back(chooser_.between(2, 6));
  }

  // Draws stacked views, independent of shapes: strides are small, or row strides of the view
  // below, of either sign, or all equal. Outside the padding each stays within the view below.
  std::string draw_strided(int views) {
    Strided s = draw_strides(chooser_.below(4), 0);
    const std::int64_t slack = static_cast<std::int64_t>(chooser_.below(3));
    shape_ = {s.high - s.low + 1 + slack};
    case_.base = {shape_[0]};
    for (int i = 0; i < views; ++i) {
      if (i > 0) s = draw_strides(chooser_.chance(1, 3) ? 1 : 4, count());
      strided(s, i == 0 ? slack - s.low : place_of(s));
      if (chooser_.chance(3, 4)) pad();
      if (chooser_.chance(1, 16)) mask_all();
    }
    return case_.str();
  }

  // The same shape, fully masked.
  void mask_all() {
    if (shape_.empty()) return;
    const std::size_t axis = chooser_.below(shape_.size());
    MovementOp none{.kind = Kind::Shrink}, back{.kind = Kind::Pad};
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      none.ends.emplace_back(0, i == axis ? 0 : shape_[i]);
      back.ends.emplace_back(0, i == axis ? shape_[i] : 0);
    }
    add(std::move(none));
    add(std::move(back));
  }

  struct Strided {
    Sizes shape, strides;
    std::int64_t low = 0, high = 0;  // range of the addresses read
  };

  // Within `elements` elements; unlimited if 0.
  Strided draw_strides(std::uint64_t style, std::int64_t elements) {
    Strided s;
    const std::int64_t alike = chooser_.between(-3, 3);
    for (std::int64_t rank = chooser_.between(0, 4); rank > 0; --rank) {
      std::int64_t stride = 0, extent = chooser_.between(1, 4);
      switch (style) {
        case 0: stride = chooser_.between(-2, 2); break;
        case 1: stride = chooser_.between(-8, 8); break;
        case 2: stride = alike * chooser_.between(-1, 1); break;
        case 3:  // contiguous rows: the last axis first
          stride = (s.high - s.low + 1) * (chooser_.chance(1, 4) ? -1 : 1);
          break;
        default:
          stride = chooser_.between(-1, 2);
          for (std::uint64_t axes = chooser_.below(shape_.size() + 1); axes > 0; --axes)
            stride *= shape_[shape_.size() - axes];
      }
      const std::int64_t by = stride < 0 ? -stride : stride;
      while (elements > 0 && s.high - s.low + by * (extent - 1) >= elements) --extent;
      (stride < 0 ? s.low : s.high) += stride * (extent - 1);
      s.shape.push_back(extent);
      s.strides.push_back(stride);
    }
    if (style == 3) {
      std::ranges::reverse(s.shape);
      std::ranges::reverse(s.strides);
    }
    return s;
  }

  // An offset with which all addresses are within the shape.
  std::int64_t place_of(const Strided& s) {
    return chooser_.between(0, count() - 1 - (s.high - s.low)) - s.low;
  }

  void strided(const Strided& s, std::int64_t offset) {
    shape_ = s.shape;
    add({.kind = Kind::AsStrided,
         .shape = {s.shape.begin(), s.shape.end()},
         .strides = {s.strides.begin(), s.strides.end()},
         .offset = offset});
  }

  void step() {
    using Op = void (ChainDraw::*)();
    static constexpr Op kOps[] = {&ChainDraw::reshape,   &ChainDraw::permute, &ChainDraw::expand,
                                  &ChainDraw::pad,       &ChainDraw::shrink,  &ChainDraw::stride,
                                  &ChainDraw::as_strided};  // as in MovementOp::Kind
    if (!among_.empty()) {
      (this->*kOps[static_cast<std::size_t>(chooser_.pick(among_))])();
      return;
    }
    static constexpr std::size_t kWhich[] = {0, 1, 3, 4, 2, 5, 0, 0, 3, 0, 6, 1};
    const std::size_t which = kWhich[chooser_.below(std::size(kWhich))];
    const bool out = (left_out_ >> (2 * which) & 3) == 3;
    (this->*kOps[out ? 0 : which])();
  }

  void permute() { add(draw_.permute()); }

  // An amount of up to 3 in half of the cases.
  std::int64_t some() { return chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0; }

  void pad() {
    add(draw_.ends(
        Kind::Pad,
        [&](std::int64_t) {
          const std::int64_t before = some();
          return std::pair{before, some()};
        },
        kMost));
  }

  void shrink() {
    add(draw_.ends(Kind::Shrink, [&](std::int64_t size) {
      const std::int64_t before = some(), after = some();
      const bool to_nothing = chooser_.chance(1, 16);
      return before + after > size - (to_nothing ? 0 : 1)
                 ? std::pair{std::int64_t{0}, std::int64_t{0}}
                 : std::pair{before, after};
    }));
  }

  void expand() {
    Sizes to = shape_;
    for (std::int64_t& size : to) {
      if (size != 1 || chooser_.chance(1, 3)) continue;
      size = chooser_.between(2, 4);
      if (chooser_.chance(1, 20)) size = 0;
      if (MovementDraw::bulk(to) > kMost) size = 1;
    }
    add(draw_.expand(std::move(to)));
  }

  void stride() {
    constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3, -3};
    add(draw_.stride([&](std::int64_t) { return kSteps[chooser_.below(6)]; }));
  }

  // Any factorisation of the element count, with some 1s.
  void reshape() {
    Sizes now = shape_;
    if (const std::int64_t elements = count(); elements > 0) {
      now = chooser_.factors(elements, 5);
    } else {
      if (now.size() > 4) {  // drop an axis, but not the last empty one
        const auto some = std::ranges::find_if(now, [](std::int64_t size) { return size != 0; });
        now.erase(some == now.end() ? now.begin() : some);
      }
      const auto at = static_cast<std::ptrdiff_t>(chooser_.below(now.size() + 1));
      now.insert(now.begin() + at, bulk() > 60 ? 1 : chooser_.between(0, 3));
      if (chooser_.chance(1, 2)) std::ranges::reverse(now);
    }
    add(draw_.reshape(std::move(now)));
  }

  void as_strided() {
    if (count() == 0) return reshape();
    const Strided s = draw_strides(1, count());
    strided(s, place_of(s));
  }

  Chooser& chooser_;
  std::uint64_t left_out_ = 0;  // two bits per operation; both set: this case omits it
  std::vector<MovementOp::Kind> among_;
  Sizes shape_;
  ViewCase case_;
  MovementDraw draw_{chooser_, shape_};
};

}  // namespace

std::string draw_chain(Chooser& chooser) {
  if (chooser.chance(1, 8)) return draw_symbolic_chain(chooser);
  return draw_chain(chooser, {.strided = !chooser.chance(1, 32) ? 0
                                         : chooser.chance(1, 4) ? 3
                                                                : 2});
}

std::string draw_chain(Chooser& chooser, const ChainKind& kind) {
  return ChainDraw(chooser).draw(kind);
}

}  // namespace touchstone::fuzz
