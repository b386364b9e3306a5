#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::interp {

/// The nodes of a kernel's value, each once, operands first; the last is the stored one.
std::vector<LazyOpPtr> nodes_of(const LazyOpPtr& kernel);

/// The kernel that stores `node` in row-major order.
LazyOpPtr kernel_of(const LazyOpPtr& node);

/// The index on each axis of element `flat` of a concrete kernel's output.
std::vector<std::int64_t> place_of(std::int64_t flat, const LazyOpPtr& kernel);

/// Terms left out of sums, and of maxima if `of_all`, along their last axis.
struct MissingTerms {
  std::int64_t count = 0;
  bool first = false;  // the first ones, not the last
  bool of_all = false;
  std::int64_t of_length = 0;  // only of axes with so many terms; 0: all
  /// "the last 32 terms of each sum are missing"
  std::string str() const;
};
/// How many of n terms at one end a loop may lose: blocks of a power of two, and what such blocks
/// leave over.
std::set<std::int64_t> counts_of_missing(std::int64_t n);
/// The kernel without these terms, where an axis has more.
LazyOpPtr without_terms(const LazyOpPtr& kernel, const MissingTerms& missing);

/// The kernel of one element of a concrete kernel's output; at: an index for each axis. Throws
/// ShapeError if there is no such element.
LazyOpPtr one_element(const LazyOpPtr& kernel, std::span<const std::int64_t> at);

}  // namespace touchstone::interp
