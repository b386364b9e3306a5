#include "touchstone/interp/oracle/radius.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone::interp {
namespace {

using test::buffer;

LazyOpPtr in(int idx, DType d, std::int64_t n) {
  return LazyOp::load(idx, d, ShapeTracker::contiguous({n}));
}

template <class T>
std::vector<Legal<T>> legal_of(const LazyOpPtr& value, std::vector<BufferPtr> inputs, Form form,
                               const Profile& profile = {}) {
  inputs.insert(inputs.begin(), nullptr);
  std::vector<Legal<T>> out;
  legal_results(
      test::store(value), test::raw(inputs), profile, {},
      [&](std::int64_t, const LegalBlock& block) {
        for (std::int64_t i = 0; i < block.count(); ++i) out.push_back(block.get<T>(i));
      },
      form);
  return out;
}

// Every result of adding the terms of `set`, over all trees and orders; memoised by subset.
template <class A>
class AllSums {
 public:
  explicit AllSums(std::vector<A> terms)
      : terms_(std::move(terms)), sums_(std::size_t{1} << terms_.size()) {}
  const std::vector<A>& all() { return of(static_cast<unsigned>(sums_.size() - 1)); }

 private:
  const std::vector<A>& of(unsigned set) {
    std::vector<A>& sums = sums_[set];
    if (!sums.empty()) return sums;
    if (std::has_single_bit(set))
      return sums = {terms_[static_cast<std::size_t>(std::countr_zero(set))]};
    // One side holds the lowest term, so that each split occurs once: addition commutes.
    const unsigned lowest = set & (0U - set);
    for (unsigned part = (set - 1) & set; part != 0; part = (part - 1) & set) {
      if ((part & lowest) == 0) continue;
      for (const A a : of(part))
        for (const A b : of(set ^ part)) sums.push_back(scalar::add(a, b));
    }
    std::sort(sums.begin(), sums.end(), [](A a, A b) { return key_less(a, b); });
    sums.erase(std::unique(sums.begin(), sums.end(),
                           [](A a, A b) { return order_key(a) == order_key(b); }),
               sums.end());
    return sums;
  }
  std::vector<A> terms_;
  std::vector<std::vector<A>> sums_;
};

// T: the terms' type; A: the accumulator's.
template <class T, class A>
void every_tree_is_legal(int cases) {
  test::TracedDraws random(7);
  const FpGuard guard;
  std::int64_t trees = 0;
  for (int c = 0; c < cases; ++c) {
    std::vector<T> terms;
    std::vector<A> wide;
    const auto n = static_cast<std::size_t>(2 + c % 5);
    const std::size_t spread = c % 3 == 0 ? 4 : 24;
    for (std::size_t i = 0; i < n; ++i) {
      const double fraction = random.uniform(-0.5, 0.5);
      const int exponent = random.index(spread) - static_cast<int>(spread / 2);
      terms.push_back(convert<T>(std::ldexp(fraction, exponent)));
      wide.push_back(convert<A>(terms.back()));
    }
    Profile profile;
    profile.accumulator = dtype_v<A>;
    const auto size = static_cast<std::int64_t>(n);
    const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, in(1, dtype_v<T>, size), {0});
    const Legal<T> legal = legal_of<T>(sum, {buffer(terms)}, Form::Both, profile)[0];
    AllSums<A> sums(wide);
    for (const A result : sums.all()) {
      ++trees;
      ASSERT_TRUE(legal.accepts(convert<T>(result)))
          << "case " << c << ": " << Scalar::of(convert<T>(result)).str() << " of " << n
          << " terms";
    }
  }
  EXPECT_GT(trees, cases);
}

TEST(Radius, EveryTreeAndOrderOfUpToSixTermsIsLegal) {
  every_tree_is_legal<float, float>(300);
  every_tree_is_legal<double, double>(300);
  every_tree_is_legal<float16, float>(300);
  every_tree_is_legal<bfloat16, float>(300);
  every_tree_is_legal<float16, float16>(300);  // a profile that declares a narrow accumulator
  every_tree_is_legal<float, bfloat16>(300);
}

template <class T>
Legal<T> legal_sum(const std::vector<T>& terms, const Profile& profile) {
  const auto size = static_cast<std::int64_t>(terms.size());
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, in(1, dtype_v<T>, size), {0});
  return legal_of<T>(sum, {buffer(terms)}, Form::Both, profile)[0];
}

template <class T>
T in_turn(const std::vector<T>& terms) {
  T sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) sum = scalar::add(sum, terms[i]);
  return sum;
}
template <class T>
T by_halves(const std::vector<T>& terms, std::size_t run) {
  if (terms.size() <= run) return in_turn(terms);
  const auto half = static_cast<std::ptrdiff_t>(terms.size() / 2);
  return scalar::add(by_halves(std::vector<T>(terms.begin(), terms.begin() + half), run),
                     by_halves(std::vector<T>(terms.begin() + half, terms.end()), run));
}

// For every positive number of a small type, a tree of additions that rounds to it, with the least
// term sum found; a tree of the next height joins any two earlier trees.
template <class A>
class LeastSums {
 public:
  struct Tree {
    double exact = HUGE_VAL;
    std::vector<double> terms;  // per number: its count
  };
  LeastSums() : first_(order_key(A{}) + 1), trees_(static_cast<std::size_t>(last() - first_ + 1)) {
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      trees_[i] = {convert<double>(number(i)), std::vector<double>(trees_.size(), 0)};
      trees_[i].terms[i] = 1;
    }
  }
  A number(std::size_t i) const { return from_order_key<A>(first_ + static_cast<std::int64_t>(i)); }
  double largest() const { return convert<double>(number(trees_.size() - 1)); }

  /// Adds a level; returns the tree with the least sum that then overflows.
  Tree higher() {
    std::vector<Tree> next = trees_;
    Tree over;
    for (std::size_t a = 0; a < trees_.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        const std::int64_t sum = order_key(scalar::add(number(a), number(b)));
        Tree& best = sum > last() ? over : next[static_cast<std::size_t>(sum - first_)];
        if (trees_[a].exact + trees_[b].exact >= best.exact) continue;
        best.exact = trees_[a].exact + trees_[b].exact;
        best.terms = trees_[a].terms;
        for (std::size_t i = 0; i < best.terms.size(); ++i) best.terms[i] += trees_[b].terms[i];
      }
    trees_ = std::move(next);
    return over;
  }

 private:
  static std::int64_t last() { return order_key(infinity<A>()) - 1; }
  std::int64_t first_;
  std::vector<Tree> trees_;
};

// Terms whose exact sum is far below the largest number but whose rounded partial sums exceed it;
// with as many negative ones, the last addition is of two infinities.
TEST(Radius, SumsThatOverflowOnlyByRoundingUpMayDoSo) {
  const FpGuard guard;
  Profile profile;
  profile.accumulator = DType::Float8E5M2;
  LeastSums<float8_e5m2> sums;
  for (double least = HUGE_VAL; least >= sums.largest() / 4;) {
    const auto tree = sums.higher();
    least = tree.exact;
    std::vector<float8_e5m2> terms;
    for (std::size_t i = 0; i < tree.terms.size(); ++i)
      terms.resize(terms.size() + static_cast<std::size_t>(tree.terms[i]), sums.number(i));
    EXPECT_TRUE(legal_sum(terms, profile).accepts(infinity<float8_e5m2>())) << least;
    const std::size_t count = terms.size();
    for (std::size_t i = 0; i < count; ++i) terms.push_back(scalar::neg(terms[i]));
    EXPECT_TRUE(legal_sum(terms, profile).accepts(convert<float8_e5m2>(std::nan("")))) << least;
  }
}

// Six terms of mixed signs in lanes, and every order of them by halves.
template <class T>
void every_declared_order_is_legal() {
  test::TracedDraws random(3);
  const FpGuard guard;
  for (int c = 0; c < 12; ++c) {
    std::vector<T> terms;
    for (int i = 0; i < 6; ++i) {
      const double fraction = random.uniform(0.0, 1.0) - (c % 2) * 0.5;
      terms.push_back(convert<T>(std::ldexp(fraction, random.index(5))));
    }
    Profile lanes, halves, pairs;
    lanes.order = SumOrder::Lanes;
    lanes.block = 2;
    halves.order = pairs.order = SumOrder::Pairwise;
    pairs.block = 2;
    for (Profile* p : {&lanes, &halves, &pairs}) p->accumulator = dtype_v<T>;
    const Legal<T> of_halves = legal_sum(terms, halves), of_pairs = legal_sum(terms, pairs);
    std::array<std::size_t, 6> at{0, 1, 2, 3, 4, 5};
    do {
      std::vector<T> v;
      for (const std::size_t i : at) v.push_back(terms[i]);
      ASSERT_TRUE(legal_sum(v, lanes).accepts(
          scalar::add(in_turn<T>({v[0], v[2], v[4]}), in_turn<T>({v[1], v[3], v[5]}))));
      ASSERT_TRUE(of_halves.accepts(by_halves(v, 1)));
      ASSERT_TRUE(of_pairs.accepts(by_halves(v, 2)));
    } while (std::ranges::next_permutation(at).found);
  }
}

TEST(Radius, EveryDeclaredOrderOfSixTermsIsLegal) {
  every_declared_order_is_legal<float>();
  every_declared_order_is_legal<double>();
  every_declared_order_is_legal<float16>();
  every_declared_order_is_legal<bfloat16>();
}

// Lanes are replayed: what is open is the order of 8 numbers, not of 1,024.
TEST(Radius, SumsInLanesAreSharp) {
  test::TracedDraws random(4);
  const FpGuard guard;
  Profile lanes, folded;
  lanes.order = SumOrder::Lanes;
  folded.order = SumOrder::Folded;
  lanes.block = folded.block = 8;
  std::vector<float> terms, sums(8);
  for (int i = 0; i < 1024; ++i) terms.push_back(random.normal<float>());
  for (std::size_t i = 0; i < terms.size(); ++i) sums[i % 8] += terms[i];
  const Legal<float> legal = legal_sum(terms, lanes), one = legal_sum(terms, folded);
  double size = 0;
  for (const float v : sums) size += std::abs(static_cast<double>(v));
  EXPECT_LE(static_cast<double>(legal.hi) - static_cast<double>(legal.lo), 16 * 0x1p-24 * size);
  std::ranges::sort(sums);
  do ASSERT_TRUE(legal.accepts(in_turn(sums)));
  while (std::ranges::next_permutation(sums).found);
  EXPECT_TRUE(one.is_point());
  EXPECT_TRUE(legal.accepts(one.lo));
}

// More lanes than the accumulator's digits can bound: no false claim about their sum.
TEST(Radius, SumsOfManyLanesInANarrowAccumulatorAreLegal) {
  test::TracedDraws random(5);
  const FpGuard guard;
  Profile lanes;
  lanes.order = SumOrder::Lanes;
  lanes.block = 512;
  lanes.accumulator = DType::BFloat16;
  std::vector<float> terms;
  std::vector<bfloat16> sums(512, convert<bfloat16>(0.0));
  for (std::size_t i = 0; i < 4096; ++i) {
    terms.push_back(random.normal<float>());
    sums[i % 512] = scalar::add(sums[i % 512], convert<bfloat16>(terms[i]));
  }
  const Legal<float> legal = legal_sum(terms, lanes);
  EXPECT_TRUE(legal.accepts(convert<float>(in_turn(sums))));
  std::ranges::reverse(sums);
  EXPECT_TRUE(legal.accepts(convert<float>(in_turn(sums))));
}

TEST(Radius, RunningSumsThatAreFlushedWhenReadAreLegal) {
  Profile flushing;
  flushing.order = SumOrder::Sequential;
  flushing.flushes_inputs = true;
  const float m = 0x1p-126F;
  const Legal<float> legal = legal_sum(std::vector<float>{1.5F * m, -m, m}, flushing);
  EXPECT_TRUE(legal.accepts(m));         // 0.5 m is read as 0
  EXPECT_TRUE(legal.accepts(1.5F * m));  // it need not be
}

// The sum plus the pool's term whose addition is rounded furthest to one side; removes that term.
template <class T>
T worst_step(T sum, std::vector<T>& pool, double side) {
  std::size_t worst = 0;
  double most = -HUGE_VAL;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const double exact = convert<double>(sum) + convert<double>(pool[i]);
    const double error = (convert<double>(scalar::add(sum, pool[i])) - exact) * side;
    if (error > most) {
      most = error;
      worst = i;
    }
  }
  const T out = scalar::add(sum, pool[worst]);
  pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(worst));
  return out;
}

// Positive terms first, for the largest possible partial sums, with all roundings in one direction;
// reaches a good part of the bound.
template <class T>
void chosen_orders_are_legal(std::size_t count, double least_reach) {
  test::TracedDraws random(5);
  const FpGuard guard;
  double reach = 0;
  for (int c = 0; c < 8; ++c) {
    std::vector<T> terms, up, down;
    for (std::size_t i = 0; i < count; ++i) {
      const double fraction = random.uniform(0.0, 1.0) - (c % 2) * 0.5;
      terms.push_back(convert<T>(std::ldexp(fraction, c < 4 ? 0 : random.index(9))));
      (convert<double>(terms.back()) > 0 ? up : down).push_back(terms.back());
    }
    Profile profile;
    profile.accumulator = dtype_v<T>;
    const Legal<T> legal = legal_sum(terms, profile);
    const double middle = convert<double>(legal.lo) / 2 + convert<double>(legal.hi) / 2;
    for (const double side : {1.0, -1.0}) {
      std::vector<T> first = up, rest = down;
      T sum{};
      while (!first.empty()) sum = worst_step(sum, first, side);
      while (!rest.empty()) sum = worst_step(sum, rest, side);
      ASSERT_TRUE(legal.accepts(sum)) << Scalar::of(sum).str() << " of " << count;
      reach = std::max(
          reach, std::abs(convert<double>(sum) - middle) / (convert<double>(legal.hi) - middle));
    }
  }
  EXPECT_GT(reach, least_reach);
}

TEST(Radius, LongSumsWhoseAdditionsAllRoundOneWayAreLegal) {
  chosen_orders_are_legal<float>(7, 0.1);
  chosen_orders_are_legal<float>(300, 0.1);
  chosen_orders_are_legal<float16>(200, 0.1);
  chosen_orders_are_legal<bfloat16>(60, 0.1);
}

// All legal evaluations of small chains.
template <class T>
struct Chain {
  const char* what;
  LazyOpPtr value;
  std::vector<T> (*ways)(T a, T b, T c, T d);
};

template <class T>
std::vector<T> products_added(T a, T b, T c) {
  return {scalar::add(scalar::mul(a, b), c), scalar::fma(a, b, c)};
}

template <class T>
std::vector<Chain<T>> chains(std::int64_t n) {
  const DType d = dtype_v<T>;
  const LazyOpPtr a = in(1, d, n), b = in(2, d, n), c = in(3, d, n), e = in(4, d, n);
  const LazyOpPtr ab = LazyOp::binary(Op::Mul, a, b);
  const LazyOpPtr abc = LazyOp::binary(Op::Add, ab, c);
  return {
      {"a*b + c", abc, [](T x, T y, T z, T) { return products_added(x, y, z); }},
      {"a*b - c", LazyOp::binary(Op::Sub, ab, c),
       [](T x, T y, T z, T) { return products_added(x, y, scalar::neg(z)); }},
      {"mulacc(a, b, c)", LazyOp::ternary(Op::MulAcc, a, b, c),
       [](T x, T y, T z, T) { return products_added(x, y, z); }},
      {"(a*b + c) / d", LazyOp::binary(Op::Div, abc, e),
       [](T x, T y, T z, T w) {
         std::vector<T> out;
         for (const T v : products_added(x, y, z)) out.push_back(scalar::div(v, w));
         return out;
       }},
      {"(a*b + c) * d", LazyOp::binary(Op::Mul, abc, e),
       [](T x, T y, T z, T w) {
         std::vector<T> out;
         for (const T v : products_added(x, y, z)) out.push_back(scalar::mul(v, w));
         return out;
       }},
      {"sqrt(max(a*b + c, d*d))",
       LazyOp::unary(Op::Sqrt, LazyOp::binary(Op::Max, abc, LazyOp::binary(Op::Mul, e, e))),
       [](T x, T y, T z, T w) {
         std::vector<T> out;
         for (const T v : products_added(x, y, z))
           out.push_back(scalar::sqrt(scalar::max(v, scalar::mul(w, w))));
         return out;
       }},
      {"exp2(a*b + c)", LazyOp::unary(Op::Exp2, abc),
       [](T x, T y, T z, T) {
         std::vector<T> out;
         for (const T v : products_added(x, y, z)) out.push_back(scalar::exp2(v));
         return out;
       }},
      {"sin(a*b + c) where a < d else a*b + c",
       LazyOp::ternary(Op::Where, LazyOp::binary(Op::CmpLt, a, e), LazyOp::unary(Op::Sin, abc),
                       abc),
       [](T x, T y, T z, T w) {
         std::vector<T> out;
         for (const T v : products_added(x, y, z))
           out.push_back(scalar::cmplt(x, w) ? scalar::sin(v) : v);
         return out;
       }},
      {"(a*b + c) + (a*b + c)*d", LazyOp::binary(Op::Add, abc, LazyOp::binary(Op::Mul, abc, e)),
       [](T x, T y, T z, T w) {
         std::vector<T> out;
         for (const T v : products_added(x, y, z))
           for (const T u : products_added(v, w, v)) out.push_back(u);
         return out;
       }},
  };
}

template <class T>
std::uint64_t chains_stay_inside() {
  constexpr std::int64_t kCount = 2000;
  test::TracedDraws random(11);
  std::vector<std::vector<T>> operands(4);
  for (std::vector<T>& column : operands)
    for (std::int64_t i = 0; i < kCount; ++i) {
      const double fraction = random.uniform(-1.0, 1.0);
      column.push_back(convert<T>(std::ldexp(fraction, random.index(6) - 2)));
    }
  std::vector<BufferPtr> inputs;
  for (const std::vector<T>& column : operands) inputs.push_back(buffer(column));
  std::uint64_t narrower = 0;
  const FpGuard guard;
  for (const Chain<T>& chain : chains<T>(kCount)) {
    const auto both = legal_of<T>(chain.value, inputs, Form::Both);
    const auto interval = legal_of<T>(chain.value, inputs, Form::Interval);
    const auto radius = legal_of<T>(chain.value, inputs, Form::Radius);
    for (std::size_t i = 0; i < both.size(); ++i) {
      for (const T way : chain.ways(operands[0][i], operands[1][i], operands[2][i], operands[3][i]))
        for (const auto* form : {&both, &interval, &radius})
          EXPECT_TRUE((*form)[i].accepts(way))
              << chain.what << " " << name(dtype_v<T>) << " element " << i << " form "
              << (form == &both     ? "both"
                  : form == &radius ? "radius"
                                    : "interval");
      EXPECT_LE(both[i].width(), interval[i].width()) << chain.what;
      EXPECT_LE(both[i].width(), radius[i].width()) << chain.what;
      if (both[i].width() < std::min(interval[i].width(), radius[i].width()) ||
          radius[i].width() < interval[i].width())
        ++narrower;
    }
  }
  return narrower;
}

TEST(Radius, BothFormsHoldEveryLegalWayAndTheirIntersectionIsNeverWider) {
  EXPECT_GT(chains_stay_inside<float>(), 1000U);  // the radius form tightens these
  EXPECT_GT(chains_stay_inside<float16>(), 1000U);
  EXPECT_GT(chains_stay_inside<bfloat16>(), 1000U);
  chains_stay_inside<double>();
}

// One rule at a time, at both ends of the operands.
TEST(Radius, RulesHoldAtTheEndsOfTheirOperands) {
  test::TracedDraws random(3);
  const auto draw = [&] { return random.uniform(-1.0, 1.0); };
  for (int i = 0; i < 20000; ++i) {
    const Ball a{draw() * 8, std::abs(draw())}, b{draw() * 8, std::abs(draw())};
    const auto ends = [](const Ball& r) {
      const long double middle = r.value, far = r.radius;
      return std::array<long double, 3>{middle - far, middle, middle + far};
    };
    for (const long double x : ends(a))
      for (const long double y : ends(b)) {
        const auto holds = [&](const Ball& r, long double v) {
          return !r.known() || std::abs(v - static_cast<long double>(r.value)) <=
                                   static_cast<long double>(r.radius);
        };
        EXPECT_TRUE(holds(ball::add(a, b), x + y));
        EXPECT_TRUE(holds(ball::sub(a, b), x - y));
        EXPECT_TRUE(holds(ball::mul(a, b), x * y));
        EXPECT_TRUE(holds(ball::div(a, b), x / y));
        EXPECT_TRUE(holds(ball::max(a, b), std::max(x, y)));
        EXPECT_TRUE(holds(ball::exp2(a), std::exp2(x)));
        EXPECT_TRUE(holds(ball::sin(a), std::sin(x)));
        if (a.value - a.radius > 0) {
          EXPECT_TRUE(holds(ball::sqrt(a), std::sqrt(x)));
          EXPECT_TRUE(holds(ball::log2(a), std::log2(x)));
        }
        EXPECT_TRUE(holds(ball::either(a, b), x) && holds(ball::either(a, b), y));
      }
  }
}

// If a number beats NaN, the maximum of 2 and an operand that is 4 or NaN may be 2.
TEST(Radius, AMaximumOfWhatMayBeNanHasBothOperands) {
  const auto of = [](float v) {
    return LazyOp::constant(Scalar::of(v), ShapeTracker::contiguous({1}));
  };
  const LazyOpPtr nothing = LazyOp::reduce(Op::ReduceMax, in(1, DType::Float32, 1), {0});
  const LazyOpPtr four = LazyOp::binary(Op::Add, LazyOp::unary(Op::Recip, nothing), of(4));
  const LazyOpPtr most = LazyOp::binary(Op::Max, four, of(2));
  const BufferPtr nan = buffer(std::vector{std::numeric_limits<float>::quiet_NaN()});
  for (const Form form : {Form::Interval, Form::Radius, Form::Both}) {
    const auto legal = legal_of<float>(most, {nan}, form, Profile::named("opencl"));
    EXPECT_TRUE(legal.at(0).accepts(2));
    EXPECT_TRUE(legal.at(0).accepts(4));
  }
}

}  // namespace
}  // namespace touchstone::interp
