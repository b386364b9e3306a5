#pragma once

#include <memory>
#include <span>
#include <vector>

#include "touchstone/device/buffer.h"

namespace touchstone {

/// Buffers for one kernel run in which the output (the first) shares no memory with an input: if it
/// does, a temporary buffer takes the result until all inputs are read. For devices that use host
/// memory.
class OutputApart {
 public:
  explicit OutputApart(std::span<Buffer* const> buffers);
  std::span<Buffer* const> buffers() const { return buffers_; }
  /// Call after the run: moves the result to the output.
  void finish();

 private:
  std::span<Buffer* const> buffers_;
  std::vector<Buffer*> apart_;      // empty if nothing is shared
  std::unique_ptr<Buffer> answer_;  // null if nothing is shared
  Buffer* output_;
};

}  // namespace touchstone
