#pragma once

#include <memory>
#include <variant>

#include "convert.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone::python {

// A tensor may hold the last of a graph and of memory, whose counts are those of all threads.
struct FreeTensor {
  void operator()(Tensor* tensor) const {
    if (stack_mutex().try_lock()) {
      const std::scoped_lock lock(std::adopt_lock, stack_mutex());
      delete tensor;
    } else {
      const Working working;
      delete tensor;
    }
  }
};

using TensorHolder = std::unique_ptr<Tensor, FreeTensor>;

/// A tensor or a Python number.
using Arg = std::variant<std::monostate, Tensor, bool, std::int64_t, double>;

/// f of the tensor or the Number.
template <class F>
Tensor with_arg(const Arg& arg, const F& f) {
  return std::visit(
      [&](const auto& value) -> Tensor {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          throw DTypeError("None is neither a tensor nor a number");
        else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>)
          return f(value);
        else
          return f(Number(value));
      },
      arg);
}

using TensorClass = py::class_<Tensor, TensorHolder>;

/// Shapes, operators, functions and reductions of tensors.
void bind_tensor_operations(TensorClass& t);

}  // namespace touchstone::python
