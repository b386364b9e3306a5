#include <gtest/gtest.h>

#include <string>

#include "touchstone/codegen/c_preamble.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"

namespace touchstone {
namespace {

constexpr DType kF32 = DType::Float32;

ShapeTracker dense_view(Shape shape) { return ShapeTracker::contiguous(std::move(shape)); }
LazyOpPtr load(int idx, const ShapeTracker& st, DType d = kF32) { return LazyOp::load(idx, d, st); }
LazyOpPtr stored_kernel(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

// The function's body without the common prologue.
std::string body(const LazyOpPtr& kernel, const CodegenOptions& options = {}) {
  const LinearKernel linear = linearize(kernel, options);
  verify(linear);
  const std::string text = render_c_function(linear, "f");
  const std::size_t begin = text.find("(void)parts;\n") + 13;
  return text.substr(begin, text.size() - begin - 2);
}

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}
bool has(const std::string& text, const std::string& what) { return count(text, what) > 0; }

TEST(RenderC, AddOfTwoMatricesIsOneLoop) {
  const auto st = dense_view({4, 6});
  EXPECT_EQ(
      body(stored_kernel(LazyOp::binary(Op::Add, load(1, st), load(2, st)))),
      "  const f32* restrict b1 = bufs[1];\n"
      "  const f32* restrict b2 = bufs[2];\n"
      "  f32* restrict b0 = bufs[0];\n"
      "  for (i64 i0 = split_at(24, part, parts), i0_end = split_at(24, part + 1, parts); i0 < "
      "i0_end; ++i0) {\n"
      "    const f32 x6 = b1[i0];\n"
      "    const f32 x7 = b2[i0];\n"
      "    b0[i0] = x6 + x7;\n"
      "  }\n");
}

TEST(RenderC, SumHasAnAccumulator) {
  EXPECT_EQ(body(stored_kernel(LazyOp::reduce(Op::ReduceSum, load(1, dense_view({2, 3})), {1})),
                 {.order = TermOrder::Source}),
            "  const f32* restrict b1 = bufs[1];\n"
            "  f32* restrict b0 = bufs[0];\n"
            "  for (i64 i0 = split_at(2, part, parts), i0_end = split_at(2, part + 1, parts); i0 < "
            "i0_end; ++i0) {\n"
            "    f32 acc7 = 0x0p+0f;\n"
            "    const i64 x8 = i0 * 3;\n"
            "    for (i64 r1 = 0; r1 < 3; ++r1) {\n"
            "      const f32 x11 = b1[x8 + r1];\n"
            "      acc7 = acc7 + x11;\n"
            "    }\n"
            "    b0[i0] = acc7;\n"
            "  }\n");
}

TEST(RenderC, MaskedLoadDoesNotRead) {
  const std::string text = body(stored_kernel(load(1, dense_view({4}).pad(Padding{{1, 2}}))));
  EXPECT_TRUE(has(text, "? b1[")) << text;
  EXPECT_EQ(count(text, "b1["), 1) << text;
}

TEST(RenderC, NothingValidIsNoLoad) {
  const auto st = dense_view({4}).pad(Padding{{3, 0}}).shrink(Mask{{0, 3}});
  EXPECT_FALSE(has(body(stored_kernel(load(1, st))), "b1"));
}

TEST(RenderC, EmptyOutputIsNoCode) {
  EXPECT_TRUE(linearize(stored_kernel(load(1, dense_view({3, 0})))).steps.empty());
  EXPECT_EQ(body(stored_kernel(load(1, dense_view({3, 0})))), "");
}

TEST(RenderC, SameLoadStandsOnce) {
  const auto st = dense_view({8});
  const auto x = LazyOp::binary(Op::Mul, load(1, st), load(1, st));
  EXPECT_EQ(count(body(stored_kernel(x)), "b1[i0]"), 1);
}

TEST(RenderC, InvariantLoadsLeaveTheirLoops) {
  // A column, constant in j, times x[i][j]: read once per i.
  const auto x = load(1, dense_view({3, 5}));
  const auto column = load(2, dense_view({3, 1}).expand({3, 5}));
  const std::string text = body(stored_kernel(LazyOp::binary(Op::Mul, x, column)));
  EXPECT_LT(text.find("b2[i0]"), text.find("i64 i1 ="));
}

TEST(RenderC, LoadsStayInLoopsThatMayNotRun) {
  const auto n = symbolic::variable("n", 0, 8);
  const auto row = load(1, dense_view({1, 3}).expand({n, 3}));
  const std::string text = body(stored_kernel(LazyOp::reduce(Op::ReduceSum, row, {0})));
  EXPECT_GT(text.find("b1["), text.find("v_n; ++")) << text;
}

TEST(RenderC, DividesPlainlyWhereOperandsAreNotNegative) {
  const std::vector<int> swap{1, 0};
  const std::string text =
      body(stored_kernel(load(1, dense_view({4, 6}).permute(swap).reshape({24}))));
  EXPECT_FALSE(has(text, "floor_")) << text;
  EXPECT_TRUE(has(text, "i0 / 4")) << text;
}

TEST(RenderC, SizesWithVariablesAreLoopBounds) {
  const auto n = symbolic::variable("n", 1, 9);
  const auto kernel = stored_kernel(load(1, dense_view({n, 4})));
  const std::string text = body(kernel);
  EXPECT_EQ(linearize(kernel).variables, std::vector<std::string>{"n"});
  EXPECT_TRUE(has(text, "const i64 v_n = vars[0];")) << text;
  EXPECT_TRUE(has(text, "split_at(v_n, part, parts)")) << text;
}

TEST(RenderC, MulAccIsMulThenAdd) {
  const auto st = dense_view({4});
  const auto mulacc = LazyOp::ternary(Op::MulAcc, load(1, st), load(2, st), load(3, st));
  EXPECT_TRUE(has(body(stored_kernel(mulacc)), "b0[i0] = (x7 * x8) + x9;"))
      << body(stored_kernel(mulacc));
}

TEST(RenderC, NothingIsFolded) {
  // x * 0 keeps NaN, x + 0 turns -0 into +0.
  const auto st = dense_view({4});
  const auto zero = LazyOp::constant(Scalar::of<float>(0), dense_view({1}).expand({4}));
  EXPECT_TRUE(has(body(stored_kernel(LazyOp::binary(Op::Mul, load(1, st), zero))), "* 0x0p+0f"));
  EXPECT_TRUE(has(body(stored_kernel(LazyOp::binary(Op::Add, load(1, st), zero))), "+ 0x0p+0f"));
}

std::string constant_text(const Scalar& value) {
  const std::string text = body(stored_kernel(LazyOp::constant(value, dense_view({}))));
  const std::size_t begin = text.find("= ", text.find("b0[0]")) + 2;
  return text.substr(begin, text.find(';', begin) - begin);
}

TEST(RenderC, ConstantsAreExact) {
  EXPECT_EQ(constant_text(Scalar::of<float>(0.1f)), "0x1.99999ap-4f");
  EXPECT_EQ(constant_text(Scalar::of<double>(0.1)), "0x1.999999999999ap-4");
  EXPECT_EQ(constant_text(Scalar::of<float>(-0.0f)), "(-0x0p+0f)");
  EXPECT_EQ(constant_text(Scalar::from_bits(kF32, 0x7f800000)), "f32_bits(0x7f800000u)");
  EXPECT_EQ(constant_text(Scalar::from_bits(kF32, 0xffc00001)), "f32_bits(0xffc00001u)");
  EXPECT_EQ(constant_text(Scalar::of<std::int64_t>(INT64_MIN)), "(-9223372036854775807 - 1)");
  EXPECT_EQ(constant_text(Scalar::of<std::int8_t>(-128)), "(-128)");
  EXPECT_EQ(constant_text(Scalar::of<std::uint64_t>(UINT64_MAX)), "18446744073709551615ull");
  EXPECT_EQ(constant_text(Scalar::from_double(DType::Float16, 1)), "((f16)0x3c00u)");
  EXPECT_EQ(constant_text(Scalar::of<bool>(true)), "1");
}

TEST(RenderC, PreambleHoldsWhatIsCalledAndNoMore) {
  const std::string none = codegen::c_preamble("x + y");
  EXPECT_FALSE(has(none, "inline"));
  const std::string some = codegen::c_preamble("f64_to_bf16(x) + exp2f(y)");
  EXPECT_TRUE(has(some, "bf16 f64_to_bf16(f64 x)"));
  EXPECT_TRUE(has(some, "float exp2f(float);"));
  EXPECT_TRUE(has(some, "f64_bits(u64 x)"));
  EXPECT_FALSE(has(some, "exp2(double)"));
  EXPECT_FALSE(has(some, "f32_to_bf16"));
}

TEST(Lanes, NeighbouringOutputsShareTheReduceLoop) {
  const auto x = load(1, dense_view({32, 100}));
  const auto kernel = stored_kernel(LazyOp::reduce(Op::ReduceSum, x, {0}));
  const std::string text = body(kernel);
  EXPECT_TRUE(has(text, "f32 acc")) << text;
  EXPECT_TRUE(has(text, "[56];")) << text;  // two tiles, the second overlaps the first
  EXPECT_TRUE(has(text, "min_i64(i0 * 56, 44)")) << text;
  EXPECT_FALSE(has(text, "split_at")) << text;  // their outputs must not be streamed
  EXPECT_FALSE(has(body(kernel, {true, false}), "[56]"));
}

// x[m, k] times y[n, k], over the last axis: each row of lanes shares an element of x, and all rows
// the elements of y, whose lanes are strided.
LazyOpPtr product(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto x = load(1, dense_view({m, 1, k}).expand({m, n, k}));
  const auto y = load(2, dense_view({1, n, k}).expand({m, n, k}));
  const auto scaled = LazyOp::binary(
      Op::Max, x, LazyOp::constant(Scalar::of(2.0F), dense_view({1, 1, 1}).expand({m, n, k})));
  return stored_kernel(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, scaled, y), {2}));
}

CodegenOptions without_blocks(bool stages = true) {
  CodegenOptions options{true, true, stages};
  options.order = TermOrder::Source;
  options.sizes.block_rows = 1;
  return options;
}

TEST(Stages, WhatLanesShareIsComputedOnceARow) {
  const std::string text = body(product(3, 16, 12), without_blocks());
  EXPECT_EQ(count(text, "f32 stage"), 1) << text;
  EXPECT_TRUE(has(text, "[12];")) << text;
  EXPECT_LT(text.find("max_f32"), text.find("i64 r1")) << text;
  EXPECT_FALSE(has(body(product(3, 16, 12), without_blocks(false)), "stage"));
  EXPECT_FALSE(has(body(product(3, 16, 7), without_blocks()), "stage"));  // less than a vector
}

TEST(Stages, WhatRowsShareIsTurnedForTheLanesBeforeThem) {
  const std::string text = body(product(4, 16, 32), without_blocks());
  EXPECT_EQ(count(text, "f32 stage"), 2) << text;
  EXPECT_TRUE(has(text, "[512];")) << text;
  EXPECT_LT(text.find("[512];"), text.find("split_at")) << text;
  EXPECT_EQ(count(text, "= b2["), 1) << text;
}

// y[k, j // 64] times x[k, j]: constant within a tile, different in the next.
TEST(Stages, WhatATileSharesIsNotThatOfAnother) {
  const auto y = load(
      1, dense_view({32, 2}).reshape({1, 32, 2, 1}).expand({4, 32, 2, 64}).reshape({4, 32, 128}));
  const auto x = load(2, dense_view({4, 32, 128}));
  const auto twice = LazyOp::binary(Op::Add, y, y);
  const auto kernel =
      stored_kernel(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, twice, x), {1}));
  EXPECT_TRUE(has(body(kernel, without_blocks()), "f32 stage")) << body(kernel, without_blocks());
  EXPECT_TRUE(has(body(kernel, without_blocks()), "[4096];"))
      << body(kernel, without_blocks());  // for the whole axis
  // Rows that are all alike are summed once, though y has two views.
  const auto same_rows = load(2, dense_view({1, 32, 128}).expand({4, 32, 128}));
  const std::string once = body(
      stored_kernel(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, twice, same_rows), {1})),
      without_blocks());
  EXPECT_LT(once.find("acc"), once.find("< 4;")) << once;
}

// Four rows of x[m, k] times y[k, n], each with its own accumulators, share every load of y.
TEST(Blocks, RowsThatShareALoadReduceTogether) {
  const auto text_of = [](std::int64_t m, const LayoutSizes& sizes = {.block_rows = 4}) {
    const auto x = load(1, dense_view({m, 1, 9}).expand({m, 32, 9}));
    const auto y = load(2, ShapeTracker({View::strided({m, 32, 9}, {0, 1, 32}, 0)}));
    return body(stored_kernel(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, y), {2})),
                {.sizes = sizes});
  };
  const auto rows = [&](const std::string& text) { return count(text, "= b1["); };
  for (const std::int64_t m : {4, 8, 12}) EXPECT_EQ(rows(text_of(m)), 4) << text_of(m);
  EXPECT_EQ(rows(text_of(9)), 3);
  EXPECT_EQ(rows(text_of(10)), 2);
  EXPECT_EQ(rows(text_of(7)), 1);
  EXPECT_EQ(rows(text_of(1)), 1);
  EXPECT_EQ(rows(text_of(8, {.block_rows = 1})), 1);
  const std::string text = text_of(8);
  EXPECT_EQ(count(text, "= b2["), 1) << text;
  EXPECT_EQ(count(text, "[32];"), 4) << text;
  EXPECT_TRUE(has(text, "split_at(2, part, parts)")) << text;
}

// The sum of a row and the sum of its squares: each element is read once.
TEST(Blocks, OutputsOfTheSameTermsReduceTogether) {
  const auto text_of = [](std::int64_t rows, std::int64_t pairs) {
    const auto x = load(1, dense_view({1, rows, 40}).expand({pairs, rows, 40}));
    Mask behind{{1, pairs}, {0, rows}, {0, 40}};
    const auto squared = LazyOp::constant(
        Scalar::from_int(DType::Bool, 1),
        ShapeTracker({View::strided({pairs, rows, 40}, {0, 0, 0}, 0, std::move(behind))}));
    const auto term = LazyOp::ternary(Op::Where, squared, LazyOp::binary(Op::Mul, x, x),
                                      LazyOp::binary(Op::Add, x, x));
    return body(stored_kernel(LazyOp::reduce(Op::ReduceSum, term, {2})));
  };
  for (const std::int64_t rows : {1, 3}) {
    EXPECT_EQ(count(text_of(rows, 2), "= b1["), 2) << text_of(rows, 2);  // and the eight beyond 32
    EXPECT_EQ(count(text_of(rows, 3), "= b1["), 2) << text_of(rows, 3);
    EXPECT_FALSE(has(text_of(rows, 2), " ? ")) << text_of(rows, 2);
    EXPECT_TRUE(has(text_of(rows, 5), " ? ")) << text_of(rows, 5);  // a loop
  }
}

TEST(Lanes, AReduceOfNothingStandsBesideALongOne) {
  const auto sum = [](int buffer, std::int64_t terms) {
    const Shape shape{8, 16, terms};
    const auto x = load(buffer, ShapeTracker({View::strided(shape, {0, 7, 1}, 0)}));
    return LazyOp::reduce(Op::ReduceSum, x, {2});
  };
  EXPECT_TRUE(has(body(stored_kernel(LazyOp::binary(Op::Add, sum(1, 0), sum(2, 512)))), "= b2["));
}

TEST(Stages, TakeNoMoreThanTheirShareOfTheCache) {
  EXPECT_EQ(count(body(product(8, 64, 90), without_blocks()), "f32 stage"), 2);
  EXPECT_EQ(count(body(product(8, 64, 96), without_blocks()), "f32 stage"),
            1);  // 24576 for a single one
  EXPECT_EQ(count(body(product(8, 64, 18000), without_blocks()), "f32 stage"), 0);
}

TEST(Stages, StayInLoopsThatMayNotRun) {
  const symbolic::Node rows = symbolic::variable("n", 0, 9);
  const auto y = load(1, dense_view({1, 16, 32}).expand({rows, 16, 32}));
  const std::string text = body(stored_kernel(LazyOp::reduce(Op::ReduceSum, y, {2})));
  EXPECT_FALSE(has(text, "stage")) << text;
}

TEST(Linearize, RejectsWhatIsNoKernel) {
  EXPECT_THROW(linearize(load(1, dense_view({2}))), AstError);
  EXPECT_THROW(linearize(stored_kernel(load(0, dense_view({2})))), AstError);
}

TEST(Linearize, DeepExpressionsNeedNoDeepStack) {
  const auto st = dense_view({4});
  LazyOpPtr x = load(1, st);
  for (int i = 0; i < 100'000; ++i) x = LazyOp::binary(Op::Add, x, load(2, st));
  EXPECT_GT(render_c(linearize(stored_kernel(x))).size(), 100'000U);
}

TEST(Linearize, NamesOfVariablesMayBeThoseOfLoops) {
  const auto i0 = symbolic::variable("i0", 1, 4);
  const auto kernel = stored_kernel(load(1, dense_view({i0, 3}).expand({i0, 3})));
  const LinearKernel linear = linearize(kernel);
  EXPECT_NO_THROW(verify(linear));
  EXPECT_TRUE(has(render_c(linear), "v_i0"));
}

// The first element of a tile is named like a variable.
TEST(Linearize, NamesOfVariablesMayBeThoseOfTiles) {
  const auto first = symbolic::variable("i0_begin", 0, 8);
  const auto view = dense_view({40, 100}).shrink(Mask{{first, first + 32}, {0, 100}});
  const auto kernel = stored_kernel(LazyOp::reduce(Op::ReduceSum, load(1, view), {0}));
  const std::string text = body(kernel);
  EXPECT_TRUE(has(text, "min_i64(i0 * 56, 44)")) << text;
  EXPECT_NE(text.find("v_i0_begin"), text.rfind("v_i0_begin")) << text;  // defined, and read
}

TEST(RenderOpenCl, ItsBuffersAreParametersAndItsWorkItemsShareTheOuterLoop) {
  const auto st = dense_view({4, 6});
  const std::string text = render_opencl(linearize(
      stored_kernel(LazyOp::binary(Op::Max, load(1, st), LazyOp::unary(Op::Sin, load(2, st))))));
  EXPECT_TRUE(has(text, "#pragma OPENCL FP_CONTRACT OFF\n"));
  EXPECT_TRUE(has(text,
                  "(global f32* restrict b0, global const f32* restrict b1, global const f32* "
                  "restrict b2) {\n"
                  "  const i64 part = get_global_id(0), parts = get_global_size(0);\n"
                  "  for (i64 i0 = split_at(24, part, parts)"));
  EXPECT_TRUE(has(text, "static inline f32 max_f32("));
  EXPECT_FALSE(has(text, "bufs"));
  EXPECT_FALSE(has(text, "float sinf(float);"));
}

TEST(RenderOpenCl, LiteralsOfSixtyFourBitsHaveItsSuffix) {
  EXPECT_EQ(codegen::opencl_literals("x + 0x1full * 7ull, full(null), 3u"),
            "x + 0x1ful * 7ul, full(null), 3u");
  const auto st = dense_view({3});
  const LazyOpPtr c = LazyOp::constant(Scalar::of(std::uint64_t{5}), st);
  const std::string text = render_opencl(linearize(stored_kernel(
      LazyOp::cast(LazyOp::binary(Op::Add, load(1, st, DType::UInt64), c), DType::BFloat16))));
  EXPECT_TRUE(has(text, "5ul"));
  EXPECT_FALSE(has(text, "ull"));
  EXPECT_FALSE(has(text, "long long"));
}

}  // namespace
}  // namespace touchstone
