#include "touchstone/uop/linear_kernel.h"

#include <algorithm>

namespace touchstone {

std::string profile_json(const LinearKernel& kernel) {
  const std::string sum = kernel.running_sums == 1
                              ? std::string(R"("sequential")")
                              : fmt::format(R"({{"folded": {}}})", kernel.running_sums);
  return fmt::format(R"({{"name": "{}{}", "base": "glibc", "contracts": {}, "sum": {}, {}}})",
                     kernel.running_sums == 1 ? "in order" : "in lanes",
                     kernel.contract ? ", fused" : "", kernel.contract, sum,
                     profile_members(kernel.math));
}

bool LinearKernel::checks() const {
  return std::ranges::any_of(steps, [](const LinearStep& s) { return s.kind == StepKind::Check; });
}

std::string str(const LinearKernel& kernel) {
  std::string text = kernel.name + "\n";
  std::size_t depth = 0;
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const LinearStep& uop = kernel.steps[i];
    if (uop.kind == StepKind::EndLoop && depth > 0) --depth;
    text += fmt::format("{:>4}  {:{}}{}{}\n", fmt::format("%{}", i), "", 2 * depth, str(uop),
                        static_cast<int>(i) == kernel.split ? "  (split)" : "");
    if (uop.kind == StepKind::Loop) ++depth;
  }
  return text;
}

}  // namespace touchstone
