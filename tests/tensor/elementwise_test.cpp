#include <gtest/gtest.h>

#include <limits>

#include "tensor_check.h"

namespace touchstone {
namespace {

class Elementwise : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Elementwise);

TEST_P(Elementwise, MaximumMinimumAndWhere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a = make({1, 5, -2, nan}, {4}), b = make({3, 2, -2, 1}, {4});
  expect_near(maximum(a, b), {3, 5, -2, nan});
  expect_near(minimum(a, b), {1, 2, -2, nan});
  expect_near(maximum(a, 2), {2, 5, 2, nan});
  expect_near(minimum(a, 2), {1, 2, -2, nan});
  expect_near(Tensor::where(a < b, a, b), {1, 2, -2, 1});
  expect_near(Tensor::where(make({0, 1}, {2, 1}), make({1, 2}, {2}), make({7}, {1})), {7, 7, 1, 2});
}

TEST_P(Elementwise, IntegersDivideTowardsZeroAndKeepTheSignOfTheDividend) {
  const auto ints = [&](const std::vector<int>& v) {
    return Tensor::from<int>(v, {static_cast<std::int64_t>(v.size())}, device());
  };
  const Tensor a = ints({7, -7, 7, -7}), b = ints({2, 2, -2, -2});
  const int least = std::numeric_limits<int>::min();
  const Tensor quotient = a / b;
  EXPECT_EQ(quotient.dtype(), DType::Int32);
  expect_near({{quotient, {3, -3, -3, 3}},
               {mod(a, b), {1, -1, 1, -1}},
               {mod(a, 4), {3, -3, 3, -3}},
               {10 - a, {3, 17, 3, 17}},
               {minimum(ints({least, 3}), ints({5, -1})), {double(least), -1}},
               {ints({-3, 4}).abs(), {3, 4}},
               {Tensor::from<std::int8_t>({-128, -127}).abs(), {-128, 127}},
               {ints({0, 4}).logical_not(), {1, 0}}});
}

TEST_P(Elementwise, OperandsArePromotedAndNumbersFollowTheTensor) {
  const Tensor i8 = Tensor::from<std::int8_t>({1, 2}, {2}, device());
  const Tensor u8 = Tensor::from<std::uint8_t>({200, 3}, {2}, device());
  const Tensor f32 = Tensor::from<float>({0.5F, 1.5F}, {2}, device());
  const Tensor yes = Tensor::from<bool>({true, false}, {2}, device());
  const Tensor sum = i8 + u8, halves = i8 * 0.5;
  EXPECT_EQ(sum.dtype(), DType::Int16);
  EXPECT_EQ(halves.dtype(), DType::Float32);
  EXPECT_EQ((i8 * 2).dtype(), DType::Int8);
  EXPECT_EQ((yes + 1).dtype(), DType::Int32);
  EXPECT_EQ((f32 + 1).dtype(), DType::Float32);
  EXPECT_EQ(i8.exp().dtype(), DType::Float32);
  EXPECT_EQ((-yes).dtype(), DType::Bool);
  expect_near({{sum, {201, 5}},
               {i8 * f32, {0.5, 3}},
               {halves, {0.5, 1}},
               {yes + 1, {2, 1}},
               {-yes, {0, 1}}});
}

TEST_P(Elementwise, BroadcastingAlignsFromTheRight) {
  const Tensor column = make({1, 2, 3}, {3, 1}), row = make({10, 20}, {2});
  const Tensor both = column + row;
  EXPECT_EQ(both.shape(), (Shape{3, 2}));
  expect_near({{both, {11, 21, 12, 22, 13, 23}}, {both - make({1}, {}), {10, 20, 11, 21, 12, 22}}});
}

TEST_P(Elementwise, CastsConvertAndBitcastsDoNot) {
  const Tensor x = Tensor::from<float>({1.0F, -2.75F}, {2}, device());
  EXPECT_EQ(x.cast(DType::Int32).read<int>(), (std::vector{1, -2}));
  EXPECT_EQ(x.bitcast(DType::UInt32).read<std::uint32_t>(),
            (std::vector<std::uint32_t>{0x3f800000, 0xc0300000}));
}

TEST(TensorErrors, SayWhatDisagreesAndHowToMendIt) {
  register_devices();
  const Tensor a = Tensor::zeros({2, 3}), b = Tensor::zeros({4, 5});
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto says = [&](const auto& f, std::initializer_list<const char*> parts) {
    const std::string text = message(f);
    for (const char* part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" not in: " << text;
  };
  says([&] { a + b; }, {"(2, 3)", "(4, 5)", "reshape"});
  says([&] { a.matmul(b); }, {"(2, 3)", "(4, 5)", "transpose"});
  says([&] { a.reshape({4, -1}); }, {"(2, 3)", "4", "-1"});
  says([&] { a.reshape({-1, -1}); }, {"-1"});
  says([&] { a.expand({2, 4}); }, {"(2, 3)", "(2, 4)"});
  says([&] { a.squeeze(2); }, {"(2, 3)"});
  says([&] { a.sum({2}); }, {"axis 2", "(2, 3)"});
  says([&] { Tensor::cat({a, b}); }, {"(2, 3)", "(4, 5)"});
  says([&] { a.slice({{.step = 0}}); }, {"step"});
  says([&] { conv2d(a, b); }, {"(2, 3)", "(4, 5)", "cin"});
  says([&] { a.item<float>(); }, {"(2, 3)"});
  says([&] { a.read<int>(); }, {"float32", "int32"});
  says([&] { Tensor::from<float>({1, 2}, {3}); }, {"2 values", "(3,)"});
  says([&] { a.backward(); }, {"(2, 3)", "sum"});
  says([&] { a.sum().backward(); }, {"set_requires_grad"});
  says([&] { Tensor::zeros({2}, {.dtype = DType::Int8}).set_requires_grad(); }, {"int8"});
  Tensor t = Tensor::zeros({2, 3});
  says([&] { t.assign(b); }, {"(2, 3)", "(4, 5)"});
}

}  // namespace
}  // namespace touchstone
