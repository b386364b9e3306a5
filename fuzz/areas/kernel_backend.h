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

/// Whether a buffer ends with what a kernel writes to it.
enum class GoesOn : std::uint8_t { No, Yes };

/// Something that runs kernels: a device of ours, or a process of somebody else's.
class KernelBackend {
 public:
  virtual ~KernelBackend() = default;
  virtual std::string name() = 0;
  /// What it declares of its arithmetic for a kernel that it can run.
  virtual Profile profile(const LazyOpPtr& /*kernel*/) { return {}; }
  /// Kernels that come next, where it is cheaper to compile them together.
  virtual void prepare(std::span<const LazyOpPtr> /*kernels*/) {}
  /// Whether it may answer otherwise than the candidate that it is a variant of.
  virtual bool differs_on(const LazyOpPtr& /*kernel*/) { return true; }
  /// The code that runs for a kernel, where there is any to show.
  virtual std::string source(const LazyOpPtr& /*kernel*/) { return {}; }
  /// Never throws for what a foreign backend does; a device of ours throws what it throws.
  virtual foreign::Answer run(const KernelCase& c) = 0;
  /// The same where nobody may touch what lies beside the buffers, or write to an input: what
  /// does ends the process, or makes the answer Broken. Of foreign backends `run` sees to that.
  virtual foreign::Answer run_guarded(const KernelCase& c) { return run(c); }
  /// The same where the output takes the memory of an input, inputs[input]: Broken where what lies
  /// behind the elements that the kernel writes changes, Unsupported where the memory is not the
  /// host's. `goes_on`: that is part of the output's buffer.
  virtual foreign::Answer run_in_place(const KernelCase& /*c*/, std::size_t /*input*/,
                                       GoesOn /*goes_on*/) {
    foreign::Answer answer;
    answer.kind = foreign::Answer::Kind::Unsupported;
    return answer;
  }
};

using DiffersOn = std::function<bool(const LazyOpPtr& kernel)>;
/// `differs_on`: of a variant, where it can be told.
std::unique_ptr<KernelBackend> make_device_backend(std::unique_ptr<Device> device,
                                                   DiffersOn differs_on = {});
/// How often the backends of a campaign were started, in whatever process: workers are forked, and
/// what they count has to outlive them.
class SharedStarts {
 public:
  /// Throws SystemError where there is no shared memory.
  SharedStarts();
  ~SharedStarts();
  SharedStarts(const SharedStarts&) = delete;
  SharedStarts& operator=(const SharedStarts&) = delete;

  void add(int times, int anew, double seconds);
  int times() const;
  int anew() const;  // of these, after an answer that was none
  double seconds() const;

 private:
  struct Counts;
  Counts* counts_;
};

/// `starts`, where it is not null, counts.
std::unique_ptr<KernelBackend> make_process_backend(std::vector<std::string> argv,
                                                    const foreign::Limits& limits,
                                                    std::shared_ptr<SharedStarts> starts = {});

}  // namespace touchstone::fuzz
