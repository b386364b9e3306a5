#include "touchstone/codegen/opts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/codegen/layout.h"

namespace touchstone {
namespace {

constexpr DType kFloat = DType::Float32;

LazyOpPtr written(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

ShapeTracker strided(const Shape& shape, const Strides& strides) {
  return ShapeTracker({View::strided(shape, strides, 0, std::nullopt)});
}

// m x k by k x n.
LazyOpPtr matmul(std::int64_t m, std::int64_t k, std::int64_t n) {
  const LazyOpPtr a = LazyOp::load(1, kFloat, strided({m, k, n}, {k, 1, 0}));
  const LazyOpPtr b = LazyOp::load(2, kFloat, strided({m, k, n}, {0, n, 1}));
  return written(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, a, b), {1}));
}

LazyOpPtr transposed(std::int64_t rows, std::int64_t columns) {
  return written(
      LazyOp::unary(Op::Sqrt, LazyOp::load(1, kFloat, strided({rows, columns}, {1, rows}))));
}

LazyOpPtr row_sums() {
  return written(
      LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, kFloat, strided({6, 40}, {40, 1})), {1}));
}

template <class E>
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

std::string parse_error(const std::string& text) {
  return error_of<ParseError>([&] { parse_opts(text); });
}

TEST(OptsText, ReadsBackAsItWasWritten) {
  const std::string text =
      "reorder(1,0) lanes(16) block(0,4) stage(24576) pack(0,524288) unroll(2) parallel(0)";
  EXPECT_EQ(str(parse_opts(text)), text);
  EXPECT_EQ(str(parse_opts("  lanes ( 16 )\n block( 0 , 4 )")), "lanes(16) block(0,4)");
  EXPECT_TRUE(parse_opts("none").empty());
  EXPECT_TRUE(parse_opts("").empty());
  EXPECT_EQ(str(Opts{}), "none");
  for (const OptInfo& opt : opt_table()) {
    const auto args = static_cast<std::size_t>(std::ranges::count(opt.arguments, ',')) + 1;
    const Opts one{{opt.kind, std::vector<std::int64_t>(args, -7)}};
    EXPECT_EQ(parse_opts(str(one)), one) << opt.name;
  }
}

TEST(OptsText, ErrorsNameTheOptAndTheMend) {
  EXPECT_EQ(parse_error("lane(4)").substr(0, 43), "there is no opt 'lane'; did you mean 'lanes");
  EXPECT_EQ(parse_error("lanes"), "expected '(' after lanes: lanes(count)");
  EXPECT_EQ(parse_error("lanes(4"), "expected ')' at the end of lanes: lanes(count)");
  EXPECT_EQ(parse_error("lanes(four)"), "expected a whole number in lanes(...), at 'four)'");
  EXPECT_EQ(parse_error("lanes(99999999999999999999)"),
            "a number in lanes(...) does not fit in 64 bits");
  EXPECT_EQ(parse_error("block(4)"), "block(4) has 1 numbers; it takes 2: block(axis,rows)");
  EXPECT_EQ(parse_error("lanes(4) lanes(8)"), "lanes(...) is given twice");
  EXPECT_EQ(parse_error("none lanes(4)"), "'none' cannot be combined with other opts");
  EXPECT_EQ(parse_error("reorder(" + std::string(200, '0') + ")").substr(0, 10), "no error");
  std::string many = "reorder(0";
  for (int i = 0; i < 100; ++i) many += ",0";
  EXPECT_EQ(parse_error(many + ")"), "reorder(...) has more than 64 numbers");
}

std::string refused(const LazyOpPtr& kernel, const std::string& opts) {
  const std::string why = refusal(kernel, parse_opts(opts)).value_or("legal");
  EXPECT_EQ(error_of<AstError>([&] { linearize(kernel, {.opts = parse_opts(opts)}); }),
            why == "legal" ? "no error" : why);
  return why;
}

TEST(Opts, WhatIsNotLegalIsRefusedWithTheReason) {
  const LazyOpPtr p = matmul(12, 20, 24);
  EXPECT_EQ(refused(p, "lanes(8) block(0,4) stage(4096) pack(0,65536) unroll(4) parallel(0)"),
            "legal");
  EXPECT_EQ(refused(p, "lanes(25)"), "lanes(25): number 1 must be from 2 to 24");
  EXPECT_EQ(refused(p, "lanes(8) block(0,5)"), "block(0,5): 5 rows do not divide axis 0 of 12");
  EXPECT_EQ(refused(p, "block(0,4)"), "block(0,4): needs lanes(count)");
  EXPECT_EQ(refused(p, "lanes(8) block(2,4)"),
            "block(2,4): rows must be along an axis before that of the lanes, 2");
  EXPECT_EQ(refused(p, "reorder(0,0,1)"),
            "reorder(0,0,1): the numbers must be a permutation of the axes 0 to 2");
  EXPECT_EQ(refused(p, "tile(0,2,4,4)"), "tile(0,2,4,4): the kernel reduces; use lanes(count)");
  EXPECT_EQ(refused(p, "sums(16)"),
            "sums(16): the terms of its reduces are not adjacent in memory");
  EXPECT_EQ(refused(p, "lanes(8) stage(2000000)"),
            "stage(2000000): number 1 must be from 1 to 1048576");
  EXPECT_EQ(refused(p, "parallel(7)"), "parallel(7): number 1 must be from 0 to 1");
  EXPECT_EQ(refused(row_sums(), "sums(8)"), "legal");
  EXPECT_EQ(refused(row_sums(), "sums(12)"), "sums(12): the number must be a power of 2");
  EXPECT_EQ(refused(row_sums(), "sums(8) block(0,2)"), "legal");
  EXPECT_EQ(refused(row_sums(), "sums(8) block(0,4)"),
            "block(0,4): 4 rows do not divide axis 0 of 6");
  EXPECT_EQ(refused(row_sums(), "sums(1024) block(0,6)"),
            "block(0,6): 6 rows of 1024 sums exceed 4096 accumulators");
  EXPECT_EQ(refused(row_sums(), "sums(8) lanes(2)"), "sums(8): excludes lanes(...)");
  EXPECT_EQ(refused(transposed(8, 12), "lanes(4)"),
            "lanes(4): no reduce differs along axis 1, the last");
  EXPECT_EQ(refused(transposed(8, 12), "unroll(4)"), "unroll(4): the kernel has no reduce");
  EXPECT_EQ(refused(transposed(8, 12), "tile(0,0,2,2)"),
            "tile(0,0,2,2): rows and columns must be along different axes");
  EXPECT_EQ(refused(transposed(8, 12), "prefetch(1)"),
            "prefetch(1): needs tile(row axis,column axis,rows,columns)");
  EXPECT_EQ(refused(transposed(8, 12), "peel(1,2)"), "legal");
  EXPECT_EQ(refused(transposed(8, 12), "peel(0,0)"),
            "peel(0,0): of 12 elements, the peeled parts must take some and leave some");
  EXPECT_EQ(refused(transposed(8, 12), "peel(6,6)"),
            "peel(6,6): of 12 elements, the peeled parts must take some and leave some");
  EXPECT_EQ(refused(transposed(8, 12), "peel(-1,2)"), "peel(-1,2): number 1 must be from 0 to 11");
  EXPECT_EQ(refused(transposed(8, 12), "tile(0,1,4,4) peel(1,1)"), "peel(1,1): excludes tile(...)");
  EXPECT_EQ(refused(transposed(8, 12), "peel(1,1) parallel(1)"),
            "parallel(1): number 1 must be from 0 to 0");
  EXPECT_EQ(refused(transposed(8, 0), "peel(1,1)"), "peel(1,1): axis 1 has no elements");
  EXPECT_EQ(refused(row_sums(), "peel(1,1)"), "peel(1,1): the kernel reduces");
  EXPECT_EQ(refused(row_sums(), "sums(8) prefetch(3)"), "legal");
  EXPECT_EQ(refused(p, "lanes(8) prefetch(1)"),
            "prefetch(1): needs tile(row axis,column axis,rows,columns)");
  EXPECT_EQ(refused(transposed(8, 12), "tile(0,1,4,4) prefetch(65)"),
            "prefetch(65): number 1 must be from 1 to 64");
  EXPECT_EQ(refused(transposed(8, 12), "tile(0,1,3,4)"),
            "tile(0,1,3,4): 3 does not divide axis 0 of 8");
  EXPECT_EQ(refused(written(LazyOp::load(1, kFloat, ShapeTracker::contiguous({1}))), "lanes(4)"),
            "lanes(4): the kernel has one element, and no lanes");
}

TEST(Opts, TermsOfOneReduceKeepTheirOrder) {
  const ShapeTracker st = strided({3, 4, 5}, {1, 3, 12});
  const LazyOpPtr both =
      written(LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, kFloat, st), {0, 2}));
  EXPECT_EQ(refused(both, "reorder(2,1,0)"),
            "reorder(2,1,0): the axes 0, 2 of one reduce must keep their order");
  EXPECT_EQ(refused(both, "reorder(0,2,1)"), "legal");
}

TEST(Opts, HandCodedOnesAreWhatIsAppliedWithoutAny) {
  for (const LazyOpPtr& kernel :
       {matmul(12, 20, 24), matmul(512, 512, 512), transposed(64, 64), row_sums()}) {
    const Opts opts = hand_coded_optimizations(kernel);
    EXPECT_FALSE(opts.empty());
    EXPECT_EQ(linearize(kernel, {.opts = opts}), linearize(kernel));
    EXPECT_NE(linearize(kernel, {.opts = Opts{}}), linearize(kernel));
  }
  EXPECT_EQ(str(hand_coded_optimizations(row_sums())), "sums(16)");
  const auto rows = [](Op op, std::int64_t terms) {
    const LazyOpPtr x = LazyOp::load(1, kFloat, strided({5, terms}, {terms, 1}));
    return str(hand_coded_optimizations(written(LazyOp::reduce(op, x, {1}))));
  };
  EXPECT_EQ(rows(Op::ReduceSum, 4096), "sums(16)");
  EXPECT_EQ(rows(Op::ReduceMax, 4096), "sums(64)");
  EXPECT_EQ(rows(Op::ReduceMax, 128), "sums(16)");
  const auto sums = [](DType type, std::int64_t terms) {
    const LazyOpPtr x = LazyOp::load(1, type, ShapeTracker::contiguous({terms}));
    return str(hand_coded_optimizations(written(LazyOp::reduce(Op::ReduceMax, x, {0}))));
  };
  EXPECT_EQ(sums(kFloat, std::int64_t{1} << 22), "sums(64)");
  EXPECT_EQ(sums(kFloat, std::int64_t{1} << 23), "sums(64) prefetch(32)");
  EXPECT_EQ(sums(DType::Float64, std::int64_t{1} << 22), "sums(64) prefetch(16)");
  EXPECT_EQ(sums(DType::UInt8, std::int64_t{1} << 25), "sums(64) prefetch(64)");
  EXPECT_EQ(str(hand_coded_optimizations(transposed(64, 64))), "tile(0,1,32,32)");
  EXPECT_EQ(str(hand_coded_optimizations(transposed(4096, 4096))), "tile(0,1,64,64) prefetch(1)");
}

// Overlapping 3 by 3 windows are unrolled if read as vectors.
TEST(Opts, WindowsAreWrittenOutWhereVectorsReadThem) {
  const auto windows = [](DType type, std::int64_t step, Op op = Op::ReduceMax) {
    const ShapeTracker st = strided({2, 12, 24, 3, 3}, {10'000, 80 * step, step, 80, 1});
    return written(LazyOp::reduce(op, LazyOp::load(1, type, st), {3, 4}));
  };
  const auto chosen = [&](DType type, std::int64_t step) {
    return str(hand_coded_optimizations(windows(type, step)));
  };
  EXPECT_EQ(chosen(kFloat, 1), "lanes(24) block(1,4) unroll(9)");
  EXPECT_EQ(chosen(DType::Float64, 2), "lanes(24) block(1,4) unroll(9)");
  EXPECT_EQ(chosen(kFloat, 3), "sums(16)");
  CodegenOptions few_registers;
  few_registers.sizes.window_vectors = 4;
  EXPECT_EQ(str(hand_coded_optimizations(windows(kFloat, 1), few_registers)),
            "lanes(8) block(1,4) unroll(9)");
  for (const DType type : {DType::Int32, DType::Float16})
    EXPECT_EQ(chosen(type, 2).find("unroll"), std::string::npos) << chosen(type, 2);
  EXPECT_EQ(refused(windows(kFloat, 1), "lanes(24) block(1,12) unroll(64)"),
            "unroll(64): terms of all rows and lanes together exceed 8192 per iteration");
  EXPECT_EQ(refused(windows(kFloat, 1), "lanes(24) block(1,12) unroll(9)"), "legal");
}

TEST(Opts, PeeledLoopsLookAtNoMaskBetween) {
  const LazyOpPtr kernel =
      written(LazyOp::load(1, kFloat, ShapeTracker::contiguous({5, 37}).pad({{0, 0}, {2, 1}})));
  const auto looks = [&](const std::string& opts) {
    const LinearKernel linear = linearize(kernel, {.opts = parse_opts(opts)});
    return std::ranges::count_if(linear.steps, [](const LinearStep& u) {
      return u.kind == StepKind::Load && u.src.size() == 3;
    });
  };
  EXPECT_EQ(looks("none"), 1);
  EXPECT_EQ(looks("peel(2,1)"), 0);
  EXPECT_EQ(looks("peel(1,1)"), 1) << "one element that is cut off stays between";
  EXPECT_EQ(looks("peel(0,4)"), 2);
}

TEST(Opts, MasksOfRowsPartTheirLoop) {
  const auto chosen = [](const Shape& shape, const Padding& padding, const Padding& other = {}) {
    const auto at = [](int buffer, const Shape& size, const Padding& around) {
      return LazyOp::load(buffer, kFloat, ShapeTracker::contiguous(size).pad(around));
    };
    LazyOpPtr x = at(1, shape, padding);
    if (!other.empty()) {
      Shape rest = x->shape();
      for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] = rest[i] - other[i].first - other[i].second;
      x = LazyOp::binary(Op::Add, x, at(2, rest, other));
    }
    return str(hand_coded_optimizations(written(x)));
  };
  EXPECT_EQ(chosen({20, 30}, {{0, 0}, {1, 2}}), "peel(1,2)");
  EXPECT_EQ(chosen({20, 30}, {{0, 0}, {0, 2}}), "peel(30,0)");
  EXPECT_EQ(chosen({20, 30}, {{0, 0}, {0, 9}}, {{0, 0}, {30, 0}}), "peel(30,0)");  // one beside
  EXPECT_EQ(chosen({20, 30}, {{0, 0}, {3, 5}}, {{0, 0}, {1, 2}}), "none");         // four places
  EXPECT_EQ(chosen({14, 30}, {{1, 0}, {1, 0}}), "none");                           // few rows
  EXPECT_EQ(chosen({600}, {{1, 2}}), "none");                                      // for one thread
  EXPECT_EQ(chosen({20, 30}, {{1, 1}, {0, 0}}), "none");      // rows are merged: one axis
  EXPECT_EQ(chosen({4096, 2046}, {{0, 0}, {1, 1}}), "none");  // past the caches
  EXPECT_EQ(chosen({4096, 1024}, {{0, 0}, {1024, 0}}), "peel(1024,0)");
}

// A maximum has more accumulators than a sum, whose order is declared.
TEST(Opts, MaximaOfLongRowsHaveAccumulatorsOfTheirOwn) {
  const auto accumulators = [](std::int64_t terms, std::int64_t sums) {
    const LazyOpPtr row = LazyOp::load(1, kFloat, strided({4, terms, terms}, {terms, 0, 1}));
    const LazyOpPtr x = LazyOp::load(1, kFloat, strided({4, terms, 1}, {terms, 1, 0}));
    const LazyOpPtr rest = LazyOp::binary(Op::Sub, x, LazyOp::reduce(Op::ReduceMax, row, {2}));
    const LinearKernel linear = linearize(written(LazyOp::reduce(Op::ReduceSum, rest, {1})),
                                          {.opts = Opts{{OptKind::Sums, {sums}}}});
    std::vector<int> found;
    for (const LinearStep& u : linear.steps)
      if (u.kind == StepKind::DefineAcc) found.push_back(std::get<int>(u.arg));
    EXPECT_EQ(linear.running_sums, sums);
    std::ranges::sort(found);
    return found;
  };
  EXPECT_EQ(accumulators(1024, 16), (std::vector{16, 64}));
  EXPECT_EQ(accumulators(1024, 128), (std::vector{128, 128}));
  EXPECT_EQ(accumulators(255, 16), (std::vector{16, 16}));
}

// As in the gradient of a convolution's weight: three kernel positions last, channels before.
TEST(Opts, LanesAreAlongAnAxisThatHasWholeVectors) {
  const auto kernel = [](std::int64_t channels) {
    const LazyOpPtr x = LazyOp::load(1, kFloat, strided({channels, 3, 64}, {64, 0, 1}));
    const LazyOpPtr y = LazyOp::load(2, kFloat, strided({channels, 3, 64}, {0, 1, 1}));
    return written(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, y), {2}));
  };
  EXPECT_EQ(str(hand_coded_optimizations(kernel(16))),
            "reorder(1,0,2) lanes(16) block(0,3) stage(24576) pack(0,1048576)");
  EXPECT_EQ(str(hand_coded_optimizations(kernel(5))), "none") << "nor has another one";
}

TEST(Opts, EachChangesTheCodeAsItSays) {
  const LazyOpPtr p = matmul(12, 20, 24);
  const auto with = [&](const std::string& opts) {
    return str(linearize(p, {.opts = parse_opts(opts)}));
  };
  EXPECT_NE(with("lanes(8)").find("DEFINE_ACC f32 %"), std::string::npos);
  EXPECT_NE(with("lanes(8)").find(" 8\n"), std::string::npos);
  const auto accumulators = [&](const std::string& opts) {
    const LinearKernel linear = linearize(p, {.opts = parse_opts(opts)});
    return std::ranges::count(linear.steps, StepKind::DefineAcc, &LinearStep::kind);
  };
  EXPECT_EQ(accumulators("lanes(8)"), 1);
  EXPECT_EQ(accumulators("lanes(8) block(0,4)"), 4);
  const LazyOpPtr across = LazyOp::load(2, kFloat, strided({12, 20, 24}, {0, 1, 20}));
  const LazyOpPtr x = LazyOp::load(1, kFloat, strided({12, 20, 24}, {20, 1, 0}));
  const LinearKernel packed =
      linearize(written(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, across), {1})),
                {.opts = parse_opts("lanes(8) pack(0,65536) stage(64)")});
  EXPECT_EQ(std::ranges::count(packed.steps, StepKind::DefineAcc, &LinearStep::kind), 2);  // a copy
  EXPECT_EQ(linearize(p, {.opts = parse_opts("lanes(8) parallel(1)")}).split,
            linearize(p, {.opts = parse_opts("lanes(8)")}).split + 3);
}

TEST(Opts, NeighboursAreLegalAndDifferByOne) {
  for (const LazyOpPtr& kernel : {matmul(16, 32, 64), transposed(64, 64), row_sums()}) {
    const Opts opts = hand_coded_optimizations(kernel);
    const std::vector<Opts> all = neighbours(kernel, opts);
    EXPECT_GE(all.size(), 4U) << str(opts);
    for (const Opts& other : all) {
      EXPECT_FALSE(refusal(kernel, other)) << str(other);
      EXPECT_NE(other, opts);
      verify(linearize(kernel, {.opts = other}));
    }
  }
}

}  // namespace
}  // namespace touchstone
