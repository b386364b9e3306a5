#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/device/program.h"
#include "touchstone/interp/oracle/profile.h"

// The values of a kernel as real numbers: no sum and no product is rounded, and casts to narrower
// types, which are part of what a kernel says, are. Beside them what the kernel would give under
// each of a few hypotheses about a device.

namespace touchstone::interp {

/// A hypothesis about a device: its treatment of a kernel's operands or sums.
struct Hypothesis {
  enum class Kind : std::uint8_t {
    Exact,
    LastMissing,   // the last term of every float sum
    FirstMissing,  // the first
    Rounded,       // the operands of sums, to `digits` significant bits
    Truncated,     // the same, towards zero
    Nudged,        // the kernel's sum, by `SumFacts::bias`
  };
  Kind kind = Kind::Exact;
  int digits = 0;
  std::string str() const;
};

/// The quantities of one sum's terms that bound the errors of summing them.
struct SumFacts {
  double terms = 0;      // those that are not 0
  double magnitude = 0;  // sum |v|
  double squares = 0;    // sum v^2
  double largest = 0;    // the largest |partial sum| from first to last
  double partials = 0;   // sum of |partial sums|: the largest of those from first to last, from
                         // last to first, and what an order has that knows nothing of the values
  double bias = 0;       // how far all errors together may lie on one side
};

/// The type in which a sum's partial results are rounded, and what else moves them one way.
struct SumRounding {
  double unit = 0;      // u = 2^-p of the accumulator
  double term = 0;      // that of the type in which terms are multiplied
  double cut = 0;       // relative change of a term where the profile lets operands be cut
  double absolute = 0;  // lost of one term or partial sum to the type's range
};

/// The elements that were evaluated, in order, and for each hypothesis a value of each. Only what
/// is a finite number says anything.
struct Unrounded {
  std::vector<std::int64_t> elements;
  std::vector<std::vector<double>> errors;  // [hypothesis][element] less the exact value; none at 0
  std::vector<double> exact;                // as near as double is
  std::vector<double> candidate;            // output less exact value
  std::vector<SumFacts> facts;  // where the kernel is one sum and what is done with it, else empty
};

/// Runs of consecutive elements of the output.
struct ElementRun {
  std::int64_t first, last;
};

/// Evaluates elements of a program at which `output` is held against. hypotheses[0] is Exact.
/// Throws AstError where a node is no function of real numbers (bits of floats, random bits).
Unrounded evaluate_unrounded(const Program& program, std::span<Buffer* const> buffers,
                             const Buffer& output, std::span<const ElementRun> runs,
                             std::span<const Hypothesis> hypotheses, const SumRounding& rounding);

/// The node of region 0 that is its one float sum, where what follows it is arithmetic; null: none.
const ProgramNode* only_sum(const Program& program);

/// The terms of `sum`, the only one of region 0, for some of its results; exact where a double
/// holds them, as products of floats of at most 24 digits are.
std::vector<std::vector<double>> exact_terms(const Program& program, const ProgramNode& sum,
                                             std::span<Buffer* const> buffers,
                                             std::span<const std::int64_t> elements);

}  // namespace touchstone::interp
