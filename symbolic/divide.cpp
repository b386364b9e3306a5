#include <algorithm>

#include "touchstone/symbolic/order.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

Linear Simplifier::divide(const Linear& a, const Linear& b) {
  if (!b.is_constant()) return divide_symbolic(a, b, false);
  if (b.constant.is_zero()) throw Error("floor_div: division by zero; the divisor must not be 0");
  if (b.constant.sign() < 0) return digit(-a, -b.constant, 0);  // div.negative
  return digit(a, b.constant, 0);
}

Linear Simplifier::modulo(const Linear& a, const Linear& b) {
  if (!b.is_constant()) return divide_symbolic(a, b, true);
  if (b.constant.is_zero()) throw Error("floor_mod: modulo by zero; the divisor must not be 0");
  if (b.constant.sign() < 0) return -digit(-a, 1, -b.constant);  // mod.negative
  return digit(a, 1, b.constant);
}

Linear Simplifier::long_division(Linear& a, const Linear& b) {
  (void)a;
  (void)b;
  return {};
}

Linear Simplifier::divide_symbolic(Linear a, Linear b, bool remainder) {
  // div.flip: both signs turn together, so the divisor's first coefficient can be positive.
  const bool flip = b.terms[0].coef.sign() < 0;
  if (flip) {
    a = -a;
    b = -b;
  }
  Linear quotient = long_division(a, b);
  const Interval top = bounds(a), bottom = bounds(b);
  Linear tail, rest;
  const Interval range = floor_div(top, bottom);
  if (a == b) {
    tail.constant = 1;
  } else if (range.is_point()) {
    tail.constant = *range.lo;
    add(rest, a);
    add(rest, b, -*range.lo);
  } else {
    Linear gap = a;
    add(gap, b, -1);
    if (bottom.at_least(1) && top.at_least(0) && bounds(gap).at_most(-1)) {
      rest = a;
    } else {
      const Id args[] = {build(a), build(b)};
      tail = node(Kind::Div, args, range);
      rest = node(Kind::Mod, args, floor_mod(top, bottom));
    }
  }
  if (remainder) return flip ? -rest : rest;
  add(quotient, tail);
  return quotient;
}

}  // namespace touchstone::symbolic
