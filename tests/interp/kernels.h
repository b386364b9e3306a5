#pragma once

#include <memory>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/interp/device/interpreted.h"

// Small kernels, and buffers for running them.

namespace touchstone::test {

inline Device& reference() {
  register_interpreted_device();
  return Device::get("CPU");
}

template <class T>
BufferPtr buffer(const std::vector<T>& values) {
  auto b =
      std::make_shared<Buffer>(reference(), dtype_v<T>, static_cast<std::int64_t>(values.size()));
  b->write(std::span<const T>(values));
  return b;
}
inline BufferPtr buffer(DType dtype, std::int64_t size) {
  return std::make_shared<Buffer>(reference(), dtype, size);
}

inline LazyOpPtr store(const LazyOpPtr& value) {
  return LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
}

inline std::vector<Buffer*> raw(const std::vector<BufferPtr>& buffers) {
  std::vector<Buffer*> out;
  for (const BufferPtr& b : buffers) out.push_back(b.get());
  return out;
}

/// Stores `value` and runs it on inputs numbered from 1; returns the output.
template <class R>
std::vector<R> run(const LazyOpPtr& value, std::vector<BufferPtr> inputs,
                   const symbolic::Values& values = {}) {
  const LazyOpPtr kernel = store(value);
  std::int64_t size = 1;
  for (const sint& s : value->shape()) size *= s.evaluate(values);
  inputs.insert(inputs.begin(), buffer(value->dtype(), size));
  run_kernel(reference(), kernel, raw(inputs), values);
  return inputs[0]->read<R>();
}

}  // namespace touchstone::test
