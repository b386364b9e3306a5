#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/cli/explore/answers.h"

// The page that steps through rewrites, derivations, views, schedules or kernels.

namespace touchstone::cli {

using explore::Json;

/// A node's mark in a picture.
enum class Mark : std::uint8_t {
  None,
  Was,   // is being replaced
  Now,   // the replacement
  Gone,  // disappears with the replaced node
  New,
};

/// Boxes and arrows, to be laid out.
struct ReportGraph {
  struct Box {
    std::size_t node = 0;  // of the report
    Mark mark = Mark::None;
    bool cut = false;  // it has more sources than drawn
    bool operator==(const Box&) const = default;
  };
  std::vector<Box> boxes;
  std::vector<std::pair<std::size_t, std::size_t>> edges;  // places of boxes, from source to user
  std::string note;  // "120 nodes; shown: the 36 nearest to the match"
};

/// A page for any list of lists of steps: data/report.html with the steps inserted. Self-contained;
/// fetches nothing.
class StepReport {
 public:
  /// what: the kind of report, in the window's title, as "Rewrites".
  StepReport(std::string what, std::string title)
      : what_(std::move(what)), title_(std::move(title)) {}

  /// A line below the title.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// Adds a graph node: head and arg are its two lines, `line` its full text, `kind` its colour,
  /// one of "move", "alu", "reduce", "memory", "place".
  std::size_t node(const std::string& head, const std::string& arg, const std::string& line,
                   const std::string& origin, const std::string& kind);
  /// Adds a graph and returns its number; equal graphs share it.
  std::size_t graph(ReportGraph graph);
  /// kind: how data/report.js shows the steps; noun: the name of one step, as "match".
  void part(const std::string& name, const std::string& noun, const std::string& kind, Json steps);
  /// A member of the report that its kind of steps needs.
  void more(const std::string& name, Json value) { more_[name] = std::move(value); }

  std::size_t graphs() const { return graphs_.size(); }
  /// Whether Graphviz is installed.
  static bool can_draw();
  /// The page, with graphs laid out by Graphviz. Throws SystemError if Graphviz is missing, fails,
  /// or takes more than ten minutes.
  std::string html() const;

 private:
  struct Node {
    std::string head, arg, line, origin, kind;
    auto operator<=>(const Node&) const = default;
  };
  double width_of(std::size_t node) const;
  Json graphs_json() const;

  std::string what_, title_;
  std::vector<std::string> notes_;
  std::map<Node, std::size_t> numbers_;
  std::vector<const Node*> nodes_;
  std::vector<ReportGraph> graphs_;
  std::map<std::string, std::size_t> graph_numbers_;
  Json parts_ = Json::array(), more_ = Json::object();
};

// Shared by the verbs that write pages.
/// A page of data/ with `json` in place of `mark`, escaped so that it cannot end the script.
std::string page_with(const unsigned char* page, std::size_t size, std::string_view mark,
                      std::string_view json);

/// Draws a Graphviz graph as an SVG element without a prolog, for light and dark. Nodes keep their
/// ids and classes. Throws SystemError if Graphviz is missing, fails or takes more than a minute.
std::string svg_of_dot(const std::string& dot);

}  // namespace touchstone::cli
