#include "touchstone/symbolic/number/congruence.h"

namespace touchstone::symbolic {

namespace {

/// x with a*x = gcd(a, m) (mod m); m >= 1.
Int inverse(Int a, const Int& m) {
  Int r = m, x = 0, next = 1;
  a = floor_mod(a, m);
  while (!a.is_zero()) {
    const Int q = floor_div(r, a);
    const Int rest = r - q * a, before = x - q * next;
    r = std::move(a);
    a = rest;
    x = std::move(next);
    next = before;
  }
  return floor_mod(x, m);
}

}  // namespace

Congruence Congruence::of(const Int& modulus, const Int& residue) {
  if (modulus.is_zero()) return point(residue);
  const Int m = abs(modulus);
  return {m, floor_mod(residue, m)};
}

bool Congruence::contains(const Int& x) const {
  return modulus.is_zero() ? x == residue : floor_mod(x, modulus) == residue;
}

Congruence operator+(const Congruence& a, const Congruence& b) {
  return Congruence::of(gcd(a.modulus, b.modulus), a.residue + b.residue);
}

Congruence operator*(const Congruence& a, const Int& factor) {
  return Congruence::of(a.modulus * factor, a.residue * factor);
}

Congruence operator*(const Congruence& a, const Congruence& b) {
  const Int g = gcd(gcd(a.modulus * b.modulus, a.modulus * b.residue), b.modulus * a.residue);
  return Congruence::of(g, a.residue * b.residue);
}

Congruence floor_div(const Congruence& a, const Int& d) {
  if (!divides(d, a.modulus)) return {};
  return Congruence::of(floor_div(a.modulus, d), floor_div(a.residue, d));
}

Congruence floor_mod(const Congruence& a, const Int& d) {
  // Either all members have one remainder, or only a common factor remains known.
  if (divides(d, a.modulus)) return Congruence::point(floor_mod(a.residue, d));
  return Congruence::of(gcd(a.modulus, d), a.residue);
}

Congruence floor_mod(const Congruence& a, const Congruence& d) {
  if (d.modulus.is_zero() && d.residue.sign() > 0) return floor_mod(a, d.residue);
  return Congruence::of(gcd(gcd(a.modulus, d.modulus), d.residue), a.residue);
}

Congruence hull(const Congruence& a, const Congruence& b) {
  return Congruence::of(gcd(gcd(a.modulus, b.modulus), a.residue - b.residue), a.residue);
}

std::optional<Congruence> meet(const Congruence& a, const Congruence& b) {
  if (a.is_trivial() || a == b) return b;
  if (b.is_trivial()) return a;
  if (a.modulus.is_zero()) return b.contains(a.residue) ? std::optional(a) : std::nullopt;
  if (b.modulus.is_zero()) return meet(b, a);
  const Int g = gcd(a.modulus, b.modulus);
  const Int gap = b.residue - a.residue;
  if (!divides(g, gap)) return std::nullopt;
  const Int turn = floor_div(b.modulus, g);  // period of t with a.residue + a.modulus*t in b
  const Int t = floor_mod(floor_div(gap, g) * inverse(floor_div(a.modulus, g), turn), turn);
  return Congruence::of(a.modulus * turn, a.residue + a.modulus * t);
}

std::optional<Congruence> solved(const Int& factor, const Int& constant, const Int& modulus) {
  const Int g = gcd(factor, modulus);
  if (g.is_zero()) return constant.is_zero() ? std::optional(Congruence()) : std::nullopt;
  if (!divides(g, constant)) return std::nullopt;
  const Int m = floor_div(abs(modulus), g);
  if (m.is_zero()) return Congruence::point(floor_div(-constant, factor));
  return Congruence::of(m, floor_div(-constant, g) * inverse(floor_div(factor, g), m));
}

std::optional<Interval> trimmed(const Interval& range, const Congruence& c) {
  if (c.is_trivial()) return range;
  Interval r = range;
  if (c.modulus.is_zero()) {
    if ((r.lo && c.residue < *r.lo) || (r.hi && *r.hi < c.residue)) return std::nullopt;
    return Interval::point(c.residue);
  }
  if (r.lo) *r.lo += floor_mod(c.residue - *r.lo, c.modulus);
  if (r.hi) *r.hi -= floor_mod(*r.hi - c.residue, c.modulus);
  if (r.lo && r.hi && *r.hi < *r.lo) return std::nullopt;
  return r;
}

}  // namespace touchstone::symbolic
