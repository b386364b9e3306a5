#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// A drawn use of an operation: the shapes of its differentiable operands, with values from [low,
/// high], and a function that uses the operation.
struct Drawn {
  std::vector<Shape> shapes;
  std::function<Tensor(const std::vector<Tensor>&)> f;
  double low = -2, high = 2;
};

/// A differentiable operation. `name` is the header's, with a variant after a slash.
struct GradientRow {
  std::string_view name;
  Drawn (*draw)();
};
std::span<const GradientRow> gradient_rows();

/// A public operation without a gradient, and the reason.
struct WithoutGradient {
  std::string_view name;
  std::string_view why;
};
std::span<const WithoutGradient> without_gradient();

}  // namespace touchstone
