#pragma once

#include <cstddef>
#include <functional>

#include <sys/types.h>

#include "touchstone/process/child.h"
#include "touchstone/process/room.h"

namespace touchstone::process {

/// Data prepared before a supervisor is made, which stays until all its reports are read.
struct Orders {
  pid_t parent = 0;
  Refused refused;
  // A program: its file, its words, those of a shell that reads it where it is no binary, its
  // environment, and what become its descriptors 0, 1 and 2.
  const char* file = nullptr;
  char* const* words = nullptr;
  char* const* shell_words = nullptr;
  char* const* environment = nullptr;
  int standard[3] = {-1, -1, -1};
  const Room* room = nullptr;  // which it enters, where there is one
  // Or a function.
  const std::function<int()>* work = nullptr;
  int report = -1;  // a pipe for reports, which is closed when there will be no more
};

/// Told of a child: its number, why it cannot be run, what its room lacks.
struct Report {
  pid_t pid;
  int error;         // errno
  unsigned missing;  // as Room::enter says
};

/// Memory that a supervisor needs as long as it lives.
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

/// Starts the process between us and a child, which starts the child in a group of its own and
/// waits. Where the child ends, it ends all that the child has left and then ends as the child did.
/// Where `parent` ends, or SIGTERM comes, it ends all of them and itself. Being the reaper of the
/// child's orphans (PR_SET_CHILD_SUBREAPER), it finds those that have left group and session; the
/// list of them is /proc/thread-self/children.
///
/// Before a function it is a copy of this process. Before a program it runs in our own memory, on
/// stacks of its own, since to copy the tables of a gigabyte takes a tenth of a second. It asks the
/// system alone there, and nothing of libc. Whoever kills all that run in our memory, as the system
/// does where there is none left, kills it, too; the child itself then ends all the same.
///
/// The number of the supervisor, or -1 and errno.
pid_t start_supervisor(const Orders& orders, const Stacks& stacks);

}  // namespace touchstone::process
