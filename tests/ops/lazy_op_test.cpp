#include "touchstone/ops/lazy_op.h"

#include <gtest/gtest.h>

#include <chrono>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone {
namespace {

using test::error_of;
using testing::HasSubstr;

ShapeTracker flat(std::int64_t n) { return ShapeTracker::contiguous({n}); }
LazyOpPtr in(int idx, std::int64_t n, DType d = DType::Float32) {
  return LazyOp::load(idx, d, flat(n));
}

TEST(LazyOp, ShapeAndDtypeFollowFromTheOperands) {
  const LazyOpPtr a = in(1, 4), b = in(2, 4);
  const LazyOpPtr sum = LazyOp::binary(Op::Add, a, b);
  EXPECT_EQ(sum->shape(), Shape{4});
  EXPECT_EQ(sum->dtype(), DType::Float32);
  EXPECT_EQ(LazyOp::binary(Op::CmpLt, a, b)->dtype(), DType::Bool);
  EXPECT_EQ(LazyOp::cast(a, DType::Int8)->dtype(), DType::Int8);
  EXPECT_EQ(LazyOp::reduce(Op::ReduceSum, a, {0})->shape(), Shape{1});
}

TEST(LazyOp, IllTypedNodesCannotBeBuilt) {
  const LazyOpPtr a = in(1, 4), b = in(2, 5), i = in(3, 4, DType::Int32), c = in(4, 4, DType::Bool);
  EXPECT_THAT(error_of([&] { LazyOp::binary(Op::Add, a, b); }),
              HasSubstr("ADD: operands 0 and 1 have shapes (4,) and (5,)"));
  EXPECT_THAT(error_of([&] { LazyOp::binary(Op::Add, a, i); }),
              HasSubstr("float32 and int32; insert a CAST"));
  EXPECT_THAT(error_of([&] { LazyOp::unary(Op::Exp2, i); }),
              HasSubstr("EXP2: takes floats, not int32"));
  EXPECT_THAT(error_of([&] { LazyOp::binary(Op::Xor, a, a); }), HasSubstr("XOR"));
  EXPECT_THAT(error_of([&] { LazyOp::binary(Op::Div, c, c); }), HasSubstr("not bool"));
  EXPECT_THAT(error_of([&] { LazyOp::ternary(Op::Where, a, a, a); }),
              HasSubstr("condition has dtype float32"));
  EXPECT_THAT(error_of([&] { LazyOp::make(Op::Add, {a}, {}); }),
              HasSubstr("takes 2 operands, not 1"));
  EXPECT_THAT(error_of([&] {
                LazyOp::make(Op::Add, {a, nullptr}, {});
              }),
              HasSubstr("null operand"));
  EXPECT_THAT(error_of([&] { LazyOp::reduce(Op::ReduceSum, a, {1}); }),
              HasSubstr("axis 1 is not in [0, 1)"));
  EXPECT_THAT(error_of([&] { LazyOp::reduce(Op::ReduceSum, a, {0}, DType::Float16); }),
              HasSubstr("cannot accumulate float32 in float16"));
  EXPECT_THAT(error_of([&] { LazyOp::cast(a, DType::Int8, true); }),
              HasSubstr("bitcast keeps the size"));
  EXPECT_THAT(error_of([&] { LazyOp::make(Op::Permute, {a}, {}); }),
              HasSubstr("does not belong in a kernel"));
}

TEST(LazyOp, EqualTreesAreTheSameHoweverTheyWereBuilt) {
  const auto build = [] {
    return LazyOp::binary(Op::Mul, in(1, 4), LazyOp::unary(Op::Neg, in(2, 4)));
  };
  EXPECT_TRUE(same(build(), build()));
  EXPECT_EQ(build()->hash(), build()->hash());
  EXPECT_FALSE(same(build(), LazyOp::binary(Op::Mul, in(2, 4), LazyOp::unary(Op::Neg, in(2, 4)))));
}

TEST(LazyOp, SharedNodesDoNotMakeComparisonExponential) {
  const auto tower = [] {
    LazyOpPtr x = in(1, 4);
    for (int i = 0; i < 200; ++i) x = LazyOp::binary(Op::Add, x, x);
    return x;
  };
  EXPECT_TRUE(same(tower(), tower()));
}

TEST(LazyOp, AChainOfAMillionNodesIsBuiltSortedAndFreed) {
  LazyOpPtr x = in(1, 4);
  for (int i = 0; i < 1'000'000; ++i) x = LazyOp::unary(Op::Neg, std::move(x));
  EXPECT_EQ(toposort(x).size(), 1'000'001U);
}

TEST(LazyOp, TheTreeOfALongChainDoesNotTakeTheSquareOfItsLength) {
  const ShapeTracker st = ShapeTracker::contiguous({4});
  LazyOpPtr x = LazyOp::load(1, DType::Float32, st);
  for (int i = 0; i < 20'000; ++i) x = LazyOp::unary(Op::Neg, x);
  const std::string tree = str(LazyOp::store(st, x));
  EXPECT_LT(tree.size(), std::size_t{4} << 20);
  const std::string deepest(120, ' ');
  EXPECT_NE(tree.find("\n 60 " + deepest + "NEG : float32 (4,)\n"), tree.npos);
  EXPECT_NE(tree.find("\n 61 " + deepest + "[61] NEG : float32 (4,)\n"), tree.npos);
  EXPECT_NE(tree.find("\n20001 " + deepest + "[20001] LOAD buffer 1"), tree.npos);
}

TEST(Kernel, TensOfThousandsOfBuffersAreQuick) {
  const ShapeTracker st = ShapeTracker::contiguous({4});
  LazyOpPtr sum = LazyOp::load(60'000, DType::Float32, st);
  for (int i = 60'000; i-- > 1;)
    sum = LazyOp::binary(Op::Add, sum, LazyOp::load(i, DType::Float32, st));
  const auto begin = std::chrono::steady_clock::now();
  const LazyOpPtr kernel = LazyOp::store(st, sum);
  validate_kernel(kernel);
  EXPECT_EQ(buffers_of(kernel).size(), 60'001U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Kernel, EndsInOneStoreOfBufferZero) {
  const LazyOpPtr a = in(1, 4);
  EXPECT_THAT(error_of([&] { validate_kernel(a); }),
              HasSubstr("is the root; a kernel must end in a STORE"));
  EXPECT_THAT(error_of([&] { validate_kernel(LazyOp::store(flat(4), in(0, 4))); }),
              HasSubstr("reads buffer 0"));
  const LazyOpPtr mixed =
      LazyOp::binary(Op::Add, LazyOp::cast(in(1, 4, DType::Int32), DType::Float32), a);
  EXPECT_THAT(error_of([&] { validate_kernel(LazyOp::store(flat(4), mixed)); }),
              HasSubstr("another node as int32"));
  const LazyOpPtr strided = LazyOp::store(ShapeTracker({View::strided({4}, {2})}), a);
  EXPECT_THAT(error_of([&] { validate_kernel(strided); }), HasSubstr("must be contiguous"));
  const LazyOpPtr twice = LazyOp::store(flat(4), LazyOp::unary(Op::Neg, LazyOp::store(flat(4), a)));
  EXPECT_THAT(error_of([&] { validate_kernel(twice); }), HasSubstr("one STORE"));
  EXPECT_NO_THROW(validate_kernel(LazyOp::store(flat(4), a)));
}

TEST(Kernel, ReducesNestOnlySoDeep) {
  const auto tower = [](int reduces) {
    LazyOpPtr x = in(1, 4);
    for (int i = 0; i < reduces; ++i)
      x = LazyOp::unary(Op::Neg, LazyOp::reduce(Op::ReduceSum, std::move(x), {}));
    return LazyOp::store(flat(4), x);
  };
  EXPECT_NO_THROW(validate_kernel(tower(16)));
  EXPECT_THAT(error_of([&] { validate_kernel(tower(17)); }),
              HasSubstr("node 33 (REDUCE_SUM) is the top of more than 16 nested reduces"));
  EXPECT_THROW(validate_kernel(tower(100'000)), AstError);
}

TEST(Kernel, BindingRefusesAValueOutsideTheRange) {
  const sint n = symbolic::variable("n", 1, 8);
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({n}));
  const LazyOpPtr kernel = LazyOp::store(ShapeTracker::contiguous({n}), x);
  EXPECT_EQ(bind_variables(kernel, {{"n", 8}})->shape(), Shape{8});
  EXPECT_THAT(error_of([&] {
                bind_variables(kernel, {{"n", 9}});
              }),
              HasSubstr("variable 'n' = 9 is outside [1, 8]"));
  EXPECT_THROW(bind_variables(kernel, {{"n", 0}}), AstError);
}

TEST(Kernel, BuffersAreAsLargeAsTheViewsReach) {
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker({View::strided({3}, {4}, 1)}));
  const std::vector<BufferSpec> specs = buffers_of(LazyOp::store(flat(3), x));
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0].size, 3);
  EXPECT_EQ(specs[1].size, 10);
}

TEST(Kernel, NamesSayShapeAndReducedAxes) {
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({8, 1, 10}));
  EXPECT_EQ(kernel_name(LazyOp::store(ShapeTracker::contiguous({8, 1, 10}), x)), "E_8_10");
  EXPECT_EQ(kernel_name(LazyOp::store(ShapeTracker::contiguous({8, 1, 1}),
                                      LazyOp::reduce(Op::ReduceSum, x, {2}))),
            "r_8_10");
}

TEST(FlopCounter, CountsEachNodeOnce) {
  const LazyOpPtr a = in(1, 4);
  const LazyOpPtr twice = LazyOp::binary(Op::Add, a, a);
  EXPECT_EQ(get_lazyop_info(twice).flops, sint(4));
  EXPECT_EQ(get_lazyop_info(LazyOp::binary(Op::Add, twice, twice)).flops, sint(8));
  EXPECT_EQ(get_lazyop_info(LazyOp::reduce(Op::ReduceSum, a, {0})).flops, sint(4));
  EXPECT_EQ(get_lazyop_info(LazyOp::cast(a, DType::Int32)).flops, sint(0));
}

TEST(FlopCounter, BytesAreThoseAViewTouches) {
  const ShapeTracker row = ShapeTracker::contiguous({1, 4}).expand({3, 4});
  const LazyOpPtr kernel =
      LazyOp::store(ShapeTracker::contiguous({3, 4}), LazyOp::load(1, DType::Float32, row));
  const FlopCounter info = get_lazyop_info(kernel);
  EXPECT_EQ(info.mem.at(0), sint(48));
  EXPECT_EQ(info.mem.at(1), sint(16));
}

TEST(FlopCounter, BytesOfWhatIsMaskedAreNotTouched) {
  const ShapeTracker padded = ShapeTracker::contiguous({2, 3}).pad({{1, 1}, {0, 0}});
  EXPECT_EQ(get_lazyop_info(LazyOp::load(1, DType::Float32, padded)).mem.at(1), sint(24));
  const std::vector<std::int64_t> steps = {2, 1};  // its addresses span two more elements
  const ShapeTracker every_other =
      ShapeTracker::contiguous({5, 1}).stride(steps).pad({{1, 1}, {0, 0}});
  EXPECT_EQ(get_lazyop_info(LazyOp::load(1, DType::Float32, every_other)).mem.at(1), sint(12));
}

TEST(FlopCounter, CountsAreSymbolicWhereShapesAre) {
  const sint n = symbolic::variable("n", 1, 10);
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({n, 3}));
  const FlopCounter info = get_lazyop_info(LazyOp::binary(Op::Mul, x, x));
  EXPECT_EQ(info.flops.evaluate({{"n", 5}}), 15);
  EXPECT_EQ(info.mem.at(1).evaluate({{"n", 5}}), 60);
}

}  // namespace
}  // namespace touchstone
