#include "touchstone/clang/worker_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace touchstone::clang {
namespace {

// Rounds in sequence, some after the waiting workers have fallen asleep.
TEST(WorkerPool, EachPartRunsOnceARound) {
  constexpr int kRounds = 2000;
  for (const int threads : {1, 2, 3, 9}) {
    WorkerPool pool(threads);
    std::vector<int> runs(static_cast<std::size_t>(threads), 0);
    for (int round = 0; round < kRounds; ++round) {
      pool.run([&](int part) { ++runs[static_cast<std::size_t>(part)]; });
      ASSERT_EQ(std::ranges::count(runs, round + 1), threads) << "round " << round;
      if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round));
    }
  }
}

TEST(WorkerPool, CallersTakeTurns) {
  constexpr int kThreads = 3, kCallers = 4, kRounds = 300;
  WorkerPool pool(kThreads);
  std::vector<int> runs(kThreads, 0);
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round)
        pool.run([&](int part) { ++runs[static_cast<std::size_t>(part)]; });
    });
  for (std::thread& c : callers) c.join();
  EXPECT_EQ(std::ranges::count(runs, kCallers * kRounds), kThreads);
}

TEST(WorkerPool, EndsAwakeAndAsleep) {
  for (int i = 0; i < 100; ++i) {
    int sum[3] = {};
    WorkerPool pool(3);
    pool.run([&](int part) { sum[part] = part; });
    EXPECT_EQ(sum[1] + sum[2], 3);
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(80));
  }
}

}  // namespace
}  // namespace touchstone::clang
