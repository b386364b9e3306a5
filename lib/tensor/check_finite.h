#pragma once

#include "touchstone/lazy/realize.h"

namespace touchstone {

/// While it lives, each float result of a kernel that this thread computes is looked at, and the
/// first NaN or infinity that the inputs of its kernel did not have is an Error: which kernel, made
/// by which operation, where, from which inputs. Slow; a kernel may be several operations, so that
/// Config's OPT=0 finds the place more narrowly. What a TensorJit replays is not looked at.
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
