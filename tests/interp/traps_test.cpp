#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "scalar_reference.h"
#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/bits.h"
#include "touchstone/interp/device/scalar_ops.h"

// Known traps of other implementations, one test each, on the devices. float_control_test.cpp tests
// fast-math objects, builds/ tests that scalars do not depend on compilation.

namespace touchstone {
namespace {

using test::buffer;
using test::same;
using test::show;

constexpr float kTrapInf = std::numeric_limits<float>::infinity();
constexpr float kTrapNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
LazyOpPtr operand(int idx, const std::vector<T>& values) {
  return LazyOp::load(idx, dtype_v<T>,
                      ShapeTracker::contiguous({static_cast<std::int64_t>(values.size())}));
}

// Eigen's vector square root misrounds, maps infinity to NaN and -0 to +0, and its body and tail
// differ: 67 adjacent elements must equal the scalar function's.
TEST(Traps, NoFunctionIsEigensOwn) {
  test::TracedDraws random(23);
  std::vector<float> in{kTrapInf, -0.0F,     0.0F,
                        kTrapNan, 0x1p-149F, std::numeric_limits<float>::max()};
  while (in.size() < 67 * 64)
    in.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()) & 0x7fffffff));
  for (std::size_t size : {std::size_t{67}, in.size()}) {
    const std::vector<float> part(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(size));
    const auto check = [&](Op op, float (*f)(float)) {
      const std::vector<float> out =
          test::run<float>(LazyOp::unary(op, operand(1, part)), {buffer(part)});
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_TRUE(same(out[i], f(part[i]))) << name(op) << ' ' << show(part[i]);
    };
    check(Op::Sqrt, scalar::sqrt<float>);
    check(Op::Exp2, scalar::exp2<float>);
    check(Op::Log2, scalar::log2<float>);
    check(Op::Sin, scalar::sin<float>);
    check(Op::Recip, scalar::recip<float>);
  }
}

// Eigen's maximum, like x86's, returns the second operand if one is NaN.
TEST(Traps, MaximumOfNanIsNanOnBothSides) {
  const std::vector<float> nans(67, kTrapNan), ones(67, 1.0F);
  const auto max = [](const std::vector<float>& a, const std::vector<float>& b) {
    return test::run<float>(LazyOp::binary(Op::Max, operand(1, a), operand(2, b)),
                            {buffer(a), buffer(b)});
  };
  for (const float x : max(nans, ones)) EXPECT_TRUE(std::isnan(x));
  for (const float x : max(ones, nans)) EXPECT_TRUE(std::isnan(x));
}

// Boost's 50-digit sine is 0 from 2^167 on, its quadruple-precision one from 2^112.
TEST(Traps, SineOfLargeArgumentsIsNotZero) {
  for (int k = 100; k < 128; ++k) {
    const float x = std::ldexp(1.0F, k);
    EXPECT_TRUE(same(scalar::sin(x), test::in_format<float>(mpfr_sin, x))) << k;
    EXPECT_GT(std::abs(scalar::sin(x)), 1e-6F) << k;
  }
  for (const int k : {160, 167, 168, 500, 1023}) {
    const double x = std::ldexp(1.0, k);
    EXPECT_TRUE(same(scalar::sin(x), test::in_format<double>(mpfr_sin, x))) << k;
    EXPECT_GT(std::abs(scalar::sin(x)), 1e-6) << k;
  }
}

// clang casts 300.7 to a byte as 255 in a loop body and as 44 in its tail.
TEST(Traps, CastsSaturateInBodyAndTail) {
  const std::vector<float> in(67, 300.7F);
  for (const std::uint8_t x :
       test::run<std::uint8_t>(LazyOp::cast(operand(1, in), DType::UInt8), {buffer(in)}))
    EXPECT_EQ(x, 255);
}

TEST(Traps, NarrowingRoundsOnce) {
  const std::vector<double> in{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40};
  const auto halves =
      test::run<float16>(LazyOp::cast(operand(1, in), DType::Float16), {buffer(in)});
  EXPECT_EQ(halves[0].bits, 0x3c01);  // via float 0x3c00
  const auto brains =
      test::run<bfloat16>(LazyOp::cast(operand(1, in), DType::BFloat16), {buffer(in)});
  EXPECT_EQ(brains[1].bits, 0x3f81);  // via float 0x3f80
  const std::vector<std::int64_t> ints{(std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1};
  EXPECT_EQ(
      test::run<bfloat16>(LazyOp::cast(operand(1, ints), DType::BFloat16), {buffer(ints)})[0].bits,
      0x5e81);                                                      // via double 0x5e80
  EXPECT_EQ(bits_answer("fma\tbfloat16\t3f81,3fc0,0001"), "3fc2");  // via float's fma 3fc1
}

// clang fuses a * b + c where allowed.
TEST(Traps, ProductsAreRoundedBeforeTheyAreAdded) {
  const std::vector<float> x(67, 1 + 0x1p-12F), c(67, -1.0F);
  const LazyOpPtr a = operand(1, x), b = operand(2, c);
  const LazyOpPtr kernels[] = {LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, a, a), b),
                               LazyOp::ternary(Op::MulAcc, a, a, b)};
  const TemporaryDirectory cache;
  ClangOptions options = ClangOptions::from_environment();
  options.cache_dir = cache.path();
  options.opt_level = 2;
  const auto clang = make_clang_device("TRAPS", options);
  for (const LazyOpPtr& kernel : kernels) {
    for (const float y : test::run<float>(kernel, {buffer(x), buffer(c)})) EXPECT_EQ(y, 0x1p-11F);
    Buffer out(*clang, DType::Float32, 67), in1(*clang, DType::Float32, 67),
        in2(*clang, DType::Float32, 67);
    in1.write(std::span<const float>(x));
    in2.write(std::span<const float>(c));
    run_kernel(*clang, test::store(kernel), std::vector<Buffer*>{&out, &in1, &in2});
    for (const float y : out.read<float>()) EXPECT_EQ(y, 0x1p-11F);
  }
  ASSERT_EQ(std::fma(x[0], x[0], -1.0F), 0x1p-11F + 0x1p-24F);  // the two do differ
}

template <class T>
void divide_by_nothing() {
  const std::vector<T> a(67, std::numeric_limits<T>::min()), zeros(67, T{0}),
      minus(67, static_cast<T>(-1));
  for (const Op op : {Op::Div, Op::Mod})
    for (const auto* by : {&zeros, &minus}) {
      const auto out = test::run<T>(LazyOp::binary(op, operand(1, a), operand(2, *by)),
                                    {buffer(a), buffer(*by)});
      EXPECT_EQ(out.size(), 67U);
      for (const T x : out) EXPECT_EQ(x, out[0]);
    }
}

TEST(Traps, IntegerDivisionNeverKillsTheProcess) {
  divide_by_nothing<std::int8_t>();
  divide_by_nothing<std::int16_t>();
  divide_by_nothing<std::int32_t>();
  divide_by_nothing<std::int64_t>();
  divide_by_nothing<std::uint8_t>();
  divide_by_nothing<std::uint16_t>();
  divide_by_nothing<std::uint32_t>();
  divide_by_nothing<std::uint64_t>();
}

}  // namespace
}  // namespace touchstone
