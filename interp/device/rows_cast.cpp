#include <type_traits>

#include "touchstone/dtype/convert.h"
#include "touchstone/interp/device/rows.h"
#include "touchstone/interp/device/rows_eigen.h"

namespace touchstone::interp::rows {

template <class To, class From>
void Cast<To, From>::cast(const void* const* in, void* out, std::int64_t n) {
  // C++ and the hardware wrap integers and round to float and double once; other casts saturate,
  // use our own rounding, or test for 0.
  constexpr bool kPlain = std::is_arithmetic_v<To> && !std::is_same_v<To, bool> &&
                          std::is_arithmetic_v<From> &&
                          !(std::is_floating_point_v<From> && std::is_integral_v<To>);
  if constexpr (kPlain)
    array<To>(out, n) = array<From>(in[0], n).template cast<To>();
  else if constexpr (std::is_same_v<To, bool>)
    array<bool>(out, n) = array<From>(in[0], n) != From{0};
  else
    unary<From, To>(in, out, n, [](From x) { return convert<To>(x); });
}

// Integers, through 32 bits.
template struct Cast<std::uint32_t, std::int8_t>;
template struct Cast<std::uint32_t, std::uint8_t>;
template struct Cast<std::uint32_t, std::int16_t>;
template struct Cast<std::uint32_t, std::uint16_t>;
template struct Cast<std::uint64_t, std::int32_t>;
template struct Cast<std::uint64_t, std::uint32_t>;
template struct Cast<std::uint32_t, std::uint64_t>;
template struct Cast<std::uint16_t, std::uint32_t>;
template struct Cast<std::uint8_t, std::uint32_t>;
template struct Cast<bool, std::uint32_t>;
template struct Cast<bool, std::uint64_t>;

// To floats: through double, but from 64-bit integers directly, except to float16.
template struct Cast<double, std::int8_t>;
template struct Cast<double, std::uint8_t>;
template struct Cast<double, std::int16_t>;
template struct Cast<double, std::uint16_t>;
template struct Cast<double, std::int32_t>;
template struct Cast<double, std::uint32_t>;
template struct Cast<double, std::int64_t>;
template struct Cast<double, std::uint64_t>;
template struct Cast<float, std::int64_t>;
template struct Cast<float, std::uint64_t>;
template struct Cast<bfloat16, std::int64_t>;
template struct Cast<bfloat16, std::uint64_t>;
template struct Cast<float8_e4m3, std::int64_t>;
template struct Cast<float8_e4m3, std::uint64_t>;
template struct Cast<float8_e5m2, std::int64_t>;
template struct Cast<float8_e5m2, std::uint64_t>;

// From floats, through double.
template struct Cast<double, float>;
template struct Cast<double, float8_e4m3>;
template struct Cast<double, float8_e5m2>;
template struct Cast<double, float16>;
template struct Cast<double, bfloat16>;
template struct Cast<bool, double>;
template struct Cast<std::int8_t, double>;
template struct Cast<std::uint8_t, double>;
template struct Cast<std::int16_t, double>;
template struct Cast<std::uint16_t, double>;
template struct Cast<std::int32_t, double>;
template struct Cast<std::uint32_t, double>;
template struct Cast<std::int64_t, double>;
template struct Cast<std::uint64_t, double>;
template struct Cast<float, double>;
template struct Cast<float8_e4m3, double>;
template struct Cast<float8_e5m2, double>;
template struct Cast<float16, double>;
template struct Cast<bfloat16, double>;

// To and from the computing type of narrow floats.
template struct Cast<float, float8_e4m3>;
template struct Cast<float, float8_e5m2>;
template struct Cast<float, float16>;
template struct Cast<float, bfloat16>;
template struct Cast<float8_e4m3, float>;
template struct Cast<float8_e5m2, float>;
template struct Cast<float16, float>;
template struct Cast<bfloat16, float>;

}  // namespace touchstone::interp::rows
