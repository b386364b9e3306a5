#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "touchstone/dtype/dtype.h"

// Values of tensor library functions with bounds on their rounding error.
namespace touchstone::fuzz::defined {

__extension__ using Wide = __int128;
__extension__ using WideBits = unsigned __int128;
using Real = long double;  // holds every int64, uint64 and float64

/// A value v, and a bound e on the error of computing it in a low-precision type.
struct Near {
  Real v = 0, e = 0;

  Near() = default;
  Near(Real value) : v(value) {}  // NOLINT(google-explicit-constructor): a number is a number
  Near(Real value, Real error) : v(value), e(error) {}
  bool exact() const { return e == 0; }
};
/// Any value is right, as for integer division by 0.
inline Near anything() { return {0, std::numeric_limits<Real>::infinity()}; }

/// The rounding of a type: while one lives, each operation on Near adds one ULP and the type's
/// least number to the error.
class Rounding {
 public:
  explicit Rounding(DType dtype) : unit_before_(unit), least_before_(least), most_before_(most) {
    if (!is_float(dtype)) return;
    most = dtype == DType::Float8E4M3 ? 448 : std::ldexp(Real{1}, info(dtype).max_exponent + 1);
    unit = std::ldexp(Real{1}, 1 - info(dtype).digits);
    least = std::ldexp(Real{1}, info(dtype).min_exponent - info(dtype).digits + 1);
  }
  ~Rounding() {
    unit = unit_before_;
    least = least_before_;
    most = most_before_;
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

  inline static thread_local Real unit = 0, least = 0, most = std::numeric_limits<Real>::infinity();

 private:
  Real unit_before_, least_before_, most_before_;
};

/// A value after `times` roundings, with an earlier `error`; anything() if it may overflow the
/// type.
inline Near rounded(Real v, Real error = 0, Real times = 1) {
  if (!std::isfinite(v)) return {v, std::isnan(v) || !std::isinf(error) ? 0 : error};
  const Real off = error + times * (Rounding::unit * std::fabs(v) + Rounding::least);
  return std::fabs(v) + off >= Rounding::most ? anything() : Near{v, off};
}

/// True if one of two is anything() and neither is NaN; NaN stays NaN beside anything().
inline bool unknown(const Near& a, const Near& b) {
  return (std::isinf(a.e) || std::isinf(b.e)) && !std::isnan(a.v) && !std::isnan(b.v);
}

inline Near operator+(const Near& a, const Near& b) {
  return unknown(a, b) ? anything() : rounded(a.v + b.v, a.e + b.e);
}
inline Near operator-(const Near& a, const Near& b) {
  return unknown(a, b) ? anything() : rounded(a.v - b.v, a.e + b.e);
}
inline Near operator-(const Near& a) { return {-a.v, a.e}; }
inline Near operator*(const Near& a, const Near& b) {
  if (unknown(a, b)) return anything();
  const auto part = [](Real x, Real y) { return x == 0 || y == 0 ? 0 : x * y; };
  return rounded(a.v * b.v, part(std::fabs(a.v), b.e) + part(a.e, std::fabs(b.v)) + part(a.e, b.e));
}
inline Near operator/(const Near& a, const Near& b) {
  if (unknown(a, b) || (b.e > 0 && std::fabs(b.v) <= 2 * b.e)) return anything();
  const Real v = a.v / b.v;
  if (!std::isfinite(v) || std::isinf(b.v)) return rounded(v);
  return rounded(v, (a.e + std::fabs(v) * b.e) / (std::fabs(b.v) - b.e));
}

/// f of x, for f continuous near x: the error is x's, plus `times` roundings of the result, and of
/// x on the way to it.
template <class F>
Near through(F f, const Near& x, Real times = 4) {
  const Real v = f(x.v);
  if (std::isinf(x.e)) return anything();
  if (!std::isfinite(x.v)) return rounded(v, 0, times);
  if (!std::isfinite(v)) return v;
  const Real off = x.e + times * (Rounding::unit * std::fabs(x.v) + Rounding::least);
  if (std::isinf(off)) return anything();
  Real error = 0;
  const auto look = [&](Real at) {
    const Real side = f(at);
    if (!std::isnan(side)) error = std::max(error, std::fabs(side - v));
  };
  for (const Real part : {Real{1}, Real{0.77L}, Real{0.5L}, Real{0.31L}}) {
    look(x.v - off * part);
    look(x.v + off * part);
    if (off < 0.01L) break;  // f does not oscillate at that scale
  }
  return rounded(v, error, times);
}

inline Near sqrt(const Near& x) {
  if (x.e > 0 && x.v <= x.e && x.v >= -x.e)  // either side of 0
    return {x.v > 0 ? std::sqrt(x.v) : 0, std::sqrt(2 * x.e)};
  return through([](Real v) { return std::sqrt(v); }, x, 1);
}
inline Near exp(const Near& x) {
  return through([](Real v) { return std::exp(v); }, x);
}
inline Near log(const Near& x) {
  return through([](Real v) { return std::log(v); }, x, 2);
}
inline Near tanh(const Near& x) {
  return through([](Real v) { return std::tanh(v); }, x);
}
inline Near sigmoid(const Near& x) {
  Near y = through([](Real v) { return 1 / (1 + std::exp(-v)); }, x);
  if (!std::isnan(y.v)) y.e += 2 / Rounding::most;  // where the exponential overflows
  return y;
}

/// A sum in any order: each rounding is at most one of the sum of the magnitudes.
class Sum {
 public:
  void add(const Near& x) {
    v_ += x.v;
    error_ += x.e;
    size_ += std::fabs(x.v);
    ++count_;
  }
  Near value() const {
    if (std::isinf(error_)) return anything();
    if (!std::isfinite(v_)) return v_;
    if (count_ > 1 && size_ + error_ >= Rounding::most) return anything();
    return {v_ == 0 ? 0 : v_,
            count_ < 2 ? error_ : error_ + count_ * (Rounding::unit * size_ + Rounding::least)};
  }

 private:
  Real v_ = 0, error_ = 0, size_ = 0, count_ = 0;
};

/// The larger, NaN if one is. Carries the errors of both.
inline Near larger(const Near& a, const Near& b) {
  if (std::isnan(a.v)) return a;
  if (std::isnan(b.v)) return b;
  const bool first = a.v > b.v || (a.v == b.v && !std::signbit(a.v));
  return {first ? a.v : b.v, std::max(a.e, b.e)};
}
inline Near smaller_of(const Near& a, const Near& b) { return -larger(-a, -b); }

}  // namespace touchstone::fuzz::defined
