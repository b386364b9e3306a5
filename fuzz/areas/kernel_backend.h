#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/foreign/backend_process.h"
#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

/// Whether the output's buffer continues beyond the elements that the kernel writes.
enum class GoesOn : std::uint8_t { No, Yes };

/// Runs kernels: a device of ours or a foreign process.
class KernelBackend {
 public:
  virtual ~KernelBackend() = default;
  virtual std::string name() = 0;
  /// The arithmetic it declares for a kernel that it can run.
  virtual Profile profile(const LazyOpPtr& /*kernel*/) { return {}; }
  /// Announces the next kernels, in case compiling them together is cheaper.
  virtual void prepare(std::span<const LazyOpPtr> /*kernels*/) {}
  /// Whether its answer may differ from that of the candidate it is a variant of.
  virtual bool differs_on(const LazyOpPtr& /*kernel*/) { return true; }
  /// The code that runs for a kernel, if available.
  virtual std::string source(const LazyOpPtr& /*kernel*/) { return {}; }
  /// That code for a case and the name of its file; of foreign backends that want programs, these.
  virtual std::pair<std::string, std::string> program(const KernelCase& c) {
    return {"kernel.c", source(c.kernel)};
  }
  /// Never throws for a fault of a foreign backend; a device of ours throws its own errors.
  virtual foreign::Answer run(const KernelCase& c) = 0;
  /// The same with memory beside the buffers guarded and inputs write-protected: a violation ends
  /// the process or makes the answer Broken. For foreign backends `run` already does this.
  virtual foreign::Answer run_guarded(const KernelCase& c) { return run(c); }
  /// The same with the output in the memory of inputs[input]: Broken if memory behind the elements
  /// that the kernel writes changes, Unsupported if the memory is not the host's. `goes_on`: that
  /// memory is part of the output's buffer.
  virtual foreign::Answer run_in_place(const KernelCase& /*c*/, std::size_t /*input*/,
                                       GoesOn /*goes_on*/) {
    foreign::Answer answer;
    answer.kind = foreign::Answer::Kind::Unsupported;
    return answer;
  }
};

using DiffersOn = std::function<bool(const LazyOpPtr& kernel)>;
/// `differs_on`: of a variant, if known.
std::unique_ptr<KernelBackend> make_device_backend(std::unique_ptr<Device> device,
                                                   DiffersOn differs_on = {});
/// Counts the backend starts of a campaign in all processes; shared memory, because workers are
/// forked and the counts must outlive them.
class SharedStarts {
 public:
  /// Throws SystemError if there is no shared memory.
  SharedStarts();
  ~SharedStarts();
  SharedStarts(const SharedStarts&) = delete;
  SharedStarts& operator=(const SharedStarts&) = delete;

  void add(int times, int anew, double seconds);
  int times() const;
  int anew() const;  // restarts after an unusable answer
  double seconds() const;

 private:
  struct Counts;
  Counts* counts_;
};

/// `starts`, if not null, counts the starts.
std::unique_ptr<KernelBackend> make_process_backend(std::vector<std::string> argv,
                                                    const foreign::Limits& limits,
                                                    std::shared_ptr<SharedStarts> starts = {});

}  // namespace touchstone::fuzz
