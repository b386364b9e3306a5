#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "touchstone/process/descriptor.h"
#include "touchstone/process/environment.h"

namespace touchstone::process {

using Clock = std::chrono::steady_clock;
class Stacks;

/// Resources that the system refuses a child; 0: none is refused. Of each of its processes alone.
struct Refused {
  std::uint64_t memory = 0;           // bytes of address space beyond
  std::uint64_t file = 0;             // bytes of any file beyond
  std::chrono::seconds processor{0};  // time of the processor beyond, which ends it by SIGXCPU
};

/// A program to be run, no shell between.
struct Program {
  std::filesystem::path file;  // a path, or a name that PATH leads to
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE: added to what it inherits, or instead
  Inherits inherits = Inherits::Tool;
  std::string room = {};  // the folder of the room it runs in (room.h); empty: in none
};

/// How a child came to its end.
struct Ending {
  int status = 0;      // as waitpid(2) has it
  bool by_us = false;  // it was there still and was ended
  double seconds = 0;  // of processor time, with all that it started

  bool is_signal() const;
  int signal() const;     // that ended it
  int exit_code() const;  // 128 + n where signal n ended it
  /// "signal 11 (Segmentation fault)", "exit code 1".
  std::string text() const;
};

/// A child process and all that it starts. All of them are gone when the child itself ends, when
/// the object goes, when the process that made it ends, however it does, and after
/// end_all_children(). A process between us and the child sees to it (supervisor.h), which also
/// takes in whatever leaves the child's process group or session.
class Child {
 public:
  enum class Errors : std::uint8_t {
    Apart,   // standard error has a pipe of its own
    Merged,  // it is where standard output is
  };
  /// Starts a program with default signals, in a process group of its own. `input` is a socket,
  /// `output` and `errors` are pipes to be read, which do not block. Throws SystemError saying why
  /// it cannot be run.
  static Child of_program(const Program& program, const Refused& refused = {},
                          Errors errors = Errors::Apart);

  /// Gets the child's end of a socket; gives its exit code.
  using Work = std::function<int(int channel)>;
  /// Calls `work` in a copy of this process which has but the thread that asks, ignores SIGPIPE and
  /// leaves without destructors and `atexit`; what `work` throws makes it exit with 125. `channel`
  /// is our end of the socket. Throws SystemError.
  static Child of_function(const Work& work, const Refused& refused = {});

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }             // of the program or function itself
  unsigned missing() const { return missing_; }  // what its room lacks, as Room::enter says
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  int errors() const { return errors_.get(); }
  int channel() const { return input_.get(); }
  /// Readable once it has ended; -1 where the system (Linux before 5.3) has no such thing.
  int ended() const { return supervised_.get(); }

  /// From now on `output` is the channel, to be read without blocking.
  void read_channel_as_output();

  /// It reads the end of its input.
  void close_input();
  void close_errors() { errors_.close(); }
  /// Whether it has ended; it stays there to be asked how.
  bool has_ended() const { return ends_before(Clock::time_point::min()); }
  /// Waits until it has ended, at most to `deadline`.
  bool ends_before(Clock::time_point deadline) const;
  /// Has it ended, and does not wait for that.
  void kill() const;
  /// Ends it where it has not, and says how it ended: once, after which it is gone.
  Ending end();

 private:
  struct Start;
  Child();

  pid_t supervisor_ = -1, pid_ = -1;
  unsigned missing_ = 0;
  std::unique_ptr<Stacks> stacks_;
  Descriptor supervised_, input_, output_,
      errors_;  // supervised_: of the supervisor, by pidfd_open
};

/// Ends every child there is and waits for that, for at most 0.3 s: the process is about to end.
/// From now on none is made, which throws Interrupted. May be called by any thread, but by no
/// signal handler.
void end_all_children() noexcept;

/// Whether that was called.
bool all_children_end() noexcept;

/// Milliseconds for poll(2) until `deadline`, a minute at most.
int milliseconds_until(Clock::time_point deadline);

/// The executable file of a name, by PATH as a shell finds it, or of a path (anything with a
/// slash); empty where there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace touchstone::process
