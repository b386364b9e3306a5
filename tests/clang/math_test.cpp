// EXP2, LOG2 and SIN of generated code at every accuracy, against the reference's scalar functions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "../support/traced_draws.h"
#include "harness.h"
#include "touchstone/interp/device/scalar_function.h"
#include "touchstone/interp/device/scalar_ops.h"
#include "touchstone/interp/oracle/legal_value.h"

namespace touchstone {
namespace {

using interp::from_order_key;
using interp::infinity;
using interp::order_key;

constexpr std::array<Op, 3> kFunctions = {Op::Exp2, Op::Log2, Op::Sin};

ClangOptions at_level(MathLevel level) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.math = level;
  return options;
}

template <class T>
T reference(Op op, T x) {
  return op == Op::Exp2 ? scalar::exp2(x) : op == Op::Log2 ? scalar::log2(x) : scalar::sin(x);
}

template <class T>
bool is_nan_value(T x) {
  return std::isnan(static_cast<double>(scalar::detail::computing(x)));
}

template <class T>
std::vector<T> computed(Device& device, Op op, const std::vector<T>& inputs) {
  const auto size = static_cast<std::int64_t>(inputs.size());
  const auto kernel =
      stored(LazyOp::unary(op, LazyOp::load(1, dtype_v<T>, ShapeTracker::contiguous({size}))));
  return run<T>(device, kernel, {inputs});
}

// The largest distance from the reference's answer, over arguments for which `claims`.
template <class T, class Claims>
std::int64_t most_steps(Device& device, Op op, const std::vector<T>& inputs, const Claims& claims) {
  const std::vector<T> outputs = computed(device, op, inputs);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!claims(inputs[i])) continue;
    const T right = reference(op, inputs[i]);
    if (is_nan_value(right) || is_nan_value(outputs[i])) {
      if (is_nan_value(right) != is_nan_value(outputs[i])) return INT64_MAX;
      continue;
    }
    most = std::max(most, std::abs(order_key(outputs[i]) - order_key(right)));
  }
  return most;
}

// Every 1021st bit pattern, the neighbourhood of method switches, and the ends.
std::vector<float> float_inputs() {
  std::vector<float> inputs;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1021)
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (const float center :
       {0.0F,           0x1p-149F,      0x1p-126F, 0x1p-64F,        0.5F,           0x1.6a09e6p-1F,
        0x1.555556p-1F, 0x1.555556p+0F, 0x1p+13F,  125.0F,          0x1.921fb6p-1F, 1.0F,
        0x1.6a09e6p+0F, 0x1.921fb6p+0F, 2.0F,      127.0F,          127.5F,         128.0F,
        126.0F,         149.0F,         150.0F,    151.0F,          0x1.853a6ep-9F, 0x1.e7526ep-6F,
        0x1p+17F,       0x1p+24F,       0x1p+88F,  0x1.fffffep+127F})
    for (const float sign : {1.0F, -1.0F})
      for (std::int64_t step = -300; step <= 300; ++step) {
        const std::int64_t key = order_key(center * sign) + step;
        if (std::abs(key) <= order_key(infinity<float>()))
          inputs.push_back(from_order_key<float>(key));
      }
  for (int n = 1; n < 4000; ++n) inputs.push_back(static_cast<float>(n * 1.5707963267948966));
  inputs.push_back(std::nanf(""));
  return inputs;
}

const auto always = [](auto) { return true; };

TEST(ClangMath, OneUlpIsWithinOneStepOfTheCorrectlyRounded) {
  const TestDevice device(at_level(MathLevel::OneUlp));
  for (const Op op : kFunctions)
    EXPECT_LE(most_steps(*device, op, float_inputs(), always), 1) << info(op).name;
}

TEST(ClangMath, TheSineOfAZeroHasItsSign) {
  for (const MathLevel level :
       {MathLevel::Library, MathLevel::CorrectlyRounded, MathLevel::OneUlp, MathLevel::Fast}) {
    const TestDevice device(at_level(level));
    const std::vector<float> y = computed(*device, Op::Sin, std::vector<float>{0.0F, -0.0F});
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y[0]), 0U);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y[1]), 0x80000000U);
  }
}

TEST(ClangMath, CorrectlyRoundedHasTheReferencesBits) {
  const TestDevice device(at_level(MathLevel::CorrectlyRounded));
  for (const Op op : kFunctions)
    EXPECT_EQ(most_steps(*device, op, float_inputs(), always), 0) << info(op).name;
}

TEST(ClangMath, FastKeepsToWhatItDeclares) {
  const TestDevice device(at_level(MathLevel::Fast));
  const auto normal = [](Op op) {
    return [op](float x) {
      if (op == Op::Sin) return std::fabs(x) <= 131072;
      return !std::isfinite(x) || op == Op::Log2 || x >= -126 || std::fpclassify(x) == FP_ZERO;
    };
  };
  for (const Op op : kFunctions)
    EXPECT_LE(most_steps(*device, op, float_inputs(), normal(op)), 3) << info(op).name;
  // Subnormal results are zero or right.
  const std::vector<float> low{-126.5F, -127.0F, -140.0F, -149.0F, -1000.0F, -INFINITY};
  for (const float y : computed(*device, Op::Exp2, low)) EXPECT_EQ(y, 0.0F);
}

template <class T>
std::vector<T> all_of_a_narrow_type() {
  std::vector<T> inputs;
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
  for (std::uint32_t bits = 0; bits < 1U << (8 * sizeof(T)); ++bits)
    inputs.push_back(std::bit_cast<T>(static_cast<Bits>(bits)));
  return inputs;
}

TEST(ClangMath, NarrowTypesRoundOnceWhereThatIsDeclared) {
  const TestDevice nearest(at_level(MathLevel::CorrectlyRounded));
  const TestDevice usual(at_level(MathLevel::OneUlp));
  for (const Op op : kFunctions) {
    const auto check = [&]<class T>(std::type_identity<T>) {
      const std::vector<T> inputs = all_of_a_narrow_type<T>();
      EXPECT_EQ(most_steps(*nearest, op, inputs, always), 0) << info(op).name;
      EXPECT_LE(most_steps(*usual, op, inputs, always), 1) << info(op).name;
    };
    check(std::type_identity<float16>());
    check(std::type_identity<bfloat16>());
    check(std::type_identity<float8_e4m3>());
    check(std::type_identity<float8_e5m2>());
  }
}

TEST(ClangMath, DoublesAreWithinOneStep) {
  const TestDevice device(at_level(MathLevel::OneUlp));
  test::TracedDraws random(7);
  std::vector<double> inputs{0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             INFINITY,
                             -INFINITY,
                             std::nan(""),
                             0x1p-1074,
                             0x1p-1022,
                             0x1.fffffffffffffp+1023,
                             1023.5,
                             1024,
                             -1022,
                             -1074,
                             -1075,
                             -1075.5,
                             -1076,
                             1e300,
                             0x1.6a09e667f3bcdp-1,
                             0x1.6a09e667f3bcdp+0};
  for (int i = 0; i < 20'000; ++i) {
    inputs.push_back(std::bit_cast<double>(random.bits()));
    inputs.push_back(random.uniform(-1100.0, 1100.0));
    inputs.push_back(1 + random.uniform(-0x1p-8, 0x1p-8));
    inputs.push_back(random.uniform(-2.0, 2.0));
  }
  for (int e = -1074; e < 1024; ++e) inputs.push_back(std::ldexp(1.0, e));
  for (const Op op : kFunctions)
    EXPECT_LE(most_steps(*device, op, inputs, always), 1) << info(op).name;
}

TEST(ClangMath, RoundedDoublesAreRefusedWithTheWayOut) {
  const TestDevice device(at_level(MathLevel::CorrectlyRounded));
  try {
    computed<double>(*device, Op::Exp2, {1.0});
    FAIL() << "took float64";
  } catch (const DTypeError& e) {
    EXPECT_NE(std::string(e.what()).find("use the accuracy 1ulp"), std::string::npos);
  }
}

TEST(ClangMath, NamedFunctionsAreRoundedFromDoubleWhereThatIsDeclared) {
  using enum NamedFunction;
  const std::vector<float> x{0.0F,
                             -0.0F,
                             1.0F,
                             -1.0F,
                             0.3F,
                             -0.7F,
                             1e-30F,
                             1e30F,
                             2.5F,
                             -2.5F,
                             40.0F,
                             -103.9F,
                             INFINITY,
                             -INFINITY,
                             5e-41F,
                             1.46F,
                             100.5F,
                             0x1p-60F,
                             -0x1.fffffep-1F,
                             std::nanf("")};
  const auto size = static_cast<std::int64_t>(x.size());
  const LazyOpPtr operand = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({size}));
  for (const MathLevel level : {MathLevel::Library, MathLevel::CorrectlyRounded}) {
    const TestDevice device(at_level(level));
    for (const NamedFunction f : {Exp, Lgamma, Digamma, Erfinv, Atan2}) {
      const bool two = info(f).arity == 2;
      const auto operands = two ? std::vector{operand, operand} : std::vector{operand};
      const std::vector<float> y = run<float>(*device, stored(LazyOp::function(f, operands)), {x});
      const std::int64_t most = level == MathLevel::Library ? 8 : 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float right = scalar::function(f, x[i], x[i]);
        SCOPED_TRACE(fmt::format("{} of {}: {}, not {}", info(f).name, x[i], y[i], right));
        ASSERT_EQ(std::isnan(y[i]), std::isnan(right));
        if (std::isnan(right)) continue;
        EXPECT_LE(std::abs(order_key(y[i]) - order_key(right)), most);
      }
    }
  }
}

TEST(ClangMath, LevelsHaveNames) {
  for (const MathLevel level :
       {MathLevel::Library, MathLevel::CorrectlyRounded, MathLevel::OneUlp, MathLevel::Fast})
    EXPECT_EQ(math_level_named(name(level)), level);
  EXPECT_THROW(math_level_named("exact"), ParseError);
}

}  // namespace
}  // namespace touchstone
