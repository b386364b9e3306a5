// The page of `touchstone kernels --html` and `touchstone kernel --html`.
// The page of `touchstone schedule --html`: the picture and each kernel's code.
#include "touchstone/cli/models/kernels_page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/lazy/schedule_text.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {

std::string kernels_html(const std::string& title, const KernelParts& parts) {
  StepReport report("Kernels", title);
  for (const auto& [name, kernels] : parts) {
    Json steps = Json::array();
    for (const LazyOpPtr& kernel : kernels) {
      const FlopCounter cost = get_lazyop_info(kernel);
      const auto count = [](const sint& s) {
        return s.is_int() ? count_str(static_cast<double>(s.as_int())) : render(s.node());
      };
      steps.push_back({{"name", kernel_name(kernel)},
                       {"cost", fmt::format("{} of {}, {} flops, {} bytes",
                                            str(std::span<const sint>(kernel->shape())),
                                            touchstone::name(kernel->dtype()), count(cost.flops),
                                            count(cost.total_mem()))},
                       {"code", explore::code_json(kernel)}});
    }
    report.part(name, "kernel", "kernel", std::move(steps));
  }
  return report.html();
}

void write_kernels_page(const std::string& file, const std::string& title,
                        const KernelParts& parts) {
  deliver(file, kernels_html(title, parts));
  if (file != "-") fmt::print("{} {}\n", dim("page"), file);
}

std::string schedule_html(std::span<const ScheduleItem> items, const std::string& title) {
  const std::string lines = str(items);
  Json rows = Json::array();
  std::size_t begin = 0;
  for (const ScheduleItem& item : items) {
    const std::size_t end = lines.find('\n', begin);
    rows.push_back({{"line", lines.substr(begin, end - begin)},
                    {"name", item.ast ? kernel_name(item.ast) : std::string(name(item.kind))},
                    {"code", item.ast ? explore::code_json(item.ast) : Json()}});
    begin = end + 1;
  }
  StepReport report("Schedule", title);
  report.part("schedule", "step", "item", std::move(rows));
  if (!items.empty()) report.more("svg", svg_of_dot(to_dot(items, title)));
  return report.html();
}

}  // namespace touchstone::cli
