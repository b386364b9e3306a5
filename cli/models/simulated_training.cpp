// A training step on sleeping devices.
#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "touchstone/cli/models/simulation.h"
#include "touchstone/cli/models/trainer.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone::cli {
namespace {

constexpr const char* kKind = "SIM";

// A device with 10 G operations and 10 GB per second, links of 1 GB per second each way.
constexpr double kLaunch = 5e-6, kOps = 1e10, kBytes = 1e10, kMessage = 2e-5, kLink = 1e9;
// Large enough to hide the inaccuracy of sleeping.
constexpr double kSlower = 50;

// Bookkeeping without memory.
class NoMemory final : public Allocator {
 public:
  void* allocate(std::size_t /*bytes*/) override { return &nothing_; }
  void release(void* /*memory*/, std::size_t /*bytes*/) noexcept override {}
  void copy_in(void* /*memory*/, std::span<const std::byte> /*source*/) override {}
  void copy_out(std::span<std::byte> target, const void* /*memory*/) override {
    std::ranges::fill(target, std::byte{});
  }

 private:
  std::byte nothing_{};
};

class NoRunner final : public Runner {
 public:
  double run(std::span<Buffer* const> /*buffers*/, const symbolic::Values& /*values*/) override {
    return 0;
  }
};

class SimulatedDevice final : public Device {
 public:
  SimulatedDevice() : Device(kKind, std::make_unique<NoMemory>()) {}

 private:
  RunnerPtr make_runner(const LazyOpPtr& /*kernel*/) override {
    return std::make_shared<NoRunner>();
  }
};

// Records the work on simulated devices. Their inputs from other devices exist before.
class Notes final : public ExecutionObserver {
 public:
  explicit Notes(const std::vector<std::string>& devices) {
    for (const std::string& name : devices)
      number_.emplace(Device::canonical(name), number_.size());
  }

  void ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers,
           double /*seconds*/) override {
    held_.push_back(item.out);
    const auto own = number_.find(device.name());
    if (own == number_.end()) return;
    SimulatedStep step{own->second, 0, item.kind == Op::From, {}};
    for (const LazyBufferPtr& input : item.inputs)
      if (const auto it = made_by_.find(input.get()); it != made_by_.end())
        step.after.push_back(it->second);
    if (step.message) {
      if (!number_.contains(buffers[1]->device().name())) return;
      step.queue += number_.size();
      step.seconds = kMessage + static_cast<double>(buffers[0]->bytes()) / kLink;
    } else if (item.kind == Op::Store) {
      const FlopCounter cost = get_lazyop_info(bind_variables(item.ast, item.var_vals));
      step.seconds = kLaunch + std::max(static_cast<double>(cost.flops.as_int()) / kOps,
                                        static_cast<double>(cost.total_mem().as_int()) / kBytes);
    }
    made_by_.emplace(item.out.get(), steps_.size());
    steps_.push_back(std::move(step));
  }

  const std::vector<SimulatedStep>& steps() const { return steps_; }

 private:
  std::map<std::string, std::size_t, std::less<>> number_;
  std::vector<LazyBufferPtr> held_;  // keeps addresses unique
  std::map<const LazyBuffer*, std::size_t> made_by_;
  std::vector<SimulatedStep> steps_;
};

// The elements of x, repeated.
Tensor repeated(const Tensor& x, std::int64_t times) {
  Shape one = x.shape(), many = x.shape(), flat = x.shape();
  one.insert(one.begin(), 1);
  many.insert(many.begin(), times);
  flat[0] = flat[0] * times;
  return x.reshape(one).expand(many).reshape(flat).contiguous().realize();
}

std::vector<SimulatedStep> steps_of(const TrainOptions& o, int devices, std::int64_t groups) {
  std::vector<std::string> names;
  for (int i = 0; i < devices; ++i) names.push_back(fmt::format("{}:{}", kKind, i));
  Trainer trainer(o, names);
  const std::vector<Batch> all = trainer.task().epoch(1, batch_of(o));
  if (all.empty())
    throw Error(
        fmt::format("train: the data has no full batch of {}; use a smaller --batch", batch_of(o)));
  const Tensor x = repeated(all[0].x, groups), labels = repeated(all[0].labels, groups);
  (void)trainer.step(x, labels);  // from constants, unlike later steps
  Notes notes(names);
  const ObserverScope scope(notes);
  (void)trainer.step(x, labels);
  return notes.steps();
}

}  // namespace

int run_simulated_training(const TrainOptions& o) {
  if (!o.devices.empty() || !o.checkpoint.empty() || o.data_parallel > 0)
    throw Error("train: --simulate excludes --devices, --checkpoint and --data-parallel");
  Device::add(kKind, [] { return std::make_unique<SimulatedDevice>(); });
  const int first = std::max(1, o.tensor_parallel);
  if (o.simulate < first)
    throw Error(
        fmt::format("train: --simulate {} is less than --tensor-parallel {}", o.simulate, first));
  fmt::print(
      "{}, a batch of {} for each {}: a kernel takes {:.0f} us, and a second for {:.0f} G "
      "operations or {:.0f} GB; a message {:.0f} us, and a second for {:.0f} GB\n",
      o.network, batch_of(o), first == 1 ? std::string("device") : counted(first, "device"),
      kLaunch * 1e6, kOps / 1e9, kBytes / 1e9, kMessage * 1e6, kLink / 1e9);
  fmt::print("{:>7} {:>8} {:>8} {:>10} {:>14} {:>14} {:>10}\n", "devices", "kernels", "messages",
             "step", "critical path", "messages in it", "efficiency");
  double alone = 0;
  for (int n = first; n <= o.simulate; n *= 2) {
    const std::vector<SimulatedStep> steps = steps_of(o, n, n / first);
    const auto messages = std::ranges::count_if(steps, [](const auto& s) { return s.message; });
    const double seconds = played(steps, kSlower);
    const CriticalPath path = critical_path(steps);
    if (n == first) alone = path.seconds;
    fmt::print("{:>7} {:>8} {:>8} {:>7.2f} ms {:>11.2f} ms {:>11.2f} ms {:>8.0f} %\n", n,
               static_cast<std::ptrdiff_t>(steps.size()) - messages, messages, seconds * 1e3,
               path.seconds * 1e3, path.messages * 1e3, 100 * alone / path.seconds);
    std::fflush(stdout);
  }
  return kExitOk;
}

}  // namespace touchstone::cli
