#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/interp/device/program.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/subkernel.h"

// A reduce whose terms are equal along an axis of its result is computed once for the whole axis.
// Compared with one-element kernels, where nothing repeats.

namespace touchstone {
namespace {

using interp::make_program;
using interp::Repeats;

LazyOpPtr loaded(const ShapeTracker& st, int idx = 1) {
  return LazyOp::load(idx, DType::Float32, st);
}
LazyOpPtr sum(const LazyOpPtr& x, std::vector<int> axes) {
  return LazyOp::reduce(Op::ReduceSum, x, std::move(axes));
}
LazyOpPtr most(const LazyOpPtr& x, std::vector<int> axes) {
  return LazyOp::reduce(Op::ReduceMax, x, std::move(axes));
}
LazyOpPtr binary(Op op, const LazyOpPtr& a, const LazyOpPtr& b) { return LazyOp::binary(op, a, b); }

// x (n, m) as (n, m, m): element (i, j, k) is x(i, k).
ShapeTracker apart(std::int64_t n, std::int64_t m) {
  return ShapeTracker::contiguous({n, m}).reshape({n, 1, m}).expand({n, m, m});
}

// exp2(x - max) / sum of the same, with each reduce repeated for every reader.
LazyOpPtr softmax(std::int64_t n, std::int64_t m) {
  const ShapeTracker x = ShapeTracker::contiguous({n, m});
  const LazyOpPtr inner = most(loaded(x.reshape({n, 1, 1, m}).expand({n, m, m, m})), {3});
  const LazyOpPtr terms = LazyOp::unary(
      Op::Exp2, binary(Op::Sub, loaded(x.reshape({n, 1, m, 1}).expand({n, m, m, 1})), inner));
  const LazyOpPtr outer = most(loaded(x.reshape({n, 1, 1, m}).expand({n, m, 1, m})), {3});
  const LazyOpPtr top =
      LazyOp::unary(Op::Exp2, binary(Op::Sub, loaded(x.reshape({n, m, 1, 1})), outer));
  return binary(Op::Div, top, sum(terms, {2}));
}

std::vector<LazyOpPtr> kernels() {
  const std::int64_t n = 5, m = 11;
  const ShapeTracker x = ShapeTracker::contiguous({n, m});
  const ShapeTracker turned = x.permute(std::vector<int>{1, 0});
  const LazyOpPtr rows = sum(loaded(apart(n, m)), {2});  // along the last axis
  // Along the first: sums of columns for each of 7.
  const LazyOpPtr columns = sum(loaded(turned.reshape({1, m, n}).expand({7, m, n})), {2});
  // Along the middle axis; a constant beside the load.
  const LazyOpPtr c = LazyOp::constant(Scalar::of(0.3F),
                                       ShapeTracker::contiguous({1, 1, 1, 1}).expand({n, 3, m, 4}));
  const LazyOpPtr middle =
      sum(binary(Op::Mul, loaded(x.reshape({n, 1, m, 1}).expand({n, 3, m, 4})), c), {3});
  // Not along an axis where a mask differs or the other operand moves.
  const LazyOpPtr masked = sum(loaded(x.reshape({n, 1, m}).pad({{0, 0}, {2, 1}, {0, 0}})), {2});
  const LazyOpPtr moves = sum(
      binary(Op::Mul, loaded(apart(n, m)), loaded(ShapeTracker::contiguous({n, m, m}), 2)), {2});
  // More results than the cache keeps.
  const LazyOpPtr many =
      sum(loaded(ShapeTracker::contiguous({70'000, 1, 2}).expand({70'000, 2, 2})), {2});
  const LazyOpPtr first =
      sum(loaded(ShapeTracker::contiguous({1, 70'000, 2}).expand({2, 70'000, 2})), {2});
  const LazyOpPtr all = sum(loaded(x.reshape({1, n, m}).expand({9, n, m})), {1, 2});
  // Terms of two reduces, one repeating, in both axis orders.
  const LazyOpPtr nested =
      sum(binary(Op::Sub, loaded(x.reshape({n, m, 1})), most(loaded(apart(n, m)), {2})), {0});
  return {rows, columns, middle, masked, moves, many, first, all, nested, softmax(n, m)};
}

std::vector<float> drawn(int n) {
  test::TracedDraws random(3);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = random.normal<float>();
  return x;
}

TEST(Repeats, GiveWhatEachElementGivesAlone) {
  const std::vector<BufferPtr> inputs{test::buffer(drawn(140'000)),
                                      test::buffer(drawn(5 * 11 * 11))};
  test::TracedDraws random(5);
  for (const LazyOpPtr& value : kernels()) {
    const std::vector<float> got = test::run<float>(value, inputs);
    std::vector<std::int64_t> shape;
    for (const sint& s : value->shape()) shape.push_back(s.as_int());
    for (int k = 0; k < 100; ++k) {
      std::size_t flat = 0;
      std::vector<std::int64_t> at;
      for (const std::int64_t s : shape) {
        at.push_back(random.between(0, s - 1));
        flat = flat * static_cast<std::size_t>(s) + static_cast<std::size_t>(at.back());
      }
      const LazyOpPtr one = interp::one_element(test::store(value), at);
      ASSERT_EQ(test::run<float>(one->src()[0], inputs)[0], got[flat]) << flat;
    }
  }
}

TEST(Repeats, AreFoundWhereTheyAreAndNowhereElse) {
  std::vector<bool> want{true, true, true, false, false, true, true, true, true, true}, got;
  for (const LazyOpPtr& value : kernels()) {
    bool repeats = false;
    for (const interp::Region& region : make_program(test::store(value), Repeats::Kept).regions)
      for (const interp::ProgramNode& node : region.nodes) repeats = repeats || node.repeats;
    got.push_back(repeats);
    for (const interp::Region& region : make_program(test::store(value)).regions)
      for (const interp::ProgramNode& node : region.nodes) EXPECT_FALSE(node.repeats);
  }
  EXPECT_EQ(got, want);
}

TEST(Repeats, ReduceNoMoreTermsThanThereAre) {
  std::int64_t terms = 0;
  const interp::KernelProgram program = make_program(test::store(softmax(64, 128)), Repeats::Kept);
  for (const interp::Region& region : program.regions) terms += region.size;
  EXPECT_LE(terms, 4L * 64 * 128);
}

TEST(Repeats, HoldForLegalResults) {
  const std::vector<float> x = drawn(5 * 11);
  const std::vector<BufferPtr> inputs{nullptr, test::buffer(x)};
  const LazyOpPtr value = softmax(5, 11);
  const std::vector<float> reference = test::run<float>(value, {inputs[1]});
  const auto legal = [&](const LazyOpPtr& kernel) {
    std::vector<std::pair<float, float>> out;
    interp::legal_results(kernel, test::raw(inputs), {}, {},
                          [&](std::int64_t, const interp::LegalBlock& block) {
                            for (std::int64_t i = 0; i < block.count(); ++i) {
                              const auto l = block.get<float>(i);
                              out.emplace_back(l.lo, l.hi);
                            }
                          });
    return out;
  };
  const auto all = legal(test::store(value));
  ASSERT_EQ(all.size(), reference.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_LE(all[i].first, reference[i]);
    EXPECT_GE(all[i].second, reference[i]);
    const std::vector<std::int64_t> at{static_cast<std::int64_t>(i / 11),
                                       static_cast<std::int64_t>(i % 11), 0, 0};
    EXPECT_EQ(legal(interp::one_element(test::store(value), at))[0], all[i]);
  }
}

// A quotient by a constant may be a product that the sum takes unrounded, and is never kept apart;
// other costly operations are, without a change of what is legal.
TEST(Repeats, OfCostlyOperationsChangeNothing) {
  const auto spread = [](int idx, std::int64_t n) {
    return loaded(ShapeTracker::contiguous({4, 1, 1}).expand({4, n, 1}), idx);
  };
  const auto divisor = [](float value, std::int64_t n) {
    return most(
        LazyOp::constant(Scalar::of(value), ShapeTracker::contiguous({1, 1, 1}).expand({4, n, 3})),
        {2});
  };
  struct Case {
    const char* name;
    LazyOpPtr (*of)(const LazyOpPtr& product, const LazyOpPtr& x, const LazyOpPtr& divisor);
    bool is_kept;
  };
  const Case cases[] = {
      {"(a*b) / 1",
       [](const LazyOpPtr& p, const LazyOpPtr&, const LazyOpPtr& d) {
         return binary(Op::Div, p, d);
       },
       false},
      {"(a*b) / x",
       [](const LazyOpPtr& p, const LazyOpPtr& x, const LazyOpPtr&) {
         return binary(Op::Div, p, x);
       },
       true},
      {"exp2(a*b)",
       [](const LazyOpPtr& p, const LazyOpPtr&, const LazyOpPtr&) {
         return LazyOp::unary(Op::Exp2, p);
       },
       true},
      {"sqrt(a*b)",
       [](const LazyOpPtr& p, const LazyOpPtr&, const LazyOpPtr&) {
         return LazyOp::unary(Op::Sqrt, p);
       },
       true},
  };
  const std::vector<float> a{1 + 0x1p-12F, 1.5F, 0, 3}, c(64, -(1 + 0x1p-11F));
  for (const Case& one : cases)
    for (const float by : {1.0F, 2.0F}) {
      SCOPED_TRACE(one.name);
      std::vector<std::vector<float>> ends;
      for (const std::int64_t n : {2, 16}) {
        const LazyOpPtr product = binary(Op::Mul, spread(1, n), spread(1, n));
        const LazyOpPtr kernel =
            test::store(binary(Op::Add, one.of(product, spread(1, n), divisor(by, n)),
                               loaded(ShapeTracker::contiguous({4, n, 1}), 2)));
        bool kept = false;
        for (const interp::Region& region : make_program(kernel, Repeats::KeptFunctions).regions)
          for (const interp::ProgramNode& node : region.nodes) kept = kept || node.kept;
        EXPECT_EQ(kept, one.is_kept && n == 16);
        const std::vector<BufferPtr> buffers{nullptr, test::buffer(a), test::buffer(c)};
        ends.emplace_back();
        interp::legal_results(kernel, test::raw(buffers), {}, {},
                              [&](std::int64_t first, const interp::LegalBlock& block) {
                                for (std::int64_t i = 0; i < block.count(); ++i) {
                                  if ((first + i) % n != 1) continue;
                                  const auto x = block.get<float>(i);
                                  ends.back().insert(ends.back().end(), {x.lo, x.hi});
                                }
                              });
      }
      EXPECT_EQ(ends[0].size(), 8U);
      for (std::size_t i = 0; i < 8; ++i)
        EXPECT_TRUE(ends[0][i] == ends[1][i] ||
                    (ends[0][i] != ends[0][i] && ends[1][i] != ends[1][i]))
            << i << ": " << ends[0][i] << " and " << ends[1][i];
    }
}

// Of a program that is computed by equal elements: the runs of its nodes by op.
std::vector<std::pair<Op, std::int64_t>> runs(const LazyOpPtr& value) {
  std::vector<std::pair<Op, std::int64_t>> all;
  const interp::KernelProgram program = make_program(test::store(value), Repeats::KeptFunctions);
  for (const interp::ProgramNode& node : program.regions[0].nodes)
    all.emplace_back(node.op, node.run);
  return all;
}
LazyOpPtr gathered(std::int64_t columns) {
  const ShapeTracker at = ShapeTracker::contiguous({4, 1}).expand({4, columns});
  return LazyOp::gather(2, DType::Float32,
                        ShapeTracker::contiguous({7, 1, 1}).expand({7, 4, columns}),
                        LazyOp::load(1, DType::Int64, at));
}

TEST(Repeats, RunsAreTheElementsOfTheLastAxesThatAreEqual) {
  const auto wide = [](std::int64_t columns) {
    return loaded(ShapeTracker::contiguous({4, 1}).expand({4, columns}));
  };
  using Runs = std::vector<std::pair<Op, std::int64_t>>;
  const auto with = [&](std::int64_t columns) {
    return binary(Op::Add, LazyOp::unary(Op::Neg, wide(columns)),
                  loaded(ShapeTracker::contiguous({4, columns}), 2));
  };
  for (const std::int64_t columns : {1, 15})
    EXPECT_EQ(runs(with(columns)),
              (Runs{{Op::Load, 1}, {Op::Neg, 1}, {Op::Load, 1}, {Op::Add, 1}}));
  for (const std::int64_t columns : {16, 17, 33, 1000})
    EXPECT_EQ(runs(with(columns)),
              (Runs{{Op::Load, columns}, {Op::Neg, columns}, {Op::Load, 1}, {Op::Add, 1}}));
  // A user's run divides its operands'; a GATHER computes each element.
  EXPECT_EQ(runs(LazyOp::unary(Op::Neg, gathered(33))),
            (Runs{{Op::Load, 33}, {Op::Gather, 1}, {Op::Neg, 1}}));
}

TEST(Repeats, NodesAreAlikeIfTheyGiveTheSameElements) {
  const auto alike = [](const LazyOpPtr& a, const LazyOpPtr& b) {
    // Regions of two reduces over the same elements.
    const LazyOpPtr value = binary(Op::Add, sum(a, {1}), most(b, {1}));
    std::int64_t pairs = 0;
    for (const auto& [regions, found] :
         interp::alike_nodes(make_program(test::store(value), Repeats::KeptFunctions)))
      if (regions == std::pair(1, 2))
        for (const int i : found) pairs += i >= 0 ? 1 : 0;
    return pairs;
  };
  const ShapeTracker st = ShapeTracker::contiguous({3, 40});
  const auto half = [&](float by) {
    return LazyOp::constant(Scalar::of(by), ShapeTracker::contiguous({1, 1}).expand({3, 40}));
  };
  const auto off = [&](int idx, float by) { return binary(Op::Sub, loaded(st, idx), half(by)); };
  EXPECT_EQ(alike(off(1, 0.5F), off(1, 0.5F)), 3);
  EXPECT_EQ(alike(off(1, 0.5F), off(1, 0.25F)), 1);  // the load
  EXPECT_EQ(alike(off(1, 0.5F), off(2, 0.5F)), 1);   // the constant
  EXPECT_EQ(alike(off(1, 0.5F), LazyOp::unary(Op::Neg, off(1, 0.5F))), 3);
  const ShapeTracker turned = ShapeTracker::contiguous({40, 3}).permute(std::vector<int>{1, 0});
  EXPECT_EQ(alike(off(1, 0.5F), binary(Op::Sub, loaded(turned), half(0.5F))), 1);
}

// Elements that repeat along rows of any length have the legal results that each has alone, among
// positions, masks, NaN and infinities.
TEST(Repeats, AlongRowsChangeNoLegalResult) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = HUGE_VALF;
  const std::vector<float> x{1.5F, kNan, -kInf, 0x1p-140F}, table{1, 2, kInf, -0.0F, 5, kNan, 7};
  const std::vector<BufferPtr> inputs{nullptr, test::buffer(std::vector<std::int64_t>{3, 0, 6, 2}),
                                      test::buffer(table), test::buffer(x),
                                      test::buffer(drawn(4000))};
  const auto legal = [&](const LazyOpPtr& kernel) {
    std::vector<std::tuple<float, float, int>> out;
    interp::legal_results(kernel, test::raw(inputs), Profile::named("library"), {},
                          [&](std::int64_t, const interp::LegalBlock& block) {
                            for (std::int64_t i = 0; i < block.count(); ++i) {
                              const auto l = block.get<float>(i);
                              out.emplace_back(l.number ? l.lo : 0, l.number ? l.hi : 0,
                                               l.number + 2 * l.nan + 4 * l.any);
                            }
                          });
    return out;
  };
  for (const std::int64_t n : {1, 15, 16, 17, 33, 1000}) {
    SCOPED_TRACE(n);
    const LazyOpPtr all = loaded(ShapeTracker::contiguous({4, n}), 4);
    const LazyOpPtr row = loaded(ShapeTracker::contiguous({4, 1}).expand({4, n}), 3);
    const LazyOpPtr padded =
        loaded(ShapeTracker::contiguous({2, 1}).pad({{1, 1}, {0, 0}}).expand({4, n}), 3);
    for (const LazyOpPtr& value :
         {binary(Op::Sub, all, LazyOp::unary(Op::Exp2, row)), binary(Op::Mul, gathered(n), all),
          binary(Op::Add, LazyOp::unary(Op::Neg, gathered(n)), row),
          binary(Op::Max, binary(Op::Div, padded, row), all)}) {
      const auto whole = legal(test::store(value));
      for (std::int64_t i = 0; i < 4 * n; i += n < 100 ? 1 : 97)
        ASSERT_EQ(legal(interp::one_element(test::store(value),
                                            std::vector<std::int64_t>{i / n, i % n}))[0],
                  whole[static_cast<std::size_t>(i)])
            << i;
    }
  }
}

}  // namespace
}  // namespace touchstone
