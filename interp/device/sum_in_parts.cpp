#include "touchstone/interp/device/sum_in_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// Proof that nothing is rounded. Let all terms be multiples of 2^q below 2^e, at most 2^k of them.
// Every sum of some of them, in any order and lanes, is a multiple of 2^q of at most 2^(e + k), and
// so a double if e + k <= q + 53.
//
// Otherwise terms are split (as in Rump, Ogita and Oishi, "Accurate floating-point summation",
// 2008). With h = e + k - 53, k >= 2 and M = 1.5 * 2^(52 + h), x + M lies where doubles are 2^h
// apart, so high = (x + M) - M is x rounded to a multiple of 2^h, at most 2^e, and the highs add up
// without rounding as above. low = x - high is exact, at most 2^(h - 1): the lows are the same
// problem with e = h - 1.
//
// Needs round to nearest, no contraction and no flush-to-zero, like every scalar.

namespace touchstone::detail {
namespace {

typedef float Floats2 __attribute__((vector_size(8)));
typedef double Doubles __attribute__((vector_size(16)));
typedef std::int32_t Ints __attribute__((vector_size(16)));
typedef std::int64_t Longs __attribute__((vector_size(16)));

template <class V, class T>
V loaded(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
Doubles loaded_doubles(const float* from) {
  return __builtin_convertvector(loaded<Floats2>(from), Doubles);
}
Doubles loaded_doubles(const double* from) { return loaded<Doubles>(from); }

// The k for 2^k terms, at least 2.
int log_of_count(std::size_t n) { return std::max(static_cast<int>(std::bit_width(n - 1)), 2); }

// Bits of the magnitudes of floats: the largest, and the least nonzero (all ones if none).
struct Extent {
  std::int32_t most = 0, least = std::numeric_limits<std::int32_t>::max();
};
Extent extent(const float* x, std::size_t n) {
  constexpr std::int32_t kMask = 0x7fffffff;
  const Ints mask = Ints{} + kMask;
  Ints most{}, also_most{}, least = mask, also_least = mask;
  const auto look = [mask](const float* at, Ints& high, Ints& low) {
    const Ints magnitude = loaded<Ints>(at) & mask;
    high = magnitude > high ? magnitude : high;
    const Ints below = (magnitude - 1) & mask;  // wraps for 0 to the largest value
    low = below < low ? below : low;
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    look(x + i, most, least);
    look(x + i + 4, also_most, also_least);
  }
  Extent e;
  const auto take = [&e](std::int32_t high, std::int32_t below) {
    e.most = std::max(e.most, high);
    if (below != kMask) e.least = std::min(e.least, below + 1);
  };
  for (int lane = 0; lane < 4; ++lane) {
    take(most[lane], least[lane]);
    take(also_most[lane], also_least[lane]);
  }
  for (; i < n; ++i) {
    const std::int32_t magnitude = std::bit_cast<std::int32_t>(x[i]) & kMask;
    take(magnitude, magnitude == 0 ? kMask : magnitude - 1);
  }
  return e;
}

double plain_sum(const float* x, std::size_t n) {
  Doubles a{}, b{}, c{}, d{};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    a += loaded_doubles(x + i);
    b += loaded_doubles(x + i + 2);
    c += loaded_doubles(x + i + 4);
    d += loaded_doubles(x + i + 6);
  }
  const Doubles all = (a + b) + (c + d);
  double sum = all[0] + all[1];
  for (; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

// At most three splits: the sums of the parts, and whether any term has a remainder.
template <int Count>
struct Split {
  std::array<double, Count> sums{};
  bool left = false;
};

template <int Count, class T>
Split<Count> split(const T* x, std::size_t n, const std::array<double, Count>& shifts) {
  std::array<Doubles, Count> sums{}, also_sums{};
  const Longs magnitude = Longs{} + std::numeric_limits<std::int64_t>::max();
  Longs left{};
  const auto put = [&](Doubles v, std::array<Doubles, Count>& to) {
    for (std::size_t s = 0; s < Count; ++s) {
      const Doubles high = (v + shifts[s]) - shifts[s];
      to[s] += high;
      v -= high;
    }
    left |= reinterpret_cast<Longs>(v) & magnitude;
  };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    put(loaded_doubles(x + i), sums);
    put(loaded_doubles(x + i + 2), also_sums);
  }
  for (; i < n; ++i) put(Doubles{static_cast<double>(x[i]), 0}, sums);
  Split<Count> out;
  for (std::size_t s = 0; s < Count; ++s) {
    const Doubles both = sums[s] + also_sums[s];
    out.sums[s] = both[0] + both[1];
  }
  out.left = (left[0] | left[1]) != 0;
  return out;
}

// 1.5 * 2^exponent, normal numbers only.
double shift_of(int exponent) {
  return std::bit_cast<double>((static_cast<std::uint64_t>(exponent + 1023) << 52) |
                               std::uint64_t{1} << 51);
}

// The shifts for terms below 2^e.
template <int Count>
std::array<double, Count> shifts_of(int e, int k) {
  std::array<double, Count> shifts{};
  for (double& shift : shifts) {
    shift = shift_of(e + k - 1);  // 52 + h
    e += k - 54;                  // h - 1
  }
  return shifts;
}

template <int Count>
SumParts parts_of(const Split<Count>& split) {
  SumParts parts;
  std::ranges::copy(split.sums, parts.part.begin());
  parts.count = Count;
  return parts;
}

double largest_magnitude(const double* x, std::size_t n) {
  const Longs mask = Longs{} + std::numeric_limits<std::int64_t>::max();
  Doubles a{}, b{};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const auto v = reinterpret_cast<Doubles>(loaded<Longs>(x + i) & mask);
    const auto w = reinterpret_cast<Doubles>(loaded<Longs>(x + i + 2) & mask);
    a = v > a ? v : a;  // ignores NaN
    b = w > b ? w : b;
  }
  double most = std::max(std::max(a[0], a[1]), std::max(b[0], b[1]));
  for (; i < n; ++i) most = std::abs(x[i]) > most ? std::abs(x[i]) : most;
  return most;
}

}  // namespace

SumParts sum_in_parts(const float* x, std::size_t n, int digits) {
  constexpr std::int32_t kInfinity = 0x7f800000;
  const Extent extents = extent(x, n);
  if (extents.most == 0 || extents.most >= kInfinity) return {};
  const int k = log_of_count(n);
  // Biased exponents; terms are below 2^(high - 126), multiples of 2^(low - 126 - digits).
  const int high = std::max(extents.most >> 23, 1), low = std::max(extents.least >> 23, 1);
  if (high - low <= 53 - digits - k) return {{plain_sum(x, n)}, 1};
  const Split<2> two = split<2>(x, n, shifts_of<2>(high - 126, k));
  return two.left ? SumParts{} : parts_of(two);
}

SumParts sum_in_parts(const double* x, std::size_t n) {
  const double most = largest_magnitude(x, n);
  // Keeps shifts and sums normal.
  if (!(most > 0x1p-900 && most < 0x1p+1000)) return {};
  const int e = std::ilogb(most) + 1, k = log_of_count(n);
  const Split<2> two = split<2>(x, n, shifts_of<2>(e, k));
  if (!std::isfinite(two.sums[0])) return {};  // a NaN
  if (!two.left) return parts_of(two);
  const Split<3> three = split<3>(x, n, shifts_of<3>(e, k));
  return three.left ? SumParts{} : parts_of(three);
}

}  // namespace touchstone::detail
