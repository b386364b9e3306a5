#include "touchstone/tensor/models.h"

#include <algorithm>
#include <array>

namespace touchstone::models {
namespace {

// Draws the leaves of one graph.
class Leaves {
 public:
  explicit Leaves(const std::string& device) : device_(device) {}
  Tensor input(const Shape& shape) {
    inputs_.push_back(generator_.uniform(shape, 0, 1, {.device = device_}));
    return inputs_.back();
  }
  Tensor parameter(const Shape& shape) {
    parameters_.push_back(generator_.uniform(shape, 0, 1, {.device = device_}));
    parameters_.back().set_requires_grad();
    return parameters_.back();
  }
  ModelGraph graph(Tensor output) { return {std::move(output), inputs_, parameters_}; }

 private:
  std::string device_;
  Generator generator_{1};
  std::vector<Tensor> inputs_, parameters_;
};

// Normalises (n, channels, h, w) by the statistics of the batch or given ones, scales and shifts.
Tensor batchnorm(const Tensor& x, Leaves& leaves, bool training) {
  const Shape per_channel = {x.shape()[1]}, row = {1, x.shape()[1], 1, 1};
  const Tensor weight = leaves.parameter(per_channel), bias = leaves.parameter(per_channel);
  const auto finish = [&](const Tensor& centred, const Tensor& inverse_deviation) {
    return centred * weight.reshape(row) * inverse_deviation.reshape(row) + bias.reshape(row);
  };
  if (training) {
    const Tensor mean = x.mean({0, 2, 3});
    const Tensor centred = x - mean.reshape(row);
    return finish(centred, (centred.square().mean({0, 2, 3}) + 1e-5).rsqrt());
  }
  const Tensor mean = leaves.input(per_channel), deviation = leaves.input(per_channel);
  return finish(x - mean.reshape(row), (deviation.square() + 1e-5).rsqrt());
}

ModelGraph abc(const std::string& device, bool) {
  Leaves l(device);
  const Tensor a = l.parameter({64, 64}), b = l.parameter({64, 64}), c = l.parameter({64, 64});
  return l.graph(a * b + c);
}
ModelGraph softmax_64(const std::string& device, bool) {
  Leaves l(device);
  return l.graph(softmax(l.parameter({64, 64})));
}
ModelGraph log_softmax_64(const std::string& device, bool) {
  Leaves l(device);
  return l.graph(log_softmax(l.parameter({64, 64})));
}
ModelGraph layernorm_64(const std::string& device, bool) {
  Leaves l(device);
  return l.graph(layernorm(l.parameter({64, 64})));
}
ModelGraph matmul_64(const std::string& device, bool) {
  Leaves l(device);
  const Tensor a = l.parameter({64, 64}), b = l.parameter({64, 64});
  return l.graph(a.matmul(b));
}
ModelGraph matmul_bias_relu(const std::string& device, bool) {
  Leaves l(device);
  const Tensor a = l.parameter({64, 64}), b = l.parameter({64, 64}), bias = l.parameter({64});
  return l.graph((a.matmul(b) + bias).relu());
}

ModelGraph lenet(const std::string& device, bool) {
  Leaves l(device);
  Tensor x = l.input({4, 1, 28, 28});
  const auto conv = [&](const Tensor& in, std::int64_t out, std::int64_t padding) {
    const Tensor weight = l.parameter({out, in.shape()[1], 5, 5}), bias = l.parameter({out});
    return max_pool2d(conv2d(in, weight, bias, {.padding = {padding, padding}}).relu(), {2, 2});
  };
  const auto dense = [&](const Tensor& in, std::int64_t out) {
    const Tensor weight = l.parameter({out, in.shape()[1]}), bias = l.parameter({out});
    return linear(in, weight, bias);
  };
  x = conv(conv(x, 6, 2), 16, 0).reshape({4, 400});
  return l.graph(dense(dense(dense(x, 120).relu(), 84).relu(), 10));
}

Tensor conv_bn(const Tensor& x, Leaves& l, bool training) {
  const sint channels = x.shape()[1];
  const Tensor weight = l.parameter({channels, channels, 3, 3});
  return batchnorm(conv2d(x, weight, std::nullopt, {.padding = {1, 1}}), l, training);
}
ModelGraph conv_bn_relu(const std::string& device, bool training) {
  Leaves l(device);
  return l.graph(conv_bn(l.input({4, 64, 14, 14}), l, training).relu());
}
ModelGraph resnet_block(const std::string& device, bool training) {
  Leaves l(device);
  const Tensor x = l.input({4, 64, 14, 14});
  const Tensor inner = conv_bn(x, l, training).relu();
  return l.graph((conv_bn(inner, l, training) + x).relu());
}

ModelGraph transformer_block(const std::string& device, bool) {
  Leaves l(device);
  const Tensor x = l.input({2, 16, 64});
  const auto dense = [&](const Tensor& in, std::int64_t from, std::int64_t to) {
    const Tensor weight = l.parameter({to, from}), bias = l.parameter({to});
    return linear(in, weight, bias);
  };
  const auto norm = [&](const Tensor& in) {
    const Tensor weight = l.parameter({64}), bias = l.parameter({64});
    return layernorm(in) * weight + bias;
  };
  const auto heads = [](const Tensor& in) {
    return in.reshape({2, 16, 4, 16}).permute({0, 2, 1, 3});
  };
  const Tensor normed = norm(x);
  const Tensor q = heads(dense(normed, 64, 64)), k = heads(dense(normed, 64, 64)),
               v = heads(dense(normed, 64, 64));
  const Tensor mixed = softmax(q.matmul(k.transpose()) * 0.25).matmul(v);
  const Tensor attended = x + dense(mixed.permute({0, 2, 1, 3}).reshape({2, 16, 64}), 64, 64);
  const Tensor hidden = dense(norm(attended), 64, 256).gelu();
  return l.graph(attended + dense(hidden, 256, 64));
}

// Adds a network's parameters.
ModelGraph network(Leaves& l, const Tensor& output, const nn::Module& module) {
  ModelGraph graph = l.graph(output);
  graph.parameters = module.parameters();
  return graph;
}

ModelGraph digits(const std::string& device, bool) {
  Leaves l(device);
  Generator generator(2);
  const DigitsNet net(generator, device);
  return network(l, net(l.input({32, 1, 8, 8})), net);
}
ModelGraph mlp(const std::string& device, bool) {
  Leaves l(device);
  Generator generator(2);
  const Mlp net({64, 128, 128, 10}, generator, {.device = device});
  return network(l, net(l.input({32, 64})), net);
}
ModelGraph lstm(const std::string& device, bool) {
  Leaves l(device);
  Generator generator(2);
  const nn::LSTM net(8, 16, generator, {.device = device});
  return network(l, net(l.input({4, 6, 8})).outputs, net);
}
ModelGraph resnet18(const std::string& device, bool training) {
  Leaves l(device);
  Generator generator(2);
  const ResNet18 net(3, 8, 10, generator, {.device = device});
  ModelGraph graph = network(
      l, net(l.input({2, 3, 16, 16}), training ? nn::Mode::Train : nn::Mode::Evaluate), net);
  if (!training)  // in training, the running statistics are results
    for (const nn::NamedTensor& entry : net.state())
      if (!entry.tensor.requires_grad()) graph.inputs.push_back(entry.tensor);
  return graph;
}
ModelGraph gpt(const std::string& device, bool) {
  Leaves l(device);
  Generator generator(2);
  const Gpt net({.vocabulary = 32, .context = 16, .width = 32, .heads = 4, .layers = 2}, generator,
                {.device = device});
  const Tensor tokens = generator.randint({2, 16}, 0, 32, {DType::Int32, device});
  return network(l, net(tokens), net);
}

constexpr std::array<Model, 15> kModels = {{
    {"abc", "a*b + c, 64 x 64", abc},
    {"softmax", "64 x 64, over rows", softmax_64},
    {"log-softmax", "64 x 64, over rows", log_softmax_64},
    {"layernorm", "64 x 64, over rows", layernorm_64},
    {"matmul", "64 x 64 x 64", matmul_64},
    {"matmul-bias-relu", "64 x 64 x 64", matmul_bias_relu},
    {"lenet", "2 convolutions, 3 linear layers, batch 4", lenet},
    {"conv-bn-relu", "3 x 3, 64 channels, 14 x 14, batch 4", conv_bn_relu},
    {"resnet-block", "two conv-bn with a residual", resnet_block},
    {"transformer-block", "16 tokens of 64, 4 heads, batch 2", transformer_block},
    {"digits", "2 convolutions, 1 linear layer, 8 x 8 images, batch 32", digits},
    {"mlp", "3 linear layers, 64 to 128 to 128 to 10, batch 32", mlp},
    {"lstm", "6 steps of 8 into 16, batch 4", lstm},
    {"resnet18", "8 blocks from 8 channels on, 16 x 16 images, batch 2", resnet18},
    {"gpt", "2 layers of 32, 4 heads, 16 tokens of 32, batch 2", gpt},
}};

int kernels(const std::vector<LazyBufferPtr>& outputs) {
  const std::vector<ScheduleItem> items = schedule(outputs);
  return static_cast<int>(
      std::ranges::count_if(items, [](const auto& item) { return item.kind == Op::Store; }));
}

}  // namespace

std::vector<Tensor> ModelGraph::leaves() const {
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), parameters.begin(), parameters.end());
  return all;
}

Tensor ModelGraph::loss() const { return output.square().mean(); }

std::vector<LazyBufferPtr> ModelGraph::results(bool gradients) const {
  if (!gradients) return {output.lazy()};
  const Tensor loss = this->loss();
  loss.backward();
  std::vector<LazyBufferPtr> all{loss.lazy()};
  for (const Tensor& p : parameters) all.push_back(p.grad().value().lazy());
  return all;
}

std::span<const Model> models() { return kModels; }

const Model& model(std::string_view name) {
  std::string known;
  for (const Model& m : kModels) {
    if (m.name == name) return m;
    known += (known.empty() ? "" : ", ") + std::string(m.name);
  }
  throw Error(fmt::format("there is no model '{}' (known: {})", name, known));
}

KernelCount count_kernels(const Model& model, const std::string& device) {
  const auto count = [&](bool gradients) {
    const ModelGraph graph = model.build(device, gradients);
    realize(graph.leaves());
    return kernels(graph.results(gradients));
  };
  return {count(false), count(true)};
}

}  // namespace touchstone::models
