#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "touchstone/fuzz/index/put_number.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {
namespace {

/// scale * n + plus, with the case's variable n.
struct Size {
  std::int64_t scale = 0, plus = 0;
  bool operator==(const Size&) const = default;
  bool one() const { return scale == 0 && plus == 1; }
};

class ChainDraw {
 public:
  explicit ChainDraw(Chooser& chooser) : chooser_(chooser) {}

  std::string draw_any() {
    if (chooser_.chance(1, 32)) return draw_strided(chooser_.chance(1, 4) ? 3 : 2);
    if (chooser_.chance(1, 10)) {
      low_ = chooser_.between(0, 3);
      high_ = low_ + chooser_.between(0, 3);
      out_ = fmt::format("n={}..{} | ", low_, high_);
      symbolic_ = true;
    }
    return draw({});
  }

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
  void put(std::int64_t number) { put_number(out_, number); }
  void put(const Size& s) {
    if (s.scale == 0) {
      put(s.plus);
      return;
    }
    if (s.scale != 1) {
      put(s.scale);
      out_ += '*';
    }
    out_ += 'n';
    if (s.plus > 0) out_ += '+';
    if (s.plus != 0) put(s.plus);
  }
  /// The list with each entry written by `write`, as "1,2"; "()" if empty.
  template <class List, class Write>
  void put_list(List& list, const Write& write) {
    if (list.empty()) out_ += "()";
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ',';
      write(list[i]);
    }
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put_list(list, [&](const T& entry) { put(entry); });
  }
  void begin(std::string_view name) {
    out_ += ' ';
    out_ += name;
    out_ += ' ';
  }
  std::int64_t most(const Size& s) const { return s.scale * high_ + s.plus; }
  std::int64_t least(const Size& s) const { return s.scale * low_ + s.plus; }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (const Size& s : shape_) n *= most(s);
    return n;
  }
  // The element count ignoring axes of size 0.
  std::int64_t bulk() const {
    std::int64_t n = 1;
    for (const Size& s : shape_) n *= std::max<std::int64_t>(most(s), 1);
    return n;
  }
  bool concrete() const {
    return std::ranges::all_of(shape_, [](const Size& s) { return s.scale == 0; });
  }
  static constexpr std::int64_t kMost = 160;

  void draw_base() {
    constexpr std::int64_t kSizes[] = {2, 3, 1, 4, 6, 2, 3, 5, 7, 4, 8, 0};
    for (std::uint64_t rank = chooser_.chance(1, 12) ? 5 + chooser_.below(4) : chooser_.below(5);
         rank > 0; --rank) {
      std::int64_t size = kSizes[chooser_.below(chooser_.chance(1, 4) ? 12 : 11)];
      if (bulk() * size > 96) size = 1;
      shape_.push_back({0, size});
    }
    if (!symbolic_) return;
    if (shape_.empty()) shape_.push_back({0, 1});
    shape_[chooser_.below(shape_.size())] = {1, chooser_.between(0, 1)};
  }

  void draw_dense_base() {
    for (std::int64_t rank = chooser_.between(2, 4); rank > 0; --rank)
      shape_.push_back({0, chooser_.between(2, 6)});
  }

  // Draws stacked views, independent of shapes: strides are small, or row strides of the view
  // below, of either sign, or all equal. Outside the padding each stays within the view below.
  std::string draw_strided(int views) {
    Strided s = draw_strides(chooser_.below(4), 0);
    const std::int64_t slack = static_cast<std::int64_t>(chooser_.below(3));
    shape_ = {{0, s.high - s.low + 1 + slack}};
    put(shape_);
    for (int i = 0; i < views; ++i) {
      if (i > 0) s = draw_strides(chooser_.chance(1, 3) ? 1 : 4, count());
      put_strided(s,
                  (i == 0 ? slack : chooser_.between(0, count() - 1 - (s.high - s.low))) - s.low);
      if (chooser_.chance(3, 4)) pad();
      if (chooser_.chance(1, 16)) mask_all();
    }
    return out_;
  }

  // The same shape, fully masked.
  void mask_all() {
    if (shape_.empty()) return;
    const Size* const axis = &shape_[chooser_.below(shape_.size())];
    for (const bool shrinks : {true, false}) {
      begin(shrinks ? "shrink" : "pad");
      put_list(shape_, [&](const Size& s) {
        put(0);
        out_ += ':';
        put((&s == axis) == shrinks ? 0 : s.plus);
      });
    }
  }

  struct Strided {
    std::vector<Size> shape;
    std::vector<std::int64_t> strides;
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
            stride *= shape_[shape_.size() - axes].plus;
      }
      const std::int64_t by = stride < 0 ? -stride : stride;
      while (elements > 0 && s.high - s.low + by * (extent - 1) >= elements) --extent;
      (stride < 0 ? s.low : s.high) += stride * (extent - 1);
      s.shape.push_back({0, extent});
      s.strides.push_back(stride);
    }
    if (style == 3) {
      std::ranges::reverse(s.shape);
      std::ranges::reverse(s.strides);
    }
    return s;
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
    std::vector<std::int64_t> order(shape_.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[i - 1 - chooser_.below(i)]);
    std::vector<Size> now;
    now.reserve(order.size());
    for (const std::int64_t axis : order) now.push_back(shape_[static_cast<std::size_t>(axis)]);
    shape_ = std::move(now);
    begin("permute");
    put(order);
  }

  void pad() {
    begin("pad");
    put_list(shape_, [&](Size& size) {
      std::int64_t before = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      std::int64_t after = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      const Size old = size;
      size.plus += before + after;
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
    put_list(shape_, [&](Size& s) {
      if (symbolic_ && s.scale == 0 && s.plus > high_ && chooser_.chance(1, 3)) {
        window(s);
        return;
      }
      std::int64_t before = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      std::int64_t after = chooser_.chance(1, 2) ? chooser_.between(0, 3) : 0;
      const bool to_nothing = chooser_.chance(1, 16);
      if (before + after > least(s) - (to_nothing ? 0 : 1)) before = after = 0;
      put(before);
      out_ += ':';
      put(Size{s.scale, s.plus - after});
      s.plus -= before + after;
    });
  }

  // A few elements from n on, often one.
  void window(Size& s) {
    const std::int64_t room = s.plus - high_;
    const std::int64_t size = chooser_.chance(1, 2) ? 1 : chooser_.between(1, room);
    const std::int64_t first = chooser_.between(0, room - size);
    put(Size{1, first});
    out_ += ':';
    put(Size{1, first + size});
    s = {0, size};
  }

  void expand() {
    for (Size& s : shape_) {
      if (!s.one() || chooser_.chance(1, 3)) continue;
      const Size old = s;
      s = symbolic_ && chooser_.chance(1, 2) ? Size{1, 0} : Size{0, chooser_.between(2, 4)};
      if (chooser_.chance(1, 20)) s = {0, 0};
      if (bulk() > kMost) s = old;
    }
    begin("expand");
    put(shape_);
  }

  void stride() {
    begin("stride");
    put_list(shape_, [&](Size& s) {
      constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3, -3};
      const std::int64_t by = kSteps[s.scale != 0 ? chooser_.below(2) : chooser_.below(6)];
      const std::int64_t size = by < 0 ? -by : by;
      if (s.scale == 0) s.plus = (s.plus + size - 1) / size;
      put(by);
    });
  }

  // Any factorisation of the element count, with some 1s. With a variable: joins two neighbours, or
  // splits one by a divisor.
  void reshape() {
    if (!concrete()) {
      reshape_symbolic();
      return;
    }
    std::int64_t rest = count();
    std::vector<Size> now;
    now.reserve(8);
    if (rest == 0) {
      now = shape_;
      if (now.size() > 4) {  // drop an axis, but not the last empty one
        const auto some = std::ranges::find_if(now, [](const Size& s) { return s.plus != 0; });
        now.erase(some == now.end() ? now.begin() : some);
      }
      const auto at = static_cast<std::ptrdiff_t>(chooser_.below(now.size() + 1));
      now.insert(now.begin() + at, Size{0, bulk() > 60 ? 1 : chooser_.between(0, 3)});
      if (chooser_.chance(1, 2)) std::ranges::reverse(now);
    }
    while (rest > 1 && now.size() < 5) {
      // Divisors above 1, ascending: at most 24, including the number itself.
      std::int64_t divisors[24], large[24];
      std::size_t found = 0, above = 0;
      for (std::int64_t d = 2; d * d <= rest && found < 24; ++d) {
        if (rest % d != 0) continue;
        divisors[found++] = d;
        if (d * d < rest) large[above++] = rest / d;
      }
      while (above > 0 && found < 24) divisors[found++] = large[--above];
      if (found < 24) ++found;
      divisors[found - 1] = rest;
      const std::int64_t d = divisors[found - 1 - chooser_.below(found)];
      now.push_back({0, d});
      rest /= d;
      if (chooser_.chance(1, 6)) now.push_back({0, 1});
    }
    if (rest > 1) now.back().plus *= rest;
    shape_ = std::move(now);
    begin("reshape");
    put(shape_);
  }

  void reshape_symbolic() {
    std::vector<Size> now = shape_;
    const std::size_t at = chooser_.below(now.size());
    const auto place = now.begin() + static_cast<std::ptrdiff_t>(at);
    if (at + 1 < now.size() && (now[at].scale == 0 || now[at + 1].scale == 0) &&
        chooser_.chance(2, 3)) {
      const Size a = now[at], b = now[at + 1];
      const std::int64_t k = a.scale == 0 ? a.plus : b.plus;
      const Size& other = a.scale == 0 ? b : a;
      now[at] = {other.scale * k, other.plus * k};
      now.erase(place + 1);
    } else {
      const std::int64_t by = chooser_.between(2, 4);
      if (now[at].scale % by == 0 && now[at].plus % by == 0 && now[at] != Size{}) {
        now[at] = {now[at].scale / by, now[at].plus / by};
        now.insert(now.begin() + static_cast<std::ptrdiff_t>(at + chooser_.below(2)), Size{0, by});
      } else {
        now.insert(place, Size{0, 1});
      }
    }
    shape_ = std::move(now);
    begin("reshape");
    put(shape_);
  }

  void as_strided() {
    if (!concrete() || count() == 0) {
      reshape();
      return;
    }
    const std::int64_t size = count();
    Strided s;
    for (std::int64_t i = chooser_.between(0, 3); i > 0; --i) {
      const std::int64_t stride = chooser_.between(-3, 7);
      std::int64_t extent = chooser_.between(1, 4);
      while (s.high - s.low + (stride < 0 ? -stride : stride) * (extent - 1) >= size) --extent;
      (stride < 0 ? s.low : s.high) += stride * (extent - 1);
      s.shape.push_back({0, extent});
      s.strides.push_back(stride);
    }
    put_strided(s, chooser_.between(0, size - 1 - (s.high - s.low)) - s.low);
  }

  Chooser& chooser_;
  std::uint64_t left_out_ = 0;  // two bits per operation; both set: this case omits it
  std::vector<MovementOp::Kind> among_;
  bool symbolic_ = false;
  std::int64_t low_ = 0, high_ = 0;
  std::vector<Size> shape_;
  std::string out_;
};

}  // namespace

std::string draw_chain(Chooser& chooser) {
  return chooser.chance(1, 20) ? draw_symbolic_chain(chooser) : ChainDraw(chooser).draw_any();
}

std::string draw_chain(Chooser& chooser, const ChainKind& kind) {
  return ChainDraw(chooser).draw(kind);
}

}  // namespace touchstone::fuzz
