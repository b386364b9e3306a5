#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/oracle/verdict.h"

// A verdict that no answer could fail must not be PASS.

namespace touchstone {
namespace {

using test::buffer;

constexpr float kWeakInf = std::numeric_limits<float>::infinity();
constexpr float kWeakNan = std::numeric_limits<float>::quiet_NaN();

LazyOpPtr terms(int idx, std::int64_t n, DType d = DType::Float32) {
  return LazyOp::load(idx, d, ShapeTracker::contiguous({n}));
}
LazyOpPtr total(const LazyOpPtr& x) { return LazyOp::reduce(Op::ReduceSum, x, {0}); }
// With an accumulator of the terms' type.
LazyOpPtr narrow_total(const LazyOpPtr& x) {
  return LazyOp::reduce(Op::ReduceSum, x, {0}, x->dtype());
}

template <class T>
Verdict verdict_on(const LazyOpPtr& value, std::vector<BufferPtr> inputs, const std::vector<T>& out,
                   const Profile& profile = {}) {
  inputs.insert(inputs.begin(), nullptr);
  return judge(test::store(value), test::raw(inputs), *buffer(out), profile);
}

// Nearly every answer to these is legal: none may be a PASS.
template <class T>
void expect_no_pass(const LazyOpPtr& value, const std::vector<BufferPtr>& inputs,
                    const Profile& profile = {}) {
  for (const float answer : {kWeakNan, kWeakInf, -kWeakInf, 0.0F, -1.0F, 12345.0F}) {
    const Verdict v = verdict_on<T>(value, inputs, {convert<T>(answer)}, profile);
    EXPECT_NE(v.outcome, Outcome::Pass) << answer << ": " << v.str();
    EXPECT_EQ(v.weak, 1) << v.str();
  }
}

TEST(Weak, SumsThatMayOverflow) {
  const BufferPtr x = buffer<float>({3e38F, -3e38F, 3e38F});
  expect_no_pass<float>(total(terms(1, 3)), {x});
  EXPECT_EQ(verdict_on<float>(total(terms(1, 3)), {x}, {kWeakInf}).outcome, Outcome::Weak);
  EXPECT_EQ(verdict_on<float>(total(terms(1, 3)), {x}, {kWeakNan}).outcome, Outcome::Fail);
  const BufferPtr both = buffer<float>({3e38F, -3e38F, 3e38F, -3e38F});
  EXPECT_EQ(verdict_on<float>(total(terms(1, 4)), {both}, {kWeakNan}).outcome, Outcome::Weak);
}

TEST(Weak, NoSumOfFewerThanTheLargestOverflows) {
  const float most = std::numeric_limits<float>::max();
  for (const std::vector<float>& x :
       {std::vector{3e38F, -3e38F, 1.0F}, std::vector{most}, std::vector{-most, 0.0F},
        std::vector{2e38F, -2e38F, 1e38F, -1e38F, 1e37F}})
    for (const float wrong : {kWeakNan, kWeakInf, -kWeakInf}) {
      const Verdict v = verdict_on<float>(total(terms(1, std::ssize(x))), {buffer(x)}, {wrong});
      EXPECT_EQ(v.outcome, Outcome::Fail) << wrong << ": " << v.str();
    }
  // One step more, and it does.
  const float step = most - std::nextafter(most, 0.0F);
  const BufferPtr x = buffer<float>({most, -most, step});
  EXPECT_NE(verdict_on<float>(total(terms(1, 3)), {x}, {kWeakInf}).outcome, Outcome::Fail);
}

TEST(Weak, FunctionsOfSumsThatCancel) {
  std::vector<float> x;
  for (int i = 0; i < 64; ++i)
    x.push_back((i % 2 == 0 ? 1.0F : -1.0F) * (1.0F / 3 + static_cast<float>(i / 2)));
  expect_no_pass<float>(LazyOp::unary(Op::Recip, total(terms(1, 64))), {buffer(x)});
  expect_no_pass<float>(LazyOp::unary(Op::Log2, total(terms(1, 64))), {buffer(x)});
}

TEST(Weak, SinesBeyondTheirDomain) {
  expect_no_pass<float>(LazyOp::unary(Op::Sin, terms(1, 1)), {buffer<float>({4})},
                        Profile::named("vulkan"));
}

TEST(Weak, LongSumsInFewBits) {
  test::TracedDraws random(1);
  std::vector<bfloat16> b(1000);
  for (bfloat16& v : b) v = convert<bfloat16>(random.uniform(0.5F, 1.5F));
  expect_no_pass<bfloat16>(narrow_total(terms(1, 1000, DType::BFloat16)), {buffer(b)});
  std::vector<float16> h(4000);
  for (float16& v : h) v = convert<float16>(random.uniform(0.5F, 1.5F));
  expect_no_pass<float16>(narrow_total(terms(1, 4000, DType::Float16)), {buffer(h)});
}

TEST(Weak, RemaindersOfWhatIsNotKnown) {
  const auto rest = LazyOp::binary(Op::Mod, LazyOp::unary(Op::Exp2, terms(1, 1)), terms(2, 1));
  expect_no_pass<float>(rest, {buffer<float>({30.7F}), buffer<float>({0.1F})});
}

TEST(Weak, SumsOfMoreTermsThanTheTypeCounts) {
  constexpr std::int64_t kTerms = (std::int64_t{1} << 23) + 2;
  const auto third =
      LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({1}).expand({kTerms}));
  const Verdict v = verdict_on<float>(total(third), {buffer<float>({1.0F / 3})}, {kWeakNan});
  EXPECT_NE(v.outcome, Outcome::Pass) << v.str();
}

TEST(Weak, ProductsOfMatricesNearTheSquareRootOfTheLargest) {
  constexpr int kSide = 8;
  test::TracedDraws random(2);
  std::vector<float> a(kSide * kSide), b(kSide * kSide);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = random.uniform(1.5e18F, 2.5e18F) * (random.chance(1, 2) ? 1.0F : -1.0F);
    b[i] = random.uniform(1.5e18F, 2.5e18F) * 60;
  }
  const ShapeTracker flat = ShapeTracker::contiguous({kSide, kSide});
  const auto left = LazyOp::load(1, DType::Float32,
                                 flat.reshape({kSide, 1, kSide}).expand({kSide, kSide, kSide}));
  const auto right = LazyOp::load(2, DType::Float32,
                                  flat.permute(std::vector<int>{1, 0})
                                      .reshape({1, kSide, kSide})
                                      .expand({kSide, kSide, kSide}));
  const auto product = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, left, right), {2});
  const Verdict v = verdict_on<float>(product, {buffer(a), buffer(b)},
                                      std::vector<float>(kSide * kSide, kWeakNan));
  EXPECT_NE(v.outcome, Outcome::Pass) << v.str();
}

TEST(Weak, ANumberOrNan) {
  Profile either;
  either.max = MaxOfNan::Either;
  const auto larger = LazyOp::binary(Op::Max, terms(1, 1), terms(2, 1));
  const std::vector<BufferPtr> in{buffer<float>({kWeakNan}), buffer<float>({2})};
  EXPECT_EQ(verdict_on<float>(larger, in, {2}, either).outcome, Outcome::Weak);
  EXPECT_EQ(verdict_on<float>(larger, in, {3}, either).outcome, Outcome::Fail);
}

TEST(Weak, AResultThatMayOverflowOrNot) {
  // 2^127.99999 within 1 ULP is the largest number, its predecessor, or infinity.
  const float x = std::nextafter(128.0F, 0.0F);
  const Verdict v =
      verdict_on<float>(LazyOp::unary(Op::Exp2, terms(1, 1)), {buffer<float>({x})}, {std::exp2(x)});
  EXPECT_NE(v.outcome, Outcome::Fail) << v.str();
  EXPECT_EQ(
      verdict_on<float>(total(terms(1, 2)), {buffer<float>({kWeakInf, 1})}, {kWeakInf}).outcome,
      Outcome::Pass);  // an infinity for certain is one answer
}

TEST(Weak, MostElementsDecide) {
  Profile either;
  either.max = MaxOfNan::Either;
  const auto larger = LazyOp::binary(Op::Max, terms(1, 4), terms(2, 4));
  const auto with_nan = [&](std::vector<float> a) {
    return verdict_on<float>(larger, {buffer(a), buffer<float>({1, 1, 1, 1})}, {1, 1, 1, 1},
                             either);
  };
  EXPECT_EQ(with_nan({kWeakNan, kWeakNan, 0, 0}).outcome, Outcome::Pass);
  EXPECT_EQ(with_nan({kWeakNan, kWeakNan, kWeakNan, 0}).outcome, Outcome::Weak);
  EXPECT_EQ(with_nan({kWeakNan, kWeakNan, kWeakNan, 0}).weak, 3);
  EXPECT_EQ(with_nan({kWeakNan, 0, 0, 0}).relative.largest, HUGE_VAL);
  EXPECT_EQ(with_nan({kWeakNan, 0, 0, 0}).relative.median, 0);
}

TEST(Weak, IntegersByTheShareThatIsOpen) {
  // Within 3 ULP: one of two integers of seven digits, or of one digit.
  Profile loose;
  loose.exp2 = {3, 0};
  const auto whole = LazyOp::cast(LazyOp::unary(Op::Exp2, terms(1, 1)), DType::Int32);
  const auto on = [&](float x) {
    const auto right = static_cast<std::int32_t>(std::exp2(x));
    return verdict_on<std::int32_t>(whole, {buffer<float>({x})}, {right}, loose);
  };
  EXPECT_EQ(on(23.5F).outcome, Outcome::Pass) << on(23.5F).str();
  EXPECT_GT(on(23.5F).ulp.largest, 0);
  EXPECT_EQ(on(std::log2(3.0F)).outcome, Outcome::Weak) << on(std::log2(3.0F)).str();
}

// ---- garbage --------------------------------------------------------------------------------

// Draws a one-element kernel: a few operations of one type over rows of up to five terms, perhaps a
// final cast.
class Drawn {
 public:
  Drawn(test::Draws& random, DType dtype) : random_(random), dtype_(dtype) {
    row_ = random_.between(1, 5);
    value_ = expression(random_.index(4) + 1, row_);
    if (random_.chance(1, 6)) value_ = LazyOp::cast(value_, any_type());
    if (row_ > 1)
      value_ = LazyOp::reduce(is_bool(value_->dtype()) ? Op::ReduceMax : sum_or_max(), value_, {0});
    if (random_.chance(1, 3) && value_->dtype() == dtype_) value_ = unary(value_);
    if (random_.chance(1, 6)) value_ = LazyOp::cast(value_, any_type());
    kernel_ = test::store(value_);
  }
  DType dtype() const { return value_->dtype(); }
  std::string str() const { return touchstone::str(kernel_); }
  Verdict judged(std::uint64_t bits, const Profile& profile) const {
    return with_storage(dtype(), [&]<class T>(std::type_identity<T>) {
      const BufferPtr out = test::buffer(dtype(), 1);
      const T answer = Scalar::from_bits(dtype(), bits).as<T>();
      out->write(std::span<const T>(&answer, 1));
      return judge(kernel_, test::raw(inputs_), *out, profile);
    });
  }

 private:
  Op sum_or_max() { return random_.chance(1, 2) ? Op::ReduceSum : Op::ReduceMax; }
  DType any_type() { return dtype_table[random_.below(dtype_table.size())].dtype; }

  // Random bits, ordinary numbers, and edges of the type.
  Scalar operand() {
    const std::uint64_t bits = random_.bits();
    if (is_bool(dtype_)) return Scalar::from_bits(dtype_, bits & 1);
    const int width = static_cast<int>(itemsize(dtype_)) * 8;
    if (!is_float(dtype_))
      return Scalar::from_bits(dtype_, bits >> (bits % 3 == 0 ? 64 - width : 60));
    static const double edges[] = {0.0,   -0.0,  1.0, -1.0, HUGE_VAL, -HUGE_VAL, NAN,  3e38,
                                   -3e38, 1e-45, 6e4, 440,  1.5,      127.9,     100.5};
    const std::uint64_t kind = random_.below(8);
    if (kind == 0) return Scalar::from_bits(dtype_, bits >> (64 - width));
    if (kind == 1) return Scalar::from_double(dtype_, edges[bits % std::size(edges)]);
    return Scalar::from_double(
        dtype_, std::ldexp(static_cast<double>(bits % 20001) - 1e4, -13 + random_.index(5)));
  }
  LazyOpPtr leaf(std::int64_t n) {
    const BufferPtr made = test::buffer(dtype_, n);
    with_storage(dtype_, [&]<class T>(std::type_identity<T>) {
      std::vector<T> values;
      for (std::int64_t i = 0; i < n; ++i) values.push_back(operand().template as<T>());
      if constexpr (std::is_same_v<T, bool>) {
        bool plain[8] = {};
        std::copy(values.begin(), values.end(), plain);
        made->write(std::span<const bool>(plain, values.size()));
      } else {
        made->write(std::span<const T>(values));
      }
    });
    inputs_.push_back(made);
    return LazyOp::load(static_cast<int>(inputs_.size()) - 1, dtype_,
                        ShapeTracker::contiguous({n}));
  }
  LazyOpPtr unary(const LazyOpPtr& x) {
    static constexpr Op kAll[] = {Op::Neg, Op::Sqrt, Op::Recip, Op::Exp2, Op::Log2, Op::Sin};
    return LazyOp::unary(is_float(dtype_) ? kAll[random_.below(std::size(kAll))] : Op::Neg, x);
  }
  LazyOpPtr expression(int depth, std::int64_t n) {
    if (depth == 0) return leaf(n);
    const auto next = [&] { return expression(depth - 1, n); };
    if (is_bool(dtype_))
      return LazyOp::binary(random_.chance(1, 2) ? Op::Xor : Op::CmpLt, next(), next());
    static constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Mod};
    switch (random_.below(8)) {
      case 0:
      case 1: return unary(next());
      case 2: return LazyOp::ternary(Op::MulAcc, next(), next(), next());
      case 3:
        return LazyOp::ternary(Op::Where, LazyOp::binary(Op::CmpLt, next(), next()), next(),
                               next());
      default: return LazyOp::binary(kBinary[random_.below(std::size(kBinary))], next(), next());
    }
  }

  test::Draws& random_;
  DType dtype_;
  std::int64_t row_ = 1;
  std::vector<BufferPtr> inputs_{nullptr};
  LazyOpPtr value_, kernel_;
};

// If an element does not count as weak, most bit patterns are illegal, and at most one of NaN, the
// infinities and the largest numbers is legal, or both infinities: 1/0 where the sign of the zero
// is open. A weak element is no PASS.
TEST(Weak, GarbageChangesTheVerdictOrCountsAsWeak) {
  test::TracedDraws random(2024);
  int weak = 0, strong = 0;
  for (int round = 0; round < 2500; ++round) {
    const DType dtype = dtype_table[static_cast<std::size_t>(round) % dtype_table.size()].dtype;
    const Drawn kernel(random, dtype);
    const auto profiles = builtin_profiles();
    const Profile& profile = profiles[random.below(profiles.size())];
    const DType out = kernel.dtype();
    const int width = is_bool(out) ? 1 : static_cast<int>(itemsize(out)) * 8;
    const auto legal = [&](std::uint64_t bits, bool& is_weak) {
      const Verdict v = kernel.judged(bits, profile);
      EXPECT_NE(v.outcome, Outcome::Unusable) << v.str();
      is_weak = v.weak == 1;
      EXPECT_FALSE(is_weak && v.outcome == Outcome::Pass) << kernel.str() << v.str();
      return v.outcome != Outcome::Fail;
    };
    bool is_weak = false;
    legal(0, is_weak);
    ++(is_weak ? weak : strong);
    if (is_weak) continue;
    const int tries = width == 1 ? 2 : 24;
    int passed = 0;
    for (int i = 0; i < tries; ++i)
      passed += legal(width == 1 ? static_cast<std::uint64_t>(i) : random.bits() >> (64 - width),
                      is_weak);
    EXPECT_LE(passed, width == 1 ? 1 : tries / 3) << kernel.str() << profile.name;
    if (!is_float(out)) continue;
    const double most = info(out).infinities ? HUGE_VAL : 1e300;
    std::vector<double> extremes;
    for (const double extreme : {static_cast<double>(NAN), most, -most})
      if (legal(Scalar::from_double(out, extreme).bits(), is_weak)) extremes.push_back(extreme);
    EXPECT_TRUE(extremes.size() <= 1 || (extremes == std::vector{most, -most}))
        << kernel.str() << profile.name;
  }
  EXPECT_GT(weak, 200);
  EXPECT_GT(strong, 1000);
}

// ---- several inputs -------------------------------------------------------------------------

TEST(Combine, OneSharpInputIsEnoughAndOneFailureToo) {
  const auto sum = total(terms(1, 3));
  const Verdict sharp = verdict_on<float>(sum, {buffer<float>({1, 2, 3})}, {6});
  const Verdict weak = verdict_on<float>(sum, {buffer<float>({3e38F, -3e38F, 1})}, {1});
  const Verdict wrong = verdict_on<float>(sum, {buffer<float>({1, 2, 3})}, {7});
  ASSERT_EQ(sharp.outcome, Outcome::Pass);
  ASSERT_EQ(weak.outcome, Outcome::Weak);
  const auto of = [](std::vector<Verdict> all) { return combine(all); };
  EXPECT_EQ(of({weak, weak}).outcome, Outcome::Weak);
  EXPECT_EQ(of({weak, sharp, weak}).outcome, Outcome::Pass);
  EXPECT_EQ(of({weak, sharp, weak}).sharp_inputs, 1);
  EXPECT_EQ(of({weak, sharp, weak}).inputs, 3);
  EXPECT_EQ(of({weak, sharp, weak}).weak, 2);
  EXPECT_EQ(of({weak, sharp, weak}).relative.largest, 0);
  EXPECT_EQ(of({sharp, wrong, weak}).outcome, Outcome::Fail);
  EXPECT_EQ(of({sharp, wrong, weak}).at, std::vector<std::int64_t>{0});
  EXPECT_EQ(of({of({sharp, weak}), weak}).inputs, 3);
  Verdict unfit;
  unfit.outcome = Outcome::Unusable;
  unfit.why = "no output";
  EXPECT_EQ(of({sharp, unfit}).outcome, Outcome::Unusable);
  EXPECT_EQ(of({wrong, unfit}).outcome, Outcome::Fail);
  EXPECT_EQ(of({}).outcome, Outcome::Unusable);
}

}  // namespace
}  // namespace touchstone
