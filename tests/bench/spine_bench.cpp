#include <functional>

#include <benchmark/benchmark.h>

#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/tensor/models.h"
#include "touchstone/tensor/optim.h"

// Times the whole path from a tensor to a verdict. Names are "workload/device"; numpy_peer.py runs
// the same workloads under the same names.

namespace touchstone {
namespace {

void register_devices() {
  register_interpreted_device();
  register_clang_device();
}

Tensor uniform(const Shape& shape, const std::string& device) {
  static Generator generator(1);
  Tensor t = generator.uniform(shape, 0.0, 1.0, {.device = device});
  t.realize();
  return t;
}

struct Workload {
  const char* name;
  Tensor (*build)(const std::string& device);
};

const Workload kWorkloads[] = {
    {"add 2^20",
     [](const std::string& d) { return uniform({1 << 20}, d) + uniform({1 << 20}, d); }},
    {"fused chain 2^20",
     [](const std::string& d) {
       const Tensor a = uniform({1 << 20}, d), b = uniform({1 << 20}, d), c = uniform({1 << 20}, d);
       return ((a * b + c).relu() - a).square() * 0.5;
     }},
    {"sum 2^22", [](const std::string& d) { return uniform({1 << 22}, d).sum(); }},
    {"softmax 1024x1024",
     [](const std::string& d) {
       return softmax(uniform({1024, 1024}, d));
     }},
    {"matmul 512",
     [](const std::string& d) {
       return uniform({512, 512}, d).matmul(uniform({512, 512}, d));
     }},
    {"conv2d 3x3 64x56x56",
     [](const std::string& d) {
       return conv2d(uniform({1, 64, 56, 56}, d), uniform({64, 64, 3, 3}, d), std::nullopt,
                     {.padding = {1, 1}});
     }},
};

// A graph's kernels with their own buffers, ready to run repeatedly.
class Prepared {
 public:
  Prepared(const Workload& workload, const std::string& device) : device_(Device::get(device)) {
    const Tensor output = workload.build(device);
    const LazyBufferPtr lazy = output.lazy();
    fuzz::RandomChooser chooser(1, 1);
    for (const ScheduleItem& item : schedule(std::span(&lazy, 1))) {
      if (item.kind != Op::Store) continue;
      fuzz::KernelCase c{item.ast, fuzz::draw_inputs(chooser, fuzz::ValueFamily::Random, item.ast)};
      runs_.push_back({item.ast, fuzz::make_buffers(c, device_), {}});
      for (const BufferPtr& b : runs_.back().buffers) runs_.back().raw.push_back(b.get());
      flops_ += get_lazyop_info(item.ast).flops.as_int();
    }
    run();  // compiles
  }
  void run() {
    for (const Run& r : runs_) run_kernel(device_, r.kernel, r.raw);
  }
  double judge_all() const {
    double wrong = 0;
    for (const Run& r : runs_)
      wrong += static_cast<double>(judge(r.kernel, r.raw, *r.raw[0]).wrong);
    return wrong;
  }
  std::int64_t flops() const { return flops_; }
  std::size_t kernels() const { return runs_.size(); }

 private:
  struct Run {
    LazyOpPtr kernel;
    std::vector<BufferPtr> buffers;
    std::vector<Buffer*> raw;
  };
  Device& device_;
  std::vector<Run> runs_;
  std::int64_t flops_ = 0;
};

void run_workload(benchmark::State& state, const Workload& workload, const std::string& device) {
  Prepared prepared(workload, device);
  for (auto _ : state) prepared.run();
  state.counters["kernels"] = static_cast<double>(prepared.kernels());
  state.counters["flops"] = benchmark::Counter(static_cast<double>(prepared.flops()),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void judge_workload(benchmark::State& state, const Workload& workload) {
  Prepared prepared(workload, "CLANG");
  for (auto _ : state) benchmark::DoNotOptimize(prepared.judge_all());
}

void training_step(benchmark::State& state, const std::string& device) {
  Generator generator(1);
  const models::DigitsNet net(generator, device);
  optim::Adam adam(net.parameters(), 4e-3);
  const Tensor images = uniform({60, 1, 8, 8}, device);
  const Tensor labels = Tensor::zeros({60}, {DType::Int32, device}).contiguous();
  labels.realize();
  const auto step = [&] {
    adam.zero_grad();
    const Tensor loss = cross_entropy(net(images), labels);
    loss.backward();
    adam.step({loss});
  };
  step();
  step();
  const double before = counters().seconds;
  std::int64_t steps = 0;
  for (auto _ : state) {
    step();
    ++steps;
  }
  state.counters["in_kernels"] =
      benchmark::Counter((counters().seconds - before) / static_cast<double>(steps));
}

// Compiles n new kernels in one compiler call, or loads them from a warm disk cache.
void compile(benchmark::State& state, bool warm) {
  const auto n = state.range(0);
  const TemporaryDirectory cache;
  ClangOptions options = ClangOptions::from_environment();
  options.cache_dir = cache.path();
  std::int64_t fresh = 0;
  const auto kernels = [&](std::int64_t first) {
    std::vector<LazyOpPtr> out;
    for (std::int64_t i = first; i < first + n; ++i) {
      const ShapeTracker st = ShapeTracker::contiguous({64, 8});
      const LazyOpPtr x = LazyOp::load(1, DType::Float32, st);
      const LazyOpPtr c = LazyOp::constant(Scalar::of(static_cast<float>(i)),
                                           ShapeTracker::contiguous({1, 1}).expand({64, 8}));
      out.push_back(
          LazyOp::store(ShapeTracker::contiguous({64, 1}),
                        LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, c), {1})));
    }
    return out;
  };
  if (warm) make_clang_device("BENCH", options)->prepare(kernels(0));
  for (auto _ : state) {
    const std::unique_ptr<Device> device = make_clang_device("BENCH", options);
    device->prepare(kernels(warm ? 0 : (fresh += n)));
  }
  state.counters["each_ms"] =
      benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate |
                                                     benchmark::Counter::kInvert);
}

void launch(benchmark::State& state) {
  Device& device = Device::get("CLANG");
  const ShapeTracker st = ShapeTracker::contiguous({1});
  const LazyOpPtr kernel =
      LazyOp::store(st, LazyOp::unary(Op::Neg, LazyOp::load(1, DType::Float32, st)));
  Buffer out(device, DType::Float32, 1), in(device, DType::Float32, 1);
  Buffer* const both[] = {&out, &in};
  run_kernel(device, kernel, both);
  for (auto _ : state) run_kernel(device, kernel, both);
}

const bool kRegistered = [] {
  register_devices();
  using benchmark::kMillisecond;
  benchmark::RegisterBenchmark("compile 1 kernel/CLANG",
                               [](benchmark::State& s) { compile(s, false); })
      ->Arg(1)
      ->Unit(kMillisecond);
  benchmark::RegisterBenchmark("compile 50 kernels/CLANG",
                               [](benchmark::State& s) { compile(s, false); })
      ->Arg(50)
      ->Unit(kMillisecond);
  benchmark::RegisterBenchmark("load 50 compiled kernels/CLANG",
                               [](benchmark::State& s) { compile(s, true); })
      ->Arg(50)
      ->Unit(kMillisecond);
  benchmark::RegisterBenchmark("load 1 compiled kernel/CLANG",
                               [](benchmark::State& s) { compile(s, true); })
      ->Arg(1)
      ->Unit(kMillisecond);
  benchmark::RegisterBenchmark("launch/CLANG", launch)->Unit(kMillisecond);
  for (const Workload& w : kWorkloads) {
    for (const char* device : {"CLANG", "CPU"})
      benchmark::RegisterBenchmark(
          (std::string(w.name) + "/" + device).c_str(),
          [&w, device](benchmark::State& s) { run_workload(s, w, device); })
          ->Unit(kMillisecond)
          ->UseRealTime();
    benchmark::RegisterBenchmark((std::string(w.name) + "/verdict").c_str(),
                                 [&w](benchmark::State& s) { judge_workload(s, w); })
        ->Unit(kMillisecond)
        ->UseRealTime();
  }
  for (const char* device : {"CLANG", "CPU"})
    benchmark::RegisterBenchmark((std::string("digits training step/") + device).c_str(),
                                 [device](benchmark::State& s) { training_step(s, device); })
        ->Unit(kMillisecond)
        ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace touchstone
