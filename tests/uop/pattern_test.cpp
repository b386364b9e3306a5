#include <gtest/gtest.h>

#include <algorithm>

#include <gmock/gmock.h>

#include "graphs.h"
#include "touchstone/uop/pattern_matcher.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

// The node bound to the pattern's name `which` in the first match; null if there is none.
UOp bound(const UPat& pattern, const UOp& node, std::size_t which = 0) {
  const PatternMatcher m(
      {{"it", pattern, [which](const Match& m) { return UOp::sink({m[which]}); }}});
  const UOp found = m.rewrite(node);
  return found ? found.src(0) : found;
}

TEST(UPat, OperatorsMatchInBothOrdersWhereTheOpCommutes) {
  const UOp a = buffer();
  EXPECT_EQ(bound(UPat::var("x") + UPat::number(1), add(a, number(1))), a);
  EXPECT_EQ(bound(UPat::var("x") + UPat::number(1), add(number(1), a)), a);
  EXPECT_EQ(bound(UPat::var("x") - UPat::number(1), a.alu(GraphOp::Sub, {number(1)})), a);
  EXPECT_FALSE(bound(UPat::var("x") - UPat::number(1), number(1).alu(GraphOp::Sub, {a})));
}

TEST(UPat, ARepeatedNameIsTheSameNode) {
  const UOp a = buffer(), b = buffer();
  const UPat twice = UPat::var("x") + UPat::var("x");
  EXPECT_EQ(bound(twice, add(a, a)), a);
  EXPECT_FALSE(bound(twice, add(a, b)));
  const UPat deep = UPat::var("x") * (UPat::var("x") + UPat::var("y"));
  EXPECT_EQ(bound(deep, mul(add(b, a), a)), a);
  EXPECT_EQ(bound(deep, mul(add(b, a), a), 1), b);
}

TEST(UPat, NumbersAreOfThatBitPattern) {
  EXPECT_TRUE(bound(UPat::number(0).named("x"), number(0.0)));
  EXPECT_FALSE(bound(UPat::number(0).named("x"), number(-0.0)));
  EXPECT_TRUE(bound(UPat::number(-0.0).named("x"), number(-0.0)));
  EXPECT_TRUE(bound(UPat::number(-1).named("x"), UOp::constant(Scalar::from_int(DType::Int8, -1))));
  EXPECT_FALSE(
      bound(UPat::number(-1).named("x"), UOp::constant(Scalar::from_int(DType::UInt8, 255))));
}

TEST(UPat, NumbersOfIntegersAreExact) {
  const auto is = [](DType d, double n, const Scalar& value) {
    return static_cast<bool>(bound(UPat::number(n).of_type({d}).named("x"), UOp::constant(value)));
  };
  EXPECT_TRUE(is(DType::Int64, 0x1p62, Scalar::from_int(DType::Int64, 1LL << 62)));
  EXPECT_FALSE(is(DType::Int64, 0x1p62, Scalar::from_int(DType::Int64, (1LL << 62) + 1)));
  EXPECT_TRUE(is(DType::UInt64, 0x1p63, Scalar::from_bits(DType::UInt64, 1ULL << 63)));
  EXPECT_FALSE(is(DType::Int64, 0x1p63, Scalar::from_bits(DType::Int64, 1ULL << 63)));
  EXPECT_FALSE(is(DType::Int8, 256, Scalar::from_int(DType::Int8, 0)));
  EXPECT_FALSE(is(DType::Bool, 2, Scalar::of(true)));
  EXPECT_FALSE(is(DType::Int32, 0.5, Scalar::from_int(DType::Int32, 0)));
}

// Tries one order of the patterns after the other, starting with the given one, each in all ways.
TEST(UPat, OrdersOfSourcesAreTriedOneAfterTheOther) {
  const UOp a = buffer(), b = buffer(), c = buffer();
  const auto orders = [&](const UPat& first) {
    std::vector<std::vector<UOp>> seen;
    const PatternMatcher m(
        {{"it", UPat(GraphOp::Sink).over_any_order({first, UPat::var("y"), UPat::var("z")}),
          [&seen](const Match& m) {
            seen.push_back({m[0], m[1], m[2]});
            return UOp();
          }}});
    EXPECT_FALSE(m.rewrite(UOp::sink({a, b, c})));
    return seen;
  };
  using Orders = std::vector<std::vector<UOp>>;
  EXPECT_EQ(orders(UPat::var("x")),
            (Orders{{a, b, c}, {a, c, b}, {b, a, c}, {c, a, b}, {b, c, a}, {c, b, a}}));
  EXPECT_EQ(orders(UPat::any({UPat::var("x"), UPat(GraphOp::Buffer).named("x")})),
            (Orders{{a, b, c},
                    {a, b, c},
                    {a, c, b},
                    {a, c, b},
                    {b, a, c},
                    {b, a, c},
                    {c, a, b},
                    {c, a, b},
                    {b, c, a},
                    {b, c, a},
                    {c, b, a},
                    {c, b, a}}));
}

TEST(UPat, EachOfAHundredThousandSources) {
  const UOp a = buffer();
  const UOp wide = UOp::sink(std::vector<UOp>(100'000, a));
  EXPECT_EQ(bound(UPat(GraphOp::Sink).over_each(UPat::var("x")), wide), a);
  EXPECT_FALSE(bound(UPat(GraphOp::Sink).named("x").over_each(UPat(GraphOp::Neg)), wide));
  // For a pattern with several ways calls nest: an error instead of a stack overflow.
  EXPECT_THROW(bound(UPat(GraphOp::Sink).over_each(UPat::var("x").or_casted()), wide), AstError);
}

TEST(UPat, AlternativesHaveATypeAndNoSources) {
  const UPat either = UPat::any({UPat(GraphOp::Sin), UPat(GraphOp::Neg)}).named("x");
  EXPECT_TRUE(bound(either, buffer().alu(GraphOp::Neg)));
  EXPECT_TRUE(bound(either.of_type({DType::Float32}), buffer().alu(GraphOp::Neg)));
  EXPECT_FALSE(bound(either.of_type({DType::Int32}), buffer().alu(GraphOp::Neg)));
  EXPECT_THROW(either.over({UPat()}), AstError);
  EXPECT_THROW(either.over_any_order({UPat()}), AstError);
  EXPECT_THROW(either.over_each(UPat()), AstError);
}

TEST(UPat, TypesArgumentsAndLengths) {
  const UOp a = buffer();
  EXPECT_FALSE(bound(UPat(GraphOp::Sin).of_type({DType::Int32}).named("x"), a.alu(GraphOp::Sin)));
  EXPECT_TRUE(bound(UPat(GraphOp::Sin).of_type({DType::Float32}).named("x"), a.alu(GraphOp::Sin)));
  EXPECT_TRUE(bound(UPat(GraphOp::Reshape).with_arg(Shape{2, 2}).named("x"), a.reshape({2, 2})));
  EXPECT_FALSE(bound(UPat(GraphOp::Reshape).with_arg(Shape{4, 1}).named("x"), a.reshape({2, 2})));
  const UOp three = UOp::sink({a, a, a});
  EXPECT_FALSE(bound(UPat(GraphOp::Sink).over({UPat(), UPat()}).named("x"), three));
  EXPECT_TRUE(bound(UPat(GraphOp::Sink).over({UPat(), UPat()}).or_more().named("x"), three));
  EXPECT_TRUE(bound(UPat(GraphOp::Sink).over_each(UPat(GraphOp::Buffer)).named("x"), three));
  EXPECT_TRUE(
      bound(UPat(GraphOp::Sink).over_each(UPat(GraphOp::Buffer)).named("x"), UOp::sink({})));
  EXPECT_FALSE(bound(UPat(GraphOp::Sink).over_each(UPat(GraphOp::Sin)).named("x"), three));
}

TEST(UPat, EveryPermutationOfAnyOrderIsTried) {
  const UOp a = buffer(), s = a.alu(GraphOp::Sin), n = a.alu(GraphOp::Neg);
  const UPat any =
      UPat(GraphOp::Sink)
          .over_any_order({UPat(GraphOp::Sin), UPat(GraphOp::Buffer), UPat(GraphOp::Neg)});
  int found = 0;
  std::array<std::size_t, 3> order = {0, 1, 2};
  do {
    const std::array<UOp, 3> of = {a, s, n};
    found += bound(any.named("x"), UOp::sink({of[order[0]], of[order[1]], of[order[2]]})) ? 1 : 0;
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(found, 6);
  EXPECT_FALSE(bound(any.named("x"), UOp::sink({a, s, s})));
}

TEST(UPat, AlternativesAndCasts) {
  const UOp a = buffer(), c = a.cast(DType::Int32);
  const UPat through = UPat(GraphOp::Sin).over({UPat(GraphOp::Buffer).named("x").or_casted()});
  EXPECT_EQ(bound(through, a.alu(GraphOp::Sin)), a);
  EXPECT_EQ(bound(through, UOp::make(GraphOp::Sin, DType::Int32, {c})), a);
  EXPECT_FALSE(bound(through, c.alu(GraphOp::Neg).alu(GraphOp::Sin)));
}

TEST(PatternMatcher, EveryMatchOfARuleIsTriedBeforeTheNextRule) {
  const UOp a = buffer(), b = buffer();
  std::vector<UOp> tried;
  const PatternMatcher m({{"never", UPat::var("x") + UPat::var("y"),
                           [&](const Match& match) {
                             tried.push_back(match[0]);
                             return UOp();
                           }},
                          {"then", UPat(GraphOp::Add), [&](const Match&) { return b; }}});
  EXPECT_EQ(m.rewrite(add(a, b)), b);
  EXPECT_EQ(tried, (std::vector<UOp>{a, b}));
}

TEST(PatternMatcher, AddingConcatenates) {
  const UOp a = buffer(), b = buffer();
  const PatternMatcher to_a({{"a", UPat(GraphOp::Sin), [&](const Match&) { return a; }}});
  const PatternMatcher to_b(
      {{"b", UPat(OpSet{GraphOp::Sin, GraphOp::Neg}), [&](const Match&) { return b; }}});
  EXPECT_EQ((to_a + to_b).rewrite(b.alu(GraphOp::Sin)), a);
  EXPECT_EQ((to_b + to_a).rewrite(b.alu(GraphOp::Sin)), b);
  EXPECT_EQ((to_a + to_b).rewrite(b.alu(GraphOp::Neg)), b);
  EXPECT_EQ((to_a + to_b).rules().size(), 2U);
}

TEST(PatternMatcher, GivesTheContextToFunctions) {
  int calls = 0;
  const PatternMatcher m({{"count", UPat(GraphOp::Sin), [](const Match& match) {
                             ++match.context<int>();
                             return UOp();
                           }}});
  EXPECT_FALSE(m.rewrite(buffer().alu(GraphOp::Sin), RewriteContext(calls)));
  EXPECT_EQ(calls, 1);
  double other = 0;
  EXPECT_THROW(m.rewrite(buffer().alu(GraphOp::Sin), RewriteContext(other)), AstError);
  EXPECT_THROW(m.rewrite(buffer().alu(GraphOp::Sin)), AstError);
}

std::string refusal(const UPat& pattern) {
  try {
    const PatternMatcher m({{"bad", pattern, [](const Match&) { return UOp(); }}});
  } catch (const AstError& e) {
    return e.what();
  }
  return "taken";
}

TEST(PatternMatcher, RefusesPatternsThatCannotMatch) {
  EXPECT_THAT(refusal(UPat(GraphOp::Add).over({UPat()})),
              HasSubstr("rule 'bad': no op that the pattern ADD allows has 1 source"));
  EXPECT_THAT(refusal(UPat(GraphOp::Sin).over({UPat(), UPat()})),
              HasSubstr("SIN allows has 2 sources"));
  EXPECT_THAT(refusal(UPat(GraphOp::Neg).over({UPat(GraphOp::Where).over({UPat()})})),
              HasSubstr("WHERE allows has 1 source"));
  EXPECT_THAT(refusal(UPat::var("x")), HasSubstr("tried everywhere"));
  EXPECT_EQ(refusal(UPat(OpSet{GraphOp::Sin, GraphOp::Add}).over({UPat(), UPat()})), "taken");
  EXPECT_EQ(refusal(UPat(GraphOp::Assign).over({UPat()}).or_more()), "taken");
}

TEST(PatternMatcher, ARecorderSeesRuleAndNodes) {
  struct Log : RewriteRecorder {
    std::vector<std::string> names;
    std::vector<UOp> nodes;
    void rewrote(const RewriteRule& rule, const UOp& before, const UOp& after) override {
      names.push_back(rule.name);
      nodes = {before, after};
    }
  } log;
  const UOp a = buffer();
  const PatternMatcher m({{"sin away", UPat(GraphOp::Sin).over({UPat::var("x")}),
                           [](const Match& match) { return match[0]; }}});
  {
    const RecorderScope scope(log);
    EXPECT_EQ(m.rewrite(a.alu(GraphOp::Sin)), a);
    EXPECT_FALSE(m.rewrite(a.alu(GraphOp::Neg)));
  }
  EXPECT_EQ(m.rewrite(a.alu(GraphOp::Sin)), a);
  EXPECT_EQ(log.names, Names{"sin away"});
  EXPECT_EQ(log.nodes, (std::vector<UOp>{a.alu(GraphOp::Sin), a}));
}

}  // namespace
}  // namespace touchstone
