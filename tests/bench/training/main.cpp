// Whole networks: a training step (forward, backward, SGD) and inference alone, captured once and
// replayed on CLANG. Prints JSON: milliseconds by name, the best of some runs.
// usage: training_bench [SECONDS of each]
#include <chrono>
#include <cstdlib>
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
using Inputs = std::span<const Tensor>;

const TensorOptions kOptions{.device = "CLANG"};

double best_ms(const std::function<void()>& run, double seconds) {
  for (int i = 0; i < 3; ++i) run();  // compiled, captured
  double best = 0;
  const auto begin = Clock::now();
  for (auto from = begin; std::chrono::duration<double>(from - begin).count() < seconds;) {
    run();
    const auto to = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(to - from).count();
    best = best == 0 ? ms : std::min(best, ms);
    from = to;
  }
  return best;
}

struct Network {
  std::string name;
  std::vector<Tensor> parameters;
  std::vector<Tensor> batch;                                     // inputs, labels
  std::function<Tensor(const Tensor& x, nn::Mode mode)> logits;  // (labels, classes)
};

void time_of(const Network& n, double seconds) {
  optim::SGD sgd(n.parameters, 1e-3);
  TensorJit step([&](Inputs in) {
    sgd.zero_grad();
    const Tensor loss = cross_entropy(n.logits(in[0], nn::Mode::Train), in[1]);
    loss.backward();
    sgd.step({loss});
    return TensorJit::Tensors{loss};
  });
  TensorJit answer([&](const Tensor& x) { return n.logits(x, nn::Mode::Evaluate).detach(); });
  const double a = best_ms([&] { step(n.batch); }, seconds);
  const double b = best_ms([&] { answer(n.batch[0]); }, seconds);
  fmt::print("{{\"name\": \"{}\", \"step\": {:.4f}, \"answer\": {:.4f}}}\n", n.name, a, b);
}

void all(double seconds) {
  Generator g(1);
  const auto drawn = [&](const Shape& shape) {
    return g.uniform(shape, -1, 1, kOptions).realize();
  };
  const auto labels = [&](std::int64_t n, std::int64_t most) {
    return g.randint({n}, 0, most, {DType::Int32, "CLANG"}).realize();
  };
  const models::DigitsNet digits(g, "CLANG");
  time_of({"digits, 32 images",
           digits.parameters(),
           {drawn({32, 1, 8, 8}), labels(32, 10)},
           [&](const Tensor& x, nn::Mode) { return digits(x); }},
          seconds);
  const models::ResNet18 resnet(3, 16, 10, g, kOptions);
  time_of({"ResNet-18, 16 wide, 16 images of 32 x 32",
           resnet.parameters(),
           {drawn({16, 3, 32, 32}), labels(16, 10)},
           [&](const Tensor& x, nn::Mode mode) { return resnet(x, mode); }},
          seconds);
  const models::Gpt gpt({.vocabulary = 64, .context = 64, .width = 128, .heads = 4, .layers = 4}, g,
                        kOptions);
  const Tensor tokens = g.randint({8, 64}, 0, 64, {DType::Int32, "CLANG"}).realize();
  time_of({"GPT, 4 layers of 128, 8 x 64 tokens",
           gpt.parameters(),
           {tokens, labels(512, 64)},
           [&](const Tensor& x, nn::Mode) {
             return gpt(x).reshape({512, 64});
           }},
          seconds);
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  using namespace touchstone;
  register_interpreted_device();
  register_clang_device();
  all(argc > 1 ? std::atof(argv[1]) : 2);
}
