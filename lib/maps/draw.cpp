#include "touchstone/maps/draw.h"

#include <algorithm>

#include "touchstone/maps/points.h"

namespace touchstone::maps {
namespace {

constexpr std::int64_t kMostCells = 4096, kColumns = 32, kWord = 4, kMostSwatches = 64;

constexpr std::string_view kStyle =
    ".maps{display:flex;flex-wrap:wrap;gap:1.5em 2.5em;align-items:flex-start}"
    ".maps figure{margin:0;max-width:100%;overflow-x:auto}.maps figcaption{margin-bottom:.5em;"
    "max-width:36em;font-size:13px}.maps table{border-collapse:separate;border-spacing:1px}"
    ".maps td,.maps th,.map-scale span{font:11px/1.7 ui-monospace,monospace;padding:0 4px;"
    "text-align:center;min-width:1.6em}.maps th{font-weight:400}.maps td.at{color:#111;"
    "border-radius:2px}.maps td.none,.map-key .none{background:repeating-linear-gradient(45deg,"
    "#8886 0 1px,transparent 1px 5px)}.maps td.other,.map-key .other{outline:2px solid #c4001d;"
    "outline-offset:-2px;font-weight:700}.maps td.many,.map-key .many{text-decoration:underline}"
    ".map-key{font-size:13px;margin:.6em 0}.map-key i{font-style:normal;padding:1px 8px;"
    "margin:0 .4em 0 1.2em}.map-key i:first-child{margin-left:0}.map-scale{display:inline-flex;"
    "flex-wrap:wrap;max-width:100%;vertical-align:middle}.map-scale span{color:#111}"
    ".map-bar{display:inline-block;width:min(32em,100%);vertical-align:top}.map-bar>*{display:"
    "block;height:1em;border-radius:2px}.map-bar>*+*{display:flex;justify-content:space-between;"
    "font:11px ui-monospace,monospace}.maps th{white-space:nowrap}";

std::string escaped(std::string_view text) {
  std::string r;
  for (const char c : text)
    r += c == '<'   ? "&lt;"
         : c == '>' ? "&gt;"
         : c == '&' ? "&amp;"
         : c == '"' ? "&quot;"
                    : std::string(1, c);
  return r;
}

// The colours of a range of numbers: hues from red to magenta, light enough for black text.
struct Scale {
  std::int64_t first, last;
  std::string colour(std::int64_t v) const {
    const double part =
        last == first ? 0 : static_cast<double>(v - first) / static_cast<double>(last - first);
    return fmt::format("hsl({:.0f} 75% 72%)", 300.0 * std::clamp(part, 0.0, 1.0));
  }
  std::string html() const {
    std::string r;
    if (last - first < kMostSwatches) {
      for (std::int64_t v = first; v <= last; ++v)
        r += fmt::format("<span style=\"background:{}\">{}</span>", colour(v), v);
      return "<span class=map-scale>" + r + "</span>";
    }
    constexpr std::int64_t kTicks = 5, kStops = 20;
    std::string stops;
    const auto at = [&](std::int64_t k, std::int64_t of) {
      return first +
             static_cast<std::int64_t>(static_cast<shapetracker::Wide>(last - first) * k / of);
    };
    for (std::int64_t k = 0; k <= kStops; ++k) stops += "," + colour(at(k, kStops));
    for (std::int64_t k = 0; k < kTicks; ++k)
      r += fmt::format("<span>{}</span>", at(k, kTicks - 1));
    return fmt::format(
        "<span class=map-bar><span style=\"background:linear-gradient(to "
        "right{})\"></span><span>{}</span>"
        "</span>",
        stops, r);
  }
};

struct Cell {
  std::vector<std::int64_t> values;  // a result; by lane, all lanes
  std::string hint;
};
using Cells = std::map<std::pair<std::int64_t, std::int64_t>, Cell>;  // by row and column

// Where points are: a row for each value of the first of several inputs, else lines.
class Frame {
 public:
  Frame(std::vector<std::pair<std::int64_t, std::int64_t>> sides,
        const std::vector<std::string>& names)
      : sides_(std::move(sides)), is_grid_(sides_.size() > 1) {
    if (is_grid_) {
      corner_ = fmt::format("{} \\ {}", names[0], fmt::join(names.begin() + 1, names.end(), ","));
      columns_ = 1;
      for (std::size_t k = 1; k < sides_.size(); ++k)
        columns_ = checked_mul(columns_, sides_[k].second - sides_[k].first + 1);
    } else if (!sides_.empty()) {
      corner_ = names[0];
      columns_ = std::min(kColumns, sides_[0].second - sides_[0].first + 1);
    }
    const std::int64_t all = sides_.empty() ? 1 : sides_[0].second - sides_[0].first + 1;
    rows_ = is_grid_ ? all : (all + columns_ - 1) / columns_;
    if (checked_mul(rows_, columns_) > 4 * kMostCells)
      throw ShapeError(
          fmt::format("a drawing of {} x {} cells; restrict the map", rows_, columns_));
  }

  std::pair<std::int64_t, std::int64_t> place(std::span<const std::int64_t> p) const {
    if (p.empty()) return {0, 0};
    const std::int64_t first = p[0] - sides_[0].first;
    if (!is_grid_) return {first / columns_, first % columns_};
    std::int64_t column = 0;
    for (std::size_t k = 1; k < p.size(); ++k)
      column = column * (sides_[k].second - sides_[k].first + 1) + p[k] - sides_[k].first;
    return {first, column};
  }

  std::string table(const Cells& cells, const Cells* first, const Scale& scale,
                    std::int64_t (*shown)(std::int64_t, const Drawing&), const Drawing& d) const {
    std::string html = fmt::format("<table><tr><th>{}</th>", escaped(corner_));
    for (std::int64_t c = 0; c < columns_; ++c) html += "<th>" + column_name(c) + "</th>";
    for (std::int64_t r = 0; r < rows_; ++r) {
      html += fmt::format("</tr><tr><th>{}</th>",
                          sides_.empty() ? 0 : sides_[0].first + r * (is_grid_ ? 1 : columns_));
      for (std::int64_t c = 0; c < columns_; ++c) {
        const auto cell = cells.find({r, c});
        const bool other = first && differs(*first, cells, {r, c});
        if (cell == cells.end()) {
          html += fmt::format("<td class=\"none{}\"></td>", other ? " other" : "");
          continue;
        }
        const auto& v = cell->second.values;
        html += fmt::format("<td class=\"at{}{}\" style=\"background:{}\" title=\"{}\">{}</td>",
                            other ? " other" : "", v.size() > 1 ? " many" : "",
                            scale.colour(shown(v[0], d)), escaped(cell->second.hint),
                            fmt::join(v, " "));
      }
    }
    return html + "</tr></table>";
  }

  static bool differs(const Cells& a, const Cells& b, std::pair<std::int64_t, std::int64_t> at) {
    const auto x = a.find(at), y = b.find(at);
    if (x == a.end() || y == b.end()) return (x == a.end()) != (y == b.end());
    return x->second.values != y->second.values;
  }

 private:
  std::string column_name(std::int64_t c) const {
    if (sides_.empty()) return "";
    if (!is_grid_) return rows_ == 1 ? std::to_string(sides_[0].first + c) : fmt::format("+{}", c);
    std::string name;
    for (std::size_t k = sides_.size(); k-- > 1;) {
      const std::int64_t size = sides_[k].second - sides_[k].first + 1;
      name = std::to_string(sides_[k].first + c % size) + (name.empty() ? "" : "," + name);
      c /= size;
    }
    return name;
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> sides_;
  bool is_grid_;
  std::string corner_;
  std::int64_t rows_ = 1, columns_ = 1;
};

std::int64_t bank_of(std::int64_t address, const Drawing& d) {
  return floor_mod(floor_div(checked_mul(address, d.bytes), kWord), d.banks);
}

struct Drawn {
  Map map;  // over the inputs of the first, if they fit
  Table table;
  bool fits;
};

Drawn drawn(const Map& map, const Map& first) {
  if (map.results().size() != 1) throw ShapeError("a drawing needs maps of one result");
  bool fits = true;
  Map over = map;
  try {
    over = map.over_inputs_of(first);
  } catch (const ShapeError&) {
    fits = false;
  }
  auto t = table_of(over, kMostCells);
  if (!t || t->size() == 0)
    throw ShapeError(
        fmt::format("a drawing shows 1 to {} points of a map without symbols", kMostCells));
  return {std::move(over), *std::move(t), fits};
}

}  // namespace

std::string drawing_html(const std::vector<Map>& maps, const std::vector<std::string>& titles,
                         const Drawing& d) {
  const bool bank = d.by == "bank", lane = d.by == "lane";
  if (!bank && !lane && d.by != "address")
    throw ParseError(fmt::format("--by {}: write address, bank or lane", d.by));
  if (d.banks < 1 || d.banks > 1024 || d.bytes < 1 || d.bytes > 64)
    throw ParseError("a drawing has 1 to 1024 banks and elements of 1 to 64 bytes");
  std::vector<Drawn> all;
  std::int64_t lo = INT64_MAX, hi = INT64_MIN;
  Scale lanes{INT64_MAX, INT64_MIN};
  for (const Map& m : maps) {
    const Table& t = all.emplace_back(drawn(m, maps[0])).table;
    for (const std::int64_t v : t.values) lo = std::min(lo, v), hi = std::max(hi, v);
    for (std::size_t k = 0; k < t.size(); ++k) {
      const std::int64_t v = t.inputs == 0 ? 0 : t.point(k)[0];
      lanes = {std::min(lanes.first, v), std::max(lanes.last, v)};
    }
  }
  std::int64_t width = 0;  // of the addresses
  if (__builtin_sub_overflow(hi, lo, &width) || (lane && width >= kMostCells))
    throw ShapeError(fmt::format("addresses from {} to {} are too many to draw", lo, hi));
  const Scale scale = bank ? Scale{0, d.banks - 1} : lane ? lanes : Scale{lo, hi};
  const auto shown = bank ? bank_of : [](std::int64_t v, const Drawing&) { return v; };
  const auto frame_of = [&](const Drawn& one) {
    if (lane) return Frame({{lo, hi}}, {"address"});
    std::vector<std::pair<std::int64_t, std::int64_t>> sides(one.table.inputs,
                                                             {INT64_MAX, INT64_MIN});
    for (const Drawn& other : all)  // the same frame for all that fit
      for (std::size_t k = 0; (one.fits ? other.fits : &other == &one) && k < other.table.size();
           ++k)
        for (std::size_t i = 0; i < sides.size(); ++i) {
          const std::int64_t v = other.table.point(k)[i];
          sides[i] = {std::min(sides[i].first, v), std::max(sides[i].second, v)};
        }
    std::vector<std::string> names;
    for (const Map::Input& i : one.map.inputs()) names.push_back(i.name);
    return Frame(std::move(sides), names);
  };
  std::string figures;
  Cells first;
  bool gaps = false, many = false, framed = false;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Table& t = all[n].table;
    const Frame frame = frame_of(all[n]);
    Cells cells;
    for (std::size_t k = 0; k < t.size(); ++k) {
      const auto p = t.point(k);
      const std::int64_t v = t.value(k)[0];
      std::string point;
      for (std::size_t i = 0; i < p.size(); ++i)
        point += fmt::format("{}{} = {}", i == 0 ? "" : ", ", all[n].map.inputs()[i].name, p[i]);
      Cell& cell = cells[lane ? frame.place(std::span(&v, 1)) : frame.place(p)];
      cell.values.push_back(!lane ? v : p.empty() ? 0 : p[0]);
      cell.hint += fmt::format("{}{}: address {}, bank {}", cell.hint.empty() ? "" : "; ", point, v,
                               bank_of(v, d));
      many = many || cell.values.size() > 1;
    }
    std::string says =
        fmt::format("{} points, addresses from {} to {}", t.size(),
                    *std::ranges::min_element(t.values), *std::ranges::max_element(t.values));
    const bool compared = n > 0 && (lane || all[n].fits);
    if (compared) {
      std::size_t count = 0;
      for (const auto& [at, cell] : cells) count += Frame::differs(first, cells, at);
      for (const auto& [at, cell] : first) count += !cells.contains(at);
      says += count == 0 ? "; the same as the first"
                         : fmt::format("; differs from the first in {} cell{}", count,
                                       count == 1 ? "" : "s");
    }
    const std::string table = frame.table(cells, compared ? &first : nullptr, scale, shown, d);
    gaps = gaps || table.find("class=\"none") != table.npos;
    framed = framed || table.find(" other") != table.npos;
    figures += fmt::format("<figure><figcaption><b>{}</b><br>{}<br>{}</figcaption>{}</figure>",
                           escaped(titles[n]), escaped(maps[n].str()), says, table);
    if (n == 0) first = std::move(cells);
  }
  std::string key = fmt::format(
      "{} {}",
      bank   ? fmt::format("bank, of {} of {} bytes, for elements of {}:", d.banks, kWord, d.bytes)
      : lane ? fmt::format("{} that reads the address:",
                           maps[0].inputs().empty() ? "point" : escaped(maps[0].inputs()[0].name))
             : "address:",
      scale.html());
  std::string marks;
  if (framed) marks += "<i class=other>1</i>differs from the first map";
  if (gaps) marks += fmt::format("<i class=none></i>{}", lane ? "not read" : "outside the domain");
  if (many) marks += "<i class=many>1 2</i>read by several points";
  if (!marks.empty()) key += "</p><p class=map-key>" + marks;
  return fmt::format("<style>{}</style><p class=map-key>{}</p><div class=maps>{}</div>", kStyle,
                     key, figures);
}

std::string html_of(const std::vector<Map>& maps, const std::vector<std::string>& titles,
                    const Drawing& d, const std::vector<std::string>& notes) {
  std::string below;
  for (const std::string& n : notes) below += fmt::format("<p>{}</p>", escaped(n));
  return fmt::format(
      "<!doctype html><html lang=en><meta "
      "charset=utf-8><title>Maps</title><style>:root{{color-scheme:"
      "light dark}}body{{font:15px/1.45 system-ui,sans-serif;margin:1.5em}}h1{{font-size:19px}}p{{"
      "margin:4px 0}}</style><h1>Maps by {}</h1>{}{}</html>\n",
      d.by, drawing_html(maps, titles, d), below);
}

}  // namespace touchstone::maps
