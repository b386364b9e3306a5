// Prints a digest of every scalar function's results, on edge and random values: one line per
// function and type. Different compilers and flags must print equal lines.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "../../support/draws.h"
#include "touchstone/interp/device/exact_sum.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone {
namespace {

class Digest {
 public:
  template <class T>
  void add(T x) {
    std::uint64_t bits = 0;
    if constexpr (is_float_storage<T>) {
      const auto v = scalar::detail::computing(x);
      bits = v == v ? std::bit_cast<scalar::detail::FloatBits<T>>(x) : ~std::uint64_t{0};
    } else {
      bits = static_cast<std::uint64_t>(x);
    }
    value_ = (value_ ^ bits) * 0x9e3779b97f4a7c15ULL;
    value_ ^= value_ >> 29;
  }
  unsigned long long value() const { return value_; }

 private:
  std::uint64_t value_ = 0x243f6a8885a308d3ULL;
};

// Random bits, small and large magnitudes, and the edges of the type.
template <class T>
std::vector<T> values(int count) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  constexpr int kWidth = static_cast<int>(sizeof(T)) * 8;
  std::vector<T> out;
  const auto put = [&](std::uint64_t bits) {
    if constexpr (std::is_same_v<T, bool>)
      out.push_back((bits & 1) != 0);
    else
      out.push_back(std::bit_cast<T>(static_cast<Bits>(bits)));
  };
  for (int bit = 0; bit < kWidth; ++bit)
    for (const std::uint64_t around : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}}) {
      put((std::uint64_t{1} << bit) + around);
      put(~((std::uint64_t{1} << bit) + around));
    }
  if constexpr (is_float_storage<T>)
    for (const float x : {0.0F, -0.0F, 0.1F, -0.5F, 1.0F, 3.0F, -7.25F, 1e4F, 0x1p-130F})
      out.push_back(convert<T>(x));
  test::Draws draw(sizeof(T));
  while (static_cast<int>(out.size()) < count) put(draw.bits());
  return out;
}

template <class T, class Argument, class... F>
void unary(const char* name, const std::vector<Argument>& x, F... functions) {
  Digest digest;
  for (const Argument& v : x) (digest.add(functions(v)), ...);
  std::printf("%s %s %016llx\n", info(dtype_v<T>).name.data(), name, digest.value());
}

// Functions that loop vectorisers transform: applied over arrays, then digested.
template <class T, class F>
void binary(const char* name, const std::vector<T>& x, F function) {
  const std::size_t n = x.size();
  const auto out = std::make_unique<decltype(function(x[0], x[0]))[]>(n);
  Digest digest;
  for (const std::size_t step : {1, 7, 61}) {
    for (std::size_t i = 0; i + step < n; ++i) out[i] = function(x[i], x[i + step]);
    for (std::size_t i = 0; i + step < n; ++i) digest.add(out[i]);
  }
  std::printf("%s %s %016llx\n", info(dtype_v<T>).name.data(), name, digest.value());
}

template <class To, class T>
void cast(const std::vector<T>& x) {
  const auto out = std::make_unique<To[]>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = convert<To>(T(x[i]));
  Digest digest;
  for (std::size_t i = 0; i < x.size(); ++i) digest.add(out[i]);
  std::printf("%s to %s %016llx\n", info(dtype_v<T>).name.data(), info(dtype_v<To>).name.data(),
              digest.value());
}

// Finite numbers of similar magnitude.
template <class T>
std::vector<T> near_values() {
  std::vector<T> out;
  test::Draws draw(sizeof(T));
  while (out.size() < 4000) {
    const double digits = draw.uniform(-8.0, 8.0);
    out.push_back(convert<T>(std::ldexp(digits, -draw.index(24))));
  }
  return out;
}

template <class T>
std::vector<std::span<const T>> runs_of(const std::vector<T>& x) {
  std::vector<std::span<const T>> runs;
  for (std::size_t first = 0, length = 0; first + length <= x.size(); first += length++ / 2 + 1)
    runs.push_back(std::span(x).subspan(first, length));
  return runs;
}

template <class T>
void all() {
  const std::vector<T> x = values<T>(sizeof(T) == 8 ? 4000 : 12000);
  unary<T>("neg", x, [](T a) { return scalar::neg(a); });
  binary<T>("add", x, [](T a, T b) { return scalar::add(a, b); });
  binary<T>("sub", x, [](T a, T b) { return scalar::sub(a, b); });
  binary<T>("mul", x, [](T a, T b) { return scalar::mul(a, b); });
  binary<T>("mulacc", x, [](T a, T b) { return scalar::mulacc(a, b, a); });
  binary<T>("max", x, [](T a, T b) { return scalar::max(a, b); });
  binary<T>("max_num", x, [](T a, T b) { return scalar::max_num(a, b); });
  binary<T>("cmplt", x, [](T a, T b) { return scalar::cmplt(a, b); });
  binary<T>("cmpeq", x, [](T a, T b) { return scalar::cmpeq(a, b); });
  binary<T>("where", x, [](T a, T b) { return scalar::where(scalar::cmplt(a, b), a, b); });
  binary<T>("div", x, [](T a, T b) { return scalar::div(a, b); });
  binary<T>("mod", x, [](T a, T b) { return scalar::mod(a, b); });
  if constexpr (!std::is_same_v<T, bool>)
    binary<T>("mod_floor", x, [](T a, T b) { return scalar::mod_floor(a, b); });
  if constexpr (is_integer_storage<T>)
    binary<T>("div_floor", x, [](T a, T b) { return scalar::div_floor(a, b); });
  if constexpr (is_float_storage<T>) {
    unary<T>("exp2", x, [](T a) { return scalar::exp2(a); });
    unary<T>("log2", x, [](T a) { return scalar::log2(a); });
    unary<T>("sin", x, [](T a) { return scalar::sin(a); });
    unary<T>("sqrt", x, [](T a) { return scalar::sqrt(a); });
    unary<T>("recip", x, [](T a) { return scalar::recip(a); });
    binary<T>("fma", x, [](T a, T b) { return scalar::fma(a, b, a); });
    const std::vector<T> near = near_values<T>();
    unary<T>("sum of runs", runs_of(near), [](const std::span<const T>& run) {
      ExactSum<T> sum;
      sum.add(run);
      return sum.result();
    });
    binary<T>("sum", x, [](T a, T b) {
      ExactSum<T> sum;
      sum.add(a);
      sum.add(b);
      sum.add(scalar::neg(a));
      return sum.result();
    });
  } else {
    binary<T>("xor", x, [](T a, T b) { return scalar::xor_(a, b); });
  }
  [&]<std::size_t... D>(std::index_sequence<D...>) {
    (cast<storage_t<static_cast<DType>(D)>>(x), ...);
  }
  (std::make_index_sequence<kDTypeCount>{});
}

}  // namespace
}  // namespace touchstone

int main() {
  [&]<std::size_t... D>(std::index_sequence<D...>) {
    (touchstone::all<touchstone::storage_t<static_cast<touchstone::DType>(D)>>(), ...);
  }
  (std::make_index_sequence<touchstone::kDTypeCount>{});
}
