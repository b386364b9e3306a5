// The rules of the table that the matcher applies.
#include "touchstone/symbolic/simplify/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

Names names_of(Context& c, std::string_view text) {
  Names names;
  std::istringstream in{std::string(text)};
  for (std::string item; in >> item;) {
    const std::size_t equals = item.find('='), dots = item.find("..");
    const auto end = [](const std::string& s) {
      return s.empty() ? std::optional<std::int64_t>() : std::stoll(s);
    };
    const std::string name = item.substr(0, equals);
    names.emplace(name, c.variable(name, end(item.substr(equals + 1, dots - equals - 1)),
                                   end(item.substr(dots + 2))));
  }
  return names;
}

TEST(Matcher, MakesTheExampleOfEachOfItsRulesSmaller) {
  int matched = 0;
  for (const Rule& rule : rules()) {
    if (rule.root == Rule::Root::None) continue;
    ++matched;
    Context c;
    const Names names = names_of(c, rule.vars);
    const Node node = parse(std::string(rule.before), names);
    EXPECT_EQ(node, parse(std::string(rule.after), names)) << rule.name << ": " << render(node);
    Exprs exprs;
    EXPECT_LE(size(node), exprs.size(parse_expr(exprs, rule.before))) << rule.name;
  }
  EXPECT_GE(matched, 15);
}

TEST(Matcher, KnowsEveryLetterOfItsRules) {
  using Root = Rule::Root;
  std::set<std::string_view> compiled;
  for (const Root root : {Root::Sum, Root::Quotient, Root::Remainder, Root::Below, Root::Equal,
                          Root::And, Root::Product})
    for (const CompiledRule* at = compiled_rules(root); at; at = at->next) {
      const CompiledRule& rule = *at;
      compiled.insert(rule.rule.name);
      EXPECT_FALSE(rule.patterns().letters.empty()) << rule.rule.name;
      EXPECT_FALSE(rule.outcome().exprs.count() == 0) << rule.rule.name;
      EXPECT_EQ(rule.kinds & ~rule.patterns().kinds, 0U) << rule.rule.name;
    }
  for (const Rule& rule : rules()) EXPECT_EQ(compiled.contains(rule.name), rule.root != Root::None);
}

TEST(Matcher, RefusesRulesThatItCannotApply) {
  for (const Rule& rule : rules())
    if (rule.root != Rule::Root::None) {
      EXPECT_NO_THROW(check_matched(rule)) << rule.name;
    }
  const auto refusal = [](std::string_view lhs, std::string_view rhs, std::string_view when,
                          Rule::Root root) -> std::string {
    try {
      check_matched({"a.rule", "", lhs, rhs, when, "", "", "", "", root});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("where(x < 0, x + y, y)", "y + min(x, 0)", "", Rule::Root::Sum),
              testing::StartsWith("rule a.rule: the matcher has no pattern for where("));
  EXPECT_EQ(refusal("x*(x + 1) % 2", "y*0", "", Rule::Root::Remainder),
            "rule a.rule: the left side does not bind y");
  EXPECT_EQ(refusal("x // c % d", "x // c", "z < 0", Rule::Root::Remainder),
            "rule a.rule: the left side does not bind z");
  EXPECT_EQ(refusal("x*(x + 1) % 2", "0", "", Rule::Root::Remainder), "");
}

TEST(Matcher, HasEachRuleAtItsRoot) {
  using Root = Rule::Root;
  const std::map<Root, std::vector<ExprOp>> roots = {{Root::Sum, {ExprOp::Add, ExprOp::Sub}},
                                                     {Root::Quotient, {ExprOp::Div}},
                                                     {Root::Remainder, {ExprOp::Mod}},
                                                     {Root::Below, {ExprOp::Lt}},
                                                     {Root::Equal, {ExprOp::Eq}},
                                                     {Root::And, {ExprOp::And}},
                                                     {Root::Product, {ExprOp::Mul}}};
  for (const Rule& rule : rules()) {
    if (rule.root == Root::None) continue;
    Exprs x;
    const Expr lhs = parse_expr(x, rule.lhs);
    EXPECT_EQ(std::ranges::count(roots.at(rule.root), x.op(lhs)), 1) << rule.name;
    if (rule.root != Root::And) continue;
    ASSERT_EQ(x.args(lhs).size(), 2U) << rule.name;
    for (const Expr part : x.args(lhs)) {
      const ExprOp op = x.op(part);
      EXPECT_TRUE(op == ExprOp::Lt || op == ExprOp::Le || op == ExprOp::Eq || op == ExprOp::Ne)
          << rule.name;
    }
  }
}

TEST(Matcher, AsksForTheCondition) {
  Context c;
  const Names n = names_of(c, "x=0.. y=-1.. z=.. w=0..");
  EXPECT_EQ(render(parse("3*x + 4*w < 1", n)), "w + x < 1");
  EXPECT_EQ(render(parse("3*x + 4*y < 1", n)), "x*3 + y*4 < 1");  // y may be negative
  EXPECT_EQ(render(parse("x//10 == 5 and x%10 < 12", n)), "x//10 == 5");
  EXPECT_EQ(render(parse("z % w % (2*w)", n)), "z%w");
  EXPECT_EQ(render(parse("z % w % (1 - w)", n)), "z%w%(1 - w)");
}

TEST(Matcher, DoesNotMindOrderOrFactors) {
  Context c;
  const Names n = names_of(c, "x=.. y=.. z=..");
  EXPECT_EQ(parse("y + 6*(x//3) - 6*((x + 5)//3)", n), parse("y - 6*((x%3 + 5)//3)", n));
  EXPECT_EQ(parse("-((x + 1)//2)*5 - x//2*5 + z", n), parse("z - 5*x", n));
  EXPECT_EQ(parse("x%8 == 4 and y < z and x//8 == 3", n), parse("y < z and x == 28", n));
  EXPECT_EQ(parse("x//8 == 3 and x%8 == 4", n), parse("x%8 == 4 and x//8 == 3", n));
}

TEST(Matcher, RecordsTheUseOfARuleWithItsBindings) {
  Context c;
  const Node x = c.variable("x", std::nullopt, std::nullopt);
  const std::lock_guard lock(c.mutex());
  Simplifier s(c);
  Trace trace;
  s.trace(&trace);
  Linear gap = s.linear(x.id());
  gap.constant = 3;
  gap = s.digit(gap, 1, 14);
  gap.constant -= 1;
  s.build(s.linear(s.zero(gap)));  // (x + 3) % 14 == 1
  s.trace(nullptr);
  const auto use = std::ranges::find(trace.uses(), "eq.shift", &Instance::rule);
  ASSERT_NE(use, trace.uses().end());
  std::map<std::string_view, Linear> bound(use->bindings.begin(), use->bindings.end());
  EXPECT_EQ(bound.at("x"), s.linear(x.id()));
  EXPECT_EQ(bound.at("k"), (Linear{3, {}}));
  EXPECT_EQ(bound.at("c"), (Linear{14, {}}));
  EXPECT_EQ(bound.at("m"), (Linear{1, {}}));
}

}  // namespace
}  // namespace touchstone::symbolic
