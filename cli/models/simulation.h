#pragma once

#include <cstddef>
#include <vector>

namespace touchstone::cli {

/// A timed step in a queue: a computation on a device or a message on a link.
struct SimulatedStep {
  std::size_t queue = 0;
  double seconds = 0;
  bool message = false;
  std::vector<std::size_t> after;  // steps before it in the list, in any queue
};

/// The longest chain of steps; each waits for one of its `after` or for its queue.
struct CriticalPath {
  double seconds = 0;
  double messages = 0;  // of these seconds
  std::size_t steps = 0;
};
CriticalPath critical_path(const std::vector<SimulatedStep>& steps);

/// The measured time until all steps are done, when one thread per queue sleeps `slower` times each
/// step's duration, divided by `slower`.
double played(const std::vector<SimulatedStep>& steps, double slower);

}  // namespace touchstone::cli
