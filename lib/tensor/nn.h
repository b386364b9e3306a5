#pragma once

#include <vector>

#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/state.h"

/// Layers: parameters and their use. Unless a layer states otherwise, weights and biases are drawn
/// uniformly from (-b, b) with b = 1/sqrt(inputs per output), Kaiming's rule with a = sqrt(5).
/// Names and shapes of the state match PyTorch's.
namespace touchstone::nn {

/// Dtype and device of a layer's parameters, and whether it has a bias; without one the bias is
/// Tensor::none().
struct LayerOptions {
  DType dtype = default_dtype();
  std::string device = "CPU";
  bool bias = true;
  operator TensorOptions() const { return {dtype, device}; }  // NOLINT(google-explicit-constructor)
};
/// Options of normalising layers; affine: whether they scale and shift (weight and bias).
struct NormOptions {
  DType dtype = default_dtype();
  std::string device = "CPU";
  bool affine = true;
  operator TensorOptions() const { return {dtype, device}; }  // NOLINT(google-explicit-constructor)
};
/// Adds running statistics; without them both modes use the batch's statistics.
struct BatchNormOptions {
  DType dtype = default_dtype();
  std::string device = "CPU";
  bool affine = true;
  bool track_running_stats = true;
  operator TensorOptions() const { return {dtype, device}; }  // NOLINT(google-explicit-constructor)
};

/// The tensor, or nullopt for Tensor::none().
inline std::optional<Tensor> given(const Tensor& x) {
  return x.defined() ? std::optional(x) : std::nullopt;
}

struct Linear final : Module {
  Linear(std::int64_t in, std::int64_t out, Generator& generator, const LayerOptions& options = {});
  Tensor operator()(const Tensor& x) const { return linear(x, weight, given(bias)); }

  Tensor weight;  // (out, in)
  Tensor bias;    // (out)
};

/// The members of a convolution: the weight, a bias per output channel, and its arguments.
template <class Args>
struct Convolution : Module {
  Tensor weight, bias;
  Args args;

 protected:
  Convolution(const Shape& of_weight, std::int64_t out, Generator& generator, Args args,
              const LayerOptions& options);
};

/// weight: (out, in / groups, kernel)
struct Conv1d final : Convolution<ConvArgs> {
  Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, Generator& generator,
         ConvArgs args = {}, const LayerOptions& options = {});
  Tensor operator()(const Tensor& x) const { return conv1d(x, weight, given(bias), args); }
};
/// weight: (out, in / groups, kh, kw)
struct Conv2d final : Convolution<WindowArgs> {
  Conv2d(std::int64_t in, std::int64_t out, std::array<std::int64_t, 2> kernel,
         Generator& generator, WindowArgs args = {}, const LayerOptions& options = {});
  Tensor operator()(const Tensor& x) const { return conv2d(x, weight, given(bias), args); }
};

/// conv_transpose over one and over two axes. Weights, (in, out / groups, kernel...), and biases
/// are drawn with b = 1 / sqrt(out / groups * kernel), as in PyTorch.
struct ConvTranspose1d final : Convolution<ConvArgs> {
  ConvTranspose1d(std::int64_t in, std::int64_t out, std::int64_t kernel, Generator& generator,
                  ConvArgs args = {}, const LayerOptions& options = {});
  Tensor operator()(const Tensor& x) const;  // throws ShapeError unless x is (n, in, size)
};
struct ConvTranspose2d final : Convolution<ConvArgs> {
  ConvTranspose2d(std::int64_t in, std::int64_t out, std::array<std::int64_t, 2> kernel,
                  Generator& generator, ConvArgs args = {}, const LayerOptions& options = {});
  Tensor operator()(const Tensor& x) const;  // throws ShapeError unless x is (n, in, h, w)
};

enum class Mode : bool { Evaluate, Train };

/// The members of a layer that normalises, then scales and shifts.
struct Normalization : Module {
  Tensor weight, bias;  // of the same sizes
  double eps;

 protected:
  Normalization(const Shape& sizes, double eps, const NormOptions& options);
  Affine affine() const { return {given(weight), given(bias)}; }
};

/// In training uses the statistics of the batch and moves the running ones by `momentum` (the
/// unbiased variance); otherwise uses the running ones. Training updates the running statistics
/// lazily; realize them, for example by passing state() to Optimizer::step.
struct BatchNorm final : Normalization {
  explicit BatchNorm(std::int64_t channels, double momentum = 0.1, double eps = 1e-5,
                     const BatchNormOptions& options = {});
  /// x: (n, channels, ...). Without a mode, is_training() decides.
  Tensor operator()(const Tensor& x, Mode mode) const;
  Tensor operator()(const Tensor& x) const {
    return (*this)(x, is_training() ? Mode::Train : Mode::Evaluate);
  }

  Tensor running_mean, running_var;  // (channels), as weight and bias
  double momentum;
};

/// Normalises over the last axes, which have these sizes.
struct LayerNorm final : Normalization {
  explicit LayerNorm(Shape sizes, double eps = 1e-5, const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const;

  Shape sizes;
};
/// Normalises over the channels at each place of (n, channels, h, w).
struct LayerNorm2d final : Normalization {
  explicit LayerNorm2d(std::int64_t channels, double eps = 1e-5, const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const;

  std::int64_t channels;
};

struct GroupNorm final : Normalization {
  GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5,
            const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const;

  std::int64_t groups;
};
/// Normalises each channel of each image. Scales and shifts by default (PyTorch's does not).
struct InstanceNorm final : Normalization {
  explicit InstanceNorm(std::int64_t channels, double eps = 1e-5, const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const { return instance_norm(x, affine(), eps); }
};

struct RMSNorm final : Module {
  explicit RMSNorm(std::int64_t size, double eps = 1e-6, const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const { return rms_norm(x, given(weight), eps); }

  Tensor weight;  // (size)
  double eps;
};

/// A row of weights for each integer below `count`; drawn from a normal distribution of variance 1.
struct Embedding final : Module {
  Embedding(std::int64_t count, std::int64_t size, Generator& generator,
            const TensorOptions& options = {});
  /// (...) integers -> (..., size).
  Tensor operator()(const Tensor& tokens) const { return take(weight, tokens, 0); }

  Tensor weight;  // (count, size)
};

/// Keys and values of earlier tokens, (n, heads, context, size / heads) each.
struct KvCache {
  Tensor keys, values;
};

/// Multi-head attention: splits the last axis into `heads` parts; four linear layers.
struct MultiHeadAttention final : Module {
  /// Throws ShapeError if the heads do not divide the size.
  MultiHeadAttention(std::int64_t size, std::int64_t heads, Generator& generator,
                     const LayerOptions& options = {});
  /// q: (n, queries, size); k, v: (n, keys, size). A mask broadcasts to (n, heads, queries, keys).
  Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                    const AttentionArgs& args = {}) const;
  /// For one more token, (n, 1, size), which attends to itself and the `position` tokens before it;
  /// its key and value are assigned to the cache. `position` may be a variable. Throws ShapeError
  /// if the cache is full.
  Tensor next(const Tensor& x, const sint& position, KvCache& cache) const;

  std::int64_t heads;
  Linear query, key, value, out;
};

/// The state of a recurrent layer: (n, hidden) each. A GRU has no cell.
struct RecurrentState {
  Tensor hidden;
  std::optional<Tensor> cell = std::nullopt;
};
struct RecurrentResult {
  Tensor outputs;  // (n, steps, hidden)
  RecurrentState last;
};

/// The members of a recurrent layer of some gates.
struct Recurrent : Module {
  std::int64_t hidden;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // (gates hidden, in), (.., hidden), (..), (..)

 protected:
  Recurrent(std::int64_t gates, std::int64_t in, std::int64_t hidden, Generator& generator,
            const LayerOptions& options);
};

/// Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 1997, with forget gates:
/// gates i, f, g, o in that order; c = f c + i g, h = o tanh(c).
struct LSTM final : Recurrent {
  LSTM(std::int64_t in, std::int64_t hidden, Generator& generator, const LayerOptions& options = {})
      : Recurrent(4, in, hidden, generator, options) {}
  /// x: (n, steps, in). The default initial state is zeros.
  RecurrentResult operator()(const Tensor& x,
                             const std::optional<RecurrentState>& from = std::nullopt) const;
};

/// Gated recurrent unit (Cho et al., EMNLP 2014) in PyTorch's form: gates r, z, n; n = tanh(Wx + r
/// (Uh + b)), h = (1 - z) n + z h.
struct GRU final : Recurrent {
  GRU(std::int64_t in, std::int64_t hidden, Generator& generator, const LayerOptions& options = {})
      : Recurrent(3, in, hidden, generator, options) {}
  RecurrentResult operator()(const Tensor& x,
                             const std::optional<RecurrentState>& from = std::nullopt) const;
};

/// dropout() if is_training(), else the identity. Draws from the given generator, which must
/// outlive the layer, or the thread's default.
struct Dropout final : Module {
  explicit Dropout(double part, Generator* from = nullptr) : p(part), generator(from) {}
  Tensor operator()(const Tensor& x) const {
    return is_training() ? dropout(x, p, generator ? *generator : default_generator()) : x;
  }

  double p;
  Generator* generator;
};

/// Applies layers and functions of one tensor in turn; the state of layer i is "i....".
class Sequential final : public Module {
 public:
  template <class... Steps>
  requires(std::invocable<const Steps&, const Tensor&>&&...) explicit Sequential(Steps... steps) {
    (add(std::move(steps)), ...);
  }
  Tensor operator()(const Tensor& x) const { return x.sequential(steps_); }

 private:
  template <class Step>
  void add(Step step) {
    if constexpr (std::derived_from<Step, Module>) part(std::to_string(steps_.size()), step);
    steps_.emplace_back(std::move(step));
  }

  std::vector<std::function<Tensor(const Tensor&)>> steps_;
};

}  // namespace touchstone::nn

namespace touchstone {

inline TensorOptions::operator nn::LayerOptions() const { return {dtype, device}; }
inline TensorOptions::operator nn::NormOptions() const { return {dtype, device}; }
inline TensorOptions::operator nn::BatchNormOptions() const { return {dtype, device}; }

}  // namespace touchstone
