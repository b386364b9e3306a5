#include "touchstone/maps/decide.h"

#include <algorithm>
#include <functional>
#include <set>

#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::maps {

using symbolic::Node;
using Point = std::span<const std::int64_t>;

namespace {

symbolic::Values named(const Map& m, Point p) {
  symbolic::Values r;
  for (std::size_t k = 0; k < p.size(); ++k) r.emplace(m.inputs()[k].name, p[k]);
  return r;
}

// A map as digits of its inputs, counted from their least values.
struct Digits {
  Map::FromZero base;
  Axes axes;
  /// The inputs at these digits.
  std::vector<std::int64_t> point(Point digits) const {
    std::vector<std::int64_t> p = axes.point(digits, base.lows.size());
    for (std::size_t k = 0; k < p.size(); ++k) p[k] += base.lows[k];
    return p;
  }
};
std::optional<Digits> digits_of(const Map& map) {
  auto base = map.from_zero();
  auto axes = base ? axes_of(base->map) : std::nullopt;
  return axes ? std::optional(Digits{*std::move(base), *std::move(axes)}) : std::nullopt;
}

Reply too_many() { return {Verdict::Open, "too many points to try all, and no proof", {}}; }

// What refutes the map's first or last points.
template <class Ask>
Reply at_corners(const Map& map, std::int64_t most, const Ask& ask) {
  for (const bool top : {false, true})
    if (Reply r = ask(corner(map, most, top)); r.verdict == Verdict::No) return r;
  return too_many();
}

// Both tables' results in order: f(place in the first, place in the second) for a result that both
// have, and with nullopt for the table without it; until f is false.
template <class F>
void each_result(const Table& a, const Table& b, const F& f) {
  using Place = std::optional<std::uint32_t>;
  const auto left = a.sorted(true), right = b.sorted(true);
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    auto c = i == left.size() ? std::strong_ordering::greater : std::strong_ordering::less;
    if (i < left.size() && j < right.size()) {
      const auto v = a.value(left[i]), w = b.value(right[j]);
      c = std::lexicographical_compare_three_way(v.begin(), v.end(), w.begin(), w.end());
    }
    const Place first = c <= 0 ? Place(left[i++]) : Place(),
                second = c >= 0 ? Place(right[j++]) : Place();
    if (!f(first, second)) return;
  }
}

std::string tuple_text(Point values) {
  std::string text = fmt::format("{}", fmt::join(values, ", "));
  return values.size() == 1 ? text : "(" + text + ")";
}

std::string words(const symbolic::Values& point) {
  std::string text;
  for (const auto& [name, value] : point)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text.empty() ? "the only point" : text;
}

std::vector<Map::Input> all_symbols(const Map& a, const Map* b) {
  std::vector<Map::Input> r = a.symbols();
  if (b)
    for (const Map::Input& s : b->symbols())
      if (std::ranges::find(r, s.name, &Map::Input::name) == r.end()) r.push_back(s);
  return r;
}

// Asks with values for the symbols: one that refutes does so for all, and few can all be tried.
Reply with_values(const std::vector<Map::Input>& symbols,
                  const std::function<Reply(const symbolic::Values&)>& ask) {
  constexpr std::size_t kFew = 80;
  std::vector<std::vector<std::int64_t>> choices;
  bool all = true;
  std::size_t count = 1;
  for (const Map::Input& s : symbols) {
    const std::int64_t lo = s.lo.value_or(s.hi ? std::min<std::int64_t>(*s.hi, -8) : -8);
    std::vector<std::int64_t>& own = choices.emplace_back();
    const auto width = static_cast<shapetracker::Wide>(s.hi.value_or(INT64_MAX)) - lo;
    const bool few = s.lo && width < 16 && count < kFew;
    all = all && few;
    for (std::int64_t k = 0; k <= width && k < 16; ++k) own.push_back(lo + k);
    count *= own.size();
  }
  all = all && count <= kFew;
  Reply open{all ? Verdict::Yes : Verdict::Open,
             all ? "at all values of the symbols" : "neither proved nor refuted",
             {}};
  std::uint64_t random = 1;
  for (std::size_t n = 0; n < std::min(count, kFew); ++n) {
    symbolic::Values values;
    std::size_t place = n;
    for (std::size_t k = 0; k < symbols.size(); ++k) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const std::size_t i = all ? place : static_cast<std::size_t>(random >> 33);
      values.emplace(symbols[k].name, choices[k][i % choices[k].size()]);
      place /= choices[k].size();
    }
    Reply r = ask(values);
    if (r.verdict == Verdict::No) {
      for (symbolic::Values& p : r.points) p.insert(values.begin(), values.end());
      r.what = fmt::format("with {}: {}", words(values), r.what);
      return r;
    }
    if (r.verdict == Verdict::Open) open.verdict = Verdict::Open;
  }
  if (open.verdict == Verdict::Open) open.what = "neither proved nor refuted";
  return open;
}

Reply two_points(const symbolic::Values& a, const symbolic::Values& b, Point value) {
  return {Verdict::No,
          fmt::format("{} and {} both have {}", words(a), words(b), tuple_text(value)),
          {a, b}};
}

Reply injective_of(const Table& t, const Map& m) {
  const auto order = t.sorted(false);
  for (std::size_t k = 1; k < order.size(); ++k)
    if (std::ranges::equal(t.value(order[k - 1]), t.value(order[k])))
      return two_points(named(m, t.point(order[k - 1])), named(m, t.point(order[k])),
                        t.value(order[k]));
  if (t.beyond) return {Verdict::Open, "results beyond 64 bits were not compared", {}};
  return {Verdict::Yes, fmt::format("{} points have different results", t.size()), {}};
}

}  // namespace

Reply injective(const Map& map) {
  if (map.box().empty) return {Verdict::Yes, "no point is in the domain", {}};
  if (const auto d = digits_of(map)) {
    if (decoding(d->axes)) return {Verdict::Yes, "each digit can be read off the results", {}};
    if (const auto unknowns = packed_differences(d->axes)) {
      const Solution s = solve(*unknowns, 0, true);
      if (s.decided && !s.values)
        return {Verdict::Yes, "no difference of two points moves the results by 0", {}};
      if (s.values) {
        std::vector<std::int64_t> a, b;
        for (const std::int64_t v : *s.values)
          a.push_back(std::max<std::int64_t>(v, 0)), b.push_back(std::max<std::int64_t>(-v, 0));
        const auto p = d->point(a), q = d->point(b);
        Values values(map, Beyond::Skip);
        const auto inside = [&](const std::vector<std::int64_t>& at) {
          for (std::size_t k = 0; k < at.size(); ++k)
            if (const auto& hi = map.inputs()[k].hi; hi && at[k] > *hi) return false;
          return values.at(at).has_value();
        };
        if (inside(p) && inside(q)) return two_points(named(map, p), named(map, q), *values.at(p));
      }
    }
  }
  if (!map.symbols().empty())
    return with_values(map.symbols(), [&](const auto& v) { return injective(map.bind(v)); });
  if (const auto t = table_of(map, kMostPoints, Beyond::Skip)) return injective_of(*t, map);
  constexpr std::int64_t kCorner = 1 << 16;
  return at_corners(map, kCorner, [](const Map& part) {
    const auto t = table_of(part, kMostPoints, Beyond::Skip);
    return t ? injective_of(*t, part) : too_many();
  });
}

Reply same(const Map& a, const Map& given) {
  if (a.results().size() != given.results().size())
    return {Verdict::No,
            fmt::format("{} results and {}", a.results().size(), given.results().size()),
            {}};
  const std::vector<Map::Input> symbols = all_symbols(a, &given);
  const auto bound = [&] {
    return with_values(symbols, [&](const auto& v) { return same(a.bind(v), given.bind(v)); });
  };
  std::optional<Map> fitted;
  try {
    fitted = given.over_inputs_of(a);
  } catch (const ShapeError&) {
    if (symbols.empty()) throw;
    return bound();
  }
  const Map& b = *fitted;
  const bool same_domain = std::ranges::is_permutation(a.conditions(), b.conditions());
  if (same_domain && a.results() == b.results()) return {Verdict::Yes, "the same expressions", {}};
  std::vector<Node> differences;
  for (std::size_t k = 0; k < a.results().size(); ++k)
    differences.push_back(a.results()[k] - b.results()[k]);
  const Map difference = a.with_results(differences);
  if (same_domain && symbols.empty()) {
    if (const auto d = digits_of(difference); d && d->axes.is_numeric()) {
      // A sum of digits is 0 everywhere only if it has no strides.
      std::vector<std::int64_t> digits(d->axes.axes.size(), 0);
      bool moves = std::ranges::any_of(d->axes.offset, [](const sint& o) { return o != sint(0); });
      for (std::size_t k = 0; k < digits.size() && !moves; ++k)
        if (const Axis& axis = d->axes.axes[k]; !axis.still() && *axis.size != sint(1))
          digits[k] = 1, moves = true;
      if (!moves) return {Verdict::Yes, "the difference is 0 at every digit", {}};
      const auto p = d->point(digits);
      Values x(a, Beyond::Skip), y(b, Beyond::Skip);
      const auto u = x.at(p), v = y.at(p);
      if (u && v && *u != *v)
        return {Verdict::No,
                fmt::format("{} and {} at {}", tuple_text(*u), tuple_text(*v), words(named(a, p))),
                {named(a, p)}};
    }
  }
  if (!symbols.empty()) return bound();
  const auto compare = [&](const Map& region, const Map::Box& box) -> Reply {
    Values x(region, Beyond::Skip), y(b, Beyond::Skip);
    Reply r{Verdict::Yes, "the same at every point", {}};
    std::int64_t points = 0, skipped = 0;
    const auto text = [](const auto& v) { return v ? tuple_text(*v) : std::string("no value"); };
    each_point(box, [&](Point p) {
      const auto& u = x.at(p);
      const auto& v = y.at(p);
      if (x.beyond() || y.beyond()) return ++skipped > 0;
      points += u.has_value();
      if (u == v) return true;
      r = {Verdict::No,
           fmt::format("{} and {} at {}", text(u), text(v), words(named(a, p))),
           {named(a, p)}};
      return false;
    });
    if (r.verdict == Verdict::Yes) r.what = fmt::format("the same at {} points", points);
    if (r.verdict == Verdict::Yes && skipped > 0)
      return {Verdict::Open, fmt::format("{}; beyond 64 bits at {}", r.what, skipped), {}};
    return r;
  };
  Map::Box whole = a.box();  // of both, for points that only one has
  const Map::Box other = b.box();
  for (std::size_t k = 0; k < whole.sides.size(); ++k) {
    auto& [lo, hi, extent] = whole.sides[k];
    lo = lo && other.sides[k].lo ? std::optional(std::min(*lo, *other.sides[k].lo)) : std::nullopt;
    hi = hi && other.sides[k].hi ? std::optional(std::max(*hi, *other.sides[k].hi)) : std::nullopt;
  }
  whole.empty = whole.empty && other.empty;
  const auto count = whole.count();
  if (count && *count <= kMostPoints) return compare(a, whole);
  constexpr std::int64_t kCorner = 1 << 15;
  return at_corners(a, kCorner, [&](const Map& region) {
    const Map::Box box = region.box();
    return box.count() ? compare(region, box) : too_many();
  });
}

std::vector<std::string> missing_facts(const Map& a, const Map& given) {
  const Map b = given.over_inputs_of(a);
  using symbolic::Expr;
  symbolic::Exprs e;
  std::vector<std::string> terms, constants;  // operands of the facts to try
  std::vector<std::pair<std::string, std::string>> divisions;
  const auto add = [](auto& list, auto text) {
    if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
  };
  for (const Map* m : {&a, &b})
    for (const symbolic::Question& q : m->questions()) {
      for (const auto& [name, range] : q.variables)
        if (!(range.lo && range.lo == range.hi)) add(terms, name);
      for (const Expr p : e.parts(symbolic::parse_expr(e, q.text))) {
        if (e.is_constant(p)) {
          if (abs(e.value(p)) > symbolic::Int(1)) add(constants, abs(e.value(p)).str());
        } else if (symbolic::divides(e.op(p))) {
          add(divisions, std::pair(render(e, e.arg(p, 0)), render(e, e.arg(p, 1))));
        }
      }
    }
  std::ranges::sort(constants, {}, [](const std::string& c) { return std::pair(c.size(), c); });
  std::vector<std::string> facts;
  for (const std::string& t : terms) {
    facts.push_back(t + " >= 0");
    for (const std::string& c : constants) facts.push_back(fmt::format("{}%{} == 0", t, c));
    for (const std::string& o : terms)
      if (o != t) facts.push_back(fmt::format("{}%{} == 0", t, o));
  }
  for (const auto& [x, d] : divisions) facts.push_back(fmt::format("({})%({}) == 0", x, d));
  const auto bounds = [&](const std::string& x, const std::string& limit) {
    facts.push_back(fmt::format("{} < {}", x, limit));
    facts.push_back(fmt::format("0 <= {0} and {0} < {1}", x, limit));
  };
  for (const std::string& t : terms) {
    for (const std::string& c : constants) bounds(t, c);
    for (const std::string& o : terms)
      if (o != t) bounds(t, o);
  }
  for (const auto& [x, d] : divisions) bounds("(" + x + ")", "(" + d + ")");
  std::vector<std::string> found;
  constexpr std::size_t kMostTried = 400, kMostPaired = 50, kMostFound = 4;
  const auto tried = [&](const std::string& fact) {
    try {
      const Map left = a.restricted(fact), right = b.restricted(fact);
      if (left.box().empty || left.conditions() == a.conditions()) return;
      // Not if it says more than one that was found, or leaves no points.
      const bool implied = std::ranges::any_of(found, [&](const std::string& f) {
        return left.restricted(f).conditions() == left.conditions();
      });
      if (implied || left.results() != right.results() ||
          !std::ranges::is_permutation(left.conditions(), right.conditions()))
        return;
      if (const auto t = table_of(left, 1 << 12); t && t->size() == 0) return;
      found.push_back(fact);
    } catch (const Error&) {  // a division by 0, or no fact of these maps
    }
  };
  for (std::size_t k = 0; k < std::min(facts.size(), kMostTried) && found.size() < kMostFound; ++k)
    tried(facts[k]);
  // A divisibility and a bound.
  if (found.empty() && facts.size() <= 2 * kMostPaired)
    for (std::size_t k = 0; k < facts.size() && found.size() < kMostFound; ++k)
      for (std::size_t j = k + 1; j < facts.size() && found.size() < kMostFound; ++j)
        if (facts[k].find('%') != std::string::npos && facts[j].find('%') == std::string::npos)
          tried(facts[k] + " and " + facts[j]);
  return found;
}

namespace {

// Every digit continues the one before: the results of its step are all numbers from 0.
bool compact(const Axes& axes, const std::vector<DecodeStep>& steps) {
  std::vector<bool> used(axes.offset.size(), false);
  for (const DecodeStep& step : steps) {
    used[step.result] = true;
    sint next = 1;
    for (const std::size_t k : step.axes) {
      const Axis& a = axes.axes[k];
      if (!a.size || a.strides[step.result] != next) return false;
      for (std::size_t r = 0; r < a.strides.size(); ++r)
        if (r != step.result && a.strides[r] != sint(0)) return false;
      next = next * *a.size;
    }
  }
  return axes.whole && std::ranges::find(used, false) == used.end();
}

}  // namespace

Reply surjective(const Map& map, const std::optional<Ranges>& onto) {
  if (const auto d = onto ? std::nullopt : digits_of(map))
    if (const auto steps = decoding(d->axes, true);
        steps && compact(d->axes, *steps) &&
        std::ranges::all_of(d->axes.offset, [](const sint& o) { return o == sint(0); }))
      return {Verdict::Yes, "the strides leave no gap", {}};
  if (!map.symbols().empty())
    return with_values(map.symbols(), [&](const auto& v) { return surjective(map.bind(v), onto); });
  Ranges ranges;
  const auto seen = image(map);
  if (onto)
    ranges = *onto;
  else if (seen)
    for (const auto& [lo, hi] : seen->ranges)
      ranges.emplace_back(std::min<std::int64_t>(lo, 0), hi);
  else if (map.box().empty)
    return {Verdict::Yes, "no point, no result", {}};
  else
    return {Verdict::Open, "too many points, or an open range", {}};
  if (ranges.size() != map.results().size())
    throw ShapeError(
        fmt::format("--onto needs a range for each of {} results", map.results().size()));
  std::string text;
  std::int64_t wanted = 1;
  for (const auto& [lo, hi] : ranges) {
    if (lo > hi) throw ShapeError(fmt::format("--onto {}..{}: an empty range", lo, hi));
    text += fmt::format("{}[{}, {}]", text.empty() ? "" : " x ", lo, hi);
    wanted = checked_mul(wanted, checked_add(checked_sub(hi, lo), 1));
  }
  if (seen && seen->distinct && seen->ranges == ranges && *seen->distinct == wanted)
    return {Verdict::Yes, fmt::format("every value of {} occurs", text), {}};
  if (seen && seen->points && *seen->points < wanted && wanted > kMostPoints)
    return {Verdict::No,
            fmt::format("{} points cannot have all {} values of {}", *seen->points, wanted, text),
            {}};
  const auto table =
      table_of(map, kMostPoints, Beyond::Skip);  // results beyond 64 bits lie in no range
  if (!table) return too_many();
  std::vector<std::int64_t> next;
  for (const auto& [lo, hi] : ranges) next.push_back(lo);
  // The values in order; the first that is missing.
  for (const std::uint32_t k : table->sorted(true)) {
    const auto v = table->value(k);
    bool inside = true;
    for (std::size_t r = 0; r < v.size(); ++r)
      inside = inside && v[r] >= ranges[r].first && v[r] <= ranges[r].second;
    if (!inside) continue;
    if (!std::ranges::equal(v, next)) break;
    std::size_t r = next.size();
    while (r > 0 && next[r - 1] == ranges[r - 1].second) --r, next[r] = ranges[r].first;
    if (r == 0) return {Verdict::Yes, fmt::format("every value of {} occurs", text), {}};
    ++next[r - 1];
  }
  return {Verdict::No, fmt::format("no point has {}, of {}", tuple_text(next), text), {}};
}

Reply bijective(const Map& map, const std::optional<Ranges>& onto) {
  // Most maps show it by their counts alone.
  if (const auto seen = image(map); seen && seen->points && seen->points == seen->distinct) {
    shapetracker::Wide wanted = 1;
    bool fits = !onto || *onto == seen->ranges;
    for (const auto& [lo, hi] : seen->ranges) {
      fits = fits && (onto || lo == 0) && wanted <= *seen->points;
      if (!fits) break;
      wanted *= static_cast<shapetracker::Wide>(hi) - lo + 1;
    }
    if (fits && wanted == *seen->points)
      return {
          Verdict::Yes,
          fmt::format("{} points have all {} results, each once", *seen->points, *seen->distinct),
          {}};
  }
  Reply one = injective(map);
  if (one.verdict == Verdict::No) return one;
  Reply all = surjective(map, onto);
  if (all.verdict == Verdict::No) return all;
  if (one.verdict == Verdict::Open) return one;
  if (all.verdict == Verdict::Open) return all;
  all.what = "different points have different results, and " + all.what;
  if (onto && all.verdict == Verdict::Yes)  // no result may be outside
    if (const auto seen = image(map); !seen || seen->ranges != *onto)
      return {seen ? Verdict::No : Verdict::Open, "a result is outside the range", {}};
  return all;
}

namespace {

std::optional<Image> image_of(const Map& map) {
  if (!map.symbols().empty()) return std::nullopt;
  if (const auto d = digits_of(map); d && d->axes.is_numeric() && d->axes.whole) {
    Image r{d->base.map.box().count(), std::nullopt, {}};
    Axes moving = d->axes;
    std::erase_if(moving.axes, [](const Axis& a) { return a.still(); });
    for (std::size_t k = 0; k < moving.offset.size(); ++k) {
      const auto reach = d->axes.reach(k);
      if (!reach) return std::nullopt;
      r.ranges.push_back(*reach);
    }
    std::int64_t values = 1;
    for (const Axis& a : moving.axes) values = checked_mul(values, a.size->as_int());
    if (decoding(moving)) {
      r.distinct = values;
    } else if (moving.offset.size() == 1) {
      // Strides that never leave a gap: all multiples of their divisor.
      std::vector<std::pair<std::int64_t, std::int64_t>> steps;
      std::int64_t unit = 0, reach = 0;
      for (const Axis& a : moving.axes) {
        steps.emplace_back(std::abs(a.strides[0].as_int()), a.size->as_int() - 1);
        if (steps.back().second > 0) unit = std::gcd(unit, steps.back().first);
      }
      std::ranges::sort(steps);
      bool dense = unit > 0;
      for (const auto& [stride, most] : steps) {
        if (most == 0) continue;
        dense = dense && stride <= reach + unit;
        reach += stride * most;
      }
      if (dense) r.distinct = reach / unit + 1;
    }
    if (!r.distinct)
      if (const auto u = packed_differences(moving))
        if (const Solution s = solve(*u, 0, true); s.decided && !s.values) r.distinct = values;
    if (r.distinct) return r;
  }
  const auto table = table_of(map);
  if (!table || table->size() == 0) return std::nullopt;
  const auto order = table->sorted(true);
  Image r{static_cast<std::int64_t>(table->size()), static_cast<std::int64_t>(order.size()), {}};
  for (std::size_t k = 0; k < table->results; ++k) {
    std::int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (const std::uint32_t p : order) {
      lo = std::min(lo, table->value(p)[k]);
      hi = std::max(hi, table->value(p)[k]);
    }
    r.ranges.emplace_back(lo, hi);
  }
  return r;
}

}  // namespace

std::optional<Image> image(const Map& map) {
  try {
    return image_of(map);
  } catch (const OverflowError&) {  // its ranges are beyond 64 bits
    return std::nullopt;
  }
}

namespace {

// Proved for all values of the symbols: some difference of results is never 0, itself or as a
// remainder of a symbol.
bool certainly_apart(const Map& a, const Map& b, const std::vector<Map::Input>& symbols) {
  std::map<std::string, Node> other;  // the inputs of b, by names that a has not
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(a.inputs(), name, &Map::Input::name) != a.inputs().end() ||
           std::ranges::find(symbols, name, &Map::Input::name) != symbols.end();
  };
  for (const Map::Input& i : b.inputs()) {
    std::string name = i.name;
    while (is_taken(name)) name += '_';
    other.emplace(i.name, input(name, i.lo, i.hi).node);
  }
  std::vector<Node> conditions = a.conditions();
  for (const Node& c : b.conditions()) conditions.push_back(symbolic::substitute(c, other));
  const auto never = [&](const Node& difference) {
    return symbolic::simplify_under(symbolic::eq(difference, 0), conditions).constant() == 0;
  };
  for (std::size_t k = 0; k < a.results().size(); ++k) {
    const Node d = a.results()[k] - symbolic::substitute(b.results()[k], other);
    if (never(d)) return true;
    for (const Map::Input& s : symbols)
      if (s.lo.value_or(0) > 0 && never(symbolic::floor_mod(d, s.node))) return true;
  }
  return false;
}

}  // namespace

Reply apart(const Map& a, const Map& b) {
  if (a.results().size() != b.results().size())
    throw ShapeError(fmt::format("the maps have {} results and {}; an overlap needs as many",
                                 a.results().size(), b.results().size()));
  if (const auto symbols = all_symbols(a, &b); !symbols.empty()) {
    if (certainly_apart(a, b, symbols))
      return {Verdict::Yes, "no two points have the same result", {}};
    return with_values(symbols, [&](const auto& v) { return apart(a.bind(v), b.bind(v)); });
  }
  const auto meet = [&](Point p, Point q, Point value) -> Reply {
    return {Verdict::No,
            fmt::format("both have {}: the first at {}, the second at {}", tuple_text(value),
                        words(named(a, p)), words(named(b, q))),
            {named(a, p), named(b, q)}};
  };
  if (a.box().empty || b.box().empty) return {Verdict::Yes, "one has no points", {}};
  const auto x = digits_of(a), y = digits_of(b);
  if (x && y && x->axes.is_numeric() && y->axes.is_numeric() && a.results().size() == 1) {
    std::vector<Unknown> unknowns;
    for (const Axis& d : x->axes.axes)
      unknowns.push_back({d.strides[0].as_int(), 0, d.size->as_int() - 1});
    const std::size_t first = unknowns.size();
    for (const Axis& d : y->axes.axes)
      unknowns.push_back({-d.strides[0].as_int(), 0, d.size->as_int() - 1});
    const Solution s =
        solve(unknowns, checked_sub(y->axes.offset[0].as_int(), x->axes.offset[0].as_int()), false);
    if (s.decided && !s.values) return {Verdict::Yes, "no two points have the same result", {}};
    if (s.values && x->axes.whole && y->axes.whole) {
      const auto p = x->point(std::span(*s.values).first(first));
      return meet(p, y->point(std::span(*s.values).subspan(first)), *Values(a).at(p));
    }
  }
  const auto t = table_of(a, kMostPoints, Beyond::Skip), u = table_of(b, kMostPoints, Beyond::Skip);
  if (!t || !u) return too_many();
  std::optional<Reply> met;
  each_result(*t, *u, [&](auto i, auto j) {
    if (i && j) met = meet(t->point(*i), u->point(*j), t->value(*i));
    return !met;
  });
  if (met) return *met;
  if (t->beyond && u->beyond)
    return {Verdict::Open, "results beyond 64 bits were not compared", {}};
  return {Verdict::Yes, "no two points have the same result", {}};
}

std::optional<Comparison> compare_images(const Map& a, const Map& b) {
  if (a.results().size() != b.results().size())
    throw ShapeError(
        fmt::format("the maps have {} results and {}", a.results().size(), b.results().size()));
  const auto t = table_of(a), u = table_of(b);
  if (!t || !u) return std::nullopt;
  Comparison r;
  each_result(*t, *u, [&](auto i, auto j) {
    auto& [count, some] = i && j ? r.both : i ? r.only_a : r.only_b;
    const Point v = i ? t->value(*i) : u->value(*j);
    constexpr std::int64_t kShown = 8;
    if (count++ < kShown) some.emplace_back(v.begin(), v.end());
    return true;
  });
  return r;
}

namespace {

// a and b of a condition a*x + b < 0, or == 0.
struct Linear {
  Node a, b;
  bool equal;
};
std::optional<Linear> linear_in(const Node& condition, const Map::Input& x) {
  const Test test = test_of(condition);
  if (test.kind != Test::Less && test.kind != Test::Equal) return std::nullopt;
  const Node t = test.of;
  const auto at = [&](const Node& value) -> std::optional<Node> {
    try {
      return symbolic::substitute(t, {{x.name, value}});
    } catch (const Error&) {  // divides by 0 there
      return std::nullopt;
    }
  };
  const auto zero = at(0), one = at(1);
  if (!zero || !one) return std::nullopt;
  const Node b = *zero, a = *one - b;
  if (at(x.node) != a * x.node + b) return std::nullopt;
  return Linear{a, b, test.kind == Test::Equal};
}

}  // namespace

Solved solved(const Map& map) {
  if (map.inputs().size() != 1 || map.results().size() != 1)
    throw ShapeError(fmt::format(
        "solve: {} inputs and {} results; name all variables but the wanted one with --symbol",
        map.inputs().size(), map.results().size()));
  const Map::Input& x = map.inputs()[0];
  const Map all = Map::made(map.inputs(), map.symbols(),
                            [&] {
                              auto c = map.conditions();
                              c.push_back(symbolic::ne(map.results()[0], 0));
                              return c;
                            }(),
                            {x.node});
  Solved s;
  if (all.symbols().empty())
    if (const auto t = table_of(all, kMostPoints, Beyond::Skip)) {
      if (t->size() == 0) throw ShapeError("solve: there is no solution");
      s.least = Node(t->points.front()), s.largest = Node(t->points.back());
      s.exact = t->points.back() - t->points.front() + 1 == std::ssize(t->points);
      return s;
    }
  if (x.lo) s.least = Node(*x.lo);
  if (x.hi) s.largest = Node(*x.hi);
  const auto from = [&](const Node& n) { s.least = s.least ? symbolic::max(*s.least, n) : n; };
  const auto to = [&](const Node& n) { s.largest = s.largest ? symbolic::min(*s.largest, n) : n; };
  for (const Node& c : all.conditions()) {
    const auto l = linear_in(c, x);
    const auto low = l ? l->a.min() : std::nullopt, high = l ? l->a.max() : std::nullopt;
    const bool up = low && *low > 0, down = high && *high < 0;
    if (!l || (!up && !down)) {
      s.rest.push_back(c);
      const auto vars = symbolic::variables(c);
      s.exact = s.exact && std::ranges::find(vars, x.node) == vars.end();
      continue;
    }
    const Node size = up ? l->a : -l->a, rest = up ? -l->b : l->b;  // size * x against rest
    if (l->equal) {
      from(symbolic::floor_div(rest + size - Node(1), size));
      to(symbolic::floor_div(rest, size));
    } else if (up) {
      to(symbolic::floor_div(rest - Node(1), size));
    } else {
      from(symbolic::floor_div(rest, size) + Node(1));
    }
  }
  if (std::ranges::any_of(s.rest, [](const Node& c) { return c.constant() == 0; }))
    throw ShapeError("solve: there is no solution");
  if (s.least && s.largest) {
    const Node some = symbolic::le(*s.least, *s.largest);
    if (some.constant() == 0) throw ShapeError("solve: there is no solution");
    if (some.constant() != 1) s.rest.push_back(some);
  }
  return s;
}

std::optional<Footprint> footprint(const Map& map, const std::vector<std::int64_t>& sizes) {
  if (sizes.size() != map.inputs().size())
    throw ShapeError(
        fmt::format("--tile has {} sizes, the map {} inputs", sizes.size(), map.inputs().size()));
  if (std::ranges::any_of(sizes, [](std::int64_t s) { return s < 1; }))
    throw ShapeError("the sizes of a tile must be 1 or more");
  const auto table = table_of(map);
  if (!table || table->size() == 0) return std::nullopt;
  using Tuple = std::vector<std::int64_t>;
  std::map<Tuple, std::set<Tuple>> tiles;
  for (std::size_t k = 0; k < table->size(); ++k) {
    Tuple tile;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      tile.push_back(touchstone::floor_div(table->point(k)[i], sizes[i]) * sizes[i]);
    const auto v = table->value(k);
    tiles[tile].emplace(v.begin(), v.end());
  }
  Footprint r{std::ssize(tiles), INT64_MAX, 0};
  for (const auto& [tile, results] : tiles) {
    const std::int64_t count = std::ssize(results);
    if (count > r.most) r.at = named(map, tile);
    r.least = std::min(r.least, count);
    r.most = std::max(r.most, count);
    std::int64_t runs = 0;
    const Tuple* last = nullptr;
    for (const Tuple& t : results) {
      const bool goes_on =
          last && std::equal(t.begin(), t.end() - 1, last->begin()) && t.back() == last->back() + 1;
      runs += !goes_on;
      last = &t;
    }
    r.runs = std::max(r.runs, runs);
  }
  return r;
}

}  // namespace touchstone::maps
