#include "touchstone/tensor/networks.h"

#include <algorithm>
#include <cmath>

namespace touchstone::models {
Mlp::Mlp(const std::vector<std::int64_t>& sizes, Generator& generator,
         const TensorOptions& options) {
  if (sizes.size() < 2)
    throw ShapeError(fmt::format(
        "Mlp: {} sizes; expected those of the input and the output at least", sizes.size()));
  for (std::size_t i = 1; i < sizes.size(); ++i)
    layers_.push_back(part(fmt::format("layers.{}", i - 1),
                           nn::Linear(sizes[i - 1], sizes[i], generator, options)));
}

Tensor Mlp::operator()(const Tensor& x) const {
  Tensor out = layers_[0](x);
  for (std::size_t i = 1; i < layers_.size(); ++i) out = layers_[i](out.relu());
  return out;
}

DigitsNet::DigitsNet(Generator& generator, const std::string& device)
    : first_(part("first",
                  nn::Conv2d(1, 16, {3, 3}, generator, {.padding = {1, 1}}, {.device = device}))),
      second_(part("second",
                   nn::Conv2d(16, 32, {3, 3}, generator, {.padding = {1, 1}}, {.device = device}))),
      out_(part("out", nn::Linear(128, 10, generator, {.device = device}))) {}

Tensor DigitsNet::operator()(const Tensor& images) const {
  const Tensor small = max_pool2d(first_(images).relu(), {2, 2});
  return out_(max_pool2d(second_(small).relu(), {2, 2}).flatten(1));
}

ResNet18::Normed::Normed(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t step,
                         Generator& generator, const TensorOptions& options)
    : weight(parameter("weight", generator.kaiming_normal({out, in, kernel, kernel}, options))),
      stride(step),
      norm(part("norm", nn::BatchNorm(out, 0.1, 1e-5, options))) {}

Tensor ResNet18::Normed::operator()(const Tensor& x, nn::Mode mode) const {
  const std::int64_t padding = weight.size(2) / 2;
  return norm(
      conv2d(x, weight, std::nullopt, {.stride = {stride, stride}, .padding = {padding, padding}}),
      mode);
}

ResNet18::Block::Block(std::int64_t in, std::int64_t out, std::int64_t stride, Generator& generator,
                       const TensorOptions& options)
    : first(part("first", Normed(in, out, 3, stride, generator, options))),
      second(part("second", Normed(out, out, 3, 1, generator, options))) {
  if (in != out) shortcut = part("shortcut", Normed(in, out, 1, stride, generator, options));
}

Tensor ResNet18::Block::operator()(const Tensor& x, nn::Mode mode) const {
  const Tensor inner = second(first(x, mode).relu(), mode);
  return (inner + (shortcut ? (*shortcut)(x, mode) : x)).relu();
}

ResNet18::ResNet18(std::int64_t channels, std::int64_t width, std::int64_t classes,
                   Generator& generator, const TensorOptions& options)
    : stem_(part("stem", Normed(channels, width, 3, 1, generator, options))),
      out_(8 * width, classes, generator, options) {
  std::int64_t in = width;
  for (std::int64_t stage = 0; stage < 4; ++stage)
    for (std::int64_t i = 0; i < 2; ++i) {
      const std::int64_t out = width << stage, stride = stage > 0 && i == 0 ? 2 : 1;
      blocks_.push_back(part(fmt::format("blocks.{}", blocks_.size()),
                             Block(in, out, stride, generator, options)));
      in = out;
    }
  part("out", out_);
}

Tensor ResNet18::operator()(const Tensor& images, nn::Mode mode) const {
  Tensor x = stem_(images, mode).relu();
  for (const Block& block : blocks_) x = block(x, mode);
  return out_(x.mean({2, 3}));
}

Gpt::Layer::Layer(const GptSizes& sizes, Generator& generator, const TensorOptions& options)
    : before_attention(part("before_attention", nn::LayerNorm({sizes.width}, 1e-5, options))),
      attention(
          part("attention", nn::MultiHeadAttention(sizes.width, sizes.heads, generator, options))),
      before_mlp(part("before_mlp", nn::LayerNorm({sizes.width}, 1e-5, options))),
      widen(part("widen", nn::Linear(sizes.width, 4 * sizes.width, generator, options))),
      narrow(part("narrow", nn::Linear(4 * sizes.width, sizes.width, generator, options))) {}

Gpt::Gpt(const GptSizes& sizes, Generator& generator, const TensorOptions& options)
    : sizes_(sizes),
      tokens_(part("tokens", nn::Embedding(sizes.vocabulary, sizes.width, generator, options))),
      positions_(part("positions", nn::Embedding(sizes.context, sizes.width, generator, options))),
      last_({sizes.width}, 1e-5, options) {
  const auto smaller = [](Tensor weight) { weight.assign((weight.detach() * 0.02).contiguous()); };
  smaller(tokens_.weight);
  smaller(positions_.weight);
  for (std::int64_t i = 0; i < sizes.layers; ++i)
    layers_.push_back(part(fmt::format("layers.{}", i), Layer(sizes, generator, options)));
  part("last", last_);
}

Tensor Gpt::operator()(const Tensor& tokens) const {
  if (tokens.rank() != 2 || tokens.size(1) > sizes_.context)
    throw ShapeError(
        fmt::format("Gpt: tokens {}: expected (n, tokens) with at most {} tokens; cut them",
                    str(tokens.shape()), sizes_.context));
  Tensor x = tokens_(tokens) + positions_.weight.narrow(0, 0, tokens.size(1));
  for (const Layer& layer : layers_) {
    const Tensor normed = layer.before_attention(x);
    x = x + layer.attention(normed, normed, normed, {.causal = true});
    x = x + layer.narrow(layer.widen(layer.before_mlp(x)).gelu());
  }
  return linear(last_(x), tokens_.weight);
}

Gpt::Cache Gpt::cache(std::int64_t n) const {
  const Tensor& like = tokens_.weight;
  const Shape shape{n, sizes_.heads, sizes_.context, sizes_.width / sizes_.heads};
  const auto empty = [&] {
    return Tensor::zeros(shape, {like.dtype(), like.device()}).contiguous();
  };
  Cache all;
  for (std::int64_t i = 0; i < sizes_.layers; ++i) all.push_back({empty(), empty()});
  return all;
}

Tensor Gpt::next(const Tensor& tokens, const sint& position, Cache& cache) const {
  if (tokens.rank() != 2 || tokens.shape()[1] != sint(1) || cache.size() != layers_.size())
    throw ShapeError(
        fmt::format("Gpt: tokens {} with a cache of {} layers: expected (n, 1), and {} layers",
                    str(tokens.shape()), cache.size(), layers_.size()));
  Tensor x = tokens_(tokens) + positions_.weight.narrow(0, position, 1);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    x = x + layer.attention.next(layer.before_attention(x), position, cache[i]);
    x = x + layer.narrow(layer.widen(layer.before_mlp(x)).gelu());
  }
  return linear(last_(x), tokens_.weight).squeeze(1);
}

GptWriter::GptWriter(const Gpt& net)
    : net_(net), cache_(net.cache(1)), step_([this](const Tensor& token) {
        const symbolic::Node at = symbolic::variable("position", 0, net_.sizes().context - 1);
        return net_.next(token, at, cache_).cast(DType::Float32);
      }) {}

std::vector<float> GptWriter::logits_of(std::int64_t token, std::int64_t position) {
  const Tensor given = Tensor::from<std::int64_t>({token}, {1, 1}, net_.device());
  return step_(given, {{"position", position}}).read<float>();
}

std::vector<std::int64_t> GptWriter::operator()(std::vector<std::int64_t> prompt,
                                                std::int64_t count, const Choose& choose) {
  const auto most = net_.sizes().context;
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (prompt.empty() || count < 0 || count > most - length)
    throw ShapeError(
        fmt::format("GptWriter: {} tokens behind a prompt of {}: expected a prompt, and {} tokens "
                    "together at most",
                    count, length, most));
  const auto end = static_cast<std::size_t>(length + count);
  for (std::size_t at = 0; at + 1 < end; ++at) {
    if (prompt[at] < 0 || prompt[at] >= net_.sizes().vocabulary)
      throw ShapeError(fmt::format("GptWriter: token {} is {}, the vocabulary has {}", at,
                                   prompt[at], net_.sizes().vocabulary));
    const std::vector<float> logits = logits_of(prompt[at], static_cast<std::int64_t>(at));
    if (at + 1 < prompt.size()) continue;
    prompt.push_back(choose ? choose(logits) : std::ranges::max_element(logits) - logits.begin());
  }
  return prompt;
}

}  // namespace touchstone::models
