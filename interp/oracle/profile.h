#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"
#include "touchstone/dtype/float8.h"
#include "touchstone/ops/function.h"

namespace touchstone {

/// The maximal error of a function's result: `ulp` units in the last place of the result, plus
/// `ulp_per_x` for each unit of |argument|.
struct FunctionError {
  double ulp = 0;
  double ulp_per_x = 0;
  bool operator==(const FunctionError&) const = default;
};

/// A column of function_table.
constexpr std::array<FunctionError, kFunctionCount> errors_of(double FunctionInfo::*column) {
  std::array<FunctionError, kFunctionCount> errors;
  for (std::size_t i = 0; i < kFunctionCount; ++i) errors[i].ulp = function_table[i].*column;
  return errors;
}

/// The MAX of a NaN and a number.
enum class MaxOfNan : std::uint8_t {
  NanWins,     // NaN, like IEEE 754-2019's maximum
  NumberWins,  // the number, like maxNum and C's fmax
  Either,
};

/// The order of a float sum. With h additions on the longest path from a term to the result, the
/// error is at most hu/(1 - hu) * sum|v|.
enum class SumOrder : std::uint8_t {
  Any,       // every tree, every order: h = n - 1
  Pairwise,  // a balanced tree over runs of `block` terms, each in any order
  Lanes,     // `block` running sums, each over every block-th term, combined in any order
  Halves,    // recursively, the lower half first, down to `block` terms in order: one legal result
  Numpy,     // NumPy's, by rows of the last axes: halves, down to 128 terms in 8 lanes; likewise
  Folded,    // lanes, each in order, then halved: the upper half is added to the lower
  Sequential,  // first to last: one legal result
  Exact,       // exact, rounded once, like the reference: one legal result
};

/// The element of a GATHER for a position out of range.
enum class Outside : std::uint8_t {
  Zero,      // 0, as in docs/semantics.md
  Clamps,    // from the first or the last row; 0 if there is none
  Anything,  // no claim
};

/// The arithmetic declared by a candidate device; everything else follows docs/semantics.md. The
/// default matches a C compiler with glibc.
struct Profile {
  std::string name = "glibc";
  FunctionError exp2{1, 0}, log2{1, 0}, sin{1, 0}, sqrt, recip, div;
  /// Of each NamedFunction, in units of its type, of float32 for narrower types.
  std::array<FunctionError, kFunctionCount> functions = errors_of(&FunctionInfo::glibc);
  /// SIN and cos keep their error bounds for |x| <= this; there is no claim beyond.
  double sin_domain = std::numeric_limits<double>::infinity();
  /// Additional absolute error of SIN and cos; then there is no claim about tan.
  double sin_absolute = 0;
  bool flushes_inputs = false;   // a subnormal operand may count as zero
  bool flushes_outputs = false;  // a subnormal result may be zero
  bool contracts = true;         // a product that is added or summed may stay unrounded
  bool reassociates = false;     // sums, products and quotients of an expression may be rearranged
  bool finite_only = false;      // no claim if an operand or a result is NaN or infinite
  bool zeros_alike = false;      // a zero may have either sign
  MaxOfNan max = MaxOfNan::NanWins;
  bool casts_saturate = true;  // else a float outside an integer's range gives anything
  SumOrder order = SumOrder::Any;
  std::int64_t block = 1;  // of Pairwise and Halves, 128 of Numpy; the number of Lanes and Folded
  bool truncates_sums = false;  // additions of a sum may truncate instead of round
  /// Accumulator type of float sums, if narrower than the kernel's.
  std::optional<DType> accumulator;
  /// Significant bits of float sums, if fewer than the accumulator's type has; 0: its own.
  int accumulator_digits = 0;
  /// Significant bits to which float32 operands of summed products may be truncated; 0: all.
  int product_digits = 0;
  /// Floats narrower than this type, float32 or float64, may be computed in it; nullopt: each
  /// operation rounds to its own type. With `excess_each_op` each result is rounded to its own type
  /// at once, else it may stay wide until it is stored or cast to a narrower type.
  std::optional<DType> excess;
  bool excess_each_op = false;
  Float8Overflow float8 = Float8Overflow::AsDefined;
  Outside outside = Outside::Zero;
  /// The forms in which named composites may be computed (docs/define.md); empty: the usual ones.
  std::vector<std::string> forms;
  /// The types to which stages of composites are rounded, by the stages' names.
  std::vector<std::pair<std::string, DType>> stores;

  /// If set, a candidate also fails if the errors of at least kStatistics elements with an
  /// interval, in half widths, have a mean further from 0 or a larger variance.
  std::optional<double> most_mean, most_variance;

  FunctionError& error_of(NamedFunction f) { return functions[static_cast<std::size_t>(f)]; }
  const FunctionError& error_of(NamedFunction f) const {
    return functions[static_cast<std::size_t>(f)];
  }
  /// True if the declared error is below glibc's: then it is the whole claim, and the formula of
  /// our own devices does not count.
  bool is_sharp(NamedFunction f) const { return error_of(f).ulp < info(f).glibc; }
  /// True if only results of functions and sums may differ from the reference's.
  bool exact_elsewhere() const {
    return !flushes_inputs && !flushes_outputs && !finite_only && !zeros_alike &&
           max == MaxOfNan::NanWins && casts_saturate && product_digits == 0;
  }
  bool operator==(const Profile&) const = default;

  /// One of `builtin_profiles()`. Throws ParseError that lists their names.
  static Profile named(std::string_view name);
  /// {"name": "mine", "base": "cuda", "ulp": {"exp2": 2, "div": [2.5, 0]}, "flush": "both", "max":
  /// "either", "sum": {"lanes": 32}, ...}: missing members are taken from `base`, by default
  /// "glibc" (docs/oracle.md). Throws ParseError that names the member.
  static Profile from_json(std::string_view text);
  std::string to_json() const;
};

std::span<const Profile> builtin_profiles();

}  // namespace touchstone
