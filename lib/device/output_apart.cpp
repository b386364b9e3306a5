#include "touchstone/device/output_apart.h"

#include <algorithm>
#include <cstring>

namespace touchstone {

OutputApart::OutputApart(std::span<Buffer* const> buffers)
    : buffers_(buffers), output_(buffers.empty() ? nullptr : buffers[0]) {
  const auto is_its_memory = [&](const Buffer* b) {
    return b != nullptr && b->memory() == output_->memory();
  };
  if (output_ == nullptr || output_->bytes() == 0 ||
      std::ranges::none_of(buffers.subspan(1), is_its_memory))
    return;
  // Elements that the kernel does not write keep their values.
  answer_ = std::make_unique<Buffer>(output_->device(), output_->dtype(), output_->size());
  std::memcpy(answer_->memory(), output_->memory(), output_->bytes());
  apart_.assign(buffers.begin(), buffers.end());
  apart_[0] = answer_.get();
  buffers_ = apart_;
}

void OutputApart::finish() {
  if (answer_) std::memcpy(output_->memory(), answer_->memory(), output_->bytes());
}

}  // namespace touchstone
