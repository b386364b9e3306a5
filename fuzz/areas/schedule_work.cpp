#include "touchstone/fuzz/schedule_work.h"

#include <algorithm>

#include <fmt/format.h>

#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone::fuzz {
namespace {

// What the kernels of a schedule take.
struct ScheduleWork {
  std::int64_t kernels = 0, terms = 0;
  std::int64_t elements = 0, bytes = 0;  // that are loaded and stored
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
    const FlopCounter cost = get_lazyop_info(item.ast);
    for (const auto& [number, bytes] : cost.mem) {
      const LazyBuffer& memory =
          number == 0 ? *item.out : *item.inputs.at(static_cast<std::size_t>(number - 1));
      work.elements += bytes.as_int() / static_cast<std::int64_t>(itemsize(memory.dtype()));
      work.bytes += bytes.as_int();
    }
    work.terms += cost.terms.as_int();
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
  // A value of another type may be the one that is stored: as many elements, and more bytes.
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
