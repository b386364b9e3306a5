#include "arrays.h"
#include "kernel.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"
#include "touchstone/judging/judging.h"

// Formulas for kernels: touchstone::define.

namespace touchstone::python {

using define::Array;
using define::Definition;
using define::Given;

namespace {

/// The kernel that stores `value`, judged as a definition's results, if one is named.
KernelToJudge stored(const Array& value, const std::string& of) {
  KernelToJudge made{kernel_file(define::kernel(value)), {}};
  if (!of.empty()) made.judging = Judging::of(of, define::definition(of).is_loose);
  return made;
}

/// An operand of an operator: an array or a number.
std::optional<Array> array_of(py::handle value) {
  if (py::isinstance<Array>(value)) return value.cast<Array>();
  if (PyBool_Check(value.ptr()) != 0) return Array::number(value.ptr() == Py_True ? "1" : "0");
  if (PyFloat_Check(value.ptr()) != 0 || PyLong_Check(value.ptr()) != 0)
    return Array::number(py::repr(value).cast<std::string>());
  if (PyIndex_Check(value.ptr()) != 0 || py::hasattr(value, "__float__")) {
    PyObject* const number =
        PyIndex_Check(value.ptr()) != 0 ? PyNumber_Index(value.ptr()) : PyNumber_Float(value.ptr());
    if (number == nullptr) {
      PyErr_Clear();
      return std::nullopt;
    }
    return Array::number(py::repr(py::reinterpret_steal<py::object>(number)).cast<std::string>());
  }
  return std::nullopt;
}

template <class Make>
void binary(py::class_<Array>& c, const char* name, const char* reversed, Make make) {
  const auto operand = [](const py::object& o) {
    std::optional<Array> a = array_of(o);
    return a;
  };
  c.def(name, [=](const Array& a, const py::object& o) -> py::object {
    const auto b = operand(o);
    if (!b) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::cast(make(a, *b));
  });
  if (reversed != nullptr)
    c.def(reversed, [=](const Array& a, const py::object& o) -> py::object {
      const auto b = operand(o);
      if (!b) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
      return py::cast(make(*b, a));
    });
}

Given given_of(const Definition& of, const define::Parameter& p, py::handle value) {
  const auto wrong = [&](const char* wanted) {
    throw py::type_error(
        fmt::format("{}: {} is a {}, expected {}", of.name(), p.name,
                    py::str(py::type::of(value).attr("__name__")).cast<std::string>(), wanted));
  };
  if (const auto array = array_of(value)) return *array;
  if (p.is_array) wrong("an array or a number");
  if (py::isinstance<py::str>(value)) return define::Word{value.cast<std::string>()};
  if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value))
    wrong("a number, a name, or a list of whole numbers");
  define::Sizes sizes;
  for (const py::handle entry : py::reinterpret_borrow<py::sequence>(value)) {
    if (PyIndex_Check(entry.ptr()) == 0) wrong("a list of whole numbers");
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(entry.ptr()));
    if (!number) throw py::error_already_set();
    sizes.push_back(number.cast<std::int64_t>());
  }
  return sizes;
}

/// An argument other than an input, as in a formula.
std::string text_of(const py::object& argument) {
  if (const auto number = array_of(argument)) return number->node()->number;
  return py::str(py::isinstance<py::tuple>(argument) ? py::object(py::list(argument)) : argument)
      .cast<std::string>();
}

// Calls a definition with arguments by position or name, as in a text.
Array called(const Definition& of, const py::args& args, const py::kwargs& named) {
  const std::vector<define::Parameter> wanted = parameters(of);
  if (args.size() > wanted.size())
    throw py::type_error(fmt::format("too many arguments for {}", of.signature));
  std::map<std::string, Given, std::less<>> given;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (!args[i].is_none()) given.emplace(wanted[i].name, given_of(of, wanted[i], args[i]));
  for (const auto& [key, value] : named) {
    const define::Parameter* p = nullptr;
    try {
      p = &parameter(of, wanted, key.cast<std::string>());
    } catch (const ParseError& e) {
      throw py::type_error(e.what());
    }
    if (value.is_none()) continue;
    if (!given.emplace(p->name, given_of(of, *p, value)).second)
      throw py::type_error(fmt::format("{}: {} is given twice", of.name(), p->name));
  }
  for (const define::Parameter& p : wanted) {
    if (given.contains(p.name)) continue;
    if (p.required) throw py::type_error(fmt::format("{}: {} is missing", of.signature, p.name));
    if (!p.fallback.empty()) given.emplace(p.name, default_of(p));
  }
  const Released released;
  return define::called(of, define::Arguments(std::move(given))).value;
}

Array reduced(Op op, const Array& x, const std::optional<std::vector<int>>& axes, bool keep,
              const std::optional<std::string>& accumulator) {
  std::vector<int> normal;
  if (axes)
    for (const int axis : *axes) normal.push_back(define::axis_of(x, axis));
  return x.reduce(op, axes ? normal : define::all_axes(x), keep,
                  accumulator ? std::optional(parse_dtype(*accumulator)) : std::nullopt);
}

}  // namespace

void bind_builder(py::module_& m) {
  py::class_<Array> array(m, "Array",
                          "An immutable formula for a kernel; nothing is computed. Operands of "
                          "different shapes broadcast as in NumPy, different types are promoted; a "
                          "number takes the type of the other operand.");
  binary(array, "__add__", "__radd__", [](const Array& a, const Array& b) { return a + b; });
  binary(array, "__sub__", "__rsub__", [](const Array& a, const Array& b) { return a - b; });
  binary(array, "__mul__", "__rmul__", [](const Array& a, const Array& b) { return a * b; });
  binary(array, "__truediv__", "__rtruediv__",
         [](const Array& a, const Array& b) { return a / b; });
  binary(array, "__mod__", "__rmod__", [](const Array& a, const Array& b) {
    return Array::apply(Op::Mod, {a, b});
  });
  binary(array, "__matmul__", nullptr,
         [](const Array& a, const Array& b) { return define::matmul(a, b); });
  binary(array, "__lt__", nullptr,
         [](const Array& a, const Array& b) { return define::less(a, b); });
  binary(array, "__gt__", nullptr,
         [](const Array& a, const Array& b) { return define::less(b, a); });
  // False for NaN, as in a text.
  binary(array, "__le__", nullptr,
         [](const Array& a, const Array& b) { return define::less(a, b) + define::equal(a, b); });
  binary(array, "__ge__", nullptr,
         [](const Array& a, const Array& b) { return define::less(b, a) + define::equal(a, b); });
  array.def("__neg__", [](const Array& a) { return -a; })
      .def("__bool__",
           [](const Array&) -> bool {
             throw py::type_error("a formula is neither true nor false; use where()");
           })
      .def_property_readonly("shape", [](const Array& a) { return py::tuple(py::cast(a.shape())); })
      .def_property_readonly("dtype", [](const Array& a) { return name(a.dtype()); })
      .def("reshape", &Array::reshape, py::arg("shape"), "One size may be -1: inferred.")
      .def("permute", &Array::permute, py::arg("order"), "New axis i is old axis order[i].")
      .def("expand", &Array::expand, py::arg("shape"), "Expands axes of size 1.")
      .def("pad", &Array::pad, py::arg("before_after"), "With zeros, a pair per axis.")
      .def("shrink", &Array::shrink, py::arg("begin_end"), "[begin, end) of each axis.")
      .def("stride", &Array::stride, py::arg("steps"), "Every |n|-th element of each axis.")
      .def(
          "cast", [](const Array& a, const std::string& to) { return a.cast(parse_dtype(to)); },
          py::arg("to"), "Converted to a type.")
      .def(
          "bitcast",
          [](const Array& a, const std::string& to) { return a.bitcast(parse_dtype(to)); },
          py::arg("to"), "The same bits as a type of the same size.")
      .def("__repr__", [](const Array& a) {
        return fmt::format("<Array {}{}>", name(a.dtype()), define::str(a.shape()));
      });
  m.def(
      "load",
      [](int buffer, const define::Sizes& shape, const std::string& dtype) {
        return Array::input(buffer, shape, parse_dtype(dtype));
      },
      py::arg("buffer"), py::arg("shape"), py::arg("dtype") = "float32",
      "Buffer `buffer` >= 1 of a kernel, in row-major order.");
  m.def(
      "const",
      [](const py::object& value, const std::string& dtype, const define::Sizes& shape) {
        return Array::constant(
            Scalar::parse(parse_dtype(dtype), py::str(value).cast<std::string>()), shape);
      },
      py::arg("value"), py::arg("dtype"), py::arg("shape") = define::Sizes(),
      "One value of a type.");
  m.def(
      "store", [](const Array& value, const std::string& of) { return stored(value, of); }, Free(),
      py::arg("value"), py::arg("definition") = "",
      "The kernel that stores a formula. `definition`: judge its results as those of this "
      "definition; empty: node by node.");
  m.def(
      "reduce_sum",
      [](const Array& x, const std::optional<std::vector<int>>& axes, bool keep,
         const std::optional<std::string>& accumulator) {
        return reduced(Op::ReduceSum, x, axes, keep, accumulator);
      },
      py::arg("x"), py::arg("axes") = py::none(), py::arg("keep") = false,
      py::arg("accumulator") = py::none(), "The sum over axes, over all if none are given.");
  m.def(
      "reduce_max",
      [](const Array& x, const std::optional<std::vector<int>>& axes, bool keep) {
        return reduced(Op::ReduceMax, x, axes, keep, std::nullopt);
      },
      py::arg("x"), py::arg("axes") = py::none(), py::arg("keep") = false,
      "The maximum over axes, over all if none are given.");
  py::dict signatures;
  for (const Definition& d : define::definitions()) {
    const std::string name(d.name());
    signatures[py::str(name)] = py::make_tuple(d.signature, d.summary, d.group);
    m.def(
        name.c_str(),
        [&d](const py::args& args, const py::kwargs& named) { return called(d, args, named); },
        (d.signature + "\n\n" + d.summary).c_str());
  }
  m.attr("definitions") = signatures;
  m.def("_of_arrays", [](const std::string& op, const py::args& args, const py::kwargs& named) {
    // Arrays become buffers 1, 2, ... in order of appearance.
    int count = 0;
    py::list inputs;
    std::string text;  // the call as a formula
    std::vector<define::InputShape> shapes;
    const Definition& definition = define::definition(op);
    const std::vector<define::Parameter> wanted = parameters(definition);
    const auto input = [&](py::handle value, bool is_array) -> py::object {
      // A NumPy scalar counts as a number where no array is allowed.
      const bool plain = (!is_array || PyObject_CheckBuffer(value.ptr()) == 0) && array_of(value);
      if (plain || value.is_none() || py::isinstance<py::str>(value) ||
          py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value))
        return py::reinterpret_borrow<py::object>(value);
      const Borrowed b(value, fmt::format("input {}", ++count));
      inputs.append(value);
      shapes.push_back({b.shape(), b.dtype()});
      return py::cast(Array::input(count, b.shape(), b.dtype()));
    };
    const auto say = [&](const std::string& name, const py::object& argument, bool is_new,
                         bool by_name) {
      if (argument.is_none()) return;
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", by_name ? name + "=" : "",
                          is_new ? name : text_of(argument));
    };
    bool all_given = true;  // by position so far
    py::tuple places(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) {
      const int before = count;
      places[i] = input(args[i], i >= wanted.size() || wanted[i].is_array);
      if (i < wanted.size()) say(wanted[i].name, places[i], count > before, !all_given);
      all_given = all_given && !places[i].is_none();
    }
    py::dict names;
    for (const auto& [key, value] : named) {
      const auto name = key.cast<std::string>();
      bool is_array = true;
      try {
        is_array = parameter(definition, wanted, name).is_array;
      } catch (const ParseError&) {  // `called` says so
      }
      const int before = count;
      names[key] = input(value, is_array);
      say(name, names[key], count > before, true);
    }
    (void)called(definition, py::args(places), py::kwargs(names));  // its errors are Python's
    KernelToJudge file;
    {
      const Released r;
      file = formula_to_judge(fmt::format("{}({})", op, text), shapes);
    }
    return py::make_tuple(std::move(file), inputs);
  });
  m.def(
      "call",
      [](const std::string& name, const py::args& args, const py::kwargs& named) {
        return called(define::definition(name), args, named);
      },
      "A definition by its name: call('softmax', x, axis=-1).");
}

}  // namespace touchstone::python
