#include "touchstone/interp/device/exp_rows.h"

#include <array>
#include <bit>
#include <cmath>

#include "touchstone/interp/device/long_vectors.h"
#include "touchstone/interp/device/series.h"

// exp(x), or 2^x, is 2^(k/128) exp(r) with |r| < 2^-8.4: as a sum of two doubles with an error
// below 2^-67.5 of it, and a test if that could change the rounding (Tang, "Table-driven
// implementation of the exponential function in IEEE floating-point arithmetic", 1989; Ziv 1991).

namespace touchstone::interp {
namespace {

constexpr std::size_t kPlaces = 128;
constexpr double kSplit = 0x1.0000002p27;  // for Veltkamp's splitting into 26 digits each

// 2^(j/128): 26 digits, and the next ones up to 2^-79.
struct Powers {
  std::array<double, kPlaces> high, low;
};

const Powers& powers() {
  static const Powers table = [] {
    constexpr unsigned kBits = 128, kBelow = kBits - 25;
    Powers made;
    for (std::size_t j = 0; j < kPlaces; ++j) {
      const cpp_int power =
          series_exp2_fraction(Dyadic::of(static_cast<double>(j) / kPlaces), kBits).digits;
      const cpp_int above = power >> kBelow, rest = power - (above << kBelow);
      made.high[j] = std::ldexp(above.convert_to<double>(), -25);
      made.low[j] = std::ldexp(rest.convert_to<double>(), -static_cast<int>(kBits));
    }
    return made;
  }();
  return table;
}

// x as k/128 units and the rest, r + rest, for |x| < 700. A unit of exp is log(2)/128, in parts of
// 33 and 32 digits, whose products with k < 2^18 are exact, and more.
struct ByE {
  static constexpr double kUnits = 0x1.71547652b82fep+7;
  static void split(double x, double k, double& r, double& rest) {
    constexpr double kFirst = 0x1.62e42fefp-8, kSecond = 0x1.473de6aep-41,
                     kThird = 0x1.278ece600fcbep-73;
    const double a = x - k * kFirst, b = k * kSecond;  // exact: a multiple of 2^-61 unless k is 0
    r = a - b;
    const double back = r - a;
    rest = ((a - (r - back)) - (b + back)) - k * kThird;
  }
};
struct ByTwo {
  static constexpr double kUnits = kPlaces;
  static void split(double x, double k, double& r, double& rest) {
    constexpr double kLog = 0x1.62e42fefa39efp-1, kMore = 0x1.abc9e3b39803fp-56,
                     kHigh = 0x1.62e42f8p-1, kLow = kLog - kHigh;
    const double a = x - k / kPlaces;  // exact
    const double c = a * kSplit, high = c - (c - a), low = a - high;
    r = a * kLog;  // and its error by Dekker's algorithm
    rest = (((high * kHigh - r) + high * kLow + low * kHigh) + low * kLow) + a * kMore;
  }
};

// Loops of simple steps, for auto-vectorization; the look-up has its own.
template <class Base>
inline void loops(const Powers& table, const double* x, std::int64_t n, double* out,
                  std::int64_t* ok) {
  constexpr double kLargest = 700, kWhole = 0x1.8p52;  // adding it rounds to an integer
  double r[kRow], rest[kRow], high[kRow], low[kRow], scale[kRow];
  std::int64_t place[kRow];
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t fits = -static_cast<std::int64_t>(std::abs(x[i]) < kLargest);
    ok[i] &= fits;
    const double v = std::bit_cast<double>(std::bit_cast<std::int64_t>(x[i]) & fits);
    const double shifted = v * Base::kUnits + kWhole, k = shifted - kWhole;
    place[i] = std::bit_cast<std::int64_t>(shifted);
    Base::split(v, k, r[i], rest[i]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const auto j = static_cast<std::size_t>(place[i]) % kPlaces;
    high[i] = table.high[j];
    low[i] = table.low[j];
  }
  for (std::int64_t i = 0; i < n; ++i)  // 2^(k / 128), rounded down
    scale[i] = std::bit_cast<double>(((place[i] >> 7) + 1023) << 52);
  for (std::int64_t i = 0; i < n; ++i) {
    const double y = r[i], c = y * kSplit, left = c - (c - y);
    // exp(r) - 1 - y, up to 2^-69; the term of y^7 is below 2^-71.
    const double q =
        rest[i] + y * rest[i] +
        y * y * (0.5 + y * (1.0 / 6 + y * (1.0 / 24 + y * (1.0 / 120 + y * (1.0 / 720)))));
    const double product = high[i] * left;  // of 26 digits each
    const double sum = high[i] + product, lost = product - (sum - high[i]);
    const double more = lost + (high[i] * (y - left) + (high[i] * q + low[i] * (1 + (y + q))));
    const double error = sum * 0x1p-66;
    const double least = sum + (more - error), most = sum + (more + error);
    ok[i] &= -static_cast<std::int64_t>(least == most);
    out[i] = least * scale[i];
  }
}

}  // namespace

void exp_row(const double* x, std::int64_t n, double* out, std::int64_t* ok) {
  const Powers& table = powers();
  in_longest_vectors([&] { loops<ByE>(table, x, n, out, ok); });
}
void exp2_row(const double* x, std::int64_t n, double* out, std::int64_t* ok) {
  const Powers& table = powers();
  in_longest_vectors([&] { loops<ByTwo>(table, x, n, out, ok); });
}

}  // namespace touchstone::interp
