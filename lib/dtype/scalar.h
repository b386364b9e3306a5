#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "touchstone/base/error.h"
#include "touchstone/dtype/dtype.h"
#include "touchstone/dtype/float16.h"

namespace touchstone {

// The C++ type that stores one element; bool is one byte, 0 or 1.
template <DType D> struct storage_of;
template <> struct storage_of<DType::Bool> { using type = bool; };
template <> struct storage_of<DType::Int8> { using type = std::int8_t; };
template <> struct storage_of<DType::UInt8> { using type = std::uint8_t; };
template <> struct storage_of<DType::Int16> { using type = std::int16_t; };
template <> struct storage_of<DType::UInt16> { using type = std::uint16_t; };
template <> struct storage_of<DType::Int32> { using type = std::int32_t; };
template <> struct storage_of<DType::UInt32> { using type = std::uint32_t; };
template <> struct storage_of<DType::Int64> { using type = std::int64_t; };
template <> struct storage_of<DType::UInt64> { using type = std::uint64_t; };
template <> struct storage_of<DType::Float16> { using type = float16; };
template <> struct storage_of<DType::BFloat16> { using type = bfloat16; };
template <> struct storage_of<DType::Float32> { using type = float; };
template <> struct storage_of<DType::Float64> { using type = double; };
template <DType D> using storage_t = typename storage_of<D>::type;

template <class T> struct dtype_of;
template <> struct dtype_of<bool> { static constexpr DType value = DType::Bool; };
template <> struct dtype_of<std::int8_t> { static constexpr DType value = DType::Int8; };
template <> struct dtype_of<std::uint8_t> { static constexpr DType value = DType::UInt8; };
template <> struct dtype_of<std::int16_t> { static constexpr DType value = DType::Int16; };
template <> struct dtype_of<std::uint16_t> { static constexpr DType value = DType::UInt16; };
template <> struct dtype_of<std::int32_t> { static constexpr DType value = DType::Int32; };
template <> struct dtype_of<std::uint32_t> { static constexpr DType value = DType::UInt32; };
template <> struct dtype_of<std::int64_t> { static constexpr DType value = DType::Int64; };
template <> struct dtype_of<std::uint64_t> { static constexpr DType value = DType::UInt64; };
template <> struct dtype_of<float16> { static constexpr DType value = DType::Float16; };
template <> struct dtype_of<bfloat16> { static constexpr DType value = DType::BFloat16; };
template <> struct dtype_of<float> { static constexpr DType value = DType::Float32; };
template <> struct dtype_of<double> { static constexpr DType value = DType::Float64; };
template <class T> inline constexpr DType dtype_v = dtype_of<T>::value;

/// Calls f(std::type_identity<T>{}) with the storage type of `d`.
template <class F>
decltype(auto) with_storage(DType d, F&& f) {
  switch (d) {
    case DType::Bool: return f(std::type_identity<bool>{});
    case DType::Int8: return f(std::type_identity<std::int8_t>{});
    case DType::UInt8: return f(std::type_identity<std::uint8_t>{});
    case DType::Int16: return f(std::type_identity<std::int16_t>{});
    case DType::UInt16: return f(std::type_identity<std::uint16_t>{});
    case DType::Int32: return f(std::type_identity<std::int32_t>{});
    case DType::UInt32: return f(std::type_identity<std::uint32_t>{});
    case DType::Int64: return f(std::type_identity<std::int64_t>{});
    case DType::UInt64: return f(std::type_identity<std::uint64_t>{});
    case DType::Float16: return f(std::type_identity<float16>{});
    case DType::BFloat16: return f(std::type_identity<bfloat16>{});
    case DType::Float32: return f(std::type_identity<float>{});
    case DType::Float64: break;
  }
  return f(std::type_identity<double>{});
}

/// Conversion of one element by the rules of docs/semantics.md: float to integer truncates and
/// saturates, NaN gives 0; integers wrap; to bool is x != 0 (NaN is true); everything to a float
/// rounds once to nearest, ties to even.
template <class To, class From>
To convert(From x);

/// One element of any type: its dtype and its bits, zero-extended to 64.
class Scalar {
 public:
  Scalar() = default;  // false
  static Scalar from_bits(DType dtype, std::uint64_t bits);
  template <class T>
  static Scalar of(T value);
  /// `value` converted to `dtype` (rounding once).
  static Scalar from_double(DType dtype, double value);
  static Scalar from_int(DType dtype, std::int64_t value);
  /// Decimal, "nan", "inf", "-inf", hexadecimal floats, "true", "false". Integers must fit; floats
  /// round once. Throws ParseError.
  static Scalar parse(DType dtype, std::string_view text);

  DType dtype() const { return dtype_; }
  std::uint64_t bits() const { return bits_; }
  template <class T>
  T as() const;  // the stored value; T must be the storage type of dtype()
  double to_double() const;      // rounds int64 and uint64 beyond 2^53
  std::int64_t to_int64() const;  // as `convert<int64_t>`
  bool is_nan() const;
  /// Shortest text that parses back to the same bits ("0.1", "-0.0", "inf", "nan"; a NaN's payload
  /// is not kept).
  std::string str() const;

  bool operator==(const Scalar&) const = default;  // same type, same bits

 private:
  Scalar(DType dtype, std::uint64_t bits) : dtype_(dtype), bits_(bits) {}
  DType dtype_ = DType::Bool;
  std::uint64_t bits_ = 0;
};

Scalar convert(const Scalar& x, DType to);
/// The same bits under a type of the same size. Throws DTypeError where sizes differ.
Scalar bitcast(const Scalar& x, DType to);

}  // namespace touchstone
