// The simplifier against the expression as written: same values at every point, bounds that hold,
// text that reads back, steps that compute the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "../support/sanitized.h"
#include "random_tree.h"
#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {
namespace {

struct Property {
  RawTree tree;
  Domain domains[3];
};

template <class Check>
void at_every_point(const Property& c, const Check& check) {
  Values v;
  for (std::int64_t x = c.domains[0].min; x <= c.domains[0].max; ++x)
    for (std::int64_t y = c.domains[1].min; y <= c.domains[1].max; ++y)
      for (std::int64_t z = c.domains[2].min; z <= c.domains[2].max; ++z) {
        v = {{"x", x}, {"y", y}, {"z", z}};
        check(v);
      }
}

/// The value that the steps of `lower` compute; nullopt where one divides by zero.
std::optional<Int> run(const std::vector<Step>& steps, const Values& values) {
  std::vector<Int> v;
  for (const Step& s : steps) {
    const auto arg = [&](std::size_t i) { return v[static_cast<std::size_t>(s.args[i])]; };
    const auto flag = [](bool b) { return Int(b ? 1 : 0); };
    Int r;
    switch (s.op) {
      case StepOp::Const:
        r = s.value;
        break;
      case StepOp::Var:
        r = values.at(s.name);
        break;
      case StepOp::Add:
        r = arg(0) + arg(1);
        break;
      case StepOp::Sub:
        r = arg(0) - arg(1);
        break;
      case StepOp::Mul:
        r = arg(0) * arg(1);
        break;
      case StepOp::FloorDiv:
      case StepOp::FloorMod:
        if (arg(1).is_zero()) return std::nullopt;
        r = s.op == StepOp::FloorDiv ? floor_div(arg(0), arg(1)) : floor_mod(arg(0), arg(1));
        break;
      case StepOp::Lt:
        r = flag(arg(0) < arg(1));
        break;
      case StepOp::Le:
        r = flag(arg(0) <= arg(1));
        break;
      case StepOp::Eq:
        r = flag(arg(0) == arg(1));
        break;
      case StepOp::Ne:
        r = flag(!(arg(0) == arg(1)));
        break;
      case StepOp::And:
        r = flag(!arg(0).is_zero() && !arg(1).is_zero());
        break;
      case StepOp::Or:
        r = flag(!arg(0).is_zero() || !arg(1).is_zero());
        break;
      case StepOp::Not:
        r = flag(arg(0).is_zero());
        break;
      case StepOp::Min:
        r = smaller(arg(0), arg(1));
        break;
      case StepOp::Max:
        r = larger(arg(0), arg(1));
        break;
      case StepOp::Where:
        r = arg(0).is_zero() ? arg(2) : arg(1);
        break;
    }
    EXPECT_TRUE(!s.min || r >= Int(*s.min));
    EXPECT_TRUE(!s.max || r <= Int(*s.max));
    v.push_back(r);
  }
  return v.back();
}

/// Of operators with many operands the text is not promised to read back as the same node.
bool is_wide(const RawTree& t) { return t.args.size() > 3 || std::ranges::any_of(t.args, is_wide); }

struct PropertyTally {
  int made = 0, changed_by_rereading = 0;
};

void check(const Property& c, PropertyTally& tally) {
  Context context;
  std::map<std::string, Node> names;
  for (const Domain& d : c.domains) {
    using End = std::optional<std::int64_t>;
    names.emplace(d.name, context.variable(d.name, d.open_below ? End() : d.min,
                                           d.open_above ? End() : d.max));
  }
  const std::string text = text_of(c.tree);
  std::optional<Node> parsed;
  try {
    parsed = parse(text, names);
  } catch (const ParseError& e) {
    ASSERT_NE(std::string(e.what()).find("division by zero"), std::string::npos) << e.what();
    return;
  }
  const Node node = *parsed;
  ++tally.made;
  const std::string shown = render(node);
  if (!is_wide(c.tree)) tally.changed_by_rereading += !(parse(shown, names) == node);
  const Interval& range = context[node.id()].bounds;
  std::vector<Step> steps;
  try {
    steps = lower(node);
  } catch (const OverflowError&) {
  }
  at_every_point(c, [&](const Values& v) {
    const auto want = value_of(c.tree, v);
    if (!want || testing::Test::HasFailure()) return;
    const auto where = [&] {
      return text + " -> " + shown + " at " + std::to_string(v.at("x")) + ", " +
             std::to_string(v.at("y")) + ", " + std::to_string(v.at("z"));
    };
    if (want->is_small()) {
      EXPECT_EQ(evaluate(node, v), *want->small()) << where();
    } else {
      EXPECT_THROW(evaluate(node, v), OverflowError) << where();
    }
    EXPECT_TRUE(!range.lo || *want >= *range.lo) << where();
    EXPECT_TRUE(!range.hi || *want <= *range.hi) << where();
    if (steps.empty()) return;
    const auto got = run(steps, v);
    EXPECT_TRUE(!got || *got == *want) << where();
  });
}

void check_many(unsigned seed, int count, int depth, bool large) {
  Generator g(seed, large, true);
  PropertyTally tally;
  if (test::kSanitized) count /= 3;
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const RawTree tree = g.tree(depth);
    check({tree, {g.domain("x"), g.domain("y"), g.domain("z")}}, tally);
  }
  EXPECT_GT(tally.made, count / 2);
  EXPECT_EQ(tally.changed_by_rereading, 0);
}

}  // namespace

TEST(Simplified, EqualsTheTreeAsWrittenWhenShallow) { check_many(1, 6'000, 2, false); }
TEST(Simplified, EqualsTheTreeAsWritten) { check_many(2, 2'500, 3, false); }
TEST(Simplified, EqualsTheTreeAsWrittenWhenDeep) { check_many(3, 400, 4, false); }
TEST(Simplified, EqualsTheTreeAsWrittenWithLargeNumbers) { check_many(4, 1'500, 3, true); }

TEST(Simplified, DoesNotDependOnTheOrderOfOperands) {
  Generator g(5, false);
  for (int i = 0; i < 300; ++i) {
    Context context;
    std::map<std::string, Node> names;
    for (const char* v : {"x", "y", "z"}) names.emplace(v, context.variable(v, 0, 9));
    std::vector<Node> parts;
    for (int k = 0; k < 4; ++k) {
      try {
        parts.push_back(parse(text_of(g.tree(2)), names));
      } catch (const ParseError&) {
        parts.emplace_back(k);
      }
    }
    const auto both_ways = [&](const auto& fold) {
      const Node first = fold(parts);
      std::vector<Node> other = parts;
      std::shuffle(other.begin(), other.end(), g.random());
      EXPECT_EQ(first, fold(other)) << render(first) << "  " << render(fold(other));
    };
    both_ways([](const std::vector<Node>& p) { return sum(p); });
    both_ways([](const std::vector<Node>& p) { return p[0] + p[1] + p[2] + p[3]; });
    both_ways([](const std::vector<Node>& p) { return ands(p); });
    EXPECT_EQ(parts[0] * parts[1], parts[1] * parts[0]);
    EXPECT_EQ(max(parts[0], parts[1]), max(parts[1], parts[0]));
    EXPECT_EQ(logical_or(parts[0], parts[1]), logical_or(parts[1], parts[0]));
    EXPECT_EQ(eq(parts[0], parts[1]), eq(parts[1], parts[0]));
  }
}

}  // namespace touchstone::symbolic
