#include "touchstone/tensor/nn.h"

#include <algorithm>
#include <cmath>

#include "touchstone/tensor/mlops.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone::nn {
namespace {

Tensor drawn(const Shape& shape, std::int64_t inputs, Generator& generator,
             const TensorOptions& options) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  return generator.uniform(shape, -bound, bound, options).contiguous();
}
Tensor drawn_bias(const Shape& shape, std::int64_t inputs, Generator& generator,
                  const LayerOptions& options) {
  return options.bias ? drawn(shape, inputs, generator, options) : Tensor::none();
}

Tensor constant(const Shape& shape, double value, const TensorOptions& options) {
  return Tensor::full(shape, value, options).contiguous();
}
Tensor if_affine(const Shape& shape, double value, const NormOptions& options) {
  return options.affine ? constant(shape, value, options) : Tensor::none();
}

// Channels seen by one output of a grouped convolution.
std::int64_t per_group(std::int64_t in, std::int64_t out, std::int64_t groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    throw ShapeError(
        fmt::format("convolution: {} channels to {} in {} groups; expected groups that divide both",
                    in, out, groups));
  return in / groups;
}

// The inputs per output of a weight.
std::int64_t inputs_of(const Shape& weight) {
  return max_elements({weight.begin() + 1, weight.end()});
}

void check_steps(const char* who, const Tensor& x, const Tensor& weight_ih) {
  if (x.rank() != 3 || x.size(1) < 1 || x.size(2) != weight_ih.size(1))
    throw ShapeError(fmt::format(
        "{}: input {}: expected (n, steps, {}) with a step or more; unsqueeze or transpose it", who,
        str(x.shape()), weight_ih.size(1)));
}

Tensor at_start(const std::optional<RecurrentState>& from, const Tensor& x, std::int64_t hidden) {
  return from ? from->hidden : Tensor::zeros({x.size(0), hidden}, {x.dtype(), x.device()});
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Generator& generator, const LayerOptions& options)
    : weight(parameter("weight", drawn({out, in}, in, generator, options))),
      bias(parameter("bias", drawn_bias({out}, in, generator, options))) {}

template <class Args>
Convolution<Args>::Convolution(const Shape& of_weight, std::int64_t out, Generator& generator,
                               Args window, const LayerOptions& options)
    : weight(parameter("weight", drawn(of_weight, inputs_of(of_weight), generator, options))),
      bias(parameter("bias", drawn_bias({out}, inputs_of(of_weight), generator, options))),
      args(std::move(window)) {}

Conv1d::Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, Generator& generator,
               ConvArgs window, const LayerOptions& options)
    : Convolution({out, per_group(in, out, window.groups), kernel}, out, generator, window,
                  options) {}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, std::array<std::int64_t, 2> kernel,
               Generator& generator, WindowArgs window, const LayerOptions& options)
    : Convolution({out, per_group(in, out, window.groups), kernel[0], kernel[1]}, out, generator,
                  window, options) {}

ConvTranspose1d::ConvTranspose1d(std::int64_t in, std::int64_t out, std::int64_t kernel,
                                 Generator& generator, ConvArgs window, const LayerOptions& options)
    : Convolution({in, per_group(out, in, window.groups), kernel}, out, generator, window,
                  options) {}
Tensor ConvTranspose1d::operator()(const Tensor& x) const {
  if (x.rank() != 3)
    throw ShapeError(
        fmt::format("ConvTranspose1d: input {}: expected (n, channels, size)", str(x.shape())));
  return conv_transpose(x, weight, given(bias), args);
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in, std::int64_t out,
                                 std::array<std::int64_t, 2> kernel, Generator& generator,
                                 ConvArgs window, const LayerOptions& options)
    : Convolution({in, per_group(out, in, window.groups), kernel[0], kernel[1]}, out, generator,
                  window, options) {}
Tensor ConvTranspose2d::operator()(const Tensor& x) const {
  if (x.rank() != 4)
    throw ShapeError(
        fmt::format("ConvTranspose2d: input {}: expected (n, channels, h, w)", str(x.shape())));
  return conv_transpose(x, weight, given(bias), args);
}

Normalization::Normalization(const Shape& sizes, double epsilon, const NormOptions& options)
    : weight(parameter("weight", if_affine(sizes, 1, options))),
      bias(parameter("bias", if_affine(sizes, 0, options))),
      eps(epsilon) {}

BatchNorm::BatchNorm(std::int64_t channels, double how_fast, double epsilon,
                     const BatchNormOptions& options)
    : Normalization({channels}, epsilon, {options.dtype, options.device, options.affine}),
      running_mean(buffer("running_mean", options.track_running_stats
                                              ? constant({channels}, 0, options)
                                              : Tensor::none())),
      running_var(buffer("running_var", options.track_running_stats
                                            ? constant({channels}, 1, options)
                                            : Tensor::none())),
      momentum(how_fast) {}

Tensor BatchNorm::operator()(const Tensor& x, Mode mode) const {
  if (mode == Mode::Evaluate && running_mean.defined())
    return batch_norm(x, running_mean, running_var, affine(), eps);
  if (x.rank() < 2)
    throw ShapeError(
        fmt::format("BatchNorm: input {}: expected (n, channels, ...)", str(x.shape())));
  std::vector<int> axes = {0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  const Tensor wide = mlops::wide(x), mean = wide.mean(axes), variance = wide.var(axes, 0);
  const std::int64_t count = x.elements() / std::max<std::int64_t>(1, x.size(1));
  const double unbiased =
      static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, count - 1));
  const auto move = [&](Tensor running, const Tensor& seen) {
    // Otherwise an unread graph would grow, as in training.
    if (StateLog::current() == nullptr) realize(std::vector{running});
    running.assign((running.detach() * (1 - momentum) + seen.detach() * momentum)
                       .cast(running.dtype())
                       .contiguous());
    optim::realize_at_next_step(running);
  };
  if (running_mean.defined()) {
    move(running_mean, mean);
    move(running_var, variance * unbiased);
  }
  DType dtype = mlops::real_type(x);
  for (const auto& part : {affine().weight, affine().bias})
    if (part) dtype = promote(dtype, part->dtype());
  return batch_norm(x, mean, variance, affine(), eps).cast(dtype);
}

LayerNorm::LayerNorm(Shape over, double epsilon, const NormOptions& options)
    : Normalization(over, epsilon, options), sizes(std::move(over)) {}
Tensor LayerNorm::operator()(const Tensor& x) const {
  const auto axes = static_cast<int>(sizes.size());
  if (x.rank() < axes || !std::ranges::equal(std::span(x.shape()).last(sizes.size()), sizes))
    throw ShapeError(
        fmt::format("LayerNorm: input {}: its last sizes must be {}", str(x.shape()), str(sizes)));
  return layer_norm(x, axes, affine(), eps);
}

LayerNorm2d::LayerNorm2d(std::int64_t count, double epsilon, const NormOptions& options)
    : Normalization({count}, epsilon, options), channels(count) {}
Tensor LayerNorm2d::operator()(const Tensor& x) const {
  if (x.rank() != 4 || x.size(1) != channels)
    throw ShapeError(
        fmt::format("LayerNorm2d: input {}: expected (n, {}, h, w)", str(x.shape()), channels));
  return layer_norm(x.movedim(1, -1), 1, affine(), eps).movedim(-1, 1);
}

GroupNorm::GroupNorm(std::int64_t parts, std::int64_t channels, double epsilon,
                     const NormOptions& options)
    : Normalization({channels}, epsilon, options), groups(parts) {}
Tensor GroupNorm::operator()(const Tensor& x) const { return group_norm(x, groups, affine(), eps); }

InstanceNorm::InstanceNorm(std::int64_t channels, double epsilon, const NormOptions& options)
    : Normalization({channels}, epsilon, options) {}

RMSNorm::RMSNorm(std::int64_t size, double epsilon, const NormOptions& options)
    : weight(parameter("weight", if_affine({size}, 1, options))), eps(epsilon) {}

Embedding::Embedding(std::int64_t count, std::int64_t size, Generator& generator,
                     const TensorOptions& options)
    : weight(parameter("weight", generator.normal({count, size}, 0, 1, options))) {}

namespace {

// (n, tokens, size) -> (n, heads, tokens, size / heads)
Tensor in_heads(const Tensor& x, std::int64_t heads) {
  return x.unflatten(2, {heads, -1}).transpose(1, 2);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t size, std::int64_t parts, Generator& generator,
                                       const LayerOptions& options)
    : heads(parts),
      query(part("query", Linear(size, size, generator, options))),
      key(part("key", Linear(size, size, generator, options))),
      value(part("value", Linear(size, size, generator, options))),
      out(part("out", Linear(size, size, generator, options))) {
  if (parts < 1 || size % parts != 0)
    throw ShapeError(fmt::format(
        "MultiHeadAttention: {} heads of size {}; expected heads that divide it", parts, size));
}

Tensor MultiHeadAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionArgs& args) const {
  for (const Tensor& x : {q, k, v})
    if (x.rank() != 3)
      throw ShapeError(
          fmt::format("MultiHeadAttention: input {}: expected (n, tokens, size)", str(x.shape())));
  const Tensor mixed = scaled_dot_product_attention(
      in_heads(query(q), heads), in_heads(key(k), heads), in_heads(value(v), heads), args);
  return out(mixed.transpose(1, 2).flatten(2));
}

Tensor MultiHeadAttention::next(const Tensor& x, const sint& position, KvCache& cache) const {
  if (x.rank() != 3 || x.shape()[1] != sint(1))
    throw ShapeError(fmt::format("MultiHeadAttention: input {}: expected one token, (n, 1, size)",
                                 str(x.shape())));
  const auto with = [&](Tensor& earlier, const Tensor& one) {
    const sint context = earlier.shape()[2], after = context - position - 1;
    if (!certainly_le(0, position) || !certainly_le(0, after))
      throw ShapeError(fmt::format("MultiHeadAttention: position {} is not within a cache of {}",
                                   position.str(), str(earlier.shape())));
    const Tensor known = Tensor::cat({earlier.narrow(2, 0, position), one}, 2);
    earlier.assign(known.pad({{0, 0}, {0, 0}, {0, after}, {0, 0}}).contiguous());
    return known;
  };
  const Tensor keys = with(cache.keys, in_heads(key(x), heads)),
               values = with(cache.values, in_heads(value(x), heads));
  const Tensor mixed = scaled_dot_product_attention(in_heads(query(x), heads), keys, values);
  return out(mixed.transpose(1, 2).flatten(2));
}

Recurrent::Recurrent(std::int64_t gates, std::int64_t in, std::int64_t size, Generator& generator,
                     const LayerOptions& options)
    : hidden(size),
      weight_ih(parameter("weight_ih_l0", drawn({gates * size, in}, size, generator, options))),
      weight_hh(parameter("weight_hh_l0", drawn({gates * size, size}, size, generator, options))),
      bias_ih(parameter("bias_ih_l0", drawn_bias({gates * size}, size, generator, options))),
      bias_hh(parameter("bias_hh_l0", drawn_bias({gates * size}, size, generator, options))) {}

RecurrentResult LSTM::operator()(const Tensor& x, const std::optional<RecurrentState>& from) const {
  check_steps("LSTM", x, weight_ih);
  Tensor h = at_start(from, x, hidden);
  Tensor c = from && from->cell ? *from->cell : Tensor::zeros_like(h);
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < x.size(1); ++t) {
    const Tensor now = x.narrow(1, t, 1).squeeze(1);
    const Tensor gates =
        linear(now, weight_ih, given(bias_ih)) + linear(h, weight_hh, given(bias_hh));
    const std::vector<Tensor> part = gates.split(hidden, 1);
    c = (part[1].sigmoid() * c + part[0].sigmoid() * part[2].tanh()).contiguous();
    h = (part[3].sigmoid() * c.tanh()).contiguous();
    outputs.push_back(h);
  }
  return {Tensor::stack(outputs, 1), {h, c}};
}

RecurrentResult GRU::operator()(const Tensor& x, const std::optional<RecurrentState>& from) const {
  check_steps("GRU", x, weight_ih);
  Tensor h = at_start(from, x, hidden);
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < x.size(1); ++t) {
    const std::vector<Tensor> input =
        linear(x.narrow(1, t, 1).squeeze(1), weight_ih, given(bias_ih)).split(hidden, 1);
    const std::vector<Tensor> memory = linear(h, weight_hh, given(bias_hh)).split(hidden, 1);
    const Tensor r = (input[0] + memory[0]).sigmoid(), z = (input[1] + memory[1]).sigmoid();
    const Tensor n = (input[2] + r * memory[2]).tanh();
    h = ((1 - z) * n + z * h).contiguous();
    outputs.push_back(h);
  }
  return {Tensor::stack(outputs, 1), {h, std::nullopt}};
}

}  // namespace touchstone::nn
