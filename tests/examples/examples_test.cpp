// The networks of touchstone/tensor/networks.h on handwritten digits (cli/data): how to build, feed
// and train each, and that it learns.
#include <gtest/gtest.h>

#include <charconv>
#include <memory>
#include <unordered_set>

#include <zlib.h>

#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone {
namespace {

struct Digits {
  std::vector<float> pixels;         // 64 per image, row-major, 0 to 16
  std::vector<std::int32_t> labels;  // 0 to 9
};

// The first `count` images of the file; a line is 64 pixels and the label.
Digits read_digits(int count) {
  Digits digits;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(TOUCHSTONE_DIGITS, "rb"), gzclose);
  char line[512];
  while (count-- > 0 && file != nullptr && gzgets(file.get(), line, sizeof line) != nullptr) {
    const char* at = line;
    for (int column = 0; column <= 64; ++column) {
      int value = 0;
      at = std::from_chars(at, line + sizeof line, value).ptr + 1;
      if (column < 64)
        digits.pixels.push_back(static_cast<float>(value));
      else
        digits.labels.push_back(value);
    }
  }
  return digits;
}

struct Batch {
  Tensor images;  // (n, 1, 8, 8), 0 to 1
  Tensor labels;  // (n)
};

Batch batch(int count, const std::string& device = "CPU") {
  const Digits digits = read_digits(count);
  return {(Tensor::from(digits.pixels, {count, 1, 8, 8}, device) / 16.0).realize(),
          Tensor::from(digits.labels, {count}, device)};
}

float accuracy(const Tensor& logits, const Tensor& labels) {
  return (logits.argmax(1) == labels).cast(DType::Float32).mean().item<float>();
}

// Takes `steps` steps on one batch; returns the first loss and the last.
template <class Loss>
std::pair<float, float> train(optim::Optimizer& optimizer, int steps, Loss&& loss_of) {
  float first = 0, last = 0;
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    const Tensor loss = loss_of();
    loss.backward();
    optimizer.step({loss});
    last = loss.template item<float>();
    if (i == 0) first = last;
  }
  return {first, last};
}

// Judges each kernel the first time it runs.
class Judging final : public ExecutionObserver {
 public:
  void ran(const ScheduleItem& item, Device&, std::span<Buffer* const> buffers, double) override {
    if (item.kind != Op::Store || !seen_.insert(item.ast).second) return;
    const Verdict verdict = judge(item.ast, buffers, *buffers[0]);
    EXPECT_NE(verdict.outcome, Outcome::Fail) << str(item.ast) << verdict.str();
    EXPECT_NE(verdict.outcome, Outcome::Unusable) << str(item.ast) << verdict.str();
  }
  std::size_t kernels() const { return seen_.size(); }

 private:
  std::unordered_set<LazyOpPtr, LazyOpHash, LazyOpSame> seen_;
};

class Examples : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_interpreted_device();
    register_clang_device();
  }
};

TEST_F(Examples, AnMlpLearnsDigitsAndEveryKernelItTakesIsRight) {
  Judging judging;
  const ObserverScope watching(judging);
  const Batch digits = batch(50, "CLANG");
  Generator generator(7);
  const models::Mlp net({64, 32, 10}, generator, {.device = "CLANG"});
  optim::AdamW adam(net.parameters(), 0.02);
  const Tensor rows = digits.images.flatten(1);
  const auto [first, last] =
      train(adam, 25, [&] { return cross_entropy(net(rows), digits.labels); });
  EXPECT_GT(first, 2.0F);
  EXPECT_LT(last, 0.2F);
  EXPECT_GT(accuracy(net(rows), digits.labels), 0.95F);
  EXPECT_GT(judging.kernels(), 10u);
}

TEST_F(Examples, TheConvolutionalNetLearnsDigits) {
  const Batch digits = batch(8);
  Generator generator(7);
  const models::DigitsNet net(generator);
  optim::Adam adam(net.parameters(), 0.01);
  const auto [first, last] =
      train(adam, 8, [&] { return cross_entropy(net(digits.images), digits.labels); });
  EXPECT_GT(first, 1.5F);
  EXPECT_LT(last, first / 2);
}

TEST_F(Examples, AResNet18OfFewChannelsLearnsDigits) {
  const Batch digits = batch(4);
  Generator generator(7);
  const models::ResNet18 net(1, 2, 10, generator);
  optim::SGD sgd(net.parameters(), 0.05, 0.9);
  const auto [first, last] = train(
      sgd, 4, [&] { return cross_entropy(net(digits.images, nn::Mode::Train), digits.labels); });
  EXPECT_LT(last, first);
  EXPECT_EQ(net(digits.images, nn::Mode::Evaluate).shape(), (Shape{4, 10}));
}

TEST_F(Examples, ASmallGptIsTrainedAndRunByJits) {
  // A token is a pixel, 0 to 16; a sequence two rows of an image.
  const Digits digits = read_digits(2);
  const std::vector<std::int32_t> pixels(digits.pixels.begin(), digits.pixels.end());
  const Tensor tokens = Tensor::from(pixels, {8, 16});
  const Tensor before = tokens.narrow(1, 0, 15).contiguous(), after = tokens.narrow(1, 1, 15);
  Generator generator(7);
  const models::Gpt net({.vocabulary = 17, .context = 15, .width = 16, .heads = 2, .layers = 1},
                        generator);
  optim::AdamW adam(net.parameters(), 0.02);
  TensorJit step([&](std::span<const Tensor> in) {
    adam.zero_grad();
    const Tensor loss = cross_entropy(net(in[0]).reshape({8 * 15, 17}), in[1].reshape({8 * 15}));
    loss.backward();
    adam.step({loss});
    return TensorJit::Tensors{loss};
  });
  float first = 0, last = 0;
  for (int i = 0; i < 12; ++i) {
    last = step(std::vector{before, after})[0].item<float>();
    if (i == 0) first = last;
  }
  EXPECT_GT(first, 2.5F);  // log 17 = 2.83 for uniform guessing
  EXPECT_LT(last, 0.75F * first);
  TensorJit next([&](const Tensor& x) { return net(x).argmax(-1); });
  const std::vector<std::int32_t> wanted = net(before).argmax(-1).read<std::int32_t>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next(before).read<std::int32_t>(), wanted);
}

}  // namespace
}  // namespace touchstone
