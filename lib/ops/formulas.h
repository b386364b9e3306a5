#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "touchstone/dtype/dtype.h"
#include "touchstone/ops/function.h"
#include "touchstone/ops/op.h"

// The named functions as formulas over the elementwise ops: the one place that has them, for
// kernels (LazyOp) and for tensors (LazyBuffer). Each is within a few ULP of its function except
// where its own intermediate values overflow.

namespace touchstone::formulas {

/// Makes nodes: apply(op, operands), number(like, x), a constant of the shape and type of `like`,
/// and call(function, x), a named function within the formula of another.
template <class Node>
struct Builder;

/// A node with the operators of a formula.
template <class Node>
class Value {
 public:
  explicit Value(Node node) : node_(std::move(node)) {}
  const Node& node() const { return node_; }
  DType dtype() const { return node_->dtype(); }
  Value number(double x) const { return Value(Builder<Node>::number(node_, x)); }
  static Value apply(Op op, const std::vector<Node>& operands) {
    return Value(Builder<Node>::apply(op, operands));
  }

  friend Value operator+(const Value& a, const Value& b) {
    return apply(Op::Add, {a.node_, b.node_});
  }
  friend Value operator-(const Value& a, const Value& b) {
    return apply(Op::Sub, {a.node_, b.node_});
  }
  friend Value operator*(const Value& a, const Value& b) {
    return apply(Op::Mul, {a.node_, b.node_});
  }
  friend Value operator/(const Value& a, const Value& b) {
    return apply(Op::Div, {a.node_, b.node_});
  }
  friend Value operator<(const Value& a, const Value& b) {
    return apply(Op::CmpLt, {a.node_, b.node_});
  }
  friend Value operator-(const Value& a) { return apply(Op::Neg, {a.node_}); }
  friend Value operator+(const Value& a, double b) { return a + a.number(b); }
  friend Value operator-(const Value& a, double b) { return a - a.number(b); }
  friend Value operator*(const Value& a, double b) { return a * a.number(b); }
  friend Value operator<(const Value& a, double b) { return a < a.number(b); }

 private:
  Node node_;
};

template <class Node>
class Formulas {
 public:
  using V = Value<Node>;

  /// nullopt if there is no formula. x: float32 or float64.
  static std::optional<V> of(NamedFunction function, const V& x) {
    switch (function) {
      case NamedFunction::Exp:
        return exp(x);
      case NamedFunction::Expm1:
        return expm1(x);
      case NamedFunction::Log:
        return log(x);
      case NamedFunction::Log10:
        return unary(Op::Log2, x) * (std::numbers::ln2 / std::numbers::ln10);
      case NamedFunction::Log1p:
        return log1p(x);
      case NamedFunction::Rsqrt:
        return recip(sqrt(x));
      case NamedFunction::Sigmoid:
        return sigmoid(x);
      case NamedFunction::Silu:
        return x * sigmoid(x);
      case NamedFunction::Tanh:
        return tanh(x);
      case NamedFunction::Erf:
        return erf(x);
      case NamedFunction::Gelu:
        return x * 0.5 * (call(NamedFunction::Erf, x * (std::numbers::sqrt2 / 2)) + 1);
      case NamedFunction::GeluTanh:
        return x * 0.5 *
               (call(NamedFunction::Tanh,
                     (x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi)) +
                1);
      case NamedFunction::Softplus:
        return larger(x, x.number(0)) + log1p(exp(-abs(x)));
      case NamedFunction::Cos:
        return cos(x);
      case NamedFunction::Tan:
        return sin(x) / cos(x);
      case NamedFunction::Sinh:
        return sinh(x);
      case NamedFunction::Cosh:
        return cosh(x);
      case NamedFunction::Asinh:
        return asinh(x);
      case NamedFunction::Acosh:
        return acosh(x);
      case NamedFunction::Atanh:
        return atanh(x);
      case NamedFunction::Round:
        return round(x);
      case NamedFunction::Floor:
        return floor(x);
      case NamedFunction::Ceil:
        return -floor(-x);
      case NamedFunction::Trunc:
        return signed_as(floor(abs(x)), x);
      case NamedFunction::Erfc:
      case NamedFunction::Asin:
      case NamedFunction::Acos:
      case NamedFunction::Atan:
      case NamedFunction::Cbrt:
      case NamedFunction::Lgamma:
      case NamedFunction::Digamma:
      case NamedFunction::Erfinv:
      case NamedFunction::Atan2:
      case NamedFunction::Pow:
      case NamedFunction::Hypot:
        break;
    }
    return std::nullopt;
  }

 private:
  static V unary(Op op, const V& x) { return V::apply(op, {x.node()}); }
  static V recip(const V& x) { return unary(Op::Recip, x); }
  static V sqrt(const V& x) { return unary(Op::Sqrt, x); }
  static V sin(const V& x) { return unary(Op::Sin, x); }
  static V exp2(const V& x) { return unary(Op::Exp2, x); }
  static V larger(const V& a, const V& b) { return V::apply(Op::Max, {a.node(), b.node()}); }
  static V abs(const V& x) { return larger(x, -x); }
  static V equal(const V& a, double b) {
    return V::apply(Op::CmpEq, {a.node(), a.number(b).node()});
  }
  static V where(const V& condition, const V& yes, const V& no) {
    return V::apply(Op::Where, {condition.node(), yes.node(), no.node()});
  }
  static V call(NamedFunction f, const V& x) { return V(Builder<Node>::call(f, x.node())); }
  static V signed_as(const V& magnitude, const V& x) {
    return where(equal(x, 0), x, where(x < 0, -magnitude, magnitude));
  }

  static V exp(const V& x) { return exp2(x * std::numbers::log2e); }
  static V log(const V& x) { return unary(Op::Log2, x) * std::numbers::ln2; }
  static V sigmoid(const V& x) { return recip(exp2(x * -std::numbers::log2e) + 1); }

  // Kahan's method: with u = exp(x) as rounded, (u - 1) / log(u) is near (exp(x) - 1) / x.
  static V expm1(const V& x) {
    const V u = exp(x), rest = u - 1;
    return where(abs(x) < 1, where(equal(u, 1), x, rest * (x / log(u))), rest);
  }
  static V log1p(const V& x) {
    const V u = x + 1, rest = u - 1;
    return where(abs(x) < 1, where(equal(u, 1), x, log(u) * (x / rest)), log(u));
  }

  // sin 2x / (2 sin x), or 1 - 2 sin^2(x/2) where sin x is small or 2x overflows: halves and
  // doubles are exact.
  static V cos(const V& x) {
    const double most = std::ldexp(1.0, info(x.dtype()).max_exponent - 1);
    const V sine = sin(x), half = sin(x * 0.5), near = where(abs(x) < most, sine, x.number(0));
    return where(abs(near) < 0.5, -(half * half * 2) + 1, sin(x * 2) / (sine * 2));
  }

  static V sinh(const V& x) {
    const V half = exp(abs(x) * 0.5), square = x * x;
    const V far = half * (half * 0.5) - recip(half * half) * 0.5;
    // x + x^3 / 3! + x^5 / 5! + ..., where exp(x) - exp(-x) cancels.
    const double most = info(x.dtype()).digits > 24 ? 19 : 11;
    double last = std::tgamma(most + 1);
    V rest = x.number(1 / last);
    for (double n = most; n > 3; n -= 2) rest = rest * square + 1 / (last /= n * (n - 1));
    return where(abs(x) < 1, x + x * (square * rest), where(x < 0, -far, far));
  }
  static V cosh(const V& x) {
    const V half = exp(abs(x) * 0.5);
    return half * (half * 0.5) + recip(half * half) * 0.5;
  }
  // From here on x^2 + 1 rounds to x^2.
  static double alone(DType dtype) { return std::ldexp(1.0, (info(dtype).digits + 1) / 2); }
  static V asinh(const V& x) {
    const V a = abs(x), square = a * a;
    const V near = log1p(a + square / (sqrt(square + 1) + 1));
    return signed_as(where(a < alone(x.dtype()), near, log(a) + std::numbers::ln2), x);
  }
  static V acosh(const V& x) {
    const V above = x - 1, near = log1p(above + sqrt(above * (above + 2)));
    const V value = where(x < alone(x.dtype()), near, log(x) + std::numbers::ln2);
    return where(x < 1, x.number(std::numeric_limits<double>::quiet_NaN()), value);
  }
  static V atanh(const V& x) {
    const V a = abs(x), within = log1p(a * 2 / (-a + 1)) * 0.5;
    const V infinity = x.number(std::numeric_limits<double>::infinity());
    return signed_as(where(equal(a, 1), infinity, within), x);
  }

  // Adding and subtracting a number whose ULP is 1 rounds to the nearest whole number; larger
  // floats have no fraction.
  static V round(const V& x) {
    const double whole = std::ldexp(1.0, info(x.dtype()).digits - 1);
    const V a = abs(x), near = (a + whole) - whole;
    return where(a < whole, where(x < 0, -near, where(equal(near, 0), x * 0, near)), x);
  }
  static V floor(const V& x) {
    const V near = round(x);
    return where(x < near, near - 1, near);
  }

  // The Chebyshev interpolation of a function on [low, high]: the sum of coefficients[i] * T_i(u),
  // with u running from -1 to 1. Terms below `least` are dropped; the default is below double
  // precision.
  static std::vector<double> chebyshev(double low, double high, long double (*f)(long double),
                                       double least = 2e-17) {
    constexpr int kPoints = 48;
    constexpr long double kPi = std::numbers::pi_v<long double>;
    std::vector<double> coefficients;
    for (int j = 0; j < kPoints; ++j) {
      long double sum = 0;
      for (int k = 0; k < kPoints; ++k) {
        const long double angle = kPi * (static_cast<long double>(k) + 0.5L) / kPoints;
        sum += f(low + (high - low) * (std::cos(angle) + 1) / 2) * std::cos(j * angle);
      }
      coefficients.push_back(static_cast<double>(sum * (j == 0 ? 1 : 2) / kPoints));
    }
    while (coefficients.size() > 1 && std::abs(coefficients.back()) < least)
      coefficients.pop_back();
    return coefficients;
  }

  // Evaluates the sum by Clenshaw's recurrence.
  static V chebyshev_sum(const std::vector<double>& coefficients, const V& u) {
    const V twice = u * 2;
    V next = u.number(0), after = next;
    for (std::size_t i = coefficients.size(); i-- > 1;) {
      V now = twice * next + coefficients[i] - after;
      after = std::exchange(next, std::move(now));
    }
    return u * next + coefficients[0] - after;
  }

  // A few ULP of float64: x f(x^2) for |x| < 1, where f(s) = erf(r)/r at r = sqrt(s); else 1 -
  // exp(-x^2) g(1/|x|) with the sign of x, where g(v) = exp(1/v^2) erfc(1/v). From |x| = 6 on the
  // result is 1 in every type.
  static V erf(const V& x) {
    static const std::vector<double> near = chebyshev(
        0, 1, [](long double s) -> long double { return std::erf(std::sqrt(s)) / std::sqrt(s); });
    static const std::vector<double> far = chebyshev(1.0 / 6, 1, [](long double v) -> long double {
      return std::exp(1 / (v * v)) * std::erfc(1 / v);
    });
    const V square = x * x, magnitude = abs(x);
    const V small = x * chebyshev_sum(near, square * 2 - 1);
    // Both arms are computed: clamp each argument to where its arm is finite.
    const V bounded = -larger(-larger(magnitude, x.number(1)), x.number(-6));
    const V u = recip(bounded) * 2.4 - 1.4;
    const V large = x.number(1) - exp(-(bounded * bounded)) * chebyshev_sum(far, u);
    return where(magnitude < 1, small, where(x < 0, -large, large));
  }

  // The interpolation as coefficients of `terms` powers of x on [0, high], the highest last.
  static std::vector<double> power_series(double high, long double (*f)(long double),
                                          std::size_t terms) {
    std::vector<double> sum = chebyshev(0, high, f, 0);
    sum.resize(terms);
    std::vector<long double> powers(terms), now(terms), before(terms);  // of T_i, T_(i-1)
    now[0] = 1;
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t k = 0; k < terms; ++k) powers[k] += sum[i] * now[k];
      std::vector<long double> next(terms);  // 2 u T_i - T_(i-1), where u = 2 x / high - 1
      const long double twice = i == 0 ? 1 : 2;
      for (std::size_t k = 0; k < terms; ++k)
        next[k] = twice * ((k == 0 ? 0 : now[k - 1] * 2 / high) - now[k]) - before[k];
      before = std::exchange(now, std::move(next));
    }
    return {powers.begin(), powers.end()};
  }

  // x f(x^2) near 0, where f(s) = tanh(r)/r at r = sqrt(s), to the precision of x; else 2 / (1 +
  // exp(-2x)) - 1. Few steps, cheap enough to recompute in several kernels.
  static V tanh(const V& x) {
    const auto f = [](long double s) -> long double {
      return std::tanh(std::sqrt(s)) / std::sqrt(s);
    };
    struct Near {
      double end;  // of s
      std::vector<double> powers;
    };
    static const Near wide{0.25, power_series(0.25, f, 11)},
        narrow{0.125, power_series(0.125, f, 4)};
    const Near& near = x.dtype() == DType::Float32 ? narrow : wide;
    const V s = x * x;
    V small = x.number(near.powers.back());
    for (std::size_t i = near.powers.size() - 1; i-- > 0;) small = small * s + near.powers[i];
    const V large = recip(exp2(x * (-2 * std::numbers::log2e)) + 1) * 2 - 1;
    return where(s < near.end, small * x, large);
  }
};

/// The formula at x; narrow floats are computed in float32. nullopt if there is none.
template <class Node, class Cast>
std::optional<Node> formula(NamedFunction function, const Node& x, Cast cast) {
  const bool narrow = itemsize(x->dtype()) < 4;
  const auto value =
      Formulas<Node>::of(function, Value<Node>(narrow ? cast(x, DType::Float32) : x));
  if (!value) return std::nullopt;
  return narrow ? cast(value->node(), x->dtype()) : value->node();
}

}  // namespace touchstone::formulas
