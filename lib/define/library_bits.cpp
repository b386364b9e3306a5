// Signs, remainders, and the bits of integers and floats.
#include <cmath>
#include <functional>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/define/library.h"
#include "touchstone/dtype/bits.h"

namespace touchstone::define {
namespace {

const Array& zero() {
  static const Array x = Array::number("0");
  return x;
}
const Array& unit() {
  static const Array x = Array::number("1");
  return x;
}

Array xor_of(const Array& a, const Array& b) { return Array::apply(Op::Xor, {a, b}); }
Array mod(const Array& a, const Array& b) { return Array::apply(Op::Mod, {a, b}); }
Array no(const Array& condition) {
  return Array::apply(Op::Xor, {condition, Array::constant(Scalar::from_bits(DType::Bool, 1))});
}
Array bits(DType type, std::uint64_t value) {
  return Array::constant(Scalar::from_bits(type, value));
}

// Both of the smallest type that holds both.
std::pair<Array, Array> promoted(const Array& a, const Array& b) {
  const DType type = maximum(a, b).dtype();
  return {a.cast(type), b.cast(type)};
}

void require_bits(const Array& x, std::string_view function, bool takes_bool = false) {
  if (!is_integer(x.dtype()) && !(takes_bool && is_bool(x.dtype())))
    throw DTypeError(fmt::format("{} takes integers{}, not {}", function,
                                 takes_bool ? " or bool" : "", name(x.dtype())));
}

// Both of the smallest type that holds both; a number takes the other's.
std::pair<Array, Array> bits_of(const Array& x, const Array& y, std::string_view function,
                                bool takes_bool = false) {
  for (const Array& operand : {x, y})
    if (!operand.is_number()) require_bits(operand, function, takes_bool);
  const auto both = promoted(x, y);
  if (!x.is_number() && !y.is_number() && is_float(both.first.dtype()))
    throw DTypeError(fmt::format("{}: {} and {} have no common integer type; cast one of them",
                                 function, name(x.dtype()), name(y.dtype())));
  require_bits(both.first, function, takes_bool);
  return both;
}

Array as_unsigned(const Array& x) {
  return is_bool(x.dtype()) ? x.cast(DType::UInt8) : x.bitcast(unsigned_of(x.dtype()));
}
Array back_to(const Array& x, DType type) { return is_bool(type) ? x.cast(type) : x.bitcast(type); }
std::uint64_t width(DType type) { return 8 * itemsize(type); }

// 2^count for 0 <= count < width, from the digits of `count`, which is unsigned.
Array power_of_two(const Array& count) {
  const DType type = count.dtype();
  Array power = bits(type, 1);
  for (std::uint64_t k = 0; 1U << k < width(type); ++k) {
    const Array digit = mod(count / bits(type, 1U << k), bits(type, 2));
    power = power * where(equal(digit, zero()), unit(), bits(type, std::uint64_t{1} << (1U << k)));
  }
  return power;
}

// x is multiplied or divided by 2^count as an unsigned number; `out`: for counts out of range.
template <class F>
Array shifted(const Array& x, const Array& count, const Array& out, F f) {
  const Array by = as_unsigned(count);
  const Array within = less(by, bits(by.dtype(), width(x.dtype())));
  return where(within, f(x, power_of_two(where(within, by, zero()))), out);
}

}  // namespace

Array sign(const Array& x) {
  // Either zero of a zero, as libraries give both.
  const Array positive =
      where(less(zero(), x), unit(), is_float(x.dtype()) ? maximum(x, zero()) : x);
  if (is_unsigned(x.dtype()) || is_bool(x.dtype())) return positive;
  return where(less(x, zero()), Array::number("-1"), positive);
}

Array remainder(const Array& x, const Array& y) {
  const auto [a, b] = promoted(x, y);
  const Array rest = mod(a, b), is_none = equal(rest, zero());
  const Array differ = xor_of(less(rest, zero()), less(b, zero()));
  const Array moved = where(differ, rest + b, rest);
  if (!is_float(b.dtype())) return where(is_none, rest, moved);
  const Array none = maximum(rest, zero());  // whose sign a profile may leave open
  return where(is_none, where(less(b, zero()), -none, none), moved);
}

Array floor_div(const Array& x, const Array& y) {
  const auto [own_a, own_b] = promoted(x, y);
  const DType type = own_a.dtype();
  if (is_narrow(own_a)) return floor_div(wide(own_a), wide(own_b)).cast(type);
  const Array &a = own_a, &b = own_b, rest = mod(a, b);
  const Array differ = xor_of(less(rest, zero()), less(b, zero()));
  const auto down = [&](const Array& q) {
    return where(equal(rest, zero()), q, where(differ, q - unit(), q));
  };
  if (!is_float(type)) return down(a / b);
  // ceil(q - 1/2) undoes the rounding of the difference and of the quotient, as Python does.
  const Array q = down((a - rest) / b), quotient = a / b;
  const Array has_fraction = less(abs(q), Array(std::ldexp(1.0, info(type).digits - 1)));
  const Array half_down = Array::call(NamedFunction::Ceil, {q - Array(0.5)});
  const Array whole = where(has_fraction, half_down, q);
  return where(equal(b, zero()), quotient, where(equal(whole, zero()), quotient * zero(), whole));
}

Array next_after(const Array& x, const Array& y) {
  const auto [a, b] = promoted(x, y);
  if (!is_float(a.dtype()))
    throw DTypeError(fmt::format("next_after takes floats, not {}", name(a.dtype())));
  const DType type = unsigned_of(a.dtype());
  const Array grows = no(xor_of(less(a, b), less(zero(), a)));
  const Array next = a.bitcast(type) + where(grows, bits(type, 1), bits(type, ~std::uint64_t{0}));
  const Array least = where(less(zero(), b), bits(type, 1),
                            bits(type, (std::uint64_t{1} << (width(type) - 1)) + 1));
  const Array moved = where(equal(a, zero()), least, next).bitcast(a.dtype());
  return where(equal(a, b), b, where(equal(a, a), where(equal(b, b), moved, b), a));
}

Array signbit(const Array& x) {
  return less(is_float(x.dtype()) ? x.bitcast(signed_of(x.dtype())) : x, zero());
}
Array copysign(const Array& x, const Array& y) {
  const auto [a, b] = promoted(x, y);
  if (!is_float(a.dtype()))
    throw DTypeError(fmt::format("copysign takes floats, not {}", name(a.dtype())));
  return where(equal(signbit(a), signbit(b)), a, -a);
}
Array round_half_away(const Array& x) {
  const Array whole = Array::call(NamedFunction::Trunc, {x});
  return where(less(abs(x - whole), Array(0.5)), whole, whole + copysign(unit(), x));
}

Array bit_and(const Array& x, const Array& y) {
  const auto [a, b] = bits_of(x, y, "bit_and", true);
  if (is_bool(a.dtype())) return a * b;
  // Of numbers below 2^32, in 64 bits: a + b counts the common bits twice.
  const auto common = [](const Array& u, const Array& v) {
    return (u + v - xor_of(u, v)) / bits(DType::UInt64, 2);
  };
  const Array u = as_unsigned(a), v = as_unsigned(b), half = bits(DType::UInt64, 1ULL << 32);
  const Array found = u.dtype() != DType::UInt64
                          ? common(u.cast(DType::UInt64), v.cast(DType::UInt64)).cast(u.dtype())
                          : common(u / half, v / half) * half + common(mod(u, half), mod(v, half));
  return back_to(found, a.dtype());
}

Array bit_or(const Array& x, const Array& y) {
  const auto [a, b] = bits_of(x, y, "bit_or", true);
  return is_bool(a.dtype()) ? maximum(a, b) : xor_of(xor_of(a, b), bit_and(a, b));
}

Array bit_not(const Array& x) {
  require_bits(x, "bit_not", true);
  return is_bool(x.dtype()) ? no(x) : xor_of(x, bits(x.dtype(), ~std::uint64_t{0}));
}

Array shift_left(const Array& x, const Array& count) {
  const auto [a, by] = bits_of(x, count, "shift_left");
  return shifted(as_unsigned(a), by, zero(), std::multiplies<>()).bitcast(a.dtype());
}

Array shift_right_logical(const Array& x, const Array& count) {
  const auto [a, by] = bits_of(x, count, "shift_right_logical");
  return shifted(as_unsigned(a), by, zero(), std::divides<>()).bitcast(a.dtype());
}

Array shift_right(const Array& x, const Array& count) {
  const auto [a, by] = bits_of(x, count, "shift_right");
  if (is_unsigned(a.dtype())) return shift_right_logical(a, by);
  const Array negative = less(a, zero());
  const Array found = shift_right_logical(where(negative, bit_not(a), a), by);
  return where(negative, bit_not(found), found);
}

Array popcount(const Array& x) {
  require_bits(x, "popcount");
  const DType type = unsigned_of(x.dtype());
  // The bits as digits on an axis of their own.
  const std::int64_t count = static_cast<std::int64_t>(width(type));
  Sizes along(x.shape().size(), 1), shape = x.shape();
  along.push_back(count);
  shape.push_back(1);
  const Array powers = power_of_two(arange(count, type)).reshape(along);
  const Array digits = mod(as_unsigned(x).reshape(shape) / powers, bits(type, 2));
  return sum(digits, {x.rank()}).bitcast(x.dtype());
}

Array clz(const Array& x) {
  require_bits(x, "clz");
  const auto bits = static_cast<std::int64_t>(width(x.dtype()));
  Sizes along(x.shape().size(), 1);
  along.push_back(bits);
  const Array powers = power_of_two(arange(bits, unsigned_of(x.dtype()))).reshape(along);
  const Array value = as_unsigned(x);  // below a power for each zero, also for all of them
  Sizes shape = x.shape();
  shape.push_back(1);
  return sum(less(value.reshape(shape), powers).cast(x.dtype()), {x.rank()});
}

}  // namespace touchstone::define
