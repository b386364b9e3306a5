#pragma once

#include <string>
#include <vector>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/linear_step.h"
#include "touchstone/uop/math_level.h"

namespace touchstone {

/// One kernel as straight-line code with loops: what a renderer reads.
struct LinearKernel {
  std::string name;                    // an identifier, as kernel_name gives it
  std::vector<LinearStep> uops;        // operands before users
  std::vector<BufferSpec> buffers;     // output first
  std::vector<std::string> variables;  // int64 parameters, in the order they are passed
  /// The loop whose iterations may run apart from one another, in any order and at the same time:
  /// the outermost loop over the output; -1 where there is none.
  int split = -1;
  /// Of each float sum: how many running sums share its terms, sum i those at i, i + running_sums,
  /// ... of its innermost axis; then the upper half is folded onto the lower one down to one.
  std::int64_t running_sums = 1;
  MathLevel math = MathLevel::Library;  // of its EXP2, LOG2 and SIN where C is written for clang
  bool contract = false;                // there are sums whose products are not rounded: MULACC
  bool past_cache = false;              // the output is too large to be found in a cache later

  /// Numbers of buffers, from 0 to the largest.
  std::size_t places() const {
    return buffers.empty() ? 0 : static_cast<std::size_t>(buffers.back().idx) + 1;
  }
  /// Whether there is a Check in it.
  bool checks() const;
  bool operator==(const LinearKernel&) const = default;
};

/// One step a line, numbered, indented by loop.
std::string str(const LinearKernel& kernel);

/// What the kernel declares of its arithmetic, as the JSON of a profile (interp/oracle/profile.h).
std::string profile_json(const LinearKernel& kernel);

/// Checks that operands stand before their users and are of the right kind and dtype, that loops
/// nest and end, that no value is used outside the loop it was computed in, and that buffers and
/// variables are declared. Throws AstError naming the step and what is wrong with it.
void verify(const LinearKernel& kernel);

}  // namespace touchstone
