#include "touchstone/lazy/schedule_text.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "touchstone/lazy/memory_plan.h"
#include "touchstone/lazy/schedule_view.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone {

using lazy::ScheduleView;

lazy::ScheduleView::ScheduleView(std::span<const ScheduleItem> schedule) {
  std::unordered_map<const LazyBuffer*, int> numbers;
  const auto number = [&](const LazyBufferPtr& base) {
    const auto [it, fresh] = numbers.emplace(base.get(), static_cast<int>(buffers.size()) + 1);
    if (fresh) buffers.push_back({base.get(), -1});
    return it->second;
  };
  for (const ScheduleItem& item : schedule) {
    Item& made = items.emplace_back();
    for (const LazyBufferPtr& input : item.inputs) {
      made.reads.push_back(number(input));
      const int by = buffers[static_cast<std::size_t>(made.reads.back() - 1)].made_by;
      if (by >= 0 && std::ranges::find(made.from, by) == made.from.end()) made.from.push_back(by);
    }
    made.makes = number(item.out);
    buffers[static_cast<std::size_t>(made.makes - 1)].made_by = static_cast<int>(items.size()) - 1;
    if (item.kind == Op::Store) {
      made.name = kernel_name(item.ast);
      const FlopCounter cost = get_lazyop_info(item.ast);
      made.flops = cost.flops.str();
      made.bytes = cost.total_mem().str();
      continue;
    }
    for (const char c : name(item.kind))
      made.name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (item.out->custom_function()) made.name += " " + item.out->custom_function()->name;
  }
}

std::string str(std::span<const ScheduleItem> schedule) {
  const ScheduleView view(schedule);
  std::string text;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const ScheduleView::Item& item = view.items[i];
    const LazyBuffer& out = *schedule[i].out;
    text += fmt::format("{:>3} {:<6} {:<20} buffer {} = {} {}", i, out.device(), item.name,
                        item.makes, name(out.dtype()), str(std::span<const sint>(out.shape())));
    if (!item.reads.empty()) text += fmt::format(" from {}", fmt::join(item.reads, ", "));
    if (out.assigns_to()) text += ", in the memory of what it replaces";
    for (const auto& [variable, value] : schedule[i].var_vals)
      text += fmt::format(", {} = {}", variable, value);
    text += '\n';
  }
  return text;
}

std::string to_json(std::span<const ScheduleItem> schedule) {
  using nlohmann::ordered_json;
  const ScheduleView view(schedule);
  ordered_json buffers = ordered_json::array(), items = ordered_json::array();
  for (std::size_t i = 0; i < view.buffers.size(); ++i) {
    const auto& [base, made_by] = view.buffers[i];
    buffers.push_back({{"id", i + 1},
                       {"dtype", name(base->dtype())},
                       {"size", max_elements(base->shape())},
                       {"device", base->device()},
                       {"made_by", made_by < 0 ? ordered_json() : ordered_json(made_by)}});
  }
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const ScheduleItem& from = schedule[i];
    const ScheduleView::Item& item = view.items[i];
    ordered_json row = {{"kind", from.kind == Op::Store ? "KERNEL" : name(from.kind)},
                        {"device", from.out->device()},
                        {"inputs", item.reads},
                        {"output", item.makes},
                        {"variables", ordered_json::object()}};
    for (const auto& [variable, value] : from.var_vals) row["variables"][variable] = value;
    if (from.out->assigns_to()) row["in_place"] = true;
    if (from.kind == Op::Store) {
      // With variables bound: the kernel as it runs, but runnable anywhere.
      const LazyOpPtr ast =
          from.var_vals.empty() ? from.ast : bind_variables(from.ast, from.var_vals);
      const FlopCounter cost = get_lazyop_info(ast);
      row["name"] = item.name;
      row["flops"] = cost.flops.as_int();
      row["bytes"] = cost.total_mem().as_int();
      row["kernel"] = ordered_json::parse(to_json(kernel_file(ast)));
    }
    items.push_back(std::move(row));
  }
  const MemoryPlan plan = plan_memory(schedule);
  const ordered_json all = {
      {"format", "touchstone-schedule 1"},
      {"buffers", buffers},
      {"items", items},
      {"memory", {{"planned", plan.planned()}, {"unplanned", plan.unplanned}}}};
  return all.dump(1) + '\n';
}

}  // namespace touchstone
