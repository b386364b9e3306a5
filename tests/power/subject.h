#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::power {

/// A kernel of one operation for planting faults: an elementwise op over `size` elements, or a
/// reduce of kRows rows of `size` terms each.
struct Subject {
  Op op;
  bool dot;     // REDUCE_SUM of products
  DType dtype;  // of the operands
  DType to;     // of the result
  std::int64_t size;
  LazyOpPtr kernel;

  bool reduces() const { return is_reduce(op); }
  std::string str() const;
};
inline constexpr std::int64_t kRows = 8;

/// Every elementwise op and reduce of every type it takes, CAST to every type, and dot products.
std::vector<Subject> all_subjects(const std::vector<std::int64_t>& sizes);

}  // namespace touchstone::power
