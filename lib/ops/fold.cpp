#include "touchstone/ops/fold.h"

#include <cmath>

#include "touchstone/ops/op_cases.h"

namespace touchstone {
namespace {

std::uint64_t sign_bit(DType d) { return std::uint64_t{1} << (8 * itemsize(d) - 1); }

// Two's complement; does not fold division.
std::optional<Scalar> fold_integers(Op op, DType d, std::span<const Scalar> x) {
  const std::uint64_t a = x[0].bits(), b = x.size() > 1 ? x[1].bits() : 0;
  // The bias maps signed order to unsigned order.
  const std::uint64_t bias = info(d).kind == DTypeKind::Signed ? sign_bit(d) : 0;
  switch (op) {
    case Op::Neg: return Scalar::from_bits(d, std::uint64_t{0} - a);
    case Op::Add: return Scalar::from_bits(d, a + b);
    case Op::Sub: return Scalar::from_bits(d, a - b);
    case Op::Mul: return Scalar::from_bits(d, a * b);
    case Op::Xor: return Scalar::from_bits(d, a ^ b);
    case Op::Max: return (a ^ bias) < (b ^ bias) ? x[1] : x[0];
    case Op::CmpLt: return Scalar::of((a ^ bias) < (b ^ bias));
    case Op::CmpEq: return Scalar::of(a == b);
    case Op::Noop:
    case Op::Cast:
    case Op::Div:
    case Op::Mod:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  return std::nullopt;
}

std::optional<Scalar> fold_bools(Op op, std::span<const Scalar> x) {
  const bool a = x[0].bits() != 0, b = x.size() > 1 && x[1].bits() != 0;
  switch (op) {
    case Op::Neg: return Scalar::of(!a);
    case Op::Add:
    case Op::Max: return Scalar::of(a || b);
    case Op::Mul: return Scalar::of(a && b);
    case Op::Xor: return Scalar::of(a != b);
    case Op::CmpLt: return Scalar::of(!a && b);
    case Op::CmpEq: return Scalar::of(a == b);
    case Op::Noop:
    case Op::Cast:
    case Op::Sub:
    case Op::Div:
    case Op::Mod:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  return std::nullopt;
}

// Computes in double, then rounds: with 53 >= 2p + 2 digits double rounding is harmless.
std::optional<Scalar> fold_floats(Op op, DType d, std::span<const Scalar> x) {
  if (op == Op::Neg) return Scalar::from_bits(d, x[0].bits() ^ sign_bit(d));
  if (itemsize(d) == 1) return std::nullopt;
  const double a = x[0].to_double(), b = x.size() > 1 ? x[1].to_double() : 0;
  const auto rounded = [&](double value) -> std::optional<Scalar> {
    if (std::isnan(value)) return std::nullopt;
    return Scalar::from_double(d, value);
  };
  switch (op) {
    case Op::Add: return rounded(a + b);
    case Op::Sub: return rounded(a - b);
    case Op::Mul: return rounded(a * b);
    case Op::Div: return rounded(a / b);
    case Op::Recip: return rounded(1 / a);
    case Op::Sqrt: return rounded(std::sqrt(a));
    case Op::CmpLt: return Scalar::of(a < b);
    case Op::CmpEq: return Scalar::of(a == b);
    case Op::Max:
      if (std::isnan(a) || std::isnan(b)) return std::nullopt;
      if (a == b) return std::signbit(a) ? x[1] : x[0];  // +0 is greater than -0
      return a < b ? x[1] : x[0];
    case Op::Noop:
    case Op::Exp2:
    case Op::Log2:
    case Op::Cast:
    case Op::Sin:
    case Op::Neg:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  return std::nullopt;
}

bool any(DType) { return true; }
bool exact(DType d) { return !is_float(d); }
bool number(DType d) { return !is_bool(d); }
bool ordered(DType d) { return itemsize(d) > 1 || !is_float(d); }  // has infinities

using S = Law::Second;
using G = Law::Gives;
// clang-format off
constexpr Law law_table[] = {
    {"x + 0 -> x", Op::Add, exact, S::Zero, G::First, "0.0 + -0.0 is 0.0"},
    {"x + -0.0 -> x", Op::Add, is_float, S::MinusZero, G::First, "the zero that leaves every float as it is"},
    {"x + true -> true", Op::Add, is_bool, S::One, G::Second, "or"},
    {"x - 0 -> x", Op::Sub, number, S::Zero, G::First, "keeps -0.0, too"},
    {"x * 1 -> x", Op::Mul, any, S::One, G::First, "exact of every type"},
    {"x * 0 -> 0", Op::Mul, exact, S::Zero, G::Second, "a float may be NaN, infinite or negative"},
    {"x / 1 -> x", Op::Div, any, S::One, G::First, "not x / x -> 1: x may be 0, NaN or infinite"},
    {"x % 1 -> 0", Op::Mod, is_integer, S::One, G::Zero, "of integers"},
    {"max(x, least) -> x", Op::Max, ordered, S::Least, G::First, "its identity"},
    {"max(x, greatest) -> greatest", Op::Max, exact, S::Greatest, G::Second, "a float may be NaN"},
    {"x ^ 0 -> x", Op::Xor, exact, S::Zero, G::First, "no bit changes"},
    {"x < least -> false", Op::CmpLt, ordered, S::Least, G::Zero, "also for NaN"},
    {"greatest < x -> false", Op::CmpLt, ordered, S::Greatest, G::Zero, "also for NaN", true},
    {"x - x -> 0", Op::Sub, is_integer, S::Same, G::Zero, "of integers"},
    {"max(x, x) -> x", Op::Max, any, S::Same, G::First, "equal operands"},
    {"x + x -> x of truths", Op::Add, is_bool, S::Same, G::First, "or"},
    {"x * x -> x of truths", Op::Mul, is_bool, S::Same, G::First, "and"},
    {"x < x -> false", Op::CmpLt, any, S::Same, G::Zero, "also for NaN"},
    {"x == x -> true", Op::CmpEq, exact, S::Same, G::True, "NaN differs from itself"},
    {"x ^ x -> 0", Op::Xor, exact, S::Same, G::Zero, "every bit"},
};
// clang-format on

Scalar greatest_of(DType d) {
  if (is_float(d)) return Scalar::parse(d, "inf");
  if (is_bool(d)) return Scalar::of(true);
  return Scalar::from_bits(d, info(d).kind == DTypeKind::Signed ? sign_bit(d) - 1 : ~0ULL);
}

}  // namespace

std::span<const Law> laws() { return law_table; }

Scalar Law::constant(DType d) const {
  switch (second) {
    case Second::MinusZero: return Scalar::from_double(d, -0.0);
    case Second::One: return Scalar::from_int(d, 1);
    case Second::Least: return least_of(d);
    case Second::Greatest: return greatest_of(d);
    case Second::Zero:
    case Second::Same: break;
  }
  return Scalar::from_int(d, 0);
}

Scalar Law::result(DType d) const {
  if (op == Op::CmpLt || op == Op::CmpEq) return Scalar::of(gives == Gives::True);
  return Scalar::from_int(d, 0);
}

Scalar least_of(DType d) {
  if (is_float(d)) return Scalar::parse(d, "-inf");
  return info(d).kind == DTypeKind::Signed ? Scalar::from_bits(d, sign_bit(d))
                                           : Scalar::from_int(d, 0);
}

std::optional<Scalar> fold(Op op, std::span<const Scalar> x) {
  if (op == Op::Noop) return x[0];
  if (op == Op::Function) return std::nullopt;
  if (op == Op::Where) return x[0].bits() != 0 ? x[1] : x[2];
  if (info(op).arity > 2) return std::nullopt;
  const DType d = x[0].dtype();
  return is_bool(d)    ? fold_bools(op, x)
         : is_float(d) ? fold_floats(op, d, x)
                       : fold_integers(op, d, x);
}

}  // namespace touchstone
