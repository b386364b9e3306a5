#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "touchstone/base/descriptor.h"
#include "touchstone/process/environment.h"

namespace touchstone::process {

using Clock = std::chrono::steady_clock;
class Stacks;

/// Resource limits that the system enforces on each process of a child separately; 0: no limit.
struct Refused {
  std::uint64_t memory = 0;           // bytes of address space
  std::uint64_t file = 0;             // bytes of any one file
  std::chrono::seconds processor{0};  // CPU time; SIGXCPU ends it
};

/// A program to run directly, without a shell.
struct ChildCommand {
  std::filesystem::path file;  // a path, or a name to look up in PATH
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE: adds to or overrides what it inherits
  Inherits inherits = Inherits::Tool;
  std::string room = {};  // the room's folder (room.h); empty: no room
};

/// How a child ended.
struct Ending {
  int status = 0;      // as from waitpid(2)
  bool by_us = false;  // it was still running and we ended it
  double seconds = 0;  // of CPU time, including its descendants

  bool is_signal() const;
  int signal() const;     // the one that ended it
  int exit_code() const;  // 128 + n if signal n ended it
  /// "signal 11 (Segmentation fault)", "exit code 1".
  std::string text() const;
};

/// A child process and all its descendants. All of them are gone when the child itself ends, when
/// this object is destroyed, when our process ends in any way, and after end_all_children(). A
/// supervisor process between us and the child ensures this (supervisor.h); it also catches
/// descendants that leave the child's process group or session.
class Child {
 public:
  enum class Errors : std::uint8_t {
    Apart,   // standard error has its own pipe
    Merged,  // standard error goes to standard output
  };
  /// Starts a program with default signals in its own process group. `input` is a socket; `output`
  /// and `errors` are non-blocking pipes to read from. Throws SystemError with the reason if it
  /// cannot be run.
  static Child of_program(const ChildCommand& program, const Refused& refused = {},
                          Errors errors = Errors::Apart);

  /// Takes the child's end of a socket; returns its exit code.
  using Work = std::function<int(int channel)>;
  /// Calls `work` in a forked copy of this process that has only the calling thread, ignores
  /// SIGPIPE and exits without destructors or `atexit` handlers; it exits with 125 if `work`
  /// throws. `channel` is our end of the socket. Throws SystemError.
  static Child of_function(const Work& work, const Refused& refused = {});

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }             // of the program or function itself
  unsigned missing() const { return missing_; }  // parts its room lacks, as from Room::enter
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  int errors() const { return errors_.get(); }
  int channel() const { return input_.get(); }
  /// A descriptor that is readable once the child has ended; -1 before Linux 5.3.
  int ended() const { return supervised_.get(); }

  /// From now on `output` is the channel, read without blocking.
  void read_channel_as_output();

  /// The child then reads the end of its input.
  void close_input();
  void close_errors() { errors_.close(); }
  /// True if it has ended; end() still returns how.
  bool has_ended() const { return ends_before(Clock::time_point::min()); }
  /// Waits for its end until `deadline`; true if it has ended.
  bool ends_before(Clock::time_point deadline) const;
  /// Starts ending it without waiting.
  void kill() const;
  /// Ends it if it is running and returns how it ended. Call once; the object is empty afterwards.
  Ending end();

 private:
  struct Start;
  Child();

  pid_t supervisor_ = -1, pid_ = -1;
  unsigned missing_ = 0;
  std::unique_ptr<Stacks> stacks_;
  Descriptor supervised_, input_, output_,
      errors_;  // supervised_: pidfd_open of the supervisor
};

/// Ends all children and waits up to 0.3 s for that; for a process about to exit. Starting a child
/// then throws Interrupted. Any thread may call it, but no signal handler.
void end_all_children() noexcept;

/// True after end_all_children().
bool all_children_end() noexcept;

/// Milliseconds until `deadline` for poll(2), at most a minute.
int milliseconds_until(Clock::time_point deadline);

/// Finds the executable file of a name, searching PATH as a shell does, or of a path (anything with
/// a slash); empty if there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace touchstone::process
