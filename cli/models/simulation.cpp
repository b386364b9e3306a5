#include "touchstone/cli/models/simulation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <sys/prctl.h>

namespace touchstone::cli {
namespace {

std::size_t queues_of(const std::vector<SimulatedStep>& steps) {
  std::size_t count = 0;
  for (const SimulatedStep& step : steps) count = std::max(count, step.queue + 1);
  return count;
}

}  // namespace

CriticalPath critical_path(const std::vector<SimulatedStep>& steps) {
  std::vector<CriticalPath> until(steps.size()), of_queue(queues_of(steps));
  CriticalPath longest;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const SimulatedStep& step = steps[i];
    CriticalPath path = of_queue[step.queue];
    for (const std::size_t before : step.after)
      if (until[before].seconds > path.seconds) path = until[before];
    path.seconds += step.seconds;
    path.messages += step.message ? step.seconds : 0;
    path.steps += 1;
    until[i] = of_queue[step.queue] = path;
    if (path.seconds > longest.seconds) longest = path;
  }
  return longest;
}

double played(const std::vector<SimulatedStep>& steps, double slower) {
  std::vector<std::vector<std::size_t>> queues(queues_of(steps));
  for (std::size_t i = 0; i < steps.size(); ++i) queues[steps[i].queue].push_back(i);
  std::vector<std::atomic<bool>> done(steps.size());
  std::atomic<bool> begun = false;
  std::vector<std::jthread> threads;
  for (const std::vector<std::size_t>& queue : queues)
    threads.emplace_back([&] {
      prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // nanoseconds of oversleeping
      begun.wait(false);
      for (const std::size_t i : queue) {
        for (const std::size_t before : steps[i].after) done[before].wait(false);
        std::this_thread::sleep_for(std::chrono::duration<double>(steps[i].seconds * slower));
        done[i] = true;
        done[i].notify_all();
      }
    });
  const auto start = std::chrono::steady_clock::now();
  begun = true;
  begun.notify_all();
  threads.clear();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / slower;
}

}  // namespace touchstone::cli
