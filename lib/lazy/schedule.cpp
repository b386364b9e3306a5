#include "touchstone/lazy/schedule.h"

#include <utility>

#include "touchstone/lazy/kernel_builder.h"
#include "touchstone/lazy/kernelized.h"
#include "touchstone/lazy/on_several.h"
#include "touchstone/lazy/schedule_values.h"

namespace touchstone {
namespace {

using lazy::Graph;

bool computes(Op op) {
  return op != Op::Empty && op != Op::Rand && op != Op::From && op != Op::Custom;
}

class ByFusion {
 public:
  ByFusion(Graph graph, const symbolic::Values& values)
      : graph_(std::move(graph)), values_(values), state_(graph_.nodes.size(), State::New) {}

  std::vector<ScheduleItem> run() {
    for (const int output : graph_.outputs) {
      if (output < 0) continue;
      enter(output);
      while (!path_.empty()) {
        Step& step = path_.back();
        if (step.next < step.pending.size()) {
          enter(step.pending[step.next++]);
          continue;
        }
        schedule_.push_back(std::move(step.item));
        path_.pop_back();
      }
    }
    return std::move(schedule_);
  }

 private:
  enum class State : std::uint8_t { New, Entered };
  struct Step {
    ScheduleItem item;
    std::vector<int> pending;  // nodes to schedule before it
    std::size_t next = 0;
  };

  void enter(int i) {
    const auto at = static_cast<std::size_t>(i);
    if (state_[at] == State::Entered) return;  // finished, since a graph has no cycles
    state_[at] = State::Entered;
    LazyBuffer& buffer = *graph_.nodes[at].buffer;
    Step step;
    step.item.out = buffer.shared_from_this();
    if (computes(buffer.op())) {
      lazy::Kernel kernel = lazy::build_kernel(graph_, i);
      if (kernel.has_variables) step.item.var_vals = lazy::values_of(kernel.ast, values_);
      step.item.ast = std::move(kernel.ast);
      step.item.inputs = std::move(kernel.inputs);
      step.pending = std::move(kernel.pending);
    } else {
      step.item.kind = buffer.op();
      for (std::size_t s = 0; s < buffer.srcs().size(); ++s) {
        step.item.inputs.push_back(buffer.srcs()[s]->base_ptr());
        if (graph_.nodes[at].srcs[s] >= 0) step.pending.push_back(graph_.nodes[at].srcs[s]);
      }
    }
    path_.push_back(std::move(step));
  }

  Graph graph_;
  const symbolic::Values& values_;
  std::vector<State> state_;
  std::vector<Step> path_;
  std::vector<ScheduleItem> schedule_;
};

}  // namespace

namespace lazy {

symbolic::Values values_of(const LazyOpPtr& kernel, const symbolic::Values& values) {
  symbolic::Values used;
  for (const symbolic::Node& v : variables_of(kernel)) {
    const std::string& name = symbolic::variable_name(v);
    const auto it = values.find(name);
    if (it == values.end())
      throw Error(fmt::format("schedule: variable '{}' has no value; pass one for it", name));
    used.emplace(*it);
  }
  return used;
}

}  // namespace lazy

std::vector<ScheduleItem> schedule(std::span<const LazyBufferPtr> outputs,
                                   const symbolic::Values& values, const Config& config) {
  if (config.scheduler == Scheduler::Kernelize || config.scheduler == Scheduler::Ranges)
    return lazy::schedule_kernelized(outputs, values, config);
  Graph graph = lazy::discover(outputs, config);
  if (lazy::needs_several(graph)) {
    Config rewriting = config;
    rewriting.scheduler = Scheduler::Kernelize;
    return lazy::schedule_kernelized(outputs, values, rewriting);
  }
  for (const lazy::FusionRule& rule : lazy::fusion_rules()) rule.apply(graph);
  return ByFusion(std::move(graph), values).run();
}

}  // namespace touchstone
