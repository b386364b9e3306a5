#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/dtype/dtype.h"
#include "touchstone/dtype/float8.h"

namespace touchstone {

/// How far a function's result may lie from the true value: `ulp` units in the last place of the
/// result, and `ulp_per_x` more for each unit of |argument|.
struct FunctionError {
  double ulp = 0;
  double ulp_per_x = 0;
  bool operator==(const FunctionError&) const = default;
};

/// The MAX of a NaN and a number.
enum class MaxOfNan : std::uint8_t {
  NanWins,     // NaN, as IEEE 754-2019's maximum
  NumberWins,  // the number, as maxNum and C's fmax
  Either,
};

/// In which order a float sum is taken. With h additions on the longest way from a term to the
/// result, the error is at most hu/(1 - hu) * sum|v|.
enum class SumOrder : std::uint8_t {
  Any,       // every tree, every order: h = n - 1
  Pairwise,  // a balanced tree over runs of `block` terms, each in any order
  Lanes,     // `block` running sums, each of every block-th term, then those in any order
  Folded,    // lanes, each in turn, then their upper half added to the lower one until one is left
  Sequential,  // first to last, which leaves one answer
  Exact,       // exactly, rounded once, as the reference: one answer
};

/// The element of a GATHER whose position is outside.
enum class Outside : std::uint8_t {
  Zero,      // 0 of the type, as docs/semantics.md has it
  Clamps,    // the first or the last row's; 0 where there is none
  Anything,  // no claim
};

/// The arithmetic that a candidate device declares; everything else is docs/semantics.md.
/// The default is what a C compiler and glibc give.
struct Profile {
  std::string name = "glibc";
  FunctionError exp2{1, 0}, log2{1, 0}, sin{1, 0}, sqrt, recip, div;
  /// SIN keeps to its error for |x| <= this, beyond there is no claim.
  double sin_domain = std::numeric_limits<double>::infinity();
  /// SIN may also be off by this much, whatever its size.
  double sin_absolute = 0;
  bool flushes_inputs = false;   // a subnormal operand may count as zero
  bool flushes_outputs = false;  // a subnormal result may be zero
  bool contracts = true;         // a product that is added or summed may stay unrounded
  bool finite_only = false;      // no claim where NaN or infinity is an operand or a result
  bool zeros_alike = false;      // a zero may have either sign
  MaxOfNan max = MaxOfNan::NanWins;
  bool casts_saturate = true;  // else a float out of an integer's range gives anything
  SumOrder order = SumOrder::Any;
  std::int64_t block = 1;       // of Pairwise; the count of Lanes and Folded
  bool truncates_sums = false;  // an addition of a sum may drop digits instead of rounding
  /// Sums of floats accumulate in this type where it is narrower than the kernel's.
  std::optional<DType> accumulator;
  /// Significant bits to which float32 operands of products that are summed may be cut; 0: all.
  int product_digits = 0;
  /// Floats narrower than this type, float32 or float64, may be computed in it; nothing: each
  /// operation rounds to its own type. `excess_each_op`: the result is rounded to its own type at
  /// once, else it may stay in the wider one until it is stored or cast to a narrower type.
  std::optional<DType> excess;
  bool excess_each_op = false;
  Float8Overflow float8 = Float8Overflow::AsDefined;
  Outside outside = Outside::Zero;

  /// Where set, a candidate also fails whose errors over at least kStatistics elements with an
  /// interval have a mean, in half widths of it, further from 0, or a larger variance.
  std::optional<double> most_mean, most_variance;

  /// No result but those of functions and sums differs from the reference's.
  bool exact_elsewhere() const {
    return !flushes_inputs && !flushes_outputs && !finite_only && !zeros_alike &&
           max == MaxOfNan::NanWins && casts_saturate && product_digits == 0;
  }
  bool operator==(const Profile&) const = default;

  /// One of `builtin_profiles()`. Throws ParseError that lists their names.
  static Profile named(std::string_view name);
  /// {"name": "mine", "base": "cuda", "ulp": {"exp2": 2, "div": [2.5, 0]}, "flush": "both",
  /// "max": "either", "sum": {"lanes": 32}, ...}: what is left out is as in `base`, else as in
  /// "glibc" (docs/oracle.md). Throws ParseError that names the member.
  static Profile from_json(std::string_view text);
  std::string to_json() const;
};

std::span<const Profile> builtin_profiles();

}  // namespace touchstone
