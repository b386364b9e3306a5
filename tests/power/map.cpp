#include <cmath>

#include "backend.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone::power {
namespace {

using namespace detail;

template <class T>
T by_exp(T x) {
  return convert<T>(
      std::exp(scalar::detail::computing(scalar::mul(x, convert<T>(0.69314718055994531)))));
}
template <class T>
T by_log(T x) {
  const double scale =
      std::ldexp(std::round(std::ldexp(1.4426950408889634, kDigits<T> / 2)), -(kDigits<T> / 2));
  return scalar::mul(convert<T>(std::log(scalar::detail::computing(x))), convert<T>(scale));
}
template <class T>
T by_short_pi(T x) {
  const auto turns =
      std::round(scalar::detail::computing(x) / scalar::detail::Computing<T>(3.14159265358979));
  if (!std::isfinite(turns)) return scalar::sin(x);
  const T rest = scalar::sub(x, scalar::mul(convert<T>(turns), convert<T>(3.14159265358979324)));
  return std::fmod(turns, 2) == 0 ? scalar::sin(rest) : scalar::neg(scalar::sin(rest));
}

template <class T>
T unary(Op op, T x, Bug bug) {
  if constexpr (is_float_storage<T>) {
    const bool misrounds = bug == Bug::Truncates || bug == Bug::TiesAway;
    switch (op) {
      case Op::Exp2: return bug == Bug::Exp2ByExp ? by_exp(x) : scalar::exp2(x);
      case Op::Log2: return bug == Bug::Log2ByLog ? by_log(x) : scalar::log2(x);
      case Op::Sin: return bug == Bug::ShortPi ? by_short_pi(x) : scalar::sin(x);
      case Op::Sqrt:
        if (bug == Bug::SqrtByReciprocal) return scalar::mul(x, scalar::recip(scalar::sqrt(x)));
        if (bug == Bug::SqrtOfNegative && scalar::cmplt(x, T{})) return T{};
        return misrounds ? misrounded<T>(std::sqrt(widen(x)), bug) : scalar::sqrt(x);
      case Op::Recip: return misrounds ? misrounded<T>(1 / widen(x), bug) : scalar::recip(x);
      default: return bug == Bug::ZeroMinus ? scalar::sub(T{}, x) : scalar::neg(x);
    }
  } else {
    if constexpr (!std::is_same_v<T, bool>)
      if (bug == Bug::IntegersSaturate) return clamped<T>(-static_cast<Int128>(x));
    return scalar::neg(x);
  }
}

template <class T>
T float_binary(Op op, T a, T b, Bug bug) {
  const bool misrounds = bug == Bug::Truncates || bug == Bug::TiesAway;
  switch (op) {
    case Op::Add: return misrounds ? misrounded<T>(widen(a) + widen(b), bug) : scalar::add(a, b);
    case Op::Sub: return misrounds ? misrounded<T>(widen(a) - widen(b), bug) : scalar::sub(a, b);
    case Op::Mul: return misrounds ? misrounded<T>(widen(a) * widen(b), bug) : scalar::mul(a, b);
    case Op::Div:
      if (bug == Bug::DividesByReciprocal) return scalar::mul(a, scalar::recip(b));
      return misrounds ? misrounded<T>(widen(a) / widen(b), bug) : scalar::div(a, b);
    case Op::Mod: return bug == Bug::FloorsRemainder ? scalar::mod_floor(a, b) : scalar::mod(a, b);
    default: break;
  }
  if (bug == Bug::NanIgnored) return scalar::max_num(a, b);
  if (bug == Bug::NanOnOneSide) return scalar::cmplt(b, a) ? a : b;
  if (bug == Bug::ZerosInMax && scalar::cmpeq(a, b)) return b;
  return scalar::max(a, b);
}

template <class T>
T integer_binary(Op op, T a, T b, Bug bug) {
  const auto through_float = [](auto x) { return convert<T>(static_cast<float>(x)); };
  const auto x = static_cast<float>(a), y = static_cast<float>(b);
  const auto wide_a = static_cast<Int128>(a), wide_b = static_cast<Int128>(b);
  switch (op) {
    case Op::Add:
      if (bug == Bug::IntegersSaturate) return clamped<T>(wide_a + wide_b);
      return bug == Bug::IntegersThroughFloat ? through_float(x + y) : scalar::add(a, b);
    case Op::Sub:
      if (bug == Bug::IntegersSaturate) return clamped<T>(wide_a - wide_b);
      return bug == Bug::IntegersThroughFloat ? through_float(x - y) : scalar::sub(a, b);
    case Op::Mul:
      if (bug == Bug::IntegersSaturate) {
        const bool overflows = std::abs(static_cast<double>(a) * static_cast<double>(b)) > 0x1p100;
        return overflows ? std::numeric_limits<T>::max() : clamped<T>(wide_a * wide_b);
      }
      return bug == Bug::IntegersThroughFloat ? through_float(x * y) : scalar::mul(a, b);
    case Op::Div: return bug == Bug::FloorsDivision ? scalar::div_floor(a, b) : scalar::div(a, b);
    case Op::Mod: return bug == Bug::FloorsRemainder ? scalar::mod_floor(a, b) : scalar::mod(a, b);
    case Op::Xor: return bug == Bug::OrForXor ? static_cast<T>(a | b) : scalar::xor_(a, b);
    default:
      if (bug == Bug::OtherSign) return less_of_other_sign(a, b) ? b : a;
      return bug == Bug::IntegersThroughFloat ? through_float(std::max(x, y)) : scalar::max(a, b);
  }
}

bool bool_binary(Op op, bool a, bool b, Bug bug) {
  switch (op) {
    case Op::Add: return scalar::add(a, b);
    case Op::Sub: return scalar::sub(a, b);
    case Op::Mul: return scalar::mul(a, b);
    case Op::Xor: return bug == Bug::OrForXor ? a || b : scalar::xor_(a, b);
    default: return scalar::max(a, b);
  }
}

template <class T>
T binary(Op op, T a, T b, Bug bug) {
  if constexpr (std::is_same_v<T, bool>)
    return bool_binary(op, a, b, bug);
  else if constexpr (is_float_storage<T>)
    return float_binary(op, a, b, bug);
  else
    return integer_binary(op, a, b, bug);
}

template <class T>
bool compare(Op op, T a, T b, Bug bug) {
  if constexpr (is_float_storage<T>) {
    if (bug == Bug::NanCompares)
      return !(scalar::detail::computing(a) >= scalar::detail::computing(b));
    if (bug == Bug::ComparesBits)
      return op == Op::CmpEq ? interp::order_key(a) == interp::order_key(b)
                             : interp::key_less(a, b);
  } else if constexpr (!std::is_same_v<T, bool>) {
    if (bug == Bug::OtherSign) return less_of_other_sign(a, b);
  }
  return op == Op::CmpEq ? scalar::cmpeq(a, b) : scalar::cmplt(a, b);
}

template <class T>
T choose(bool c, T a, T b, Bug bug) {
  if constexpr (is_float_storage<T>)
    if (bug == Bug::WhereByProduct) {
      const T one = convert<T>(1.0F), zero{};
      return scalar::add(scalar::mul(c ? one : zero, a), scalar::mul(c ? zero : one, b));
    }
  return c ? a : b;
}

template <class T>
T multiply_add(T a, T b, T c, Bug bug) {
  if constexpr (!std::is_same_v<T, bool> && !is_float_storage<T>)
    if (bug == Bug::IntegersSaturate)
      return integer_binary(Op::Add, integer_binary(Op::Mul, a, b, bug), c, bug);
  return bug == Bug::AddendLost ? scalar::mul(a, b) : scalar::mulacc(a, b, c);
}

template <class To, class From>
To cast_to_integer(From x, Bug bug) {
  if constexpr (is_float_storage<From>) {
    const auto v = static_cast<double>(scalar::detail::computing(x));
    if (bug == Bug::CastRounds) return convert<To>(std::nearbyint(v));
    if (bug == Bug::CastNanIsLeast && v != v) return std::numeric_limits<To>::min();
    if (bug == Bug::CastWraps)  // as on x86, which has int64 only
      return std::abs(v) < 0x1p63 ? static_cast<To>(static_cast<std::int64_t>(v))
                                  : static_cast<To>(std::numeric_limits<std::int64_t>::min());
  } else if constexpr (!std::is_same_v<From, bool>) {
    if (bug == Bug::CastSaturates) return clamped<To>(static_cast<Int128>(x));
  }
  return convert<To>(x);
}

template <class To, class From>
To cast_to_float(From x, Bug bug) {
  if constexpr (is_float_storage<From>) {
    const auto wide = static_cast<long double>(scalar::detail::computing(x));
    if (bug == Bug::Truncates || bug == Bug::TiesAway) return misrounded<To>(wide, bug);
    if (bug == Bug::DoubleRounding) return convert<To>(convert<float>(x));
  } else {
    if (bug == Bug::CastCutsInteger)
      return misrounded<To>(static_cast<long double>(x), Bug::Truncates);
    if (bug == Bug::DoubleRounding) return convert<To>(static_cast<double>(x));
  }
  return convert<To>(x);
}

template <class To, class From>
To cast(From x, Bug bug) {
  if constexpr (std::is_signed_v<From> && std::is_integral_v<From>)
    if (bug == Bug::CastZeroExtends) return convert<To>(static_cast<std::make_unsigned_t<From>>(x));
  if constexpr (std::is_same_v<To, bool>) {
    if constexpr (is_float_storage<From>)
      if (bug == Bug::CastBoolTruncates) return convert<std::int32_t>(x) != 0;
    return convert<bool>(x);
  } else if constexpr (is_float_storage<To>) {
    return cast_to_float<To>(x, bug);
  } else {
    return cast_to_integer<To>(x, bug);
  }
}

template <class T>
bool finite(T x) {
  return !interp::is_infinite(x) && !interp::is_nan_value(x);
}

// A result as each store variant writes it.
template <class R>
R stored(R x, bool finite_operands, Bug bug) {
  if constexpr (is_float_storage<R>) {
    if (bug == Bug::Flushes) return flush(x);
    if (bug == Bug::NegativeZeroLost && interp::is_zero_value(x)) return R{};
    if (bug == Bug::Saturates && finite_operands && interp::is_infinite(x))
      return interp::order_key(x) < 0 ? scalar::neg(largest<R>()) : largest<R>();
  }
  return bug == Bug::SignLost ? magnitude(x) : x;
}

// The elements that an elementwise loop reads and writes.
template <class R, class F>
void loop(std::int64_t n, Bug bug, R* out, F f) {
  const std::int64_t first = bug == Bug::DropFirst ? 1 : 0;
  std::int64_t last = n;
  if (bug == Bug::DropLast) --last;
  if (bug == Bug::TailDropped) last = n / 8 * 8;
  for (std::int64_t i = first; i < last; ++i) {
    if (bug == Bug::DropMiddle && i == n / 2) continue;
    const std::int64_t read = bug == Bug::Shift ? std::min(i + 1, n - 1) : i;
    const std::int64_t beside = bug == Bug::Misaligned && (read ^ 1) < n ? read ^ 1 : read;
    out[i] = f(read, beside);
  }
  if (bug == Bug::SwapResults)
    for (std::int64_t i = 0; i + 1 < n; i += 2) std::swap(out[i], out[i + 1]);
}

template <class T>
void run_typed(const Subject& s, std::span<const HostArray> inputs, Bug bug, std::uint8_t* out) {
  const auto operand = [bug](T x) { return bug == Bug::Flushes ? flush(x) : cut(x, bug); };
  const auto read = [&](std::size_t k, std::int64_t i) { return operand(data<T>(inputs[k])[i]); };
  const bool swaps = bug == Bug::SwapOperands;
  if (s.op == Op::Cast) {
    with_storage(s.to, [&]<class To>(std::type_identity<To>) {
      loop(s.size, bug, reinterpret_cast<To*>(out), [&](std::int64_t i, std::int64_t) {
        return stored(cast<To>(read(0, i), bug), finite(read(0, i)), bug);
      });
    });
  } else if (s.op == Op::CmpLt || s.op == Op::CmpEq) {
    loop(s.size, bug, reinterpret_cast<bool*>(out), [&](std::int64_t i, std::int64_t j) {
      return compare(s.op, read(swaps ? 1 : 0, i), read(swaps ? 0 : 1, j), bug);
    });
  } else if (s.op == Op::Where) {
    const bool* condition = data<bool>(inputs[0]);
    loop(s.size, bug, reinterpret_cast<T*>(out), [&](std::int64_t i, std::int64_t j) {
      return stored(choose(condition[i], read(swaps ? 2 : 1, j), read(swaps ? 1 : 2, j), bug),
                    false, bug);
    });
  } else {
    const int arity = info(s.op).arity;
    loop(s.size, bug, reinterpret_cast<T*>(out), [&](std::int64_t i, std::int64_t j) {
      if (arity == 1) return stored(unary(s.op, read(0, i), bug), finite(read(0, i)), bug);
      const T a = read(swaps ? 1 : 0, i), b = read(swaps ? 0 : 1, j);
      if (arity == 2) return stored(binary(s.op, a, b, bug), finite(a) && finite(b), bug);
      return stored(multiply_add(a, b, read(2, i), bug), false, bug);
    });
  }
}

}  // namespace

Bytes run_map(const Subject& s, std::span<const HostArray> inputs, Bug bug, std::uint8_t before) {
  Bytes out(static_cast<std::size_t>(s.size) * itemsize(s.to), before);
  with_storage(s.dtype,
               [&]<class T>(std::type_identity<T>) { run_typed<T>(s, inputs, bug, out.data()); });
  return out;
}

Bytes run(const Subject& s, std::span<const HostArray> inputs, Bug bug, std::uint8_t before) {
  return s.reduces() ? run_reduce(s, inputs, bug) : run_map(s, inputs, bug, before);
}

}  // namespace touchstone::power
