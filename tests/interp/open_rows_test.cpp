#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/interp/device/exp_rows.h"
#include "touchstone/interp/device/scalar_function.h"
#include "touchstone/interp/oracle/excess.h"
#include "touchstone/interp/oracle/legal_rows.h"
#include "touchstone/interp/oracle/radius.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::interp {
namespace {

// A number of any kind, often an edge.
template <class T>
T drawn(test::Draws& random) {
  using Bits = scalar::detail::FloatBits<T>;
  using Limits = std::numeric_limits<T>;
  static constexpr T kEdges[] = {T(0),
                                 -T(0),
                                 T(1),
                                 T(-1),
                                 T(1.5),
                                 Limits::denorm_min(),
                                 -Limits::denorm_min(),
                                 Limits::min(),
                                 Limits::max(),
                                 Limits::lowest(),
                                 Limits::infinity(),
                                 -Limits::infinity()};
  for (;;) {
    const std::uint64_t choice = random.below(4);
    T x = std::bit_cast<T>(static_cast<Bits>(random.bits()));
    if (choice == 0) x = kEdges[random.below(std::size(kEdges))];
    if (choice == 1) x = static_cast<T>(random.index(17) - 8);
    if (!is_nan_value(x)) return x;
  }
}

template <class T>
LegalBlock drawn_block(test::Draws& random, std::int64_t n) {
  LegalBlock block;
  block.resize(dtype_v<T>, n, random.chance(1, 3));
  const bool unrounded = random.chance(1, 2);
  for (std::int64_t i = 0; i < n; ++i) {
    T lo = drawn<T>(random), hi = random.chance(1, 3) ? lo : drawn<T>(random);
    if (key_less(hi, lo)) std::swap(lo, hi);
    if (block.determined)
      block.lo.begin<T>()[i] = random.chance(1, 40) ? std::numeric_limits<T>::quiet_NaN() : lo;
    else
      block.set<T>(i, random.chance(1, 20)   ? Legal<T>::only_nan()
                      : random.chance(1, 20) ? Legal<T>::anything()
                                             : Legal<T>::range(lo, hi, random.chance(1, 10)));
    if (unrounded) block.inexact.push_back(random.chance(1, 2));
  }
  return block;
}

// Numbers near those of the block, with radii.
template <class T>
void draw_balls(test::Draws& random, LegalBlock& block) {
  for (std::int64_t i = 0; i < block.count(); ++i) {
    const Legal<T> x = block.get<T>(i);
    const bool known = x.number && std::isfinite(static_cast<double>(x.lo));
    block.balls.push_back(
        known && random.chance(9, 10)
            ? Ball{static_cast<double>(x.lo), std::abs(static_cast<double>(x.lo)) / 64}
            : Ball::unknown());
  }
}

// With numbers from -160 to 160, whose powers are not all 0 or infinite.
template <class T>
void shrink(LegalBlock& block) {
  for (std::int64_t i = 0; i < block.count(); ++i) {
    Legal<T> x = block.get<T>(i);
    if (!x.number || x.has_infinity()) continue;
    x.lo = std::remainder(x.lo, T(320));
    x.hi = std::remainder(x.hi, T(320));
    if (key_less(x.hi, x.lo)) std::swap(x.lo, x.hi);
    if (block.determined)
      block.lo.begin<T>()[i] = x.lo;
    else
      block.set<T>(i, x);
  }
}

NamedFunction drawn_function(test::Draws& random) {
  constexpr NamedFunction kFunctions[] = {
      NamedFunction::Log,  NamedFunction::Log1p,    NamedFunction::Rsqrt,    NamedFunction::Sigmoid,
      NamedFunction::Silu, NamedFunction::Tanh,     NamedFunction::Erf,      NamedFunction::Erfc,
      NamedFunction::Gelu, NamedFunction::GeluTanh, NamedFunction::Softplus, NamedFunction::Cosh,
      NamedFunction::Atan, NamedFunction::Cbrt,     NamedFunction::Expm1,    NamedFunction::Asinh};
  return kFunctions[random.below(std::size(kFunctions))];
}

std::vector<Profile> profiles_with_rows() {
  std::vector<Profile> all{Profile(), Profile::named("library"), Profile()};
  all.back().zeros_alike = true;
  all.back().excess = DType::Float64;
  all.back().excess_each_op = true;
  return all;
}

// Elements computed row by row are those that the rules for single elements give.
template <class T>
void rows_are_the_general_rules() {
  using Other = std::conditional_t<sizeof(T) == 4, double, float>;
  test::TracedDraws random(11);
  Done done;
  std::int64_t answered = 0, finite = 0, functions = 0;
  for (int round = 0; round < 90; ++round)
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Neg, Op::Cast, Op::Exp2,
                        Op::Log2, Op::Sqrt, Op::Recip, Op::Function, Op::Function}) {
      const Profile profile = profiles_with_rows()[static_cast<std::size_t>(round % 3)];
      const bool casts = op == Op::Cast, power = op == Op::Exp2 || op == Op::Function,
                 root = op == Op::Log2 || op == Op::Sqrt || op == Op::Recip,
                 arithmetic = !casts && op != Op::Max && op != Op::Neg;
      ProgramNode node;
      node.op = op;
      if (op == Op::Function && random.chance(1, 2))
        node.function.function = drawn_function(random);
      node.function.or_last = op == Op::Function && random.chance(1, 2);
      node.dtype = dtype_v<T>;
      node.contraction.is_addend = node.contraction.carries =
          (op == Op::Mul || op == Op::Div) && random.chance(1, 2);
      node.contraction.adds = op == Op::Add || op == Op::Sub ? 3 : 0;
      const bool named = op == Op::Function && node.function.function != NamedFunction::Exp;
      if (arithmetic && sizeof(T) == 8 && (named || random.chance(1, 2))) {
        node.rounds_to = DType::Float32;
        node.rounds_always = profile.excess_each_op;
      }
      const auto n = random.between(0, 699);
      LegalBlock a = casts ? drawn_block<Other>(random, n) : drawn_block<T>(random, n);
      LegalBlock b = drawn_block<T>(random, n);
      for (LegalBlock* x : {&a, &b})
        if (!arithmetic || op == Op::Div || op == Op::Mul || root) x->inexact.clear();
      if (power || (root && random.chance(1, 2))) {
        shrink<T>(a);
        a.inexact.clear();
        b.inexact.clear();
      }
      if (arithmetic && !power && !root && random.chance(1, 3)) draw_balls<T>(random, b);
      const LegalBlock* both[] = {&a, &b};
      const bool one = casts || op == Op::Neg || root || (power && !node.function.or_last);
      const auto operands = std::span(both).first(one ? 1 : 2);
      for (const LegalBlock* x : operands) node.src_dtypes.push_back(x->dtype());
      LegalBlock out, want;
      out.resize(dtype_v<T>, n, false);
      want.resize(dtype_v<T>, n, false);
      const bool narrowed = apply_interval_rows(node, profile, operands, out, done);
      ASSERT_EQ(done.size(), static_cast<std::size_t>(n));
      ASSERT_TRUE(narrowed || !arithmetic || sizeof(T) == 4);
      if (casts)
        apply_legal_cast(node, profile, a, {}, want);
      else if (op == Op::Function)
        apply_legal_function(node, profile, operands, {}, want);
      else
        apply_legal(node, profile, operands, {}, want);
      if (node.rounds_to) round_results(node, profile, operands, {}, want);
      if (narrowed) apply_radius(node, profile, operands, Form::Both, {}, want);
      ASSERT_EQ(out.balls.size(), want.balls.size());
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const Legal<T> x = want.get<T>(i);
        finite += x.number && !x.nan && !x.any && !x.has_infinity() && !named ? 1 : 0;
        if (done[at] == 0) continue;
        (named ? functions : answered) += 1;
        const Legal<T> got = out.get<T>(i);
        ASSERT_TRUE(got.number && x.number && !got.nan && !x.nan && !got.any && !x.any && !x.apart)
            << name(op) << " element " << i;
        ASSERT_EQ(order_key(got.lo), order_key(x.lo)) << name(op) << " element " << i;
        ASSERT_EQ(order_key(got.hi), order_key(x.hi)) << name(op) << " element " << i;
        if (out.balls.empty()) continue;
        ASSERT_EQ(out.balls[at].value, want.balls[at].value) << name(op) << " element " << i;
        ASSERT_EQ(out.balls[at].radius, want.balls[at].radius) << name(op) << " element " << i;
      }
    }
  EXPECT_GT(answered, finite * 3 / 4);  // few are left to the general rules
  EXPECT_GT(functions, 1000);           // many operands lie outside a domain
}

TEST(OpenRows, AreTheGeneralRulesForFloat32) { rows_are_the_general_rules<float>(); }
TEST(OpenRows, AreTheGeneralRulesForFloat64) { rows_are_the_general_rules<double>(); }

// exp and 2^x of doubles are those that MPFR rounds, wherever the row is certain of them.
TEST(OpenRows, OfPowersAreRoundedCorrectly) {
  test::TracedDraws random(23);
  for (const bool two : {true, false}) {
    const auto want = [&](double x) {
      return two ? scalar::exp2(x) : scalar::function(NamedFunction::Exp, x);
    };
    std::int64_t open = 0, all = 0;
    for (int round = 0; round < 60; ++round) {
      double x[kRow], y[kRow];
      std::int64_t sure[kRow];
      const std::int64_t n = round % 4 == 0 ? 1 + round : kRow;
      for (std::int64_t i = 0; i < n; ++i) {
        const double unit = two ? 0x1p-7 : 0x1.62e42fefa39efp-8;  // of the table
        const double size = random.uniform(-1.0, 1.0);
        x[i] = round % 3 == 0   ? std::round(size * 80000) * unit
               : round % 3 == 1 ? std::ldexp(size, -static_cast<int>(random.below(70)))
                                : size * 720;
        if (random.chance(1, 2)) x[i] = std::nextafter(x[i], size);
        if (random.chance(1, 30)) x[i] = drawn<double>(random);
        // exp of these lies within 2^-64 of the middle of two numbers.
        constexpr double kHard[] = {0x1.46ad1bb23025ap+9, -0x1.17cf918003617p+9,
                                    0x1.31411c03280fap+9, -0x1.21834065aff2ap+9};
        if (random.chance(1, 30)) x[i] = kHard[random.below(4)];
        sure[i] = -1;
      }
      two ? exp2_row(x, n, y, sure) : exp_row(x, n, y, sure);
      for (std::int64_t i = 0; i < n; ++i) {
        ++all;
        if (sure[i] == 0)
          open += std::abs(x[i]) < 700 ? 1 : 0;
        else
          ASSERT_EQ(y[i], want(x[i])) << x[i] << ", 2^x: " << two;
      }
    }
    EXPECT_LT(open * 20, all);
  }
}

TEST(OpenRows, LeaveProfilesWithOtherRulesAlone) {
  test::TracedDraws random(5);
  const LegalBlock a = drawn_block<float>(random, 9);
  const LegalBlock* both[] = {&a, &a};
  LegalBlock out;
  out.resize(DType::Float32, 9, false);
  ProgramNode node;
  node.op = Op::Add;
  node.dtype = DType::Float32;
  std::vector<std::uint8_t> done{1};
  for (bool Profile::*flag :
       {&Profile::flushes_inputs, &Profile::flushes_outputs, &Profile::finite_only}) {
    Profile profile;
    profile.*flag = true;
    apply_interval_rows(node, profile, both, out, done);
    EXPECT_TRUE(done.empty());
  }
}

// A kernel large enough for several threads gives equal results for any number of them.
TEST(LegalRuns, AreTheSameForAnyNumberOfThreads) {
  constexpr std::int64_t n = 300'000;
  test::TracedDraws random(3);
  std::vector<float> x, y;
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(random.uniform(0.0F, 2.0F));
    y.push_back(random.uniform(-1.0F, 1.0F));
  }
  const std::vector<BufferPtr> inputs{nullptr, test::buffer(x), test::buffer(y)};
  const auto in = [](int idx) {
    return LazyOp::load(idx, DType::Float32, ShapeTracker::contiguous({n / 100, 100}));
  };
  const LazyOpPtr sum = LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, in(1), in(2)), in(1));
  for (const LazyOpPtr& value :
       {LazyOp::binary(Op::Mul, sum, sum), LazyOp::reduce(Op::ReduceSum, sum, {1})}) {
    const LazyOpPtr kernel = test::store(value);
    std::vector<Legal<float>> all;
    legal_results(kernel, test::raw(inputs), {}, {},
                  [&](std::int64_t first, const LegalBlock& block) {
                    ASSERT_EQ(first, static_cast<std::int64_t>(all.size()));
                    for (std::int64_t i = 0; i < block.count(); ++i)
                      all.push_back(block.get<float>(i));
                  });
    for (const int count : {1, 2, 5}) {
      Threads threads(count);
      std::vector<Legal<float>> got(all.size());
      std::vector<std::int64_t> next;
      legal_results_in_runs(
          kernel, test::raw(inputs), {}, {}, Sampling::all(), threads,
          [&](std::size_t runs) { next.assign(runs, -1); },
          [&](std::size_t run, std::int64_t first, const LegalBlock& block) {
            EXPECT_TRUE(next[run] == -1 || next[run] == first);
            next[run] = first + block.count();
            for (std::int64_t i = 0; i < block.count(); ++i)
              got[static_cast<std::size_t>(first + i)] = block.get<float>(i);
          });
      EXPECT_GT(next.size(), 4U);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE(got[i].number && all[i].number);
        ASSERT_EQ(order_key(got[i].lo), order_key(all[i].lo)) << i;
        ASSERT_EQ(order_key(got[i].hi), order_key(all[i].hi)) << i;
      }
    }
  }
}

// Several runs over one row's softmax share the row's sum.
TEST(LegalRuns, OneLongRowIsNotSummedByManyRuns) {
  const auto runs_of = [](std::int64_t rows, std::int64_t columns) {
    const ShapeTracker wide =
        ShapeTracker::contiguous({rows, 1, columns}).expand({rows, columns, columns});
    const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, DType::Float32, wide), {2});
    const ShapeTracker plain = ShapeTracker::contiguous({rows, columns, 1});
    const LazyOpPtr kernel =
        test::store(LazyOp::binary(Op::Mul, LazyOp::load(1, DType::Float32, plain), sum));
    const std::vector<BufferPtr> inputs{
        nullptr, test::buffer(std::vector<float>(static_cast<std::size_t>(rows * columns), 1))};
    std::size_t count = 0;
    Threads threads(2);
    legal_results_in_runs(
        kernel, test::raw(inputs), {}, {}, Sampling::all(), threads,
        [&](std::size_t runs) { count = runs; },
        [](std::size_t, std::int64_t, const LegalBlock&) {});
    return count;
  };
  EXPECT_LE(runs_of(1, 1 << 19), 4U);
  EXPECT_GE(runs_of(1 << 10, 1 << 9), 16U);
}

TEST(LegalRuns, AVerdictNamesTheFirstWrongElementAndCountsAll) {
  const std::int64_t n = 400'000;
  std::vector<float> x(static_cast<std::size_t>(n), 0.75F), out = x;
  for (float& v : out) v = std::exp2(v);
  const LazyOpPtr kernel = test::store(
      LazyOp::unary(Op::Exp2, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({n}))));
  const BufferPtr in = test::buffer(x);
  Buffer* const inputs[] = {nullptr, in.get()};
  const Verdict right = judge(kernel, inputs, *test::buffer(out));
  EXPECT_EQ(right.outcome, Outcome::Pass) << right.str();
  EXPECT_EQ(right.checked, n);
  EXPECT_EQ(right.errors, n);
  EXPECT_LT(right.variance, 1e-12);  // all the same
  for (const std::size_t wrong : {399'999U, 250'001U, 250'000U, 123'456U}) {
    out[wrong] = 2;
    const Verdict v = judge(kernel, inputs, *test::buffer(out));
    EXPECT_EQ(v.outcome, Outcome::Fail);
    EXPECT_EQ(v.index, static_cast<std::int64_t>(wrong));
    EXPECT_EQ(v.checked, n);
  }
  EXPECT_EQ(judge(kernel, inputs, *test::buffer(out)).wrong, 4);
}

}  // namespace
}  // namespace touchstone::interp
