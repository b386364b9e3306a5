#pragma once

#include <cstddef>
#include <vector>

namespace touchstone::cli {

/// What takes a while in a queue, one after the other: a device computes, a link brings messages.
struct SimulatedStep {
  std::size_t queue = 0;
  double seconds = 0;
  bool message = false;
  std::vector<std::size_t> after;  // steps before it in the list, in any queue
};

/// The chain of steps that takes longest: each waits for one of its `after`, or for its queue.
struct CriticalPath {
  double seconds = 0;
  double messages = 0;  // of these seconds
  std::size_t steps = 0;
};
CriticalPath critical_path(const std::vector<SimulatedStep>& steps);

/// Seconds until all are done where a thread a queue sleeps for `slower` times as long as each step
/// takes, divided by `slower`.
double played(const std::vector<SimulatedStep>& steps, double slower);

}  // namespace touchstone::cli
