#include <algorithm>
#include <numeric>

#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

class ChainDraw {
 public:
  explicit ChainDraw(Chooser& chooser) : chooser_(chooser) {}

  std::string draw(const ChainKind& kind) {
    if (kind.strided > 0) return draw_strided(kind.strided);
    among_ = kind.among;
    left_out_ = among_.empty() ? chooser_.below(1 << 14) : 0;
    std::int64_t length = chooser_.between(kind.least, kind.most);
    kind.dense ? draw_dense_base() : draw_base();
    put(shape_);
    // Masks several axes, then reshapes.
    const bool masked_first = among_.empty() && chooser_.chance(1, 3);
    if (masked_first && length < 2) length = 2;
    for (std::int64_t i = 0; i < length; ++i) {
      if (masked_first && i < 2)
        i == 0 ? pad() : reshape();
      else
        step();
    }
    return out_;
  }

 private:
  void put(std::int64_t number) { out_ += std::to_string(number); }
  /// The list with each entry written by `write`, as "1,2"; "()" if empty.
  template <class List, class Write>
  void put_list(List& list, const Write& write) {
    if (list.empty()) out_ += "()";
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ',';
      write(list[i]);
    }
  }
  void put(const Sizes& list) {
    put_list(list, [&](std::int64_t entry) { put(entry); });
  }
  void begin(std::string_view name) {
    out_ += ' ';
    out_ += name;
    out_ += ' ';
  }
  std::int64_t count() const {
    return std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
  }
  // The element count ignoring axes of size 0.
  std::int64_t bulk() const {
    std::int64_t n = 1;
    for (const std::int64_t size : shape_) n *= std::max<std::int64_t>(size, 1);
    return n;
  }
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
    put(shape_);
    for (int i = 0; i < views; ++i) {
      if (i > 0) s = draw_strides(chooser_.chance(1, 3) ? 1 : 4, count());
      put_strided(s, i == 0 ? slack - s.low : place_of(s));
      if (chooser_.chance(3, 4)) pad();
      if (chooser_.chance(1, 16)) mask_all();
    }
    return out_;
  }

  // The same shape, fully masked.
  void mask_all() {
    if (shape_.empty()) return;
    const std::int64_t* const axis = &shape_[chooser_.below(shape_.size())];
    for (const bool shrinks : {true, false}) {
      begin(shrinks ? "shrink" : "pad");
      put_list(shape_, [&](const std::int64_t& size) {
        put(0);
        out_ += ':';
        put((&size == axis) == shrinks ? 0 : size);
      });
    }
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

  void put_strided(const Strided& s, std::int64_t offset) {
    shape_ = s.shape;
    begin("as_strided");
    put(shape_);
    out_ += ':';
    put(s.strides);
    out_ += ':';
    put(offset);
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

  void permute() {
    const Sizes order = chooser_.order(shape_.size());
    Sizes now;
    for (const std::int64_t axis : order) now.push_back(shape_[static_cast<std::size_t>(axis)]);
    shape_ = std::move(now);
    begin("permute");
    put(order);
  }

  void pad() {
    begin("pad");
    put_list(shape_, [&](std::int64_t& size) {
      std::int64_t before = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      std::int64_t after = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      const std::int64_t old = size;
      size += before + after;
      if (bulk() > kMost) {
        before = after = 0;
        size = old;
      }
      put(before);
      out_ += ':';
      put(after);
    });
  }

  void shrink() {
    begin("shrink");
    put_list(shape_, [&](std::int64_t& size) {
      std::int64_t before = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      std::int64_t after = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      const bool to_nothing = chooser_.chance(1, 16);
      if (before + after > size - (to_nothing ? 0 : 1)) before = after = 0;
      put(before);
      out_ += ':';
      put(size - after);
      size -= before + after;
    });
  }

  void expand() {
    for (std::int64_t& size : shape_) {
      if (size != 1 || chooser_.chance(1, 3)) continue;
      size = chooser_.between(2, 4);
      if (chooser_.chance(1, 20)) size = 0;
      if (bulk() > kMost) size = 1;
    }
    begin("expand");
    put(shape_);
  }

  void stride() {
    begin("stride");
    put_list(shape_, [&](std::int64_t& size) {
      constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3, -3};
      const std::int64_t by = kSteps[chooser_.below(6)], width = by < 0 ? -by : by;
      size = (size + width - 1) / width;
      put(by);
    });
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
    shape_ = std::move(now);
    begin("reshape");
    put(shape_);
  }

  void as_strided() {
    if (count() == 0) return reshape();
    const Strided s = draw_strides(1, count());
    put_strided(s, place_of(s));
  }

  Chooser& chooser_;
  std::uint64_t left_out_ = 0;  // two bits per operation; both set: this case omits it
  std::vector<MovementOp::Kind> among_;
  Sizes shape_;
  std::string out_;
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
