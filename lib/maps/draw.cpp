#include "touchstone/maps/draw.h"

#include <algorithm>

#include "touchstone/maps/points.h"

namespace touchstone::maps {
namespace {

constexpr std::int64_t kMostCells = 4096, kColumns = 32, kWord = 4;

constexpr std::string_view kStyle =
    "body{font:14px system-ui,sans-serif;margin:1.5em}table{border-collapse:collapse}"
    "td,th{font:11px ui-monospace,monospace;padding:2px 4px;text-align:right;color:#111}"
    "th{font-weight:normal;color:GrayText}td.none{background:none}td.other{outline:2px solid #c00;"
    "outline-offset:-2px}.maps{display:flex;flex-wrap:wrap;gap:2em}figure{margin:0}"
    "figcaption{margin-bottom:.5em;max-width:28em}.key span{padding:2px 6px;color:#111}";

std::string escaped(std::string_view text) {
  std::string r;
  for (const char c : text) {
    if (c == '<')
      r += "&lt;";
    else if (c == '>')
      r += "&gt;";
    else if (c == '&')
      r += "&amp;";
    else
      r += c;
  }
  return r;
}

// Part 0 to 1 of a circle of colours, light enough for black text.
std::string colour(double part) {
  return fmt::format("hsl({:.0f} 75% 72%)", 300.0 * std::clamp(part, 0.0, 1.0));
}

struct Cell {
  std::string text, colour;
  bool differs = false;
};

std::string table_html(const std::vector<std::vector<std::optional<Cell>>>& rows,
                       const std::vector<std::string>& names) {
  std::string html = "<table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    html += fmt::format("<tr><th>{}</th>", names[r]);
    for (const auto& cell : rows[r])
      html += cell ? fmt::format("<td{} style=\"background:{}\">{}</td>",
                                 cell->differs ? " class=other" : "", cell->colour, cell->text)
                   : "<td class=none></td>";
    html += "</tr>";
  }
  return html + "</table>";
}

std::string key(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string html = "<p class=key>";
  for (const auto& [text, c] : entries)
    html += fmt::format("<span style=\"background:{}\">{}</span>", c, text);
  return html + "</p>";
}

}  // namespace

std::string html_of(const std::vector<Map>& maps, const std::vector<std::string>& titles,
                    const Drawing& d) {
  const bool bank = d.by == "bank", lane = d.by == "lane";
  if (!bank && !lane && d.by != "address")
    throw ParseError(fmt::format("--by {}: write address, bank or lane", d.by));
  std::vector<Table> tables;
  std::int64_t lo = INT64_MAX, hi = INT64_MIN, first_hi = 0;
  for (const Map& m : maps) {
    if (m.results().size() != 1) throw ShapeError("a drawing needs maps of one result");
    auto t = table_of(m, kMostCells);
    if (!t || t->size() == 0)
      throw ShapeError(
          fmt::format("a drawing shows 1 to {} points of a map without symbols", kMostCells));
    for (const std::int64_t v : t->values) lo = std::min(lo, v), hi = std::max(hi, v);
    for (std::size_t k = 0; k < t->size() && t->inputs > 0; ++k)
      first_hi = std::max(first_hi, t->point(k)[0]);
    tables.push_back(*std::move(t));
  }
  if (lane && hi - lo >= kMostCells)
    throw ShapeError(fmt::format("addresses from {} to {} are too many to draw", lo, hi));
  const auto bank_of = [&](std::int64_t v) {
    return floor_mod(floor_div(v * d.bytes, kWord), d.banks);
  };
  const auto colour_of = [&](std::int64_t v) {
    if (bank) return colour(static_cast<double>(bank_of(v)) / d.banks);
    return colour(hi == lo ? 0 : static_cast<double>(v - lo) / static_cast<double>(hi - lo));
  };
  const auto lane_colour = [&](std::int64_t x) {
    return colour(static_cast<double>(x) /
                  static_cast<double>(std::max<std::int64_t>(first_hi, 1)));
  };
  std::string figures;
  Values reference(maps.at(0));
  for (std::size_t n = 0; n < maps.size(); ++n) {
    const Table& t = tables[n];
    const Map::Box box = maps[n].box();
    std::vector<std::vector<std::optional<Cell>>> rows;
    std::vector<std::string> names;
    const auto cell_at = [&](std::int64_t row, std::int64_t column) -> std::optional<Cell>& {
      const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(column);
      if (rows.size() <= r) rows.resize(r + 1);
      if (rows[r].size() <= c) rows[r].resize(c + 1);
      return rows[r][c];
    };
    // Rows: the first of several inputs, or lines of 32.
    const bool grid = t.inputs > 1 && !lane;
    std::int64_t columns = kColumns, base = lane ? lo : *box.sides[0].lo;
    if (grid) {
      columns = 1;
      for (std::size_t k = 1; k < t.inputs; ++k) columns *= *box.sides[k].hi - *box.sides[k].lo + 1;
    }
    for (std::size_t k = 0; k < t.size(); ++k) {
      const auto p = t.point(k);
      const std::int64_t v = t.value(k)[0];
      std::int64_t place = (lane ? v : p.empty() ? 0 : p[0]) - base;
      for (std::size_t j = 1; grid && j < t.inputs; ++j)
        place = place * (*box.sides[j].hi - *box.sides[j].lo + 1) + p[j] - *box.sides[j].lo;
      auto& cell = cell_at(place / columns, place % columns);
      if (lane) {
        const std::string by = std::to_string(p.empty() ? 0 : p[0]);
        if (cell)
          cell->text += " " + by, cell->differs = true;  // several read it
        else
          cell = Cell{by, lane_colour(p.empty() ? 0 : p[0])};
        continue;
      }
      bool differs = false;
      if (n > 0 && t.inputs == tables[0].inputs) {
        const auto& other = reference.at(p);
        differs = !other || (*other)[0] != v;
      }
      cell = Cell{std::to_string(v), colour_of(v), differs};
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      names.push_back(std::to_string(base + static_cast<std::int64_t>(r) * (grid ? 1 : columns)));
    figures += fmt::format("<figure><figcaption><b>{}</b><br>{}</figcaption>{}</figure>",
                           escaped(titles[n]), escaped(maps[n].str()), table_html(rows, names));
  }
  std::vector<std::pair<std::string, std::string>> legend;
  constexpr std::int64_t kSteps = 8;
  const std::int64_t last = bank   ? d.banks - 1
                            : lane ? first_hi
                                   : hi,
                     first = bank || lane ? 0 : lo;
  for (std::int64_t k = 0; k <= std::min(kSteps, last - first); ++k) {
    const std::int64_t v =
        first + (last - first) * k / std::max<std::int64_t>(std::min(kSteps, last - first), 1);
    legend.emplace_back(std::to_string(v), bank   ? colour(static_cast<double>(v) / d.banks)
                                           : lane ? lane_colour(v)
                                                  : colour_of(v));
  }
  const std::string what = bank   ? fmt::format("bank of {}, {} bytes an element", d.banks, d.bytes)
                           : lane ? "first input; a frame: read by several"
                                  : "address; a frame: other than the first map";
  return fmt::format(
      "<!doctype html><html lang=en><meta charset=utf-8><title>Maps</title><style>{}</style>"
      "<h1>Maps by {}</h1><p>Colour: {}</p>{}<div class=maps>{}</div></html>\n",
      kStyle, d.by, what, key(legend), figures);
}

}  // namespace touchstone::maps
