// Cases beyond the NumPy programs: functions that NumPy lacks, long axes, positions outside,
// errors.
#include <gmock/gmock.h>

#include "tensor_check.h"

namespace touchstone {
namespace {

class Operations : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Operations);

Doubles each(const Doubles& x, double (*f)(double)) {
  Doubles out;
  for (const double v : x) out.push_back(f(v));
  return out;
}

TEST_P(Operations, ErfIsGoodToAFewUnitsInTheLastPlace) {
  Doubles x = some(400, -6.5, 6.5);
  for (const double v : {1e-300, -1e-9, 0.999999, 1.0, 1.000001, 5.9999, 6.0, 27.0, 1e300})
    x.push_back(v);
  x.insert(x.end(), {INFINITY, -INFINITY, NAN, -0.0});
  const Tensor t = make(x, {static_cast<std::int64_t>(x.size())});
  const Doubles got = t.erf().read<double>();
  const std::vector<float> narrow = t.cast(DType::Float32).erf().read<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = std::erf(x[i]);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(got[i]));
      continue;
    }
    EXPECT_NEAR(got[i], wanted, 8 * 2.3e-16 * std::abs(wanted)) << x[i];
    EXPECT_NEAR(narrow[i], wanted, 12 * 1.2e-7 * std::abs(wanted) + 1e-44) << x[i];
  }
  expect_near(t.narrow(0, 0, 9).cast(DType::Float16).erf(),
              each(read_doubles(t.narrow(0, 0, 9).cast(DType::Float16)),
                   [](double v) { return std::erf(v); }),
              1e-3);
}

TEST_P(Operations, ScansOfLongAxesEqualLoops) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 33, 255, 256, 257, 700, 4097}) {
    const Doubles x = some(2 * n, -1, 1, 3);
    const Tensor t = make(x, {2, n});
    Doubles sums, most, least;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool first = i % static_cast<std::size_t>(n) == 0;
      sums.push_back(x[i] + (first ? 0 : sums.back()));
      most.push_back(first ? x[i] : std::max(x[i], most.back()));
      least.push_back(first ? x[i] : std::min(x[i], least.back()));
    }
    expect_near({{t.cumsum(1), sums}, {t.cummax(1), most}, {t.cummin(-1), least}});
    // Along the first of two axes.
    const Tensor up = make(x, {2, n}).transpose().contiguous();
    expect_near({{up.cumsum(0).transpose(), sums}, {up.cummax(0).transpose(), most}});
    expect_near({{up.unsqueeze(0).cummin(1).squeeze(0).transpose(), least}});
  }
  const Doubles near_one = some(300, 0.98, 1.02, 4);
  Doubles products;
  for (const double v : near_one) products.push_back(v * (products.empty() ? 1 : products.back()));
  const Tensor t = make(near_one, {300});
  expect_near({{t.cumprod(0), products}, {t.prod(), {products.back()}}});
}

TEST_P(Operations, ScatterWritesInOrderOnce) {
  const Tensor x = make({1, 2, 3}, {3});
  const Tensor at = Tensor::from<std::int64_t>({-2, 1, -4, -1, 1}, {5}, device()) + 1;
  const Tensor source = make({10, 20, 30, 40, 50}, {5});
  expect_near({{take(x, at, 0), {3, 3, 1, 1, 3}},
               {gather(x, 0, at), {3, 3, 1, 1, 3}},
               {scatter(x, 0, at, source), {40, 2, 50}},
               {scatter_add(x, 0, at, source), {71, 2, 83}},
               {index(make({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}), {at, at}), {9, 9, 1, 1, 9}}});
  EXPECT_EQ(scatter(x, 0, at.shrink({{0, 0}}), source.shrink({{0, 0}})).read<double>(),
            (Doubles{1, 2, 3}));
  // The last of several writes counts; NaN elsewhere is harmless.
  const Tensor twice = Tensor::from<int>({1, 1, 0}, {3}, device());
  expect_near(
      {{scatter(make({NAN, 0, INFINITY}, {3}), 0, twice, make({7, 8, 9}, {3})), {9, 8, INFINITY}},
       {take(make({NAN, 5, INFINITY}, {3}), twice, 0), {5, 5, NAN}}});
}

TEST_P(Operations, TopkAndNonzero) {
  const Tensor x = make({3, NAN, 5, 5, -INFINITY, 1}, {6});
  const Sorted top = topk(x, 3);
  EXPECT_EQ(top.indices.read<int>(), (std::vector{1, 2, 3}));
  expect_near(top.values, {NAN, 5, 5});
  EXPECT_EQ(topk(x, 2, 0, Order::Ascending).indices.read<int>(), (std::vector{4, 5}));
  EXPECT_EQ(topk(x, 0).values.shape(), (Shape{0}));
  EXPECT_EQ(nonzero(make({0, 2, NAN, 0}, {2, 2})).read<std::int64_t>(),
            (std::vector<std::int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(nonzero(make({3}, {})).shape(), (Shape{1, 0}));
}

TEST_P(Operations, InterpolationIsThatOfPyTorch) {
  const Tensor x = make({1, 2, 4}, {1, 1, 3});
  expect_near({{interpolate(x, {6}), {1, 1, 2, 2, 4, 4}},
               {interpolate(x, {2}), {1, 2}},
               {interpolate(x, {6}, Interpolation::Linear), {1, 1.25, 1.75, 2.5, 3.5, 4}},
               {interpolate(x, {5}, Interpolation::Linear, AlignCorners::Yes), {1, 1.5, 2, 3, 4}},
               {interpolate(x, {1}, Interpolation::Linear, AlignCorners::Yes), {1}}});
}

TEST_P(Operations, LossesEqualTheirFormulas) {
  const Tensor x = make({0.2, 0.9}, {2}), y = make({0, 1}, {2});
  const Tensor far = make({-2, 0.5}, {2});
  expect_near({{mse_loss(x, y), {0.025}},
               {l1_loss(x, y, Reduction::Sum), {0.3}},
               {huber_loss(far, y, 1, Reduction::None), {1.5, 0.125}},
               {binary_cross_entropy(x, y, Reduction::None), {-std::log(0.8), -std::log(0.9)}},
               {binary_cross_entropy(y, y), {0}},
               {binary_cross_entropy(y, 1 - y), {100}},
               {binary_cross_entropy_with_logits(make({-800, 800}, {2}), y, Reduction::Sum), {0}},
               {nll_loss(make({1, 2, 3, 4}, {2, 2}), Tensor::from<int>({1, 0}, {2}, device()),
                         Reduction::Sum),
                {-5}}});
}

TEST_P(Operations, AttentionMixesWhatTheMaskAllows) {
  const Tensor q = make({0, 0, 0, 0}, {2, 2}), v = make({1, 3, 8}, {3, 1});
  const Tensor k = make(some(6), {3, 2});  // zero queries weight all keys equally
  const Tensor mask = Tensor::from<bool>({true, false, true, false, false, true}, {2, 3}, device());
  expect_near({{scaled_dot_product_attention(q, k, v), {4, 4}},
               {scaled_dot_product_attention(q, k, v, {.mask = mask}), {4.5, 8}},
               {scaled_dot_product_attention(q, k, v, {.causal = true}), {1, 2}},
               {scaled_dot_product_attention(q, k, v, {.mask = make({-INFINITY, 0, 0}, {3})}),
                {5.5, 5.5}}});
}

TEST_P(Operations, OfEmptyTensorsHaveTheirShapes) {
  const Tensor x = make({}, {0, 3});
  EXPECT_EQ(x.sum({0}).read<double>(), (Doubles{0, 0, 0}));
  EXPECT_EQ(x.prod({0}).read<double>(), (Doubles{1, 1, 1}));
  EXPECT_EQ(x.all().read<bool>(), std::vector{true});
  EXPECT_TRUE(std::isnan(x.mean().item<double>()));
  EXPECT_EQ(x.cumsum(0).shape(), x.shape());
  EXPECT_EQ(sort(x, 0).values.shape(), x.shape());
  EXPECT_EQ(x.matmul(make({}, {3, 0})).shape(), (Shape{0, 0}));
  EXPECT_EQ(x.transpose().matmul(x).read<double>(), Doubles(9, 0));
  EXPECT_EQ(Tensor::cat({x, make({1, 2, 3}, {1, 3})}).read<double>(), (Doubles{1, 2, 3}));
  EXPECT_EQ(take(x, std::vector<std::int64_t>{}, 1).shape(), (Shape{0, 0}));
  Tensor leaf = make({}, {0});
  leaf.set_requires_grad();
  (leaf.exp().sum() + leaf.prod()).backward();
  EXPECT_EQ(leaf.grad()->shape(), (Shape{0}));
}

TEST(Creation, LinspaceAndRandomIntegers) {
  register_devices();
  EXPECT_EQ(Tensor::linspace(0, 1, 5, {DType::Float64, "CPU"}).read<double>(),
            (Doubles{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(Tensor::linspace(0.1, 0.7, 4, {DType::Float64, "CPU"}).read<double>().back(), 0.7);
  EXPECT_EQ(Tensor::linspace(3, 9, 1).read<float>(), std::vector{3.0F});
  EXPECT_EQ(Tensor::linspace(3, 9, 0).shape(), (Shape{0}));
  Generator generator(4);
  std::vector<int> counts(6);
  for (const int v : generator.randint({6000}, -2, 4).read<int>())
    ++counts.at(static_cast<std::size_t>(v + 2));
  for (const int c : counts) EXPECT_NEAR(c, 1000, 150);
  EXPECT_THROW(generator.randint({2}, 3, 3), Error);
  EXPECT_THROW(generator.randint({2}, 0, 300, {DType::Int8, "CPU"}), DTypeError);
  const Doubles drawn = read_doubles(generator.glorot_uniform({40, 20, 3}));
  EXPECT_LE(std::ranges::max(drawn), std::sqrt(6.0 / 180));
  EXPECT_GE(std::ranges::max(drawn), 0.9 * std::sqrt(6.0 / 180));
  const Doubles he = read_doubles(generator.kaiming_normal({100, 50}).square().mean());
  EXPECT_NEAR(he[0], 2.0 / 50, 0.004);
  EXPECT_THROW(generator.kaiming_uniform({3}), ShapeError);
}

TEST(HigherGradients, AreThoseOfThePolynomial) {
  register_devices();
  Tensor x = Tensor::from<double>({2, -1}, {2});
  x.set_requires_grad();
  Tensor derivative = x.pow(5);
  Doubles factor = {1, 5, 20, 60, 120};
  for (int order = 1; order <= 4; ++order) {
    derivative = gradients(derivative.sum(), {x}, CreateGraph::Yes)[0];
    const double f = factor[static_cast<std::size_t>(order)];
    expect_near(derivative, {f * std::pow(2, 5 - order), f * std::pow(-1, 5 - order)});
  }
  EXPECT_FALSE(x.grad().has_value());
}

TEST(HigherGradients, OfWhatIsNotThereAreZeros) {
  register_devices();
  Tensor x = Tensor::from<double>({2}, {1}), other = Tensor::from<double>({3, 4}, {2});
  x.set_requires_grad();
  other.set_requires_grad();
  const Tensor y = x.square();
  expect_near(gradients(y, {other, x, y})[0], {0, 0});
  expect_near(gradients(y, {other, x, y})[1], {4});
  expect_near(gradients(y, {y})[0], {1});
  expect_near(gradients(other * 3, {other}, CreateGraph::No, Tensor::from<double>({1, 10}, {2}))[0],
              {3, 30});
  // The earlier values count; a graph of them is not available.
  x.assign(Tensor::from<double>({7}, {1}));
  expect_near(gradients(y, {x})[0], {4});
  EXPECT_THROW(gradients(y, {x}, CreateGraph::Yes), Error);
}

TEST(OperationErrors, SayWhatAndHowToMendIt) {
  register_devices();
  const Tensor x = Tensor::zeros({2, 3}), ints = Tensor::arange(0, 3), scalar = Tensor::full({}, 1);
  Tensor leaf = Tensor::zeros({2, 3});
  leaf.set_requires_grad();
  struct Case {
    std::function<void()> act;
    const char* part;
  };
  const std::vector<Case> cases = {
      {[&] { x.narrow(1, 2, 2); }, "axis 1 of shape (2, 3)"},
      {[&] {
         x.split({1, 1}, 1);
       },
       "1 + 1 do not add up to 3"},
      {[&] { x.split(0); }, "use 1 or more"},
      {[&] { x.chunk(0); }, "use 1 or more"},
      {[&] { x.repeat({2}); }, "one number of 0 or more per axis"},
      {[&] { x.unfold(1, 4); }, "does not fit axis 1 of shape (2, 3)"},
      {[&] { x.unfold(1, 1, 0); }, "all three are 1 or more"},
      {[&] { ints.triu(); }, "no rows and columns"},
      {[&] { x.diagonal(1, -1); }, "are the same"},
      {[&] {
         x.pad({{0, 0}}, PadMode::Reflect);
       },
       "one pair per axis"},
      {[&] {
         x.pad({{2, 0}, {0, 0}}, PadMode::Reflect);
       },
       "has 1 to give"},
      {[&] {
         x.pad({{0, 0}, {0, -1}}, PadMode::Circular);
       },
       "-1 after axis 1"},
      {[&] { x.cumsum(2); }, "axis 2 is outside"},
      {[&] {
         Tensor::zeros({2, 0}).argmax(1);
       },
       "is empty"},
      {[&] { Tensor::linspace(0, 1, -1); }, "use 0 or more"},
      {[&] {
         Tensor::linspace(0, 1, 2, {DType::Int32, "CPU"});
       },
       "not int32"},
      {[&] { einsum("ij,jk->ik", {x}); }, "2 operands are named, but 1 given"},
      {[&] { einsum("ijk", {x}); }, "has 2 axes, 'ijk' names 3"},
      {[&] { einsum("ii", {x}); }, "'i' is 2 and 3"},
      {[&] {
         einsum("ij,ij", {x, Tensor::zeros({2, 4})});
       },
       "'j' is 3 and 4"},
      {[&] { einsum("ij->ik", {x}); }, "no operand has 'k'"},
      {[&] { einsum("ij->ii", {x}); }, "is given twice in the result"},
      {[&] { einsum("i+j", {x}); }, "'+' is not a letter"},
      {[&] { einsum("...j->j", {x}); }, "lacks the '...'"},
      {[&] { einsum("", {x}); }, "names 0"},
      {[&] { take(x, {3}, 1); }, "position 3 is outside axis 1"},
      {[&] { take(x, x, 1); }, "expected integers"},
      {[&] {
         take(x, Tensor::from<std::int8_t>({0, 3, 1}, {3}), 1);
       },
       "index: position 3 is outside an axis of 3 elements of shape (2, 3)"},
      {[&] { index(x, {Tensor::from<std::int64_t>({-3}, {1})}); }, "position -3 is outside"},
      {[&] {
         gather(x, 1, Tensor::full({2, 2}, 9, {DType::UInt64, "CPU"}));
       },
       "gather: position 9 is outside an axis of 3"},
      {[&] {
         scatter_add(x, 1, Tensor::from<int>({0, 1, -4, 0}, {2, 2}), x.shrink({{0, 2}, {0, 2}}));
       },
       "scatter_add: position -4"},
      {[&] {
         index(x, {0, 1, 2});
       },
       "3 axes and 0 ellipses"},
      {[&] {
         index(x, {kEllipsis, kEllipsis});
       },
       "2 ellipses"},
      {[&] { index(x, {-3}); }, "position -3 is outside an axis of 2"},
      {[&] { index(x, {ints == 0}); }, "a mask of shape (3,)"},
      {[&] { index(x, {Slice{.step = 0}}); }, "step is 0"},
      {[&] { gather(x, 0, ints); }, "expected the same rank"},
      {[&] {
         gather(x, 1, Tensor::zeros({3, 1}, {DType::Int32, "CPU"}));
       },
       "sizes of at most those"},
      {[&] {
         scatter(x, 1, Tensor::zeros({2, 1}, {DType::Int32, "CPU"}), x);
       },
       "a source of shape (2, 3)"},
      {[&] {
         scatter_add(x, 0, Tensor::zeros({2, 3}, {DType::Int32, "CPU"}), x.cast(DType::Float64));
       },
       "cast it"},
      {[&] { topk(x, 4); }, "expected 0 to 3"},
      {[&] { sort(scalar); }, "axis -1 is outside"},
      {[&] { one_hot(ints, -1); }, "0 or more classes"},
      {[&] { conv1d(x, x); }, "(n, cin, size)"},
      {[&] {
         conv(Tensor::zeros({1, 3, 4}), Tensor::zeros({2, 3, 2}), std::nullopt, {.groups = 2});
       },
       "in 2 group(s)"},
      {[&] {
         conv(Tensor::zeros({1, 3, 4}), Tensor::zeros({2, 3, 2}), std::nullopt, {.stride = {1, 2}});
       },
       "one number, or one per axis"},
      {[&] {
         conv(Tensor::zeros({1, 3, 4}), Tensor::zeros({2, 3, 2}), std::nullopt, {.padding = {-3}});
       },
       "removes more than the size"},
      {[&] {
         conv(Tensor::zeros({1, 3, 4}), Tensor::zeros({2, 3, 2}), Tensor::zeros({3}));
       },
       "expected (2)"},
      {[&] {
         conv_transpose(Tensor::zeros({1, 2, 1}), Tensor::zeros({2, 1, 1}), std::nullopt,
                        {.padding = {1}});
       },
       "leaves nothing"},
      {[&] {
         conv_transpose(Tensor::zeros({1, 2, 1}), Tensor::zeros({2, 1, 1}), std::nullopt,
                        {.output_padding = {1}});
       },
       "output_padding 1"},
      {[&] {
         max_pool(x, {2, 2}, {.padding = {2}});
       },
       "more than half"},
      {[&] { avg_pool(scalar, {2}); }, "has no 1 axes"},
      {[&] { interpolate(x, {0}); }, "both sizes are 1 or more"},
      {[&] { layer_norm(x, 3); }, "expected 1 to 2"},
      {[&] { group_norm(x, 2); }, "groups that divide"},
      {[&] { batch_norm(x, scalar, scalar); }, "(channels)"},
      {[&] { scaled_dot_product_attention(x, x.transpose(), x); }, "(..., keys, size)"},
      {[&] { mse_loss(x, ints); }, "differ"},
      {[&] { huber_loss(x, x, 0); }, "above 0"},
      {[&] {
         x.unflatten(1, {2, 2});
       },
       "(2, 2, 2)"},
      {[&] { gradients(x, {x}); }, "reduce it to one"},
      {[&] { gradients(scalar.cast(DType::Float32), {x}); }, "set_requires_grad"},
      {[&] { leaf.exp().backward(ints); }, "a gradient of shape (3,)"},
      {[&] { leaf.exp().backward(x.cast(DType::Float64)); }, "cast it"},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    std::string said;
    try {
      cases[i].act();
    } catch (const Error& e) {
      said = e.what();
    }
    EXPECT_THAT(said, ::testing::HasSubstr(cases[i].part));
  }
}

}  // namespace
}  // namespace touchstone
