#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "scalar_reference.h"
#include "touchstone/base/error.h"

// The CPU device gives equal bits for any number of threads, which divide outputs, or the terms of
// an exact sum or maximum.

namespace touchstone {
namespace {

std::string bytes_by(int threads, const LazyOpPtr& value, const std::vector<float>& x) {
  const auto device = make_interpreted_device("CPU", threads);
  const LazyOpPtr kernel = test::store(value);
  std::int64_t size = 1;
  for (const sint& s : value->shape()) size *= s.evaluate({});
  Buffer out(*device, value->dtype(), size);
  Buffer in(*device, DType::Float32, static_cast<std::int64_t>(x.size()));
  in.write(std::span<const float>(x));
  run_kernel(*device, kernel, std::vector<Buffer*>{&out, &in});
  const auto* memory = static_cast<const char*>(out.memory());
  return {memory, memory + static_cast<std::size_t>(size) * itemsize(value->dtype())};
}

std::vector<float> drawn(std::size_t n) {
  test::TracedDraws random(41);
  std::vector<float> x;
  while (x.size() < n) {
    const auto bits = static_cast<std::uint32_t>(random.bits());
    x.push_back(test::of_bits<float>((bits & 0x7f800000) == 0x7f800000 ? bits & 0x3fffffff : bits));
  }
  return x;
}

LazyOpPtr loaded(const Shape& shape) {
  return LazyOp::load(1, DType::Float32, ShapeTracker::contiguous(shape));
}

TEST(Threads, GiveTheSameBits) {
  const std::vector<float> x = drawn(3 * 200 * 250);
  const auto sum = [](const LazyOpPtr& v, std::vector<int> axes) {
    return LazyOp::reduce(Op::ReduceSum, v, std::move(axes));
  };
  const LazyOpPtr cube = loaded({3, 200, 250});
  const LazyOpPtr all = sum(cube, {0, 1, 2});
  const LazyOpPtr kernels[] = {
      LazyOp::unary(Op::Sin, cube),
      LazyOp::binary(Op::Mul, cube, LazyOp::unary(Op::Neg, cube)),
      all,
      LazyOp::unary(Op::Sqrt, LazyOp::binary(Op::Mul, all, all)),
      LazyOp::reduce(Op::ReduceMax, cube, {0, 1, 2}),
      sum(LazyOp::cast(cube, DType::Int16), {0, 1, 2}),
      sum(cube, {1, 2}),
      sum(cube, {0, 2}),
      sum(cube, {0}),
      sum(LazyOp::reduce(Op::ReduceMax, cube, {2}), {0, 1, 2}),
  };
  for (const LazyOpPtr& kernel : kernels) {
    const std::string alone = bytes_by(1, kernel, x);
    for (const int threads : {2, 3, 8})
      EXPECT_EQ(bytes_by(threads, kernel, x), alone) << threads << " threads";
  }
}

TEST(Threads, HandOnWhatAKernelThrows) {
  const auto device = make_interpreted_device("CPU", 4);
  const LazyOpPtr kernel = test::store(LazyOp::unary(Op::Sin, loaded({1 << 17})));
  Buffer out(*device, DType::Float32, 1 << 17), in(*device, DType::Float32, 100);
  EXPECT_THROW(run_kernel(*device, kernel, std::vector<Buffer*>{&out, &in}), Error);
}

}  // namespace
}  // namespace touchstone
