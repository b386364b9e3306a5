#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "bugs.h"
#include "touchstone/files/npy.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/oracle/legal.h"

// A small backend of loops, as a kernel compiler would write them, with one fault at a time.

namespace touchstone::power {

using Bytes = std::vector<std::uint8_t>;

/// The output of the backend with this fault for `subject`. Unwritten bytes are `before`.
Bytes run(const Subject& subject, std::span<const HostArray> inputs, Bug bug, std::uint8_t before);
Bytes run_map(const Subject& subject, std::span<const HostArray> inputs, Bug bug,
              std::uint8_t before);
Bytes run_reduce(const Subject& subject, std::span<const HostArray> inputs, Bug bug);

namespace detail {

template <class T>
const T* data(const HostArray& array) {
  return reinterpret_cast<const T*>(array.bytes.data());
}

// The next wider hardware format, if any.
template <class T>
using Wide = std::conditional_t<is_narrow_float<T>, float,
                                std::conditional_t<std::is_same_v<T, float>, double, long double>>;

template <class T>
constexpr int kDigits = info(dtype_v<T>).digits;

template <class T>
Wide<T> widen(T x) {
  return static_cast<Wide<T>>(scalar::detail::computing(x));
}
template <class T, class W>
T nearest(W x) {
  if constexpr (is_narrow_float<T>)
    return convert<T>(static_cast<double>(x));
  else
    return static_cast<T>(x);
}

/// x rounded to T in a wrong mode: towards zero, or ties away from zero.
template <class T, class W>
T misrounded(W x, Bug bug) {
  const T right = nearest<T>(x);
  const auto back = static_cast<W>(scalar::detail::computing(right));
  if (bug == Bug::None || !(back == back) || back == x) return right;
  const bool above = std::abs(back) > std::abs(x);
  if (interp::is_infinite(right) && bug != Bug::Truncates) return right;
  const std::int64_t key = interp::order_key(right), out = x < 0 ? -1 : 1;
  if (bug == Bug::Truncates) return above ? interp::from_order_key<T>(key - out) : right;
  if (above) return right;
  const T away = interp::from_order_key<T>(key + out);
  const auto far = static_cast<W>(scalar::detail::computing(away));
  return std::abs(far) - std::abs(x) == std::abs(x) - std::abs(back) ? away : right;
}

/// x with only the digits that a low-precision unit keeps.
template <class T>
T cut(T x, Bug bug) {
  if constexpr (is_float_storage<T>) {
    if (bug == Bug::Bf16Inputs) return convert<T>(convert<bfloat16>(x));
    if constexpr (kDigits < T >> 11)
      if (bug == Bug::Tf32Inputs) {
        using Bits = scalar::detail::FloatBits<T>;
        constexpr Bits kDropped = (Bits{1} << (kDigits<T> - 11)) - 1;
        return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(x) & ~kDropped));
      }
  }
  return x;
}

template <class T>
T flush(T x) {
  if constexpr (is_float_storage<T>) {
    constexpr std::int64_t kNormal = std::int64_t{1} << (kDigits<T> - 1);
    const std::int64_t key = interp::order_key(x);
    if (key >= 0 && key < kNormal) return T{};
    if (key < 0 && -1 - key < kNormal) return scalar::neg(T{});
  }
  return x;
}

__extension__ using Int128 = __int128;

template <class T>
T clamped(Int128 x) {
  using Limits = std::numeric_limits<T>;
  if (x > static_cast<Int128>(Limits::max())) return Limits::max();
  if (x < static_cast<Int128>(Limits::min())) return Limits::min();
  return static_cast<T>(x);
}

template <class T>
bool less_of_other_sign(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<std::make_unsigned_t<T>>(a) < static_cast<std::make_unsigned_t<T>>(b);
  else
    return static_cast<std::make_signed_t<T>>(a) < static_cast<std::make_signed_t<T>>(b);
}

template <class T>
T magnitude(T x) {
  return scalar::cmplt(x, T{}) || (is_float_storage<T> && interp::order_key(x) < 0) ? scalar::neg(x)
                                                                                    : x;
}

template <class T>
T largest() {
  return interp::from_order_key<T>(interp::order_key(interp::infinity<T>()) - 1);
}

}  // namespace detail
}  // namespace touchstone::power
