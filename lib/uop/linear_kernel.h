#pragma once

#include <string>
#include <vector>

#include "touchstone/ops/lazy_op.h"
#include "touchstone/uop/linear_step.h"
#include "touchstone/uop/math_level.h"

namespace touchstone {

/// One kernel as straight-line code with loops: the input of a renderer.
struct LinearKernel {
  std::string name;                    // an identifier, from kernel_name
  std::vector<LinearStep> steps;       // operands before users
  std::vector<BufferSpec> buffers;     // output first
  std::vector<std::string> variables;  // int64 parameters in order
  /// The loop whose iterations are independent and may run in parallel: the outermost output loop;
  /// -1 if there is none.
  int split = -1;
  /// For each float sum, the number of running sums: sum i adds the terms i, i + running_sums, ...
  /// of its innermost axis; at the end the upper half is repeatedly folded onto the lower.
  std::int64_t running_sums = 1;
  MathLevel math = MathLevel::Library;  // of EXP2, LOG2 and SIN in C for clang
  bool contract = false;                // some sums fuse products (MULACC)
  bool past_cache = false;              // the output is too large to stay cached

  /// The number of buffer numbers, from 0 to the largest.
  std::size_t places() const {
    return buffers.empty() ? 0 : static_cast<std::size_t>(buffers.back().idx) + 1;
  }
  /// True if it contains a Check.
  bool checks() const;
  bool operator==(const LinearKernel&) const = default;
};

/// One step per line, numbered, indented by loop.
std::string str(const LinearKernel& kernel);

/// The kernel's declared arithmetic as the JSON of a profile (interp/oracle/profile.h).
std::string profile_json(const LinearKernel& kernel);

/// Checks that operands precede their users and have the right kind and dtype, loops nest and end,
/// values are used only inside their loop, and buffers and variables are declared. Throws AstError
/// naming the step and the fault.
void verify(const LinearKernel& kernel);

}  // namespace touchstone
