#pragma once

#include <vector>

#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/state.h"

/// Layers: parameters and what is done with them. Weights and biases are drawn uniformly from
/// (-b, b) with b = 1/sqrt(inputs of one output), which is Kaiming's rule with a = sqrt(5), unless
/// a layer says otherwise. Names and shapes of the state are those of PyTorch.
namespace touchstone::nn {

struct Linear final : Module {
  Linear(std::int64_t in, std::int64_t out, Generator& generator,
         const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
  StateDict state() const override { return {{"weight", weight}, {"bias", bias}}; }

  Tensor weight;  // (out, in)
  Tensor bias;    // (out)
};

struct Conv1d final : Module {
  Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, Generator& generator,
         ConvArgs args = {}, const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const { return conv1d(x, weight, bias, args); }
  StateDict state() const override { return {{"weight", weight}, {"bias", bias}}; }

  Tensor weight;  // (out, in / groups, kernel)
  Tensor bias;    // (out)
  ConvArgs args;
};

struct Conv2d final : Module {
  Conv2d(std::int64_t in, std::int64_t out, std::array<std::int64_t, 2> kernel,
         Generator& generator, WindowArgs args = {}, const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const { return conv2d(x, weight, bias, args); }
  StateDict state() const override { return {{"weight", weight}, {"bias", bias}}; }

  Tensor weight;  // (out, in / groups, kh, kw)
  Tensor bias;    // (out)
  WindowArgs args;
};

enum class Mode : bool { Evaluate, Train };

/// By the statistics of the batch while training, which move the running ones by `momentum` (the
/// variance without bias); by the running ones otherwise. What training gives the running
/// statistics is computed with whatever realizes them: give state() to Optimizer::step, say.
struct BatchNorm final : Module {
  explicit BatchNorm(std::int64_t channels, double momentum = 0.1, double eps = 1e-5,
                     const TensorOptions& options = {});
  /// x: (n, channels, ...).
  Tensor operator()(const Tensor& x, Mode mode) const;
  StateDict state() const override;

  Tensor weight, bias, running_mean, running_var;  // (channels)
  double momentum, eps;
};

/// Over the last axes, of these sizes.
struct LayerNorm final : Module {
  explicit LayerNorm(const Shape& sizes, double eps = 1e-5, const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  StateDict state() const override { return {{"weight", weight}, {"bias", bias}}; }

  Tensor weight, bias;
  double eps;
};

struct GroupNorm final : Module {
  GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5,
            const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  StateDict state() const override { return {{"weight", weight}, {"bias", bias}}; }

  std::int64_t groups;
  Tensor weight, bias;  // (channels)
  double eps;
};

struct RMSNorm final : Module {
  explicit RMSNorm(std::int64_t size, double eps = 1e-6, const TensorOptions& options = {});
  Tensor operator()(const Tensor& x) const { return rms_norm(x, weight, eps); }
  StateDict state() const override { return {{"weight", weight}}; }

  Tensor weight;  // (size)
  double eps;
};

/// A row of weights for each integer below `count`; drawn from a normal distribution of variance 1.
struct Embedding final : Module {
  Embedding(std::int64_t count, std::int64_t size, Generator& generator,
            const TensorOptions& options = {});
  /// (...) integers -> (..., size).
  Tensor operator()(const Tensor& tokens) const { return take(weight, tokens, 0); }
  StateDict state() const override { return {{"weight", weight}}; }

  Tensor weight;  // (count, size)
};

/// The keys and values of earlier tokens, (n, heads, context, size / heads) each.
struct KvCache {
  Tensor keys, values;
};

/// Attention in `heads` parts of the last axis, each with its own share of four linear layers.
struct MultiHeadAttention final : Module {
  /// Throws ShapeError where the heads do not divide the size.
  MultiHeadAttention(std::int64_t size, std::int64_t heads, Generator& generator,
                     const TensorOptions& options = {});
  /// q: (n, queries, size); k, v: (n, keys, size). A mask broadcasts to (n, heads, queries, keys).
  Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                    const AttentionArgs& args = {}) const;
  /// Of one token more, (n, 1, size), which attends to itself and to the `position` tokens before
  /// it; its key and value are assigned to the cache. `position` may be a variable. Throws
  /// ShapeError where the cache has no room for it.
  Tensor next(const Tensor& x, const sint& position, KvCache& cache) const;
  StateDict state() const override;

  std::int64_t heads;
  Linear query, key, value, out;
};

/// The memory of a recurrent layer: (n, hidden) each. A GRU has no cell.
struct RecurrentState {
  Tensor hidden;
  std::optional<Tensor> cell = std::nullopt;
};
struct RecurrentResult {
  Tensor outputs;  // (n, steps, hidden)
  RecurrentState last;
};

/// Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 1997, with forget gates:
/// gates i, f, g, o in that order; c = f c + i g, h = o tanh(c).
struct LSTM final : Module {
  LSTM(std::int64_t in, std::int64_t hidden, Generator& generator,
       const TensorOptions& options = {});
  /// x: (n, steps, in). Starts from zeros where no state is given.
  RecurrentResult operator()(const Tensor& x,
                             const std::optional<RecurrentState>& from = std::nullopt) const;
  StateDict state() const override;

  std::int64_t hidden;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // (4 hidden, in), (4 hidden, hidden), (4 hidden)
};

/// Cho et al., EMNLP 2014, as PyTorch has it: gates r, z, n; n = tanh(Wx + r (Uh + b)),
/// h = (1 - z) n + z h.
struct GRU final : Module {
  GRU(std::int64_t in, std::int64_t hidden, Generator& generator,
      const TensorOptions& options = {});
  RecurrentResult operator()(const Tensor& x,
                             const std::optional<RecurrentState>& from = std::nullopt) const;
  StateDict state() const override;

  std::int64_t hidden;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // (3 hidden, in), ...
};

}  // namespace touchstone::nn
