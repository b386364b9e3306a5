#pragma once

#include <cstdint>
#include <type_traits>

#include "touchstone/dtype/dtype.h"
#include "touchstone/dtype/float16.h"
#include "touchstone/dtype/float8.h"

namespace touchstone {

// clang-format off
// The C++ type that stores an element; bool is one byte, 0 or 1.
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
template <> struct storage_of<DType::Float8E4M3> { using type = float8_e4m3; };
template <> struct storage_of<DType::Float8E5M2> { using type = float8_e5m2; };
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
template <> struct dtype_of<float8_e4m3> { static constexpr DType value = DType::Float8E4M3; };
template <> struct dtype_of<float8_e5m2> { static constexpr DType value = DType::Float8E5M2; };
template <> struct dtype_of<float16> { static constexpr DType value = DType::Float16; };
template <> struct dtype_of<bfloat16> { static constexpr DType value = DType::BFloat16; };
template <> struct dtype_of<float> { static constexpr DType value = DType::Float32; };
template <> struct dtype_of<double> { static constexpr DType value = DType::Float64; };
template <class T> inline constexpr DType dtype_v = dtype_of<T>::value;

// clang-format on

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
    case DType::Float8E4M3: return f(std::type_identity<float8_e4m3>{});
    case DType::Float8E5M2: return f(std::type_identity<float8_e5m2>{});
    case DType::Float16: return f(std::type_identity<float16>{});
    case DType::BFloat16: return f(std::type_identity<bfloat16>{});
    case DType::Float32: return f(std::type_identity<float>{});
    case DType::Float64: break;
  }
  return f(std::type_identity<double>{});
}

/// The kind of T as in dtype_table; narrow floats count as floats, unlike in <type_traits>.
template <class T>
inline constexpr bool is_float_storage = is_float(dtype_v<T>);
template <class T>
inline constexpr bool is_integer_storage = is_integer(dtype_v<T>);
/// Floats of 16 and 8 bits: stored as bits, computed in float.
template <class T>
inline constexpr bool is_narrow_float = is_float_storage<T> && sizeof(T) <= 2;
/// True if T has infinities; otherwise values too large become the largest number.
template <class T>
inline constexpr bool has_infinities = info(dtype_v<T>).infinities;

/// The unsigned integer with the size of T.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

}  // namespace touchstone
