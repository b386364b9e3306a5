#pragma once

#include <functional>

#include <sys/types.h>

#include "touchstone/process/child.h"

namespace touchstone::process {

/// Data prepared before the fork: between that and the program, nothing may allocate or lock.
struct Orders {
  pid_t parent = 0;
  Refused refused;
  // A program: its words and its environment, and what become its descriptors 0, 1 and 2.
  char* const* words = nullptr;
  char* const* environment = nullptr;
  int standard[3] = {-1, -1, -1};
  // Or a function.
  const std::function<int()>* work = nullptr;
  int report = -1;  // a pipe for reports, which is closed when there will be no more
};

/// Told of a child: its number, or why it cannot be run.
struct Report {
  pid_t pid;
  int error;  // errno
};

/// The life of the process between us and a child, called after fork(2). It starts the child in a
/// group of its own and waits. Where the child ends, it ends all that the child has left and then
/// ends as the child did. Where `parent` ends, or SIGTERM comes, it ends all of them and itself.
/// Being the reaper of the child's orphans (PR_SET_CHILD_SUBREAPER), it finds those that have left
/// group and session; the list of them is /proc/thread-self/children.
[[noreturn]] void supervise(const Orders& orders);

}  // namespace touchstone::process
