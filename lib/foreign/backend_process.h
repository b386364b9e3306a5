#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/files/npy.h"
#include "touchstone/foreign/child.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::foreign {

/// A backend's own description at its start (docs/backends.md), as it says it: `visible` makes
/// it fit for a terminal, and so it does with the `why` of an Answer.
struct Capabilities {
  std::string name;
  std::string version;           // empty: not told
  std::string profile;           // a name or the JSON of one; empty: not told
  bool arrays_in_files = false;  // else in base64
};

/// The outcome of one kernel.
struct Answer {
  enum class Kind : std::uint8_t {
    Output,       // `output` is there
    Unsupported,  // the backend does not do this kernel, which is no fault
    Broken,       // it crashed, hung, or reached out of its bounds: a bug, whatever the kernel
    Unusable      // no output: it said so, or what it said was no answer
  };
  Kind kind = Kind::Unusable;
  std::string why;  // where there is no output: a clause, as "it was ended by signal 9 (Killed)"
  HostArray output;
};

/// How often a backend was started, how long that took, and why it was after the first time.
struct Starts {
  int times = 0;
  double first_seconds = 0, seconds = 0;  // of the first, of all
  std::map<std::string, int> why;         // "it hung": how often it was started anew for that

  /// "it started in 10.2 s; started anew 3 times, which took 30.7 s: it hung 2, it crashed 1".
  std::string str() const;
};

/// Reads a backend's first line. Throws ParseError.
Capabilities capabilities_from(std::string_view line);
/// Reads a backend's answer to question `id`. `wanted` gives the type and shape of the output, and
/// `file` where the backend wrote it; empty: the line has it in base64. Throws ParseError.
Answer answer_from(std::string_view line, std::int64_t id, HostArray wanted,
                   const std::filesystem::path& file = {});

/// A backend of somebody else's as a child process that speaks the line protocol of
/// docs/backends.md, in a room (process/room.h) unless TOUCHSTONE_ROOM is `off`. After anything but
/// an orderly answer it is ended, and started anew for the next kernel.
class BackendProcess {
 public:
  explicit BackendProcess(std::vector<std::string> argv, Limits limits = {});
  ~BackendProcess();
  BackendProcess(const BackendProcess&) = delete;
  BackendProcess& operator=(const BackendProcess&) = delete;

  /// A command for the shell.
  static std::vector<std::string> shell(const std::string& command) {
    return {"/bin/sh", "-c", command};
  }

  /// Starts it where it is not running. Throws SystemError where it cannot be started, ParseError
  /// where what it says of itself is not as it should be.
  const Capabilities& capabilities();

  /// Has it run a concrete kernel; inputs[i] is buffer i + 1. Never throws for what the backend
  /// does. Once it has hung `kMostHangs` times, kernels are Unusable without being asked.
  Answer run(const KernelFile& kernel, std::span<const HostArray> inputs);
  static constexpr int kMostHangs = 10;

  void set_limits(const Limits& limits) { limits_ = limits; }
  const Starts& starts() const { return starts_; }

 private:
  void start();
  std::string question(const KernelFile& kernel, std::span<const HostArray> inputs,
                       const HostArray& wanted);
  Answer listen(const std::string& question, HostArray wanted);
  Answer stop(Answer::Kind kind, const std::string& why, const std::string& in_short = {});

  std::vector<std::string> argv_;
  Limits limits_;
  Capabilities capabilities_;
  std::unique_ptr<Child> child_;
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;  // the folder of its room
  std::int64_t asked_ = 0;
  int hangs_ = 0;
  Starts starts_;
  std::string stopped_for_;  // why it will be started anew
};

}  // namespace touchstone::foreign
