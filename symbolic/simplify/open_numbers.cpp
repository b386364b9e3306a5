// Splits a number that occurs in a dividend beside its own quotients into digits, so that the
// divisor applies to the digits from before the sum was joined.
#include <algorithm>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

// The factor of x in s; 0 if some term lacks it.
Int factor_in(const Linear& s, const Linear& x) {
  Int factor;
  for (const Term& t : x.terms) {
    const auto own = std::ranges::find(s.terms, t.atom, &Term::atom);
    if (own == s.terms.end() || !divides(t.coef, own->coef)) return 0;
    const Int k = floor_div(own->coef, t.coef);
    if (!factor.is_zero() && k != factor) return 0;
    factor = k;
  }
  return factor;
}

// The absolute value of the residue of k modulo g nearest to 0.
Int nearest(const Int& k, const Int& g) {
  const Int rest = floor_mod(k, g);
  return smaller(rest, g - rest);
}

}  // namespace

// The factor of a place when all places below it become remainders.
Int Simplifier::Number::carried(std::size_t place) const {
  Int factor = places[0].factor;
  for (std::size_t i = 1; i <= place; ++i) factor = factor * ratio(i - 1) + places[i].factor;
  return factor;
}

List<Simplifier::Number> Simplifier::numbers_in(const Linear& before, Linear& s) {
  List<Number> numbers;
  const auto put = [](Number& n, const Int& divisor, const Int& factor, Id atom) {
    const auto at = std::ranges::find(n.places, divisor, &Number::Place::divisor);
    if (at == n.places.end())
      n.places.push_back({divisor, factor, atom});
    else
      at->factor += factor;
  };
  for (const Term& t : before.terms) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::Digit) continue;
    const bool finite = !n.second.is_zero();
    const auto beside = [&](const Term& u) {
      return u.atom != t.atom && c_.kind(u.atom) == NodeKind::Digit &&
             c_[u.atom].args[0] == n.args[0];
    };
    if (finite && std::ranges::none_of(before.terms, beside)) continue;
    auto of = std::ranges::find(numbers, n.args[0], &Number::dividend);
    if (of == numbers.end()) {
      Number number{n.args[0], linear(n.args[0]), {}};
      const Int whole = factor_in(before, number.x);
      if (!whole.is_zero()) number.places.push_back({1, whole, kNoNode});
      numbers.push_back(std::move(number));
      of = numbers.end() - 1;
    }
    if (!finite) {
      put(*of, n.first, t.coef, t.atom);
      continue;
    }
    // k*(x // a % d) is k*(x // a) - k*d*(x // (a*d)).
    const Int k = t.coef, ratio = floor_div(n.second, n.first);
    const Linear low = digit(of->x, n.first, 0), high = digit(of->x, n.second, 0);
    const auto quotient = [&](const Linear& q, const Int& divisor) {
      return divisor.is_one() || (q.terms.size() == 1 && q == atom(q.terms[0].atom));
    };
    if (!quotient(low, n.first) || !quotient(high, n.second)) continue;
    law("digit.merge", "x", of->x, "a", n.first, "d", ratio, "k", k);
    of->digits = true;
    put(*of, n.first, k, n.first.is_one() ? kNoNode : low.terms[0].atom);
    put(*of, n.second, -k * ratio, high.terms[0].atom);
    add(s, t.atom, -k);
    add(s, low, k);
    add(s, high, -k * ratio);
  }
  std::erase_if(numbers, [](Number& n) {
    std::ranges::sort(n.places, {}, &Number::Place::divisor);
    for (std::size_t i = 1; i < n.places.size(); ++i)
      if (!divides(n.places[i - 1].divisor, n.places[i].divisor)) return true;
    return n.places.size() < 2;
  });
  return numbers;
}

// True if, modulo g, the spread of the remaining terms and of the opened remainders is below g.
bool Simplifier::opens_within(const Linear& s, std::span<const Number> numbers,
                              const Int& g) const {
  Int spread;
  Linear left = s;
  for (const Number& n : numbers) {
    if (n.top == 0) continue;
    for (std::size_t i = 0; i < n.top; ++i) spread += nearest(n.carried(i), g) * (n.ratio(i) - 1);
    for (std::size_t i = 0; i <= n.top; ++i)
      if (n.places[i].atom != kNoNode)
        add(left, n.places[i].atom, -n.places[i].factor);
      else
        add(left, n.x, -n.places[i].factor);
  }
  for (const Term& t : left.terms) {
    const Int k = nearest(t.coef, g);
    if (k.is_zero()) continue;
    const Interval& values = c_.bounds(t.atom);
    if (!values.lo || !values.hi) return false;
    spread += k * (*values.hi - *values.lo);
  }
  return spread < g;
}

void Simplifier::open_number(Linear& s, const Number& n) {
  for (std::size_t i = 0; i < n.top; ++i) {
    const Int from = n.places[i].divisor, ratio = n.ratio(i), k = n.carried(i);
    const Trace::Mark start = mark();
    law("digit.merge", "x", n.x, "a", from, "d", ratio, "k", k);
    reverse_since(start);
    add(s, digit(n.x, from, 0), -k);
    add(s, digit(n.x, from, from * ratio), k);
    add(s, digit(n.x, from * ratio, 0), k * ratio);
  }
}

std::optional<Simplifier::OpenedNumbers> Simplifier::open_numbers(const Linear& given,
                                                                  const Int& lo, const Int& hi,
                                                                  bool reduce) {
  const std::size_t terms = given.terms.size();
  const auto is_digit = [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Digit; };
  if (terms < 2 || terms > kLimits.joined_terms || std::ranges::none_of(given.terms, is_digit))
    return std::nullopt;
  Linear s = given;
  const Trace::Mark first = mark();
  List<Number> numbers = numbers_in(given, s);
  if (reduce && !hi.is_zero() && std::ranges::any_of(numbers, &Number::digits)) {
    const Trace::Mark start = mark();
    Linear open = s;
    for (Number& n : numbers) {
      n.top = n.places.size() - 1;
      open_number(open, n);
    }
    Split parts{{}, {open.constant, {}}};
    for (const Term& t : open.terms)
      if (divides(hi, t.coef))
        parts.quotient.terms.push_back({floor_div(t.coef, hi), t.atom});
      else
        parts.remainder.terms.push_back(t);
    if (parts.remainder.terms.size() < terms) return OpenedNumbers{0, std::move(parts)};
    rewind(start);
  }
  const Int& base = lo.is_one() ? hi : lo;
  List<Int> factors;  // of the divisor, largest first
  const auto put = [&](const Int& k) {
    Int g = gcd(k, base);
    if (!g.is_one() && std::ranges::find(factors, g) == factors.end())
      factors.push_back(std::move(g));
  };
  for (const Number& n : numbers)
    for (std::size_t i = 1; i < n.places.size(); ++i)
      if (const Int k = n.carried(i); divides(base, k) || divides(k, base)) put(k);
  if (factors.empty()) {
    rewind(first);
    return std::nullopt;
  }
  for (const Term& t : s.terms) put(t.coef);
  std::ranges::sort(factors, [](const Int& a, const Int& b) { return b < a; });
  for (const Int& g : factors) {
    for (Number& n : numbers) {
      n.top = 0;
      if (n.digits) {  // all below the last place that the factor divides
        for (std::size_t i = n.places.size(); i-- > 1 && n.top == 0;)
          if (divides(g, n.carried(i))) n.top = i;
        continue;
      }
      if (divides(g, n.places[0].factor)) continue;
      n.top = 1;
      while (n.top < n.places.size() && !divides(g, n.carried(n.top))) ++n.top;
      if (n.top == n.places.size()) n.top = 0;
    }
    const bool opens = std::ranges::any_of(numbers, [](const Number& n) { return n.top > 0; });
    // Several digits of a number in a remainder would join again and lose their bounds.
    const auto keeps_several = [&](const Number& n) {
      return !n.digits && (n.top > 1 || (n.top == 1 && !divides(hi, n.carried(1))));
    };
    if (lo.is_one() && std::ranges::any_of(numbers, keeps_several)) continue;
    if (!opens || !opens_within(s, numbers, g)) continue;
    const Trace::Mark start = mark();
    Linear open = s;
    for (const Number& n : numbers) open_number(open, n);
    if (auto parts = split(open, g, false); parts && parts->quotient.terms.size() < terms)
      return OpenedNumbers{g, *std::move(parts)};
    rewind(start);
  }
  rewind(first);
  return std::nullopt;
}

}  // namespace touchstone::symbolic
