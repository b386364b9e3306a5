#include <algorithm>
#include <functional>
#include <numbers>
#include <optional>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {
namespace {

constexpr Real kPi = std::numbers::pi_v<Real>;

// A real function of one number.
struct Curve {
  std::string_view name;
  Real (*f)(Real x, const Call& call);
  Real times = 6;  // roundings, of the argument and of the result
};
Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus_of(Real x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
Real clamped(Real x, Real low, Real high) {
  return std::isnan(x) ? x : std::fmin(std::fmax(x, low), high);
}

// By the recurrence to large arguments, where an asymptotic series holds.
Real digamma_of(Real x) {
  if (x == 0) return -1 / x;
  if (x < 0 && (std::isinf(x) || std::floor(x) == x)) return std::numeric_limits<Real>::quiet_NaN();
  if (x < 0) return digamma_of(1 - x) - kPi / std::tan(kPi * (x - std::nearbyint(x)));
  Real sum = 0;
  for (; x < 24; ++x) sum -= 1 / x;
  const Real s = 1 / (x * x);
  const Real series =
      s *
      (1 / Real{12} -
       s * (1 / Real{120} -
            s * (1 / Real{252} -
                 s * (1 / Real{240} - s * (1 / Real{132} - s * (691 / Real{32760} - s / 12))))));
  return sum + std::log(x) - 1 / (2 * x) - series;
}
// Newton's method for erfc(y) = 1 - |x|.
Real erfinv_of(Real x) {
  const Real rest = 1 - std::fabs(x);
  if (!(rest > 0)) return rest == 0 ? x * std::numeric_limits<Real>::infinity() : std::sqrt(rest);
  const Real l = std::log(rest * (1 + std::fabs(x))), half = 2 / (kPi * 0.147L) + l / 2;
  Real y = std::sqrt(std::sqrt(half * half - l / 0.147L) - half);
  for (int i = 0; i < 6; ++i) {
    const Real off = rest < 0.5L ? std::erfc(y) - rest : std::fabs(x) - std::erf(y);
    const Real step = off * std::sqrt(kPi) / 2 * std::exp(y * y);
    y += step / (1 - y * step);
  }
  return std::copysign(y, x);
}

template <Real (*F)(Real)>
Real by(Real x, const Call&) {
  return F(x);
}
// clang-format off
constexpr Curve kCurves[] = {
    {"log10", by<log10l>, 2}, {"erfc", by<erfcl>}, {"asin", by<asinl>}, {"acos", by<acosl>},
    {"atan", by<atanl>}, {"cbrt", by<cbrtl>}, {"lgamma", by<lgammal>}, {"digamma", by<digamma_of>},
    {"erfinv", by<erfinv_of>}, {"exp", by<expl>}, {"exp2", by<exp2l>, 1}, {"log", by<logl>, 2},
    {"log2", by<log2l>, 1}, {"sin", by<sinl>, 1}, {"cos", by<cosl>}, {"tan", by<tanl>},
    {"sqrt", by<sqrtl>, 1}, {"rsqrt", [](Real x, const Call&) { return 1 / std::sqrt(x); }, 2},
    {"reciprocal", [](Real x, const Call&) { return 1 / x; }, 1}, {"sigmoid", by<sigmoid_of>},
    {"tanh", by<tanhl>}, {"expm1", by<expm1l>}, {"log1p", by<log1pl>}, {"sinh", by<sinhl>},
    {"cosh", by<coshl>}, {"asinh", by<asinhl>}, {"acosh", by<acoshl>}, {"atanh", by<atanhl>},
    {"erf", by<erfl>, 16},
    {"gelu", [](Real x, const Call& call) {
       if (call.arg("form") == "erf") return x / 2 * (1 + std::erf(x / std::sqrt(Real{2})));
       return x / 2 * (1 + std::tanh(std::sqrt(2 / kPi) * (x + Real{0.044715} * x * x * x)));
     }, 16},
    {"quick_gelu", [](Real x, const Call&) { return x * sigmoid_of(Real{1.702} * x); }},
    {"silu", [](Real x, const Call&) { return x * sigmoid_of(x); }},
    {"mish", [](Real x, const Call&) { return x * std::tanh(softplus_of(x)); }},
    {"softplus", by<softplus_of>},
    {"log_sigmoid", [](Real x, const Call&) { return -softplus_of(-x); }},
    {"softsign", [](Real x, const Call&) { return x / (1 + std::fabs(x)); }},
    {"elu", [](Real x, const Call& call) { return x < 0 ? Real{call.real("alpha", 1)} * std::expm1(x) : x; }},
    {"celu", [](Real x, const Call& call) {
       const Real alpha = call.real("alpha", 1);
       return x < 0 ? alpha * std::expm1(x / alpha) : x;
     }},
    {"selu", [](Real x, const Call&) {
       return Real{1.0507009873554804934L} * (x < 0 ? Real{1.6732632423543772848L} * std::expm1(x) : x);
     }},
    {"leaky_relu", [](Real x, const Call& call) { return x < 0 ? Real{call.real("slope", 0.01)} * x : x; }},
    {"hardtanh", [](Real x, const Call& call) { return clamped(x, call.real("low", -1), call.real("high", 1)); }},
    {"hardsigmoid", [](Real x, const Call&) { return clamped(x + 3, 0, 6) / 6; }},
    {"hardswish", [](Real x, const Call&) { return x * (clamped(x + 3, 0, 6) / 6); }},
};
// clang-format on

Arrays curve_of(const Curve& curve, const Call& call, const Array& x) {
  const DType dtype = real_type(x.dtype);
  const Rounding of(dtype);
  return {made(dtype, x.shape, [&](const Sizes& at) {
    const Near v = cast_cell(x.dtype, dtype, x[at]);
    Near y = through([&](Real r) { return curve.f(r, call); }, v, curve.times);
    if (curve.name == "tan" && std::fabs(std::cos(v.v)) < 16 * Rounding::unit)
      y = anything();  // the side of the pole is unknown
    if (std::isnan(y.v) && std::isinf(v.v) && (curve.name == "gelu" || curve.name == "silu"))
      y = anything();  // the limit is 0, by formula it is NaN
    if (curve.times <= 1 && std::isinf(y.v)) y = as_type(dtype, y);
    // An intermediate power may overflow or underflow: its reciprocal times x is lost.
    const Real lost = (2 / Rounding::most + curve.times * Rounding::least) * (1 + std::fabs(v.v));
    if (curve.times > 1 && std::isfinite(v.v) && std::isfinite(y.v)) y.e += lost;
    // Piecewise approximations err by a fraction of their parts.
    if (curve.times > 6 && std::isfinite(y.v) && y.e > 0)
      y.e += curve.times * Rounding::unit * std::fmin(1, std::fabs(v.v));
    return y;
  })};
}

// Functions that are exact in their operand's type.
struct Exact {
  std::string_view name;
  Near (*f)(const Near& x, DType dtype);
  bool gives_bool = false;
};
template <Real (*F)(Real)>
Near exactly(const Near& x, DType) {
  return F(x.v);
}
// clang-format off
constexpr Exact kExacts[] = {
    {"neg", [](const Near& x, DType t) { return is_bool(t) ? Near(1 - x.v) : -x; }},
    {"relu", [](const Near& x, DType) { return x.v < 0 ? Near(0) : x; }},
    {"square", [](const Near& x, DType t) { return is_float(t) ? x * x : modular(x, x, std::multiplies<>()); }},
    {"abs", exactly<fabsl>}, {"floor", exactly<floorl>}, {"ceil", exactly<ceill>},
    {"trunc", exactly<truncl>}, {"round", exactly<nearbyintl>},
    {"sign", [](const Near& x, DType) { return std::isnan(x.v) ? x : Near(static_cast<Real>((x.v > 0) - (x.v < 0))); }},
    {"isnan", [](const Near& x, DType) { return Near(std::isnan(x.v)); }, true},
    {"isinf", [](const Near& x, DType) { return Near(std::isinf(x.v)); }, true},
    {"isfinite", [](const Near& x, DType) { return Near(std::isfinite(x.v)); }, true},
    {"logical_not", [](const Near& x, DType) { return Near(x.v == 0); }, true},
};
// clang-format on

Arrays exact_of(const Exact& exact, const Array& x) {
  const DType dtype = exact.gives_bool ? DType::Bool : x.dtype;
  const Rounding of(x.dtype);
  return {made(dtype, x.shape,
               [&](const Sizes& at) { return as_type(dtype, exact.f(x[at], x.dtype)); })};
}

// Functions of two numbers.
Near quotient(const Near& a, const Near& b, DType t) {
  if (is_float(t)) return a / b;
  if (b.v == 0 || (!is_unsigned(t) && b.v == -1 && a.v < 0)) {
    if (b.v == -1 && as_type(t, -a.v).v != a.v) return -a.v;
    return anything();
  }
  const Wide whole = static_cast<Wide>(a.v) / static_cast<Wide>(b.v);
  return static_cast<Real>(whole);
}
Near remainder_of(const Near& a, const Near& b, DType t) {
  if (is_float(t)) return std::fmod(a.v, b.v);
  if (b.v == 0 || (!is_unsigned(t) && b.v == -1)) return b.v == 0 ? anything() : Near(0);
  return static_cast<Real>(static_cast<Wide>(a.v) % static_cast<Wide>(b.v));
}
// The quotient rounded down, and the remainder.
bool rounds_away(Real a, Real b) { return std::fmod(a, b) != 0 && (a < 0) != (b < 0); }
Near floor_quotient(const Near& a, const Near& b, DType t) {
  if (!is_float(t)) {
    if (b.v == 0 || b.v == -1) return anything();
    return static_cast<Real>(static_cast<Wide>(a.v) / static_cast<Wide>(b.v) -
                             Wide{rounds_away(a.v, b.v)});
  }
  if (b.v == 0 || std::isnan(a.v) || std::isnan(b.v)) return a / b;
  if (std::isinf(a.v)) return std::numeric_limits<Real>::quiet_NaN();
  if (std::isinf(b.v)) return a.v != 0 && (a.v < 0) != (b.v < 0) ? -1 : 0;
  return rounded(std::nearbyint((a.v - std::fmod(a.v, b.v)) / b.v) - rounds_away(a.v, b.v), 0, 4);
}
Near floor_remainder(const Near& a, const Near& b, DType t) {
  if (!is_float(t) && (b.v == 0 || b.v == -1)) return b.v == 0 ? anything() : Near(0);
  const Near rest = remainder_of(a, b, t);
  return rounds_away(a.v, b.v) ? Near(rest.v) + Near(b.v) : rest;
}
Near whole_power(const Near& a, const Near& b) {
  const auto odd = [&] { return static_cast<Wide>(b.v) % 2 != 0; };
  if (b.v < 0) return a.v == 1 || (a.v == -1 && !odd()) ? 1 : a.v == -1 ? -1 : 0;
  Near value = 1, base = a;
  for (auto n = static_cast<std::uint64_t>(static_cast<Wide>(b.v)); n > 0; n /= 2) {
    if (n % 2 == 1) value = modular(value, base, std::multiplies<>());
    base = modular(base, base, std::multiplies<>());
  }
  return value;
}
Near power_of(const Near& a, const Near& b, DType t) {
  if (!is_float(t)) return whole_power(a, b);
  const Real v = std::pow(a.v, b.v);
  if (!std::isfinite(v) || !std::isfinite(a.v) || !std::isfinite(b.v)) return v;
  const Real steps = a.v == 0 ? 0 : std::fabs(b.v * std::log2(std::fabs(a.v)));
  return rounded(v, 0, 8 + 4 * steps);
}

struct Pair {
  std::string_view name;
  Near (*f)(const Near& a, const Near& b, DType t);
  bool gives_bool = false, needs_real = false;
};
template <class F>
Near computed(const Near& a, const Near& b, DType t) {
  return is_float(t) ? F()(a, b) : modular(a, b, F());
}
template <class F>
Near compared(const Near& a, const Near& b, DType) {
  return Near(F()(a.v, b.v));
}
template <Real (*F)(Real, Real)>
Near rounded_by(const Near& a, const Near& b, DType) {
  return rounded(F(a.v, b.v), 0, 4);
}
// clang-format off
constexpr Pair kPairs[] = {
    {"operator+", computed<std::plus<>>}, {"operator-", computed<std::minus<>>},
    {"operator*", computed<std::multiplies<>>}, {"operator/", quotient},
    {"operator<", compared<std::less<>>, true}, {"operator<=", compared<std::less_equal<>>, true},
    {"operator>", compared<std::greater<>>, true}, {"operator>=", compared<std::greater_equal<>>, true},
    {"operator==", compared<std::equal_to<>>, true}, {"operator!=", compared<std::not_equal_to<>>, true},
    {"maximum", [](const Near& a, const Near& b, DType) { return larger(a, b); }},
    {"minimum", [](const Near& a, const Near& b, DType) { return smaller_of(a, b); }},
    {"mod", remainder_of}, {"floor_div", floor_quotient}, {"remainder", floor_remainder},
    {"operator&", [](const Near& a, const Near& b, DType) { return modular(a, b, std::bit_and<>()); }},
    {"bit_or", [](const Near& a, const Near& b, DType) { return modular(a, b, std::bit_or<>()); }},
    {"operator^", [](const Near& a, const Near& b, DType) { return modular(a, b, std::bit_xor<>()); }},
    {"pow", power_of},
    {"atan2", rounded_by<atan2l>, false, true}, {"hypot", rounded_by<hypotl>, false, true},
};
// clang-format on

// Two tensors, or one tensor and a number whose side is `side`.
Arrays pair_of(const Pair& pair, const Call& call, const Arrays& x) {
  Array a = x[0], b;
  if (const auto number = call.arg("number")) {
    want(x.size() == 1, "a number and one tensor");
    const DType with = type_with(*number, a.dtype);
    b = Array{with, {}, {as_type(with, Near(static_cast<Real>(call.real("number", 0))))}};
    if (call.arg("side") == "left") std::swap(a, b);
  } else {
    want(x.size() == 2, "two tensors");
    b = x[1];
  }
  DType dtype = promote(a.dtype, b.dtype);
  if (pair.needs_real) dtype = real_type(dtype);
  if (pair.name == "pow" && is_bool(dtype)) dtype = DType::Int8;
  const bool bits =
      pair.name.find_first_of("^&") != std::string_view::npos || pair.name == "bit_or";
  want(!bits || !is_float(dtype), "bits of floats");
  want(pair.name != "operator/" || !is_bool(dtype), "quotients of bool");
  want((pair.name != "mod" && pair.name != "floor_div" && pair.name != "remainder") ||
           !is_bool(dtype),
       "remainders of bool");
  a = cast_to(dtype, a);
  b = cast_to(dtype, b);
  const Rounding of(dtype);
  const DType gives = pair.gives_bool ? DType::Bool : dtype;
  return {made(gives, broadcast(a.shape, b.shape), [&](const Sizes& at) {
    return as_type(gives, pair.f(a[within(at, a.shape)], b[within(at, b.shape)], dtype));
  })};
}
// Writes to x: type and shape stay.
Arrays updated(const Pair& pair, const Call& call, const Arrays& x) {
  Arrays out = pair_of(pair, call, x);
  want(out[0].dtype == x[0].dtype && out[0].shape == x[0].shape, "another type or shape");
  return out;
}

// Each arm is a number or a tensor.
Arrays where_of(const Call& call, const Arrays& x) {
  std::size_t next = 1;
  std::optional<Array> arms[2];
  std::string_view numbers[2] = {call.arg("a").value_or(""), call.arg("b").value_or("")};
  for (const int i : {0, 1})
    if (numbers[i].empty()) {
      want(next < x.size(), "an arm");
      arms[i] = x[next++];
    }
  want(next == x.size(), "too many tensors");
  for (const int i : {0, 1})
    if (!arms[i]) {
      const DType with = type_with(numbers[i], arms[1 - i] ? arms[1 - i]->dtype : DType::Bool);
      arms[i] =
          Array{with, {}, {as_type(with, static_cast<Real>(call.real(i == 0 ? "a" : "b", 0)))}};
    }
  const DType dtype = promote(arms[0]->dtype, arms[1]->dtype);
  const Array a = cast_to(dtype, *arms[0]), b = cast_to(dtype, *arms[1]);
  return {taken(a, broadcast(x[0].shape, broadcast(a.shape, b.shape)), [&](const Sizes& at) {
    const bool first = x[0][within(at, x[0].shape)].v != 0;  // NaN is true
    return first ? a[within(at, a.shape)] : b[within(at, b.shape)];
  })};
}

Arrays clamp_of(const Call& call, const Arrays& x) {
  const auto low = call.required("low"), high = call.required("high");
  DType dtype = promote(x[0].dtype, type_with(low, x[0].dtype));
  dtype = promote(dtype, type_with(high, dtype));
  const Near from = as_type(type_with(low, x[0].dtype), static_cast<Real>(call.real("low", 0))),
             to = as_type(dtype, static_cast<Real>(call.real("high", 0)));
  return {made(dtype, x[0].shape, [&](const Sizes& at) {
    return smaller_of(larger(as_type(dtype, x[0][at]), from), to);
  })};
}

// x^n in the type itself, for any integer n; "real" computes in the reals.
Arrays pow_int(const Call& call, const Arrays& x) {
  const auto n = static_cast<int>(call.whole("exponent", 2));
  want(n >= -8 && n <= 8, "an exponent");
  want(n >= 0 || is_float(x[0].dtype) || call.has("real"), "a whole power");
  const DType dtype = call.has("real")      ? real_type(x[0].dtype)
                      : is_bool(x[0].dtype) ? DType::Int32
                                            : x[0].dtype;
  const Rounding of(dtype);
  return {made(dtype, x[0].shape, [&](const Sizes& at) {
    Near base = cast_cell(x[0].dtype, dtype, x[0][at]), value = 1;
    if (n < 0) base = Near(1) / base;
    for (int i = 0; i < std::abs(n); ++i)
      value = is_float(dtype) ? value * base
                              : as_type(dtype, modular(value, base, std::multiplies<>()));
    return value;
  })};
}
Arrays pow_real(const Call& call, const Arrays& x) {
  const DType dtype = real_type(x[0].dtype);
  const Rounding of(dtype);
  const Near exponent = as_type(dtype, static_cast<Real>(call.real("exponent", 0.5)));
  return {made(dtype, x[0].shape, [&](const Sizes& at) {
    return power_of(cast_cell(x[0].dtype, dtype, x[0][at]), exponent, dtype);
  })};
}

// Reinterprets the bits of integers of one width.
Arrays bitcast_of(const Call& call, const Arrays& x) {
  const DType to = parse_dtype(call.required("to"));
  want(itemsize(to) == itemsize(x[0].dtype) && is_integer(to) && is_integer(x[0].dtype),
       "a bitcast");
  return {made(to, x[0].shape, [&](const Sizes& at) { return as_type(to, x[0][at]); })};
}

// f(g(x)) for relu and negation.
Arrays sequential_of(const Call&, const Arrays& x) {
  want(is_float(x[0].dtype), "floats");
  return {made(x[0].dtype, x[0].shape,
               [&](const Sizes& at) { return x[0][at].v < 0 ? Near(0) : -x[0][at]; })};
}

template <DType To>
Arrays cast_as(const Call&, const Arrays& x) {
  return {cast_to(To, x[0])};
}
// clang-format off
const Definition kOthers[] = {
    {"where", where_of}, {"clamp", clamp_of}, {"pow_int", pow_int}, {"pow_real", pow_real},
    {"bitcast", bitcast_of}, {"sequential", sequential_of},
    {"relu6", [](const Call&, const Arrays& x) -> Arrays {
       return {made(type_with("6", x[0].dtype), x[0].shape, [&](const Sizes& at) { return smaller_of(larger(x[0][at], 0), 6); })};
     }},
    {"cast", [](const Call& call, const Arrays& x) -> Arrays { return {cast_to(parse_dtype(call.required("to")), x[0])}; }},
    {"half", cast_as<DType::Float16>}, {"float_", cast_as<DType::Float32>},
    {"double_", cast_as<DType::Float64>}, {"int_", cast_as<DType::Int32>},
    {"long_", cast_as<DType::Int64>}, {"bool_", cast_as<DType::Bool>},
    {"contiguous clone detach to to_ shard shard_like shard_", [](const Call&, const Arrays& x) -> Arrays { return {x[0]}; }},
};
// clang-format on

}  // namespace

std::span<const Definition> elementwise_definitions() {
  static const std::vector<Definition> all = [] {
    std::vector<Definition> rows(std::begin(kOthers), std::end(kOthers));
    for (const Curve& f : kCurves)
      rows.push_back(
          {f.name, [&f](const Call& c, const Arrays& x) { return curve_of(f, c, x[0]); }});
    for (const Exact& f : kExacts)
      rows.push_back({f.name, [&f](const Call&, const Arrays& x) { return exact_of(f, x[0]); }});
    for (const Pair& f : kPairs)
      rows.push_back({f.name, [&f](const Call& c, const Arrays& x) { return pair_of(f, c, x); }});
    for (const std::string_view name : {"operator+=", "operator-=", "operator*=", "operator/="}) {
      const Pair& f = *std::ranges::find(kPairs, name.substr(0, name.size() - 1), &Pair::name);
      rows.push_back({name, [&f](const Call& c, const Arrays& x) { return updated(f, c, x); }});
    }
    return rows;
  }();
  return all;
}

}  // namespace touchstone::fuzz::defined
