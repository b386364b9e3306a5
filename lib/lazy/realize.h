#pragma once

#include <span>

#include "touchstone/device/device.h"
#include "touchstone/files/npy.h"
#include "touchstone/lazy/schedule.h"

namespace touchstone {

/// Sees every item of a schedule as it is run.
struct ExecutionObserver {
  virtual ~ExecutionObserver() = default;
  /// After `item` ran on `device` in `seconds`: buffers[0] holds the result, the others, one an
  /// input, are as they were before. All buffers live at least as long as the call.
  virtual void ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers,
                   double seconds) = 0;
};

/// While it lives, what this thread realizes is shown to `observer`. Scopes nest; the innermost
/// observer sees.
class ObserverScope {
 public:
  explicit ObserverScope(ExecutionObserver& observer);
  ~ObserverScope();
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;

 private:
  ExecutionObserver* previous_;
};

/// Computes the bases of `outputs`: schedules, has each device make all its kernels at once, and
/// runs them in order. After it each base holds a Buffer and no graph. Intermediate buffers that
/// nobody else holds are freed after their last use. Throws what schedule(), Device and Buffer
/// throw; what ran before an error stays realized.
void realize(std::span<const LazyBufferPtr> outputs, const symbolic::Values& values = {});

/// The elements in row-major order, computed now. Throws ShapeError where the shape is symbolic.
HostArray to_host(const LazyBufferPtr& x);

/// Runs a schedule, which is used up.
void run_schedule(std::vector<ScheduleItem> items);

/// Sees every schedule before it runs, and throws where it must not. Null for none, as at first.
using ScheduleGate = void (*)(std::span<const ScheduleItem> items);
void set_schedule_gate(ScheduleGate gate);

namespace lazy {

/// x where its elements can be read: of several devices on the first of them, of a rank of an MPI
/// job ("CLANG@1") on CPU, which every rank has.
LazyBufferPtr at_hand(const LazyBufferPtr& x);

/// Runs and logs one step on `device`: buffers[0] is made, the others, one an input, are read.
/// Gives the seconds of a kernel, else 0.
double run_step(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers);

}  // namespace lazy

}  // namespace touchstone
