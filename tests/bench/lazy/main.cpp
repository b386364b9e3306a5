// Cost and savings of the lazy stack: scheduling per node, replay per kernel, each model's kernels
// with and without RECOMPUTE_BEFORE_EXPAND and by ranges and by fusion, alternating; and taking
// rows of a table.
// Prints the tables of docs/measured/performance.md. usage: lazy_bench [OPTION of Google
// Benchmark...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "touchstone/clang/clang_device.h"
#include "touchstone/device/config.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/lazy/jit.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/models.h"
#include "touchstone/tensor/nn.h"

namespace touchstone {
namespace {

constexpr std::string_view kCompared[] = {
    "abc",   "softmax",      "log-softmax",  "layernorm",         "matmul", "matmul-bias-relu",
    "lenet", "conv-bn-relu", "resnet-block", "transformer-block", "digits", "mlp",
    "lstm",  "resnet18",     "gpt"};
constexpr std::string_view kRecompute = "recomputing", kRanges = "ranges";

/// A loss and its gradients as kernels with their own buffers, ready to run repeatedly.
class ModelKernels {
 public:
  ModelKernels(std::string_view name, const Config& config)
      : device_(Device::get("CLANG")), graph_(models::model(name).build("CLANG", true)) {
    realize(graph_.leaves());
    wanted_ = graph_.results(true);
    for (const ScheduleItem& item : schedule(wanted_, {}, config)) {
      if (item.kind != Op::Store) continue;
      Run& run = runs_.emplace_back();
      run.kernel = item.ast;
      run.buffers.push_back(of(item.out));
      for (const LazyBufferPtr& input : item.inputs) run.buffers.push_back(of(input));
      flops_ += get_lazyop_info(item.ast).flops.as_int();
    }
    run();
  }
  void run() {
    for (const Run& r : runs_) run_kernel(device_, r.kernel, r.buffers);
  }
  std::size_t kernels() const { return runs_.size(); }
  double flops() const { return static_cast<double>(flops_); }

 private:
  struct Run {
    LazyOpPtr kernel;
    std::vector<Buffer*> buffers;
  };
  Buffer* of(const LazyBufferPtr& b) {
    if (b->realized()) return b->realized().get();
    BufferPtr& made = buffers_[b.get()];
    if (made == nullptr)
      made = std::make_shared<Buffer>(device_, b->dtype(), max_elements(b->shape()));
    return made.get();
  }

  Device& device_;
  models::ModelGraph graph_;
  std::vector<LazyBufferPtr> wanted_;
  std::unordered_map<const LazyBuffer*, BufferPtr> buffers_;
  std::vector<Run> runs_;
  std::int64_t flops_ = 0;
};

using Clock = std::chrono::steady_clock;

double seconds_of(ModelKernels& kernels) {
  const auto start = Clock::now();
  kernels.run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Alternates both ways, so that other load affects both alike.
void model_step(benchmark::State& state, std::string_view name, const Config& one,
                const Config& another) {
  ModelKernels with(name, one);
  ModelKernels without(name, another);
  std::vector<double> time, other, ratio;
  for (auto _ : state) {
    const bool first = time.size() % 2 == 0;
    const double before = first ? 0 : seconds_of(without);
    time.push_back(seconds_of(with));
    other.push_back(first ? seconds_of(without) : before);
    ratio.push_back(time.back() / other.back());
  }
  state.counters["kernels"] = static_cast<double>(with.kernels());
  state.counters["kernels_without"] = static_cast<double>(without.kernels());
  state.counters["flops"] = with.flops();
  state.counters["flops_without"] = without.flops();
  state.counters["seconds"] = std::ranges::min(time);
  state.counters["seconds_without"] = std::ranges::min(other);
  state.counters["ratio"] = median(std::move(ratio));
}

LazyBufferPtr number(float value, const Shape& shape, const char* device) {
  return LazyBuffer::constant(Scalar::of(value), shape, device);
}

/// A chain of elementwise ops, two nodes a step: one kernel.
LazyBufferPtr chain(std::int64_t nodes) {
  LazyBufferPtr x = LazyBuffer::empty({4}, DType::Float32, "CPU");
  for (std::int64_t i = 0; i < nodes; ++i)
    x = LazyBuffer::e(i % 2 ? Op::Add : Op::Mul, {x, number(0.5F, {4}, "CPU")});
  return x;
}

/// x = x*sum(x) + exp2(x^T), four nodes a step: at least a kernel a step.
LazyBufferPtr sums(std::int64_t nodes) {
  LazyBufferPtr x = LazyBuffer::empty({3, 3}, DType::Float32, "CPU");
  for (std::int64_t i = 0; i < nodes; i += 4) {
    const LazyBufferPtr total = x->r(Op::ReduceSum, {0, 1})->expand({3, 3});
    const LazyBufferPtr turned = LazyBuffer::e(Op::Exp2, {x->permute(std::vector{1, 0})});
    x = LazyBuffer::e(Op::Add, {LazyBuffer::e(Op::Mul, {x, total}), turned});
  }
  return x;
}

void scheduling(benchmark::State& state, LazyBufferPtr (*make)(std::int64_t)) {
  const LazyBufferPtr x = make(state.range(0));
  std::size_t kernels = 0;
  for (auto _ : state) kernels = schedule(std::span(&x, 1)).size();
  state.counters["kernels"] = static_cast<double>(kernels);
}

constexpr int kReplayed = 100;  // kernels of one element each

enum class How { Replay, Schedule, Launch };

void replaying(benchmark::State& state, How how) {
  TinyJit jit([](std::span<const LazyBufferPtr> in) {
    LazyBufferPtr x = in[0];
    for (int i = 0; i < kReplayed; ++i) x = LazyBuffer::e(Op::Sqrt, {x})->contiguous();
    return TinyJit::Tensors{x};
  });
  Device& device = Device::get("CLANG");
  const LazyBufferPtr in =
      LazyBuffer::from_buffer(std::make_shared<Buffer>(device, DType::Float32, 1), {1});
  const ShapeTracker st = ShapeTracker::contiguous({1});
  const LazyOpPtr kernel =
      LazyOp::store(st, LazyOp::unary(Op::Sqrt, LazyOp::load(1, DType::Float32, st)));
  Buffer out(device, DType::Float32, 1);
  Buffer* const both[] = {&out, in->realized().get()};
  Config config;
  config.jit = how != How::Schedule;
  const ConfigScope scope(config);
  for (int i = 0; i < 2; ++i) jit(std::span(&in, 1));
  for (auto _ : state) {
    if (how == How::Launch)
      for (int i = 0; i < kReplayed; ++i) run_kernel(device, kernel, both);
    else
      benchmark::DoNotOptimize(jit(std::span(&in, 1)));
  }
}

Tensor positions(std::int32_t count, std::int32_t rows) {
  std::vector<std::int32_t> at;
  for (std::int32_t i = 0; i < count; ++i) at.push_back(i * 7919 % rows);
  return Tensor::from<std::int32_t>(at, {count}, "CLANG");
}

/// 1,000 rows of 100,000 x 8.
void taking(benchmark::State& state) {
  Generator generator(1);
  const Tensor x = generator.normal({100'000, 8}, 0, 1, {DType::Float32, "CLANG"});
  const Tensor at = positions(1000, 100'000);
  for (auto _ : state) benchmark::DoNotOptimize(take(x, at, 0).read<float>());
}

/// 512 tokens of Embedding(10000, 64).
void embedding(benchmark::State& state, bool backward) {
  Generator generator(1);
  nn::Embedding table(10'000, 64, generator, {DType::Float32, "CLANG"});
  const Tensor tokens = positions(512, 10'000);
  for (auto _ : state) {
    const Tensor out = table(tokens);
    if (!backward) {
      benchmark::DoNotOptimize(out.read<float>());
      continue;
    }
    table.weight.zero_grad();
    out.square().sum().backward();
    benchmark::DoNotOptimize(table.weight.grad()->read<float>());
  }
}

/// Keeps the best time of each benchmark, by name, in seconds.
class Least final : public benchmark::ConsoleReporter {
 public:
  struct Row {
    double seconds = 0;
    std::map<std::string, double> counters;
  };
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      const double seconds = run.real_accumulated_time / static_cast<double>(run.iterations);
      Row& row = rows[run.run_name.function_name +
                      (run.run_name.args.empty() ? "" : "/" + run.run_name.args)];
      row.seconds = row.seconds == 0 ? seconds : std::min(row.seconds, seconds);
      for (const auto& [name, counter] : run.counters) row.counters[name] = counter;
    }
  }
  bool ReportContext(const Context&) override { return true; }
  const Row* find(const std::string& name) const {
    const auto it = rows.find(name);
    return it == rows.end() ? nullptr : &it->second;
  }
  std::map<std::string, Row> rows;
};

void print_models(const Least& least, std::string_view set, std::string_view other) {
  fmt::print(
      "\n| model, forward and backward, {0} | kernels | {1} | flops | {1} | time | {1} "
      "| ratio | of least times |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
      set, other);
  for (const std::string_view model : kCompared) {
    const Least::Row* const row = least.find(fmt::format("{}, {}", model, set));
    if (row == nullptr) continue;
    const auto at = [&](const char* counter) { return row->counters.at(counter); };
    fmt::print(
        "| {} | {:.0f} | {:.0f} | {:.3g} M | {:.3g} M | {:.1f} us | {:.1f} us | {:.2f} | {:.2f} "
        "|\n",
        model, at("kernels"), at("kernels_without"), 1e-6 * at("flops"), 1e-6 * at("flops_without"),
        1e6 * at("seconds"), 1e6 * at("seconds_without"), at("ratio"),
        at("seconds") / at("seconds_without"));
  }
}

void print_scheduling(const Least& least) {
  fmt::print("\n| graph | nodes | kernels | time | nodes a second |\n|---|---:|---:|---:|---:|\n");
  for (const char* graph : {"chain", "sums"})
    for (const int nodes : {1000, 10000, 100000})
      if (const Least::Row* row = least.find(fmt::format("{}/{}", graph, nodes)))
        fmt::print("| {} | {} | {:.0f} | {:.2f} ms | {:.0f} k |\n", graph, nodes,
                   row->counters.at("kernels"), 1e3 * row->seconds, 1e-3 * nodes / row->seconds);
}

void print_replay(const Least& least) {
  fmt::print("\n| a kernel of one element | time |\n|---|---:|\n");
  for (const char* how : {"replayed", "launched", "scheduled"})
    if (const Least::Row* row = least.find(how))
      fmt::print("| {} | {:.0f} ns |\n", how, 1e9 * row->seconds / kReplayed);
}

void print_rows(const Least& least) {
  fmt::print("\n| rows of a table | time |\n|---|---:|\n");
  for (const char* what : {"take", "embedding", "embedding and gradient"})
    if (const Least::Row* row = least.find(what))
      fmt::print("| {} | {:.2f} ms |\n", what, 1e3 * row->seconds);
}

void register_all() {
  const auto add = [](const std::string& name, auto run) {
    return benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime();
  };
  Config without, ranges;
  without.set(Switch::RecomputeBeforeExpand, false);
  ranges.scheduler = Scheduler::Ranges;
  for (const auto& [set, one, another] :
       {std::tuple(kRecompute, Config(), without), std::tuple(kRanges, ranges, Config())})
    for (const std::string_view model : kCompared)
      add(fmt::format("{}, {}", model, set),
          [=](benchmark::State& s) { model_step(s, model, one, another); });
  for (const auto& [name, make] : {std::pair("chain", &chain), std::pair("sums", &sums)})
    add(name, [make](benchmark::State& s) { scheduling(s, make); })
        ->Arg(1000)
        ->Arg(10000)
        ->Arg(100000)
        ->Repetitions(3);
  for (const auto& [name, how] :
       {std::pair("replayed", How::Replay), std::pair("launched", How::Launch),
        std::pair("scheduled", How::Schedule)})
    add(name, [how](benchmark::State& s) { replaying(s, how); })->Repetitions(15)->MinTime(0.01);
  add("take", taking);
  add("embedding", [](benchmark::State& s) { embedding(s, false); });
  add("embedding and gradient", [](benchmark::State& s) { embedding(s, true); });
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  touchstone::register_interpreted_device();
  touchstone::ClangOptions options = touchstone::ClangOptions::from_environment();
  options.threads = 1;  // other programs disturb one thread less than several
  touchstone::register_clang_device(options);
  touchstone::register_all();
  touchstone::Least least;
  benchmark::RunSpecifiedBenchmarks(&least);
  touchstone::print_models(least, touchstone::kRecompute, "without");
  touchstone::print_models(least, touchstone::kRanges, "lazy");
  touchstone::print_scheduling(least);
  touchstone::print_replay(least);
  touchstone::print_rows(least);
}
