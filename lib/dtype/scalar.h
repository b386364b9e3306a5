#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "touchstone/base/error.h"
#include "touchstone/dtype/convert.h"
#include "touchstone/dtype/dtype.h"
#include "touchstone/dtype/float16.h"
#include "touchstone/dtype/storage.h"

namespace touchstone {

/// One element of any type: its dtype, and its bits zero-extended to 64.
class Scalar {
 public:
  Scalar() = default;  // false
  /// Drops bits beyond the size of `dtype`; a bool is true if any of its 8 bits is set.
  static Scalar from_bits(DType dtype, std::uint64_t bits);
  template <class T>
  static Scalar of(T value);
  /// Converts `value` to `dtype`, rounding once.
  static Scalar from_double(DType dtype, double value);
  static Scalar from_int(DType dtype, std::int64_t value);
  /// Parses decimal numbers, "nan", "inf", "-inf", hexadecimal floats and integers, and for bool
  /// "true", "false", 0 and 1. Integers must fit; floats round once and overflow to infinity. No
  /// spaces. Throws ParseError.
  static Scalar parse(DType dtype, std::string_view text);

  DType dtype() const { return dtype_; }
  std::uint64_t bits() const { return bits_; }
  template <class T>
  T as() const;                   // the stored value; T must be the storage type of dtype()
  double to_double() const;       // rounds int64 and uint64 beyond 2^53
  std::int64_t to_int64() const;  // as `convert<int64_t>`
  bool is_nan() const;
  /// The shortest text that parses back to the same bits ("0.1", "-0.0", "inf", "nan"; NaN payloads
  /// are lost).
  std::string str() const;

  bool operator==(const Scalar&) const = default;  // same type and bits

 private:
  Scalar(DType dtype, std::uint64_t bits) : dtype_(dtype), bits_(bits) {}
  DType dtype_ = DType::Bool;
  std::uint64_t bits_ = 0;
};

template <class T>
Scalar Scalar::of(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return Scalar(DType::Bool, value ? 1 : 0);
  else if constexpr (sizeof(T) == 1)
    return Scalar(dtype_v<T>, std::bit_cast<std::uint8_t>(value));
  else if constexpr (sizeof(T) == 2)
    return Scalar(dtype_v<T>, std::bit_cast<std::uint16_t>(value));
  else if constexpr (sizeof(T) == 4)
    return Scalar(dtype_v<T>, std::bit_cast<std::uint32_t>(value));
  else
    return Scalar(dtype_v<T>, std::bit_cast<std::uint64_t>(value));
}

template <class T>
T Scalar::as() const {
  assert(dtype_ == dtype_v<T>);
  if constexpr (std::is_same_v<T, bool>)
    return bits_ != 0;
  else if constexpr (sizeof(T) == 1)
    return std::bit_cast<T>(static_cast<std::uint8_t>(bits_));
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(static_cast<std::uint16_t>(bits_));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits_));
  else
    return std::bit_cast<T>(bits_);
}

Scalar convert(const Scalar& x, DType to);
/// Reinterprets the bits as another type of the same size. Throws DTypeError if sizes differ.
Scalar bitcast(const Scalar& x, DType to);

}  // namespace touchstone
