#include "touchstone/tensor/optim.h"

#include <gtest/gtest.h>

#include "tensor_check.h"
#include "touchstone/tensor/models.h"

namespace touchstone {
namespace {

class Optim : public OnDevice {
 protected:
  Tensor parameter(const Doubles& values) const {
    Tensor p = make(values, {static_cast<std::int64_t>(values.size())});
    return p.set_requires_grad();
  }
  // Gradient of the loss: coefficients * p.
  static void step(optim::Optimizer& optimizer, const Tensor& p, const Tensor& coefficients) {
    optimizer.zero_grad();
    (coefficients * p.square() * 0.5).sum().backward();
    optimizer.step();
  }
};
TOUCHSTONE_ON_DEVICES(Optim);

TEST_P(Optim, SgdStepsAsComputedByHand) {
  const Tensor p = parameter({1, -2}), c = make({1, 3}, {2});
  optim::SGD sgd({p}, 0.1);
  step(sgd, p, c);
  expect_near(p, {0.9, -1.4});
  step(sgd, p, c);
  expect_near(p, {0.81, -0.98});
}

TEST_P(Optim, LambDividesByNoNormOfZero) {
  const Tensor zero = parameter({0, 0});
  optim::LAMB lamb({zero}, 0.01);
  step(lamb, zero, make({1, 3}, {2}));
  expect_near(zero, {0, 0});
}

TEST_P(Optim, StepsRunTheKernelsOfTheFirst) {
  const Tensor p = parameter({1, -2}), c = make({1, 3}, {2});
  optim::Adam adam({p}, 0.01);
  struct Kernels final : ExecutionObserver {
    void ran(const ScheduleItem& item, Device&, std::span<Buffer* const>, double) override {
      if (item.ast) asts.push_back(item.ast);
    }
    std::vector<LazyOpPtr> asts;
  } first, later;
  step(adam, p, c);  // also fills the moments
  {
    const ObserverScope scope(first);
    step(adam, p, c);
  }
  const ObserverScope scope(later);
  step(adam, p, c);
  ASSERT_EQ(first.asts.size(), later.asts.size());
  EXPECT_FALSE(first.asts.empty());
  for (std::size_t i = 0; i < first.asts.size(); ++i)
    EXPECT_TRUE(same(first.asts[i], later.asts[i]));
}

TEST_P(Optim, AnSgdUpdateIsOneKernel) {
  Tensor p = parameter({1, -2});
  (p.square() * make({1, 3}, {2})).sum().backward();
  const Tensor value = p.detach() - *p.grad() * 0.1;
  EXPECT_EQ(schedule(std::vector{value.lazy()}).size(), 1u);
}

TEST(OptimErrors, NameTheParameter) {
  register_devices();
  EXPECT_THROW(optim::SGD({Tensor::zeros({2})}, 0.1), Error);
  Tensor p = Tensor::zeros({2});
  p.set_requires_grad();
  optim::SGD sgd({p}, 0.1);
  EXPECT_THROW(sgd.step(), Error);
  EXPECT_THROW(optim::SGD({p}, 0.1, 0, 0, optim::Nesterov::Yes), Error);
}

TEST_P(Optim, ASmallConvnetLearnsToTellPatternsApart) {
  Generator generator(3);
  const models::DigitsNet net(generator, device());
  optim::SGD sgd(net.parameters(), 0.02, 0.9);
  const std::int64_t n = 8;
  std::vector<float> pixels;
  std::vector<int> labels;
  for (std::int64_t i = 0; i < n; ++i) {
    labels.push_back(static_cast<int>(i % 2));
    for (std::int64_t at = 0; at < 64; ++at)  // horizontal or vertical stripes
      pixels.push_back((i % 2 == 0 ? at / 8 : at) % 2 == 0 ? 1.0F : 0.0F);
  }
  const Tensor x = Tensor::from<float>(pixels, {n, 1, 8, 8}, device());
  const Tensor y = Tensor::from<int>(labels, {n}, device());
  std::vector<float> losses;
  for (int i = 0; i < 12; ++i) {
    sgd.zero_grad();
    const Tensor loss = cross_entropy(net(x), y);
    loss.backward();
    sgd.step({loss});
    losses.push_back(loss.item<float>());
  }
  EXPECT_LT(losses.back(), 0.5F * losses.front());
  EXPECT_EQ(net(x).argmax(1).read<int>(), labels);
}

}  // namespace
}  // namespace touchstone
