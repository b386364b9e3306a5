#pragma once

#include <memory>
#include <span>
#include <vector>

#include "touchstone/device/buffer.h"

namespace touchstone {

/// The buffers of one run of a kernel whose output (the first) is nobody's input: where its memory
/// is also that of an input, another buffer takes the answer until all inputs are read. For
/// devices whose memory is the host's.
class OutputApart {
 public:
  explicit OutputApart(std::span<Buffer* const> buffers);
  std::span<Buffer* const> buffers() const { return buffers_; }
  /// After the run: the answer goes where it belongs.
  void finish();

 private:
  std::span<Buffer* const> buffers_;
  std::vector<Buffer*> apart_;      // empty where the memory is only the output's
  std::unique_ptr<Buffer> answer_;  // null there
  Buffer* output_;
};

}  // namespace touchstone
