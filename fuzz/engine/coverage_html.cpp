#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "touchstone/base/html.h"
#include "touchstone/fuzz/engine/coverage.h"

namespace touchstone::fuzz {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; margin-top: 2.5rem } h3 { font-size: 1rem }
.map { overflow-x: auto }
.map table { border-collapse: collapse; font-size: 11px }
.map th { font-weight: 400; text-align: right; padding: 0 .4em; white-space: nowrap }
.map th.up { vertical-align: bottom; text-align: left; padding: .3em 0 }
.map th.up span { writing-mode: vertical-rl; transform: rotate(180deg) }
.map th.dim { font-weight: 600; vertical-align: top }
.map td { width: 15px; min-width: 15px; height: 15px; padding: 0; border: 1px solid Canvas }
.map td.no { background: none; border: none }
.map td.miss { background: #d33 }
.map tr.first > * { border-top: 6px solid Canvas } .map .gap { border-left: 6px solid Canvas }
.shares td, .shares th { padding: .1em .8em; text-align: right } .shares td:first-child { text-align: left }
.key span { display: inline-block; width: 1.1em; height: 1.1em; vertical-align: -.2em; margin: 0 .3em 0 1em }
)";

// Light to dark by the logarithm of the count.
std::string colour(std::uint64_t count, std::uint64_t most) {
  const double share =
      most <= 1 ? 1.0
                : std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
  return fmt::format("hsl(205 60% {:.0f}%)", 88 - 60 * share);
}

/// Dimensions whose values are counted in pairs.
std::vector<std::size_t> paired(const Coverage& c) {
  std::set<std::size_t> found;
  for (const Coverage::Share& s : c.shares())
    if (s.dimensions.size() == 2 && s.possible > 0)
      found.insert(s.dimensions.begin(), s.dimensions.end());
  return {found.begin(), found.end()};
}

void add_map(std::string& page, const Coverage& c) {
  const std::vector<Dimension>& dims = c.dimensions();
  const std::vector<std::size_t> shown = paired(c);
  std::uint64_t most = 1;
  const auto each = [&](const auto& visit) {
    for (const std::size_t y : shown)
      for (std::size_t b = 0; b < dims[y].values.size(); ++b)
        for (const std::size_t x : shown)
          for (std::size_t a = 0; x < y && a < dims[x].values.size(); ++a) visit(x, a, y, b);
  };
  each([&](auto x, auto a, auto y, auto b) { most = std::max(most, c.pair(x, a, y, b)); });
  page += "<div class=map><table><tr><th><th>";
  for (const std::size_t x : shown)
    for (std::size_t a = 0; x != shown.back() && a < dims[x].values.size(); ++a)
      page += fmt::format("<th class=\"up{}\"><span>{}</span>", a == 0 ? " gap" : "",
                          html_text(dims[x].values[a]));
  for (const std::size_t y : shown)
    for (std::size_t b = 0; y != shown.front() && b < dims[y].values.size(); ++b) {
      page += fmt::format("<tr{}>", b == 0 ? " class=first" : "");
      if (b == 0)
        page += fmt::format("<th class=dim rowspan={}>{}", dims[y].values.size(),
                            html_text(dims[y].name));
      page += "<th>" + html_text(dims[y].values[b]);
      for (const std::size_t x : shown)
        for (std::size_t a = 0; x < y && a < dims[x].values.size(); ++a) {
          const std::uint64_t n = c.pair(x, a, y, b);
          const char* const gap = a == 0 ? " gap" : "";
          const std::string what = html_text(fmt::format(
              "{} {}, {} {}", dims[x].name, dims[x].values[a], dims[y].name, dims[y].values[b]));
          if (n == 0 && !c.can(x, a, y, b))
            page += fmt::format("<td class=\"no{}\">", gap);
          else if (n == 0)
            page += fmt::format("<td class=\"miss{}\" title=\"{}: never\">", gap, what);
          else
            page += fmt::format("<td class=\"{}\" style=\"background:{}\" title=\"{}: {}\">", gap,
                                colour(n, most), what, n);
        }
    }
  page += "</table></div>";
  page += fmt::format(
      "<p class=key><span style=\"background:{}\"></span>once"
      "<span style=\"background:{}\"></span>{} times<span style=\"background:#d33\"></span>never, "
      "though it can be<span></span>blank: cannot be</p>\n",
      colour(1, most), colour(most, most), most);
}

void add_shares(std::string& page, const Coverage& c) {
  page += "<table class=shares><tr><th>together<th>reached<th>of<th>%";
  for (const Coverage::Share& s : c.shares()) {
    if (s.possible == 0) continue;
    std::string names;
    for (const std::size_t d : s.dimensions)
      names += (names.empty() ? "" : " × ") + html_text(c.dimensions()[d].name);
    page += fmt::format("<tr><td>{}<td>{}<td>{}<td>{:.2f}", names, s.reached, s.possible,
                        100.0 * static_cast<double>(s.reached) / static_cast<double>(s.possible));
  }
  page += "</table>\n";
}

}  // namespace

std::string coverage_html(std::span<const std::pair<std::string, const Coverage*>> areas,
                          const std::string& title) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width\"><title>{0}</title><style>{1}</style>\n<h1>{0}</h1>\n",
      html_text(title), kStyle);
  for (const auto& [name, coverage] : areas) {
    page += fmt::format("<h2>{}</h2><p>{} rows; each cell says how often two values met.</p>\n",
                        html_text(name), coverage->rows());
    add_map(page, *coverage);
    add_shares(page, *coverage);
    const std::vector<std::string> missing = coverage->missing(200);
    if (missing.empty()) continue;
    page += fmt::format("<details><summary>not reached{}</summary><ul>",
                        missing.size() == 200 ? ": the first 200" : "");
    for (const std::string& m : missing) page += "<li>" + html_text(m);
    page += "</ul></details>\n";
  }
  return page + "</html>\n";
}

}  // namespace touchstone::fuzz
