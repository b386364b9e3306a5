#include "touchstone/dtype/dtype.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/base/suggest.h"

namespace touchstone {

namespace {

using TypeSet = std::uint32_t;  // bit i: the i-th DType

constexpr TypeSet set_of(std::initializer_list<DType> types) {
  TypeSet s = 0;
  for (const DType d : types) s |= TypeSet{1} << static_cast<int>(d);
  return s;
}

// The edges of the lattice, from each type to those directly above it (tinygrad@v0.8.0 dtype.py).
// Every edge goes to a later enumerator.
constexpr std::array<TypeSet, kDTypeCount> direct_parents = {{
    set_of({DType::Int8, DType::UInt8, DType::Float8E4M3, DType::Float8E5M2}),  // bool
    set_of({DType::Int16}),                                                     // int8
    set_of({DType::Int16, DType::UInt16}),                                      // uint8
    set_of({DType::Int32}),                                                     // int16
    set_of({DType::Int32, DType::UInt32}),                                      // uint16
    set_of({DType::Int64}),                                                     // int32
    set_of({DType::Int64, DType::UInt64}),                                      // uint32
    set_of({DType::Float16, DType::BFloat16}),                                  // int64
    set_of({DType::Float16, DType::BFloat16}),                                  // uint64
    set_of({DType::Float16, DType::BFloat16}),                                  // float8_e4m3
    set_of({DType::Float16, DType::BFloat16}),                                  // float8_e5m2
    set_of({DType::Float32}),                                                   // float16
    set_of({DType::Float32}),                                                   // bfloat16
    set_of({DType::Float64}),                                                   // float32
    set_of({}),                                                                 // float64
}};

constexpr std::array<TypeSet, kDTypeCount> all_above() {
  std::array<TypeSet, kDTypeCount> above{};
  for (int i = kDTypeCount - 1; i >= 0; --i) {
    const auto row = static_cast<std::size_t>(i);
    above[row] = TypeSet{1} << i;
    for (std::size_t j = row + 1; j < kDTypeCount; ++j)
      if ((direct_parents[row] >> j) & 1) above[row] |= above[j];
  }
  return above;
}
constexpr std::array<TypeSet, kDTypeCount> at_or_above = all_above();

}  // namespace

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& row : dtype_table)
    if (row.name == name || row.short_name == name) return row.dtype;
  return std::nullopt;
}

DType parse_dtype(std::string_view name) {
  if (const auto found = dtype_from_name(name)) return *found;
  std::vector<DTypeInfo> rows(dtype_table.begin(), dtype_table.end());
  const std::string_view shown = name.substr(0, 40);  // limits the search for long text
  std::ranges::sort(rows, {}, [&](const DTypeInfo& row) {
    return std::pair(std::min(edit_distance(shown, row.name), edit_distance(shown, row.short_name)),
                     row.dtype);
  });
  std::string names;
  for (const DTypeInfo& row : rows) {
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  throw DTypeError(
      fmt::format("there is no element type '{}'; known, nearest first: {}", shown, names));
}

DType promote(DType a, DType b) {
  const TypeSet both =
      at_or_above[static_cast<std::size_t>(a)] & at_or_above[static_cast<std::size_t>(b)];
  return static_cast<DType>(std::countr_zero(both));  // never empty, as float64 is above all types
}

DType sum_accumulator(DType d) {
  if (is_float(d)) return promote(d, DType::Float32);
  return promote(d, is_unsigned(d) ? DType::UInt32 : DType::Int32);
}

}  // namespace touchstone
