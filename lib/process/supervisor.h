#pragma once

#include <cstddef>
#include <functional>

#include <sys/types.h>

#include "touchstone/process/child.h"
#include "touchstone/process/room.h"

namespace touchstone::process {

/// Parameters of a supervisor, prepared in advance; must live until all its reports are read.
struct Orders {
  pid_t parent = 0;
  Refused refused;
  // A program: its file, arguments, arguments for a shell if it is a script without `#!`,
  // environment, and descriptors 0, 1 and 2.
  const char* file = nullptr;
  char* const* words = nullptr;
  char* const* shell_words = nullptr;
  char* const* environment = nullptr;
  int standard[3] = {-1, -1, -1};
  const Room* room = nullptr;  // to enter; null: none
  // Or a function.
  const std::function<int()>* work = nullptr;
  int report = -1;  // a pipe for reports; closed after the last one
};

/// What a supervisor reports of a child.
struct Report {
  pid_t pid;
  int error;         // errno
  unsigned missing;  // as from Room::enter
};

/// Stacks for a supervisor; must live as long as it does.
class Stacks {
 public:
  Stacks() = default;
  ~Stacks() { release(); }
  Stacks(Stacks&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  Stacks& operator=(Stacks&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  bool reserve();
  void release();
  char* top(int number) const;  // of stack 0 or 1

 private:
  char* memory_ = nullptr;
};

/// Starts the supervisor process, which starts the child in its own process group and waits. When
/// the child ends, the supervisor ends the child's remaining descendants and then exits with the
/// child's status. When `parent` ends, or on SIGTERM, it ends all of them and itself. It adopts
/// orphans (PR_SET_CHILD_SUBREAPER), so it finds descendants that left the group or session in
/// /proc/thread-self/children.
///
/// For a function it is a forked copy of this process. For a program it shares our memory and runs
/// on its own stacks, because copying the page tables of a gigabyte takes a tenth of a second.
/// There it makes only raw system calls, no libc calls. The out-of-memory killer, which kills every
/// process sharing a memory, takes it too; the child still ends then.
///
/// Returns the supervisor's process id, or -1 with errno set.
pid_t start_supervisor(const Orders& orders, const Stacks& stacks);

}  // namespace touchstone::process
