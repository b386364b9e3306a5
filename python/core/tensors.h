#pragma once

#include <array>
#include <memory>
#include <variant>

#include "convert.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone::python {

// A tensor, or an object with tensors, may own the last reference to a graph and to memory; these
// counts are shared by all threads.
struct FreeTensors {
  template <class T>
  void operator()(T* held) const {
    if (stack_mutex().try_lock()) {
      const std::scoped_lock lock(std::adopt_lock, stack_mutex());
      delete held;
    } else {
      const Working working;
      delete held;
    }
  }
};

/// Python's holder of objects with tensors.
template <class T>
using Held = std::unique_ptr<T, FreeTensors>;

/// A tensor or a Python number; std::uint64_t from 2^63 on.
using Arg = std::variant<std::monostate, Tensor, bool, std::int64_t, double, std::uint64_t>;

/// A number from 2^63 on, for with_arg.
Tensor large_number(std::uint64_t value, DType met, const std::string& device);

/// f of the tensor or Number; from 2^63 on, of a tensor of type `met`, that of the other operand.
/// Throws OverflowError if this is neither uint64 nor a float.
template <class F>
Tensor with_arg(const Arg& arg, DType met, const std::string& device, const F& f) {
  return std::visit(
      [&](const auto& value) -> Tensor {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          throw DTypeError("None is neither a tensor nor a number");
        else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>)
          return f(value);
        else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::uint64_t>)
          return f(large_number(value, met, device));
        else
          return f(Number(value));
      },
      arg);
}

using TensorClass = py::class_<Tensor, Held<Tensor>>;

/// One number for all axes, or one per axis.
using PerAxis = std::variant<std::int64_t, std::vector<std::int64_t>>;
std::vector<std::int64_t> per_axis(const PerAxis& given);
/// The same for two axes. Throws ShapeError for other counts.
std::array<std::int64_t, 2> of_two_axes(const PerAxis& given);

/// Loads Python numbers, including NumPy's scalars and arrays without axes; false for anything
/// else. Such objects have a truth value, so pybind11 would take them for a bool.
bool load_number(py::handle source, Arg& to);

/// Indexing by other tensors.
void bind_indexing(TensorClass& t);
/// Functions of layers: products, windows, normalisation, losses.
void bind_functions(py::module_& m);

/// Shapes, operators, functions and reductions of tensors.
void bind_tensor_operations(TensorClass& t);

}  // namespace touchstone::python

namespace pybind11::detail {

template <>
struct type_caster<touchstone::python::Arg> {
  PYBIND11_TYPE_CASTER(touchstone::python::Arg, const_name("Tensor | bool | int | float"));
  bool load(handle source, bool) {
    make_caster<touchstone::Tensor> tensor;
    if (!source.is_none() && tensor.load(source, false)) {
      value = cast_op<touchstone::Tensor&>(tensor);
      return true;
    }
    return touchstone::python::load_number(source, value);
  }
  static handle cast(const touchstone::python::Arg&, return_value_policy, handle) = delete;
};

}  // namespace pybind11::detail
