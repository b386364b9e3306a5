#include "touchstone/tensor/nn.h"

#include <cmath>

#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone::nn {
namespace {

Tensor drawn(const Shape& shape, std::int64_t inputs, Generator& generator,
             const TensorOptions& options) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  Tensor values = generator.uniform(shape, -bound, bound, options).contiguous();
  return values.set_requires_grad();
}

Tensor constant(const Shape& shape, double value, const TensorOptions& options) {
  return Tensor::full(shape, value, options).contiguous();
}
Tensor learned(const Shape& shape, double value, const TensorOptions& options) {
  return constant(shape, value, options).set_requires_grad();
}

// Channels that one output of a grouped convolution sees.
std::int64_t per_group(std::int64_t in, std::int64_t out, std::int64_t groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    throw ShapeError(
        fmt::format("convolution: {} channels to {} in {} groups; want groups that divide both", in,
                    out, groups));
  return in / groups;
}

void append(StateDict& all, const std::string& prefix, const Module& module) {
  for (NamedTensor& entry : prefixed(prefix, module.state())) all.push_back(std::move(entry));
}

void check_steps(const char* who, const Tensor& x, const Tensor& weight_ih) {
  if (x.rank() != 3 || x.size(1) < 1 || x.size(2) != weight_ih.size(1))
    throw ShapeError(fmt::format(
        "{}: input {}: want (n, steps, {}) with a step or more; unsqueeze or transpose it", who,
        str(x.shape()), weight_ih.size(1)));
}

Tensor at_start(const std::optional<RecurrentState>& from, const Tensor& x, std::int64_t hidden) {
  return from ? from->hidden : Tensor::zeros({x.size(0), hidden}, {x.dtype(), x.device()});
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Generator& generator,
               const TensorOptions& options)
    : weight(drawn({out, in}, in, generator, options)),
      bias(drawn({out}, in, generator, options)) {}

Conv1d::Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, Generator& generator,
               ConvArgs window, const TensorOptions& options)
    : weight(drawn({out, per_group(in, out, window.groups), kernel},
                   per_group(in, out, window.groups) * kernel, generator, options)),
      bias(drawn({out}, per_group(in, out, window.groups) * kernel, generator, options)),
      args(std::move(window)) {}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, std::array<std::int64_t, 2> kernel,
               Generator& generator, WindowArgs window, const TensorOptions& options)
    : weight(drawn({out, per_group(in, out, window.groups), kernel[0], kernel[1]},
                   per_group(in, out, window.groups) * kernel[0] * kernel[1], generator, options)),
      bias(drawn({out}, per_group(in, out, window.groups) * kernel[0] * kernel[1], generator,
                 options)),
      args(window) {}

BatchNorm::BatchNorm(std::int64_t channels, double how_fast, double epsilon,
                     const TensorOptions& options)
    : weight(learned({channels}, 1, options)),
      bias(learned({channels}, 0, options)),
      running_mean(constant({channels}, 0, options)),
      running_var(constant({channels}, 1, options)),
      momentum(how_fast),
      eps(epsilon) {}

Tensor BatchNorm::operator()(const Tensor& x, Mode mode) const {
  if (mode == Mode::Evaluate) return batch_norm(x, running_mean, running_var, {weight, bias}, eps);
  if (x.rank() < 2)
    throw ShapeError(fmt::format("BatchNorm: input {}: want (n, channels, ...)", str(x.shape())));
  std::vector<int> axes = {0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  const Tensor mean = x.mean(axes), variance = x.var(axes, 0);
  const std::int64_t count = x.elements() / std::max<std::int64_t>(1, x.size(1));
  const double unbiased =
      static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, count - 1));
  const auto move = [&](Tensor running, const Tensor& seen) {
    // Else a graph would grow where nobody reads them, as while training.
    if (StateLog::current() == nullptr) realize(std::vector{running});
    running.assign((running.detach() * (1 - momentum) + seen.detach() * momentum).contiguous());
    optim::realize_at_next_step(running);
  };
  move(running_mean, mean);
  move(running_var, variance * unbiased);
  return batch_norm(x, mean, variance, {weight, bias}, eps);
}

StateDict BatchNorm::state() const {
  return {{"weight", weight},
          {"bias", bias},
          {"running_mean", running_mean},
          {"running_var", running_var}};
}

LayerNorm::LayerNorm(const Shape& sizes, double epsilon, const TensorOptions& options)
    : weight(learned(sizes, 1, options)), bias(learned(sizes, 0, options)), eps(epsilon) {}
Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, weight.rank(), {weight, bias}, eps);
}

GroupNorm::GroupNorm(std::int64_t parts, std::int64_t channels, double epsilon,
                     const TensorOptions& options)
    : groups(parts),
      weight(learned({channels}, 1, options)),
      bias(learned({channels}, 0, options)),
      eps(epsilon) {}
Tensor GroupNorm::operator()(const Tensor& x) const {
  return group_norm(x, groups, {weight, bias}, eps);
}

RMSNorm::RMSNorm(std::int64_t size, double epsilon, const TensorOptions& options)
    : weight(learned({size}, 1, options)), eps(epsilon) {}

Embedding::Embedding(std::int64_t count, std::int64_t size, Generator& generator,
                     const TensorOptions& options)
    : weight(generator.normal({count, size}, 0, 1, options).set_requires_grad()) {}

namespace {

// (n, tokens, size) -> (n, heads, tokens, size / heads)
Tensor in_heads(const Tensor& x, std::int64_t heads) {
  return x.unflatten(2, {heads, -1}).transpose(1, 2);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t size, std::int64_t parts, Generator& generator,
                                       const TensorOptions& options)
    : heads(parts),
      query(size, size, generator, options),
      key(size, size, generator, options),
      value(size, size, generator, options),
      out(size, size, generator, options) {
  if (parts < 1 || size % parts != 0)
    throw ShapeError(fmt::format(
        "MultiHeadAttention: {} heads of size {}; want heads that divide it", parts, size));
}

Tensor MultiHeadAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionArgs& args) const {
  for (const Tensor& x : {q, k, v})
    if (x.rank() != 3)
      throw ShapeError(
          fmt::format("MultiHeadAttention: input {}: want (n, tokens, size)", str(x.shape())));
  const Tensor mixed = scaled_dot_product_attention(
      in_heads(query(q), heads), in_heads(key(k), heads), in_heads(value(v), heads), args);
  return out(mixed.transpose(1, 2).flatten(2));
}

Tensor MultiHeadAttention::next(const Tensor& x, const sint& position, KvCache& cache) const {
  if (x.rank() != 3 || x.shape()[1] != sint(1))
    throw ShapeError(
        fmt::format("MultiHeadAttention: input {}: want one token, (n, 1, size)", str(x.shape())));
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

StateDict MultiHeadAttention::state() const {
  StateDict all;
  append(all, "query", query);
  append(all, "key", key);
  append(all, "value", value);
  append(all, "out", out);
  return all;
}

LSTM::LSTM(std::int64_t in, std::int64_t size, Generator& generator, const TensorOptions& options)
    : hidden(size),
      weight_ih(drawn({4 * size, in}, size, generator, options)),
      weight_hh(drawn({4 * size, size}, size, generator, options)),
      bias_ih(drawn({4 * size}, size, generator, options)),
      bias_hh(drawn({4 * size}, size, generator, options)) {}

RecurrentResult LSTM::operator()(const Tensor& x, const std::optional<RecurrentState>& from) const {
  check_steps("LSTM", x, weight_ih);
  Tensor h = at_start(from, x, hidden);
  Tensor c = from && from->cell ? *from->cell : Tensor::zeros_like(h);
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < x.size(1); ++t) {
    const Tensor now = x.narrow(1, t, 1).squeeze(1);
    const Tensor gates = linear(now, weight_ih, bias_ih) + linear(h, weight_hh, bias_hh);
    const std::vector<Tensor> part = gates.split(hidden, 1);
    c = (part[1].sigmoid() * c + part[0].sigmoid() * part[2].tanh()).contiguous();
    h = (part[3].sigmoid() * c.tanh()).contiguous();
    outputs.push_back(h);
  }
  return {Tensor::stack(outputs, 1), {h, c}};
}

GRU::GRU(std::int64_t in, std::int64_t size, Generator& generator, const TensorOptions& options)
    : hidden(size),
      weight_ih(drawn({3 * size, in}, size, generator, options)),
      weight_hh(drawn({3 * size, size}, size, generator, options)),
      bias_ih(drawn({3 * size}, size, generator, options)),
      bias_hh(drawn({3 * size}, size, generator, options)) {}

RecurrentResult GRU::operator()(const Tensor& x, const std::optional<RecurrentState>& from) const {
  check_steps("GRU", x, weight_ih);
  Tensor h = at_start(from, x, hidden);
  std::vector<Tensor> outputs;
  for (std::int64_t t = 0; t < x.size(1); ++t) {
    const std::vector<Tensor> input =
        linear(x.narrow(1, t, 1).squeeze(1), weight_ih, bias_ih).split(hidden, 1);
    const std::vector<Tensor> memory = linear(h, weight_hh, bias_hh).split(hidden, 1);
    const Tensor r = (input[0] + memory[0]).sigmoid(), z = (input[1] + memory[1]).sigmoid();
    const Tensor n = (input[2] + r * memory[2]).tanh();
    h = ((1 - z) * n + z * h).contiguous();
    outputs.push_back(h);
  }
  return {Tensor::stack(outputs, 1), {h, std::nullopt}};
}

namespace {

StateDict recurrent_state(const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih,
                          const Tensor& bias_hh) {
  return {{"weight_ih_l0", weight_ih},
          {"weight_hh_l0", weight_hh},
          {"bias_ih_l0", bias_ih},
          {"bias_hh_l0", bias_hh}};
}

}  // namespace

StateDict LSTM::state() const { return recurrent_state(weight_ih, weight_hh, bias_ih, bias_hh); }
StateDict GRU::state() const { return recurrent_state(weight_ih, weight_hh, bias_ih, bias_hh); }

}  // namespace touchstone::nn
