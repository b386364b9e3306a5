#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "touchstone/base/error.h"

namespace touchstone {

/// A position of a checked GATHER outside what it chooses from: in row-major order the number of
/// the position, the index that it holds, and the size of the axis. The least of those in a kernel
/// is reported, whatever order its elements are computed in.
struct IndexFault {
  std::int64_t number = std::numeric_limits<std::int64_t>::max();
  std::int64_t index = 0;
  std::int64_t size = 0;

  bool found() const { return number != std::numeric_limits<std::int64_t>::max(); }
  auto operator<=>(const IndexFault&) const = default;
};

/// An index, known only as a kernel runs, is outside the axis it is of.
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

// As generated code writes them.
static_assert(sizeof(IndexFault) == 3 * sizeof(std::int64_t));

inline void raise_if_found(const IndexFault& fault) {
  if (fault.found()) throw IndexError(fault);
}

}  // namespace touchstone
