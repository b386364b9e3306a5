#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace touchstone {

// clang-format off
/// Element types, in order of promotion priority.
enum class DType : std::uint8_t {
  Bool, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64,
  Float8E4M3, Float8E5M2, Float16, BFloat16, Float32, Float64
};
// clang-format on
inline constexpr int kDTypeCount = 15;

enum class DTypeKind : std::uint8_t { Bool, Signed, Unsigned, Float };

/// Properties of an element type. `digits`: significand bits of a float (including the hidden one),
/// value bits of an integer.
struct DTypeInfo {
  DType dtype;
  std::string_view name;        // "float32"
  std::string_view short_name;  // "f32"
  DTypeKind kind;
  int itemsize;  // bytes
  int digits;
  int min_exponent;  // floats: exponent of the least normal number, 2^min_exponent
  int max_exponent;  // floats: the largest finite number is below 2^(max_exponent + 1)
  /// Floats: true if there are infinities and many NaNs, as in IEEE 754. If false, only the pattern
  /// of all ones is NaN, and values too large become the largest number.
  bool infinities = false;
};

// The 8-bit types are E4M3 and E5M2 of the OCP 8-bit Floating Point Specification 1.0.
// clang-format off
inline constexpr std::array<DTypeInfo, kDTypeCount> dtype_table = {{
    {DType::Bool,       "bool",        "bool",   DTypeKind::Bool,     1,  1,     0,    0},
    {DType::Int8,       "int8",        "i8",     DTypeKind::Signed,   1,  7,     0,    0},
    {DType::UInt8,      "uint8",       "u8",     DTypeKind::Unsigned, 1,  8,     0,    0},
    {DType::Int16,      "int16",       "i16",    DTypeKind::Signed,   2, 15,     0,    0},
    {DType::UInt16,     "uint16",      "u16",    DTypeKind::Unsigned, 2, 16,     0,    0},
    {DType::Int32,      "int32",       "i32",    DTypeKind::Signed,   4, 31,     0,    0},
    {DType::UInt32,     "uint32",      "u32",    DTypeKind::Unsigned, 4, 32,     0,    0},
    {DType::Int64,      "int64",       "i64",    DTypeKind::Signed,   8, 63,     0,    0},
    {DType::UInt64,     "uint64",      "u64",    DTypeKind::Unsigned, 8, 64,     0,    0},
    {DType::Float8E4M3, "float8_e4m3", "f8e4m3", DTypeKind::Float,    1,  4,    -6,    8, false},
    {DType::Float8E5M2, "float8_e5m2", "f8e5m2", DTypeKind::Float,    1,  3,   -14,   15, true},
    {DType::Float16,    "float16",     "f16",    DTypeKind::Float,    2, 11,   -14,   15, true},
    {DType::BFloat16,   "bfloat16",    "bf16",   DTypeKind::Float,    2,  8,  -126,  127, true},
    {DType::Float32,    "float32",     "f32",    DTypeKind::Float,    4, 24,  -126,  127, true},
    {DType::Float64,    "float64",     "f64",    DTypeKind::Float,    8, 53, -1022, 1023, true},
}};
// clang-format on

constexpr bool dtype_rows_follow_enum() {
  for (std::size_t i = 0; i < dtype_table.size(); ++i)
    if (dtype_table[i].dtype != static_cast<DType>(i)) return false;
  return true;
}
static_assert(dtype_rows_follow_enum(),
              "dtype_table needs one row per DType, in the order of DType");

constexpr const DTypeInfo& info(DType d) { return dtype_table[static_cast<std::size_t>(d)]; }
constexpr std::string_view name(DType d) { return info(d).name; }
constexpr std::size_t itemsize(DType d) { return static_cast<std::size_t>(info(d).itemsize); }
constexpr bool is_float(DType d) { return info(d).kind == DTypeKind::Float; }
constexpr bool is_bool(DType d) { return d == DType::Bool; }
constexpr bool is_unsigned(DType d) { return info(d).kind == DTypeKind::Unsigned; }
/// True for signed and unsigned integers; bool is neither.
constexpr bool is_integer(DType d) {
  return info(d).kind == DTypeKind::Signed || info(d).kind == DTypeKind::Unsigned;
}

/// Looks up a full or short name ("float32", "f32"); nullopt if unknown.
std::optional<DType> dtype_from_name(std::string_view name);
/// As dtype_from_name, but throws DTypeError that lists the names, nearest first.
DType parse_dtype(std::string_view name);

/// Returns the least type above both in the promotion lattice of tinygrad@v0.8.0: bool < {int8,
/// uint8} < {int16, uint16} < ... < int64, uint64 < {float16, bfloat16} < float32 < float64; the
/// 8-bit floats are below {float16, bfloat16} and not comparable with integers. A signed with an
/// unsigned type of the same or larger width gives the next wider signed one; int64 with uint64
/// gives the level of float16.
DType promote(DType a, DType b);

/// The accumulator of SUM over `d`: float32 for floats below 32 bits, 32-bit types for bool and
/// narrow integers, otherwise `d`.
DType sum_accumulator(DType d);

}  // namespace touchstone
