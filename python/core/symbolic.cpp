#include "convert.h"
#include "touchstone/symbolic/ask/session.h"
#include "touchstone/symbolic/node/node.h"
#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::python {

using namespace symbolic;

py::int_ python_int(const Int& value) {
  if (const auto small = value.small()) return py::int_(*small);
  PyObject* const made = PyLong_FromString(value.str().c_str(), nullptr, 10);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::int_>(made);
}

py::object python_end(const End& end) {
  return end ? py::object(python_int(*end)) : py::object(py::none());
}

Int int_of(py::handle value) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (small == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (overflow == 0) return Int(std::int64_t{small});
  return Int::from_digits(py::str(value).cast<std::string>());
}

Node constant_of(py::handle integer) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (small == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (overflow == 0) return Node(small);
  return parse(py::str(integer).cast<std::string>(), {});
}

bool load_operand(py::handle source, Node& node) {
  PyObject* const p = source.ptr();
  if (PyLong_Check(p)) {
    node = constant_of(source);
    return true;
  }
  py::detail::make_caster<Node> known;
  if (known.load(source, false)) {
    node = py::detail::cast_op<Node&>(known);
    return true;
  }
  if (PyIndex_Check(p) == 0) return false;
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(p));
  if (!number) {
    PyErr_Clear();
    return false;
  }
  node = constant_of(number);
  return true;
}

py::object python_sint(const sint& value) {
  if (value.is_int()) return py::int_(value.as_int());
  return py::cast(value.node());
}

namespace {

Context& context() { return Context::shared(); }

const Interval& bounds_of(const Node& n) { return context().bounds(n.id()); }

py::int_ whole_number_of(const Node& n) {
  const Interval& bounds = bounds_of(n);
  if (!n.is_constant()) {
    std::string text;
    {
      const Released released;
      text = render(n);
    }
    throw py::type_error("'" + text +
                         "' is not a number; give its variables values with evaluate()");
  }
  return python_int(*bounds.lo);
}

// A constant hashes like its number, with which it compares equal.
Py_hash_t node_hash(const Node& n) {
  if (n.is_constant()) return PyObject_Hash(whole_number_of(n).ptr());
  const auto hash = static_cast<Py_hash_t>(context()[n.id()].hash);
  return hash == -1 ? -2 : hash;
}

/// a to the n-th, by repeated products.
Node power(const Node& a, unsigned n) {
  constexpr unsigned kMost = 1024;
  if (n > kMost) throw ParseError(fmt::format("the exponent {} is above {}", n, kMost));
  Node product(1);
  for (unsigned i = 0; i < n; ++i) product = product * a;
  return product;
}

/// a & mask in two's complement, for a mask of low bits: a % 2**k.
Node masked(const Node& a, std::uint64_t mask) {
  if ((mask & (mask + 1)) != 0 || mask >> 62U != 0)
    throw ParseError(fmt::format("& {}: the mask must be of the form 2**k - 1, below 2**62", mask));
  return floor_mod(a, Node(static_cast<std::int64_t>(mask) + 1));
}

Interval interval_of(const Range& range) {
  Interval bounds;
  if (range.first) bounds.lo = int_of(*range.first);
  if (range.second) bounds.hi = int_of(*range.second);
  return bounds;
}

Node variable_of(const std::string& name, const std::optional<py::int_>& min,
                 const std::optional<py::int_>& max) {
  const Interval bounds = interval_of({min, max});
  const Released released;
  return context().variable(name, bounds);
}

py::list variables_and_bounds(const Node& n) {
  std::vector<Node> found;
  {
    const Released released;
    found = variables(n);
  }
  py::list all;
  for (const Node& v : found)
    all.append(
        py::make_tuple(variable_name(v), python_end(bounds_of(v).lo), python_end(bounds_of(v).hi)));
  return all;
}

Node node_of_text(
    const std::string& text,
    const std::vector<std::tuple<std::string, std::optional<py::int_>, std::optional<py::int_>>>&
        variables) {
  std::map<std::string, Node> names;
  for (const auto& [name, low, high] : variables)
    if (!names.emplace(name, variable_of(name, low, high)).second)
      throw ParseError("variable '" + name + "' has several bounds, which text cannot express");
  const Released released;
  return parse(text, names);
}

std::map<std::string, Node> nodes_of(const std::map<std::string, Operand>& operands) {
  std::map<std::string, Node> nodes;
  for (const auto& [name, operand] : operands) nodes.emplace(name, operand.node);
  return nodes;
}

Node folded(Node (*f)(Node, Node), const py::args& args) {
  if (args.empty()) throw py::type_error("at least one operand is required");
  std::optional<Node> result;
  for (const py::handle a : args) {
    const Node n = a.cast<Operand>().node;
    const Released released;
    result = result ? f(*result, n) : n;
  }
  return *result;
}

std::string in_language(const Node& n, const std::string& language) {
  Question question;
  for (const Node& v : variables(n))
    question.variables.emplace_back(variable_name(v), bounds_of(v));
  return written(render(n), question, parse_language(language));
}

Node under(const Node& n, const std::vector<Operand>& assume) {
  if (assume.empty()) return n;
  std::vector<Node> conditions;
  for (const Operand& o : assume) conditions.push_back(o.node);
  return simplify_under(n, conditions);
}

}  // namespace

Question question_of(const std::string& text, const std::map<std::string, Range>& variables,
                     const std::vector<std::string>& assume) {
  Question q{{}, assume, text};
  for (const auto& [name, range] : variables) q.variables.emplace_back(name, interval_of(range));
  return q;
}

void bind_symbolic(py::module_& m) {
  py::class_<Node> node(
      m, "Node",
      "An immutable integer expression in its simplest known form.\n\n`/` is not defined; // and % "
      "floor. Comparisons give 0 or 1 as an expression, "
      "except `==`, which tests whether two expressions are the same; `eq` compares values.");
  const auto binary = [&](const char* name, const char* reversed, auto build) {
    const auto turned = [build](const Node& a, const Operand& b) { return build(b.node, a); };
    node.def(
        name, [build](const Node& a, const Operand& b) { return build(a, b.node); }, Free(),
        py::is_operator());
    if (reversed != nullptr) node.def(reversed, turned, Free(), py::is_operator());
  };
  binary("__add__", "__radd__", [](const Node& a, const Node& b) { return a + b; });
  binary("__sub__", "__rsub__", [](const Node& a, const Node& b) { return a - b; });
  binary("__mul__", "__rmul__", [](const Node& a, const Node& b) { return a * b; });
  binary("__floordiv__", "__rfloordiv__", [](auto a, auto b) { return floor_div(a, b); });
  binary("__mod__", "__rmod__", [](auto a, auto b) { return floor_mod(a, b); });
  binary("__lt__", nullptr, [](auto a, auto b) { return lt(a, b); });
  binary("__le__", nullptr, [](auto a, auto b) { return le(a, b); });
  binary("__gt__", nullptr, [](auto a, auto b) { return gt(a, b); });
  binary("__ge__", nullptr, [](auto a, auto b) { return ge(a, b); });
  node.def(
          "__eq__", [](const Node& a, const Operand& b) { return a == b.node; }, py::is_operator())
      .def(
          "__ne__", [](const Node& a, const Operand& b) { return !(a == b.node); },
          py::is_operator())
      .def("__hash__", [](const Node& n) { return node_hash(n); })
      .def("__neg__", [](const Node& a) { return -a; })
      .def("__pos__", [](const Node& a) { return a; })
      .def(
          "__abs__", [](const Node& a) { return symbolic::max(a, -a); }, Free())
      .def(
          "__invert__", [](const Node& a) { return Node(-1) - a; }, Free())
      .def(
          "__pow__", [](const Node& a, unsigned n) { return power(a, n); }, Free(),
          py::is_operator())
      .def(
          "__lshift__", [](const Node& a, unsigned n) { return a * power(Node(2), n); }, Free(),
          py::is_operator())
      .def(
          "__rshift__", [](const Node& a, unsigned n) { return floor_div(a, power(Node(2), n)); },
          Free(), py::is_operator())
      .def("__and__", &masked, Free(), py::is_operator())
      .def("__rand__", &masked, Free(), py::is_operator())
      .def(
          "__divmod__",
          [](const Node& a, const Operand& b) {
            return std::pair(floor_div(a, b.node), floor_mod(a, b.node));
          },
          Free(), py::is_operator())
      .def("__int__", &whole_number_of)
      .def("__index__", &whole_number_of)
      .def("__bool__", [](const Node& n) { return !whole_number_of(n).equal(py::int_(0)); })
      .def(
          "__str__", [](const Node& n) { return render(n); }, Free())
      .def(
          "__repr__", [](const Node& n) { return "Node('" + render(n) + "')"; }, Free())
      .def("__reduce__",
           [](const Node& n) {
             const py::list known = variables_and_bounds(n);
             std::string text;
             {
               const Released released;
               text = render(n);
             }
             const py::object read = py::module_::import("touchstone.symbolic");
             return py::make_tuple(read.attr("_restored"), py::make_tuple(text, known));
           })
      .def(
          "render", [](const Node& n) { return render(n); }, Free(),
          "The expression as text, which `parse` reads back to the same expression.")
      .def(
          "substitute",
          [](const Node& n, const std::map<std::string, Operand>& by) {
            return substitute(n, nodes_of(by));
          },
          Free(), py::arg("replacements"),
          "Replaces variables, by name, by expressions or numbers, all at once.")
      .def(
          "evaluate", [](const Node& n, const Values& at) { return evaluate(n, at); }, Free(),
          py::arg("values"), "The value at a point: {name: value} of every variable. 64 bits.")
      .def("simplify", &under, Free(), py::arg("assume") = std::vector<Operand>(),
           "The expression under the conditions of `assume`.")
      .def_property_readonly(
          "min", [](const Node& n) { return python_end(bounds_of(n).lo); },
          "A lower bound; None if there is none.")
      .def_property_readonly(
          "max", [](const Node& n) { return python_end(bounds_of(n).hi); },
          "An upper bound; None if there is none.")
      .def_property_readonly(
          "bounds",
          [](const Node& n) {
            return py::make_tuple(python_end(bounds_of(n).lo), python_end(bounds_of(n).hi));
          },
          "(min, max)")
      .def_property_readonly("is_constant", &Node::is_constant)
      .def_property_readonly(
          "name",
          [](const Node& n) {
            if (context().kind(n.id()) != NodeKind::Variable)
              throw py::attribute_error("only a variable has a name");
            return variable_name(n);
          },
          "The name of a variable.")
      .def_property_readonly(
          "variables",
          [](const Node& n) {
            const Released released;
            return variables(n);
          },
          "The variables in it, by name.")
      .def_property_readonly(
          "size",
          [](const Node& n) {
            const Released released;
            return size(n);
          },
          "Operators, variables and constants of the text.");

  m.def("Variable", &variable_of, py::arg("name"), py::arg("min") = py::none(),
        py::arg("max") = py::none(),
        "A variable with inclusive bounds; None is open. min == max gives the constant.");
  m.def(
      "constant", [](const Operand& value) { return value.node; }, py::arg("value"),
      "A number, of any length, as an expression.");
  m.def(
      "parse",
      [](const std::string& text, const std::map<std::string, Operand>& names) {
        return parse(text, nodes_of(names));
      },
      Free(), py::arg("text"), py::arg("names") = std::map<std::string, Operand>(),
      "Parses the output of `render`. names: the value of each variable of the text.");
  m.def("_read", &node_of_text);
  m.def(
      "read",
      [](const std::string& text, const std::string& language,
         const std::map<std::string, Range>& variables, const std::vector<std::string>& assume) {
        const Question given = question_of(text, variables, assume);
        Translation read;
        std::vector<Node> results;
        {
          const Released released;
          read = translate(given, parse_language(language));
          for (const Question& q : read.questions) {
            std::map<std::string, Node> names;
            for (const auto& [name, range] : q.variables)
              names.emplace(name, context().variable(name, range));
            std::vector<Node> conditions;
            for (const std::string& a : q.assumptions) conditions.push_back(parse(a, names));
            results.push_back(simplify_under(parse(q.text, names), conditions));
          }
        }
        for (const std::string& note : read.notes)
          if (PyErr_WarnEx(PyExc_UserWarning, note.c_str(), 1) != 0) throw py::error_already_set();
        return results;
      },
      py::arg("text"), py::arg("language"), py::arg("variables") = std::map<std::string, Range>(),
      py::arg("assume") = std::vector<std::string>(),
      "Reads a text in the language c, python, sympy, jax, tvm, halide, mlir, isl, cute or triton: "
      "a list with a node for each of its results.\n\nvariables: {name: (low, high)}, inclusive, "
      "None is open; others are open, or as the text says. assume: conditions in the same "
      "language. A UserWarning says what the reading takes for granted.");
  node.def(
      "to", [](const Node& n, const std::string& language) { return in_language(n, language); },
      Free(), py::arg("language"), "The text in a language, as `write`.");
  m.def(
      "write",
      [](const Operand& n, const std::string& language) { return in_language(n.node, language); },
      Free(), py::arg("expr"), py::arg("language"),
      "The text of the expression in the language c, python, sympy, jax, tvm, halide, mlir or "
      "isl. The bounds of its variables decide where C's quotients need a correction.");
  const auto two = [&](const char* name, Node (*f)(Node, Node), const char* doc) {
    m.def(
        name, [f](const Operand& a, const Operand& b) { return f(a.node, b.node); }, Free(),
        py::arg("a"), py::arg("b"), doc);
  };
  two("lt", &lt, "a < b, 0 or 1.");
  two("le", &le, "a <= b, 0 or 1.");
  two("gt", &gt, "a > b, 0 or 1.");
  two("ge", &ge, "a >= b, 0 or 1.");
  two("eq", &eq, "a == b as values, 0 or 1.");
  two("ne", &ne, "a != b as values, 0 or 1.");
  const auto many = [&](const char* name, Node (*f)(Node, Node), const char* doc) {
    m.def(
        name, [f](const py::args& args) { return folded(f, args); }, doc);
  };
  many("and_", &logical_and, "1 if no operand is 0.");
  many("or_", &logical_or, "1 if some operand is not 0.");
  many("min_", static_cast<Node (*)(Node, Node)>(&min), "The smallest of the operands.");
  many("max_", static_cast<Node (*)(Node, Node)>(&max), "The largest of the operands.");
  m.def(
      "not_", [](const Operand& a) { return logical_not(a.node); }, Free(), py::arg("a"),
      "1 if it is 0.");
  m.def(
      "where",
      [](const Operand& c, const Operand& a, const Operand& b) {
        return where(c.node, a.node, b.node);
      },
      Free(), py::arg("condition"), py::arg("a"), py::arg("b"),
      "a if the condition is not 0, else b.");
  m.def(
      "simplify",
      [](const Operand& n, const std::vector<Operand>& assume) { return under(n.node, assume); },
      Free(), py::arg("expr"), py::arg("assume") = std::vector<Operand>(),
      "The expression in its simplest known form under the conditions of `assume`.");
  m.def(
      "bounds",
      [](const Operand& n) {
        return py::make_tuple(python_end(bounds_of(n.node).lo), python_end(bounds_of(n.node).hi));
      },
      py::arg("expr"), "(lower, upper) bounds of the values; None is open.");
  m.def(
      "render", [](const Operand& n) { return render(n.node); }, Free(), py::arg("expr"),
      "As Node.render.");
  m.def(
      "substitute",
      [](const Operand& n, const std::map<std::string, Operand>& by) {
        return substitute(n.node, nodes_of(by));
      },
      Free(), py::arg("expr"), py::arg("replacements"), "As Node.substitute.");

  py::class_<Session>(m, "Session", "Simplifies texts, and caches the answers in bounded memory.")
      .def(py::init<>())
      .def(
          "simplify",
          [](Session& s, const std::string& text, const std::map<std::string, Range>& variables,
             const std::vector<std::string>& assume) {
            const Question q = question_of(text, variables, assume);
            Answer a;
            {
              const Working working;
              a = s.answer(q);
            }
            return py::make_tuple(
                a.text, py::make_tuple(python_end(a.bounds.lo), python_end(a.bounds.hi)), a.size);
          },
          py::arg("text"), py::arg("variables") = std::map<std::string, Range>(),
          py::arg("assume") = std::vector<std::string>(),
          "(text, (low, high), size) of the simplified expression, as `touchstone simplify`.\n\n"
          "variables: {name: (low, high)}, inclusive, None is open.");
}

}  // namespace touchstone::python
