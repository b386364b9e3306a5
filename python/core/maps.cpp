// touchstone.maps: maps with their algebra, and the checks of an index.
#include <pybind11/stl.h>

#include "convert.h"
#include "touchstone/maps/check.h"
#include "working.h"

namespace touchstone::python {

using maps::Verdict;

namespace {

py::object of_verdict(const std::optional<Verdict>& v) {
  if (!v || *v == Verdict::Open) return py::none();
  return py::bool_(*v == Verdict::Yes);
}

std::vector<std::pair<std::string, std::string>> lines_of(const maps::Answer& a) { return a.lines; }

maps::Answer asked(const std::string& operation, const std::vector<Map>& all,
                   const std::string& onto, const std::vector<std::int64_t>& tile,
                   std::optional<std::int64_t> size, const std::string& where,
                   const std::string& to, bool steps) {
  const Working working;
  maps::Options o{{}, tile, size, where, to, steps};
  if (!onto.empty()) o.onto = maps::ranges_of(onto);
  return maps::ask(operation, all, o);
}

std::optional<std::vector<std::int64_t>> value_at(const Map& m,
                                                  const std::vector<std::int64_t>& point) {
  if (point.size() != m.inputs().size())
    throw ShapeError(fmt::format("the map has {} inputs, not {}", m.inputs().size(), point.size()));
  for (std::size_t k = 0; k < point.size(); ++k) {
    const Map::Input& i = m.inputs()[k];
    if ((i.lo && point[k] < *i.lo) || (i.hi && point[k] > *i.hi)) return std::nullopt;
  }
  return maps::Values(m).at(point);
}

}  // namespace

void bind_maps(py::module_& m) {
  py::class_<maps::Answer>(m, "Answer", "An answer about maps; true unless it is a no or unknown.")
      .def_property_readonly(
          "verdict", [](const maps::Answer& a) { return of_verdict(a.verdict); },
          "True or False; None if it is unknown, or no question of yes or no.")
      .def_property_readonly("lines", &lines_of, "What there is to say, as (name, text).")
      .def_property_readonly(
          "points", [](const maps::Answer& a) { return a.points; },
          "The points that show a no: {name: value}.")
      .def_property_readonly(
          "map", [](const maps::Answer& a) { return a.map; }, "The resulting map, or None.")
      .def_property_readonly(
          "steps",
          [](const maps::Answer& a) {
            return a.why ? maps::lines_of(*a.why) : std::vector<std::string>();
          },
          "Why two maps are equal, if `steps` was asked for: texts and rewriting steps.")
      .def("__bool__",
           [](const maps::Answer& a) { return !a.verdict || *a.verdict == Verdict::Yes; })
      .def("__repr__", [](const maps::Answer& a) {
        std::string text;
        for (const auto& [name, line] : a.lines)
          text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name, line);
        return fmt::format("<Answer {}{}{}>", a.verdict ? maps::word_of(*a.verdict) : "",
                           a.verdict ? ", " : "", text);
      });
  py::class_<Map>(m, "Map",
                  "A map of integer points to tuples: a layout, an affine map, a view, an index "
                  "expression.\n\ntext: in `language`, by default as the text's own signs say. "
                  "variables: {name: (low, high)}, None is open. symbols: variables that are one "
                  "unknown number each.")
      .def(py::init([](const std::string& text, const std::string& language,
                       const std::map<std::string, Range>& variables,
                       const std::vector<std::string>& assume,
                       const std::vector<std::string>& symbols) {
             const symbolic::Question q = question_of(text, variables, assume);
             const Working working;
             return maps::read_map(q, language, symbols);
           }),
           py::arg("text"), py::arg("language") = "",
           py::arg("variables") = std::map<std::string, Range>(),
           py::arg("assume") = std::vector<std::string>(),
           py::arg("symbols") = std::vector<std::string>())
      .def_static(
          "of_view", [](const ShapeTracker& t) { return Map::of(t); }, py::arg("view"),
          "The map of a stack of views.")
      .def("to", &maps::written, py::arg("notation"),
           "The text in a notation: cute, triton, view, strides, mlir, isl, c ..")
      .def("__call__", &value_at, py::arg("point"),
           "The results at a point; None outside the domain.")
      .def(
          "__matmul__", [](const Map& a, const Map& b) { return b.then(a); }, py::is_operator())
      .def_property_readonly("inputs",
                             [](const Map& a) {
                               std::vector<std::string> names;
                               for (const Map::Input& i : a.inputs()) names.push_back(i.name);
                               return names;
                             })
      .def_property_readonly("results", [](const Map& a) { return a.results(); })
      .def(
          "__eq__",
          [](const Map& a, const Map& b) {
            maps::Reply r;
            try {
              const Working working;
              r = maps::same(a, b);
            } catch (const ShapeError&) {
              return false;  // other inputs
            }
            if (r.verdict == Verdict::Open) throw Error("equality of the maps: " + r.what);
            return r.verdict == Verdict::Yes;
          },
          py::is_operator(), "The same domain and results, as `equal`; an error if it is unknown.")
      .def("__repr__", &Map::str)
      .attr("__hash__") = py::none();
  m.def("ask", &asked, py::arg("operation"), py::arg("maps"), py::arg("onto") = "",
        py::arg("tile") = std::vector<std::int64_t>(), py::arg("size") = py::none(),
        py::arg("where") = "", py::arg("to") = "", py::arg("steps") = false,
        "An operation of `touchstone map` on one or two maps.");
  m.def(
      "_answer",
      [](const std::string& question) {
        const Working working;
        return maps::answer_question(question);
      },
      py::arg("question"));
}

}  // namespace touchstone::python
