#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "../../support/draws.h"
#include "touchstone/interp/device/interpreted.h"

// The reference device alone, per kernel: the figures of docs/measured/performance.md. On one
// thread, and on one per core.

namespace touchstone {
namespace {

LazyOpPtr load(int idx, const ShapeTracker& st, DType dtype = DType::Float32) {
  return LazyOp::load(idx, dtype, st);
}
LazyOpPtr load(int idx, const Shape& shape, DType dtype = DType::Float32) {
  return load(idx, ShapeTracker::contiguous(shape), dtype);
}
LazyOpPtr constant(float value, const Shape& shape) {
  return LazyOp::constant(Scalar::of(value),
                          ShapeTracker::contiguous(Shape(shape.size(), 1)).expand(shape));
}
LazyOpPtr binary(Op op, const LazyOpPtr& a, const LazyOpPtr& b) { return LazyOp::binary(op, a, b); }

LazyOpPtr add(DType dtype) {
  const Shape shape{1 << 20};
  return binary(Op::Add, load(1, shape, dtype), load(2, shape, dtype));
}

LazyOpPtr chain() {  // ((a * b + c).relu() - a).square() * 0.5
  const Shape shape{1 << 20};
  const LazyOpPtr a = load(1, shape);
  const LazyOpPtr sum = binary(Op::Add, binary(Op::Mul, a, load(2, shape)), load(3, shape));
  const LazyOpPtr rest = binary(Op::Sub, binary(Op::Max, sum, constant(0, shape)), a);
  return binary(Op::Mul, binary(Op::Mul, rest, rest), constant(0.5F, shape));
}

LazyOpPtr sum(DType dtype) {
  return LazyOp::reduce(Op::ReduceSum, load(1, Shape{1 << 22}, dtype), {0});
}

LazyOpPtr row_sums() { return LazyOp::reduce(Op::ReduceSum, load(1, Shape{1 << 16, 64}), {1}); }

LazyOpPtr matmul(int n, DType dtype = DType::Float32) {
  const ShapeTracker square = ShapeTracker::contiguous({n, n});
  const ShapeTracker rows = square.reshape({n, 1, n}).expand({n, n, n});
  const ShapeTracker columns =
      square.permute(std::vector<int>{1, 0}).reshape({1, n, n}).expand({n, n, n});
  return LazyOp::reduce(Op::ReduceSum,
                        binary(Op::Mul, load(1, rows, dtype), load(2, columns, dtype)), {2});
}

LazyOpPtr transpose() {
  return LazyOp::unary(
      Op::Neg, load(1, ShapeTracker::contiguous({1024, 1024}).permute(std::vector<int>{1, 0})));
}

LazyOpPtr conv() {  // 3x3, 32 channels to 32, 28x28, padded
  const ShapeTracker image = ShapeTracker::contiguous({32, 28, 28}).pad({{0, 0}, {1, 1}, {1, 1}});
  const ShapeTracker windows = image.as_strided({1, 28, 28, 32, 3, 3}, {0, 30, 1, 900, 30, 1});
  const ShapeTracker weights = ShapeTracker::contiguous({32, 1, 1, 32, 3, 3});
  const Shape shape{32, 28, 28, 32, 3, 3};
  return LazyOp::reduce(
      Op::ReduceSum,
      binary(Op::Mul, load(1, windows.expand(shape)), load(2, weights.expand(shape))), {3, 4, 5});
}

// exp2(x - max) / sum in one kernel: the reduces are repeated for each element that reads them.
LazyOpPtr softmax(int rows, int columns) {
  const ShapeTracker x = ShapeTracker::contiguous({rows, columns});
  // (rows, columns, columns, columns) -> one value per element of the sum's terms.
  Shape four{rows, columns, columns, columns};
  const LazyOpPtr inner_max =
      LazyOp::reduce(Op::ReduceMax, load(1, x.reshape({rows, 1, 1, columns}).expand(four)), {3});
  const LazyOpPtr terms = LazyOp::unary(
      Op::Exp2,
      binary(Op::Sub, load(1, x.reshape({rows, 1, columns, 1}).expand({rows, columns, columns, 1})),
             inner_max));
  const LazyOpPtr total = LazyOp::reduce(Op::ReduceSum, terms, {2});
  const LazyOpPtr outer_max = LazyOp::reduce(
      Op::ReduceMax, load(1, x.reshape({rows, 1, 1, columns}).expand({rows, columns, 1, columns})),
      {3});
  const LazyOpPtr top = LazyOp::unary(
      Op::Exp2, binary(Op::Sub, load(1, x.reshape({rows, columns, 1, 1})), outer_max));
  return binary(Op::Div, top, total);
}

struct Workload {
  const char* name;
  std::function<LazyOpPtr()> kernel;
};

const Workload kWorkloads[] = {
    {"add 2^20", [] { return add(DType::Float32); }},
    {"add 2^20 float16", [] { return add(DType::Float16); }},
    {"add 2^20 int32", [] { return add(DType::Int32); }},
    {"chain of five 2^20", chain},
    {"sum 2^22", [] { return sum(DType::Float32); }},
    {"sum 2^22 float16", [] { return sum(DType::Float16); }},
    {"sum 2^22 float64", [] { return sum(DType::Float64); }},
    {"row sums 2^16 x 64", row_sums},
    {"transpose 1024", transpose},
    {"matmul 512", [] { return matmul(512); }},
    {"matmul 128 float64", [] { return matmul(128, DType::Float64); }},
    {"conv2d 3x3 32x28x28", conv},
    {"softmax 64x128", [] { return softmax(64, 128); }},
};

void fill(Buffer& buffer, test::Draws& random) {
  with_storage(buffer.dtype(), [&]<class T>(std::type_identity<T>) {
    T* memory = static_cast<T*>(buffer.memory());
    for (std::int64_t i = 0; i < buffer.size(); ++i)
      memory[i] = convert<T>(random.uniform(-1.0, 1.0) * (is_float_storage<T> ? 1 : 1000));
  });
}

void run(benchmark::State& state, const Workload& workload, int threads) {
  const auto device = make_interpreted_device("CPU", threads);
  const LazyOpPtr value = workload.kernel();
  const LazyOpPtr kernel = LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
  test::Draws random(1);
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Buffer*> raw;
  for (const BufferSpec& spec : buffers_of(kernel)) {
    buffers.push_back(std::make_unique<Buffer>(*device, spec.dtype, spec.size));
    fill(*buffers.back(), random);
    raw.push_back(buffers.back().get());
  }
  for (auto _ : state) run_kernel(*device, kernel, raw);
}

const bool registered = [] {
  for (const Workload& workload : kWorkloads)
    for (const int threads : {1, 0})
      benchmark::RegisterBenchmark(
          (std::string(workload.name) + (threads == 1 ? "/one thread" : "/all threads")).c_str(),
          [&workload, threads](benchmark::State& state) { run(state, workload, threads); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace touchstone
