
#include "touchstone/tensor/schedules.h"

#include "tensor_check.h"
#include "touchstone/base/file.h"
#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone {
namespace {

using namespace optim;

Doubles first(const Schedule& schedule, int count) {
  Doubles rates;
  for (int i = 0; i < count; ++i) rates.push_back(schedule(i));
  return rates;
}
void expect_rates(const Doubles& got, const Doubles& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], 1e-14 + 1e-12 * std::abs(wanted[i])) << "step " << i;
}

TEST(Schedules, FollowTheirFormulas) {
  expect_rates(first(step_decay(1, 2), 6), {1, 1, 0.1, 0.1, 0.01, 0.01});
  expect_rates(first(milestones(2, {1, 3}, 0.5), 5), {2, 1, 1, 0.5, 0.5});
  expect_rates(first(exponential(1, 0.5), 4), {1, 0.5, 0.25, 0.125});
  const double r = std::sqrt(0.5);
  expect_rates(first(cosine(1, 4), 6), {1, (1 + r) / 2, 0.5, (1 - r) / 2, 0, 0});
  expect_rates(first(cosine(3, 2, 1), 4), {3, 2, 1, 1});
  expect_rates(first(polynomial(1, 4), 6), {1, 0.75, 0.5, 0.25, 0, 0});
  expect_rates(first(polynomial(1, 2, 2), 3), {1, 0.25, 0});
  expect_rates(first(warmup(4, exponential(1, 0.5)), 7), {0.25, 0.5, 0.75, 1, 1, 0.5, 0.25});
  expect_rates(first(warmup(0, exponential(1, 0.5)), 2), {1, 0.5});
  // Of 10 steps 0.3 rise: the peak is step 2, halfway at 1; the end is step 9.
  const Doubles cycle = first(one_cycle(1, 10), 11);
  EXPECT_NEAR(cycle[0], 0.04, 1e-15);
  EXPECT_NEAR(cycle[1], (0.04 + 1) / 2, 1e-12);
  EXPECT_NEAR(cycle[2], 1, 1e-12);
  EXPECT_NEAR(cycle[9], 1 / 25e4, 1e-15);
  EXPECT_NEAR(cycle[10], 1 / 25e4, 1e-15);
  for (int i = 3; i < 10; ++i)
    EXPECT_LT(cycle[static_cast<std::size_t>(i)], cycle[static_cast<std::size_t>(i - 1)]);
  EXPECT_THROW(step_decay(1, 0), Error);
  EXPECT_THROW(cosine(1, 0), Error);
  EXPECT_THROW(one_cycle(1, 1), Error);
  EXPECT_THROW(one_cycle(1, 5, 0), Error);
}

TEST(Schedules, APlateauLowersTheRate) {
  Plateau plateau(1, 0.1, 1);
  EXPECT_EQ(plateau(5), 1);
  EXPECT_EQ(plateau(4), 1);
  EXPECT_EQ(plateau(4), 1);      // no improvement
  EXPECT_EQ(plateau(4.5), 0.1);  // a second one
  EXPECT_EQ(plateau(3), 0.1);
  EXPECT_EQ(plateau(std::nan("")), 0.1);
  EXPECT_NEAR(plateau(3), 0.01, 1e-15);
}

class OptimizerState : public OnDevice {
 protected:
  Tensor leaf(const Doubles& values) const {
    return make(values, {static_cast<std::int64_t>(values.size())}).set_requires_grad();
  }
  // d(loss)/dp is c.
  static void step(Optimizer& optimizer, const std::vector<Tensor>& ps, double c) {
    optimizer.zero_grad();
    Tensor loss = Tensor::zeros({}, {DType::Float64, ps[0].device()});
    for (const Tensor& p : ps) loss = loss + p.sum() * c;
    loss.backward();
    optimizer.step();
  }
};
TOUCHSTONE_ON_DEVICES(OptimizerState);

TEST_P(OptimizerState, TheRateMayChangeBetweenSteps) {
  const Tensor p = leaf({10});
  SGD sgd({p}, 1);
  EXPECT_EQ(sgd.lr(), 1);
  step(sgd, {p}, 2);
  expect_near(p, {8});
  sgd.set_lr(0.25);
  EXPECT_EQ(sgd.lr(), 0.25);
  step(sgd, {p}, 2);
  expect_near(p, {7.5});
}

TEST_P(OptimizerState, AReplayedStepFollowsTheRate) {
  const Tensor p = leaf({100});
  SGD sgd({p}, 1);
  TensorJit jit([&](std::span<const Tensor> in) {
    sgd.zero_grad();
    const Tensor loss = (p * in[0]).sum();
    loss.backward();
    sgd.step({loss});
    return TensorJit::Tensors{loss};
  });
  double wanted = 100;
  for (int i = 0; i < 5; ++i) {
    const double lr = 1.0 / (1 << i);
    sgd.set_lr(lr);
    (void)jit(std::vector{make({4}, {1})});
    wanted -= 4 * lr;
    expect_near(p, {wanted});
  }
  TensorJit bad([&](std::span<const Tensor> in) {
    sgd.set_lr(1);
    return TensorJit::Tensors{in[0] * 2};
  });
  EXPECT_THROW((void)bad(std::vector{make({4}, {1})}), Error);
}

TEST_P(OptimizerState, GroupsHaveTheirRatesAndDecays) {
  const Tensor a = leaf({10}), b = leaf({10});
  SGD sgd({Group{{a}, 1, std::nullopt}, Group{{b}, 0.5, 0.0}}, 0.1, 0, 0.2);
  step(sgd, {a, b}, 1);
  expect_near(a, {10 - 0.1 * (1 + 2)});
  expect_near(b, {10 - 0.05 * 1});
  const Tensor c = leaf({10}), d = leaf({10});
  AdamW adam(std::vector<Group>{{{c}}, {{d}, 2, 0.0}}, 0.1, 0.5, 0.9, 0.999, 0);
  step(adam, {c, d}, 3);
  // Adam's first direction is the sign of the gradient.
  EXPECT_NEAR(c.item<double>(), 10 * (1 - 0.05) - 0.1, 1e-9);
  EXPECT_NEAR(d.item<double>(), 10 - 0.2, 1e-9);
  EXPECT_THROW(Adam({Group{{c}, 1, 0.1}}), Error);
  EXPECT_THROW(SGD({c, c}, 1), Error);
  EXPECT_THROW(SGD({make({1}, {1})}, 1), Error);
}

TEST_P(OptimizerState, IsSavedAndLoaded) {
  const TemporaryDirectory folder;
  const auto file = folder.path() / "optimizer.safetensors";
  const auto trained = [&](auto&& make_optimizer) {
    const Tensor p = leaf({1, -2});
    auto optimizer = make_optimizer(p);
    for (int i = 0; i < 3; ++i) step(*optimizer, {p}, 1 + i);
    nn::save_state(file, optimizer->state());
    const Tensor q = leaf(p.read<double>());
    auto other = make_optimizer(q);
    nn::load_state(file, other->state());
    EXPECT_EQ(other->lr(), optimizer->lr());
    for (int i = 0; i < 2; ++i) {
      step(*optimizer, {p}, -1);
      step(*other, {q}, -1);
    }
    EXPECT_EQ(q.read<double>(), p.read<double>());
    return optimizer->state();
  };
  const nn::StateDict adam =
      trained([](const Tensor& p) { return std::make_unique<AdamW>(Parameters{p}, 0.1); });
  std::vector<std::string> names;
  for (const nn::NamedTensor& entry : adam) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"lr.0", "beta1_power.0", "beta2_power.0", "first.0",
                                             "second.0"}));
  trained([](const Tensor& p) { return std::make_unique<SGD>(Parameters{p}, 0.1, 0.9); });
}

TEST_P(OptimizerState, GradientsAreClipped) {
  const Tensor a = leaf({1, 1}), b = leaf({1});
  const auto backward = [&] {
    for (Tensor t : {a, b}) t.zero_grad();
    ((a * make({3, 0}, {2})).sum() + (b * 4).sum()).backward();
  };
  backward();
  expect_near(clip_grad_norm({a, b}, 10), {5});
  expect_near(*a.grad(), {3, 0});
  expect_near(clip_grad_norm({a, b}, 1), {5});
  const double scale = 1 / (5 + 1e-6);
  expect_near(*a.grad(), {3 * scale, 0});
  expect_near(*b.grad(), {4 * scale});
  backward();
  clip_grad_value({a, b}, 3.5);
  expect_near(*a.grad(), {3, 0});
  expect_near(*b.grad(), {3.5});
  EXPECT_THROW(clip_grad_norm({a}, 0), Error);
  Tensor(a).zero_grad();
  EXPECT_THROW(clip_grad_norm({a}, 1), Error);
}

}  // namespace
}  // namespace touchstone
