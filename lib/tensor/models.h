#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/tensor/networks.h"

/// Small networks with interesting kernels, in the sizes and structure for which tinygrad's kernel
/// counts are known.
namespace touchstone::models {

/// A forward graph. Realize leaves() before counting kernels, so that drawing them does not count.
struct ModelGraph {
  Tensor output;
  std::vector<Tensor> inputs;
  std::vector<Tensor> parameters;  // require gradients

  std::vector<Tensor> leaves() const;
  /// mean(output^2), the loss to differentiate.
  Tensor loss() const;
  /// The results to schedule: the output or, with gradients, the loss and each parameter's
  /// gradient.
  std::vector<LazyBufferPtr> results(bool gradients) const;
};

struct Model {
  std::string_view name;
  std::string_view what;
  /// `training`: batch normalisation uses the statistics of the batch.
  ModelGraph (*build)(const std::string& device, bool training);
};

/// abc, softmax, log-softmax, layernorm, matmul, matmul-bias-relu, lenet, conv-bn-relu,
/// resnet-block, transformer-block, digits, mlp, lstm, resnet18, gpt.
std::span<const Model> models();
/// Throws Error that lists the names if the name is unknown.
const Model& model(std::string_view name);

/// Kernel counts of a model.
struct KernelCount {
  int forward = 0;  // the output only
  int both = 0;     // loss and all gradients in one schedule
  bool operator==(const KernelCount&) const = default;
};
/// Realizes the leaves on `device` and counts the kernels of a schedule without running it.
KernelCount count_kernels(const Model& model, const std::string& device);

}  // namespace touchstone::models
