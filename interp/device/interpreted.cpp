#include "touchstone/interp/device/interpreted.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <tbb/enumerable_thread_specific.h>

#include "touchstone/base/fp_guard.h"
#include "touchstone/device/output_apart.h"
#include "touchstone/interp/device/evaluator.h"
#include "touchstone/interp/device/fxn_for_op.h"
#include "touchstone/interp/device/gather.h"
#include "touchstone/interp/device/threads.h"

namespace touchstone {
namespace {

using namespace interp;

// The Evaluator's domain of plain values, for the device itself.
class Values {
 public:
  using Block = interp::Block;

  explicit Values(std::span<Buffer* const> buffers) : buffers_(buffers) {}

  void load(const ProgramNode& node, std::span<const AddressRun> runs, std::int64_t count,
            Block& out) const {
    const Buffer& buffer = *buffers_[static_cast<std::size_t>(node.buffer)];
    check_runs(runs, buffer, node.buffer);
    const auto* memory = static_cast<const std::byte*>(buffer.memory());
    const std::size_t width = itemsize(node.dtype);
    if (runs.size() == 1 && runs[0].valid() && runs[0].stride == 1)  // contiguous: no copy
      return out.refer(node.dtype, count, memory + static_cast<std::size_t>(runs[0].base) * width);
    out.resize(node.dtype, count);
    gather(width, memory, runs, out.data());
  }

  void positions(const ProgramNode& node, const Block& block, std::int64_t first,
                 std::span<std::int64_t> out) {
    std::memcpy(out.data(), block.data(), out.size_bytes());
    fault_ = std::min(fault_, fault_of(node, out, first));
  }

  /// The first fault so far.
  const IndexFault& fault() const { return fault_; }

  void constant(const ProgramNode& node, std::span<const AddressRun> runs, std::int64_t count,
                Block& out) const {
    out.resize(node.dtype, count);
    spread(itemsize(node.dtype), node.value.bits(), runs, out.data());
  }

  void apply(const ProgramNode& node, std::span<const Block* const> operands, std::int64_t count,
             Block& out) const {
    out.resize(node.dtype, count);
    if (node.op == Op::Function) return apply_function(node.function.function, operands, out);
    const ElementwiseFxn fxn = node.op == Op::Cast
                                   ? fxn_for_cast(node.src_dtypes[0], node.dtype, node.bitcast)
                                   : fxn_for_op(node.op, node.src_dtypes.back());
    fxn(operands, out);
  }

  std::unique_ptr<Reducer> reducer(const ProgramNode& node) const {
    return reducer_for_op(node.op, node.dtype, node.accumulator);
  }

  void prepare(const ProgramNode& node, std::int64_t count, Block& out) const {
    out.resize(node.dtype, count);
  }

  void repeat(const Block& from, const AddressRun& run, Block& out, std::int64_t at) const {
    const std::size_t width = itemsize(out.dtype());
    gather(width, from.data(), std::span(&run, 1),
           out.data() + static_cast<std::size_t>(at) * width);
  }

  void copy(const Block& from, Block& out, std::int64_t at) const {
    const std::size_t width = itemsize(out.dtype());
    std::memcpy(out.data() + static_cast<std::size_t>(at) * width, from.data(),
                static_cast<std::size_t>(from.count()) * width);
  }

 private:
  std::span<Buffer* const> buffers_;
  IndexFault fault_;
};

// Runs a program in several threads. Each result is computed by one thread, or as an exact sum or
// maximum of parts, so results depend neither on the number of threads nor on their schedule.
class ThreadedRun {
 public:
  ThreadedRun(const KernelProgram& program, std::span<Buffer* const> buffers, Threads& threads)
      : program_(program), buffers_(buffers), threads_(threads) {}

  void operator()() {
    const std::int64_t size = program_.regions[0].size;
    if (size >= kParts) {
      const std::int64_t run = std::min(size / kParts, kBlockElements);
      each((size + run - 1) / run, [&](Worker& worker, std::int64_t i) {
        worker.evaluator.run(i * run, std::min((i + 1) * run, size),
                             [&](std::int64_t first, const Block& block) { store(first, block); });
      });
      raise_if_found(fault());
      return;
    }
    Worker own(program_, buffers_);
    own.evaluator.share_reduces(
        [&](const ProgramNode& node, Block& out, std::int64_t i, std::int64_t first,
            std::int64_t last) { return reduce(node, out, i, first, last); });
    own.evaluator.run([&](std::int64_t first, const Block& block) { store(first, block); });
    raise_if_found(std::min(own.domain.fault(), fault()));
  }

 private:
  static constexpr std::int64_t kParts = 64;  // of a task, unless it has fewer blocks

  // The state of one thread.
  struct Worker {
    Worker(const KernelProgram& program, std::span<Buffer* const> buffers)
        : domain(buffers), evaluator(program, domain) {}
    Values domain;
    Evaluator<Values> evaluator;
  };

  IndexFault fault() const {
    IndexFault least;
    for (const std::unique_ptr<Worker>& worker : workers_)
      if (worker) least = std::min(least, worker->domain.fault());
    return least;
  }

  void store(std::int64_t first, const Block& block) const {
    const std::size_t width = itemsize(block.dtype());
    std::memcpy(
        static_cast<std::byte*>(buffers_[0]->memory()) + static_cast<std::size_t>(first) * width,
        block.data(), static_cast<std::size_t>(block.count()) * width);
  }

  // Runs f(worker, i) for i in [0, count); a worker runs in one thread at a time.
  template <class F>
  void each(std::int64_t count, F f) {
    threads_.each(count, [&](std::int64_t i) {
      std::unique_ptr<Worker>& worker = workers_.local();
      if (!worker) worker = std::make_unique<Worker>(program_, buffers_);
      f(*worker, i);
    });
  }

  bool reduce(const ProgramNode& node, Block& out, std::int64_t at, std::int64_t first,
              std::int64_t last) {
    const std::int64_t blocks = (last - first) / kBlockElements;
    if (blocks < 4) return false;
    const std::int64_t part = std::max(blocks / kParts, std::int64_t{1}) * kBlockElements;
    const std::int64_t parts = (last - first + part - 1) / part;
    std::vector<std::unique_ptr<Reducer>> sums(static_cast<std::size_t>(parts));
    each(parts, [&](Worker& worker, std::int64_t i) {
      auto& sum = sums[static_cast<std::size_t>(i)] = worker.domain.reducer(node);
      const std::int64_t begin = first + i * part;
      worker.evaluator.feed(node, *sum, begin, std::min(begin + part, last));
    });
    for (std::size_t i = 1; i < sums.size(); ++i) sums[0]->merge(*sums[i]);
    sums[0]->finish(out, at);
    return true;
  }

  const KernelProgram& program_;
  std::span<Buffer* const> buffers_;
  Threads& threads_;
  tbb::enumerable_thread_specific<std::unique_ptr<Worker>> workers_;
};

class InterpretedRunner : public Runner {
 public:
  InterpretedRunner(LazyOpPtr kernel, std::shared_ptr<Threads> threads)
      : kernel_(std::move(kernel)), threads_(std::move(threads)) {
    if (variables_of(kernel_).empty()) program_ = make_program(kernel_, Repeats::KeptFunctions);
  }

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const FpGuard guard;
    const auto start = std::chrono::steady_clock::now();
    if (program_.regions.empty()) {
      execute_apart(make_program(bind_variables(kernel_, values), Repeats::KeptFunctions), buffers);
    } else {
      execute_apart(program_, buffers);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  void execute_apart(const KernelProgram& program, std::span<Buffer* const> buffers) const {
    OutputApart apart(buffers);
    execute(program, apart.buffers());
    apart.finish();
  }

  void execute(const KernelProgram& program, std::span<Buffer* const> buffers) const {
    std::int64_t most = 0;
    for (const Region& region : program.regions) most = std::max(most, region.size);
    if (threads_->count() > 1 && most >= kWorthThreads)
      return ThreadedRun(program, buffers, *threads_)();
    Values domain(buffers);
    Evaluator<Values> evaluator(program, domain);
    auto* out = static_cast<std::byte*>(buffers[0]->memory());
    const std::size_t width = itemsize(buffers[0]->dtype());
    evaluator.run([&](std::int64_t first, const Block& block) {
      std::memcpy(out + static_cast<std::size_t>(first) * width, block.data(),
                  static_cast<std::size_t>(block.count()) * width);
    });
    raise_if_found(domain.fault());
  }

  LazyOpPtr kernel_;
  std::shared_ptr<Threads> threads_;
  KernelProgram program_;  // empty for a kernel with variables: made for each binding
};

class InterpretedDevice : public Device {
 public:
  InterpretedDevice(std::string name, int threads)
      : Device(std::move(name), std::make_unique<HostAllocator>()),
        threads_(std::make_shared<Threads>(threads)) {}

 private:
  RunnerPtr make_runner(const LazyOpPtr& kernel) override {
    return std::make_shared<InterpretedRunner>(kernel, threads_);
  }

  std::shared_ptr<Threads> threads_;
};

}  // namespace

std::unique_ptr<Device> make_interpreted_device(std::string name, int threads) {
  return std::make_unique<InterpretedDevice>(std::move(name), threads);
}

void register_interpreted_device() {
  Device::add("CPU", [] { return make_interpreted_device(); });
}

HostView::HostView(const Buffer& buffer) : view_(const_cast<Buffer*>(&buffer)) {  // only read
  if (buffer.device().host_memory()) return;
  static const std::unique_ptr<Device> host = make_interpreted_device();
  copy_ = std::make_unique<Buffer>(*host, buffer.dtype(), buffer.size());
  copy(*copy_, buffer);
  view_ = copy_.get();
}

HostViews::HostViews(std::span<Buffer* const> inputs) : buffers_(inputs.size()) {
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    views_.push_back(std::make_unique<HostView>(*inputs[i]));
    buffers_[i] = views_.back()->get();
  }
}

}  // namespace touchstone
