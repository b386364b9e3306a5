#include "touchstone/symbolic/rules/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "../support/sanitized.h"
#include "../support/traced_draws.h"
#include "touchstone/symbolic/read/canonical_builder.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

namespace {

using Ends = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;

/// The variables of "x=0..7 y=.." and their bounds.
std::map<std::string, Ends> ranges_of(std::string_view text) {
  std::map<std::string, Ends> ranges;
  std::istringstream in{std::string(text)};
  for (std::string item; in >> item;) {
    const std::size_t equals = item.find('='), dots = item.find("..");
    const auto end = [](const std::string& s) {
      return s.empty() ? std::optional<std::int64_t>() : std::stoll(s);
    };
    ranges.emplace(item.substr(0, equals), Ends(end(item.substr(equals + 1, dots - equals - 1)),
                                                end(item.substr(dots + 2))));
  }
  return ranges;
}

std::map<std::string, Node> variables_of(std::string_view text) {
  std::map<std::string, Node> names;
  for (const auto& [name, ends] : ranges_of(text))
    names.emplace(name, variable(name, ends.first, ends.second));
  return names;
}

/// Values for all names that a rule may use, from a fixed stream.
std::map<std::string, Node> any_values(test::Draws& random) {
  std::map<std::string, Node> values;
  for (const char* name : {"a", "b", "c", "d", "k", "m", "w", "x", "y", "z"})
    values.emplace(
        name, Node(random.chance(1, 10) ? random.between(-1000, 1000) : random.between(-7, 7)));
  return values;
}

class RuleTest : public testing::TestWithParam<Rule> {};

/// The value of a constant expression; nullopt for a division by zero.
std::optional<Node> value_of(std::string_view text, const std::map<std::string, Node>& values) {
  try {
    return parse(std::string(text), values);
  } catch (const ParseError&) {
    return std::nullopt;
  }
}

TEST_P(RuleTest, HoldsForAllValuesThatMeetItsCondition) {
  const Rule& rule = GetParam();
  test::TracedDraws random(1);
  int tried = 0;
  constexpr int kTries = test::kSanitized ? 500 : 1'500;
  for (int draw = 0; draw < 40'000 && tried < kTries; ++draw) {
    const auto values = any_values(random);
    if (!rule.when.empty() && value_of(rule.when, values).value_or(0) == Node(0)) continue;
    const auto left = value_of(rule.lhs, values);
    if (!left) continue;
    ++tried;
    ASSERT_EQ(left, value_of(rule.rhs, values)) << "a, b, c, d, k, m, w, x, y, z = " << [&] {
      std::string s;
      for (const auto& [name, v] : values) s += render(v) + " ";
      return s;
    }();
  }
  EXPECT_GE(tried, 100) << "the condition is almost never met";
}

TEST_P(RuleTest, ExampleIsWhatTheSimplifierMakes) {
  const Rule& rule = GetParam();
  const auto names = variables_of(rule.vars);
  const Node before = parse(std::string(rule.before), names);
  EXPECT_EQ(before, parse(std::string(rule.after), names)) << render(before);
}

TEST_P(RuleTest, IsUsedOnItsExample) {
  const Rule& rule = GetParam();
  Context context;
  std::map<std::string, Node> names;
  for (const auto& [name, range] : ranges_of(rule.vars))
    names.emplace(name, context.variable(name, range.first, range.second));
  const std::lock_guard lock(context.mutex());
  const std::string before(rule.before);
  Tape tape;
  tape.read(before, names);
  CanonicalBuilder builder(names, context);
  Trace trace;
  builder.simplifier().trace(&trace);
  builder.build(tape, before);
  EXPECT_TRUE(std::ranges::find(trace.uses(), rule.name, &Instance::rule) != trace.uses().end())
      << before << " uses " << [&] {
           std::string s;
           for (const Instance& use : trace.uses()) s += std::string(use.rule) + " ";
           return s;
         }();
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, testing::ValuesIn(rules().begin(), rules().end()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(Rules, HaveDistinctNames) {
  std::set<std::string_view> names;
  for (const Rule& r : rules()) EXPECT_TRUE(names.insert(r.name).second) << r.name;
}

TEST(Rules, TraceNamesLawsOfTheTable) {
  Context context;
  const Node x = context.variable("x", 0, 99), y = context.variable("y", 0, 3);
  const std::lock_guard lock(context.mutex());
  Simplifier s(context);
  Trace trace;
  s.trace(&trace);
  Linear sum = s.linear(x.id());
  sum.constant = 7;
  s.add(sum, y.id(), 4);
  s.build(s.digit(sum, 4, 12));
  s.negative(s.digit(sum, 3, 0));
  s.trace(nullptr);
  EXPECT_FALSE(trace.uses().empty());
  for (const Instance& use : trace.uses()) EXPECT_NE(find_rule(use.rule), nullptr) << use.rule;
}

}  // namespace
}  // namespace touchstone::symbolic
