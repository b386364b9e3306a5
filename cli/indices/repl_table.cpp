#include "touchstone/cli/indices/repl_table.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "touchstone/cli/program/terminal.h"
#include "touchstone/symbolic/node/compiled_node.h"

namespace touchstone::cli {

namespace {

using symbolic::Int;

struct Axis {
  std::string name;
  std::vector<Int> values;
  bool all;
};

/// The values of a variable: from its lower end, up to its upper end, or around 0.
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

/// Evaluates the expression and assumptions at points of some of the variables.
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
    symbolic::CompiledNode program;
    std::vector<std::string> names;
  };
  void add(const symbolic::Context& c, const symbolic::Node& node) {
    Part part{symbolic::CompiledNode(c, node.id()), {}};
    for (const symbolic::Id id : part.program.variables()) {
      part.names.push_back(*c[id].name);  // NOLINT(*NonNullParamChecker): variables have one
      if (std::ranges::find(names_, part.names.back()) == names_.end())
        names_.push_back(part.names.back());
    }
    parts_.push_back(std::move(part));
  }
  std::vector<Part> parts_;
  std::vector<std::string> names_;
};

/// The axes of the variables that occur in an expression, in the order of the question.
std::vector<Axis> axes_of(const symbolic::Question& question, const Values& values, int most) {
  std::vector<Axis> axes;
  for (const auto& [name, range] : question.variables)
    if (std::ranges::find(values.names(), name) != values.names().end())
      axes.push_back(axis_of(name, range, most));
  return axes;
}

/// Names the variables with more values than shown; empty if none.
std::string rest_of(const std::vector<Axis>& axes) {
  std::string rest;
  for (const Axis& a : axes)
    if (!a.all) rest += fmt::format("{}{}", rest.empty() ? "" : ", ", a.name);
  return rest.empty() ? rest : dim("not all values of " + rest) + "\n";
}

/// For a plot: NaN if there is no value.
double drawn(const std::string& value) {
  if (value.empty() || value == "-") return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(value.c_str(), nullptr);
}

}  // namespace

std::string value_plot(const symbolic::Question& question, symbolic::Context& scratch,
                       const PlotStyle& style) {
  Values values(question, scratch);
  const std::size_t count = values.names().size();
  if (count == 0 || count > 2)
    throw ParseError(fmt::format("a plot needs one variable or two; this has {}", count));
  const auto most = static_cast<int>(plot_width(style, count == 1 ? 64 : 32));
  std::vector<Axis> axes = axes_of(question, values, most);
  std::map<std::string, Int> point;
  const auto foot = [](const Axis& a, bool last) {
    return fmt::format("{} = {}", a.name, (last ? a.values.back() : a.values.front()).str());
  };
  if (axes.size() == 1) {
    std::vector<double> drawn_values;
    for (const Int& v : axes[0].values) {
      point[axes[0].name] = v;
      drawn_values.push_back(drawn(values.at(point)));
    }
    return bars_of(drawn_values, foot(axes[0], false),
                   axes[0].values.size() > 1 ? axes[0].values.back().str() : "", style) +
           rest_of(axes);
  }
  // Rows follow the first variable, as in a table.
  constexpr std::size_t kMostRows = 24;
  if (axes[0].values.size() > kMostRows) {
    axes[0].values.resize(kMostRows);
    axes[0].all = false;
  }
  std::vector<std::vector<double>> rows;
  std::vector<std::string> names;
  for (const Int& v : axes[0].values) {
    point[axes[0].name] = v;
    names.push_back(names.empty() ? fmt::format("{} = {}", axes[0].name, v.str()) : v.str());
    std::vector<double>& row = rows.emplace_back();
    for (const Int& w : axes[1].values) {
      point[axes[1].name] = w;
      row.push_back(drawn(values.at(point)));
    }
  }
  return heat_of(rows, names, foot(axes[1], false),
                 axes[1].values.size() > 1 ? axes[1].values.back().str() : "", style) +
         rest_of(axes);
}

std::string value_table(const symbolic::Question& question, symbolic::Context& scratch) {
  Values values(question, scratch);
  const std::size_t count = values.names().size();
  const std::vector<Axis> axes = axes_of(question, values, count <= 1 ? 32 : count == 2 ? 12 : 4);
  constexpr std::size_t kMostAxes = 4;
  if (axes.size() > kMostAxes)
    throw ParseError(
        fmt::format("a table of {} variables; the limit is {}", axes.size(), kMostAxes));
  std::map<std::string, Int> point;
  const std::string rest = rest_of(axes);

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
