#include "touchstone/tensor/tensor_jit.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "tensor_check.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/optim.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

class JitOfTensors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_devices(); }
  static Tensor of(const Floats& values, const Shape& shape) {
    return Tensor::from<float>(values, shape);
  }
};

TEST_F(JitOfTensors, IsBuiltTwiceAndReplayedOnEachInput) {
  Generator generator(3);
  const nn::Linear layer(4, 2, generator);
  int built = 0;
  TensorJit net([&](const Tensor& x) {
    ++built;
    return softmax(layer(x).relu());
  });
  for (int i = 0; i < 5; ++i) {
    const Tensor x = generator.normal({3, 4});
    EXPECT_EQ(net(x).read<float>(), softmax(layer(x).relu()).read<float>());
  }
  EXPECT_EQ(built, 2);
  EXPECT_GT(net.captured(), 1u);
  net.reset();
  net(generator.normal({3, 4}));
  EXPECT_EQ(built, 3);
}

TEST_F(JitOfTensors, GivesGradientsThatTheFunctionReturns) {
  Tensor weight = of({1, -2}, {2});
  weight.set_requires_grad();
  TensorJit step([&](std::span<const Tensor> in) {
    const Tensor loss = ((in[0] * weight).sum() - in[1]).square();
    return TensorJit::Tensors{loss, gradients(loss, {weight})[0]};
  });
  for (int i = 0; i < 4; ++i) {
    const auto k = static_cast<float>(i);
    const auto out = step(std::vector{of({k, 1}, {2}), of({3}, {1}).sum()});
    EXPECT_EQ(out[0].item<float>(), (k - 5) * (k - 5));
    EXPECT_EQ(out[1].read<float>(), (Floats{2 * (k - 5) * k, 2 * (k - 5)}));
    EXPECT_FALSE(out[0].requires_grad());
  }
}

TEST_F(JitOfTensors, TakesConstantsAndSizesThatAreVariables) {
  const sint n(symbolic::variable("n", 1, 4));
  TensorJit total([&](std::span<const Tensor> in) {
    return TensorJit::Tensors{(Tensor(in[0].lazy()->shrink({{0, n}})) * 2.0).sum(), in[1] + 1.0};
  });
  const Tensor x = of({1, 2, 3, 4}, {4});
  const float wanted[] = {2, 6, 12, 20, 6};
  const std::int64_t sizes[] = {1, 2, 3, 4, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto out =
        total(std::vector{x, Tensor::full({2}, static_cast<double>(i))}, {{"n", sizes[i]}});
    EXPECT_EQ(out[0].item<float>(), wanted[i]);
    EXPECT_EQ(out[1].read<float>(), Floats(2, static_cast<float>(i) + 1));
  }
}

TEST_F(JitOfTensors, WhatAReplayWouldNotDoIsNamed) {
  const Tensor x = of({1, 2}, {2});
  TensorJit twice([](const Tensor& in) { return in * 2.0; });
  for (int i = 0; i < 2; ++i) twice(x);
  EXPECT_THAT(error_of([&] {
                twice(of({1, 2, 3}, {3}));
              }),
              HasSubstr("input 0 is float32 (3,) on CPU, but was captured with float32 (2,)"));
  EXPECT_THAT(error_of([&] { twice(x.cast(DType::Float64)); }), HasSubstr("input 0 is float64"));
  EXPECT_THAT(error_of([&] { twice(std::vector{x, x}); }), HasSubstr("2 inputs given"));
  EXPECT_EQ(twice(x).read<float>(), (Floats{2, 4}));  // and it still works
  TensorJit draws([](const Tensor& in) {
    Generator generator(1);
    return in + generator.uniform({2});
  });
  draws(x);
  EXPECT_THAT(error_of([&] { draws(x); }), HasSubstr("random numbers"));
}

TEST_F(JitOfTensors, WhatItAssignsIsReadAndWrittenAtEachCall) {
  Tensor state = of({0, 0}, {2}), unused = of({5, 5}, {2});
  int built = 0;
  TensorJit counts([&](const Tensor& in) {
    ++built;
    state.assign(state + in);
    state.assign(state * 2.0);
    unused.assign(unused);
    return state * 1.5;
  });
  Floats wanted = {0, 0};
  for (int i = 0; i < 6; ++i) {
    const auto k = static_cast<float>(i);
    if (i == 4) state.assign(of({10, 20}, {2}).flip({0}).expand({2}));  // assigned outside the jit
    if (i == 4) wanted = {20, 10};
    const Tensor before = state.detach();
    const Floats was = wanted;
    const Tensor out = counts(of({k, 1}, {2}));
    wanted = {2 * (wanted[0] + k), 2 * (wanted[1] + 1)};
    EXPECT_EQ(state.read<float>(), wanted) << i;
    EXPECT_EQ(out.read<float>(), (Floats{1.5F * wanted[0], 1.5F * wanted[1]})) << i;
    EXPECT_EQ(before.read<float>(), was) << i;  // holders keep the old value
    EXPECT_EQ(unused.read<float>(), Floats(2, 5));
  }
  EXPECT_EQ(built, 2);
}

// A training step: the loss, and everything it changes.
struct Training {
  Training(std::uint64_t seed, const std::string& kind, const std::string& where)
      : generator(seed),
        first(6, 8, generator, {DType::Float32, where}),
        norm(8, 0.1, 1e-5, {DType::Float32, where}),
        last(8, 3, generator, {DType::Float32, where}) {
    std::vector<Tensor> all{first.weight, first.bias,  norm.weight,
                            norm.bias,    last.weight, last.bias};
    if (kind == "SGD") optimizer = std::make_unique<optim::SGD>(all, 0.1, 0.9, 0.01);
    if (kind == "Adam") optimizer = std::make_unique<optim::Adam>(all, 0.01);
    if (kind == "AdamW") optimizer = std::make_unique<optim::AdamW>(all, 0.01);
    if (kind == "LAMB") optimizer = std::make_unique<optim::LAMB>(all, 0.01);
  }
  Tensor step(const Tensor& x, const Tensor& labels) {
    optimizer->zero_grad();
    const Tensor loss = cross_entropy(last(norm(first(x), nn::Mode::Train).relu()), labels);
    loss.backward();
    optimizer->step({loss});
    return loss;
  }
  Generator generator;
  nn::Linear first;
  nn::BatchNorm norm;
  nn::Linear last;
  std::unique_ptr<optim::Optimizer> optimizer;
};

// Beside a jitted training step, after outside assignments, and reading former constants.
TEST_F(JitOfTensors, WhatItReadsIsAsItIsWhenACallBegins) {
  Training trained(5, "SGD", "CPU");
  TensorJit step(
      [&](std::span<const Tensor> in) { return TensorJit::Tensors{trained.step(in[0], in[1])}; });
  int built = 0;
  const auto net = [&](const Tensor& x) {
    return trained.last(trained.norm(trained.first(x), nn::Mode::Evaluate).relu());
  };
  TensorJit eval([&](const Tensor& x) {
    ++built;
    return net(x);
  });
  Generator data(9);
  Floats before;
  for (int i = 0; i < 6; ++i) {
    const Tensor x = data.normal({7, 6});
    const Floats now = eval(x).read<float>();
    EXPECT_EQ(now, net(x).read<float>()) << i;
    EXPECT_NE(now, before);
    before = now;
    step(std::vector{x, data.randint({7}, 0, 3)});
    if (i == 3) trained.last.weight.assign(Tensor::zeros_like(trained.last.weight));
    if (i == 4) trained.first.weight.assign(trained.first.weight * 2.0);
  }
  EXPECT_GT(eval.captured(), 0u);
  EXPECT_LE(built, 4);  // BatchNorm's constants have memory after the first step
}

TEST_F(JitOfTensors, ReadsConstantsViewsAndSharedMemoryAsTheyAre) {
  Tensor zero = Tensor::zeros({2}), turned = of({1, 2, 3, 4}, {2, 2}).transpose(),
         twin = of({5, 6}, {2}), other = twin.detach(), late = of({1, 1}, {2}) * 3.0;
  int built = 0;
  TensorJit jit([&](const Tensor& x) {
    ++built;
    return x + zero + turned.sum(std::vector{0}) + twin * other + late;
  });
  const auto plain = [&](const Tensor& x) {
    return x + zero + turned.sum(std::vector{0}) + twin * other + late;
  };
  const Tensor x = of({10, 20}, {2});
  const std::function<void()> changes[] = {
      [] {},
      [] {},
      [] {},
      [&] {
        twin.assign(of({-1, -2}, {2}));
      },
      [&] { other.assign(Tensor::full({2}, 7.0)); },
      [&] {
        turned.assign(of({0, 1, 0, 1}, {2, 2}));
      },
      [&] { late.assign(late * 2.0); },
      [&] {
        zero.assign(of({100, 200}, {2}));
      },
      [] {},
      [] {},
      [&] { zero.assign(Tensor::zeros({2})); },
      [&] { other.assign(twin); },
  };
  int i = 0;
  for (const auto& change : changes) {
    change();
    EXPECT_EQ(jit(x).read<float>(), plain(x).read<float>()) << ++i;
  }
  EXPECT_EQ(jit(twin).read<float>(), plain(twin).read<float>());  // as an input, too
  EXPECT_LE(built, 6);
  Tensor w = of({1, 1}, {2});
  w.set_requires_grad();
  (w * 3.0).sum().backward();
  TensorJit uses_gradient([&](const Tensor& in) { return in + *w.grad(); });
  EXPECT_THAT(error_of([&] { uses_gradient(x); }), HasSubstr("reads an earlier gradient"));
}

// The bits of the plain function, call by call, also from shared generators.
TEST_F(JitOfTensors, RandomNumbersAdvance) {
  for (const std::string where : {"CPU", "CLANG"}) {
    Generator plain(11), jitted(11), other_plain(5), other_jitted(5);
    const auto draws = [&](const Tensor& x, Generator& g, Generator& h) {
      const TensorOptions on{DType::Float32, where};
      const Tensor a = x + g.normal({2, 3}, 1, 2, on) * h.uniform({2, 3}, -1, 1, on);
      const Tensor b = g.randint({3}, -4, 1000, {DType::Int32, where}).cast(DType::Float32);
      const Tensor none = g.normal({0, 3}, 0, 1, on), column = g.uniform({2, 1}, 0, 1, on),
                   wide = g.normal({3}, 0, 1, {DType::Float64, where});
      return dropout(a + b, 0.4, h) + column + wide.cast(DType::Float32) + none.sum(std::vector{0});
    };
    int built = 0;
    TensorJit jit([&](const Tensor& x) {
      ++built;
      return draws(x, jitted, other_jitted);
    });
    std::set<Floats> seen;
    for (int i = 0; i < 6; ++i) {
      const Tensor x = Tensor::full({2, 3}, static_cast<double>(i), {DType::Float32, where});
      const Floats got = jit(x).read<float>();
      EXPECT_EQ(got, draws(x, plain, other_plain).read<float>()) << i;
      EXPECT_TRUE(seen.insert(got).second);
      EXPECT_EQ(jitted.position(), plain.position());
      EXPECT_EQ(other_jitted.position(), other_plain.position());
      EXPECT_EQ(jitted.permutation(5), plain.permutation(5));  // outside the jit
    }
    EXPECT_EQ(built, 2);
  }
}

TEST_F(JitOfTensors, RandomNumbersOfAnInnerJitAdvance) {
  Generator plain(3), jitted(3);
  TensorJit inner([&](const Tensor& x) { return x + jitted.normal({2}); });
  TensorJit outer([&](const Tensor& x) {
    const Tensor sum = inner(x);
    return sum * jitted.uniform({2});
  });
  const Tensor x = of({1, 2}, {2});
  for (int i = 0; i < 5; ++i) {
    const Tensor sum = x + plain.normal({2});
    EXPECT_EQ(outer(x).read<float>(), (sum * plain.uniform({2})).read<float>()) << i;
  }
}

TEST_F(JitOfTensors, DrawsThatCannotBeDoneAgainAreNamed) {
  const Tensor x = of({1, 2}, {2});
  auto generator = std::make_unique<Generator>(1);
  int calls = 0;
  TensorJit gone([&](const Tensor& in) { return in + generator->normal({2}); });
  TensorJit changes([&](const Tensor& in) {
    return ++calls % 2 == 1 ? in + generator->normal({2}) : in + generator->uniform({2});
  });
  TensorJit host(
      [&](const Tensor& in) { return in + static_cast<double>(generator->permutation(3)[0]); });
  EXPECT_THAT(error_of([&] { host(x); }), HasSubstr("pass them as an input"));
  changes(x);
  EXPECT_THAT(error_of([&] { changes(x); }),
              HasSubstr("draws uniform of float32 (2,) on CPU in this call, but not in its first"));
  for (int i = 0; i < 3; ++i) gone(x);
  generator.reset();
  EXPECT_THAT(error_of([&] { gone(x); }),
              HasSubstr("that the function draws was destroyed; keep it"));
  Generator own(2);
  TinyJit lower([&](std::span<const LazyBufferPtr> in) {
    return TinyJit::Tensors{(Tensor(in[0]) + own.normal({2})).lazy()};
  });
  const LazyBufferPtr lazy = x.lazy();
  lower(std::span(&lazy, 1));
  EXPECT_THAT(error_of([&] { lower(std::span(&lazy, 1)); }), HasSubstr("with a TensorJit"));
  // A generator local to the function repeats itself, as without a jit.
  TensorJit local([&](const Tensor& in) { return in + Generator(4).normal({2}); });
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(local(x).read<float>(), (x + Generator(4).normal({2})).read<float>());
}

TEST_F(JitOfTensors, StatesThatShareMemoryPart) {
  Tensor a = of({1, 2}, {2}), b = of({0, 0}, {2});
  b.assign(a);
  TensorJit step([&](const Tensor& in) {
    a.assign(a + in);
    b.assign(b * 2.0);
    return a + b;
  });
  const Tensor one = of({1, 1}, {2});
  const float wanted[] = {4, 7, 12, 21};
  for (const float w : wanted) EXPECT_EQ(step(one).read<float>()[0], w);
  EXPECT_EQ(a.read<float>(), (Floats{5, 6}));
  EXPECT_EQ(b.read<float>(), (Floats{16, 32}));
  EXPECT_EQ(step(a).read<float>(), (Floats{10 + 32, 12 + 64}));  // as a value, then as a state
  EXPECT_EQ(one.read<float>(), (Floats{1, 1}));
}

TEST_F(JitOfTensors, TrainsWithTheBitsOfTheUnjittedStep) {
  const std::pair<const char*, const char*> cases[] = {
      {"SGD", "CPU"}, {"Adam", "CPU"}, {"LAMB", "CPU"}, {"AdamW", "CLANG"}};
  for (const auto& [kind, where] : cases) {
    Training plain(5, kind, where), other(5, kind, where);
    int built = 0;
    TensorJit jitted([&](std::span<const Tensor> in) {
      ++built;
      return TensorJit::Tensors{other.step(in[0], in[1])};
    });
    Generator data(9);
    for (int i = 0; i < 5; ++i) {
      const Tensor x = data.normal({7, 6}).to(where);
      const Tensor labels = data.randint({7}, 0, 3).to(where);
      const float want = plain.step(x, labels).item<float>();
      EXPECT_EQ(jitted(std::vector{x, labels})[0].item<float>(), want)
          << kind << " on " << where << ", step " << i;
      for (std::size_t p = 0; p < 6; ++p)
        EXPECT_EQ(other.optimizer->parameters()[p].read<float>(),
                  plain.optimizer->parameters()[p].read<float>())
            << kind << " on " << where << ", step " << i << ", parameter " << p;
      EXPECT_EQ(other.norm.running_var.read<float>(), plain.norm.running_var.read<float>());
    }
    EXPECT_EQ(built, 2);
  }
}

TEST_F(JitOfTensors, WhatCannotBeDoneAgainIsNamed) {
  const Tensor x = of({1, 2}, {2});
  Tensor weight = of({1, 1}, {2});
  weight.set_requires_grad();
  TensorJit adds([&](const Tensor& in) {
    const Tensor loss = (in * weight).sum();
    loss.backward();
    return loss;
  });
  adds(x);
  EXPECT_THAT(error_of([&] { adds(x); }), HasSubstr("call zero_grad() in the function"));
  TensorJit twice([&](const Tensor& in) {  // within one call
    weight.zero_grad();
    for (int i = 0; i < 2; ++i) (in * weight).sum().backward();
    return *weight.grad() + 0.0;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(twice(x).read<float>(), (Floats{2, 4}));
  Tensor a = of({0, 0}, {2}), b = of({0, 0}, {2});
  int calls = 0;
  TensorJit changes([&](const Tensor& in) {
    (++calls % 2 ? a : b).assign(in * 3.0);
    return in + 1.0;
  });
  changes(x);
  EXPECT_THAT(error_of([&] { changes(x); }), HasSubstr("in its second call, but not in its first"));
  TinyJit lower([&](std::span<const LazyBufferPtr> in) {
    a.assign(Tensor(in[0]) * 2.0);
    return TinyJit::Tensors{a.lazy()};
  });
  const LazyBufferPtr lazy = x.lazy();
  lower(std::span(&lazy, 1));
  EXPECT_THAT(error_of([&] { lower(std::span(&lazy, 1)); }),
              HasSubstr("capture it with a TensorJit"));
}

// Each row does more than arithmetic. Every call of its jit must give the bits of the function.
TEST_F(JitOfTensors, ValuesReadOnTheHostAreReadAtEachCall) {
  const std::pair<const char*, std::function<Tensor(const Tensor&)>> functions[] = {
      {"a mask", [](const Tensor& x) { return index(x, {x > 0}).sum(); }},
      {"item", [](const Tensor& x) { return x / x.max().item<float>(); }},
      {"read", [](const Tensor& x) { return x * x.read<float>()[1]; }},
      {"a branch", [](const Tensor& x) { return x.sum().item<float>() > 3 ? x * 2 : x - 1; }},
      {"a loop",
       [](const Tensor& x) {
         Tensor y = x;
         for (int i = 0; i < 9 && (y * y).sum().item<float>() < 1000; ++i) y = y * 2;
         return y;
       }},
      {"draws in a branch", [](const Tensor& x) {
         const Tensor noise = x.sum().item<float>() > 2 ? randn({3}) : rand({3}) + rand({3});
         return x.max().item<float>() > 5 ? x + noise : x;
       }}};
  const Floats rows[] = {{1, -1, 2},  {1, 1, 2}, {-5, 5, 5}, {-1, -1, 7}, {-1, -1, 7},
                         {-1, -1, 7}, {1, 1, 2}, {1, -1, 2}, {1, -1, 2},  {1, -1, 2}};
  for (const auto& [what, f] : functions) {
    manual_seed(4);
    std::vector<Floats> wanted;
    for (const Floats& row : rows) wanted.push_back(f(of(row, {3})).read<float>());
    const std::uint64_t position = default_generator().position();
    manual_seed(4);
    TensorJit jit(f);
    for (std::size_t i = 0; i < std::size(rows); ++i)
      EXPECT_EQ(jit(of(rows[i], {3})).read<float>(), wanted[i]) << what << ", call " << i;
    EXPECT_EQ(default_generator().position(), position) << what;
    EXPECT_GT(jit.captured(), 0u) << what;
  }
}

TEST_F(JitOfTensors, LeavesChangeLocalsAndInputsAsTheFunctionDoes) {
  TensorJit local([](const Tensor& x) {
    Tensor sum = Tensor::zeros({2});
    sum += x;
    sum += sum;
    return sum + 0;
  });
  TensorJit in_place([](std::span<const Tensor> in) {
    Tensor x = in[0];
    x += in[1];
    return TensorJit::Tensors{x * 2};
  });
  Tensor moves = of({0, 0}, {2});
  for (int i = 1; i < 6; ++i) {
    const auto k = static_cast<float>(i);
    EXPECT_EQ(local(of({k, 1}, {2})).read<float>(), (Floats{2 * k, 2}));
    EXPECT_EQ(in_place(std::vector{moves, of({1, 2}, {2})})[0].read<float>(),
              (Floats{2 * k, 4 * k}));
    EXPECT_EQ(moves.read<float>(), (Floats{k, 2 * k}));
  }
  // A state that the function makes at its first call.
  std::optional<Tensor> made;
  TensorJit late([&](const Tensor& x) {
    if (!made) made = (x * 0).contiguous().realize();
    made->assign(*made + x);
    return *made * 1;
  });
  for (int i = 1; i < 7; ++i)
    EXPECT_EQ(late(of({1, 2}, {2})).read<float>()[1], static_cast<float>(2 * i));
}

TEST_F(JitOfTensors, GradientsAreThoseOfTheLastCall) {
  Tensor w = of({1, 2}, {2}), x = of({1, 1}, {2});
  w.set_requires_grad();
  TensorJit backward([&](const Tensor& in) {
    w.zero_grad();
    const Tensor loss = (w * in).square().sum();
    loss.backward();
    return loss;
  });
  TensorJit clears([&](const Tensor& in) {
    w.zero_grad();
    return in * w;
  });
  TensorJit adds([&](const Tensor& in) {
    (w * in * 2).sum().backward();
    return in * 2;
  });
  for (int i = 1; i < 6; ++i) {
    const auto k = static_cast<float>(i);
    backward(of({k, 1}, {2}));
    EXPECT_EQ(w.grad()->read<float>(), (Floats{2 * k * k, 4})) << i;
    clears(of({k, 1}, {2}));
    EXPECT_FALSE(w.grad().has_value()) << i;
    adds(of({k, 1}, {2}));
    EXPECT_EQ(w.grad()->read<float>(), (Floats{2 * k, 2})) << i;
    w.zero_grad();
  }
  w.set_grad(of({1, 1}, {2}));
  EXPECT_THAT(error_of([&] { adds(x); }), HasSubstr("call zero_grad() in the function"));
  // At inputs, too.
  TensorJit of_input([](const Tensor& in) {
    const Tensor loss = in.square().sum();
    loss.backward();
    return TensorJit::Tensors{gradients(in.square().sum(), {in})[0]}[0];
  });
  for (int i = 1; i < 5; ++i) {
    Tensor in = of({static_cast<float>(i), 1}, {2});
    in.set_requires_grad();
    EXPECT_EQ(of_input(in).read<float>(), (Floats{2 * static_cast<float>(i), 2}));
    EXPECT_EQ(in.grad()->read<float>(), (Floats{2 * static_cast<float>(i), 2}));
  }
}

TEST_F(JitOfTensors, EachModeHasItsOwnCapture) {
  const nn::BatchNorm norm(2);
  TensorJit jit([&](const Tensor& x) { return norm(x); });
  const Tensor x = of({1, 2, 3, 5}, {2, 2});
  const nn::BatchNorm beside(2);
  for (const bool trains : {true, true, true, false, false, false, true, false}) {
    const TrainingScope scope(trains);
    EXPECT_EQ(jit(x).read<float>(), beside(x).read<float>());
    EXPECT_EQ(norm.running_mean.read<float>(), beside.running_mean.read<float>());
  }
  TensorJit leaves([](const Tensor& in) {
    set_training(true);
    return in * 2;
  });
  EXPECT_THAT(error_of([&] { leaves(x); }), HasSubstr("leaves another mode"));
  set_training(false);
  TensorJit seeds([](const Tensor& in) {
    manual_seed(1);
    return in + randn({2, 2});
  });
  EXPECT_THAT(error_of([&] { seeds(x); }), HasSubstr("seeds a generator"));
}

// In a fresh thread, the function is the first user of its generators.
TEST_F(JitOfTensors, GeneratorsThatTheFunctionMakesAdvance) {
  std::set<Floats> seen;
  std::vector<Floats> drawn;
  std::thread([&] {
    TensorJit jit([](const Tensor& x) {
      static Generator kept(9);
      return x + randn({2}) * kept.normal({2});
    });
    for (int i = 0; i < 6; ++i) drawn.push_back(jit(of({1, 2}, {2})).read<float>());
  }).join();
  Generator first(0), second(9);
  for (const Floats& got : drawn)
    EXPECT_EQ(got, (of({1, 2}, {2}) + first.normal({2}) * second.normal({2})).read<float>());
}

TEST_F(JitOfTensors, OneInsideAnotherIsPartOfIt) {
  Tensor total = of({0, 0}, {2});
  TensorJit inner([&](const Tensor& in) {
    total.assign(total + in);
    return total * 2.0;
  });
  TensorJit outer([&](const Tensor& in) { return inner(in) + 1.0; });
  for (int i = 1; i < 5; ++i) {
    const auto k = static_cast<float>(i);
    EXPECT_EQ(outer(of({1, 2}, {2})).read<float>(), (Floats{2 * k + 1, 4 * k + 1}));
    EXPECT_EQ(total.read<float>(), (Floats{k, 2 * k}));
  }
}

}  // namespace
}  // namespace touchstone
