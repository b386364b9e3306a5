#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/device/program.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/interp/oracle/sample.h"
#include "touchstone/interp/oracle/subkernel.h"

// The values of a kernel as real numbers: sums and products are not rounded; casts to narrower
// types, which are part of the kernel, are. Also the kernel's values under a few hypotheses about a
// device.

namespace touchstone::interp {

/// Usually, sums of fewer terms have no `Partials`.
inline constexpr std::int64_t kLeastPartials = 64;

/// A hypothesis about a device's treatment of a kernel's operands or sums.
struct Hypothesis {
  enum class Kind : std::uint8_t {
    Exact,
    Missing,    // without some terms of float sums, unless a sum could lose them to rounding
    Rounded,    // operands of sums rounded to `digits` significant bits
    Truncated,  // the same, towards zero
    Nudged,     // the kernel's sum shifted by `SumFacts::bias`
    // Rounded to float16 (11 digits) or bfloat16 (8):
    Weights,       // computed factors of the terms of sums
    Stages,        // these and the sums of products that they come from
    Scores,        // sums of products that reach other sums
    Exponentials,  // results of exp
    Partials,      // sums of products, after each `of` terms in turn
    LastPartials,  // of these only sums that reach no other sum
    AllPartials,   // all sums, likewise
  };
  Kind kind = Kind::Exact;
  int digits = 0;
  int of = -1;                                // Rounded, Truncated: the buffer; -1: all
  MissingTerms missing = {};                  // of all reduced axes as one
  std::int64_t least_terms = kLeastPartials;  // of sums whose partial sums are rounded
  std::string str() const;
};

/// Properties of one sum's terms that bound the errors of summing them.
struct SumFacts {
  double terms = 0;      // number of nonzero terms
  double magnitude = 0;  // sum |v|
  double squares = 0;    // sum v^2
  double largest = 0;    // largest |partial sum| from first to last
  double partials = 0;   // sum of |partial sums|: the largest of first to last, last to first, and
                         // a data-independent order
  double energy = 0;     // sum of (partial sum)^2, the largest likewise, and of v^2
  double bias = 0;       // how far all errors together may lie on one side
};

/// The rounding unit of a sum's partial results, and other one-sided effects.
struct SumRounding {
  double unit = 0;      // u = 2^-p of the accumulator
  double term = 0;      // the unit of the type in which terms are multiplied
  double cut = 0;       // relative change of a term if the profile allows truncated operands
  double absolute = 0;  // loss of one term or partial sum to the type's range
};

/// The evaluated elements in order, with a value of each for every hypothesis. Only finite values
/// are meaningful.
struct Unrounded {
  std::vector<std::int64_t> elements;
  std::vector<std::vector<double>> errors;  // [hypothesis][element] minus exact value; empty at 0
  std::vector<double> exact;                // as near as double is
  // The same before a cast that ends the kernel, if there is one; the faults' errors only for
  // Missing.
  std::vector<double> before_cast;
  std::vector<std::vector<double>> errors_before_cast;
  std::vector<double> candidate;  // output minus exact value
  std::vector<SumFacts> facts;    // if the kernel is one sum with arithmetic on it, else empty
};

/// Evaluates elements of a program for comparison with `output`. hypotheses[0] is Exact.
/// Throws AstError if a node is not a function of real numbers (bits of floats, random bits).
Unrounded evaluate_unrounded(const KernelProgram& program, std::span<Buffer* const> buffers,
                             const Buffer& output, std::span<const ElementRun> runs,
                             std::span<const Hypothesis> hypotheses, const SumRounding& rounding);

/// Evaluations take at most so many hypotheses.
inline constexpr std::size_t kMostHypotheses = 24;

/// The only float sum of region 0 if it is followed only by arithmetic; else null.
const ProgramNode* only_sum(const KernelProgram& program);

/// The terms of `sum`, the only one of region 0, for some of its results; exact if doubles
/// represent them, as for products of floats of at most 24 digits.
std::vector<std::vector<double>> exact_terms(const KernelProgram& program, const ProgramNode& sum,
                                             std::span<Buffer* const> buffers,
                                             std::span<const std::int64_t> elements);

/// bfloat16 or float16 if nine tenths of the elements have the errors of float sums whose terms are
/// added in their order in that type. Reads up to 1,024 elements. Throws as `evaluate_unrounded`.
std::optional<DType> type_of_sums_in_turn(const KernelProgram& program,
                                          std::span<Buffer* const> buffers, const Buffer& output);

}  // namespace touchstone::interp
