#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"
#include "touchstone/tcc/compiled_c.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;

class Tcc : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_tcc()) GTEST_SKIP() << "built without libtcc";
  }
  std::unique_ptr<Device> device_ = make_tcc_device();
};

LazyOpPtr stored(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

LazyOpPtr constant(double value, std::int64_t size) {
  const auto one = ShapeTracker::contiguous({1}).expand({size});
  return LazyOp::constant(Scalar::from_double(DType::Float64, value), one);
}

template <class T>
std::vector<T> answer(Device& device, const LazyOpPtr& kernel, const std::vector<T>& input) {
  const auto size = static_cast<std::int64_t>(input.size());
  Buffer out(device, kernel->dtype(), elements(kernel->shape()).as_int());
  Buffer in(device, dtype_v<T>, size);
  in.write(std::span<const T>(input));
  Buffer* const buffers[] = {&out, &in};
  run_kernel(device, kernel, buffers);
  return out.read<T>();
}

TEST_F(Tcc, KernelsPreparedTogetherRunApart) {
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({3}));
  const LazyOpPtr twice = stored(LazyOp::binary(Op::Add, x, x));
  const LazyOpPtr square = stored(LazyOp::binary(Op::Mul, x, x));
  const LazyOpPtr both[] = {twice, square};
  device_->prepare(both);
  const RunnerPtr kept = device_->runner(twice);
  device_->forget_runners();
  EXPECT_EQ(answer<float>(*device_, square, {1, 2, 3}), (std::vector<float>{1, 4, 9}));
  EXPECT_THAT(kept->source(), HasSubstr("restrict"));
}

TEST_F(Tcc, ConstantsRoundOnce) {
  // In long double the sum is a tie that rounds to even, 1.
  const double tiny = std::ldexp(1.0, -53) + std::ldexp(1.0, -70);
  const auto x = LazyOp::load(1, DType::Float64, ShapeTracker::contiguous({2}));
  const LazyOpPtr sum = LazyOp::binary(Op::Add, constant(1, 2), constant(tiny, 2));
  const auto got = answer<double>(*device_, stored(LazyOp::binary(Op::Mul, sum, x)), {1, 1});
  EXPECT_EQ(got[0], std::nextafter(1.0, 2.0));
}

// (1 + 2^-12)^2 is 1 + 2^-11 when rounded, and 2^-24 more exactly.
TEST_F(Tcc, FusedProductsAreNotRounded) {
  const auto x =
      LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4, 16}).shrink({{0, 2}, {0, 16}}));
  const auto y =
      LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4, 16}).shrink({{2, 4}, {0, 16}}));
  const LazyOpPtr sums = stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, y), {0}));
  std::vector<float> input(64, 1);
  for (std::size_t i = 0; i < 16; ++i) {
    input[i] = -1 - 0x1p-11F;
    input[16 + i] = input[48 + i] = 1 + 0x1p-12F;
  }
  CodegenOptions fused;
  fused.contract = true;
  EXPECT_EQ(answer<float>(*device_, sums, input), std::vector<float>(16, 0));
  EXPECT_EQ(answer<float>(*make_tcc_device("FUSED", fused), sums, input),
            std::vector<float>(16, 0x1p-24F));
}

TEST_F(Tcc, AConditionThatIsNeverTrueIsFalse) {
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({2}));
  const auto masked = ShapeTracker::contiguous({1}).expand({1}).pad({{sint(1), sint(0)}});
  const LazyOpPtr no = LazyOp::constant(Scalar::from_int(DType::Bool, 0), masked);
  const LazyOpPtr picked = LazyOp::ternary(Op::Where, no, x, LazyOp::unary(Op::Neg, x));
  EXPECT_EQ(answer<float>(*device_, stored(picked), {1, 2}), (std::vector<float>{-1, -2}));
}

TEST_F(Tcc, FloatsAreFloats) {
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({1}));
  const LazyOpPtr sum = LazyOp::binary(Op::Add, x, x);
  const LazyOpPtr back = LazyOp::binary(Op::Sub, sum, x);  // infinity stays infinity
  EXPECT_EQ(answer<float>(*device_, stored(back), {3e38F})[0], INFINITY);
}

TEST_F(Tcc, ManyThreadsMayCompile) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::string source =
          "void f(void* const* b, const long* v, long p, long n) { *(int*)b[0] = " +
          std::to_string(t) + "; }";
      for (int i = 0; i < 20; ++i) {
        const tcc::CompiledC program(source);
        int out = -1;
        void* const bufs[] = {&out};
        program.function("f")(bufs, nullptr, 0, 1);
        right += out == t;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 80);
}

TEST_F(Tcc, BadSourceIsShownWithTheMessage) {
  try {
    tcc::CompiledC("int f( { return 1; }");
    FAIL() << "taken";
  } catch (const SystemError& e) {
    EXPECT_THAT(e.what(), HasSubstr("error"));
    EXPECT_THAT(e.what(), HasSubstr("int f( {"));
  }
  EXPECT_THROW(tcc::CompiledC("void f() {}").function("g"), SystemError);
  EXPECT_THROW(tcc::CompiledC("void f() { undefined(); }"), SystemError)
      << "nothing is linked unasked";
}

TEST(TccAbsent, SaysWhatToInstall) {
  if (has_tcc()) GTEST_SKIP() << "libtcc is here";
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({2}));
  try {
    make_tcc_device()->runner(stored(x));
    FAIL() << "made";
  } catch (const SystemError& e) {
    EXPECT_THAT(e.what(), HasSubstr("libtcc-dev"));
  }
}

}  // namespace
}  // namespace touchstone
