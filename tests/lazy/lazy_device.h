#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/lazy/realize.h"

namespace touchstone {

/// Base of tests with graphs on the interpreted device.
class LazyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_interpreted_device();
    register_clang_device();
  }

  template <class T>
  static LazyBufferPtr buffer(const std::vector<T>& values, const Shape& shape,
                              const std::string& device = "CPU") {
    const BufferPtr made = std::make_shared<Buffer>(Device::get(device), dtype_v<T>,
                                                    static_cast<std::int64_t>(values.size()));
    made->write<T>(values);
    return LazyBuffer::from_buffer(made, shape);
  }
  /// 1, 2, 3, ... as float32.
  static LazyBufferPtr counting(const Shape& shape) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < max_elements(shape); ++i)
      values.push_back(static_cast<float>(i + 1));
    return buffer(values, shape);
  }
  static LazyBufferPtr number(double value, const Shape& shape) {
    return LazyBuffer::constant(Scalar::from_double(DType::Float32, value), shape, "CPU");
  }
  static LazyBufferPtr add(const LazyBufferPtr& a, const LazyBufferPtr& b) {
    return LazyBuffer::e(Op::Add, {a, b});
  }
  static LazyBufferPtr mul(const LazyBufferPtr& a, const LazyBufferPtr& b) {
    return LazyBuffer::e(Op::Mul, {a, b});
  }
  static LazyBufferPtr exp2(const LazyBufferPtr& a) { return LazyBuffer::e(Op::Exp2, {a}); }
  static LazyBufferPtr sum(const LazyBufferPtr& a, std::vector<int> axes) {
    return a->r(Op::ReduceSum, std::move(axes));
  }

  static std::vector<ScheduleItem> plan(const std::vector<LazyBufferPtr>& outputs) {
    const std::vector<ScheduleItem> items = schedule(outputs);
    for (const ScheduleItem& item : items)
      if (item.kind == Op::Store) validate_kernel(item.ast);
    return items;
  }
  static std::size_t kernels(const std::vector<LazyBufferPtr>& outputs) {
    std::size_t n = 0;
    for (const ScheduleItem& item : plan(outputs)) n += item.kind == Op::Store ? 1 : 0;
    return n;
  }
  static std::vector<float> values(const LazyBufferPtr& x) {
    const LazyBufferPtr whole = x->contiguous();
    realize(std::vector{whole});
    return whole->realized()->read<float>();
  }
  using Floats = std::vector<float>;
};

}  // namespace touchstone
