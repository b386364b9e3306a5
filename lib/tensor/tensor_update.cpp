// Operators that change a tensor.
#include "touchstone/tensor/function.h"

namespace touchstone {

Tensor& Tensor::become(const Tensor& result, const char* what) {
  if (result.requires_grad() || (requires_grad() && gradients_are_noted())) {
    if (held().function == nullptr && requires_grad())
      throw Error(
          fmt::format("{}: this leaf requires a gradient and cannot change in place; write x = x "
                      "{} y, or change it in a NoGrad scope",
                      what, what[0]));
    return *this = result;
  }
  if (result.shape() != shape())
    throw ShapeError(fmt::format("{}: the tensor has shape {}, but the result {}; write x = x {} y",
                                 what, str(shape()), str(result.shape()), what[0]));
  if (result.dtype() != dtype())
    throw DTypeError(
        fmt::format("{}: the tensor is {}, but the result {}; write x = x {} y, or cast", what,
                    name(dtype()), name(result.dtype()), what[0]));
  assign(result);
  return *this;
}

Tensor& Tensor::operator+=(const Tensor& other) { return become(*this + other, "+="); }
Tensor& Tensor::operator-=(const Tensor& other) { return become(*this - other, "-="); }
Tensor& Tensor::operator*=(const Tensor& other) { return become(*this * other, "*="); }
Tensor& Tensor::operator/=(const Tensor& other) { return become(*this / other, "/="); }
Tensor& Tensor::operator+=(Number other) { return become(*this + other, "+="); }
Tensor& Tensor::operator-=(Number other) { return become(*this - other, "-="); }
Tensor& Tensor::operator*=(Number other) { return become(*this * other, "*="); }
Tensor& Tensor::operator/=(Number other) { return become(*this / other, "/="); }

}  // namespace touchstone
