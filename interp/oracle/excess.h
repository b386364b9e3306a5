#pragma once

#include <memory>
#include <optional>
#include <span>

#include "touchstone/interp/oracle/envelope.h"

// Excess precision: floats computed in a wider type than the kernel's, as C compilers do with
// _Float16 (FLT_EVAL_METHOD) and fused framework kernels with float16 and bfloat16.

namespace touchstone::interp {

/// The type in which a device of this profile may compute results of `dtype`; nullopt: `dtype`
/// itself.
std::optional<DType> excess_type(const Profile& profile, DType dtype);

/// The program with floats held in their excess types: loads are cast, results are rounded when
/// stored or cast to a narrow type, and `rounds_to` of a node states the type to which it may, or
/// must, be rounded. A MULACC becomes a MUL and an ADD. 8-bit floats with a non-default overflow
/// mode are computed in float32 and rounded at once.
KernelProgram with_excess(KernelProgram program, const Profile& profile);

/// Adds the results of rounding to node.rounds_to to each result of `out` that is not `done`, or
/// replaces it by them.
void round_results(const ProgramNode& node, const Profile& profile,
                   std::span<const LegalBlock* const> operands, const Done& done, LegalBlock& out);

/// True if rounding to the wide type first may change the result of rounding to the narrow one.
bool rounds_twice(Op op);
/// True for operations of whose results no rounding or error changes the sign: not functions with
/// roots beside 0.
constexpr bool keeps_sign(Op op) { return op != Op::Log2 && op != Op::Sin && op != Op::Function; }

/// Applies round_results to the results of a reduce.
std::unique_ptr<LegalReducer> rounded_reducer(const ProgramNode& node, const Profile& profile,
                                              std::unique_ptr<LegalReducer> inner);

/// True if a CAST may differ from the reference's: through a wider type, or with another overflow
/// mode.
bool casts_openly(const ProgramNode& node, const Profile& profile);

/// x rounded to To, with the profile's overflow mode if To has 8 bits.
template <class To, class From>
requires is_float_storage<To> Legal<To> rounded_as(const Profile& profile, const Legal<From>& x) {
  if constexpr (sizeof(To) == 1 && is_float_storage<From>) {
    if (profile.float8 != Float8Overflow::AsDefined && !x.any) {
      Legal<To> out;
      out.nan = x.nan;
      if (!x.number) return out;
      if (profile.float8 != Float8Overflow::Infinity)
        for (const From end : {x.lo, x.hi}) {
          out.include(convert_to_float8<To>(end, Overflow::Saturate));
          if (is_infinite(end)) out.include(convert_to_float8<To>(end, Overflow::Infinity));
        }
      if (profile.float8 != Float8Overflow::Saturates) {
        // If only one end overflows to NaN, every number between is legal too.
        const To lo = convert_to_float8<To>(x.lo, Overflow::Infinity);
        const To hi = convert_to_float8<To>(x.hi, Overflow::Infinity);
        const bool same_side = key_less(x.lo, From{}) == key_less(x.hi, From{});
        out.nan = out.nan || is_nan_value(lo) || is_nan_value(hi);
        if (!(is_nan_value(lo) && is_nan_value(hi) && same_side)) {
          out.include(is_nan_value(lo) ? convert_to_float8<To>(x.lo, Overflow::Saturate) : lo);
          out.include(is_nan_value(hi) ? convert_to_float8<To>(x.hi, Overflow::Saturate) : hi);
        }
      }
      return out;
    }
  }
  return legal::cast<To>(x);
}

/// The results of a CAST with casts_openly: directly, or through the excess type of To.
template <class To, class From>
requires is_float_storage<To> Legal<To> open_cast(const Profile& profile, const Legal<From>& x) {
  Legal<To> out = rounded_as<To>(profile, x);
  if constexpr (sizeof(To) < sizeof(float) && std::is_same_v<From, double>)  // through float32
    out = Legal<To>::one_of({out, rounded_as<To>(profile, legal::cast<float>(x))});
  if (const auto wide = excess_type(profile, dtype_v<To>))
    with_storage(*wide, [&]<class W>(std::type_identity<W>) {
      if constexpr (is_float_storage<W>)
        out = Legal<To>::one_of({out, rounded_as<To>(profile, legal::cast<W>(x))});
    });
  return out;
}

}  // namespace touchstone::interp
