#include "touchstone/symbolic/number/interval.h"

#include <initializer_list>

#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

/// A bound in a product: an absent end is infinity with a sign.
struct Extended {
  int infinite;  // -1, 0 or 1
  Int value;
};

Extended times(const Extended& a, const Extended& b) {
  const int sa = a.infinite ? a.infinite : a.value.sign();
  const int sb = b.infinite ? b.infinite : b.value.sign();
  if (sa == 0 || sb == 0) return {0, 0};
  if (a.infinite || b.infinite) return {sa * sb, 0};
  return {0, a.value * b.value};
}

bool below(const Extended& a, const Extended& b) {
  if (a.infinite != b.infinite) return a.infinite < b.infinite;
  return a.infinite == 0 && a.value < b.value;
}

Extended low(const Interval& a) { return a.lo ? Extended{0, *a.lo} : Extended{-1, 0}; }
Extended high(const Interval& a) { return a.hi ? Extended{0, *a.hi} : Extended{1, 0}; }

End finite(const Extended& a) { return a.infinite ? End() : End(a.value); }

Interval spanning(std::initializer_list<Extended> corners) {
  Extended lo = *corners.begin(), hi = lo;
  for (const Extended& c : corners) {
    if (below(c, lo)) lo = c;
    if (below(hi, c)) hi = c;
  }
  return {finite(lo), finite(hi)};
}

/// Floor quotient of two ends of fixed sign; an infinite divisor gives 0 or -1.
Extended over(const Extended& a, const Extended& d) {
  const int sd = d.infinite ? d.infinite : d.value.sign();
  if (a.infinite)
    return d.infinite ? Extended{0, a.infinite * sd < 0 ? -1 : 0} : Extended{a.infinite * sd, 0};
  if (d.infinite) return {0, a.value.sign() * sd < 0 ? -1 : 0};
  return {0, floor_div(a.value, d.value)};
}

}  // namespace

void End::add_large_product(const End& a, const Int& factor) { *this = *this + a * factor; }

Interval operator*(const Interval& a, const Interval& b) {
  if (b.is_point()) return a * *b.lo;
  if (a.is_point()) return b * *a.lo;
  if (a.at_least(0) && b.at_least(0))
    return {*a.lo * *b.lo, a.hi && b.hi ? End(*a.hi * *b.hi) : End()};
  return spanning({times(low(a), low(b)), times(low(a), high(b)), times(high(a), low(b)),
                   times(high(a), high(b))});
}

Interval floor_div(const Interval& a, const Int& d) {
  Interval r;
  if (a.lo) r.lo = floor_div(*a.lo, d);
  if (a.hi) r.hi = floor_div(*a.hi, d);
  return r;
}

Interval floor_div(const Interval& a, const Interval& d) {
  std::optional<Interval> r;
  const auto corners = [&](const Extended& from, const Extended& to) {
    const Interval part =
        spanning({over(low(a), from), over(low(a), to), over(high(a), from), over(high(a), to)});
    r = r ? hull(*r, part) : part;
  };
  // For divisors of one sign the quotient is monotone in each argument, so corners bound it.
  if (!d.hi || d.hi->sign() > 0)
    corners(d.lo && d.lo->sign() > 0 ? Extended{0, *d.lo} : Extended{0, 1}, high(d));
  if (!d.lo || d.lo->sign() < 0)
    corners(low(d), d.hi && d.hi->sign() < 0 ? Extended{0, *d.hi} : Extended{0, -1});
  return r.value_or(Interval());
}

Interval floor_mod(const Interval& a, const Int& d) {
  if (a.lo && a.hi) {
    const Int q = floor_div(*a.lo, d);
    if (q == floor_div(*a.hi, d)) return {*a.lo - q * d, *a.hi - q * d};
  }
  return {Int(0), d - 1};
}

Interval floor_mod(const Interval& a, const Interval& d) {
  std::optional<Interval> parts;
  if (d.lo && d.hi && *d.hi - *d.lo < Int(kLimits.listed_divisors))
    for (Int y = *d.lo; y <= *d.hi; y += 1) {
      if (y.is_zero()) continue;
      const Interval part = y.sign() > 0 ? floor_mod(a, y) : floor_mod(a * Int(-1), -y) * Int(-1);
      parts = parts ? hull(*parts, part) : part;
    }
  if (parts) return *parts;
  Interval r{Int(0), Int(0)};
  if (!d.hi || d.hi->sign() > 0) r.hi = d.hi ? End(*d.hi - 1) : End();
  if (!d.lo || d.lo->sign() < 0) r.lo = d.lo ? End(*d.lo + 1) : End();
  if (d.at_least(0) && a.at_least(0) && a.hi && (!r.hi || *a.hi < *r.hi)) r.hi = a.hi;
  return r;
}

namespace {

/// Bounds of C's division from `part`, floor's, of the absolute values in each case of signs;
/// `turns` is true if a negative divisor turns the result's sign.
template <class Part>
Interval by_signs(const Interval& a, const Interval& d, bool turns, const Part& part) {
  std::optional<Interval> r;
  for (const int left : {1, -1})
    for (const int right : {1, -1}) {
      const Interval x = a * Int(left), y = d * Int(right);
      if (x.at_most(-1) || y.at_most(0)) continue;
      const Interval own = part(meet(x, {Int(0), End()}), meet(y, {Int(1), End()})) *
                           Int(turns ? left * right : left);
      r = r ? hull(*r, own) : own;
    }
  return r.value_or(Interval());
}

}  // namespace

Interval trunc_div(const Interval& a, const Interval& d) {
  return by_signs(a, d, true, [](const Interval& x, const Interval& y) { return floor_div(x, y); });
}

Interval trunc_mod(const Interval& a, const Interval& d) {
  return by_signs(a, d, false,
                  [](const Interval& x, const Interval& y) { return floor_mod(x, y); });
}

bool Interval::narrow(const Int& coef, const Int& most) {
  const bool above = coef.sign() > 0;
  Int end = above ? floor_div(most, coef) : -floor_div(most, -coef);
  if (above ? at_most(end) : at_least(end)) return false;
  (above ? hi : lo) = std::move(end);
  return true;
}

Interval hull(const Interval& a, const Interval& b) {
  Interval r;
  if (a.lo && b.lo) r.lo = smaller(*a.lo, *b.lo);
  if (a.hi && b.hi) r.hi = larger(*a.hi, *b.hi);
  return r;
}

Interval meet(const Interval& a, const Interval& b) {
  Interval r = a;
  if (b.lo && (!r.lo || *r.lo < *b.lo)) r.lo = b.lo;
  if (b.hi && (!r.hi || *b.hi < *r.hi)) r.hi = b.hi;
  if (r.lo && r.hi && *r.hi < *r.lo) return a;
  return r;
}

Interval larger(const Interval& a, const Interval& b) {
  Interval r;
  if (a.lo && b.lo) r.lo = larger(*a.lo, *b.lo);
  if (!r.lo) r.lo = a.lo ? a.lo : b.lo;
  if (a.hi && b.hi) r.hi = larger(*a.hi, *b.hi);
  return r;
}

}  // namespace touchstone::symbolic
