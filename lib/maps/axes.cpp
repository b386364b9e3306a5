#include "touchstone/maps/axes.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "touchstone/maps/points.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::maps {

using shapetracker::Wide;
using symbolic::Id;
using symbolic::Node;
using symbolic::NodeData;
using symbolic::NodeKind;
using symbolic::Term;

namespace {

// (input // lo) % (hi / lo), or without a top if hi is 0, times a factor.
struct Digit {
  std::size_t input;
  std::int64_t lo, hi;
  sint factor;
};

class DigitReader {
 public:
  explicit DigitReader(const Map& map) : map_(map) {}

  /// A result as digits and an offset.
  bool read(const Node& result, std::vector<Digit>& digits, sint& offset) const {
    context_ = result.context();
    const NodeData d = (*context_)[result.id()];
    if (d.kind != NodeKind::Sum) {
      if (d.kind != NodeKind::Constant) return term(Term{1, result.id()}, digits, offset);
      const auto value = d.first.small();
      if (value) offset = *value;
      return value.has_value();
    }
    const auto value = d.first.small();
    if (!value) return false;
    offset = *value;
    return std::ranges::all_of(d.terms, [&](const Term& t) { return term(t, digits, offset); });
  }

 private:
  bool term(const Term& t, std::vector<Digit>& digits, sint& offset) const {
    const auto coefficient = t.coef.small();
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    if (!coefficient || *coefficient > kMost || *coefficient < -kMost) return false;
    sint factor = *coefficient;
    std::optional<Digit> found;
    const NodeData d = (*context_)[t.atom];
    const auto part = [&](Id id) {
      if (const auto digit = found ? std::nullopt : digit_of(id)) {
        found = digit;
        return true;
      }
      const Node n = context_->handle(id);
      if (has_input(n)) return false;
      factor = factor * sint(n);
      return true;
    };
    if (d.kind == NodeKind::Product) {
      for (const Id id : d.args)
        if (!part(id)) return false;
    } else if (!part(t.atom)) {
      return false;
    }
    if (found) {
      found->factor = factor;
      digits.push_back(*found);
    } else {
      offset = offset + factor;
    }
    return true;
  }
  std::optional<Digit> digit_of(Id id) const {
    const NodeData d = (*context_)[id];
    if (d.kind == NodeKind::Variable) {
      if (const auto k = input_of(id)) return Digit{*k, 1, 0, 0};
      return std::nullopt;
    }
    if (d.kind != NodeKind::Digit) return std::nullopt;
    const auto k = input_of(d.args[0]);
    const auto lo = d.first.small(), hi = d.second.small();
    if (!k || !lo || !hi) return std::nullopt;
    return Digit{*k, *lo, *hi, 0};
  }
  std::optional<std::size_t> input_of(Id id) const {
    for (std::size_t k = 0; k < map_.inputs().size(); ++k)
      if (map_.inputs()[k].node.id() == id && !map_.inputs()[k].node.is_constant()) return k;
    return std::nullopt;
  }
  bool has_input(const Node& n) const {
    if (map_.symbols().empty()) return !n.is_constant();
    return std::ranges::any_of(symbolic::variables(n),
                               [&](const Node& v) { return input_of(v.id()).has_value(); });
  }

  const Map& map_;
  mutable symbolic::Context* context_ = nullptr;
};

bool is_one(const std::optional<sint>& size) { return size && *size == sint(1); }

}  // namespace

bool Axes::is_numeric() const {
  const auto number = [](const sint& s) { return s.is_int(); };
  return std::ranges::all_of(offset, number) && std::ranges::all_of(axes, [&](const Axis& a) {
           return a.size && a.size->is_int() && std::ranges::all_of(a.strides, number);
         });
}

std::optional<std::pair<std::int64_t, std::int64_t>> Axes::reach(std::size_t result) const {
  if (!is_numeric()) return std::nullopt;
  Wide lo = offset[result].as_int(), hi = lo;
  for (const Axis& a : axes) {
    const Wide far = static_cast<Wide>(a.strides[result].as_int()) * (a.size->as_int() - 1);
    (far < 0 ? lo : hi) += far;
  }
  if (lo < INT64_MIN || hi > INT64_MAX) return std::nullopt;
  return std::pair(static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi));
}

std::vector<std::int64_t> Axes::point(std::span<const std::int64_t> digits,
                                      std::size_t inputs) const {
  std::vector<std::int64_t> p(inputs, 0);
  for (std::size_t k = 0; k < axes.size(); ++k) p[axes[k].input] += digits[k] * axes[k].place;
  return p;
}

std::optional<Axes> axes_of(const Map& map) {
  const Map::Box box = map.box();
  if (box.empty || !box.rest.empty()) return std::nullopt;
  const std::size_t count = map.results().size(), inputs = map.inputs().size();
  std::vector<std::vector<Digit>> digits(count);
  Axes r;
  r.offset.resize(count);
  const DigitReader reader(map);
  for (std::size_t k = 0; k < count; ++k)
    if (!reader.read(map.results()[k], digits[k], r.offset[k])) return std::nullopt;
  for (std::size_t v = 0; v < inputs; ++v) {
    const Map::Box::Side& side = box.sides[v];
    std::set<std::int64_t> cuts{1};
    for (const auto& of_result : digits)
      for (const Digit& d : of_result)
        if (d.input == v) cuts.insert({d.lo, d.hi == 0 ? d.lo : d.hi});
    std::optional<sint> extent = side.extent;
    if (side.lo != 0 && cuts.size() > 1) return std::nullopt;
    if (extent && extent->is_int())
      std::erase_if(cuts, [&](std::int64_t c) { return c > 1 && c >= extent->as_int(); });
    const std::vector<std::int64_t> places(cuts.begin(), cuts.end());
    for (std::size_t i = 0; i < places.size(); ++i) {
      Axis a{v, places[i], {}, std::vector<sint>(count)};
      if (i + 1 < places.size()) {
        if (places[i + 1] % places[i] != 0) return std::nullopt;
        a.size = sint(places[i + 1] / places[i]);
      } else if (extent && places[i] == 1) {
        a.size = extent;
      } else if (extent) {
        a.size = floor_div(*extent + sint(places[i] - 1), sint(places[i]));
        r.whole = r.whole && floor_mod(*extent, sint(places[i])) == sint(0);
      }
      for (std::size_t k = 0; k < count; ++k)
        for (const Digit& d : digits[k])
          if (d.input == v && d.lo <= a.place && (d.hi == 0 || a.place < d.hi))
            a.strides[k] = a.strides[k] + d.factor * sint(a.place / d.lo);
      r.axes.push_back(std::move(a));
    }
  }
  return r;
}

std::optional<Axes> probed_axes(const Map& map) {
  const Map::Box box = map.box();
  const auto points = box.count();
  if (!points || *points > kMostProbed || *points == 0 || !box.rest.empty() ||
      !map.symbols().empty())
    return std::nullopt;
  const std::size_t inputs = map.inputs().size(), count = map.results().size();
  Values values(map);
  Axes r;
  std::vector<std::int64_t> zero(inputs, 0), p = zero;
  const auto base = values.at(zero);
  if (!base) return std::nullopt;
  r.offset.assign(base->begin(), base->end());
  using Moved = std::vector<std::int64_t>;
  for (std::size_t v = 0; v < inputs; ++v) {
    const std::int64_t extent = *box.sides[v].hi + 1;
    const auto moved = [&](std::int64_t x) -> std::optional<Moved> {
      p[v] = x;
      const auto at = values.at(p);
      p[v] = 0;
      if (!at) return std::nullopt;
      Moved m(count);
      for (std::size_t k = 0; k < count; ++k)
        if (__builtin_sub_overflow((*at)[k], (*base)[k], &m[k])) return std::nullopt;
      return m;
    };
    for (std::int64_t place = 1; place < extent;) {
      const auto step = moved(place);
      if (!step) return std::nullopt;
      std::int64_t n = 2;
      for (; n * place < extent; ++n) {
        const auto next = moved(n * place);
        bool straight = next.has_value();
        for (std::size_t k = 0; k < count && straight; ++k) {
          std::int64_t expected = 0;
          straight = !__builtin_mul_overflow(n, (*step)[k], &expected) && (*next)[k] == expected;
        }
        if (!straight) break;
      }
      r.axes.push_back({v, place, sint(n), std::vector<sint>(step->begin(), step->end())});
      place *= n;
      r.whole = r.whole && extent % std::min(place, extent) == 0 && place <= extent;
    }
    if (extent == 1) r.axes.push_back({v, 1, sint(1), std::vector<sint>(count)});
  }
  const bool same = each_point(box, [&](std::span<const std::int64_t> at) {
    const auto value = values.at(at);
    if (!value) return false;
    for (std::size_t k = 0; k < count; ++k) {
      Wide sum = r.offset[k].as_int();
      for (const Axis& a : r.axes)
        sum += static_cast<Wide>(at[a.input] / a.place % a.size->as_int()) * a.strides[k].as_int();
      if (sum != (*value)[k]) return false;
    }
    return true;
  });
  if (!same) return std::nullopt;
  return r;
}

Axes joined(Axes axes, bool all) {
  std::vector<Axis> r;
  for (Axis& a : axes.axes) {
    if (is_one(a.size)) continue;
    if (!r.empty() && (all || r.back().input == a.input) && r.back().size) {
      Axis& last = r.back();
      bool continues = last.size.has_value();
      for (std::size_t k = 0; k < a.strides.size() && continues; ++k)
        continues = last.strides[k] * *last.size == a.strides[k];
      if (continues) {
        last.size = a.size ? std::optional(*last.size * *a.size) : std::nullopt;
        continue;
      }
    }
    r.push_back(std::move(a));
  }
  axes.axes = std::move(r);
  return axes;
}

namespace {

class Search {
 public:
  Search(const std::vector<Unknown>& unknowns, bool not_all_zero)
      : order_(unknowns.size()), not_all_zero_(not_all_zero), values_(unknowns.size(), 0) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
      return std::abs(unknowns[a].factor) > std::abs(unknowns[b].factor);
    });
    for (const std::size_t k : order_) sorted_.push_back(unknowns[k]);
    const std::size_t n = sorted_.size();
    low_.assign(n + 1, 0), high_.assign(n + 1, 0), gcd_.assign(n + 1, 0);
    for (std::size_t k = n; k-- > 0;) {
      const Unknown& u = sorted_[k];
      const Wide a = static_cast<Wide>(u.factor) * u.lo, b = static_cast<Wide>(u.factor) * u.hi;
      low_[k] = low_[k + 1] + std::min(a, b);
      high_[k] = high_[k + 1] + std::max(a, b);
      gcd_[k] = std::gcd(gcd_[k + 1], u.factor);
    }
  }

  Solution run(std::int64_t target) {
    Solution s;
    const bool found = visit(0, target, true);
    s.decided = found || nodes_ > 0;
    if (!found) return s;
    s.values.emplace(values_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) (*s.values)[order_[k]] = values_[k];
    return s;
  }

 private:
  // `left` is still to be made by the unknowns from k on.
  bool visit(std::size_t k, Wide left, bool all_zero) {
    if (--nodes_ <= 0) return false;
    if (k == sorted_.size()) return left == 0 && !(not_all_zero_ && all_zero);
    if (left < low_[k] || left > high_[k]) return false;
    if (gcd_[k] != 0 && left % gcd_[k] != 0) return false;
    const Unknown& u = sorted_[k];
    if (u.factor == 0) {  // all the rest are 0: any values
      if (left != 0) return false;
      for (std::size_t j = k; j < sorted_.size(); ++j) {
        const Unknown& w = sorted_[j];
        values_[j] = w.lo <= 0 && w.hi >= 0 ? 0 : w.lo;
        if (not_all_zero_ && all_zero && values_[j] == 0 && (w.lo != 0 || w.hi != 0))
          values_[j] = w.hi != 0 ? w.hi : w.lo;
        all_zero = all_zero && values_[j] == 0;
      }
      return !(not_all_zero_ && all_zero);
    }
    // left - factor * x must be within the reach of the rest.
    Wide from = u.lo, to = u.hi;
    const Wide f = u.factor, a = left - high_[k + 1], b = left - low_[k + 1];
    const auto floor = [](Wide x, Wide y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); };
    const Wide first = f > 0 ? -floor(-a, f) : -floor(-b, f),
               last = f > 0 ? floor(b, f) : floor(a, f);
    from = std::max(from, first), to = std::min(to, last);
    for (Wide x = from; x <= to; ++x) {
      values_[k] = static_cast<std::int64_t>(x);
      if (visit(k + 1, left - f * x, all_zero && x == 0)) return true;
      if (nodes_ <= 0) return false;
    }
    return false;
  }

  std::vector<std::size_t> order_;
  std::vector<Unknown> sorted_;
  std::vector<Wide> low_, high_;
  std::vector<std::int64_t> gcd_;
  bool not_all_zero_;
  std::vector<std::int64_t> values_;
  int nodes_ = 50'000;
};

}  // namespace

Solution solve(const std::vector<Unknown>& unknowns, std::int64_t target, bool not_all_zero) {
  return Search(unknowns, not_all_zero).run(target);
}

std::optional<std::pair<sint, bool>> magnitude(const sint& stride) {
  if (certainly_le(0, stride)) return std::pair(stride, false);
  if (certainly_le(stride, 0)) return std::pair(sint(0) - stride, true);
  return std::nullopt;
}

namespace {

// Orders the open axes so that each stride exceeds what those before it can add up to, `reach`.
// Symbols may leave several candidates for the next.
bool in_order(const Axes& axes, std::size_t result, std::vector<std::size_t>& open,
              const sint& reach, std::vector<std::size_t>& order) {
  if (open.empty()) return true;
  const auto stride = [&](std::size_t k) { return magnitude(axes.axes[k].strides[result]); };
  constexpr std::size_t kMostTried = 6;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const std::size_t k = open[i];
    const auto own = stride(k);
    if (!own || !certainly_lt(reach, own->first)) continue;
    const bool smaller = std::ranges::any_of(open, [&](std::size_t j) {
      const auto other = stride(j);
      return j != k && other && certainly_lt(other->first, own->first);
    });
    const auto& size = axes.axes[k].size;
    if (smaller || (!size && open.size() > 1)) continue;  // nothing exceeds an open reach
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    order.push_back(k);
    if (in_order(axes, result, open, size ? reach + (*size - sint(1)) * own->first : reach, order))
      return true;
    open.insert(open.begin() + static_cast<std::ptrdiff_t>(i), k);
    order.pop_back();
    if (own->first.is_int() || open.size() > kMostTried) return false;
  }
  return false;
}

}  // namespace

std::optional<std::vector<DecodeStep>> decoding(const Axes& axes, bool skip_still) {
  const std::size_t n = axes.axes.size();
  std::vector<bool> known(n);
  for (std::size_t k = 0; k < n; ++k)
    known[k] = is_one(axes.axes[k].size) || (skip_still && axes.axes[k].still());
  std::vector<DecodeStep> steps;
  std::vector<bool> used(axes.offset.size());
  for (bool progress = true; progress && std::ranges::find(known, false) != known.end();) {
    progress = false;
    for (std::size_t r = 0; r < axes.offset.size(); ++r) {
      if (used[r]) continue;
      std::vector<std::size_t> open;
      for (std::size_t k = 0; k < n; ++k)
        if (!known[k] && axes.axes[k].strides[r] != sint(0)) open.push_back(k);
      DecodeStep step{r, {}};
      if (open.empty() || !in_order(axes, r, open, 0, step.axes)) continue;
      for (const std::size_t k : step.axes) known[k] = true;
      used[r] = true;
      steps.push_back(std::move(step));
      progress = true;
    }
  }
  if (std::ranges::find(known, false) != known.end()) return std::nullopt;
  return steps;
}

std::optional<std::vector<Unknown>> packed_differences(const Axes& axes) {
  if (!axes.is_numeric()) return std::nullopt;
  constexpr Wide kMost = Wide{1} << 62;
  std::vector<Wide> packed(axes.axes.size(), 0);
  Wide weight = 1;
  for (std::size_t r = 0; r < axes.offset.size(); ++r) {
    Wide reach = 0;
    for (std::size_t k = 0; k < packed.size(); ++k) {
      const Axis& a = axes.axes[k];
      packed[k] += a.strides[r].as_int() * weight;
      reach += static_cast<Wide>(std::abs(a.strides[r].as_int())) * (a.size->as_int() - 1);
      if (reach >= kMost || packed[k] >= kMost || packed[k] <= -kMost) return std::nullopt;
    }
    weight *= 2 * reach + 1;
    if (weight >= kMost) return std::nullopt;
  }
  std::vector<Unknown> r;
  for (std::size_t k = 0; k < packed.size(); ++k) {
    const std::int64_t most = axes.axes[k].size->as_int() - 1;
    r.push_back({static_cast<std::int64_t>(packed[k]), -most, most});
  }
  return r;
}

}  // namespace touchstone::maps
