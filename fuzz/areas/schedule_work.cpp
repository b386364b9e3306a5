#include "touchstone/fuzz/schedule_work.h"

#include <algorithm>

#include <fmt/format.h>

#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone::fuzz {
namespace {

// What the kernels of a schedule take.
struct ScheduleWork {
  std::int64_t kernels = 0, loads = 0, terms = 0;
};

ScheduleWork work_of(Scheduler scheduler, const std::function<LazyBufferPtr(const Config&)>& make) {
  Config config(Config::kDefaultOpt);
  config.scheduler = scheduler;
  const LazyBufferPtr out = make(config);
  const ConfigScope scope(config);
  ScheduleWork work;
  for (const ScheduleItem& item : schedule(std::vector{out})) {
    if (item.kind != Op::Store) continue;
    ++work.kernels;
    work.loads += static_cast<std::int64_t>(item.inputs.size());
    work.terms += get_lazyop_info(item.ast).terms.as_int();
  }
  return work;
}

}  // namespace

std::optional<Checked> ranges_cost_more(const Program& program,
                                        const std::function<LazyBufferPtr(const Config&)>& make) {
  const ScheduleWork by_groups = work_of(Scheduler::Kernelize, make),
                     by_ranges = work_of(Scheduler::Ranges, make);
  const auto more = [](const char* of, std::int64_t groups, std::int64_t ranges) {
    return Checked::fail("work", fmt::format("{} {} by ranges, {} by groups", ranges, of, groups));
  };
  const bool gathers =
      std::ranges::any_of(program.steps, [](const ProgramStep& s) { return s.name == "gather"; });
  if (!gathers && by_ranges.kernels > by_groups.kernels)
    return more("kernels", by_groups.kernels, by_ranges.kernels);
  if (!gathers && by_ranges.loads > by_groups.loads)
    return more("loads", by_groups.loads, by_ranges.loads);
  const bool exempt = std::ranges::any_of(
      program.steps, [](const ProgramStep& s) { return s.name == "const" || s.name == "pad"; });
  if (!exempt && by_ranges.terms > by_groups.terms)
    return more("terms of reduces", by_groups.terms, by_ranges.terms);
  return std::nullopt;
}

}  // namespace touchstone::fuzz
