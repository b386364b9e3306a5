// The page of `touchstone steps` and `touchstone rewrite --html`.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/models/rewrite_record.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {
namespace {

// The graphs around each match of a record, before and after it.
class RewriteGraphs {
 public:
  RewriteGraphs(const RewriteRecord& record, StepReport& report);

  // The numbers, in the report, of the graphs before and after match `match` of a pass. Ask for a
  // pass's matches in order.
  std::pair<std::size_t, std::size_t> around(std::size_t pass, std::size_t match);
  // The same at the start and the end of a pass.
  std::pair<std::size_t, std::size_t> of(std::size_t pass);
  // The report's number of a node, by its number in the record.
  std::size_t node(std::size_t number);

 private:
  using Id = std::size_t;
  using Map = std::unordered_map<Id, Id>;
  struct Node {
    std::size_t line;  // in lines_
    std::vector<Id> src;
    std::size_t origin;  // node number in the record
  };
  Id over(Id id, std::vector<Id> src);
  // The node after some matches: itself if nothing below it changed.
  Id became(Id root, const Map& replaced, Map& known);
  std::vector<Id> reach(Id root) const;
  std::set<Id> near(const std::vector<Id>& order, Id focus) const;
  std::size_t draw(Id root, Id focus, const std::unordered_map<Id, Mark>& marks);

  const RewriteRecord& record_;
  StepReport& report_;
  std::vector<std::string> lines_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::size_t, std::vector<Id>>, Id> interned_;
  std::size_t pass_ = ~std::size_t{0}, done_ = 0;  // matches of the pass applied in replaced_
  Map replaced_;
};

constexpr std::size_t kWhole = 60;  // up to this many nodes, a graph is drawn whole
constexpr std::size_t kNear = 36;   // nodes drawn of a larger one

struct Kind {
  std::string_view kind;
  std::vector<std::string_view> ops;
};
const Kind kKinds[] = {
    {"move", {"RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP", "VIEW"}},
    {"place", {"UNIQUE", "DEVICE", "CONST", "DEFINE_VAR", "BIND", "VALID"}},
    {"memory",
     {"BUFFER", "BUFFER_VIEW", "COPY", "CUSTOM", "ASSIGN", "KERNEL", "SINK", "CONTIGUOUS",
      "GBARRIER", "LOAD", "STORE", "FUSE", "DETACH", "MSELECT", "MSTACK"}},
    {"reduce", {"REDUCE", "REDUCE_AXIS"}}};

std::string kind_of(std::string_view line) {
  const std::string_view op = line.substr(0, line.find(' '));
  for (const Kind& k : kKinds)
    if (std::ranges::find(k.ops, op) != k.ops.end()) return std::string(k.kind);
  return "alu";
}

// The two lines of a box: op and type, then the argument; for stacked views the shape.
std::pair<std::string, std::string> label(const std::string& line) {
  constexpr std::size_t kMost = 30;
  const std::size_t first = line.find(' ');
  const std::size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
  std::string head = line.substr(0, second),
              arg = second == line.npos ? "" : line.substr(second + 1);
  if (head.ends_with(" none")) head.resize(head.size() - 5);
  std::size_t views = 0, last = arg.npos;
  for (std::size_t at = arg.find("View(("); at != arg.npos; at = arg.find("View((", at + 1)) {
    ++views;
    last = at;
  }
  if (views > 0) {
    const std::size_t end = arg.find(')', last);
    arg = arg.substr(last + 5, end - last - 4);
    if (views > 1) arg += fmt::format(" of {} views", views);
  }
  if (arg.size() > kMost) arg = arg.substr(0, kMost - 3) + "...";
  return {head, arg};
}

RewriteGraphs::RewriteGraphs(const RewriteRecord& record, StepReport& report)
    : record_(record), report_(report) {
  std::map<std::string, std::size_t> lines;
  for (const UOp& u : record.nodes()) {
    const auto [at, fresh] = lines.emplace(u.line(), lines_.size());
    if (fresh) lines_.push_back(at->first);
    Node n{at->second, {}, nodes_.size()};
    for (const UOp& s : u.src()) n.src.push_back(record.number(s));
    interned_.emplace(std::pair(n.line, n.src), nodes_.size());
    nodes_.push_back(std::move(n));
  }
}

std::size_t RewriteGraphs::node(std::size_t number) {
  const Node& n = nodes_[number];
  const std::string& line = lines_[n.line];
  const auto [head, arg] = label(line);
  return report_.node(head, arg, line, record_.origin(n.origin), kind_of(line));
}

RewriteGraphs::Id RewriteGraphs::over(Id id, std::vector<Id> src) {
  const Node from = nodes_[id];
  const auto [at, fresh] = interned_.emplace(std::pair(from.line, src), nodes_.size());
  if (fresh) nodes_.push_back({from.line, std::move(src), from.origin});
  return at->second;
}

RewriteGraphs::Id RewriteGraphs::became(Id root, const Map& replaced, Map& known) {
  std::vector<Id> path{root};
  Map wait;           // the rebuilt node of each
  std::set<Id> open;  // replacements in progress; inside them, nodes stand for themselves
  while (!path.empty()) {
    const Id id = path.back();
    if (known.contains(id) && !open.contains(id)) {
      path.pop_back();
      continue;
    }
    Id to = id;
    if (const auto by = replaced.find(id); by != replaced.end())
      to = by->second;
    else if (const auto made = wait.find(id); made != wait.end())
      to = made->second;
    if (to != id) {
      if (const auto done = known.find(to); done != known.end()) {
        known.insert_or_assign(id, done->second);
        open.erase(id);
        path.pop_back();
      } else {
        open.insert(id);
        path.push_back(to);
      }
      continue;
    }
    const std::size_t before = path.size();
    for (const Id s : nodes_[id].src) {
      if (open.contains(s)) known.emplace(s, s);
      if (!known.contains(s)) path.push_back(s);
    }
    if (path.size() > before) continue;
    std::vector<Id> src;
    for (const Id s : nodes_[id].src) src.push_back(known.at(s));
    const Id now = over(id, std::move(src));
    if (now == id) {
      known.emplace(id, id);
      path.pop_back();
    } else {
      wait[id] = now;
    }
  }
  return known.at(root);
}

std::vector<RewriteGraphs::Id> RewriteGraphs::reach(Id root) const {
  std::vector<Id> order;
  std::set<Id> seen{root};
  std::vector<std::pair<Id, std::size_t>> path{{root, 0}};
  while (!path.empty()) {
    auto& [id, next] = path.back();
    if (next == nodes_[id].src.size()) {
      order.push_back(id);
      path.pop_back();
      continue;
    }
    const Id s = nodes_[id].src[next++];
    if (seen.insert(s).second) path.emplace_back(s, 0);
  }
  return order;
}

// Follows sources and users alike.
std::set<RewriteGraphs::Id> RewriteGraphs::near(const std::vector<Id>& order, Id focus) const {
  std::unordered_map<Id, std::vector<Id>> users;
  for (const Id id : order)
    for (const Id s : nodes_[id].src) users[s].push_back(id);
  std::set<Id> seen{focus};
  std::vector<Id> todo{focus};
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const Id id = todo[i];
    if (id != focus && lines_[nodes_[id].line].starts_with("DEVICE")) continue;  // is everywhere
    std::vector<Id> others = nodes_[id].src;
    if (const auto of = users.find(id); of != users.end())
      others.insert(others.end(), of->second.begin(), of->second.end());
    for (const Id other : others) {
      if (seen.size() >= kNear) return seen;
      if (seen.insert(other).second) todo.push_back(other);
    }
  }
  return seen;
}

std::size_t RewriteGraphs::draw(Id root, Id focus, const std::unordered_map<Id, Mark>& marks) {
  const std::vector<Id> below = reach(root);
  const bool inside = std::ranges::find(below, focus) != below.end();
  const std::vector<Id> order = inside ? below : reach(focus);
  const std::set<Id> shown =
      order.size() <= kWhole ? std::set<Id>(order.begin(), order.end()) : near(order, focus);
  ReportGraph graph;
  std::unordered_map<Id, std::size_t> places;
  for (const Id id : order) {
    if (!shown.contains(id)) continue;
    const auto mark = marks.find(id);
    ReportGraph::Box box{node(id), mark == marks.end() ? Mark::None : mark->second, false};
    const std::size_t place = graph.boxes.size();
    places.emplace(id, place);
    std::set<Id> drawn;
    for (const Id s : nodes_[id].src) {
      box.cut = box.cut || !shown.contains(s);
      if (shown.contains(s) && drawn.insert(s).second)
        graph.edges.emplace_back(places.at(s), place);
    }
    graph.boxes.push_back(box);
  }
  graph.note = fmt::format("{} nodes", below.size());
  if (shown.size() < order.size())
    graph.note += fmt::format("; shown: the {} nearest to the match", shown.size());
  if (!inside) graph.note += "; the match is below none of the outputs";
  return report_.graph(std::move(graph));
}

std::pair<std::size_t, std::size_t> RewriteGraphs::of(std::size_t pass) {
  const RewriteRecord::Pass& p = record_.passes[pass];
  return {draw(p.start, p.start, {}), draw(p.end, p.end, {})};
}

std::pair<std::size_t, std::size_t> RewriteGraphs::around(std::size_t pass, std::size_t match) {
  const RewriteRecord::Pass& p = record_.passes[pass];
  if (pass != pass_) {
    pass_ = pass;
    done_ = 0;
    replaced_.clear();
  }
  for (; done_ < match; ++done_) replaced_[p.matches[done_].before] = p.matches[done_].after;
  const auto [rule, before, after] = p.matches[match];
  Map known_before, known_after;
  const Id root_before = became(p.start, replaced_, known_before);
  const Id was = became(before, replaced_, known_before);
  Map replaced = replaced_;
  replaced[before] = after;
  const Id root_after = became(p.start, replaced, known_after);
  const Id now = became(after, replaced, known_after);
  const auto both = [&](Id root, Id focus) {
    std::vector<Id> all = reach(root);
    const std::vector<Id> more = reach(focus);
    all.insert(all.end(), more.begin(), more.end());
    return std::set<Id>(all.begin(), all.end());
  };
  const std::set<Id> first = both(root_before, was), second = both(root_after, now);
  // A node rebuilt over other sources counts as unchanged.
  std::unordered_map<Id, Mark> gone, fresh;
  std::set<Id> stays;
  for (const Id id : first) {
    const Id to = second.contains(id) ? id : became(id, replaced, known_after);
    if (second.contains(to) && nodes_[to].line == nodes_[id].line)
      stays.insert(to);
    else
      gone.emplace(id, Mark::Gone);
  }
  for (const Id id : second)
    if (!stays.contains(id)) fresh.emplace(id, Mark::New);
  gone[was] = Mark::Was;
  fresh[now] = Mark::Now;
  return {draw(root_before, was, gone), draw(root_after, now, fresh)};
}

}  // namespace

std::string rewrite_html(const std::string& title, const RewriteRecord& record,
                         std::size_t most_graphs) {
  StepReport report("Rewrites", title);
  RewriteGraphs graphs(record, report);
  std::size_t drawn = 0;
  for (std::size_t p = 0; p < record.passes.size(); ++p) {
    const RewriteRecord::Pass& pass = record.passes[p];
    Json list = Json::array();
    for (std::size_t i = 0; i < pass.matches.size(); ++i) {
      const RewriteRecord::Match& m = pass.matches[i];
      Json pair = nullptr;
      if (drawn < most_graphs) {
        const auto [before, after] = graphs.around(p, i);
        pair = {before, after};
        ++drawn;
      }
      list.push_back({m.rule, graphs.node(m.before), graphs.node(m.after), std::move(pair)});
    }
    Json steps = {{"list", std::move(list)}};
    if (pass.matches.empty() && most_graphs > 0) {
      const auto [start, end] = graphs.of(p);
      steps["graphs"] = {start, end};
    }
    report.part(pass.name, "match", "match", std::move(steps));
  }
  Json rules = Json::array(), kernels = Json::array();
  for (const RewriteRecord::UsedRule& r : record.rules) rules.push_back({r.name, r.why});
  for (const RewriteRecord::Kernel& k : record.kernels)
    kernels.push_back(
        {{"name", kernel_name(k.ast)}, {"origin", k.origin}, {"code", explore::code_json(k.ast)}});
  report.part("kernels", "kernel", "kernel", std::move(kernels));
  report.more("rules", std::move(rules));
  return report.html();
}

}  // namespace touchstone::cli
