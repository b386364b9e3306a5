#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// One drawn use of an operation: the shapes of its differentiable operands, whose values come from
/// [low, high], and a function that has the operation in it.
struct Drawn {
  std::vector<Shape> shapes;
  std::function<Tensor(const std::vector<Tensor>&)> f;
  double low = -2, high = 2;
};

/// A differentiable operation. `name` is that in the header, with a variant behind a slash.
struct GradientRow {
  std::string_view name;
  Drawn (*draw)();
};
std::span<const GradientRow> gradient_rows();

/// A public operation that has no gradient, and why.
struct WithoutGradient {
  std::string_view name;
  std::string_view why;
};
std::span<const WithoutGradient> without_gradient();

}  // namespace touchstone
