#pragma once

#include "touchstone/symbolic/ask/question.h"

namespace touchstone::symbolic {

/// Operations on the bits of two's-complement integers in terms of quotients and remainders.
/// Ranges of variables decide what is possible.
class Bits {
 public:
  /// `scope` has the variables and assumptions; its text is not used.
  Bits(Exprs& exprs, const Question& scope) : e_(exprs), scope_(scope) {}

  /// Each throws Error that says which range is missing.
  Expr both(Expr a, Expr b);    // a & b
  Expr either(Expr a, Expr b);  // a | b
  Expr one_of(Expr a, Expr b);  // a ^ b
  Expr inverted(Expr a) { return minus(e_.constant(-1), a); }
  Expr left(Expr a, Expr by) { return times(a, power_of_two(by)); }
  Expr right(Expr a, Expr by) { return e_.apply(ExprOp::Div, {a, power_of_two(by)}); }
  Expr power_of_two(Expr by);
  /// The number in a type of `bits` bits, as a conversion wraps it.
  Expr wrapped(Expr a, int bits, bool is_signed);

  Expr plus(Expr a, Expr b);
  Expr minus(Expr a, Expr b);
  Expr times(Expr a, Expr b);
  Interval bounds(Expr a) const;
  /// Throws Error if the text would be very long.
  std::string text(Expr a, std::size_t most = 20'000) const;
  Expr bit(Expr a, int i, int count = 1);  // the number that `count` bits from bit i are

 private:
  /// The least k with a in [0, 2^k); -1 if it is unknown or over 16.
  int width(Expr a) const;
  bool apart(Expr low, Expr high) const;
  /// Bit by bit; `of` gives a bit of the sum of two.
  template <class F>
  Expr by_bits(Expr a, Expr b, F&& of);

  Exprs& e_;
  const Question& scope_;
};

}  // namespace touchstone::symbolic
