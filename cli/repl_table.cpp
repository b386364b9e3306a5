#include "repl_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "terminal.h"
#include "touchstone/symbolic/program.h"

namespace touchstone::cli {

namespace {

using symbolic::Int;

struct Axis {
  std::string name;
  std::vector<Int> values;
  bool all;
};

/// The values of a variable, from its lower end, or up to its upper one, or round 0.
Axis axis_of(const std::string& name, const symbolic::Interval& range, int most) {
  Axis axis{name, {}, false};
  Int v = range.lo ? *range.lo : range.hi ? *range.hi - (most - 1) : Int(-most / 2);
  while (static_cast<int>(axis.values.size()) < most && (!range.hi || v <= *range.hi)) {
    axis.values.push_back(v);
    v += 1;
  }
  axis.all = range.lo && range.hi && v > *range.hi;
  return axis;
}

/// The expression and the assumptions, at points of some of the variables.
class Values {
 public:
  Values(const symbolic::Question& q, symbolic::Context& c) {
    c.clear();
    std::map<std::string, symbolic::Node> names;
    for (const auto& [name, range] : q.variables) names.emplace(name, c.variable(name, range));
    add(c, symbolic::parse(q.text, names, c));
    for (const std::string& a : q.assumptions) add(c, symbolic::parse(a, names, c));
  }

  const std::vector<std::string>& names() const { return names_; }

  std::string at(const std::map<std::string, Int>& point) {
    for (std::size_t i = parts_.size(); i-- > 0;) {
      Part& part = parts_[i];
      std::vector<Int> values;
      for (const std::string& name : part.names) values.push_back(point.at(name));
      const auto v = part.program.run(values);
      if (i == 0) return v ? v->str() : "-";
      if (!v || v->is_zero()) return "";
    }
    return "";
  }

 private:
  struct Part {
    symbolic::Program program;
    std::vector<std::string> names;
  };
  void add(const symbolic::Context& c, const symbolic::Node& node) {
    Part part{symbolic::Program(c, node.id()), {}};
    for (const symbolic::Id id : part.program.variables()) {
      part.names.push_back(*c[id].name);
      if (std::ranges::find(names_, part.names.back()) == names_.end())
        names_.push_back(part.names.back());
    }
    parts_.push_back(std::move(part));
  }
  std::vector<Part> parts_;
  std::vector<std::string> names_;
};

}  // namespace

std::string value_table(const symbolic::Question& question, symbolic::Context& scratch) {
  Values values(question, scratch);
  std::vector<std::string> names = values.names();
  std::ranges::sort(names);
  std::vector<Axis> axes;
  const int most = names.size() <= 1 ? 32 : names.size() == 2 ? 12 : 4;
  for (const auto& [name, range] : question.variables)
    if (std::ranges::binary_search(names, name)) axes.push_back(axis_of(name, range, most));
  constexpr std::size_t kMostAxes = 4;
  if (axes.size() > kMostAxes)
    throw ParseError(
        fmt::format("a table of {} variables; at most {} are shown", axes.size(), kMostAxes));
  std::map<std::string, Int> point;
  std::string rest;
  for (const Axis& a : axes)
    if (!a.all) rest += fmt::format("{}{}", rest.empty() ? "" : ", ", a.name);
  if (!rest.empty()) rest = dim("not all values of " + rest) + "\n";

  if (axes.size() == 2) {
    std::vector<std::string> header{fmt::format("{} \\ {}", axes[0].name, axes[1].name)};
    for (const Int& v : axes[1].values) header.push_back(v.str());
    Table table(header, std::vector<bool>(header.size(), true));
    for (const Int& v : axes[0].values) {
      std::vector<std::string> row{v.str()};
      point[axes[0].name] = v;
      for (const Int& w : axes[1].values) {
        point[axes[1].name] = w;
        row.push_back(values.at(point));
      }
      table.add(row);
    }
    return table.str() + rest;
  }
  std::vector<std::string> header;
  for (const Axis& a : axes) header.push_back(a.name);
  header.emplace_back("value");
  Table table(header, std::vector<bool>(header.size(), true));
  std::vector<std::size_t> at(axes.size(), 0);
  for (bool more = true; more;) {
    std::vector<std::string> row;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      point[axes[i].name] = axes[i].values[at[i]];
      row.push_back(axes[i].values[at[i]].str());
    }
    row.push_back(values.at(point));
    table.add(row);
    more = false;
    for (std::size_t i = axes.size(); !more && i-- > 0;) {
      more = ++at[i] < axes[i].values.size();
      if (!more) at[i] = 0;
    }
  }
  return table.str() + rest;
}

}  // namespace touchstone::cli
