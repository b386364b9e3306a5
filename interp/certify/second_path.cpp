#include "touchstone/interp/certify/second_path.h"

#include <array>
#include <bit>
#include <cmath>

#include <mpfr.h>

namespace touchstone::interp {
namespace {

// ---- constants and tables, from MPFR on first use

using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

class Number {
 public:
  explicit Number(double x, mpfr_prec_t precision = 400) {
    mpfr_init2(value_, precision);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_ptr get() { return value_; }
  DoubleDouble split() {
    const double hi = mpfr_get_d(value_, MPFR_RNDN);
    mpfr_sub_d(value_, value_, hi, MPFR_RNDN);
    return {hi, mpfr_get_d(value_, MPFR_RNDN)};
  }

 private:
  mpfr_t value_;
};

DoubleDouble value_of(Function f, double x) {
  Number n(x);
  f(n.get(), n.get(), MPFR_RNDN);
  return n.split();
}

constexpr int kExp2Steps = 32;   // in [0, 1)
constexpr int kLog2Cells = 128;  // in [1, 2)
constexpr int kSinSteps = 64;    // in [0, 1); used up to pi/4
constexpr int kPiWords = 6;

struct Log2Cell {
  double reciprocal;  // c: at most 9 bits, so that c * x is exact
  DoubleDouble log2;  // -log2(c)
};

struct Tables {
  DoubleDouble ln2, log2_e, half_pi, minus_half_log2_e;
  std::array<DoubleDouble, kExp2Steps> exp2;
  std::array<Log2Cell, kLog2Cells> log2;
  std::array<DoubleDouble, kSinSteps> sin, cos;
  std::array<double, 6> exp2_terms;  // ln2^k / k! from k = 2
  std::array<double, 8> log2_terms;  // (-1)^(k+1) / (k ln 2) from k = 3
  // 64 zeros, then the binary digits of 2/pi after the point.
  std::array<std::uint64_t, kPiWords> two_over_pi;

  Tables() {
    ln2 = value_of(mpfr_log, 2);
    Number e(2);
    mpfr_log(e.get(), e.get(), MPFR_RNDN);
    mpfr_ui_div(e.get(), 1, e.get(), MPFR_RNDN);
    const double inverse = mpfr_get_d(e.get(), MPFR_RNDN);
    log2_e = e.split();
    minus_half_log2_e = {log2_e.hi * -0.5, log2_e.lo * -0.5};
    for (std::size_t k = 0; k < log2_terms.size(); ++k)
      log2_terms[k] = (k % 2 == 0 ? inverse : -inverse) / static_cast<double>(k + 3);
    double term = ln2.hi;
    for (std::size_t k = 0; k < exp2_terms.size(); ++k)
      exp2_terms[k] = term *= ln2.hi / static_cast<double>(k + 2);
    for (std::size_t k = 0; k < exp2.size(); ++k)
      exp2[k] = value_of(mpfr_exp2, static_cast<double>(k) / kExp2Steps);
    for (std::size_t k = 0; k < sin.size(); ++k) {
      sin[k] = value_of(mpfr_sin, static_cast<double>(k) / kSinSteps);
      cos[k] = value_of(mpfr_cos, static_cast<double>(k) / kSinSteps);
    }
    for (std::size_t k = 0; k < log2.size(); ++k) {
      // Arguments from sqrt(2) up are halved; cells that touch 1 have c = 1, to avoid cancellation
      // there.
      double middle = 1 + (static_cast<double>(k) + 0.5) / kLog2Cells;
      if (k >= kHalved) middle /= 2;
      const bool at_one = k == 0 || k == kLog2Cells - 1;
      const double c = at_one ? 1 : std::nearbyint(256 / middle) / 256;
      log2[k] = {c, -value_of(mpfr_log2, c)};
    }
    Number pi(0);
    mpfr_const_pi(pi.get(), MPFR_RNDN);
    mpfr_ui_div(pi.get(), 2, pi.get(), MPFR_RNDN);
    two_over_pi[0] = 0;
    for (std::size_t w = 1; w < two_over_pi.size(); ++w) {
      two_over_pi[w] = 0;
      for (int half = 0; half < 2; ++half) {
        mpfr_mul_2ui(pi.get(), pi.get(), 32, MPFR_RNDN);
        const auto digits = static_cast<std::uint32_t>(mpfr_get_ui(pi.get(), MPFR_RNDZ));
        mpfr_sub_ui(pi.get(), pi.get(), digits, MPFR_RNDN);
        two_over_pi[w] = two_over_pi[w] << 32 | digits;
      }
    }
    mpfr_const_pi(pi.get(), MPFR_RNDN);
    mpfr_div_2ui(pi.get(), pi.get(), 1, MPFR_RNDN);
    half_pi = pi.split();
    mpfr_free_cache();
  }

  static constexpr std::size_t kHalved = 53;  // 1 + 53/128 < sqrt(2) < 1 + 54/128
};

const Tables& tables() {
  static const Tables t;
  return t;
}

double power_of_two(int e) {  // normal numbers only
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

double nearest_integer(double x) {  // below 2^51
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

DoubleDouble scaled(DoubleDouble x, double power) { return {x.hi * power, x.lo * power}; }

// ---- sin

struct Angle {
  int quadrant;       // modulo 4
  DoubleDouble rest;  // |rest| <= pi/4
};

std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t bl = b & 0xffffffff;
  const std::uint64_t bh = b >> 32;
  return (a * bh + (a * bl >> 32)) >> 32;  // for a < 2^31
}

// x = rest + quadrant * pi/2 modulo 2 pi, for x >= 1/2.
Angle reduced(double x, const Tables& t) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t m = ((bits & ((1ULL << 52) - 1)) | 1ULL << 52) >> 29;  // 24 bits
  const int e = static_cast<int>(bits >> 52) - 1023 - 23;                    // x = m * 2^e
  // 192 digits of 2/pi, starting with the one of weight 2 in the product with 2^e: weights of 4 and
  // more are full turns for every m.
  const int first = e + 62;
  const auto word = static_cast<std::size_t>(first / 64);
  const int shift = first % 64;
  std::uint64_t d[3];
  for (std::size_t i = 0; i < 3; ++i)
    d[i] = shift == 0
               ? t.two_over_pi[word + i]
               : t.two_over_pi[word + i] << shift | t.two_over_pi[word + i + 1] >> (64 - shift);
  std::uint64_t p2 = d[2] * m;
  std::uint64_t p1 = d[1] * m;
  std::uint64_t p0 = d[0] * m + high_product(m, d[1]);
  const std::uint64_t up = high_product(m, d[2]);
  p1 += up;
  p0 += p1 < up ? 1 : 0;
  // p / 2^190 is x * 2/pi modulo 4; adding a half and truncating rounds it to the nearest integer.
  const std::uint64_t rounded = p0 + (1ULL << 61);
  const int quadrant = static_cast<int>(rounded >> 62);
  p0 = (rounded & ((1ULL << 62) - 1)) - (1ULL << 61);
  const bool negative = (p0 >> 63) != 0;
  if (negative) {
    p2 = ~p2 + 1;
    p1 = ~p1 + (p2 == 0 ? 1 : 0);
    p0 = ~p0 + (p2 == 0 && p1 == 0 ? 1 : 0);
  }
  int exponent = -190 + 192;
  while (p0 == 0) {  // no float is so near a multiple of pi/2 that all digits vanish
    p0 = p1;
    p1 = p2;
    p2 = 0;
    exponent -= 64;
    if (exponent < -190) return {quadrant, {0, 0}};
  }
  const int lead = std::countl_zero(p0);
  if (lead != 0) {
    p0 = p0 << lead | p1 >> (64 - lead);
    p1 = p1 << lead | p2 >> (64 - lead);
  }
  exponent -= lead;  // the fraction is (p0 p1 ...) * 2^(exponent - 192), its point before p0
  const auto top = static_cast<double>(p0 >> 11);
  const auto next = static_cast<double>((p0 & 0x7ff) << 42 | p1 >> 22);
  const double unit = power_of_two(exponent - 53);
  const DoubleDouble fraction = quick_two_sum(top * unit, next * (unit * 0x1p-53));
  const DoubleDouble rest = fraction * t.half_pi;
  return {quadrant, negative ? -rest : rest};
}

}  // namespace

DoubleDouble second_exp2(double x) {
  const Tables& t = tables();
  const double steps = nearest_integer(x * kExp2Steps);
  const double r = x - steps / kExp2Steps;  // exact: |r| <= 1/64
  const int k = static_cast<int>(steps);
  // 2^r - 1 = r ln 2 + r^2 (...): the second part is below 2^-13, so double suffices for it.
  double tail = t.exp2_terms.back();
  for (std::size_t i = t.exp2_terms.size() - 1; i-- > 0;) tail = tail * r + t.exp2_terms[i];
  const DoubleDouble minus_one = t.ln2 * r + tail * (r * r);
  const DoubleDouble& step = t.exp2[static_cast<std::size_t>(k & (kExp2Steps - 1))];
  const DoubleDouble y = step + step * minus_one;
  return scaled(y, power_of_two(k >> 5));
}

DoubleDouble second_log2(double x) {
  const Tables& t = tables();
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto cell_index = static_cast<std::size_t>(bits >> 45 & 127);
  const bool halved = cell_index >= Tables::kHalved;
  const int e = static_cast<int>(bits >> 52) - 1023 + (halved ? 1 : 0);
  const std::uint64_t significand = bits & ((1ULL << 52) - 1);
  const double m = std::bit_cast<double>(significand | (halved ? 1022ULL : 1023ULL) << 52);
  const Log2Cell& cell = t.log2[cell_index];
  const double r = m * cell.reciprocal - 1;  // exact: |r| < 2^-6.9
  double tail = t.log2_terms.back();
  for (std::size_t i = t.log2_terms.size() - 1; i-- > 0;) tail = tail * r + t.log2_terms[i];
  const DoubleDouble square = two_product(r, r);
  const DoubleDouble series =
      t.log2_e * r + (t.minus_half_log2_e * square + tail * (square.hi * r));
  return (cell.log2 + static_cast<double>(e)) + series;
}

DoubleDouble second_sin(double x) {
  const Tables& t = tables();
  const double size = std::abs(x);
  const Angle angle = size < 0.5 ? Angle{0, {size, 0}} : reduced(size, t);
  const bool backwards = angle.rest.hi < 0;
  const DoubleDouble rest = backwards ? -angle.rest : angle.rest;
  const double step = nearest_integer(rest.hi * kSinSteps);
  const auto k = static_cast<std::size_t>(step);
  const DoubleDouble s = quick_two_sum(rest.hi - step / kSinSteps, rest.lo);  // |s| <= 2^-7
  const double square = s.hi * s.hi;
  const double cubic =
      square * s.hi *
      (-1.0 / 6 + square * (1.0 / 120 + square * (-1.0 / 5040 + square * (1.0 / 362880))));
  const DoubleDouble sine = s + cubic;
  const double versine =  // cos s - 1, below 2^-15
      square * (-0.5 + square * (1.0 / 24 + square * (-1.0 / 720 + square * (1.0 / 40320))));
  const bool cosine = (angle.quadrant & 1) != 0;
  DoubleDouble y;
  if (cosine) {
    y = t.cos[k] + (t.cos[k] * versine + -(t.sin[k] * sine));
  } else {
    y = k == 0 ? sine : t.sin[k] + (t.sin[k] * versine + t.cos[k] * sine);
    if (backwards) y = -y;
  }
  if ((angle.quadrant & 2) != 0) y = -y;
  return x < 0 ? -y : y;
}

}  // namespace touchstone::interp
