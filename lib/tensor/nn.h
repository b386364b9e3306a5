#pragma once

#include <vector>

#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/generator.h"

/// Layers: parameters and what is done with them. Weights and biases are drawn uniformly from
/// (-b, b) with b = 1/sqrt(inputs of one output), which is Kaiming's rule with a = sqrt(5).
namespace touchstone::nn {

struct Linear {
  Linear(std::int64_t in, std::int64_t out, Generator& generator,
         const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
  std::vector<Tensor> parameters() const { return {weight, bias}; }

  Tensor weight;  // (out, in)
  Tensor bias;    // (out)
};

struct Conv2d {
  Conv2d(std::int64_t in, std::int64_t out, std::array<std::int64_t, 2> kernel,
         Generator& generator, WindowArgs args = {}, const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const { return conv2d(x, weight, bias, args); }
  std::vector<Tensor> parameters() const { return {weight, bias}; }

  Tensor weight;  // (out, in, kh, kw)
  Tensor bias;    // (out)
  WindowArgs args;
};

}  // namespace touchstone::nn
