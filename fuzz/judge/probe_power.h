#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/fuzz/judge/probe.h"
#include "touchstone/interp/oracle/profile.h"

namespace touchstone::fuzz {

/// A fault that a backend might have in this kernel, as a kernel: what the reference gives for that
/// is what the backend would give.
struct PlannedFault {
  std::string where;  // "%6 = EXP2", or what is done instead
  /// The kernel with the fault: off by `ulp` units in the last place, up or down, where the fault
  /// has a size, else once for all.
  std::function<LazyOpPtr(std::int64_t ulp)> plant;
  bool has_size = false;
  std::int64_t most = 1;  // the largest size that is tried
  Op op = Op::Noop;       // at which it lies
};

/// The same kernel on fewer outputs, its first ones along axes that are not reduced, where it is
/// large: what a fault does to these it does to all. Each such axis keeps at least 12.
LazyOpPtr part_of(const LazyOpPtr& kernel);

/// For each node that computes floats: its results off by so many ULP; and DIV as a product with
/// the reciprocal, variances as a difference of means, the last term of a reduce left out, inputs
/// rounded to bfloat16. Nodes are numbered as in kernel.json.
std::vector<PlannedFault> planned_faults(const LazyOpPtr& kernel);

/// Whether, and from which size on, each probe would show a fault. 0: not at any size that was
/// tried; nullopt: not worked out.
struct FaultPower {
  PlannedFault fault;
  std::vector<std::optional<std::int64_t>> least;  // by probe
  bool differs = false;  // on some probe it gives other bits than the reference
  /// The probe that shows the smallest; nullopt where none shows it.
  std::optional<std::size_t> best() const;
};

/// Plants each fault in part_of(kernel) on the reference and judges what it gives on each probe: a
/// prediction that is a measurement. Stops when `go_on` says false, or where it is interrupted
/// then; what is left is nullopt.
std::vector<FaultPower> probe_power(
    const LazyOpPtr& kernel, const std::vector<Probe>& probes, const Profile& profile,
    const std::function<bool()>& go_on = [] { return true; });

}  // namespace touchstone::fuzz
