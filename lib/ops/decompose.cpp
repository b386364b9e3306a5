#include "touchstone/ops/decompose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

namespace touchstone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A node with the operators of a formula.
class V {
 public:
  explicit V(LazyOpPtr node) : node_(std::move(node)) {}
  const LazyOpPtr& node() const { return node_; }
  DType dtype() const { return node_->dtype(); }
  V number(double x) const {
    const Shape& shape = node_->shape();
    return V(
        LazyOp::constant(Scalar::from_double(dtype(), x),
                         ShapeTracker::contiguous(Shape(shape.size(), sint(1))).expand(shape)));
  }
  /// The value of a constant, also if cast.
  std::optional<double> constant() const {
    const bool converts = node_->op() == Op::Cast && !node_->cast_arg().bitcast;
    const LazyOp& of = converts ? *node_->src()[0] : *node_;
    if (of.op() != Op::Const || of.constant().st.masked()) return std::nullopt;
    return of.constant().value.to_double();
  }
  static V apply(Op op, const std::vector<LazyOpPtr>& operands) {
    return V(LazyOp::make(op, operands, {}));
  }

  friend V operator+(const V& a, const V& b) { return apply(Op::Add, {a.node_, b.node_}); }
  friend V operator-(const V& a, const V& b) { return apply(Op::Sub, {a.node_, b.node_}); }
  friend V operator*(const V& a, const V& b) { return apply(Op::Mul, {a.node_, b.node_}); }
  friend V operator/(const V& a, const V& b) { return apply(Op::Div, {a.node_, b.node_}); }
  friend V operator<(const V& a, const V& b) { return apply(Op::CmpLt, {a.node_, b.node_}); }
  friend V operator-(const V& a) { return apply(Op::Neg, {a.node_}); }
  friend V operator+(const V& a, double b) { return a + a.number(b); }
  friend V operator-(const V& a, double b) { return a - a.number(b); }
  friend V operator*(const V& a, double b) { return a * a.number(b); }
  friend V operator<(const V& a, double b) { return a < a.number(b); }

 private:
  LazyOpPtr node_;
};

// Each is within a few ULP of its function except where its own intermediate values overflow or
// cancel. `kCalls`: exponentials within are FUNCTION nodes, else EXP2 of x log2 e, off by |x| ULP.
template <bool kCalls>
class Formulas {
 public:
  /// y: of a function of two operands.
  static V of(NamedFunction function, const V& x, const V& y) {
    switch (function) {
      case NamedFunction::Exp: return exp2(x * std::numbers::log2e);
      case NamedFunction::Expm1: return expm1(x);
      case NamedFunction::Log: return log(x);
      case NamedFunction::Log10:
        return unary(Op::Log2, x) * (std::numbers::ln2 / std::numbers::ln10);
      case NamedFunction::Log1p: return log1p(x);
      case NamedFunction::Rsqrt: return recip(sqrt(x));
      case NamedFunction::Sigmoid: return sigmoid(x);
      case NamedFunction::Silu: return x * call(NamedFunction::Sigmoid, x);
      case NamedFunction::Tanh: return tanh(x);
      case NamedFunction::Erf: return erf(x);
      case NamedFunction::Gelu:
        return x * 0.5 * (call(NamedFunction::Erf, x * (std::numbers::sqrt2 / 2)) + 1);
      case NamedFunction::GeluTanh:
        return x * 0.5 *
               (call(NamedFunction::Tanh,
                     (x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi)) +
                1);
      case NamedFunction::Softplus: return larger(x, x.number(0)) + log1p(exp(-abs(x)));
      case NamedFunction::Cos: return cos(x);
      case NamedFunction::Tan: return sin(x) / cos(x);
      case NamedFunction::Sinh: return sinh(x);
      case NamedFunction::Cosh: return cosh(x);
      case NamedFunction::Asinh: return asinh(x);
      case NamedFunction::Acosh: return acosh(x);
      case NamedFunction::Atanh: return atanh(x);
      case NamedFunction::Round: return round(x);
      case NamedFunction::Floor: return floor(x);
      case NamedFunction::Ceil: return -floor(-x);
      case NamedFunction::Trunc: return trunc(x);
      case NamedFunction::Erfc: return erfc(x);
      case NamedFunction::Asin: return atan(x / sqrt((-x + 1) * (x + 1)));
      case NamedFunction::Acos: return atan(sqrt((-x + 1) / (x + 1))) * 2;
      case NamedFunction::Atan: return atan(x);
      case NamedFunction::Cbrt: return cbrt(x);
      case NamedFunction::Atan2: return atan2(x, y);
      case NamedFunction::Pow: return pow(x, y);
      case NamedFunction::Hypot: return hypot(x, y);
      case NamedFunction::Lgamma: return lgamma(x);
      case NamedFunction::Digamma: return digamma(x);
      case NamedFunction::Erfinv: return erfinv(x);
    }
    return x;
  }

 private:
  static V unary(Op op, const V& x) { return V::apply(op, {x.node()}); }
  static V recip(const V& x) { return unary(Op::Recip, x); }
  static V sqrt(const V& x) { return unary(Op::Sqrt, x); }
  static V sin(const V& x) { return unary(Op::Sin, x); }
  static V exp2(const V& x) { return unary(Op::Exp2, x); }
  static V larger(const V& a, const V& b) { return V::apply(Op::Max, {a.node(), b.node()}); }
  static V abs(const V& x) { return larger(x, -x); }
  static V equal(const V& a, const V& b) { return V::apply(Op::CmpEq, {a.node(), b.node()}); }
  static V equal(const V& a, double b) { return equal(a, a.number(b)); }
  static V where(const V& condition, const V& yes, const V& no) {
    return V::apply(Op::Where, {condition.node(), yes.node(), no.node()});
  }
  static V call(NamedFunction f, const V& x) { return V(LazyOp::function(f, {x.node()})); }
  static V finite(const V& x) { return abs(x) < kInfinity; }
  static V negative(const V& x) { return where(equal(x, 0), recip(x), x) < 0; }  // -0, too
  static V signed_as(const V& magnitude, const V& x) {
    return where(equal(x, 0), x, where(x < 0, -magnitude, magnitude));
  }

  static V exp(const V& x) {
    return kCalls ? call(NamedFunction::Exp, x) : of(NamedFunction::Exp, x, x);
  }
  static V log(const V& x) { return unary(Op::Log2, x) * std::numbers::ln2; }
  static V sigmoid(const V& x) { return recip(exp2(x * -std::numbers::log2e) + 1); }

  // Kahan's method: with u = exp(x) as rounded, (u - 1) / log(u) is near (exp(x) - 1) / x.
  static V expm1(const V& x) {
    const V u = exp(x), rest = u - 1, near = x * (x * 0.5 + 1);
    return where(abs(x) < 1, where(abs(x) < beside_one(x), near, rest * (x / log(u))), rest);
  }
  static V log1p(const V& x) {
    const V u = x + 1, rest = u - 1, near = x * (x * -0.5 + 1);
    return where(abs(x) < 1, where(abs(x) < beside_one(x), near, log(u) * (x / rest)), log(u));
  }
  // Two terms of the series suffice below it, and 1 + x differs from 1 above it.
  static double beside_one(const V& x) {
    return std::ldexp(1.0, -(info(x.dtype()).digits + 1) / 2);
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
    return where(x < 1, x.number(kNan), value);
  }
  static V atanh(const V& x) {
    const V a = abs(x), within = log1p(a * 2 / (-a + 1)) * 0.5;
    const V infinity = x.number(kInfinity);
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

  static V trunc(const V& x) { return signed_as(floor(abs(x)), x); }
  static V between(const V& x, double low, double high) {
    return -larger(-larger(x, x.number(low)), x.number(-high));
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
    const V bounded = between(magnitude, 1, 6);
    const V u = recip(bounded) * 2.4 - 1.4;
    const V large = x.number(1) - exp(-(bounded * bounded)) * chebyshev_sum(far, u);
    return where(magnitude < 1, small, where(x < 0, -large, large));
  }
  // As erf beyond 1, up to where the result is 0 in every type.
  static V erfc(const V& x) {
    constexpr double kEnd = 28;
    static const std::vector<double> far = chebyshev(1 / kEnd, 1, [](long double v) -> long double {
      return std::exp(1 / (v * v)) * std::erfc(1 / v);
    });
    const V magnitude = abs(x), bounded = between(magnitude, 1, kEnd);
    const V u = recip(bounded) * (2 * kEnd / (kEnd - 1)) - (kEnd + 1) / (kEnd - 1);
    const V large = exp(-(bounded * bounded)) * chebyshev_sum(far, u);
    return where(magnitude < 1, -erf(x) + 1, where(x < 0, -large + 2, large));
  }

  // x f(w) with w = -log(1 - x^2), or x g(sqrt(w)) from w = 6 on.
  static V erfinv(const V& x) {
    constexpr double kSwitch = 6, kEnd = 38;
    // By Newton's method for the convex erfc, from below.
    static constexpr auto ratio = [](long double w) -> long double {
      const long double at = std::sqrt(-std::expm1(-w)), rest = std::exp(-w) / (1 + at);
      long double y = 0;
      for (int i = 0; i < 200; ++i)
        y +=
            (std::erfc(y) - rest) * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi_v<long double>);
      return y / at;
    };
    static const std::vector<double> near = chebyshev(0, kSwitch, ratio);
    static const std::vector<double> far =
        chebyshev(std::sqrt(kSwitch), std::sqrt(kEnd),
                  [](long double s) -> long double { return ratio(s * s); });
    const V w = -log((-x + 1) * (x + 1)), low = between(w, 0, kSwitch);
    const double first = std::sqrt(kSwitch), last = std::sqrt(kEnd);
    const V root = sqrt(between(w, kSwitch, kEnd));
    const V inner = chebyshev_sum(near, low * (2 / kSwitch) - 1);
    const V outer = chebyshev_sum(far, (root * 2 - (first + last)) * (1 / (last - first)));
    const V infinite =
        where(equal(abs(x), 1), x.number(kInfinity), where(w < kSwitch, inner, outer));
    return x * infinite;
  }

  // What x lies above or below the nearest whole number, times pi.
  static V pi_beyond_whole(const V& x) { return (x - round(x)) * std::numbers::pi; }
  // sum of factors[k] * x^-(2k + 1)
  static V of_odd_powers(const V& x, const std::array<double, 8>& factors) {
    const V over = recip(x), square = over * over;
    V sum = x.number(factors.back());
    for (std::size_t k = factors.size() - 1; k-- > 0;) sum = sum * square + factors[k];
    return sum * over;
  }
  // Stirling's series from 8 on; below it (x - 1) (x - 2) f(x), from x + 1 if x < 1; negative x by
  // reflection.
  static V lgamma(const V& x) {
    constexpr double kFar = 8;
    static const std::vector<double> near = chebyshev(1, kFar, [](long double t) -> long double {
      int sign = 0;
      return ::lgammal_r(t, &sign) / ((t - 1) * (t - 2));
    });
    // B_2k / (2k (2k - 1))
    static constexpr std::array<double, 8> kStirling = {1. / 12,    -1. / 360,      1. / 1260,
                                                        -1. / 1680, 1. / 1188,      -691. / 360360,
                                                        1. / 156,   -3617. / 122400};
    const V a = abs(x), small = a < 1, t = between(where(small, a + 1, a), 1, kFar);
    const V first = where(small, a, t - 1), second = where(small, a - 1, t - 2);  // t - 1, t - 2
    const V product =
        first * (second * chebyshev_sum(near, (t * 2 - (kFar + 1)) * (1 / (kFar - 1))));
    const V inner = where(equal(product, 0), x.number(0), product);  // +0 at 1 and 2
    const V far = larger(a, x.number(kFar));
    const V series = of_odd_powers(far, kStirling) + 0.5 * std::log(2 * std::numbers::pi);
    const V outer = (far - 0.5) * (log(far) - 1) + (series - 0.5);
    const V above = where(a < kFar, where(small, inner - log(a), inner), outer);
    const V below = -log(abs(sin(pi_beyond_whole(a)))) + std::log(std::numbers::pi);
    return where(finite(x), where(x < 0, below - log(a) - above, above), a);
  }
  // log(x) - 1 / 2x - ... from 8 on, after 8 steps of f(x) = f(x + 1) - 1 / x; negative x by
  // reflection.
  static V digamma(const V& x) {
    // B_2k / 2k
    static constexpr std::array<double, 8> kTerms = {
        1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12, -3617. / 8160};
    const V below = x < 0, z = where(below, -x + 1, x), far = z + 8;
    V steps = recip(z);
    for (int k = 1; k < 8; ++k) steps = steps + recip(z + k);
    const V over = recip(far);
    const V above = log(far) - over * (of_odd_powers(far, kTerms) + 0.5) - steps;
    const V angle = pi_beyond_whole(x), a = abs(angle);
    const V cosine = sin(-a + std::numbers::pi / 2);
    const V reflected = above - cosine / sin(angle) * std::numbers::pi;
    const V there = where(equal(angle, 0), x.number(kNan), reflected);
    return where(equal(x, kInfinity), x, where(below, there, above));
  }

  // x f(x^2) up to 1, where f(s) = atan(r)/r at r = sqrt(s).
  static V atan(const V& x) {
    static const std::vector<double> near = chebyshev(
        0, 1, [](long double s) -> long double { return std::atan(std::sqrt(s)) / std::sqrt(s); });
    const V a = abs(x), far = x.number(1) < a, z = where(far, recip(a), a);
    const V angle = z * chebyshev_sum(near, z * z * 2 - 1);
    return signed_as(where(far, -angle + std::numbers::pi / 2, angle), x);
  }
  static V atan2(const V& y, const V& x) {
    const V a = abs(y), b = abs(x);
    const V slope = where(equal(y, 0), y.number(0), where(equal(a, b), y.number(1), a / b));
    const V angle = atan(slope), whole = where(negative(x), -angle + std::numbers::pi, angle);
    return where(equal(x, x), where(negative(y), -whole, whole), x);
  }
  static V hypot(const V& x, const V& y) {
    const V a = abs(x), b = abs(y), most = larger(a, b), ratio = -larger(-a, -b) / most;
    const V length = where(equal(most, 0), most, most * sqrt(ratio * ratio + 1));
    return where(equal(a, kInfinity), a, where(equal(b, kInfinity), b, length));
  }
  // One step of Newton's method from 2^(log2(x) / 3).
  static V cbrt(const V& x) {
    const V a = abs(x), near = exp2(unary(Op::Log2, a) * (1.0 / 3));
    return signed_as(where(finite(a), near - (near - a / (near * near)) * (1.0 / 3), a), x);
  }

  static V power(const V& x, int n) {
    if (n < 2) return n == 0 ? x.number(1) : x;
    const V half = power(x, n / 2);
    return n % 2 == 0 ? half * half : half * half * x;
  }
  // 2^(y log2 |x|); small whole powers by products. Where x is 0, infinite or NaN without
  // logarithm.
  static V pow(const V& x, const V& y) {
    if (const std::optional<double> n = y.constant();
        n && *n == std::floor(*n) && std::abs(*n) <= 16)
      return power(*n < 0 ? recip(x) : x, static_cast<int>(std::abs(*n)));
    const V a = abs(x), plain = finite(a) * (x.number(0) < a), one = x.number(1);
    const V base = where(plain, a, one);
    const V known = equal(base, 1) * -finite(y);  // 1, where the product is 0 * infinity
    const V computed = where(known, one, exp2(unary(Op::Log2, base) * y));
    const V edge = where(y.number(0) < y, a, where(y < 0, recip(a), where(equal(y, 0), one, y)));
    const V size = where(plain, computed, edge), half = y * 0.5;
    const V whole = equal(trunc(y), y), odd = -equal(trunc(half), half);
    const V minus = where(whole, where(odd, -size, size), where(plain, x.number(kNan), size));
    return where(negative(x), minus, size);
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

// Computed in float64, whose errors float32 does not show.
constexpr bool is_wide(NamedFunction f) {
  constexpr NamedFunction kWide[] = {
      NamedFunction::Erfc, NamedFunction::Asin,   NamedFunction::Acos,    NamedFunction::Atan,
      NamedFunction::Cbrt, NamedFunction::Lgamma, NamedFunction::Digamma, NamedFunction::Erfinv};
  return info(f).arity == 2 || std::ranges::find(kWide, f) != std::end(kWide);
}

LazyOpPtr formula_of(NamedFunction function, const std::vector<LazyOpPtr>& operands, bool calls) {
  const DType own = operands.at(0)->dtype();
  const DType in = is_wide(function) ? DType::Float64 : itemsize(own) < 4 ? DType::Float32 : own;
  const auto as = [](const LazyOpPtr& x, DType to) {
    return x->dtype() == to ? x : LazyOp::cast(x, to);
  };
  const V x(as(operands[0], in)), y(as(operands.back(), in));
  const V made = calls ? Formulas<true>::of(function, x, y) : Formulas<false>::of(function, x, y);
  return as(made.node(), own);
}

}  // namespace

LazyOpPtr decomposed(NamedFunction function, const std::vector<LazyOpPtr>& operands) {
  return formula_of(function, operands, false);
}

namespace {

using HasCode = std::function<bool(const LazyOp&)>;

LazyOpPtr replaced(const LazyOpPtr& kernel, bool keeps, const HasCode& has_code) {
  return rebuild(kernel, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
    const LazyOpPtr made = src == node->src() ? node : with_src(node, src);
    if (made->op() != Op::Function || made->function_arg().or_last) return made;
    if (has_code && has_code(*made)) return made;
    const NamedFunction function = made->function_arg().function;
    LazyOpPtr formula = formula_of(function, src, !keeps);
    const bool calls = function == NamedFunction::Gelu || function == NamedFunction::GeluTanh ||
                       function == NamedFunction::Silu || !keeps;
    if (calls) formula = replaced(formula, keeps, has_code);
    if (!keeps) return formula;
    if (info(function).exact) return made;
    std::vector<LazyOpPtr> both = src;
    both.push_back(std::move(formula));
    return LazyOp::make(Op::Function, std::move(both), FunctionArg{function, true});
  });
}

}  // namespace

LazyOpPtr without_functions(const LazyOpPtr& kernel, const HasCode& has_code) {
  return replaced(kernel, false, has_code);
}
LazyOpPtr with_decompositions(const LazyOpPtr& kernel, const HasCode& is_alone) {
  return replaced(kernel, true, is_alone);
}

}  // namespace touchstone
