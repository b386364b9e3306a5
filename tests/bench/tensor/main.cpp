// Typical tensor programs: layers, a training step, text. Prints a table of two ways each,
// alternating on CLANG. usage: tensor_bench
#include <algorithm>
#include <chrono>
#include <functional>

#include <fmt/format.h>

#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone {
namespace {

using Clock = std::chrono::steady_clock;
using Way = std::function<void()>;

const TensorOptions kOptions{.device = "CLANG"};

double seconds_of(const Way& way) {
  const auto start = Clock::now();
  way();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Compares the best times of alternating runs.
void compare(std::string_view name, std::string_view first, const Way& a, std::string_view second,
             const Way& b, int turns = 15) {
  for (int i = 0; i < 3; ++i) {  // compiled, captured
    a();
    b();
  }
  double best_a = seconds_of(a), best_b = seconds_of(b);
  for (int i = 0; i < turns; ++i) {
    best_a = std::min(best_a, seconds_of(a));
    best_b = std::min(best_b, seconds_of(b));
  }
  fmt::print("| {} | {}: {:.3g} ms | {}: {:.3g} ms | {:.2f} |\n", name, first, best_a * 1e3, second,
             best_b * 1e3, best_a / best_b);
}

Tensor drawn(Generator& generator, const Shape& shape) {
  Tensor t = generator.uniform(shape, -1, 1, kOptions);
  t.realize();
  return t;
}

void linear_layers(Generator& generator) {
  for (const auto& [m, k, n] : {std::array{512, 512, 512}, {32, 784, 128}, {64, 512, 2048}}) {
    const Tensor x = drawn(generator, {m, k}), w = drawn(generator, {n, k}),
                 turned = drawn(generator, {k, n});
    compare(
        fmt::format("{} x {} by {}", m, k, n), "linear", [&] { linear(x, w).realize(); }, "matmul",
        [&] { x.matmul(turned).realize(); });
  }
}

void embeddings(Generator& generator) {
  const nn::Embedding embedding(10000, 64, generator, kOptions);
  const Tensor ids = generator.randint({512}, 0, 10000, {DType::Int32, "CLANG"}).realize();
  const Tensor whole = embedding.weight.detach().realize();
  compare(
      "512 tokens of an Embedding(10000, 64)", "looked up", [&] { embedding(ids).realize(); },
      "copy of the table", [&] { (whole + 0.0F).realize(); });
}

// A convolution, BatchNorm in training, and a linear layer.
void training(Generator& generator) {
  struct Net {
    explicit Net(Generator& g)
        : conv(1, 8, {3, 3}, g, {.padding = {1, 1}}, kOptions),
          norm(8, 0.1, 1e-5, kOptions),
          out(512, 10, g, kOptions) {}
    Tensor operator()(const Tensor& x) const {
      return out(norm(conv(x), nn::Mode::Train).relu().flatten(1));
    }
    nn::Conv2d conv;
    nn::BatchNorm norm;
    nn::Linear out;
  };
  const auto step_of = [&](const Net& net, optim::SGD& sgd) {
    return [&](std::span<const Tensor> in) {
      sgd.zero_grad();
      const Tensor loss = cross_entropy(net(in[0]), in[1]);
      loss.backward();
      sgd.step({loss});
      return TensorJit::Tensors{loss};
    };
  };
  const Tensor images = drawn(generator, {32, 1, 8, 8}),
               labels = generator.randint({32}, 0, 10, {DType::Int32, "CLANG"}).realize();
  const std::vector<Tensor> batch{images, labels};
  const auto leaves = [](const Net& n) {
    return std::vector{n.conv.weight, n.conv.bias,  n.norm.weight,
                       n.norm.bias,   n.out.weight, n.out.bias};
  };
  const Net noted(generator), plain(generator);
  optim::SGD noted_sgd(leaves(noted), 0.01), plain_sgd(leaves(plain), 0.01);
  TensorJit jit(step_of(noted, noted_sgd));
  const auto step = step_of(plain, plain_sgd);
  compare(
      "a training step with BatchNorm, 32 images", "jitted", [&] { jit(batch); }, "not",
      [&] { step(batch)[0].realize(); });
}

void text(Generator& generator) {
  const models::Gpt gpt({64, 64, 64, 4, 4}, generator, kOptions);
  models::GptWriter writer(gpt);
  models::Gpt::Cache cache = gpt.cache(1);
  const Tensor token = Tensor::from<std::int64_t>({1}, {1, 1}, "CLANG");
  compare(
      "a token of a Gpt of 4 layers, 64 wide, 32 behind the first", "jitted",
      [&] { writer({1}, 32); }, "all kernels scheduled anew",
      [&] {
        for (std::int64_t at = 0; at < 32; ++at) gpt.next(token, at, cache).realize();
      },
      3);
}

}  // namespace
}  // namespace touchstone

int main() {
  using namespace touchstone;
  register_interpreted_device();
  register_clang_device();
  Generator generator(1);
  fmt::print("| work | | | ratio |\n|---|---|---|---|\n");
  linear_layers(generator);
  embeddings(generator);
  training(generator);
  text(generator);
}
