#pragma once

#include <span>

#include "touchstone/device/device.h"
#include "touchstone/files/npy.h"
#include "touchstone/lazy/schedule.h"

namespace touchstone {

/// Observes every item of a schedule as it runs.
struct ExecutionObserver {
  virtual ~ExecutionObserver() = default;
  /// Called after `item` ran on `device` in `seconds`: buffers[0] holds the result; the others, one
  /// per input, are unchanged. All buffers live at least until the call returns.
  virtual void ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers,
                   double seconds) = 0;
};

/// Passes this thread's executions to `observer` during its lifetime. Scopes nest; only the
/// innermost observer is called.
class ObserverScope {
 public:
  explicit ObserverScope(ExecutionObserver& observer);
  ~ObserverScope();
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;

 private:
  ExecutionObserver* previous_;
};

/// Computes the bases of `outputs`: schedules, compiles all kernels of each device at once, and
/// runs them in order. Afterwards each base holds a Buffer and no graph. Intermediate buffers
/// without other owners are freed after their last use. Throws as schedule(), Device and Buffer do;
/// results of steps before an error stay realized.
void realize(std::span<const LazyBufferPtr> outputs, const symbolic::Values& values = {});

/// Computes and returns the elements in row-major order. Throws ShapeError for a symbolic shape.
HostArray to_host(const LazyBufferPtr& x);

/// Runs a schedule and consumes it.
void run_schedule(std::vector<ScheduleItem> items);

/// Called with every schedule before it runs; throws to refuse it. Null (the default) for none.
using ScheduleGate = void (*)(std::span<const ScheduleItem> items);
void set_schedule_gate(ScheduleGate gate);

namespace lazy {

/// Returns x on a readable device: the first of several; CPU for a device of an MPI rank
/// ("CLANG@1"), since every rank has one.
LazyBufferPtr at_hand(const LazyBufferPtr& x);

/// Computes x for the host: its elements in row-major order, null if there are none. A jit that
/// captures compares them at each replay.
BufferPtr host_values(const LazyBufferPtr& x);

/// Runs and logs one step on `device`: writes buffers[0], reads the others, one per input. Returns
/// the seconds of a kernel, else 0.
double run_step(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers);

}  // namespace lazy

}  // namespace touchstone
