#include "touchstone/cli/fuzz/hunt_report.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/mutant_history.h"

namespace touchstone::cli {
namespace {

using fuzz::Hunted;

// The goals of a hunt.
constexpr double kMostSeconds = 60, kMostShrinkSeconds = 2;
constexpr std::int64_t kMostCases = 1'000'000, kMostOps = 4, kMostDim = 2, kMostRuns = 300;

std::string name_of(const Hunt& h) {
  return h.mutant.name.empty() ? "(none)" : std::string(h.mutant.name);
}

// A Markdown table cell: short, on one line, escaped.
std::string cell(std::string text, std::size_t most = 90) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '`', '\'');
  if (text.size() > most) text = text.substr(0, most - 2) + "..";
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string seconds(double s) { return fmt::format("{:.{}f}", s, s < 1 ? 2 : 1); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

template <class Value>
std::vector<double> of_found(std::span<const Hunt> hunts, Value value) {
  std::vector<double> values;
  for (const Hunt& h : hunts)
    if (h.result.found) values.push_back(static_cast<double>(value(h.result)));
  return values;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

}  // namespace

std::string hunt_table_head() {
  return "| mutant | of | found by | cases | s | ops | size | runs | s to shrink | smallest case "
         "|\n"
         "|---|---|---|--:|--:|--:|--:|--:|--:|---|\n";
}

std::string hunt_row(std::span<const Hunt> hunts) {
  const Hunt& first = hunts.front();
  const auto found = static_cast<std::size_t>(
      std::ranges::count_if(hunts, [](const Hunt& h) { return h.result.found; }));
  const auto pair = [&](const std::vector<double>& values, auto&& shown) {
    return hunts.size() == 1
               ? shown(median(values))
               : fmt::format("{} ({})", shown(median(values)), shown(largest(values)));
  };
  const auto whole = [](double x) { return fmt::format("{:.0f}", x); };
  const std::string begin =
      fmt::format("| {} | {} |", name_of(first),
                  first.mutant.area.empty() ? "-" : std::string(first.mutant.area));
  if (first.mutant.name.empty())
    return fmt::format(
        "{} {} | {} | {} | | | | | {}{} |", begin,
        found == 0 ? "-" : first.result.area + ": " + first.result.relation, first.result.cases,
        seconds(first.result.seconds),
        first.result.others == 0 ? "" : fmt::format("{} fail: ", first.result.others),
        found == 0 ? "" : "`" + cell(first.result.text) + "`");
  if (found == 0) {
    const bool reached = std::ranges::any_of(hunts, [](const Hunt& h) { return h.result.reached; });
    return fmt::format("{} {} | {} | {} | | | | | |", begin,
                       reached ? "**survives**" : "**not reached**", first.result.cases,
                       seconds(first.result.seconds));
  }
  const Hunted& shown =
      std::ranges::min_element(hunts, {}, [](const Hunt& h) {
        return std::tuple(!h.result.found, h.result.extent.ops, h.result.text.size());
      })->result;
  const std::string times = found == hunts.size() ? "" : fmt::format(" {}/{}", found, hunts.size());
  return fmt::format(
      "{} {}: {}{} | {} | {} | {} | {} | {} | {} | `{}` |", begin, shown.area, shown.relation,
      times, pair(of_found(hunts, [](const Hunted& r) { return r.cases; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.seconds; }), seconds),
      pair(of_found(hunts, [](const Hunted& r) { return r.extent.ops; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.extent.dim; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.shrink_runs; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.shrink_seconds; }), seconds),
      cell(shown.text));
}

namespace {

// How many hunts met each goal.
struct HuntScore {
  std::string_view of;
  std::size_t all = 0, found = 0, in_time = 0, small = 0, cheap = 0;
  double cases = 0, seconds = 0;  // medians over the found ones
};

// Over the mutants for which `of` is true.
template <class Of>
HuntScore score_of(std::span<const Hunt> hunts, std::string_view what, Of of) {
  HuntScore score{what};
  std::vector<double> cases, times;
  for (const Hunt& h : hunts) {
    if (h.mutant.name.empty() || !of(h.mutant)) continue;
    ++score.all;
    const Hunted& r = h.result;
    if (!r.found) continue;
    ++score.found;
    score.in_time += r.cases <= kMostCases && r.seconds <= kMostSeconds ? 1U : 0U;
    score.small += r.extent.ops <= kMostOps && r.extent.dim <= kMostDim ? 1U : 0U;
    score.cheap += r.shrink_runs <= kMostRuns && r.shrink_seconds <= kMostShrinkSeconds ? 1U : 0U;
    cases.push_back(static_cast<double>(r.cases));
    times.push_back(r.seconds);
  }
  score.cases = median(cases);
  score.seconds = median(times);
  return score;
}

std::vector<HuntScore> scores_of(std::span<const Hunt> hunts) {
  std::vector<std::string_view> tables;
  for (const Hunt& h : hunts)
    if (!h.mutant.name.empty() && std::ranges::find(tables, h.mutant.area) == tables.end())
      tables.push_back(h.mutant.area);
  std::vector<HuntScore> scores;
  for (const std::string_view table : tables)
    scores.push_back(score_of(hunts, table, [&](const Mutant& m) { return m.area == table; }));
  scores.push_back(
      score_of(hunts, "from history", [](const Mutant& m) { return mutant_from_history(m.name); }));
  scores.push_back(score_of(hunts, "all", [](const Mutant&) { return true; }));
  std::erase_if(scores, [](const HuntScore& s) { return s.all == 0; });
  return scores;
}

nlohmann::json json_of_hunt(const Hunt& h) {
  const Hunted& r = h.result;
  return {{"mutant", h.mutant.name},
          {"table", h.mutant.area},
          {"where", h.mutant.where},
          {"history", mutant_from_history(h.mutant.name)},
          {"seed", h.seed},
          {"found", r.found},
          {"reached", r.reached},
          {"area", r.area},
          {"cases", r.cases},
          {"seconds", r.seconds},
          {"others", r.others},
          {"relation", r.relation},
          {"drawn", r.drawn},
          {"text", r.text},
          {"detail", r.detail},
          {"alone", r.alone},
          {"ops", r.extent.ops},
          {"dim", r.extent.dim},
          {"drawn_ops", r.drawn_extent.ops},
          {"drawn_dim", r.drawn_extent.dim},
          {"runs", r.shrink_runs},
          {"shrink_seconds", r.shrink_seconds}};
}

std::string line_of(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string hunt_summary(std::span<const Hunt> hunts) {
  std::string text = fmt::format(
      "\n| hunts | all | found | within {} cases, {} s | median cases | median s | at most {} ops, "
      "sizes of {} | at most {} runs, {} s to shrink |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
      kMostCases, kMostSeconds, kMostOps, kMostDim, kMostRuns, kMostShrinkSeconds);
  const auto share = [&](std::size_t n, std::size_t whole) {
    return fmt::format(
        "{} ({:.1f} %)", n,
        100 * static_cast<double>(n) / static_cast<double>(std::max<std::size_t>(whole, 1)));
  };
  for (const HuntScore& s : scores_of(hunts))
    text += fmt::format("| {} | {} | {} | {} | {:.0f} | {} | {} | {} |\n", s.of, s.all,
                        share(s.found, s.all), share(s.in_time, s.all), s.cases, seconds(s.seconds),
                        share(s.small, s.found), share(s.cheap, s.found));
  for (const Hunt& h : hunts)
    if (!h.mutant.name.empty() && !h.result.found)
      text += fmt::format("survives: {} (seed {}, {}): {}\n", h.mutant.name, h.seed, h.mutant.where,
                          h.mutant.description);
  return text;
}

std::string hunt_json(const Hunt& hunt) { return line_of(json_of_hunt(hunt)); }

std::string mutant_json(const Mutant& m) {
  return line_of(
      {{"mutant", m.name}, {"table", m.area}, {"where", m.where}, {"description", m.description}});
}

std::string hunts_json(std::span<const Hunt> hunts) {
  nlohmann::json out = {{"hunts", nlohmann::json::array()}, {"summary", nlohmann::json::array()}};
  for (const Hunt& h : hunts) out["hunts"].push_back(json_of_hunt(h));
  for (const HuntScore& s : scores_of(hunts))
    out["summary"].push_back({{"of", s.of},
                              {"hunts", s.all},
                              {"found", s.found},
                              {"in_time", s.in_time},
                              {"median_cases", s.cases},
                              {"median_seconds", s.seconds},
                              {"small", s.small},
                              {"cheap", s.cheap}});
  return line_of(out);
}

}  // namespace touchstone::cli
