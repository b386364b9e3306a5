// Simulated devices: the critical path against all paths, measured threads, and the command.
#include "touchstone/cli/models/simulation.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "command.h"

namespace touchstone {
namespace {

using cli::critical_path;
using cli::played;
using cli::SimulatedStep;
using testing::HasSubstr;

// The longest chain that ends with step i, by enumeration.
double longest_to(const std::vector<SimulatedStep>& steps, std::size_t i) {
  double before = 0;
  for (std::size_t j = 0; j < i; ++j) {
    const bool waits =
        steps[j].queue == steps[i].queue || std::ranges::count(steps[i].after, j) > 0;
    if (waits) before = std::max(before, longest_to(steps, j));
  }
  return before + steps[i].seconds;
}

TEST(Simulation, TheCriticalPathIsTheLongestOfAllPaths) {
  test::TracedDraws random(27);
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<SimulatedStep> steps;
    for (std::size_t i = 0; i < 12; ++i) {
      SimulatedStep step{
          random.below(5), static_cast<double>(random.below(100)), random.chance(1, 2), {}};
      for (std::size_t j = 0; j < i; ++j)
        if (random.chance(1, 4)) step.after.push_back(j);
      steps.push_back(std::move(step));
    }
    double longest = 0;
    for (std::size_t i = 0; i < steps.size(); ++i)
      longest = std::max(longest, longest_to(steps, i));
    EXPECT_EQ(critical_path(steps).seconds, longest);
  }
}

TEST(Simulation, MessagesOnTheCriticalPathAreCounted) {
  const std::vector<SimulatedStep> steps = {{0, 3, false, {}},
                                            {1, 4, false, {}},
                                            {2, 2, true, {0}},
                                            {2, 1, true, {1}},
                                            {0, 5, false, {3}}};
  const cli::CriticalPath path = critical_path(steps);
  EXPECT_EQ(path.seconds, 11);
  EXPECT_EQ(path.messages, 3);
  EXPECT_EQ(path.steps, 4U);
  EXPECT_EQ(critical_path({}).seconds, 0);
}

TEST(Simulation, ThreadsTakeAtLeastTheCriticalPathAndNotTheSum) {
  std::vector<SimulatedStep> steps;
  for (std::size_t q = 0; q < 16; ++q) steps.push_back({q, 0.01, false, {}});
  for (std::size_t q = 0; q < 16; ++q) steps.push_back({q, 0.01, false, {(q + 1) % 16}});
  double least = 1;  // of five, for what else runs on the machine
  for (int i = 0; i < 5; ++i) {
    const double seconds = played(steps, 2);
    EXPECT_GE(seconds, critical_path(steps).seconds);
    least = std::min(least, seconds);
  }
  EXPECT_LT(least, 0.25);  // in sequence: 0.32
}

TEST(Simulation, TheCommandTimesAStepOnMoreAndMoreDevices) {
  const Answer answer = touchstone_run("train digits --simulate 4");
  EXPECT_EQ(answer.code, 0) << answer.text;
  std::istringstream lines(answer.text);
  std::string line;
  std::vector<std::vector<double>> rows;  // devices, kernels, messages, step, path, messages in it
  while (std::getline(lines, line)) {
    double devices, kernels, messages, step, path, in_it;
    if (std::sscanf(line.c_str(), " %lf %lf %lf %lf ms %lf ms %lf ms", &devices, &kernels,
                    &messages, &step, &path, &in_it) == 6)
      rows.push_back({devices, kernels, messages, step, path, in_it});
  }
  ASSERT_EQ(rows.size(), 3U) << answer.text;
  for (std::size_t i = 0; i < 3; ++i) {
    const double n = rows[i][0];
    EXPECT_EQ(n, 1 << i);
    EXPECT_GE(rows[i][3] * 1.01, rows[i][4]) << answer.text;
    EXPECT_EQ(rows[i][2] == 0, n == 1);
    // Equal work per device, plus the gradient sums.
    EXPECT_LT(rows[i][4], 2 * rows[0][4]);
    EXPECT_LT(rows[i][1], 2 * n * rows[0][1]);
  }
  EXPECT_THAT(touchstone_run("train gpt --simulate 2 --tensor-parallel 4").text,
              HasSubstr("--simulate 2 is less than --tensor-parallel 4"));
  EXPECT_THAT(touchstone_run("train digits --simulate 2 --devices CLANG:0,CLANG:1").text,
              HasSubstr("excludes --devices"));
}

}  // namespace
}  // namespace touchstone
