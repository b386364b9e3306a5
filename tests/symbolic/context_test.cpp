#include "touchstone/symbolic/node/context.h"

#include <gtest/gtest.h>

#include <thread>

namespace touchstone::symbolic {
namespace {

TEST(Context, ThreadsBuildTheSameNodes) {
  constexpr int kThreads = 4, kRounds = 300;
  std::vector<std::vector<Node>> made(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : made)
    threads.emplace_back([&mine] {
      const Node a = variable("thread_a", 0, 99), b = variable("thread_b", 0, 3);
      for (int i = 1; i <= kRounds; ++i) mine.push_back(floor_mod(a * i + b, 7 + i % 5));
    });
  for (std::thread& t : threads) t.join();
  for (const auto& mine : made) EXPECT_EQ(mine, made[0]);
}

TEST(Context, KeepsItsNodesApart) {
  Context one, two;
  const Node x = one.variable("x", 0, 9), y = two.variable("x", 0, 9);
  EXPECT_NE(x, y);
  EXPECT_THROW(x + y, Error);
  EXPECT_EQ((x + Node(3)).context(), &one);
  EXPECT_EQ(render(x + 3), render(y + 3));
}

TEST(Context, HoldsEachNodeOnce) {
  Context context;
  const Node x = context.variable("x", 0, 9);
  const Node e = floor_div(x * 6 + 5, 4);
  const std::size_t size = context.size();
  EXPECT_EQ(floor_div(x * 6 + 5, 4), e);
  EXPECT_EQ(context.size(), size);
}

TEST(Context, StartsAnewWhenItIsCleared) {
  Context context;
  const std::size_t empty = context.size();
  const auto build = [&] {
    const Node x = context.variable("x", std::nullopt, 9), y = context.variable("y", 0, 9);
    std::map<std::string, Node> names{{"x", x}, {"y", y}};
    Node e = parse("(x*1000000000000000000000 + y*3 + 7)//4 % 100000000000000000000000", names);
    for (int i = 0; i < 2'000; ++i) e = floor_mod(e * 5 + y, 1009 + i % 7);
    return render(floor_div(e + x, 10));
  };
  const std::string text = build();
  const std::size_t bytes = context.bytes();
  for (int round = 0; round < 3; ++round) {
    context.clear();
    EXPECT_EQ(context.size(), empty);
    EXPECT_EQ(build(), text);
  }
  EXPECT_EQ(context.bytes(), bytes);
}

}  // namespace
}  // namespace touchstone::symbolic
