#include "touchstone/maps/points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace touchstone::maps {

using symbolic::Int;
using symbolic::Node;

Values::Values(const Map& map, Beyond beyond)
    : conditions_(map.conditions().size()), skips_(beyond) {
  for (const Node& c : map.conditions()) add(map, c);
  for (const Node& r : map.results()) add(map, r);
}

void Values::add(const Map& map, const Node& n) {
  Part& p = parts_.emplace_back(Part{symbolic::CompiledNode(*n.context(), n.id()), {}, {}});
  for (const symbolic::Id id : p.code.variables()) {
    std::size_t k = 0;
    while (k < map.inputs().size() && map.inputs()[k].node.id() != id) ++k;
    if (k == map.inputs().size())
      throw Error(fmt::format("the value of {} is unknown",
                              symbolic::variable_name(n.context()->handle(id))));
    p.slots.push_back(k);
  }
  p.point.resize(p.slots.size());
}

const std::optional<std::vector<std::int64_t>>& Values::at(std::span<const std::int64_t> point) {
  if (value_)
    value_->clear();
  else
    value_.emplace();
  is_beyond_ = false;
  for (std::size_t n = 0; n < parts_.size(); ++n) {
    Part& p = parts_[n];
    for (std::size_t i = 0; i < p.slots.size(); ++i) p.point[i] = point[p.slots[i]];
    const std::optional<Int> v = p.code.run(p.point);
    if (!v || (n < conditions_ && v->is_zero())) {
      value_.reset();
      break;
    }
    if (n < conditions_) continue;
    const auto small = v->small();
    is_beyond_ = !small;
    if (is_beyond_ && skips_ == Beyond::Throw)
      throw OverflowError(fmt::format("the value {} does not fit in 64 bits", v->str()));
    if (is_beyond_) {
      value_.reset();
      break;
    }
    value_->push_back(*small);
  }
  return value_;
}

bool each_point(const Map::Box& box, const std::function<bool(std::span<const std::int64_t>)>& f) {
  if (box.empty) return true;
  std::vector<std::int64_t> p;
  for (const Map::Box::Side& s : box.sides) p.push_back(s.lo.value());
  for (;;) {
    if (!f(p)) return false;
    std::size_t i = p.size();
    while (i > 0 && p[i - 1] == box.sides[i - 1].hi.value()) --i, p[i] = *box.sides[i].lo;
    if (i == 0) return true;
    ++p[i - 1];
  }
}

std::vector<std::uint32_t> Table::sorted(bool distinct) const {
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0U);
  if (results == 1)
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return values[a] != values[b] ? values[a] < values[b] : a < b;
    });
  else
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      const auto x = value(a), y = value(b);
      const auto c = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
      return c != 0 ? c < 0 : a < b;
    });
  if (distinct) {
    const auto same = [&](std::uint32_t a, std::uint32_t b) {
      return std::ranges::equal(value(a), value(b));
    };
    const auto rest = std::ranges::unique(order, same);
    order.erase(rest.begin(), rest.end());
  }
  return order;
}

std::optional<Table> table_of(const Map& map, std::int64_t most, Beyond beyond) {
  const Map::Box box = map.box();
  const auto count = box.count();
  if (!map.symbols().empty() || !count || *count > most) return std::nullopt;
  Table t{map.inputs().size(), map.results().size(), {}, {}};
  Values values(map, beyond);
  each_point(box, [&](std::span<const std::int64_t> p) {
    if (const auto& v = values.at(p)) {
      t.points.insert(t.points.end(), p.begin(), p.end());
      t.values.insert(t.values.end(), v->begin(), v->end());
    }
    t.beyond = t.beyond || values.beyond();
    return true;
  });
  return t;
}

Map corner(const Map& map, std::int64_t most, bool from_top) {
  const Map::Box box = map.box();
  // The same width for all, more for some where others have few values.
  std::vector<std::int64_t> widths;
  for (const auto& s : box.sides) {
    std::int64_t w = most;
    if (s.lo && s.hi) {
      const auto wide = static_cast<shapetracker::Wide>(*s.hi) - *s.lo + 1;
      if (wide < w) w = std::max<std::int64_t>(static_cast<std::int64_t>(wide), 1);
    }
    widths.push_back(w);
  }
  std::int64_t width = most;
  const auto total = [&] {
    double n = 1;
    for (const std::int64_t w : widths) n *= static_cast<double>(std::min(w, width));
    return n;
  };
  while (width > 1 && total() > static_cast<double>(most)) width = width * 3 / 4;
  Map m = map;
  for (std::size_t k = 0; k < widths.size(); ++k) {
    const auto& s = box.sides[k];
    const std::int64_t w = std::min(widths[k], width);
    constexpr shapetracker::Wide kEnd = std::numeric_limits<std::int64_t>::max();
    using Wide = shapetracker::Wide;
    Wide lo = s.lo ? Wide{*s.lo} : s.hi ? Wide{*s.hi} - w + 1 : Wide{-w / 2}, hi = lo + w - 1;
    if (from_top && s.hi) hi = Wide{*s.hi}, lo = hi - w + 1;
    lo = std::max(lo, -kEnd - 1);
    hi = std::min(hi, kEnd);
    m = m.restricted(fmt::format("{}={}..{}", map.inputs()[k].name, static_cast<std::int64_t>(lo),
                                 static_cast<std::int64_t>(hi)));
  }
  return m;
}

}  // namespace touchstone::maps
