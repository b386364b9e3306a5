#include "touchstone/interp/device/series.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace touchstone::interp {

namespace {

// Each step of a series rounds by less than a unit, and there are fewer than 2^12 steps.
constexpr unsigned kGuard = 16;

// x with `bits` bits after the point, rounded down.
cpp_int at_bits(const Dyadic& x, unsigned bits) {
  const int shift = x.exponent + static_cast<int>(bits);
  if (shift >= 0) return x.mantissa << shift;
  const cpp_int unit = cpp_int(1) << -shift;
  cpp_int q = x.mantissa / unit;
  if (x.mantissa < 0 && q * unit != x.mantissa) --q;
  return q;
}

// The sum of (+-1)^k / ((2k + 1) n^(2k + 1)): atan(1/n), atanh(1/n).
cpp_int inverse_series(unsigned n, unsigned bits, bool alternating) {
  cpp_int power = (cpp_int(1) << bits) / n, sum = power;
  for (unsigned k = 1; power != 0; ++k) {
    power /= n * n;
    const cpp_int term = power / (2 * k + 1);
    if (alternating && k % 2 == 1)
      sum -= term;
    else
      sum += term;
  }
  return sum;
}

// Machin 1706.
cpp_int pi_at(unsigned bits) {
  const unsigned more = bits + kGuard;
  return (16 * inverse_series(5, more, true) - 4 * inverse_series(239, more, true)) >> kGuard;
}

// log 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749).
cpp_int log_of_two_at(unsigned bits) {
  const unsigned more = bits + kGuard;
  return (18 * inverse_series(26, more, false) - 2 * inverse_series(4801, more, false) +
          8 * inverse_series(8749, more, false)) >>
         kGuard;
}

// The sum of x^k / k! over k = first, first + step, ..., with every second term negated if
// `alternating`; 0 <= x < 2.
cpp_int power_series(const cpp_int& x, unsigned bits, unsigned first, unsigned step,
                     bool alternating) {
  cpp_int term = first == 0 ? cpp_int(cpp_int(1) << bits) : x, sum = term;
  bool minus = false;
  for (unsigned k = first + 1; term != 0; k += step) {
    for (unsigned i = 0; i < step; ++i) term = ((term * x) >> bits) / (k + i);
    minus = alternating && !minus;
    if (minus)
      sum -= term;
    else
      sum += term;
  }
  return sum;
}

// The leading 64 bits of |x * 2^scale| if certain; x is irrational.
std::optional<UnpackedReal> leading_bits(const Fixed& x, int scale) {
  const cpp_int size = abs(x.digits), lost = cpp_int(1) << kLost;
  if (size <= lost) return std::nullopt;
  const cpp_int low = size - lost, high = size + lost;
  const auto top = static_cast<int>(msb(low));
  if (top < 64 || static_cast<int>(msb(high)) != top) return std::nullopt;
  const int shift = top - 63;
  const cpp_int mantissa = low >> shift;
  if (mantissa != high >> shift) return std::nullopt;
  UnpackedReal r;
  r.negative = x.digits < 0;
  r.mantissa = static_cast<std::uint64_t>(mantissa);
  r.exponent = shift - static_cast<int>(x.bits) + scale;
  r.sticky = true;
  return r;
}

template <class F>
UnpackedReal certain(F function, int scale) {
  for (unsigned bits = 192;; bits *= 2)
    if (const auto r = leading_bits(function(bits), scale)) return *r;
}

UnpackedReal whole(std::int64_t value) {
  UnpackedReal r;
  r.negative = value < 0;
  r.mantissa = static_cast<std::uint64_t>(value < 0 ? -value : value);
  if (r.mantissa == 0) return r;
  const int shift = std::countl_zero(r.mantissa);
  r.mantissa <<= shift;
  r.exponent = -shift;
  return r;
}

}  // namespace

Dyadic Dyadic::of(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return {cpp_int(static_cast<std::int64_t>(std::ldexp(fraction, 53))), exponent - 53};
}

cpp_int floor_of(const Dyadic& x) { return at_bits(x, 0); }

Fixed series_exp2_fraction(const Dyadic& x, unsigned bits) {
  const cpp_int fraction = at_bits(x, bits) - (floor_of(x) << bits);
  const cpp_int y = (fraction * log_of_two_at(bits)) >> bits;
  return {power_series(y, bits, 0, 1, false), bits};
}

// x = 2^e * m with m in [1, 2): log2(x) = e + 2 atanh((m - 1) / (m + 1)) / log 2.
Fixed series_log2(const Dyadic& x, unsigned bits) {
  const int top = static_cast<int>(msb(x.mantissa));
  const cpp_int one = cpp_int(1) << bits, m = at_bits({x.mantissa, -top}, bits);
  const cpp_int z = ((m - one) << bits) / (m + one), square = (z * z) >> bits;
  cpp_int power = z, sum = z;
  for (unsigned k = 3; power != 0; k += 2) {
    power = (power * square) >> bits;
    sum += power / k;
  }
  return {(cpp_int(x.exponent + top) << bits) + ((2 * sum) << bits) / log_of_two_at(bits), bits};
}

Fixed series_sin(const Dyadic& x, unsigned bits) {
  Dyadic size = x;
  if (size.mantissa < 0) size.mantissa = -size.mantissa;
  const int top = size.mantissa == 0 ? 0 : static_cast<int>(msb(size.mantissa)) + size.exponent;
  // As many extra bits of pi as the number of quadrants has.
  const unsigned more = bits + static_cast<unsigned>(std::max(top, 0)) + 8;
  const cpp_int quadrant = pi_at(more) >> 1, y = at_bits(size, more);
  const cpp_int count = y / quadrant;
  const cpp_int rest = (y - count * quadrant) >> (more - bits);
  const auto turn = static_cast<unsigned>(count & 3);
  cpp_int value = power_series(rest, bits, turn % 2 == 0 ? 1 : 0, 2, true);
  if ((turn >= 2) != (x.mantissa < 0)) value = -value;
  return {value, bits};
}

UnpackedReal exact_exp2_by_series(double x) {
  const Dyadic at = Dyadic::of(x);
  const auto scale = static_cast<int>(floor_of(at));
  if (std::floor(x) == x) {
    UnpackedReal r = whole(1);
    r.exponent += scale;
    return r;
  }
  return certain([&](unsigned bits) { return series_exp2_fraction(at, bits); }, scale);
}

UnpackedReal exact_log2_by_series(double x) {
  int exponent = 0;
  if (std::frexp(x, &exponent) == 0.5) return whole(exponent - 1);
  const Dyadic at = Dyadic::of(x);
  return certain([&](unsigned bits) { return series_log2(at, bits); }, 0);
}

UnpackedReal exact_sin_by_series(double x) {
  UnpackedReal zero;
  zero.negative = std::signbit(x);
  if (x == 0) return zero;
  const Dyadic at = Dyadic::of(x);
  return certain([&](unsigned bits) { return series_sin(at, bits); }, 0);
}

}  // namespace touchstone::interp
