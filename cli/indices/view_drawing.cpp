#include "touchstone/cli/indices/view_drawing.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/program/terminal.h"

namespace touchstone::cli {
namespace {

using Index = std::vector<std::int64_t>;
constexpr std::size_t kMostRows = 16;

/// A text grid: all lines have equally many cells, "" for none.
struct Cells {
  std::string title;
  std::vector<std::vector<std::string>> lines;
  std::vector<bool> gap;  // blank line before each line
  bool cut = false;
};

// A view as numbers, from the story.
struct Grid {
  Index shape, strides;
  std::int64_t offset = 0;
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> mask;

  explicit Grid(const explore::Json& view)
      : shape(view["shape"].get<Index>()),
        strides(view["strides"].get<Index>()),
        offset(view["offset"].get<std::int64_t>()) {
    if (!view["mask"].is_null()) mask = view["mask"].get<decltype(mask)::value_type>();
  }
  std::optional<std::int64_t> reads(const Index& at) const {
    std::int64_t address = offset;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (mask && (at[i] < (*mask)[i].first || at[i] >= (*mask)[i].second)) return std::nullopt;
      address += at[i] * strides[i];
    }
    return address;
  }
};

std::string shape_text(const Index& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

// The last axis runs right, all others down; a blank line marks a step of more than one of these.
template <class Text>
Cells cells_of(const Index& shape, std::size_t most_columns, const Text& text) {
  Cells out;
  const std::int64_t wide = shape.empty() ? 1 : shape.back();
  const std::size_t columns = std::min<std::size_t>(static_cast<std::size_t>(wide), most_columns);
  out.cut = columns < static_cast<std::size_t>(wide);
  if (std::ranges::find(shape, 0) != shape.end()) return out;
  Index at(shape.size(), 0);
  for (bool more = true; more;) {
    if (out.lines.size() == kMostRows) {
      out.cut = true;
      break;
    }
    std::vector<std::string>& line = out.lines.emplace_back();
    out.gap.push_back(out.lines.size() > 1 && shape.size() > 2 && at[shape.size() - 2] == 0);
    for (std::size_t c = 0; c < columns; ++c) {
      if (!at.empty()) at.back() = static_cast<std::int64_t>(c);
      line.push_back(text(at));
    }
    if (!at.empty()) at.back() = 0;
    more = false;
    for (std::size_t i = shape.empty() ? 0 : shape.size() - 1; !more && i-- > 0;) {
      more = ++at[i] < shape[i];
      if (!more) at[i] = 0;
    }
  }
  return out;
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::vector<std::string> lines_of(const Cells& cells, const PlotStyle& style) {
  std::vector<std::string> out{cells.title};
  std::size_t wide = 1;
  for (const auto& line : cells.lines)
    for (const std::string& cell : line) wide = std::max(wide, width_of(cell));
  for (std::size_t i = 0; i < cells.lines.size(); ++i) {
    if (cells.gap[i]) out.emplace_back();
    std::string text = style.unicode ? "│" : "|";
    for (const std::string& cell : cells.lines[i])
      text += std::string(wide - width_of(cell) + 1, ' ') + cell;
    out.push_back(text + (style.unicode ? " │" : " |"));
  }
  if (cells.lines.empty()) out.emplace_back("no elements");
  if (cells.cut) out.emplace_back(style.unicode ? "… the first of them" : "... the first of them");
  return out;
}

// Places texts side by side if they fit, else below each other.
std::string side_by_side(const std::vector<std::vector<std::string>>& blocks,
                         const PlotStyle& style) {
  std::vector<std::vector<std::string>> rows(1);
  std::vector<std::size_t> widths;
  std::size_t used = 0, first = 0;
  std::string out;
  const auto flush = [&](std::size_t end) {
    std::size_t lines = 0;
    for (std::size_t b = first; b < end; ++b) lines = std::max(lines, blocks[b].size());
    for (std::size_t i = 0; i < lines; ++i) {
      std::string line = "  ";
      for (std::size_t b = first; b < end; ++b) {
        const std::string cell = i < blocks[b].size() ? blocks[b][i] : "";
        line += cell;
        if (b + 1 < end) line += std::string(widths[b] - width_of(cell) + 3, ' ');
      }
      while (line.ends_with(' ')) line.pop_back();
      out += line + "\n";
    }
    first = end;
    used = 0;
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::size_t wide = 0;
    for (const std::string& line : blocks[b]) wide = std::max(wide, width_of(line));
    if (b > first && used + wide + 3 > style.columns) flush(b);
    widths.push_back(wide);
    used += wide + 3;
  }
  flush(blocks.size());
  return out;
}

std::string drawing(const explore::Json& step, const Index& base, const PlotStyle& style) {
  const explore::Json& views = step["views"];
  const std::string masked = style.unicode ? "░" : ".", other = style.unicode ? "·" : "-";
  // The width of the largest address, with brackets and a blank.
  std::int64_t cells = 1;
  for (const std::int64_t s : base) cells *= s;
  const std::size_t most = std::max<std::size_t>(
      4, std::min<std::size_t>(24, (style.columns - 8) / 2 / (std::to_string(cells).size() + 1)));
  std::vector<std::vector<std::string>> blocks;
  for (std::size_t i = views.size(); i-- > 0;) {
    const Grid grid(views[i]);
    std::set<Index> shown;
    for (const explore::Json& w : step["witnesses"])
      if (w["on"] == i)
        for (const explore::Json& point : w["points"]) shown.insert(point.get<Index>());
    Cells drawn = cells_of(grid.shape, most, [&](const Index& at) {
      const auto address = grid.reads(at);
      const std::string text = address ? std::to_string(*address) : masked;
      return shown.contains(at) ? "[" + text + "]" : text;
    });
    drawn.title =
        fmt::format("{} {}", i + 1 == views.size() ? "view" : "on view", shape_text(grid.shape));
    blocks.push_back(lines_of(drawn, style));
  }
  // The range of the innermost view, found by visiting all of it if small.
  constexpr std::int64_t kMost = 1 << 16;
  const Grid inner(views[0]);
  std::int64_t points = 1;
  for (const std::int64_t s : inner.shape)
    points = s > 0 && points > kMost / s ? kMost + 1 : points * s;
  std::set<std::int64_t> read;
  if (points <= kMost) {
    Index at(inner.shape.size(), 0);
    for (std::int64_t n = 0; n < points; ++n) {
      std::int64_t rest = n;
      for (std::size_t i = at.size(); i-- > 0;) {
        at[i] = rest % inner.shape[i];
        rest /= inner.shape[i];
      }
      if (const auto address = inner.reads(at)) read.insert(*address);
    }
  }
  Cells memory = cells_of(base, most, [&](const Index& at) {
    std::int64_t address = 0;
    for (std::size_t i = 0; i < at.size(); ++i) address = address * base[i] + at[i];
    return points > kMost || read.contains(address) ? std::to_string(address) : other;
  });
  memory.title = "memory " + shape_text(base);
  blocks.push_back(lines_of(memory, style));
  return side_by_side(blocks, style);
}

}  // namespace

std::vector<std::string> view_drawings(const explore::ViewStory& story, const PlotStyle& style) {
  const explore::Json data = explore::story_json("", story);
  const Index base = data["base"].get<Index>();
  std::string with;
  if (data.contains("choices")) with = data["choices"][0]["label"].get<std::string>();
  std::vector<std::string> out;
  for (const explore::Json& step : data["steps"])
    out.push_back(fmt::format("{}{}\n{}", bold(step["title"].get<std::string>()),
                              with.empty() ? "" : dim(" with " + with),
                              drawing(step, base, style)));
  return out;
}

}  // namespace touchstone::cli
