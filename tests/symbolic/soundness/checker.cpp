#include "checker.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "touchstone/symbolic/node/compiled_node.h"

namespace touchstone::symbolic {

namespace {

std::string end_text(const End& end) { return end ? end->str() : ""; }
std::string text(const std::optional<Int>& value) { return value ? value->str() : "no value"; }

}  // namespace

std::string Checker::values_differ(const Sample& sample, Id id) {
  CompiledNode program(context_, id);
  std::vector<std::size_t> slot;
  for (const Id v : program.variables()) {
    const auto at = std::ranges::find(variables_, *context_[v].name, &Variables::value_type::first);
    slot.push_back(static_cast<std::size_t>(at - variables_.begin()));
  }
  std::vector<Int> at(slot.size());
  for (std::size_t p = 0; p < sample.points.size(); ++p) {
    if (!sample.values[p]) continue;
    ++tally_.points;
    for (std::size_t i = 0; i < slot.size(); ++i) at[i] = sample.points[p][slot[i]];
    const std::optional<Int> got = program.run(at);
    if (got == sample.values[p]) continue;
    std::string where;
    for (std::size_t v = 0; v < variables_.size(); ++v)
      where += fmt::format(" {}={}", variables_[v].first, sample.points[p][v].str());
    return fmt::format("is {} instead of {} at{}", text(got), text(sample.values[p]), where);
  }
  return "";
}

std::string Checker::bounds_differ(const Sample& sample, Id id) {
  const Interval bounds = context_[id].bounds;
  Interval seen;
  for (const auto& v : sample.values) {
    if (!v) continue;
    if (!seen.lo || *v < *seen.lo) seen.lo = *v;
    if (!seen.hi || *v > *seen.hi) seen.hi = *v;
  }
  if (!seen.lo) return "";
  if ((bounds.lo && *bounds.lo > *seen.lo) || (bounds.hi && *bounds.hi < *seen.hi))
    return fmt::format("has bounds [{}, {}] but values from {} to {}", end_text(bounds.lo),
                       end_text(bounds.hi), seen.lo->str(), seen.hi->str());
  if (sample.all_points) {
    ++tally_.bounded;
    tally_.exact += bounds == seen;
    if (!(bounds == seen) && show_.inexact-- > 0)
      fmt::print("INEXACT  {} -> {}  [{}, {}] of [{}, {}]\n", sample.text,
                 render(context_.handle(id)), end_text(bounds.lo), end_text(bounds.hi),
                 seen.lo->str(), seen.hi->str());
  }
  return "";
}

std::string Checker::where() const {
  std::string r;
  for (const auto& [name, range] : variables_)
    r += fmt::format(" {}={}..{}", name, end_text(range.lo), end_text(range.hi));
  return r;
}

void Checker::check(const Sample& sample) {
  const auto wrong = [&](const std::string& what) {
    ++tally_.wrong;
    fmt::print("WRONG  {}  {} {}\n", sample.text, what, where());
  };
  ++tally_.trees;
  context_.clear();
  std::map<std::string, Node> names;
  for (const auto& [name, range] : variables_) names.emplace(name, context_.variable(name, range));
  Node node;
  try {
    node = parse(sample.text, names, context_);
  } catch (const ParseError& e) {
    ++tally_.refused;
    if (std::ranges::any_of(sample.values, [](const auto& v) { return v.has_value(); }))
      wrong(fmt::format("is refused: {}", e.what()));
    return;
  }
  std::string what = values_differ(sample, node.id());
  if (what.empty()) what = bounds_differ(sample, node.id());
  const std::string shown = render(node);
  if (!what.empty()) return wrong("-> " + shown + "  " + what);
  std::string again;
  bool reread = false;
  try {
    again = render(parse(shown, names, context_));
    reread = again != shown && !sample.wide;
  } catch (const ParseError& e) {  // a division by zero everywhere may show only in print
    reread = true;
    again = e.what();
  }
  const std::string other = render(parse(sample.swapped, names, context_));
  const bool swapped = other != shown && !sample.wide;
  tally_.swapped += swapped;
  if (swapped && show_.swapped-- > 0)
    fmt::print("SWAPPED  {} -> {} but {} -> {} {}\n", sample.text, shown, sample.swapped, other,
               where());
  const bool longer = size(node) > sample.size;
  tally_.reread += reread;
  tally_.longer += longer;
  if (reread && show_.reread-- > 0)
    fmt::print("REREAD  {} -> {} -> {} {}\n", sample.text, shown, again, where());
  if (longer && show_.longer-- > 0)
    fmt::print("LONGER  {} -> {} {}\n", sample.text, shown, where());
}

}  // namespace touchstone::symbolic
