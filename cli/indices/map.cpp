#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/cli/indices/asked.h"
#include "touchstone/cli/indices/derivation_view.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/maps/ask.h"
#include "touchstone/maps/draw.h"

namespace touchstone::cli {

int run_map(const MapOptions& o) {
  if (o.operation.empty())
    throw ParseError("map: say an operation and a map, as in map show '(4,8):(8,1)'");
  maps::Options options{{}, {}, {}, o.where, o.to, o.steps};
  if (!o.onto.empty()) options.onto = maps::ranges_of(o.onto);
  if (!o.tile.empty())
    for (const auto& [size, same] : maps::ranges_of(o.tile)) {
      if (size < 1 || size != same)
        throw ParseError(fmt::format("--tile {}: write a size for each input, as 4,8", o.tile));
      options.tile.push_back(size);
    }
  if (!o.size.empty()) {
    const auto [size, same] = maps::ranges_of(o.size).at(0);
    if (size < 0 || size != same) throw ParseError(fmt::format("--size {}: not a size", o.size));
    options.size = size;
  }
  const auto given =
      maps::read_maps(o.maps, o.from, asked_variables(o.variables, o.assumptions), o.symbols);
  const maps::Answer a = maps::ask(o.operation, given, options);
  if (!o.html.empty()) {
    std::vector<Map> shown = given;
    std::vector<std::string> titles = o.maps, notes;
    if (a.verdict)
      notes.push_back(
          fmt::format("{}: {}, {}", o.operation, word(*a.verdict), a.lines.at(0).second));
    if (a.why)
      for (std::string& line : maps::lines_of(*a.why)) notes.push_back(std::move(line));
    if (a.map && o.operation != "show") {
      shown.push_back(*a.map);
      titles.push_back(o.operation);
    }
    deliver(o.html, maps::html_of(shown, titles, {o.by, o.banks, o.bytes}, notes));
    if (o.html == "-") return kExitOk;
  }
  if (o.json) {
    fmt::print("{}\n", maps::answer_json(o.operation, a));
  } else {
    std::size_t width = 0;
    for (const auto& [name, text] : a.lines) width = std::max(width, name.size());
    if (a.verdict)
      fmt::print("{}{}\n", word(*a.verdict), a.lines.empty() ? "" : "  " + a.lines[0].second);
    for (std::size_t k = a.verdict ? 1 : 0; k < a.lines.size(); ++k)
      fmt::print("{}  {}\n", dim(fmt::format("{:{}}", a.lines[k].first, width)), a.lines[k].second);
    if (!a.verdict)
      for (const symbolic::Values& p : a.points) {
        std::map<std::string, symbolic::Int> at;
        for (const auto& [name, value] : p) at.emplace(name, value);
        fmt::print("{}  {}\n", dim(fmt::format("{:{}}", "at", width)), symbolic::point_text(at));
      }
    if (a.why) {
      for (const std::string& note : a.why->notes) fmt::print("{}\n", note);
      for (const maps::Why::Part& p : a.why->parts)
        fmt::print("{}:\n{}", p.title, derivation_text(p.derivation, p.flaw));
    }
  }
  return a.verdict ? exit_code(*a.verdict) : kExitOk;
}

}  // namespace touchstone::cli
