// Operators of many operands, against their definitions.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "../support/traced_draws.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

/// v0 to v199 with small ranges, including single points and negative ranges.
Names many_variables() {
  Names names;
  for (int i = 0; i < 200; ++i) {
    const std::string name = fmt::format("v{}", i);
    names.emplace(name, variable(name, -(i % 7), (i * 5) % 11 - (i % 7)));
  }
  return names;
}

Values any_point(const Names& names, test::Draws& random) {
  Values values;
  for (const auto& [name, node] : names) {
    const std::int64_t low = *node.min(), high = *node.max();
    values.emplace(name, random.between(low, std::max(low, high)));
  }
  return values;
}

struct Operator {
  const char* open;
  const char* between;
  bool flags;
  std::int64_t start;
  std::int64_t (*step)(std::int64_t, std::int64_t);
};

const Operator kOperators[] = {
    {"max(", ", ", false, INT64_MIN, [](std::int64_t a, std::int64_t b) { return std::max(a, b); }},
    {"min(", ", ", false, INT64_MAX, [](std::int64_t a, std::int64_t b) { return std::min(a, b); }},
    {"(", " + ", false, 0, [](std::int64_t a, std::int64_t b) { return a + b; }},
    {"(", " and ", true, 1, [](std::int64_t a, std::int64_t b) { return a & b; }},
    {"(", " or ", true, 0, [](std::int64_t a, std::int64_t b) { return a | b; }}};

// The operand v[i]*c + d, as text and by value.
struct Operand {
  int i;
  std::int64_t c, d;
  std::string str() const { return fmt::format("v{}*{} + {}", i, c, d); }
  std::int64_t at(const Values& values) const { return values.at(fmt::format("v{}", i)) * c + d; }
};

void check(const Operator& op, std::size_t count, bool nested, test::Draws& random) {
  static const Names names = many_variables();
  std::vector<Operand> operands;
  std::string text = op.open;
  for (std::size_t i = 0; i < count; ++i) {
    for (int k = nested ? 2 : 1; k > 0; --k)
      operands.push_back({random.chance(1, 3) ? random.index(200) : static_cast<int>(i),
                          random.chance(1, 4) ? random.index(5) - 2 : 1, random.index(3)});
    const std::string last = operands.back().str();
    std::string one = nested ? fmt::format("{}({}, {})", op.open[1] == 'a' ? "min" : "max",
                                           operands[operands.size() - 2].str(), last)
                             : last;
    if (op.flags) one += " != 1";
    text += (i == 0 ? "" : op.between) + one;
  }
  const Node node = parse(text + ")", names);
  for (int point = 0; point < 12; ++point) {
    const Values values = any_point(names, random);
    std::int64_t right = op.start;
    for (std::size_t i = 0; i < operands.size(); i += nested ? 2 : 1) {
      std::int64_t value = operands[i].at(values);
      if (nested) {
        const std::int64_t other = operands[i + 1].at(values);
        value = op.open[1] == 'a' ? std::min(value, other) : std::max(value, other);
      }
      right = op.step(right, op.flags ? value != 1 : value);
    }
    ASSERT_EQ(evaluate(node, values), right) << text << ")\n" << render(node);
    ASSERT_TRUE(!node.min() || *node.min() <= right) << text;
    ASSERT_TRUE(!node.max() || right <= *node.max()) << text;
  }
  if (count <= 64) {
    const Node again = parse(render(node), names);
    const Values values = any_point(names, random);
    ASSERT_EQ(evaluate(again, values), evaluate(node, values)) << text;
  }
}

TEST(Wide, OperatorsOfUpTo200OperandsAreWhatTheirDefinitionSays) {
  test::TracedDraws random(20);
  for (const Operator& op : kOperators)
    for (const std::size_t count :
         {2U, 9U, 19U, 20U, 21U, 31U, 32U, 33U, 34U, 64U, 65U, 129U, 200U})
      for (int round = 0; round < 3; ++round) check(op, count, false, random);
}

TEST(Wide, MinimaOfMaximaAndMaximaOfMinimaLoseNoMember) {
  test::TracedDraws random(21);
  for (const Operator& op : {kOperators[0], kOperators[1]})
    for (const std::size_t count : {2U, 5U, 10U, 16U, 17U, 33U, 70U, 100U})
      for (int round = 0; round < 2; ++round) check(op, count, true, random);
}

// Members that differ as sums but are equal by their bounds: of a two-valued variable, mixed with
// numbers.
TEST(Wide, MembersThatBoundsMakeOneAreOne) {
  test::TracedDraws random(22);
  const Names names = {{"x", variable("x", 0, 1)}};
  for (int round = 0; round < 3'000; ++round) {
    std::string text = "min(9";
    int least[] = {9, 9};  // at 0 and at 1
    const auto member = [&](const std::string& part, int at_0, int at_1) {
      text += ", " + part;
      least[0] = std::min(least[0], at_0);
      least[1] = std::min(least[1], at_1);
    };
    for (int left = 1 + random.index(25); left > 0; --left) {
      const int a = random.index(6), b = random.index(3), c = random.index(6);
      if (random.index(3) > 0)
        member(std::to_string(a + c), a + c, a + c);
      else if (random.chance(1, 2))
        member(fmt::format("x*{}", a), 0, a);
      else
        member(fmt::format("max(x*{} + {}, x*{})", a, b, c), b, std::max(a + b, c));
    }
    const Node found = parse(text + ")", names);
    for (const int x : {0, 1})
      ASSERT_EQ(evaluate(found, {{"x", x}}), least[x]) << text << ") at " << x;
  }
}

TEST(Wide, EveryVariableOfADistinctMemberIsInTheText) {
  for (const int count : {10, 32, 33, 64, 200}) {
    Names names;
    std::string list;
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("v{}", i);
      names.emplace(name, variable(name, 0, 9));
      list += (i == 0 ? "" : ", ") + name;
    }
    EXPECT_EQ(variables(parse("max(" + list + ")", names)).size(), static_cast<std::size_t>(count));
    EXPECT_EQ(variables(parse("min(" + list + ")", names)).size(), static_cast<std::size_t>(count));
    EXPECT_EQ(*parse("max(" + list + ", 9)", names).min(), 9);
  }
}

TEST(Wide, RemaindersByWhatIsNoNumberOpenAllAtOnce) {
  std::string each, sum;
  Names names{{"z", variable("z", 1, 50)}};
  for (int i = 0; i < 60; ++i) {
    const std::string name = fmt::format("v{}", i), plus = i == 0 ? "" : " + ";
    names.emplace(name, variable(name, 0, 100));
    each += fmt::format("{}{}%z*{}", plus, name, i + 1);
    sum += fmt::format("{}{}*{}", plus, name, i + 1);
  }
  EXPECT_EQ(parse("(" + each + ")%z", names), parse("(" + sum + ")%z", names));
}

}  // namespace
}  // namespace touchstone::symbolic
