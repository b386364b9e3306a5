#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "touchstone/interp/device/scalar_function.h"
#include "touchstone/interp/oracle/ball.h"
#include "touchstone/interp/oracle/legal.h"

// The legal results of a named function: all within an error of its true value, for each operand of
// an interval (docs/oracle.md).

namespace touchstone::interp::legal {

/// An error of `ulp` units in the last place of `unit`, a type with at most the digits of the
/// result's.
struct Slack {
  double ulp;
  DType unit;
};

/// Extends both ends.
template <class T>
Legal<T> widened(const Legal<T>& a, const Slack& slack) {
  if (!a.number || slack.ulp == 0) return a;
  if (slack.unit == dtype_v<T>)
    return widened(a, static_cast<std::int64_t>(std::ceil(std::min(slack.ulp, 0x1p62))));
  const DTypeInfo& unit = info(slack.unit);
  const auto moved = [&](T end, double ulp) {
    const auto v = static_cast<double>(scalar::detail::computing(end));
    if (!std::isfinite(v)) return end;
    const int exponent = std::max(v == 0 ? unit.min_exponent : std::ilogb(v), unit.min_exponent);
    return convert<T>(v + ulp * std::ldexp(1.0, exponent + 1 - unit.digits));
  };
  return Legal<T>::range(moved(a.lo, -slack.ulp), moved(a.hi, slack.ulp), a.nan);
}

/// Clips to the function's range: no implementation returns a number beyond it.
template <class T>
Legal<T> clamped(NamedFunction f, Legal<T> a) {
  const T least = convert<T>(info(f).least), most = convert<T>(info(f).most);
  if (a.number && scalar::cmplt(a.lo, least)) a.lo = least;
  if (a.number && scalar::cmplt(most, a.hi)) a.hi = most;
  return a;
}

/// True if a double with an error in units of a narrower type need not be rounded correctly: its
/// ends enclose the true value by the error that near_function states. exp has exact rows.
inline bool has_near_ends(NamedFunction f, const Slack& slack) {
  return slack.ulp > 0 && slack.unit != DType::Float64 && !info(f).exact && f != NamedFunction::Exp;
}
/// libm's value and its error; nullopt if that is 0, infinite or unknown.
inline std::optional<Legal<double>> near_ends(NamedFunction f, double x, double y) {
  const scalar::Near<double> near = scalar::near_function<double>(f, x, y);
  const double error = std::abs(near.value) * near.error * std::numeric_limits<double>::epsilon();
  if (near.value == 0 || !(std::abs(near.value) + error < std::numeric_limits<double>::infinity()))
    return std::nullopt;
  return Legal<double>::range(near.value - error, near.value + error);
}

/// Extends these ends, in units of the larger.
inline Legal<double> extended(const Legal<double>& ends, const Slack& slack) {
  const DTypeInfo& unit = info(slack.unit);
  const double most = std::max(std::abs(ends.lo), std::abs(ends.hi));
  const double by =
      slack.ulp * std::ldexp(1.0, std::max(std::ilogb(most), unit.min_exponent) + 1 - unit.digits);
  return Legal<double>::range(ends.lo - by, ends.hi + by);
}

/// Finite operands at which the function is infinite; elsewhere such a result is an overflow.
inline bool is_pole(NamedFunction f, double x) {
  if (f == NamedFunction::Atanh) return std::abs(x) == 1;
  return info(f).course == Course::Poles && x <= 0 && x == std::floor(x);
}

/// Legal results at single operands. Zeros and infinities give an exact result if that is 0, 1/2, 1
/// or infinite; at the end of an interval, only if it is 0 or infinite.
template <class T>
Legal<T> function_at(NamedFunction f, T x, T y, const Slack& slack, bool is_end = false) {
  const auto special = [](T v) { return is_zero_value(v) || is_infinite(v); };
  if constexpr (std::is_same_v<T, double>)
    if (has_near_ends(f, slack) && !special(x) && (info(f).arity == 1 || !special(y)))
      if (const auto ends = near_ends(f, x, y)) return clamped(f, extended(*ends, slack));
  const Legal<T> result = Legal<T>::point(scalar::function(f, x, y));
  if (!result.number || info(f).exact) return result;
  const auto size = std::abs(static_cast<double>(scalar::detail::computing(result.lo)));
  const bool plain = size == 0 || is_infinite(result.lo) || (!is_end && (size == 0.5 || size == 1));
  if (is_infinite(result.lo) && is_pole(f, static_cast<double>(scalar::detail::computing(x))))
    return result;
  if (plain && (special(x) || (info(f).arity == 2 && special(y)))) return result;
  if constexpr (sizeof(T) < sizeof(double)) {
    // Beyond twice the largest number, an error of so few ULP cannot lead back to it.
    constexpr DTypeInfo kInfo = info(dtype_v<T>);
    if (is_infinite(result.lo) && slack.ulp < std::ldexp(1.0, kInfo.digits - 2) &&
        std::abs(scalar::function(f, convert<double>(x), convert<double>(y))) >=
            std::ldexp(1.0, kInfo.max_exponent + 2))
      return result;
  }
  return clamped(f, widened(result, slack));
}

/// What the formula of our own devices may give beside the function's own legal results: nullopt
/// where it makes no claim. A NaN of it counts only for functions that no standard defines.
template <class T>
std::optional<Legal<T>> formula_beside(NamedFunction f, const Legal<T>& own, Legal<T> formula) {
  const bool no_claim =
      formula.any || (formula.number && !formula.apart && is_infinite(formula.lo) &&
                      is_infinite(formula.hi) && key_less(formula.lo, formula.hi));
  // Of an infinity the function knows the sign.
  if (no_claim || (own.is_infinity() && !own.apart && formula.apart)) return std::nullopt;
  if (f != NamedFunction::Silu && f != NamedFunction::Gelu && f != NamedFunction::GeluTanh)
    formula.nan = formula.nan && own.nan;
  if (!formula.number && !formula.nan) return std::nullopt;
  return formula;
}

/// The operand clipped to the function's domain; `outside` is set if that removes a part of it.
template <class T>
Legal<T> within_domain(NamedFunction f, Legal<T> a, bool& outside) {
  const T from = convert<T>(info(f).from == 0 ? -0.0F : info(f).from), to = convert<T>(info(f).to);
  if (scalar::cmplt(a.lo, from)) a.lo = from, outside = true;
  if (scalar::cmplt(to, a.hi)) a.hi = to, outside = true;
  return a;
}

template <class T>
requires is_float_storage<T> Legal<T> function_of_two(NamedFunction f, const Legal<T>& a,
                                                      const Legal<T>& b, const Slack& slack) {
  Legal<T> out;
  out.nan = a.nan || b.nan;
  const auto at = [&](T x, T y) { out.include(function_at(f, x, y, slack, true)); };
  if (f == NamedFunction::Hypot) {
    const auto ends = [](const Legal<T>& v) {
      const auto abs = [](T x) { return scalar::cmplt(x, T{}) ? scalar::neg(x) : x; };
      const T lo = abs(v.lo), hi = abs(v.hi);
      const T most = scalar::cmplt(lo, hi) ? hi : lo;
      return std::pair(v.has_zero() ? T{} : scalar::cmplt(lo, hi) ? lo : hi, most);
    };
    at(ends(a).first, ends(b).first);
    at(ends(a).second, ends(b).second);
    return out;
  }
  // Monotone in each operand where the base, or the second coordinate, is positive.
  if (!scalar::cmplt(T{}, f == NamedFunction::Pow ? a.lo : b.lo) || out.nan)
    return Legal<T>::unknown();
  for (const T x : {a.lo, a.hi})
    for (const T y : {b.lo, b.hi}) at(x, y);
  return out;
}

template <class T>
requires is_float_storage<T> Legal<T> function(NamedFunction f, const Legal<T>& a,
                                               const Legal<T>& b, const Slack& slack) {
  const FunctionInfo& row = info(f);
  if (a.any || (row.arity == 2 && b.any)) return Legal<T>::unknown();
  const auto value = [](const Legal<T>& x) {
    return x.number ? x.lo : scalar::detail::quiet_nan<T>();
  };
  if (a.determined() && (row.arity == 1 || b.determined()))
    return function_at(f, value(a), value(b), slack);
  if (row.arity == 2) {
    // One value, or the two zeros.
    const auto few = [](const Legal<T>& x) {
      return x.determined() || (x.number && !x.nan && is_zero_value(x.lo) && is_zero_value(x.hi));
    };
    if (!few(a) || !few(b))
      return a.number && b.number ? function_of_two(f, a, b, slack) : Legal<T>::unknown();
    const auto at = [&](bool first, bool second) {
      return function_at(f, first && a.number ? a.hi : value(a),
                         second && b.number ? b.hi : value(b), slack);
    };
    return Legal<T>::one_of({at(false, false), at(false, true), at(true, false), at(true, true)});
  }
  const bool at_zero = a.is_zero() && (row.course == Course::Poles || f == NamedFunction::Rsqrt);
  if (at_zero || (a.apart && a.is_infinity())) {  // of either sign: no numbers between the two
    Legal<T> out =
        Legal<T>::one_of({function_at(f, a.lo, a.lo, slack), function_at(f, a.hi, a.hi, slack)});
    out.nan = out.nan || a.nan;
    return out;
  }
  bool outside = a.nan;
  const Legal<T> x = within_domain(f, a, outside);
  if (f == NamedFunction::Rsqrt && x.has_zero()) return Legal<T>::unknown();
  if (key_less(x.hi, x.lo)) return Legal<T>::only_nan();
  Legal<T> out;
  out.nan = outside;
  const auto at = [&](T v) { out.include(function_at(f, v, v, slack, true)); };
  const auto real = [](T v) { return static_cast<double>(scalar::detail::computing(v)); };
  const double lo = real(x.lo), hi = real(x.hi);
  bool unknown = false;
  switch (row.course) {
    case Course::Rises:
    case Course::Falls: break;
    case Course::Valley:
      if (lo < row.turn && row.turn < hi) {
        at(convert<T>(row.turn));
        out = widened(out, 1);  // `turn` is rounded
      }
      break;
    case Course::Wave:
      if (hi - lo < 1) {
        const T middle = scalar::function(f, x.lo);
        const double reach = (hi - lo) * (1 + 0x1p-50);  // beside one of `middle` itself
        const T low = from_order_key<T>(order_key(middle) - 1);
        const T high = from_order_key<T>(order_key(middle) + 1);
        out = widened(Legal<T>::range(not_above<T>(ball::below(real(low) - reach)),
                                      not_below<T>(ball::above(real(high) + reach)), outside),
                      slack);
      } else {
        out = Legal<T>::range(convert<T>(-1.0F), convert<T>(1.0F), outside || x.has_infinity());
      }
      break;
    case Course::Poles:  // each rises from here on, up to the first pole
      unknown = !(f == NamedFunction::Tan      ? lo > -1.57 && hi < 1.57
                  : f == NamedFunction::Lgamma ? lo > 1.47
                                               : lo > 0);
      break;
    case Course::OfTwo: break;
  }
  if (unknown) return Legal<T>::unknown();
  if (row.course != Course::Wave) {
    at(x.lo);
    at(x.hi);
  }
  return clamped(f, out);
}

}  // namespace touchstone::interp::legal
