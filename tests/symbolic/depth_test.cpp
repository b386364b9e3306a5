// Nests so deep that a call for each operation would overflow the stack: nothing may recurse on
// depth.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include <pthread.h>

#include "../support/sanitized.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {
namespace {

// 52 bytes of stack for each operation: too few for a call. Sanitizers need more.
constexpr int kDeep = test::kSanitized ? 5'000 : 20'000;
constexpr std::size_t kStack = test::kSanitized ? std::size_t{8} << 20 : std::size_t{1} << 20;

/// Runs `f` in a thread with a stack of kStack bytes.
template <class F>
void on_small_stack(F f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  const auto body = [](void* g) -> void* {
    (*static_cast<F*>(g))();
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &f), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

void walk(const Node& e, std::int64_t x, std::int64_t y) {
  const std::int64_t value = evaluate(e, {{"x", x}, {"y", y}});
  EXPECT_EQ(evaluate(substitute(e, {{"x", Node(x)}}), {{"y", y}}), value);
  EXPECT_FALSE(lower(e).empty());
  EXPECT_GT(size(e), 0U);
  if (size(e) < 10'000'000) {
    EXPECT_FALSE(render(e).empty());
  }
}

TEST(Depth, NestsOfDivision) {
  on_small_stack([] {
    const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
    Node e = x;
    for (int i = 0; i < kDeep; ++i) e = floor_mod(e * 3 + y, 1009 + i % 7);
    walk(e, 17, 4);
  });
}

TEST(Depth, NestsOfQuotients) {
  on_small_stack([] {
    const Node x = variable("x", std::nullopt, std::nullopt), y = variable("y", 0, 9);
    Node e = x;
    for (int i = 0; i < kDeep; ++i) e = floor_div(e + y * 5, 3);
    walk(e, 123'456, 4);
  });
}

// An equation for a variable may contain the variable: it was substituted without end.
TEST(Depth, OfAChoiceThatAnEquationGives) {
  const Node x = variable("x", 0, 2), y = variable("y", 0, 3);
  const Node same = eq(y * 2, where(lt(y, 2), x, y));
  const Node first = same * y, second = same * (x - y), third = where(same, y, x - y);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) {
      const bool holds = j * 2 == (j < 2 ? i : j);
      const auto value = [&](const Node& e) { return evaluate(e, {{"x", i}, {"y", j}}); };
      EXPECT_EQ(value(first), holds ? j : 0) << render(first);
      EXPECT_EQ(value(second), holds ? i - j : 0) << render(second);
      EXPECT_EQ(value(third), holds ? j : i - j) << render(third);
    }
}

// A residue removed and a remainder restored the same term, again and again.
TEST(Depth, OfResiduesAndRemaindersThatOpen) {
  const Node x = variable("x", -6, 5), y = variable("y", 1, 4);
  const Node whole = floor_div(x, 8) * 8 + floor_mod(x, 8);
  const Node sum = y + 4 + whole + floor_mod(floor_div(y + y * 8 + x * 8, 8), 8);
  const Node both =
      logical_and(eq(floor_mod(floor_div(sum, 16), 128), 16), eq(floor_mod(sum, 16), 1));
  EXPECT_EQ(render(both), "0");
}

// More coefficients than the limit, and sums with gaps at the values compared with.
TEST(Depth, OfManyCoefficientsReadsBackAsItIs) {
  const Node x = variable("x", 0, 1), y = variable("y", 0, 2), n = variable("n", 0, 1);
  const Node many = lt(x, (x * 3 + y * 2) * y + x * 3 + y * 2);
  EXPECT_EQ(parse(render(many), {{"x", x}, {"y", y}}), many);
  EXPECT_EQ(render(eq(x + n * 3, 2)), "0");
  EXPECT_EQ(render(eq(n * (x + 3), 2)), "0");
  EXPECT_EQ(render(eq(x * 4 - y * 2, 3)), "0");
  for (int k = -5; k <= 5; ++k) {
    const bool reached = k == 0 || k == 1 || k == -3 || k == -2;
    EXPECT_EQ(render(eq(x - n * 3, k)) != "0", reached) << k;
  }
}

// Facts about a comparison apply to its negation, and a remainder by a sum whose terms recur reads
// back unchanged.
TEST(Depth, OfNegationsAndLongDivisionsReadsBackAsItIs) {
  const Node x = variable("x", -1, 0), y = variable("y", 0, 1), z = variable("z", 0, 4);
  EXPECT_EQ(render(lt(x * 3, y * 2)), "x*3 < y");
  EXPECT_EQ(render(eq(lt(x * 3, y * 2), 0)), "y <= x*3");
  const Node rest = floor_mod(z * z + z, min(z, 2));
  EXPECT_EQ(parse(render(rest), {{"z", z}}), rest);
}

TEST(Depth, NestsOfChoices) {
  on_small_stack([] {
    const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
    Node e = x;
    for (int i = 0; i < kDeep; ++i)
      e = i % 2 ? where(eq(floor_mod(x + i * y, 1009), 3), y * i, e)
                : floor_mod(min(e * 3, x + i), 1013);
    walk(e, 17, 4);
  });
}

TEST(Depth, ChoicesInChoicesGrowNoFasterThanTheirNumber) {
  const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
  Context& context = *x.context();
  const auto nodes_of = [&](int depth) {
    const std::size_t before = context.size();
    Node e = x + depth;
    for (int i = 0; i < depth; ++i)
      e = i % 2 ? min(e * 2 - y, x * 3 + i) : where(lt(e, y * 7 + i), x + i, floor_div(e, 2));
    return context.size() - before;
  };
  constexpr int kHalf = test::kSanitized ? 60 : 200;
  EXPECT_LT(nodes_of(2 * kHalf), 4 * nodes_of(kHalf) + 1000);
}

TEST(Depth, TruncatedDivisionsInEachOtherGrowNoFasterThanTheirNumber) {
  const auto nodes_of = [](int depth, const std::string& step, auto value_of) {
    Context context;
    std::map<std::string, Node> names{{"e", context.variable("x", 0, 99)},
                                      {"y", context.variable("y", -5, 50)}};
    std::int64_t value = 7;
    for (int i = 0; i < depth; ++i) {
      names["e"] = parse(step, names, context);
      value = value_of(value);
    }
    EXPECT_EQ(evaluate(names["e"], {{"x", 7}, {"y", -3}}), value) << step;
    return context.size();
  };
  constexpr int kHalf = test::kSanitized ? 15 : 30;
  const auto modulo = [&](int depth) {
    return nodes_of(depth, "tmod(e + y, 5)", [](std::int64_t e) { return (e - 3) % 5; });
  };
  const auto quotient = [&](int depth) {
    return nodes_of(depth, "tdiv(e*3 - y, 2) + 1",
                    [](std::int64_t e) { return (e * 3 + 3) / 2 + 1; });
  };
  EXPECT_LT(modulo(2 * kHalf), 4 * modulo(kHalf) + 1000);
  EXPECT_LT(quotient(2 * kHalf), 4 * quotient(kHalf) + 1000);
}

TEST(Depth, MinimaOfQuotientsGrowNoFasterThanTheirNumber) {
  const auto terms_of = [](int depth) {
    Context context;
    const Node x = context.variable("x", 0, 1000), y = context.variable("y", 0, 1000);
    Node e = x;
    std::int64_t value = 700;
    for (int i = 0; i < depth; ++i) {
      e = min(floor_div(e * 5, 3), y);
      value = std::min<std::int64_t>(value * 5 / 3, 999);
    }
    EXPECT_EQ(evaluate(e, {{"x", 700}, {"y", 999}}), value);
    std::size_t terms = 0;
    for (const auto id : reachable(context, e.id())) terms += context[id].terms.size();
    return terms;
  };
  EXPECT_LT(terms_of(400), 3 * terms_of(200));
}

TEST(Depth, NestsOfLogic) {
  on_small_stack([] {
    const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
    Node e = lt(x, y);
    for (int i = 0; i < kDeep; ++i) {
      const Node part = eq(floor_mod(x * (i + 3) + y, 1013), i % 1013);
      e = i % 2 ? logical_and(e, part) : logical_or(e, part);
    }
    walk(e, 17, 4);
  });
}

TEST(Depth, NestsOfProducts) {
  on_small_stack([] {
    const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
    Node e = x;
    for (int i = 0; i < kDeep; ++i) e = floor_mod(e * (y + x), 101);
    walk(e, 17, 4);
  });
}

}  // namespace
}  // namespace touchstone::symbolic
