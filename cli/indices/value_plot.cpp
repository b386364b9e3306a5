#include "touchstone/cli/indices/value_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace touchstone::cli {
namespace {

constexpr std::size_t kScale = 12;  // columns of the scale
constexpr int kHigh = 10;           // lines of the bars
constexpr const char* kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
constexpr const char* kPlainShades[] = {" ", ".", "-", "+", "o", "#"};

struct Range {
  double low, high;
};

// The range of the values present; nothing if there are none.
std::optional<Range> range_of(const std::vector<double>& values) {
  Range r{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    r = {std::min(r.low, v), std::max(r.high, v)};
  }
  if (r.low > r.high) return std::nullopt;
  return r;
}

// A value's position between the least and the largest, 0 to 1; the difference of two large numbers
// of opposite signs may overflow a double.
double share(double v, const Range& r) {
  if (r.low == r.high) return 0.5;
  return (v / 2 - r.low / 2) / (r.high / 2 - r.low / 2);
}

std::string number(double v) {
  const std::string text = fmt::format("{:.0f}", v);
  return text.size() < kScale ? text : fmt::format("{:.3g}", v);
}

// A line below a picture, with labels under the first and the last column.
std::string feet(std::size_t left, std::size_t width, const std::string& first,
                 const std::string& last) {
  const std::size_t used = first.size() + last.size();
  const std::string gap(used < width ? width - used : 2, ' ');
  return std::string(left, ' ') + first + (width > 1 ? gap + last : "") + "\n";
}

}  // namespace

std::size_t plot_width(const PlotStyle& style, std::size_t most) {
  const std::size_t room = style.columns > kScale + 4 ? style.columns - kScale - 3 : 1;
  return std::max<std::size_t>(1, std::min(room, most));
}

std::string bars_of(const std::vector<double>& values, const std::string& first,
                    const std::string& last, const PlotStyle& style) {
  const auto range = range_of(values);
  if (!range) return "there are no values to draw\n";
  // Few values get broad bars.
  const std::size_t broad = std::max<std::size_t>(
      1, std::min<std::size_t>(4, plot_width(style, 64) / std::max<std::size_t>(values.size(), 1)));
  std::string out;
  for (int line = kHigh; line-- > 0;) {
    const std::string side = line == kHigh - 1 ? number(range->high)
                             : line == 0       ? number(range->low)
                                               : "";
    out += fmt::format("{:>{}} {}", side, kScale, style.unicode ? "│" : "|");
    std::string drawn;
    for (const double v : values) {
      // The least value still gets a bar of an eighth, or of a line.
      const int unit = style.unicode ? 8 : 1;
      const int tall =
          std::isfinite(v)
              ? 1 + static_cast<int>(std::lround(share(v, *range) * (kHigh * unit - 1)))
              : 0;
      const int here = std::clamp(tall - line * unit, 0, unit);
      for (std::size_t i = 0; i < broad; ++i)
        drawn += style.unicode ? kEighths[here] : here > 0 ? "#" : " ";
    }
    while (drawn.ends_with(' ')) drawn.pop_back();
    out += drawn + "\n";
  }
  return out + feet(kScale + 2, broad * values.size(), first, last);
}

std::string heat_of(const std::vector<std::vector<double>>& rows,
                    const std::vector<std::string>& names, const std::string& first,
                    const std::string& last, const PlotStyle& style) {
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  const auto range = range_of(all);
  if (!range) return "there are no values to draw\n";
  const std::vector<std::string> shades =
      style.unicode ? std::vector<std::string>(std::begin(kShades), std::end(kShades))
                    : std::vector<std::string>(std::begin(kPlainShades), std::end(kPlainShades));
  const std::size_t width = rows.empty() ? 0 : rows[0].size();
  // A character is about twice as high as wide.
  const std::size_t broad = 2 * width <= plot_width(style, 2 * width) ? 2 : 1;
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += fmt::format("{:>{}} {}", names[i], kScale, style.unicode ? "│" : "|");
    for (const double v : rows[i]) {
      const auto most = static_cast<double>(shades.size() - 1);
      const std::string shade =
          std::isfinite(v) ? shades[static_cast<std::size_t>(std::lround(share(v, *range) * most))]
                           : "x";
      for (std::size_t k = 0; k < broad; ++k) out += shade;
    }
    out += style.unicode ? "│\n" : "|\n";
  }
  out += feet(kScale + 2, broad * width, first, last);
  std::string key;
  for (const std::string& s : shades) key += s;
  return out + fmt::format("{:>{}}  {} [{}] {}\n", "", kScale, number(range->low), key,
                           number(range->high));
}

}  // namespace touchstone::cli
