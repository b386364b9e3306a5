#pragma once

#include <cstddef>

namespace touchstone {

/// True if row i of a table is that of enumerator i, up to the last enumerator.
template <class Table, class Row, class Enum>
constexpr bool rows_follow_enum(const Table& table, Enum Row::*enumerator, Enum last) {
  std::size_t i = 0;
  for (const Row& row : table)
    if (row.*enumerator != static_cast<Enum>(i++)) return false;
  return i == static_cast<std::size_t>(last) + 1;
}

}  // namespace touchstone
