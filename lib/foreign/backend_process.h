#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/emit/emit.h"
#include "touchstone/files/npy.h"
#include "touchstone/foreign/child.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::foreign {

/// What a backend reports about itself at its start (docs/backends.md), unfiltered. Print it, and
/// the `why` of an Answer, only through `visible`.
struct Capabilities {
  std::string name;
  std::string version;                          // empty: not given
  std::string profile;                          // a name or JSON text; empty: not given
  bool arrays_in_files = false;                 // otherwise in base64
  std::optional<emit::Language> programs = {};  // the language that it wants kernels in, too
};

/// The outcome of one kernel.
struct Answer {
  enum class Kind : std::uint8_t {
    Output,       // `output` is there
    Unsupported,  // the backend does not support this kernel; not a fault
    Broken,       // it crashed, hung, or accessed memory out of bounds: always a bug
    Unusable      // no output: it reported an error or gave an invalid answer
  };
  Kind kind = Kind::Unusable;
  std::string why;  // set if there is no output: a clause, as "it was ended by signal 9 (Killed)"
  HostArray output;
};

/// How often and why a backend was started, and how long that took.
struct Starts {
  int times = 0;
  double first_seconds = 0, seconds = 0;  // of the first start; of all starts
  std::map<std::string, int> why;         // reason for restarting ("it hung") -> count

  /// "it started in 10.2 s; started anew 3 times, which took 30.7 s: it hung 2, it crashed 1".
  std::string str() const;
};

/// Parses the first line of a backend. Throws ParseError.
Capabilities capabilities_from(std::string_view line);
/// Parses a backend's answer to question `id`, whose output has the type and shape of `wanted`.
/// `file`: where the backend wrote the output; empty if the line has it in base64. Throws
/// ParseError.
Answer answer_from(std::string_view line, std::int64_t id, HostArray wanted,
                   const std::filesystem::path& file = {});

/// The kernel as the program that a backend gets, with flat inputs. Throws ParseError for what the
/// language cannot say.
std::string program_of(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                       emit::Language language);

/// An external backend as a child process that speaks the line protocol of docs/backends.md, in a
/// room (process/room.h) unless TOUCHSTONE_ROOM is `off`. After an invalid answer, a hang or a
/// crash it is ended and restarted for the next kernel.
class BackendProcess {
 public:
  explicit BackendProcess(std::vector<std::string> argv, Limits limits = {});
  ~BackendProcess();
  BackendProcess(const BackendProcess&) = delete;
  BackendProcess& operator=(const BackendProcess&) = delete;

  /// The argv that runs a shell command.
  static std::vector<std::string> shell(const std::string& command) {
    return {"/bin/sh", "-c", command};
  }

  /// Starts the backend if it is not running. Throws SystemError if it cannot be started,
  /// ParseError if its description of itself is invalid.
  const Capabilities& capabilities();

  /// Runs a concrete kernel; inputs[i] is buffer i + 1. Never throws because of backend behaviour.
  /// After `kMostHangs` hangs all kernels are Unusable without being sent.
  Answer run(const KernelFile& kernel, std::span<const HostArray> inputs);
  static constexpr int kMostHangs = 10;

  const Starts& starts() const { return starts_; }

 private:
  void start();
  std::string question(const KernelFile& kernel, std::span<const HostArray> inputs,
                       const HostArray& wanted, const std::string& program);
  Answer listen(const std::string& question, HostArray wanted);
  Answer stop(Answer::Kind kind, const std::string& why, const std::string& in_short = {});

  std::vector<std::string> argv_;
  Limits limits_;
  Capabilities capabilities_;
  std::unique_ptr<Child> child_;
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;  // its room's folder
  std::int64_t asked_ = 0;
  int hangs_ = 0;
  Starts starts_;
  std::string stopped_for_;  // why it must be restarted
};

}  // namespace touchstone::foreign
