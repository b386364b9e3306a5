#include "touchstone/fuzz/areas/schedule_work.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/node_order.h"

namespace touchstone::fuzz {
namespace {

// Costs of a schedule's kernels.
struct ScheduleWork {
  std::int64_t kernels = 0, terms = 0;
  std::int64_t elements = 0, bytes = 0;  // loaded and stored
};

// Elements of each buffer that a kernel accesses, from its views; the kernel's own count is an
// estimate for stacked views. Nothing if the kernel gathers.
std::optional<std::map<int, std::int64_t>> elements_met(const LazyOpPtr& kernel) {
  std::map<int, std::set<std::int64_t>> met;
  try {
    for (const LazyOp* node : ordered_nodes(kernel)) {
      const auto* const b = std::get_if<MemBuffer>(&node->arg());
      if (b == nullptr) continue;
      if (node->op() == Op::Gather) return std::nullopt;
      met.try_emplace(b->idx);
      for (const std::int64_t at : addresses_of(b->st.views()).cells)
        if (at >= 0) met[b->idx].insert(at);
    }
  } catch (const ParseError&) {
    return std::nullopt;
  }
  std::map<int, std::int64_t> counts;
  for (const auto& [idx, addresses] : met) counts[idx] = std::ssize(addresses);
  return counts;
}

ScheduleWork work_of(Scheduler scheduler, const std::function<LazyBufferPtr(const Config&)>& make) {
  Config config(Config::kDefaultOpt);
  config.scheduler = scheduler;
  const LazyBufferPtr out = make(config);
  const ConfigScope scope(config);
  ScheduleWork work;
  for (const ScheduleItem& item : schedule(std::vector{out})) {
    if (item.kind != Op::Store) continue;
    ++work.kernels;
    const FlopCounter cost = get_lazyop_info(item.ast);
    const auto met = elements_met(item.ast);
    for (const auto& [number, bytes] : cost.mem) {
      const LazyBuffer& memory =
          number == 0 ? *item.out : *item.inputs.at(static_cast<std::size_t>(number - 1));
      const auto width = static_cast<std::int64_t>(itemsize(memory.dtype()));
      const std::int64_t elements = met ? met->at(number) : bytes.as_int() / width;
      work.elements += elements;
      work.bytes += elements * width;
    }
    work.terms += cost.terms.as_int();
  }
  return work;
}

}  // namespace

std::optional<Checked> ranges_cost_more(const TensorProgram& program,
                                        const std::function<LazyBufferPtr(const Config&)>& make) {
  const ScheduleWork by_groups = work_of(Scheduler::Kernelize, make),
                     by_ranges = work_of(Scheduler::Ranges, make);
  const auto more = [](const char* of, std::int64_t groups, std::int64_t ranges) {
    return Checked::fail("work", fmt::format("{} {} by ranges, {} by groups", ranges, of, groups));
  };
  const bool gathers =
      std::ranges::any_of(program.steps, [](const ProgramStep& s) { return s.name == "gather"; });
  // A stored value may have another type: as many elements, more bytes.
  if (!gathers && by_ranges.bytes > by_groups.bytes && by_ranges.elements > by_groups.elements)
    return more("elements moved", by_groups.elements, by_ranges.elements);
  if (!gathers && by_ranges.kernels > by_groups.kernels && by_ranges.bytes >= by_groups.bytes)
    return more("kernels", by_groups.kernels, by_ranges.kernels);
  const bool exempt = std::ranges::any_of(
      program.steps, [](const ProgramStep& s) { return s.name == "const" || s.name == "pad"; });
  if (!exempt && by_ranges.terms > by_groups.terms)
    return more("terms of reduces", by_groups.terms, by_ranges.terms);
  return std::nullopt;
}

}  // namespace touchstone::fuzz
