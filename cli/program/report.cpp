#include "touchstone/cli/program/report.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/process/run.h"

extern const unsigned char report_page[];
extern const std::size_t report_page_size;

namespace touchstone::cli {
namespace {

constexpr double kInch = 72;      // pixels of the page, as points
constexpr double kHigh = 34;      // of a box
constexpr double kMargin = 4;     // around a graph, for its borders
constexpr std::size_t kRun = 50;  // graphs per run of Graphviz

/// Reads the output of `dot -Tplain`, word by word (Graphviz, "Output Formats": plain).
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : text_(text) {}
  std::string_view word() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    const std::size_t from = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      at_ = std::min(text_.find('"', at_ + 1), text_.size() - 1) + 1;
    } else {
      while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\n') ++at_;
    }
    return text_.substr(from, at_ - from);
  }
  void line() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  double number() {
    const std::string_view w = word();
    double value = 0;
    if (std::from_chars(w.data(), w.data() + w.size(), value).ec != std::errc{}) strange();
    return value;
  }
  std::size_t place(std::size_t below) {
    const double n = number();
    if (n < 0 || n >= static_cast<double>(below)) strange();
    return static_cast<std::size_t>(n);
  }
  [[noreturn]] static void strange() {
    throw SystemError("Graphviz wrote a layout that cannot be read (dot -Tplain)");
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Rounds to a tenth of a pixel.
double rounded(double v) { return std::round(v * 10) / 10; }

// A graph's layout: its size, and boxes and edges in pixels from the top left.
Json read_layout(PlainReader& in, const ReportGraph& graph, const std::vector<double>& widths) {
  if (in.word() != "graph") PlainReader::strange();
  in.number();
  const double wide = in.number() * kInch, high = in.number() * kInch;
  Json boxes = Json::array(), edges = Json::array();
  for (std::size_t i = 0; i < graph.boxes.size(); ++i) boxes.push_back(nullptr);
  for (;;) {
    const std::string_view kind = in.word();
    if (kind == "stop") break;
    if (kind == "node") {
      const std::size_t i = in.place(graph.boxes.size());
      const double x = in.number() * kInch + kMargin, y = high + kMargin - in.number() * kInch;
      const ReportGraph::Box& box = graph.boxes[i];
      boxes[i] = {box.node,
                  rounded(x),
                  rounded(y),
                  rounded(widths[box.node]),
                  static_cast<int>(box.mark),
                  box.cut ? 1 : 0};
      in.line();
    } else if (kind == "edge") {
      in.place(graph.boxes.size());
      in.place(graph.boxes.size());
      Json points = Json::array();
      for (std::size_t n = in.place(1000); n-- > 0;) {
        const double x = in.number() * kInch + kMargin, y = high + kMargin - in.number() * kInch;
        points.push_back(rounded(x));
        points.push_back(rounded(y));
      }
      edges.push_back(std::move(points));
      in.line();
    } else {
      PlainReader::strange();
    }
  }
  return {{"size", {rounded(wide + 2 * kMargin), rounded(high + 2 * kMargin)}},
          {"boxes", std::move(boxes)},
          {"edges", std::move(edges)},
          {"note", graph.note}};
}

std::string dot_of(const ReportGraph& graph, const std::vector<double>& widths) {
  std::string out =
      "digraph { graph [nodesep=0.2, ranksep=0.4]; node [shape=box, fixedsize=true, label=\"\"]; "
      "edge [arrowhead=none];\n";
  for (std::size_t i = 0; i < graph.boxes.size(); ++i)
    out += fmt::format("{} [width={:.3f}, height={:.3f}];\n", i,
                       widths[graph.boxes[i].node] / kInch, kHigh / kInch);
  for (const auto& [from, to] : graph.edges) out += fmt::format("{} -> {};\n", from, to);
  return out + "}\n";
}

}  // namespace

std::size_t StepReport::node(const std::string& head, const std::string& arg,
                             const std::string& line, const std::string& origin,
                             const std::string& kind) {
  const auto [at, fresh] = numbers_.emplace(Node{head, arg, line, origin, kind}, nodes_.size());
  if (fresh) nodes_.push_back(&at->first);
  return at->second;
}

std::size_t StepReport::graph(ReportGraph graph) {
  std::string key;
  for (const ReportGraph::Box& b : graph.boxes)
    key += fmt::format("{} {} {},", b.node, static_cast<int>(b.mark), b.cut);
  for (const auto& [from, to] : graph.edges) key += fmt::format("{}>{},", from, to);
  const auto [at, fresh] = graph_numbers_.emplace(key + graph.note, graphs_.size());
  if (fresh) graphs_.push_back(std::move(graph));
  return at->second;
}

bool StepReport::can_draw() { return !process::find_program("dot").empty(); }

void StepReport::part(const std::string& name, const std::string& noun, const std::string& kind,
                      Json steps) {
  parts_.push_back({{"name", name}, {"noun", noun}, {"kind", kind}, {"steps", std::move(steps)}});
}

// The width of a box that holds its lines, in pixels.
double StepReport::width_of(std::size_t node) const {
  const auto columns = [](const std::string& text) {
    return static_cast<double>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
  };
  const Node& n = *nodes_[node];
  return std::max({46.0, 16 + columns(n.head) * 6.7, 16 + columns(n.arg) * 6.1});
}

Json StepReport::graphs_json() const {
  Json out = Json::array();
  if (graphs_.empty()) return out;
  if (!can_draw())
    throw SystemError(
        "Graphviz's program dot was not found; install graphviz, or omit the graphs with --graphs "
        "0");
  std::vector<double> widths;
  for (std::size_t i = 0; i < nodes_.size(); ++i) widths.push_back(width_of(i));
  const auto begin = std::chrono::steady_clock::now();
  Progress progress("graphs", static_cast<std::int64_t>(graphs_.size()));
  for (std::size_t from = 0; from < graphs_.size(); from += kRun) {
    const std::size_t to = std::min(from + kRun, graphs_.size());
    std::string text;
    for (std::size_t i = from; i < to; ++i) text += dot_of(graphs_[i], widths);
    process::Limits limits;
    limits.time = std::chrono::minutes(10) - std::chrono::duration_cast<std::chrono::milliseconds>(
                                                 std::chrono::steady_clock::now() - begin);
    const process::Finished done =
        limits.time.count() <= 0 ? process::Finished{{}, process::Exceeded::Time, {}, {}}
                                 : process::run_program({"dot", {"-Tplain"}, {}}, text, limits,
                                                        process::Child::Errors::Apart);
    if (done.exceeded != process::Exceeded::Nothing)
      throw SystemError(
          fmt::format("Graphviz took more than ten minutes for {} graphs; use fewer with --graphs",
                      graphs_.size()));
    if (done.ending.status != 0)
      throw SystemError("Graphviz failed (" + done.ending.text() + "): " + done.errors);
    PlainReader in(done.output);
    for (std::size_t i = from; i < to; ++i) out.push_back(read_layout(in, graphs_[i], widths));
    progress.update(static_cast<std::int64_t>(to));
  }
  return out;
}

std::string StepReport::html() const {
  Json nodes = Json::array(), origins = Json::array();
  std::map<std::string, std::size_t> places;  // origins repeat
  for (const Node* n : nodes_) {
    const auto [place, fresh] = places.emplace(n->origin, places.size());
    if (fresh) origins.push_back(n->origin);
    nodes.push_back({n->head, n->arg, n->line, place->second, n->kind});
  }
  Json data = {{"what", what_},
               {"title", title_},
               {"notes", notes_},
               {"nodes", std::move(nodes)},
               {"origins", std::move(origins)},
               {"graphs", graphs_json()},
               {"parts", parts_}};
  data.update(more_);
  return page_with(report_page, report_page_size, "/*REPORT*/",
                   data.dump(-1, ' ', true, Json::error_handler_t::replace));
}

namespace {

constexpr char kSvgStyle[] = R"(<style>
svg { --ink: #1c2430; --line: #6b7686; --reduce: #bcd6f0; --elementwise: #dff0d2; --load: #e2e4e8;
  background: #fbfbf9; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6e9ee; --line: #8490a2; --reduce: #27466b; --elementwise: #2c4a2b; --load: #343d49;
    background: #14181e; }
}
text { fill: var(--ink); }
.edge path { stroke: var(--line); }
.edge polygon { stroke: var(--line); fill: var(--line); }
.node.reduce path { fill: var(--reduce); }
.node.elementwise path { fill: var(--elementwise); }
.node.load path { fill: var(--load); }
</style>
)";

}  // namespace

std::string page_with(const unsigned char* page, std::size_t size, std::string_view mark,
                      std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  std::string text(reinterpret_cast<const char*>(page), size);
  return text.replace(text.find(mark), mark.size(), safe);
}

std::string svg_of_dot(const std::string& dot) {
  if (process::find_program("dot").empty())
    throw SystemError(
        "Graphviz's program dot was not found; install graphviz, or lay out the output of --dot "
        "elsewhere");
  process::Limits limits;
  limits.time = std::chrono::minutes(1);
  const process::Finished done =
      process::run_program({"dot", {"-Tsvg"}, {}}, dot, limits, process::Child::Errors::Apart);
  if (done.exceeded != process::Exceeded::Nothing)
    throw SystemError("Graphviz took more than a minute; --dot writes the graph without layout");
  const std::size_t begin = done.output.find("<svg");
  if (done.ending.status != 0 || begin == std::string::npos)
    throw SystemError(fmt::format("Graphviz returned no picture ({}): {}", done.ending.text(),
                                  visible(done.errors, 300)));
  std::string svg = done.output.substr(begin);
  return svg.insert(svg.find('>') + 1, std::string("\n") + kSvgStyle);
}

}  // namespace touchstone::cli
