#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/node/sint.h"
#include "working.h"

// Conversions between Python's values and the library's.

namespace touchstone::python {

namespace py = pybind11;

using Guard = py::call_guard<Working>;
using Free = py::call_guard<Released>;

/// A key of x[key] that does not fit the shape; Python's IndexError.
class BadIndex : public ShapeError {
 public:
  using ShapeError::ShapeError;
};

/// An operand of an operator: an integer of any length or an expression.
struct Operand {
  symbolic::Node node;
};

/// A Python int, of any length.
py::int_ python_int(const symbolic::Int& value);
/// None if the end is open.
py::object python_end(const symbolic::End& end);
symbolic::Int int_of(py::handle value);

/// A constant expression of an integer of any length.
symbolic::Node constant_of(py::handle integer);
/// The expression, or a number if it is constant and fits in 64 bits.
py::object python_sint(const sint& value);
/// Accepts ints and expressions; false for anything else.
bool load_operand(py::handle source, symbolic::Node& node);

/// Inclusive bounds of a variable; None is open.
using Range = std::pair<std::optional<py::int_>, std::optional<py::int_>>;
symbolic::Question question_of(const std::string& text,
                               const std::map<std::string, Range>& variables,
                               const std::vector<std::string>& assume);

void bind_errors(py::module_& m);
void bind_symbolic(py::module_& m);
void bind_derivations(py::module_& m);
void bind_view(py::module_& m);
void bind_maps(py::module_& m);
void bind_kernel(py::module_& m);
void bind_model(py::module_& m);
void bind_tensor(py::module_& m);
void bind_layers(py::module_& m);
void bind_optimizers(py::module_& m);

}  // namespace touchstone::python

namespace pybind11::detail {

template <>
struct type_caster<touchstone::python::Operand> {
  PYBIND11_TYPE_CASTER(touchstone::python::Operand, const_name("Node | int"));
  bool load(handle source, bool) { return touchstone::python::load_operand(source, value.node); }
  static handle cast(const touchstone::python::Operand& o, return_value_policy, handle) {
    return pybind11::cast(o.node).release();
  }
};

template <>
struct type_caster<touchstone::sint> {
  PYBIND11_TYPE_CASTER(touchstone::sint, const_name("Node | int"));
  bool load(handle source, bool) {
    touchstone::symbolic::Node node;
    if (!touchstone::python::load_operand(source, node)) return false;
    value = touchstone::sint(node);
    return true;
  }
  static handle cast(const touchstone::sint& s, return_value_policy, handle) {
    return touchstone::python::python_sint(s).release();
  }
};

}  // namespace pybind11::detail
