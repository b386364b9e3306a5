// Kernels of neural networks, for the area `kernel`.
#include <algorithm>
#include <set>

#include "touchstone/device/device.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/tensor/models.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostFlops = 1 << 14, kMostElements = 1 << 11;
constexpr std::int64_t kMostDefined = 1 << 16;  // elements of a node

/// Gives memory to scheduled values and computes nothing.
class Draft final : public Device {
 public:
  Draft() : Device("DRAFT", std::make_unique<HostAllocator>()) {}

 private:
  class Nothing final : public Runner {
   public:
    double run(std::span<Buffer* const>, const symbolic::Values&) override { return 0; }
  };
  RunnerPtr make_runner(const LazyOpPtr&) override { return std::make_shared<Nothing>(); }
};

bool is_small(const LazyOpPtr& kernel) {
  const FlopCounter cost = get_lazyop_info(kernel);
  if (!cost.flops.is_int() || cost.flops.as_int() > kMostFlops) return false;
  // A reduce inside another's terms is counted once but evaluated for each.
  for (const LazyOpPtr& node : toposort(kernel))
    if (const auto size = elements(node->shape()).max(); !size || *size > kMostDefined)
      return false;
  return std::ranges::all_of(buffers_of(kernel),
                             [](const BufferSpec& b) { return b.size <= kMostElements; });
}

std::vector<LazyOpPtr> small_kernels() {
  Device::add("DRAFT", [] { return std::make_unique<Draft>(); });
  std::vector<LazyOpPtr> kernels;
  std::set<std::string> known;
  for (const models::Model& model : models::models())
    for (const bool training : {false, true}) {
      const ConfigScope by_fusion{Config()};  // independent of the environment
      const models::ModelGraph graph = model.build("DRAFT", training);
      realize(graph.leaves());
      Config ranges;
      ranges.scheduler = Scheduler::Ranges;
      for (const Config& config : {Config(), ranges})
        for (const ScheduleItem& item : schedule(graph.results(training), {}, config))
          if (item.kind == Op::Store && is_small(item.ast) &&
              known.insert(to_json(kernel_file(item.ast))).second)
            kernels.push_back(item.ast);
    }
  return kernels;
}

}  // namespace

const std::vector<LazyOpPtr>& network_kernels() {
  static const std::vector<LazyOpPtr> kernels = small_kernels();
  return kernels;
}

}  // namespace touchstone::fuzz
