#pragma once

#include <cstdint>

#include <mpfr.h>

#include "touchstone/dtype/dtype.h"
#include "touchstone/ops/function.h"

// Numbers and their formats, derived from dtype_table alone; shares nothing with lib/dtype's
// conversions or the interpreter.
namespace touchstone::fuzz::definition {

__extension__ using Wide = __int128;

/// An MPFR number. kExact bits hold any sum of products of one element's doubles.
class Number {
 public:
  static constexpr mpfr_prec_t kExact = 2300, kFunction = 400;
  explicit Number(double value = 0, mpfr_prec_t digits = kExact) {
    mpfr_init2(value_, digits);
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

/// False for a function that MPFR has neither itself nor by a formula without cancellation.
bool has_value(NamedFunction function);
/// The function's value at x, or at x and y, in Number::kFunction bits; x is replaced by it.
void apply(NamedFunction function, Number& x, Number& y);

/// The number rounded to a format, ties to even; overflow gives infinity, or the largest number if
/// the format has none. The first overload also rounds x.
double rounded(Number& x, DType to);
double rounded(double value, DType to);

/// An integer modulo 2^bits of a type; the least and the largest number of a type.
Wide wrapped(Wide value, DType to);
Wide least(DType type);
Wide most(DType type);

/// The number with these bits; the bits of a number, rounded once if needed.
double float_of_bits(DType dtype, std::uint64_t bits);
std::uint64_t bits_of_float(DType dtype, double value);

}  // namespace touchstone::fuzz::definition
