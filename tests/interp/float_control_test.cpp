#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/interp/device/bits.h"
#include "touchstone/interp/oracle/verdict.h"

// The results do not depend on the caller's floating-point control word.

namespace touchstone {
namespace {

constexpr std::pair<const char*, int> kOperations[] = {
    {"exp2", 1},      {"log2", 1}, {"sin", 1},          {"sqrt", 1},         {"recip", 1},
    {"add", 2},       {"mul", 2},  {"div", 2},          {"fma", 3},          {"mod.trunc", 2},
    {"mod.floor", 2}, {"sum", 3},  {"cast:float16", 1}, {"cast:float32", 1}, {"cast:float64", 1}};

/// Results of every interface that rounding and subnormals affect.
std::string answers() {
  std::string all;
  test::TracedDraws draw(7);
  for (const DType d : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64})
    for (const auto& [op, arity] : kOperations)
      for (int i = 0; i < 20; ++i) {
        std::vector<Scalar> in;
        for (int k = 0; k < arity; ++k) {
          std::uint64_t bits = draw.bits();
          if (i % 4 == 0) bits &= 0x8003ffffffffffffULL >> (64 - 8 * itemsize(d));  // often small
          in.push_back(Scalar::from_bits(d, bits));
        }
        const Scalar y = *scalar_answer(op, d, in);
        all += y.is_nan() ? "nan " : std::to_string(y.bits()) + ' ';
      }
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4}));
  const auto half = LazyOp::constant(Scalar::of(0.3F), ShapeTracker::contiguous({1}).expand({4}));
  const auto sum = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, half), {0});
  const auto in = test::buffer<float>({0x1.234568p-120F, 0x1p-149F, 0x1.8p-126F, 0x1.fffffep-127F});
  const std::vector<float> out = test::run<float>(sum, {in});
  all += Scalar::of(out[0]).str();
  const auto candidate = test::buffer<float>({out[0]});
  const std::vector<Buffer*> inputs{nullptr, in.get()};
  all += judge(test::store(sum), inputs, *candidate).str();
  return all;
}

void expect_same_answers(const char* what, const std::function<void()>& disturb) {
  const std::string want = answers();
  std::fenv_t before;
  std::fegetenv(&before);
  disturb();
  const std::string got = answers();
  std::fesetenv(&before);
  EXPECT_EQ(got, want) << what;
}

TEST(FloatControl, DoesNotReachTheAnswers) {
  for (const auto& [name, mode] : {std::pair{"down", FE_DOWNWARD}, std::pair{"up", FE_UPWARD},
                                   std::pair{"to zero", FE_TOWARDZERO}})
    expect_same_answers(name, [mode = mode] { ASSERT_EQ(std::fesetround(mode), 0); });
#if defined(__x86_64__)
  expect_same_answers("flush to zero", [] { _mm_setcsr(_mm_getcsr() | 0x8040); });
  expect_same_answers("short long double", [] {
    const unsigned short kSingle = 0x7f;
    __asm__ volatile("fldcw %0" : : "m"(kSingle));
  });
#endif
}

TEST(FloatControl, IsTheCallersAgainAfterwards) {
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
  answers();
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetenv(&before);
}

// A shared object linked with -ffast-math sets flush-to-zero in its loading thread.
TEST(FloatControl, OfAFastMathObjectDoesNotReachTheAnswers) {
  expect_same_answers("fast-math object", [] {
    void* object = ::dlopen(TOUCHSTONE_FAST_MATH_OBJECT, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(object, nullptr) << ::dlerror();
#if defined(__x86_64__) && !defined(__clang__)
    EXPECT_EQ(_mm_getcsr() & 0x8040U, 0x8040U) << "the object did no harm, so this shows nothing";
#endif
    ::dlclose(object);
  });
}

}  // namespace
}  // namespace touchstone
