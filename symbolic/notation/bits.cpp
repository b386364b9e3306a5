#include "touchstone/symbolic/notation/bits.h"

#include "touchstone/base/error.h"
#include "touchstone/symbolic/number/power.h"

namespace touchstone::symbolic {

namespace {

constexpr int kMostBits = 16;

}  // namespace

std::string Bits::text(Expr a, std::size_t most) const {
  if (e_.size(a) > most)
    throw Error(fmt::format(
        "an expression of more than {} parts; bits of unknown numbers take several each", most));
  return render(e_, a);
}

Interval Bits::bounds(Expr a) const {
  if (e_.is_constant(a)) return Interval::point(e_.value(a));
  Question part = scope_;
  part.text = text(a, 2'000);
  Context scratch;
  return answer(part, scratch).bounds;
}

Expr Bits::plus(Expr a, Expr b) {
  if (e_.is_constant(a, 0)) return b;
  if (e_.is_constant(b, 0)) return a;
  if (e_.is_constant(a) && e_.is_constant(b)) return e_.constant(e_.value(a) + e_.value(b));
  return e_.apply(ExprOp::Add, {a, b});
}
Expr Bits::minus(Expr a, Expr b) {
  if (e_.is_constant(b, 0)) return a;
  if (e_.is_constant(a) && e_.is_constant(b)) return e_.constant(e_.value(a) - e_.value(b));
  return e_.apply(ExprOp::Sub, {a, b});
}
Expr Bits::times(Expr a, Expr b) {
  if (e_.is_constant(a, 1)) return b;
  if (e_.is_constant(b, 1)) return a;
  if (e_.is_constant(a) && e_.is_constant(b)) {
    const auto digits = [&](Expr x) {
      return e_.value(x).is_small() ? 19 : e_.value(x).str().size();
    };
    constexpr std::size_t kMostDigits = 5'000;
    if (digits(a) + digits(b) > kMostDigits)
      throw Error(fmt::format("a number of more than {} digits", kMostDigits));
    return e_.constant(e_.value(a) * e_.value(b));
  }
  return e_.apply(ExprOp::Mul, {a, b});
}

Expr Bits::bit(Expr a, int i, int count) {
  if (i > 0) a = e_.apply(ExprOp::Div, {a, e_.constant(symbolic::power_of_two(i))});
  return e_.apply(ExprOp::Mod, {a, e_.constant(symbolic::power_of_two(count))});
}

int Bits::width(Expr a) const {
  const Interval range = bounds(a);
  int k = 0;
  if (!range.at_least(0)) return -1;
  while (k <= kMostBits && !range.at_most(symbolic::power_of_two(k) - 1)) ++k;
  return k <= kMostBits ? k : -1;
}

// True if the bits of `high` begin above all of `low`.
bool Bits::apart(Expr low, Expr high) const {
  const int k = width(low);
  if (k < 0) return false;
  return bounds(e_.apply(ExprOp::Mod, {high, e_.constant(symbolic::power_of_two(k))})) ==
         Interval::point(0);
}

Expr Bits::both(Expr a, Expr b) {
  if (a == b) return a;
  if (e_.is_constant(a)) std::swap(a, b);
  if (e_.is_constant(b)) {
    const Int mask = e_.value(b);
    if (mask.sign() < 0) return minus(a, both(a, e_.constant(-1 - mask)));
    Expr sum = e_.constant(0);
    int at = 0;
    for (Int left = mask; !left.is_zero();) {  // a run of ones at a time
      while (floor_mod(left, 2).is_zero()) left = floor_div(left, 2), ++at;
      int run = 0;
      while (!floor_mod(left, 2).is_zero()) left = floor_div(left, 2), ++run;
      sum = plus(sum, times(bit(a, at, run), e_.constant(symbolic::power_of_two(at))));
      at += run;
    }
    return sum;
  }
  if (apart(a, b) || apart(b, a)) return e_.constant(0);
  return by_bits(a, b, [&](Expr sum) { return e_.apply(ExprOp::Div, {sum, e_.constant(2)}); });
}

template <class F>
Expr Bits::by_bits(Expr a, Expr b, F&& of) {
  const int of_a = width(a), of_b = width(b);
  if (of_a < 0 || of_b < 0)
    throw Error(
        fmt::format("the bits of {} are unknown; give its variables ranges from 0 to below 2^16",
                    text(of_a < 0 ? a : b)));
  Expr sum = e_.constant(0);
  for (int i = 0; i < std::max(of_a, of_b); ++i)
    sum = plus(sum, times(of(plus(bit(a, i), bit(b, i))), e_.constant(symbolic::power_of_two(i))));
  return sum;
}

Expr Bits::either(Expr a, Expr b) {
  if (apart(a, b) || apart(b, a)) return plus(a, b);
  if (e_.is_constant(a) || e_.is_constant(b)) return minus(plus(a, b), both(a, b));
  return by_bits(a, b, [&](Expr sum) {
    return e_.apply(ExprOp::Div, {plus(sum, e_.constant(1)), e_.constant(2)});
  });
}

Expr Bits::one_of(Expr a, Expr b) {
  if (a == b) return e_.constant(0);
  if (apart(a, b) || apart(b, a)) return plus(a, b);
  if (e_.is_constant(a) || e_.is_constant(b))
    return minus(plus(a, b), times(both(a, b), e_.constant(2)));
  return by_bits(a, b, [&](Expr sum) { return e_.apply(ExprOp::Mod, {sum, e_.constant(2)}); });
}

Expr Bits::power_of_two(Expr by) {
  constexpr int kMostChoices = 16, kMost = 4096;
  const Interval range = bounds(by);
  if (!range.at_least(0) || !range.at_most(kMost) || *range.hi - *range.lo >= Int(kMostChoices))
    throw Error(fmt::format("the shift or exponent {} needs a range from 0, of at most {} values",
                            text(by), kMostChoices));
  Int at = *range.hi, value = 1;
  for (Int i = 0; i < at; i += 1) value = value + value;
  Expr result = e_.constant(value);
  while (at > *range.lo) {
    at -= 1;
    value = floor_div(value, 2);
    result = e_.apply(ExprOp::Where,
                      {e_.apply(ExprOp::Eq, {by, e_.constant(at)}), e_.constant(value), result});
  }
  return result;
}

Expr Bits::wrapped(Expr a, int bits, bool is_signed) {
  const Int low = is_signed ? symbolic::power_of_two(bits - 1) : Int(0);
  return minus(
      e_.apply(ExprOp::Mod, {plus(a, e_.constant(low)), e_.constant(symbolic::power_of_two(bits))}),
      e_.constant(low));
}

}  // namespace touchstone::symbolic
