#include "touchstone/tensor/nn.h"

#include <cmath>

namespace touchstone::nn {
namespace {

Tensor drawn(const Shape& shape, std::int64_t inputs, Generator& generator,
             const TensorOptions& options) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  Tensor values = generator.uniform(shape, -bound, bound, options).contiguous();
  return values.set_requires_grad();
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Generator& generator,
               const TensorOptions& options)
    : weight(drawn({out, in}, in, generator, options)),
      bias(drawn({out}, in, generator, options)) {}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, std::array<std::int64_t, 2> kernel,
               Generator& generator, WindowArgs window, const TensorOptions& options)
    : weight(
          drawn({out, in, kernel[0], kernel[1]}, in * kernel[0] * kernel[1], generator, options)),
      bias(drawn({out}, in * kernel[0] * kernel[1], generator, options)),
      args(window) {}

}  // namespace touchstone::nn
