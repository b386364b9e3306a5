#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/device.h"

namespace touchstone {

/// The reference device: evaluates a kernel's AST node by node over Eigen arrays, each value
/// correctly rounded, each sum exact and rounded once (docs/semantics.md). Prefers clarity to
/// speed. Checks every access against its buffer. Large kernels run in `threads` threads, 0 for one
/// per core; the result bits do not depend on it.
std::unique_ptr<Device> make_interpreted_device(std::string name = "CPU", int threads = 0);

/// Registers it as "CPU".
void register_interpreted_device();

/// A buffer that the host can read: itself, or a copy on the reference device. Not to be written.
class HostView {
 public:
  explicit HostView(const Buffer& buffer);
  Buffer* get() const { return view_; }

 private:
  std::unique_ptr<Buffer> copy_;
  Buffer* view_;
};

/// Such views of a kernel's inputs; null for buffer 0 and for null pointers.
class HostViews {
 public:
  explicit HostViews(std::span<Buffer* const> inputs);
  const std::vector<Buffer*>& get() const { return buffers_; }

 private:
  std::vector<std::unique_ptr<HostView>> views_;
  std::vector<Buffer*> buffers_;
};

}  // namespace touchstone
