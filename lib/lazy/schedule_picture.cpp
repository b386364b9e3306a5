// Schedules as Graphviz graphs.
#include <algorithm>
#include <set>

#include "touchstone/lazy/schedule_text.h"
#include "touchstone/lazy/schedule_view.h"

namespace touchstone {
namespace {

using lazy::ScheduleView;

std::string shape_of(const ScheduleItem& item) {
  return fmt::format("{} {}", name(item.out->dtype()),
                     str(std::span<const sint>(item.out->shape())));
}

bool reduces(const ScheduleItem& item) {
  return item.kind == Op::Store && std::ranges::any_of(toposort(item.ast), [](const LazyOpPtr& n) {
           return is_reduce(n->op());
         });
}

// The class and fill of an item's node; the fills also differ in lightness.
std::pair<std::string_view, std::string_view> look_of(const ScheduleItem& item) {
  if (item.kind != Op::Store) return {"load", "#e6e6e6"};
  return reduces(item) ? std::pair("reduce", "#bcd6f0") : std::pair("elementwise", "#dff0d2");
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

// 12345 -> "12.3 k"; expressions are unchanged.
std::string brief(const std::string& count) {
  if (count.empty() || count.find_first_not_of("0123456789") != std::string::npos) return count;
  const double n = std::stod(count);
  for (const auto& [unit, letter] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (n >= unit) return fmt::format("{:.3g} {}", n / unit, letter);
  return count;
}

// Pairs (from, to) of items where `to` reads what `from` writes. With more than `most`, omits
// transitive ones; the order of the items is preserved.
std::set<std::pair<int, int>> edges_of(const ScheduleView& view, std::size_t most) {
  std::set<std::pair<int, int>> edges;
  for (std::size_t i = 0; i < view.items.size(); ++i)
    for (const int from : view.items[i].from) edges.insert({from, static_cast<int>(i)});
  if (edges.size() <= most) return edges;
  const std::size_t n = view.items.size();
  std::vector<std::vector<bool>> above(n, std::vector<bool>(n, false));  // [to][from], by any path
  std::set<std::pair<int, int>> needed;
  for (std::size_t to = 0; to < n; ++to) {
    std::vector<int> sources = view.items[to].from;
    std::ranges::sort(sources, std::greater());  // an implied item has a smaller number
    for (const int from : sources) {
      const auto f = static_cast<std::size_t>(from);
      if (above[to][f]) continue;
      needed.insert({from, static_cast<int>(to)});
      above[to][f] = true;
      for (std::size_t k = 0; k < f; ++k)
        if (above[f][k]) above[to][k] = true;
    }
  }
  return needed;
}

}  // namespace

std::string to_dot(std::span<const ScheduleItem> schedule, const std::string& title) {
  constexpr std::size_t kMostEdges = 300;  // more take Graphviz minutes and are unreadable
  const ScheduleView view(schedule);
  std::string dot = fmt::format(
      "digraph {0} {{\n  label={0}; labelloc=t; fontname=\"sans-serif\"; bgcolor=transparent; "
      "ranksep=0.28; nodesep=0.18; nslimit=2; nslimit1=2; "
      "mclimit=0.5;\n  node [shape=box, style=\"filled,rounded\", penwidth=0, height=0.3, "
      "margin=\"0.14,0.06\", fontname=\"sans-serif\", fontsize=10];\n  edge [arrowsize=0.5, "
      "color=\"#777777\"];\n",
      in_quotes(title));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const ScheduleView::Item& item = view.items[i];
    std::string label =
        fmt::format("{}  {}\n{} = {}", i, item.name, item.makes, shape_of(schedule[i]));
    if (!item.reads.empty()) label += fmt::format("\nreads {}", fmt::join(item.reads, ", "));
    if (!item.flops.empty())
      label += fmt::format("\n{} flops, {} bytes", brief(item.flops), brief(item.bytes));
    const auto [kind, fill] = look_of(schedule[i]);
    dot += fmt::format("  i{} [id=i{}, class={}, label={}, tooltip={}, fillcolor=\"{}\"];\n", i, i,
                       kind, in_quotes(label),
                       in_quotes(schedule[i].ast ? str(schedule[i].ast) : item.name), fill);
  }
  for (const auto& [from, to] : edges_of(view, kMostEdges))
    dot += fmt::format("  i{} -> i{};\n", from, to);
  return dot + "}\n";
}

}  // namespace touchstone
