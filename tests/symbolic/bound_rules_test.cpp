// The proved laws of bounds against the code that computes bounds: on drawn intervals and
// congruences each result equals the law's formula, so neither can change alone.
#include "touchstone/symbolic/rules/bound_rules.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <functional>
#include <set>

#include "touchstone/symbolic/node/node.h"
#include "touchstone/symbolic/number/congruence.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {
namespace {

using Point = std::map<std::string, int>;

Int value_of(const std::string& text, const Point& at) {
  std::map<std::string, Node> names;
  for (const auto& [name, v] : at) names.emplace(name, Node(v));
  return *parse(text, names).constant();
}

const BoundRule& rule(std::string_view name) {
  for (const BoundRule& r : bound_rules())
    if (r.name == name) return r;
  throw std::runtime_error("no law " + std::string(name));
}

/// Both sides of a law, split at the first `by`.
std::pair<std::string, std::string> sides(std::string_view name, std::string_view by) {
  const std::string_view law = rule(name).law;
  const std::size_t at = law.find(by);
  EXPECT_NE(at, law.npos) << name;
  return {std::string(law.substr(0, at)), std::string(law.substr(at + by.size()))};
}

/// The lower, or upper, bound of a law `formula <= operation`, or the reverse.
Int least(std::string_view name, const Point& at) {
  return value_of(sides(name, " <= ").first, at);
}
Int greatest(std::string_view name, const Point& at) {
  return value_of(sides(name, " <= ").second, at);
}

/// l <= x <= h, m <= y <= n, and other numbers, d positive.
struct Ends {
  Point at;
  Interval x, y;

  static Ends drawn() {
    Ends e;
    const int l = *rc::gen::inRange(-20, 20), h = l + *rc::gen::inRange(0, 25);
    const int m = *rc::gen::inRange(-12, 12), n = m + *rc::gen::inRange(0, 24);
    e.at = {{"l", l}, {"h", h}, {"m", m}, {"n", n}};
    e.at["c"] = *rc::gen::inRange(-9, 10);
    e.at["d"] = *rc::gen::inRange(1, 12);
    e.x = {Int(l), Int(h)};
    e.y = {Int(m), Int(n)};
    return e;
  }
  Int number(const char* name) const { return at.at(name); }
};

RC_GTEST_PROP(BoundRules, AreWhatIntervalsCompute, ()) {
  const Ends e = Ends::drawn();
  const auto follows = [&](const std::string& name, const Interval& computed) {
    return *computed.lo == least(name + "_lo", e.at) &&
           *computed.hi == greatest(name + "_hi", e.at);
  };
  RC_ASSERT(follows("interval.add", e.x + e.y));
  RC_ASSERT(follows("interval.scale", e.x * e.number("c")));
  RC_ASSERT(follows("interval.mul", e.x * e.y));
  RC_ASSERT(follows("interval.div", floor_div(e.x, e.number("d"))));
  RC_ASSERT(follows("interval.max", larger(e.x, e.y)));
  RC_ASSERT(follows("interval.where", hull(e.x, e.y)));
  const bool line = value_of("l//d == h//d", e.at) == Int(1);
  const Interval remainder = floor_mod(e.x, e.number("d"));
  RC_ASSERT(follows(line ? "interval.mod_line" : "interval.mod", remainder));
}

RC_GTEST_PROP(BoundRules, AreWhatIntervalsComputeOfDivisors, ()) {
  const Ends e = Ends::drawn();
  const auto with_x = [&](const char* end) {
    Point at = e.at;
    at["x"] = at.at(end);
    return at;
  };
  if (e.y.at_least(1)) {  // a larger divisor moves a quotient towards 0, or -1
    const bool low = e.x.at_least(0), high = e.x.at_most(0);
    const Interval quotient = floor_div(e.x, e.y);
    if (low) {
      RC_ASSERT(*quotient.lo == least("interval.divisor_down", with_x("l")));
      RC_ASSERT(*quotient.hi == greatest("interval.divisor_down", with_x("h")));
    } else if (high) {
      RC_ASSERT(*quotient.lo == least("interval.divisor_up", with_x("l")));
      RC_ASSERT(*quotient.hi == greatest("interval.divisor_up", with_x("h")));
    } else {
      RC_ASSERT(*quotient.lo == least("interval.divisor_up", with_x("l")));
      RC_ASSERT(*quotient.hi == greatest("interval.divisor_down", with_x("h")));
    }
  }
  const Interval remainder = floor_mod(e.x, e.y);
  if (e.at.at("n") - e.at.at("m") < 16) {  // each divisor separately
    std::optional<Interval> all;
    for (int y = e.at.at("m"); y <= e.at.at("n"); ++y) {
      if (y == 0) continue;
      const Interval part = y > 0 ? floor_mod(e.x, Int(y))
                                  : floor_mod(e.x * Int(-1), Int(-y)) * Int(-1);  // mod.negative
      all = all ? hull(*all, part) : part;
    }
    RC_ASSERT(!all || remainder == *all);
    return;
  }
  Int most = greatest("interval.mod_any_hi", e.at);
  if (e.y.at_least(0) && e.x.at_least(0))
    most = smaller(most, greatest("interval.mod_small", with_x("h")));
  RC_ASSERT(*remainder.lo == least("interval.mod_any_lo", e.at));
  RC_ASSERT(*remainder.hi == most);
}

RC_GTEST_PROP(BoundRules, AreWhatIntervalsComputeOfCsDivisors, ()) {
  Ends e = Ends::drawn();
  e.at["m"] = -20 * *rc::gen::inRange(1, 20);  // too many to divide by each
  e.at["n"] = 20 * *rc::gen::inRange(1, 20);
  e.y = {Int(e.at["m"]), Int(e.at["n"])};
  const Interval quotient = trunc_div(e.x, e.y), remainder = trunc_mod(e.x, e.y);
  RC_ASSERT(*quotient.lo == least("interval.tdiv_lo", e.at));
  RC_ASSERT(*quotient.hi == greatest("interval.tdiv_hi", e.at));
  RC_ASSERT(*remainder.lo == least("interval.tmod_lo", e.at));
  RC_ASSERT(*remainder.hi == greatest("interval.tmod_hi", e.at));
}

RC_GTEST_PROP(BoundRules, AreWhatSumsWithProductsCompute, ()) {
  // A tangent line of the product: their sum has the line's constant as its bound.
  const Ends e = Ends::drawn();
  RC_PRE(e.at.at("l") < e.at.at("h") && e.at.at("m") < e.at.at("n"));
  Context context;
  std::map<std::string, Node> names{{"x", context.variable("x", e.at.at("l"), e.at.at("h"))},
                                    {"y", context.variable("y", e.at.at("m"), e.at.at("n"))}};
  Point zero = e.at;
  zero["x"] = zero["y"] = 0;
  zero["k"] = *rc::gen::inRange(e.at.at("l"), e.at.at("h"));
  for (const auto& [name, v] : zero)
    if (name.size() == 1 && !names.contains(name)) names.emplace(name, context.constant(v));
  const auto gap = [&](const char* name, bool below) {
    const auto [left, right] = sides(name, " <= ");
    const std::string line = below ? left : right, product = below ? right : left;
    const Node both = parse(product + " - (" + line + ")", names, context);
    return below ? both.min() : both.max();
  };
  RC_ASSERT(gap("interval.mul_below", true) == 0);
  RC_ASSERT(gap("interval.mul_above", false) == 0);
  RC_ASSERT(gap("interval.square_below", true) == 0);
  RC_ASSERT(gap("interval.square_above", false) == 0);
}

RC_GTEST_PROP(BoundRules, AreWhatFactsTell, ()) {
  Ends e = Ends::drawn();
  const int c = *rc::gen::inRange(1, 9);
  e.at["c"] = c;
  Context context;
  const Node x = context.variable("x", std::nullopt, std::nullopt);
  const Node y = context.variable("y", e.at["m"], e.at["n"]);
  const std::map<std::string, Node> names{{"x", x}, {"y", y}, {"c", context.constant(c)}};
  const auto bounds_where = [&](const char* fact) {
    const Node condition = parse(fact, names, context);
    Simplifier s(context);
    Interval bounds;
    const Id conditions[] = {condition.id()};
    s.under(x.id(), conditions, &bounds);
    return bounds;
  };
  RC_ASSERT(*bounds_where("c*x + y < 0").hi == greatest("interval.fact_hi", e.at));
  RC_ASSERT(*bounds_where("y - c*x < 0").lo == least("interval.fact_lo", e.at));
}

TEST(BoundRules, AreWhatAFactTellsOfAProduct) {
  Context context;
  const std::map<std::string, Node> names{{"x", context.variable("x", std::nullopt, std::nullopt)},
                                          {"y", context.variable("y", 0, std::nullopt)},
                                          {"z", context.variable("z", std::nullopt, std::nullopt)}};
  // interval.fact_factor of x - z and y
  const Node product = parse("(x - z)*y + y", names, context);
  const Id conditions[] = {parse("x < z", names, context).id()};
  Interval bounds;
  Simplifier(context).under(product.id(), conditions, &bounds);
  EXPECT_EQ(bounds.hi, End(Int(0)));
}

RC_GTEST_PROP(BoundRules, AreWhereCongruencesTrim, ()) {
  Ends e = Ends::drawn();
  const int m = *rc::gen::inRange(1, 9), r = *rc::gen::inRange(-20, 20);
  e.at["m"] = m;
  e.at["r"] = r;
  const Int lo = least("interval.trim_lo", e.at), hi = greatest("interval.trim_hi", e.at);
  const auto range = trimmed(e.x, Congruence::of(m, r));
  RC_ASSERT(range.has_value() == (lo <= hi));
  if (range) RC_ASSERT(*range == (Interval{lo, hi}));
}

/// For `operation == residue + factor*(..) + ..`: the residue, and the greatest common divisor of
/// the factors.
Congruence congruence_of(std::string_view name, const Point& at) {
  std::string text = sides(name, " == ").second;
  std::vector<std::string> summands(1);
  int depth = 0;
  for (const char ch : text) {
    depth += ch == '(' ? 1 : ch == ')' ? -1 : 0;
    if (depth == 0 && ch == '+')
      summands.emplace_back();
    else if (ch != ' ')
      summands.back() += ch;
  }
  Int modulus = 0;
  for (std::size_t i = 1; i < summands.size(); ++i) {
    std::size_t end = 0;
    for (depth = 0; depth > 0 || summands[i][end] != '*'; ++end)
      depth += summands[i][end] == '(' ? 1 : summands[i][end] == ')' ? -1 : 0;
    modulus = gcd(modulus, value_of(summands[i].substr(0, end), at));
  }
  return Congruence::of(modulus, value_of(summands[0], at));
}

RC_GTEST_PROP(BoundRules, AreWhatCongruencesCompute, ()) {
  Point at;
  for (const char* name : {"m", "n"}) at[name] = *rc::gen::inRange(0, 13);
  for (const char* name : {"r", "s"}) at[name] = *rc::gen::inRange(-20, 20);
  at["c"] = *rc::gen::inRange(-9, 10);
  at["d"] = *rc::gen::inRange(1, 12);
  const Congruence x = Congruence::of(at["m"], at["r"]), y = Congruence::of(at["n"], at["s"]);
  const Int c = at["c"], d = at["d"];
  RC_ASSERT(x + y == congruence_of("congruence.add", at));
  RC_ASSERT(x * c == congruence_of("congruence.scale", at));
  RC_ASSERT(x * y == congruence_of("congruence.mul", at));
  RC_ASSERT(hull(x, y) == congruence_of("congruence.where", at));
  RC_ASSERT(hull(x, y) == congruence_of("congruence.max", at));
  if (!divides(d, x.modulus)) RC_ASSERT(floor_mod(x, d) == congruence_of("congruence.mod", at));
  if (!(y == Congruence::point(y.residue)))
    RC_ASSERT(floor_mod(x, y) == congruence_of("congruence.mod_any", at));
  const Congruence multiple = Congruence::of(d * at["m"], at["r"]);
  RC_ASSERT(floor_div(multiple, d) == congruence_of("congruence.div", at));
  RC_ASSERT(floor_mod(multiple, d) == congruence_of("congruence.mod_known", at));
}

TEST(BoundRules, AreAllComparedWithTheCode) {
  const std::set<std::string_view> compared = {
      "interval.add_lo",       "interval.add_hi",       "interval.scale_lo",
      "interval.scale_hi",     "interval.mul_below",    "interval.mul_above",
      "interval.square_below", "interval.square_above", "interval.mul_lo",
      "interval.mul_hi",       "interval.div_lo",       "interval.div_hi",
      "interval.divisor_down", "interval.divisor_up",   "interval.mod_lo",
      "interval.mod_hi",       "interval.mod_line_lo",  "interval.mod_line_hi",
      "interval.mod_any_lo",   "interval.mod_any_hi",   "interval.mod_small",
      "interval.tdiv_lo",      "interval.tdiv_hi",      "interval.tmod_lo",
      "interval.tmod_hi",      "interval.max_lo",       "interval.max_hi",
      "interval.where_lo",     "interval.where_hi",     "interval.trim_lo",
      "interval.trim_hi",      "interval.fact_hi",      "interval.fact_lo",
      "interval.fact_factor",  "congruence.add",        "congruence.scale",
      "congruence.mul",        "congruence.div",        "congruence.mod_known",
      "congruence.mod",        "congruence.mod_any",    "congruence.where",
      "congruence.max",
      "congruence.meet",   // congruence_test: MeetsInWhatBothHold
      "congruence.solve",  // congruence_test: SolvesWhatIsLinear
  };
  for (const BoundRule& r : bound_rules()) EXPECT_TRUE(compared.contains(r.name)) << r.name;
  EXPECT_EQ(compared.size(), bound_rules().size());
}

}  // namespace
}  // namespace touchstone::symbolic
