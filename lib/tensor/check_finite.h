#pragma once

#include "touchstone/lazy/realize.h"

namespace touchstone {

/// For its lifetime, checks each float result of this thread's kernels and throws Error at the
/// first NaN or infinity not present in the kernel's inputs, naming kernel, operation, position and
/// inputs. Slow. A kernel may combine several operations; Config's OPT=0 locates the fault more
/// precisely. Replays of a TensorJit are not checked.
class CheckFinite final : public ExecutionObserver {
 public:
  enum class Infinities : bool { Refused, Allowed };
  explicit CheckFinite(Infinities infinities = Infinities::Refused)
      : infinities_(infinities), scope_(*this) {}
  void ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers,
           double seconds) override;

 private:
  Infinities infinities_;
  ObserverScope scope_;
};

}  // namespace touchstone
