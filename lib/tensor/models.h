#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/tensor/networks.h"

/// Small networks whose kernels are worth looking at; sizes and structure are those on which
/// tinygrad's kernel counts are known.
namespace touchstone::models {

/// A forward graph. Realize leaves() before counting kernels: drawing them is not the model's work.
struct ModelGraph {
  Tensor output;
  std::vector<Tensor> inputs;
  std::vector<Tensor> parameters;  // require gradients

  std::vector<Tensor> leaves() const;
  /// mean(output^2), which the gradients are taken of.
  Tensor loss() const;
  /// The results to schedule: the output, or with gradients the loss and each parameter's.
  std::vector<LazyBufferPtr> results(bool gradients) const;
};

struct Model {
  std::string_view name;
  std::string_view what;
  /// `training`: batch normalisation by the statistics of the batch.
  ModelGraph (*build)(const std::string& device, bool training);
};

/// abc, softmax, log-softmax, layernorm, matmul, matmul-bias-relu, lenet, conv-bn-relu,
/// resnet-block, transformer-block, digits, mlp, lstm, resnet18, gpt.
std::span<const Model> models();
/// Throws Error that lists the names.
const Model& model(std::string_view name);

/// The numbers of a model's kernels.
struct KernelCount {
  int forward = 0;  // the output alone
  int both = 0;     // loss and all gradients, in one schedule
  bool operator==(const KernelCount&) const = default;
};
/// Realizes the leaves on `device` and counts the kernels of a schedule, which is not run.
KernelCount count_kernels(const Model& model, const std::string& device);

}  // namespace touchstone::models
