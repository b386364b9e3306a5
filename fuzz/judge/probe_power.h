#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/fuzz/judge/probe.h"
#include "touchstone/interp/oracle/profile.h"

namespace touchstone::fuzz {

/// A possible backend fault in this kernel, expressed as a kernel whose reference result is the
/// faulty backend's.
struct PlannedFault {
  std::string where;  // "%6 = EXP2", or the replacement
  /// The kernel with the fault: off by `ulp` units in the last place, up or down, if the fault has
  /// a size; otherwise `ulp` is ignored.
  std::function<LazyOpPtr(std::int64_t ulp)> plant;
  bool has_size = false;
  std::int64_t most = 1;  // the largest size tried
  Op op = Op::Noop;       // the op at fault
};

/// A large kernel on fewer outputs, the first ones along axes that are not reduced; a fault there
/// affects all outputs alike. Each such axis keeps at least 12.
LazyOpPtr part_of(const LazyOpPtr& kernel);

/// For each node that computes floats: its results off by some ULP; also DIV as a product with the
/// reciprocal, variances as a difference of means, the last term of a reduce left out, inputs
/// rounded to bfloat16. Nodes are numbered as in kernel.json.
std::vector<PlannedFault> planned_faults(const LazyOpPtr& kernel);

/// The smallest size of a fault that each probe shows. 0: none of the sizes tried; nullopt: not
/// computed.
struct FaultPower {
  PlannedFault fault;
  std::vector<std::optional<std::int64_t>> least;  // by probe
  bool differs = false;                            // some probe gives other bits than the reference
  /// The probe that shows the smallest size; nullopt if none does.
  std::optional<std::size_t> best() const;
};

/// Measures each fault: plants it in part_of(kernel) on the reference and judges the result on each
/// probe. Stops when `go_on` returns false or is interrupted; the rest stays nullopt.
std::vector<FaultPower> probe_power(
    const LazyOpPtr& kernel, const std::vector<Probe>& probes, const Profile& profile,
    const std::function<bool()>& go_on = [] { return true; });

}  // namespace touchstone::fuzz
