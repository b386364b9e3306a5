// Schedules as Graphviz and as SVG.
#include <algorithm>
#include <cmath>

#include "touchstone/base/html.h"
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

// Quiet fills that differ in lightness, too.
std::string_view fill(const ScheduleItem& item) {
  if (item.kind != Op::Store) return "#e6e6e6";
  return reduces(item) ? "#bcd6f0" : "#dff0d2";
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// 12345 -> "12.3 k"; expressions as they are.
std::string brief(const std::string& count) {
  if (count.empty() || count.find_first_not_of("0123456789") != std::string::npos) return count;
  const double n = std::stod(count);
  for (const auto& [unit, letter] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (n >= unit) return fmt::format("{:.3g} {}", n / unit, letter);
  return count;
}

constexpr double kWidth = 168, kHeight = 66, kAcross = 22, kDown = 40, kMargin = 24, kTop = 46;

// Items in layers, each below all that it reads; in a layer by where its sources are.
class Layout {
 public:
  explicit Layout(const ScheduleView& view) : x_(view.items.size()), layer_(view.items.size()) {
    for (std::size_t i = 0; i < view.items.size(); ++i) {
      for (const int source : view.items[i].from)
        layer_[i] = std::max(layer_[i], layer_[static_cast<std::size_t>(source)] + 1);
      if (layer_[i] >= layers_.size()) layers_.resize(layer_[i] + 1);
      layers_[layer_[i]].push_back(i);
    }
    std::size_t widest = 1;
    for (const auto& layer : layers_) widest = std::max(widest, layer.size());
    width_ = 2 * kMargin + static_cast<double>(widest) * (kWidth + kAcross) - kAcross;
    for (auto& layer : layers_) {
      const auto wish = [&](std::size_t i) {
        double sum = 0;
        for (const int source : view.items[i].from) sum += x_[static_cast<std::size_t>(source)];
        return view.items[i].from.empty() ? width_
                                          : sum / static_cast<double>(view.items[i].from.size());
      };
      std::ranges::stable_sort(layer, {}, wish);
      const double taken = static_cast<double>(layer.size()) * (kWidth + kAcross) - kAcross;
      for (std::size_t k = 0; k < layer.size(); ++k)
        x_[layer[k]] = (width_ - taken) / 2 + static_cast<double>(k) * (kWidth + kAcross);
    }
  }
  double x(std::size_t i) const { return x_[i]; }
  double y(std::size_t i) const {
    return kTop + static_cast<double>(layer_[i]) * (kHeight + kDown);
  }
  double width() const { return width_; }
  double height() const {
    return kTop + static_cast<double>(layers_.size()) * (kHeight + kDown) - kDown + kMargin;
  }

 private:
  std::vector<double> x_;
  std::vector<std::size_t> layer_;
  std::vector<std::vector<std::size_t>> layers_;
  double width_ = 0;
};

std::string svg_edge(const Layout& at, std::size_t from, std::size_t to) {
  const double x1 = at.x(from) + kWidth / 2, y1 = at.y(from) + kHeight;
  const double x2 = at.x(to) + kWidth / 2, y2 = at.y(to);
  const double bend = std::max(kDown * 0.6, (y2 - y1) / 3);
  return fmt::format(
      "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" "
      "marker-end=\"url(#a)\"/>\n",
      x1, y1, x1, y1 + bend, x2, y2 - bend, x2, y2 - 2);
}

std::string svg_box(const Layout& at, std::size_t i, const ScheduleItem& item,
                    const ScheduleView::Item& facts) {
  const double x = at.x(i), y = at.y(i);
  std::string box = fmt::format(
      "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"5\" "
      "fill=\"{}\"/>\n",
      html_text(item.ast ? str(item.ast) : facts.name), x, y, kWidth, kHeight, fill(item));
  const auto line = [&](double down, std::string_view style, const std::string& text) {
    // Text that is too long is pressed together, not cut.
    const bool wide = static_cast<double>(text.size()) * 6.3 > kWidth - 14;
    box += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x + 7, y + down, style,
        wide ? fmt::format(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", kWidth - 14)
             : "",
        html_text(text));
  };
  line(17, " font-weight=\"bold\"", fmt::format("{}  {}", i, facts.name));
  line(33, "", fmt::format("{} = {}", facts.makes, shape_of(item)));
  line(47, " fill=\"#444\"",
       facts.reads.empty() ? "" : fmt::format("reads {}", fmt::join(facts.reads, ", ")));
  if (!facts.flops.empty())
    line(60, " fill=\"#444\"",
         fmt::format("{} flops, {} bytes", brief(facts.flops), brief(facts.bytes)));
  return box + "</g>\n";
}

}  // namespace

std::string to_dot(std::span<const ScheduleItem> schedule, const std::string& title) {
  const ScheduleView view(schedule);
  std::string dot =
      fmt::format("digraph {} {{\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n",
                  in_quotes(title));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    std::string label = fmt::format("{} {}\\n{} = {}", i, view.items[i].name, view.items[i].makes,
                                    shape_of(schedule[i]));
    dot += fmt::format("  i{} [label=\"{}\", fillcolor=\"{}\"];\n", i, label, fill(schedule[i]));
  }
  for (std::size_t i = 0; i < schedule.size(); ++i)
    for (const int buffer : view.items[i].reads)
      if (const int by = view.buffers[static_cast<std::size_t>(buffer - 1)].made_by; by >= 0)
        dot += fmt::format("  i{} -> i{} [label=\"{}\"];\n", by, i, buffer);
  return dot + "}\n";
}

std::string to_svg(std::span<const ScheduleItem> schedule, const std::string& title) {
  const ScheduleView view(schedule);
  const Layout at(view);
  // Room for the line that explains the colours, and for the title.
  const double width =
      std::max({at.width(), 560.0, 2 * kMargin + 9 * static_cast<double>(title.size())});
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
      "fill=\"#777\"/></marker></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"20\" font-size=\"14\" font-weight=\"bold\">{3}</text>\n"
      "<text x=\"{2:.0f}\" y=\"36\" fill=\"#444\">{4} steps; blue: a reduce, green: elementwise, "
      "grey: a load. Buffers have numbers.</text>\n",
      width, at.height(), kMargin, html_text(title), schedule.size());
  svg += "<g fill=\"none\" stroke=\"#777\">\n";
  for (std::size_t i = 0; i < schedule.size(); ++i)
    for (const int source : view.items[i].from)
      svg += svg_edge(at, static_cast<std::size_t>(source), i);
  svg += "</g>\n<g stroke=\"none\">\n";
  for (std::size_t i = 0; i < schedule.size(); ++i)
    svg += svg_box(at, i, schedule[i], view.items[i]);
  return svg + "</g>\n</svg>\n";
}

}  // namespace touchstone
