#include "touchstone/tensor/nn.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "tensor_check.h"
#include "touchstone/base/file.h"
#include "touchstone/files/array_file.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/optim.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone::nn {
namespace {

const TensorOptions kDouble = {.dtype = DType::Float64};

class NeuralLayers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_devices(); }
};

TEST_F(NeuralLayers, RecurrentLayersGoOnFromAState) {
  Generator generator(6);
  const LSTM lstm(2, 3, generator, kDouble);
  const Tensor x = Tensor::from<double>(some(16), {2, 4, 2});
  const RecurrentResult whole = lstm(x), half = lstm(x.narrow(1, 0, 2));
  expect_near(lstm(x.narrow(1, 2, 2), half.last).outputs,
              read_doubles(whole.outputs.narrow(1, 2, 2)));
  EXPECT_THROW(lstm(x.squeeze().flatten(1)), ShapeError);
  EXPECT_THROW(lstm(Tensor::zeros({1, 0, 2}, kDouble)), ShapeError);
}

TEST_F(NeuralLayers, BatchNormUsesTheBatchAndRemembersIt) {
  const BatchNorm norm(2, 0.1, 0, kDouble);
  const Tensor x = Tensor::from<double>({1, 3, 10, 20, 5, 7, 30, 40}, {2, 2, 2});
  const Tensor out = norm(x, Mode::Train);
  // Channel means 4 and 25, variances 5 and 125.
  const double a = 1 / std::sqrt(5), b = 1 / std::sqrt(125);
  expect_near(out, {-3 * a, -a, -15 * b, -5 * b, a, 3 * a, 5 * b, 15 * b});
  expect_near(norm.running_mean, {0.4, 2.5});
  expect_near(norm.running_var, {0.9 + 0.1 * 20 / 3, 0.9 + 0.1 * 500 / 3});
  const Tensor later = norm(x, Mode::Evaluate);
  expect_near(later.narrow(1, 0, 1).flatten().narrow(0, 0, 1), {0.6 / std::sqrt(0.9 + 2.0 / 3)});
  EXPECT_THROW(norm(x.flatten(), Mode::Train), ShapeError);
  EXPECT_EQ(norm.parameters().size(), 2u);
}

TEST_F(NeuralLayers, NormsEqualTheirFormulas) {
  const Tensor x = Tensor::from<double>({1, 3, 2, 6, 0, 4, 5, 9}, {1, 4, 2});
  expect_near(LayerNorm({2}, 0, kDouble)(x), {-1, 1, -1, 1, -1, 1, -1, 1});
  const double root = std::sqrt(3.5);  // of 1 3 2 6: mean 3, variance 3.5
  expect_near(GroupNorm(2, 4, 0, kDouble)(x).flatten().narrow(0, 0, 4),
              {-2 / root, 0, -1 / root, 3 / root});
  expect_near(RMSNorm(2, 0, kDouble)(x).flatten().narrow(0, 0, 2),
              {1 / std::sqrt(5), 3 / std::sqrt(5)});
  EXPECT_THROW(GroupNorm(3, 4)(x.cast(DType::Float32)), ShapeError);
  EXPECT_THROW(LayerNorm({3})(x.cast(DType::Float32)), ShapeError);
}

TEST_F(NeuralLayers, EmbeddingGivesRows) {
  Generator generator(7);
  const Embedding embedding(5, 3, generator, kDouble);
  const Doubles w = embedding.weight.read<double>();
  const Tensor out = embedding(Tensor::from<int>({4, 0, 4, 1}, {2, 2}));
  EXPECT_EQ(out.shape(), (Shape{2, 2, 3}));
  expect_near(out, {w[12], w[13], w[14], w[0], w[1], w[2], w[12], w[13], w[14], w[3], w[4], w[5]},
              0);
}

TEST_F(NeuralLayers, CausalAttentionSeesNoLaterToken) {
  Generator generator(8);
  const MultiHeadAttention attention(4, 2, generator, kDouble);
  Doubles values = some(12);
  const auto run = [&] {
    const Tensor x = Tensor::from<double>(values, {1, 3, 4});
    return attention(x, x, x, {.causal = true}).read<double>();
  };
  const Doubles before = run();
  values[8] += 1;  // of the last token
  const Doubles after = run();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(before[i] == after[i], i < 8) << i;
  EXPECT_EQ(attention.state()[2].name, "key.weight");
  EXPECT_THROW(MultiHeadAttention(4, 3, generator), ShapeError);
  EXPECT_THROW(Conv2d(4, 4, {3, 3}, generator, {.groups = 3}), ShapeError);
  EXPECT_THROW(Conv1d(4, 4, 3, generator, {.groups = 0}), ShapeError);
  EXPECT_EQ(Conv1d(4, 6, 3, generator, {.groups = 2}).weight.shape(), (Shape{6, 2, 3}));
}

class States : public NeuralLayers {
 protected:
  std::filesystem::path file(const char* name) const { return folder_.path() / name; }
  static models::Mlp net(std::uint64_t seed) {
    Generator generator(seed);
    return models::Mlp({3, 4, 2}, generator);
  }
  static std::string said(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(States, ComeBackFromAFile) {
  Generator generator(10);
  const models::ResNet18 one(1, 2, 3, generator), other(1, 2, 3, generator);
  const Tensor x = generator.normal({1, 1, 8, 8});
  for (const char* name : {"net.safetensors", "net.npz"}) {
    save_state(file(name), one.state());
    const auto wanted = one(x, Mode::Evaluate).read<float>();
    EXPECT_NE(other(x, Mode::Evaluate).read<float>(), wanted);
    load_state(file(name), other.state());
    EXPECT_EQ(other(x, Mode::Evaluate).read<float>(), wanted);
    EXPECT_TRUE(other.parameters()[0].requires_grad());
    for (const NamedTensor& entry : other.state()) {  // resets for the next round
      Tensor target = entry.tensor;
      target.assign(target.detach() * 0.5);
    }
  }
  EXPECT_EQ(one.state()[0].name, "stem.weight");
  EXPECT_EQ(one.state().back().name, "out.bias");
}

TEST_F(States, OfAnyTypeComeBackBitForBit) {
  const StateDict all = {{"half", Tensor::from<double>({1.5, -0.0, 1e9}, {3}).cast(DType::Float16)},
                         {"truth", Tensor::from<bool>({true, false}, {2, 1})},
                         {"none", Tensor::zeros({0, 3})},
                         {"one", Tensor::full({}, 7, {DType::Int64, "CPU"})}};
  save_state(file("a.safetensors"), all);
  const StateDict back = {{"half", Tensor::zeros({3}, {DType::Float16, "CPU"})},
                          {"truth", Tensor::zeros({2, 1}, {DType::Bool, "CPU"})},
                          {"none", Tensor::zeros({0, 3})},
                          {"one", Tensor::zeros({}, {DType::Int64, "CPU"})}};
  load_state(file("a.safetensors"), back);
  EXPECT_EQ(read_doubles(back[0].tensor)[0], 1.5);
  EXPECT_TRUE(std::signbit(read_doubles(back[0].tensor)[1]));
  EXPECT_EQ(back[1].tensor.read<bool>(), (std::vector{true, false}));
  EXPECT_EQ(back[3].tensor.item<std::int64_t>(), 7);
}

TEST_F(States, SayAllThatDoesNotFitAndChangeNothing) {
  save_state(file("net.safetensors"), net(1).state());
  const models::Mlp target = net(2);
  const auto before = target.parameters()[0].read<float>();
  StateDict state = target.state();
  state[1] = {"layers.0.bias", Tensor::zeros({5})};
  state[2] = {"layers.1.weight", Tensor::zeros({2, 4}, {DType::Float64, "CPU"})};
  state[3].name = "layers.1.shift";
  const std::string text = said([&] { load_state(file("net.safetensors"), state); });
  for (const char* part :
       {"net.safetensors", "'layers.0.bias' has shape (4,), expected (5,)",
        "'layers.1.weight' is float32, expected float64", "'layers.1.bias' (2,) is not expected",
        "'layers.1.shift' (2,) is missing", "Strict::No"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in: " << text;
  EXPECT_EQ(target.parameters()[0].read<float>(), before);
  state = target.state();
  state[3].name = "layers.1.shift";
  load_state(file("net.safetensors"), state, Strict::No);
  EXPECT_EQ(target.parameters()[0].read<float>(), net(1).parameters()[0].read<float>());
  state[3].name = "layers.0.bias";
  EXPECT_NE(said([&] { save_state(file("x.npz"), state); }).find("'layers.0.bias'"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file("x.npz")));
  EXPECT_THROW(load_state(file("absent.safetensors"), target.state()), SystemError);
}

// A network follows its gradients: the loss falls to a fraction.
template <class Net>
void expect_learns(const Net& loss_of, const std::vector<Tensor>& parameters, int steps,
                   double part, double lr = 0.02) {
  optim::Adam adam(parameters, lr);
  float first = 0, last = 0;
  for (int i = 0; i < steps; ++i) {
    adam.zero_grad();
    const Tensor loss = loss_of();
    loss.backward();
    adam.step({loss});
    (i == 0 ? first : last) = loss.template item<float>();
  }
  EXPECT_LT(last, part * first);
}

TEST_F(NeuralLayers, AnMlpLearnsWhichOfTwoIsSet) {
  Generator generator(11);
  const models::Mlp net({2, 8, 2}, generator);
  const Tensor x = Tensor::from<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const Tensor y = Tensor::from<int>({0, 1, 1, 0}, {4});
  expect_learns([&] { return cross_entropy(net(x), y); }, net.parameters(), 60, 0.3, 0.05);
  EXPECT_EQ(net(x).argmax(1).read<int>(), (std::vector{0, 1, 1, 0}));
}

TEST_F(NeuralLayers, AGptLearnsASentence) {
  Generator generator(12);
  const models::Gpt gpt({.vocabulary = 6, .context = 8, .width = 8, .heads = 2, .layers = 1},
                        generator);
  const std::vector<int> sentence = {3, 1, 4, 1, 5, 2, 0, 5};
  const Tensor tokens = Tensor::from<int>(sentence, {1, 8});
  const Tensor seen = tokens.narrow(1, 0, 7), next = tokens.narrow(1, 1, 7).flatten().contiguous();
  expect_learns([&] { return cross_entropy(gpt(seen).squeeze(0), next); }, gpt.parameters(), 40,
                0.2);
  EXPECT_EQ(gpt(seen).argmax(2).read<int>(),
            std::vector<int>(sentence.begin() + 1, sentence.end()));
  EXPECT_THROW(gpt(Tensor::zeros({1, 9}, {DType::Int32, "CPU"})), ShapeError);
}

TEST_F(NeuralLayers, AResNetTakesAStepAndMovesItsStatistics) {
  Generator generator(13);
  const models::ResNet18 net(1, 2, 2, generator);
  const Tensor x = generator.normal({2, 1, 8, 8}), y = Tensor::from<int>({0, 1}, {2});
  optim::SGD sgd(net.parameters(), 0.05, 0.9, 0, optim::Nesterov::Yes);
  std::vector<float> losses;
  for (int i = 0; i < 3; ++i) {
    sgd.zero_grad();
    const Tensor loss = cross_entropy(net(x, Mode::Train), y);
    loss.backward();
    std::vector<Tensor> also = {loss};
    for (const NamedTensor& entry : net.state())
      if (!entry.tensor.requires_grad()) also.push_back(entry.tensor);
    sgd.step(also);
    losses.push_back(loss.item<float>());
  }
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_NE(net.state()[3].tensor.read<float>(),
            (std::vector<float>{0, 0}));  // stem.norm.running_mean
}

// Nothing reads the statistics while training.
TEST(BatchNormStatistics, LeaveNothingPending) {
  register_devices();
  for (const bool steps : {true, false}) {
    Generator generator(1);
    const nn::Linear layer(4, 3, generator);
    const nn::BatchNorm norm(3);
    optim::SGD optimizer({layer.weight, layer.bias, norm.weight, norm.bias}, 0.1);
    std::vector<double> mean(3, 0);
    for (int i = 0; i < 20; ++i) {
      const Tensor x = generator.normal({5, 4}), y = layer(x);
      const std::vector<float> seen = y.mean(std::vector{0}).read<float>();
      for (std::size_t c = 0; c < 3; ++c) mean[c] = 0.9 * mean[c] + 0.1 * seen[c];
      const Tensor loss = norm(y, nn::Mode::Train).square().mean();
      if (steps) {
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
      } else {
        loss.realize();
      }
      EXPECT_LE(schedule(std::vector{norm.running_mean.lazy()}).size(), steps ? 0U : 2U) << i;
    }
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(norm.running_mean.read<float>()[c], mean[c], 1e-5);
  }
}

TEST(Losses, LabelsThatAreNoClassAreNamedOrMakeNanInAJit) {
  register_devices();
  const Tensor logits = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto error = [&](const Tensor& labels, const CrossEntropyArgs& args = {}) {
    return test::error_of([&] { cross_entropy(logits, labels, args); });
  };
  const auto labels = [](std::int64_t a, std::int64_t b) {
    return Tensor::from<std::int64_t>({a, b}, {2});
  };
  EXPECT_THAT(error(labels(0, 3)),
              testing::HasSubstr("label 3 of row 1 is not one of the 3 classes"));
  EXPECT_THAT(error(labels(-1, 0)), testing::HasSubstr("label -1 of row 0"));
  EXPECT_THAT(error(Tensor::full({2}, 7, {DType::Int32, "CPU"})), testing::HasSubstr("label 7"));
  EXPECT_EQ(error(labels(-100, 0), {.ignore_index = -100}), "no error");
  EXPECT_THAT(error(labels(-100, -1), {.ignore_index = -100}), testing::HasSubstr("label -1"));
  EXPECT_THAT(test::error_of([&] { nll_loss(log_softmax(logits), labels(0, 3)); }),
              testing::HasSubstr("label 3"));
  for (const double smoothing : {0.0, 0.25}) {
    const CrossEntropyArgs rows{.label_smoothing = smoothing, .reduction = Reduction::None};
    for (const std::int64_t shift : {1, -1}) {  // computed: 1..3 or -1..1
      const Tensor computed = labels(shift == 1 ? 0 : 1, shift == 1 ? 2 : 0) + shift;
      EXPECT_THAT(error(computed), testing::HasSubstr("of row 1"));
      TensorJit jit([&](const Tensor& at) { return cross_entropy(logits, at + 0, rows); });
      const auto loss = jit(computed).read<float>();
      EXPECT_FALSE(std::isnan(loss[0])) << shift;
      EXPECT_TRUE(std::isnan(loss[1])) << shift;
    }
  }
}

TEST(TensorErrors, AMovedFromTensorAndAMissingDeviceAreNamed) {
  register_devices();
  Tensor x = Tensor::full({2}, 1.5);
  const Tensor taken = std::move(x);
  const auto moved = [](auto use) { return test::error_of(use); };
  // NOLINTBEGIN(bugprone-use-after-move): that is asked
  for (const std::string& said :
       {moved([&] { (void)x.shape(); }), moved([&] { x.read<float>(); }), moved([&] { x + taken; }),
        moved([&] { (void)(taken + x); }), moved([&] { x.backward(); }),
        moved([&] { x.assign(taken); }), moved([&] { Tensor(taken).assign(x); }),
        moved([&] { x.set_requires_grad(); }), moved([&] { (void)x.grad(); }),
        moved([&] { x.zero_grad(); }), moved([&] { x.detach(); }), moved([&] { x.realize(); }),
        moved([&] {
          x.reshape({1, 2});
        })})
    EXPECT_THAT(said, testing::HasSubstr("moved from"));
  x = taken;
  EXPECT_EQ(x.read<float>(), (std::vector<float>{1.5, 1.5}));
  // NOLINTEND(bugprone-use-after-move)
  const TensorOptions nowhere{DType::Float32, "CLAN"};
  Generator generator(1);
  for (const std::string& said :
       {moved([&] { Tensor::zeros({2}, nowhere); }), moved([&] { Tensor::empty({2}, nowhere); }),
        moved([&] { taken.to("CLAN"); }), moved([&] { generator.uniform({2}, 0, 1, nowhere); }),
        moved([&] { generator.normal({2}, 0, 1, nowhere); }),
        moved([&] { Tensor::from<float>({1}, {1}, "CLAN"); }),
        moved([&] { Tensor::arange(0, 3, 1, nowhere); }), moved([&] { Tensor::eye(2, nowhere); })})
    EXPECT_THAT(said, testing::HasSubstr("there is no device 'CLAN'; did you mean 'CLANG'?"));
}

}  // namespace
}  // namespace touchstone::nn
