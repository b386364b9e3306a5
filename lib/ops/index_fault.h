#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "touchstone/base/error.h"

namespace touchstone {

/// An out-of-range position of a checked GATHER: its row-major number, the index it holds, and the
/// size of the axis. A kernel reports the fault with the least number, whatever its evaluation
/// order.
struct IndexFault {
  std::int64_t number = std::numeric_limits<std::int64_t>::max();
  std::int64_t index = 0;
  std::int64_t size = 0;

  bool found() const { return number != std::numeric_limits<std::int64_t>::max(); }
  auto operator<=>(const IndexFault&) const = default;
};

/// An index computed by a kernel is outside its axis.
class IndexError : public ShapeError {
 public:
  explicit IndexError(const IndexFault& fault)
      : ShapeError(fmt::format("index {} (number {} of the positions, from 0) is outside an axis "
                               "of {} elements; expected 0 to {}",
                               fault.index, fault.number, fault.size, fault.size - 1)),
        fault_(fault) {}
  const IndexFault& fault() const { return fault_; }

 private:
  IndexFault fault_;
};

// The layout that generated code writes.
static_assert(sizeof(IndexFault) == 3 * sizeof(std::int64_t));

inline void raise_if_found(const IndexFault& fault) {
  if (fault.found()) throw IndexError(fault);
}

}  // namespace touchstone
