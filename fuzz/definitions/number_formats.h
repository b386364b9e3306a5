#pragma once

#include <cstdint>

#include <mpfr.h>

#include "touchstone/dtype/dtype.h"

/// Numbers and the formats they are kept in, from the facts of dtype_table alone: nothing here is
/// shared with lib/dtype's conversions or the interpreter.
namespace touchstone::fuzz::definition {

__extension__ using Wide = __int128;

/// A number of MPFR. kExact bits hold any sum of products of doubles of one element.
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

/// The number in a format, ties to even; what is too large is infinity, or the largest number of a
/// format without one. The first one leaves x rounded, too.
double rounded(Number& x, DType to);
double rounded(double value, DType to);

/// An integer in a type, modulo 2^bits, and the ends of a type.
Wide wrapped(Wide value, DType to);
Wide least(DType type);
Wide most(DType type);

/// The number with these bits, and the bits of a number, rounded once where it needs more digits.
double float_of_bits(DType dtype, std::uint64_t bits);
std::uint64_t bits_of_float(DType dtype, double value);

}  // namespace touchstone::fuzz::definition
