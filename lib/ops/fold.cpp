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
    case Op::Neg:
      return Scalar::from_bits(d, std::uint64_t{0} - a);
    case Op::Add:
      return Scalar::from_bits(d, a + b);
    case Op::Sub:
      return Scalar::from_bits(d, a - b);
    case Op::Mul:
      return Scalar::from_bits(d, a * b);
    case Op::Xor:
      return Scalar::from_bits(d, a ^ b);
    case Op::Max:
      return (a ^ bias) < (b ^ bias) ? x[1] : x[0];
    case Op::CmpLt:
      return Scalar::of((a ^ bias) < (b ^ bias));
    case Op::CmpEq:
      return Scalar::of(a == b);
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
    case Op::Neg:
      return Scalar::of(!a);
    case Op::Add:
    case Op::Max:
      return Scalar::of(a || b);
    case Op::Mul:
      return Scalar::of(a && b);
    case Op::Xor:
      return Scalar::of(a != b);
    case Op::CmpLt:
      return Scalar::of(!a && b);
    case Op::CmpEq:
      return Scalar::of(a == b);
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
    case Op::Add:
      return rounded(a + b);
    case Op::Sub:
      return rounded(a - b);
    case Op::Mul:
      return rounded(a * b);
    case Op::Div:
      return rounded(a / b);
    case Op::Recip:
      return rounded(1 / a);
    case Op::Sqrt:
      return rounded(std::sqrt(a));
    case Op::CmpLt:
      return Scalar::of(a < b);
    case Op::CmpEq:
      return Scalar::of(a == b);
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

}  // namespace

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
