#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"

namespace touchstone {

/// A device with the user's cache, so that a kernel is compiled once for all tests and presets: its
/// key contains its source, the compiler and the flags.
struct TestDevice {
  explicit TestDevice(const ClangOptions& options = ClangOptions::from_environment())
      : device(make_clang_device("TEST", options)) {}
  Device& operator*() const { return *device; }

  std::unique_ptr<Device> device;
};

/// A device with its own cache, removed with it: for tests of how kernels are compiled.
struct FreshDevice {
  explicit FreshDevice(ClangOptions options = ClangOptions::from_environment()) {
    options.cache_dir = cache.path();
    device = make_clang_device("TEST", options);
  }
  Device& operator*() const { return *device; }

  TemporaryDirectory cache;
  std::unique_ptr<Device> device;
};

/// Unoptimised kernels of any size in this layout, on `threads` threads, trapping on undefined
/// behaviour.
inline ClangOptions laid_out(const LayoutSizes& sizes, int threads) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.sizes = sizes;
  options.opt_level = 0;
  options.threads = threads;
  options.parallel_work = 1;
  options.sanitize = true;
  return options;
}

inline LazyOpPtr stored(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

/// A kernel's output elements for inputs of one type. inputs[i] is buffer i + 1.
template <class T>
std::vector<T> run(Device& device, const LazyOpPtr& kernel,
                   const std::vector<std::vector<T>>& inputs, const symbolic::Values& values = {}) {
  const std::int64_t size = elements(bind_variables(kernel, values)->shape()).as_int();
  std::vector<std::unique_ptr<Buffer>> buffers;
  buffers.push_back(std::make_unique<Buffer>(device, kernel->dtype(), size));
  for (const std::vector<T>& input : inputs) {
    buffers.push_back(
        std::make_unique<Buffer>(device, dtype_v<T>, static_cast<std::int64_t>(input.size())));
    buffers.back()->write(std::span<const T>(input));
  }
  std::vector<Buffer*> given;
  for (const auto& b : buffers) given.push_back(b.get());
  run_kernel(device, kernel, given, values);
  return buffers[0]->read<T>();
}

/// first, first + 1, ...
template <class T>
std::vector<T> counting(std::int64_t size, T first = T{1}) {
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& v : values) v = first++;
  return values;
}

/// The right output of a kernel that copies `st`: a plain loop over the logical elements.
template <class T>
std::vector<T> gathered(const ShapeTracker& st, const std::vector<T>& buffer) {
  std::vector<T> out;
  const std::int64_t size = st.size().as_int();
  std::vector<std::int64_t> index(st.shape().size());
  for (std::int64_t flat = 0; flat < size; ++flat) {
    std::int64_t rest = flat;
    for (std::size_t axis = index.size(); axis-- > 0;) {
      const std::int64_t extent = st.shape()[axis].as_int();
      index[axis] = rest % extent;
      rest /= extent;
    }
    const auto at = st.at(index);
    out.push_back(at ? buffer.at(static_cast<std::size_t>(*at)) : T{0});
  }
  return out;
}

}  // namespace touchstone
