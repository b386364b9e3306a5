// Tensors on several devices against one device.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/optim.h"

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;
using Doubles = std::vector<double>;

class Multi : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_interpreted_device();
    register_clang_device();
  }
  static Names on(int n, const std::string& kind = "CPU") {
    Names all;
    for (int i = 0; i < n; ++i) all.push_back(kind + ":" + std::to_string(i));
    return all;
  }
  // Small integers over 8, whose sums are exact in any order.
  static Tensor make(const Shape& shape, int seed, const std::string& device = "CPU") {
    std::vector<float> values;
    std::int64_t n = 1;
    for (const sint& s : shape) n *= s.as_int();
    for (std::int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<float>((i * 7 + seed * 5) % 17 - 8) / 8);
    return Tensor::from(values, shape, device);
  }
  static Doubles values(const Tensor& x) {
    const std::vector<float> all = x.cast(DType::Float32).read<float>();
    return {all.begin(), all.end()};
  }
  static void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
    ASSERT_EQ(a.shape(), b.shape());
    const Doubles x = values(a), y = values(b);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], tolerance) << i;
  }
};

TEST_F(Multi, IsOnItsDevicesInPartOrWhole) {
  const Tensor x = make({6, 12}, 1);
  const Tensor rows = x.shard(on(3), 0), columns = x.shard(on(2), -1), all = x.to(on(2));
  EXPECT_EQ(rows.devices(), (Names{"CPU", "CPU:1", "CPU:2"}));
  EXPECT_EQ(rows.shard_axis(), 0);
  EXPECT_EQ(columns.shard_axis(), 1);
  EXPECT_EQ(all.shard_axis(), std::nullopt);
  EXPECT_EQ(x.to({"CPU", "CPU:1"}).device(), "CPU,CPU:1");
  for (const Tensor& t : {rows, columns, all}) EXPECT_EQ(values(t), values(x));
  EXPECT_EQ(make({6, 12}, 2).shard_like(rows).shard_axis(), 0);
  EXPECT_EQ(rows.shard_like(x).device(), "CPU");
  EXPECT_EQ(values(rows.shard(on(3), 1)), values(x));
  EXPECT_EQ(rows.to(on(3)).shard_axis(), std::nullopt);
}

TEST_F(Multi, CopiesAreRealCopiesOfEachDevice) {
  for (const char* kind : {"CPU", "CLANG"}) {
    const Tensor x = make({4, 2}, 1).shard(on(2, kind), 0).contiguous().realize();
    const std::vector<LazyBufferPtr>& parts = x.lazy()->parts();
    ASSERT_EQ(parts.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      const Buffer& part = *parts[i]->realized();
      EXPECT_EQ(part.device().name(),
                Device::canonical(std::string(kind) + ":" + std::to_string(i)));
      EXPECT_EQ(part.size(), 4);
    }
    EXPECT_NE(parts[0]->realized()->memory(), parts[1]->realized()->memory());
    const Tensor all = make({3}, 1).to(on(3, kind)).contiguous().realize();
    const auto first = all.lazy()->parts()[0]->realized(),
               last = all.lazy()->parts()[2]->realized();
    first->write<float>(std::vector<float>{7, 7, 7});
    EXPECT_EQ(last->read<float>()[0], make({3}, 1).read<float>()[0]);  // the others keep theirs
  }
}

TEST_F(Multi, ComputesAsOneDeviceDoes) {
  const Tensor x = make({6, 4}, 1), y = make({6, 4}, 2), w = make({4, 5}, 3);
  for (const char* kind : {"CPU", "CLANG"})
    for (const int axis : {0, 1}) {
      const Tensor a = x.shard(on(2, kind), axis), b = y.shard(on(2, kind), 1 - axis);
      EXPECT_EQ(values(a + b), values(x + y));
      EXPECT_EQ(values(a * 2 - b.sum()), values(x * 2 - y.sum()));
      EXPECT_EQ(values(a.matmul(w.to(on(2, kind)))), values(x.matmul(w)));
      EXPECT_EQ(values(a.max({0})), values(x.max({0})));
      EXPECT_EQ(values(a.permute({1, 0}).flip({axis})), values(x.permute({1, 0}).flip({axis})));
      expect_near(softmax(a), softmax(x));
    }
  EXPECT_EQ(values(Tensor::cat({x.shard(on(2), 0), y.to(on(2))}, 1)),
            values(Tensor::cat({x, y}, 1)));
}

// y = relu(x w1) w2, with the batch sharded, or the weights' columns and rows.
TEST_F(Multi, GradientsOfDataAndTensorParallelLayers) {
  const auto grads = [](Tensor x, Tensor w1, Tensor w2) {
    for (Tensor* t : {&x, &w1, &w2}) t->set_requires_grad();
    (x.matmul(w1).relu().matmul(w2).square().mean()).backward();
    return std::vector{*x.grad(), *w1.grad(), *w2.grad()};
  };
  const Tensor x = make({6, 4}, 1), w1 = make({4, 6}, 2), w2 = make({6, 2}, 3);
  const std::vector<Tensor> one = grads(x, w1, w2);
  for (const int n : {2, 3}) {
    const Names all = on(n);
    const std::vector<Tensor> data =
        grads(x.shard(all, 0).detach(), w1.to(all).detach(), w2.to(all).detach());
    const std::vector<Tensor> tensor =
        grads(x.to(all).detach(), w1.shard(all, 1).detach(), w2.shard(all, 0).detach());
    for (std::size_t i = 0; i < 3; ++i) {
      expect_near(data[i], one[i]);
      expect_near(tensor[i], one[i]);
    }
    EXPECT_EQ(data[0].shard_axis(), 0);
    EXPECT_EQ(data[1].shard_axis(), std::nullopt);
    EXPECT_EQ(tensor[1].shard_axis(), 1);
    EXPECT_EQ(tensor[2].shard_axis(), 0);
  }
}

// Loss and gradients of a network placed by `place`, with inputs placed by `put`.
template <class Net, class Place>
std::vector<Tensor> loss_and_gradients(const Net& net, const Tensor& x, const Tensor& labels,
                                       const Place& place) {
  for (nn::NamedTensor& p : net.named_parameters()) place(p.name, p.tensor);
  const Tensor loss = cross_entropy(net(x), labels);
  loss.backward();
  std::vector<Tensor> all{loss};
  for (const Tensor& p : net.parameters()) all.push_back(*p.grad());
  return all;
}

TEST_F(Multi, ConvolutionsLearnOnPartsOfABatch) {
  const auto net = [] {
    Generator generator(3);
    return models::DigitsNet(generator);
  };
  const Tensor x = make({6, 1, 8, 8}, 1), labels = Tensor::from<std::int32_t>({1, 0, 9, 3, 3, 7});
  const auto one = loss_and_gradients(net(), x, labels, [](const std::string&, const Tensor&) {});
  for (const int n : {2, 3}) {
    const Names all = on(n);
    const auto data =
        loss_and_gradients(net(), x.shard(all, 0), labels.shard(all, 0),
                           [&](const std::string&, Tensor& p) { p.to_(Device::tuple(all)); });
    for (std::size_t i = 0; i < one.size(); ++i) expect_near(data[i], one[i], 1e-4);
  }
}

// The batch sharded, or attention heads and the width of the following layers.
TEST_F(Multi, AGptLearnsInPartsOfItsBatchOrOfItsWidth) {
  const auto net = [] {
    Generator generator(3);
    return models::Gpt({.vocabulary = 12, .context = 4, .width = 8, .heads = 4, .layers = 1},
                       generator);
  };
  struct Flat {  // (n, tokens) -> (n tokens, vocabulary)
    models::Gpt net;
    Tensor operator()(const Tensor& x) const { return net(x).reshape({-1, 12}); }
    auto named_parameters() const { return net.named_parameters(); }
    auto parameters() const { return net.parameters(); }
  };
  const Tensor x =
      Tensor::from<std::int32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0}).reshape({-1, 4});
  const Tensor tokens = Tensor::cat({x, x.flip({0}).slice({{0, 1}})}, 0).contiguous();
  const Tensor labels = Tensor::cat({tokens.flip({1})}, 0).reshape({-1}).contiguous();
  const auto one =
      loss_and_gradients(Flat{net()}, tokens, labels, [](const std::string&, const Tensor&) {});
  const Names all = on(2);
  const auto data =
      loss_and_gradients(Flat{net()}, tokens.shard(all, 0), labels.shard(all, 0),
                         [&](const std::string&, Tensor& p) { p.to_(Device::tuple(all)); });
  const auto width = loss_and_gradients(
      Flat{net()}, tokens.to(all), labels.to(all), [&](const std::string& name, Tensor& p) {
        const auto is = [&](const char* part) { return name.find(part) != std::string::npos; };
        if (is("query") || is("key") || is("value") || is("widen"))
          p.shard_(all, 0);
        else if (is("out.weight") || is("narrow.weight"))
          p.shard_(all, 1);
        else
          p.to_(Device::tuple(all));
      });
  for (std::size_t i = 0; i < one.size(); ++i) {
    expect_near(data[i], one[i], 1e-4);
    expect_near(width[i], one[i], 1e-4);
  }
}

// Through shard(), to() and shard_like() back to one device.
TEST_F(Multi, GradientsPassPlacements) {
  Tensor x = make({4, 2}, 1);
  x.set_requires_grad();
  const Tensor other = make({4, 2}, 2).shard(on(2), 1);
  const Tensor there = x.shard(on(2), 0) * 3 + x.to(on(2)).shard_like(other) * other;
  (there.to("CPU:1") * 2).sum().backward();
  EXPECT_EQ(x.grad()->device(), "CPU");
  expect_near(*x.grad(), make({4, 2}, 2) * 2 + 6);
}

template <class Make>
void follows(const Make& make_optimizer, const Tensor& start, const Tensor& by,
             const std::function<Tensor(const Tensor&)>& place, std::optional<int> axis) {
  Tensor one = start.detach().contiguous(), several = place(start).detach().contiguous();
  const Tensor c = by, d = by.to(several.device());
  for (Tensor* p : {&one, &several}) p->set_requires_grad();
  auto a = make_optimizer(one);
  auto b = make_optimizer(several);
  for (int step = 0; step < 3; ++step) {
    a.zero_grad();
    b.zero_grad();
    (c * one.square()).sum().backward();
    (d * several.square()).sum().backward();
    a.step();
    b.step();
    EXPECT_EQ(several.shard_axis(), axis);
    for (const auto& [name, tensor] : b.state()) {
      if (tensor.shape() != start.shape()) continue;
      EXPECT_EQ(tensor.shard_axis(), axis) << name;
    }
  }
  const std::vector<float> x = one.read<float>(), y = several.read<float>();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5);
}

TEST_F(Multi, OptimizersKeepStateShardedAsItsParameter) {
  const Tensor start = make({4, 6}, 1), by = make({4, 6}, 2);
  for (const int axis : {-1, 0, 1}) {
    const auto place = [&](const Tensor& t) {
      return axis < 0 ? t.to(on(2)) : t.shard(on(2), axis);
    };
    const std::optional<int> along = axis < 0 ? std::nullopt : std::optional(axis);
    follows([](const Tensor& p) { return optim::SGD({p}, 0.1, 0.9, 0.1); }, start, by, place,
            along);
    follows([](const Tensor& p) { return optim::Adam({p}, 0.01); }, start, by, place, along);
    follows([](const Tensor& p) { return optim::AdamW({p}, 0.01); }, start, by, place, along);
    follows([](const Tensor& p) { return optim::LAMB({p}, 0.01); }, start, by, place, along);
  }
}

TEST_F(Multi, StateIsSavedWholeAndLoadedInParts) {
  const auto path = std::filesystem::temp_directory_path() / "touchstone_multi_test.safetensors";
  const Tensor x = make({4, 6}, 1);
  nn::save_state(path, {{"w", x.shard(on(3), 1)}});
  Tensor into = Tensor::zeros({4, 6}).shard(on(2), 0);
  nn::load_state(path, {{"w", into}});
  EXPECT_EQ(into.shard_axis(), 0);
  EXPECT_EQ(values(into), values(x));
  std::filesystem::remove(path);
}

TEST_F(Multi, RowsOfPartsAndWhatIsNotWritten) {
  const Tensor table = make({5, 3}, 1), at = Tensor::from<std::int64_t>({4, 0, 2, 2}, {4});
  EXPECT_EQ(values(take(table.to(on(2)), at.shard(on(2), 0), 0)), values(take(table, at, 0)));
  EXPECT_EQ(Tensor::empty({2}, {DType::Float32, "CPU,CPU:1"}).devices().size(), 2U);
}

TEST_F(Multi, MoreStepsAfterItsValuesAreThere) {
  const Tensor x = make({4, 6}, 1), a = x.shard(on(2), 0);
  a.realize();
  EXPECT_EQ(values(a.reshape({2, 2, 6}).sum({1})), values(x.reshape({2, 2, 6}).sum({1})));
  const Tensor b = (a + 1).contiguous().realize();
  EXPECT_EQ(values(b * a), values((x + 1) * x));
  EXPECT_EQ(values(b.to("CPU:1")), values(x + 1));
  EXPECT_EQ(values(x), values(a));
}

TEST_F(Multi, UnderEverySchedulerAndSwitch) {
  const Tensor x = make({4, 6}, 1);
  for (const Scheduler scheduler :
       {Scheduler::Lazy, Scheduler::Kernelize, Scheduler::Ranges, Scheduler::Check})
    for (const bool lazy : {true, false}) {
      Config config;
      config.scheduler = scheduler;
      config.lazy = lazy;
      const ConfigScope scope(config);
      const Tensor a = x.shard(on(2), 1);
      EXPECT_EQ(values((a - a.max({1}, KeepDim::Yes)).sum({0})),
                values((x - x.max({1}, KeepDim::Yes)).sum({0})));
    }
}

TEST_F(Multi, RefusesWhatCannotBe) {
  const Tensor x = make({4, 6}, 1), a = x.shard(on(2), 0);
  const auto why = [](const auto& f) { return error_of([&] { f(); }); };
  EXPECT_THAT(why([&] { x.shard(on(3), 0); }),
              HasSubstr("multi axis uneven: axis 0 of (4, 6) does not divide into 3 shards"));
  EXPECT_THAT(why([&] { x.shard(on(2), 2); }), HasSubstr("axis 2 is outside [-2, 2)"));
  EXPECT_THAT(why([&] { x.shard({"CPU", "cpu:0"}, 0); }), HasSubstr("CPU is given twice"));
  EXPECT_THAT(why([&] { x.to({"CPU:1", "CPU:1"}); }), HasSubstr("CPU:1 is given twice"));
  EXPECT_THAT(why([&] { x.to(Names{}); }), HasSubstr("none given"));
  EXPECT_THAT(why([&] { x.to({"CPU", "NOWHERE"}); }), HasSubstr("there is no device 'NOWHERE'"));
  EXPECT_THAT(why([&] { x.to({"CPU", "CPU@1"}); }), HasSubstr("(mpirun -n)"));
  EXPECT_THAT(why([&] { x.to({"CPU", "DISK:f"}); }), HasSubstr("is a file"));
  EXPECT_THAT(why([&] { (void)(a + x); }), HasSubstr("sources are on CPU,CPU:1 and CPU"));
  EXPECT_THAT(why([&] { (void)(a + x.to(on(3))); }), HasSubstr("copy one to the other device"));
  EXPECT_THAT(why([&] { (void)(a + x.to({"CPU:1", "CPU"})); }), HasSubstr("copy one"));
  EXPECT_THAT(why([&] { a.reshape({3, 8}); }), HasSubstr("cannot move items between shards"));
  EXPECT_THAT(why([&] { a.pad({{1, 0}, {0, 0}}); }), HasSubstr("cannot be padded"));
  EXPECT_THAT(why([&] { a.flip({0}); }), HasSubstr("cannot be flipped"));
  EXPECT_THAT(why([&] { a.shrink({{0, 3}, {0, 6}}); }), HasSubstr("is not a shard"));
  EXPECT_EQ(values(a.shrink({{2, 4}, {0, 6}})), values(x.shrink({{2, 4}, {0, 6}})));
  EXPECT_THAT(why([&] { Tensor(a.lazy()).assign(x.to(on(2))); }), HasSubstr("different axes"));
  EXPECT_THAT(why([&] { Tensor(a.lazy()).shard_(on(2), 7); }), HasSubstr("axis 7"));
  Tensor moved = make({4, 6}, 1);
  EXPECT_EQ(values(moved.shard_(on(2), 1)), values(x));
  EXPECT_EQ(moved.shard_axis(), 1);
}

// A jit's replayed training steps give the bits of scheduled ones.
TEST_F(Multi, JitsReplaySeveralDevices) {
  for (const int axis : {-1, 1}) {
    const auto trained = [&](bool jit) {
      const Names all = on(2);
      Tensor w = axis < 0 ? make({6, 4}, 2).to(all).contiguous() : make({6, 4}, 2).shard(all, axis);
      w = w.detach().contiguous();
      w.set_requires_grad();
      optim::Adam adam({w}, 0.01);
      const auto step = [&](const Tensor& x) {
        adam.zero_grad();
        const Tensor loss = x.matmul(w).relu().square().mean();
        loss.backward();
        adam.step({loss});
        return loss;
      };
      TensorJit replayed([&](std::span<const Tensor> given) {
        return TensorJit::Tensors{step(given[0]), w * 2};
      });
      std::vector<Doubles> seen;
      for (int i = 0; i < 5; ++i) {
        const Tensor x = (axis < 0 ? make({4, 6}, i).shard(all, 0) : make({4, 6}, i).to(all));
        if (jit) {
          const std::vector<Tensor> in{x};
          const TensorJit::Tensors made = replayed(std::span(in));
          EXPECT_EQ(made[1].shard_axis(), w.shard_axis());
          seen.push_back(values(made[0]));
        } else {
          seen.push_back(values(step(x)));
        }
        seen.push_back(values(w));
      }
      EXPECT_TRUE(!jit || replayed.captured() > 10);
      return seen;
    };
    EXPECT_EQ(trained(true), trained(false)) << axis;
  }
  TensorJit other([](std::span<const Tensor> all) { return TensorJit::Tensors{all[0] + 1}; });
  const Tensor x = make({4, 6}, 1);
  for (int i = 0; i < 3; ++i) (void)other({x.shard(on(2), 0).contiguous()});
  EXPECT_THAT(error_of([&] { (void)other({x.shard(on(2), 1).contiguous()}); }),
              HasSubstr("sharded differently"));
  EXPECT_THAT(error_of([&] { (void)other({x.contiguous()}); }), HasSubstr("on other devices"));
}

TEST_F(Multi, TensorsWithoutElements) {
  const Tensor none = Tensor::zeros({0, 4}).shard(on(2), 0);
  EXPECT_EQ(none.sum().item<float>(), 0);
  EXPECT_EQ((none + 1).shape(), (Shape{0, 4}));
}

}  // namespace
}  // namespace touchstone
