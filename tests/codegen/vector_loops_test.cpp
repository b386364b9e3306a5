#include "touchstone/codegen/vector_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"

namespace touchstone {
namespace {

using codegen::vector_loops;
using codegen::VectorLoops;

// acc[l] = OP(acc[l + shift], b1[l]) in 8 lanes, and its readers.
struct Steps {
  LinearKernel kernel;
  int accumulator = 0, loop = 0;

  int add(StepKind kind, DType type, Operands src = {}, StepArg arg = {}) {
    kernel.steps.push_back({kind, type, src, std::move(arg)});
    return static_cast<int>(kernel.steps.size()) - 1;
  }
  int number(std::int64_t n) {
    return add(StepKind::Const, DType::Int64, {}, Scalar::from_double(DType::Int64, double(n)));
  }
  int open(std::int64_t lanes, const char* name) {
    const int zero = number(0), end = number(lanes);
    return add(StepKind::Loop, DType::Int64, {zero, end}, std::string(name));
  }
};

Steps steps_of(std::int64_t lanes, Op op = Op::Add, std::int64_t shift = 0,
               DType type = DType::Float32) {
  Steps s;
  s.kernel.name = "k";
  s.kernel.buffers = {{0, type, lanes}, {1, type, lanes}};
  const int out = s.add(StepKind::DefineGlobal, type, {}, 0);
  const int in = s.add(StepKind::DefineGlobal, type, {}, 1);
  const int zero = s.add(StepKind::Const, type, {}, Scalar::from_bits(type, 0));
  s.accumulator = s.add(StepKind::DefineAcc, type, {zero}, static_cast<int>(lanes));
  const int step = s.number(shift);
  s.loop = s.open(lanes, "l0");
  const int at =
      shift == 0 ? s.loop : s.add(StepKind::Index, DType::Int64, {s.loop, step}, IndexOp::Add);
  const int before = s.add(StepKind::LoadAcc, type, {s.accumulator, at});
  const int value = s.add(StepKind::Load, type, {in, s.loop});
  const int next = s.add(StepKind::Alu, type, {before, value}, op);
  s.add(StepKind::Assign, type, {s.accumulator, next, s.loop});
  s.add(StepKind::EndLoop, DType::Int64, {s.loop});
  const int last = s.open(lanes, "l1");
  const int result = s.add(StepKind::LoadAcc, type, {s.accumulator, last});
  s.add(StepKind::Store, type, {out, last, result});
  s.add(StepKind::EndLoop, DType::Int64, {last});
  return s;
}

TEST(VectorLoopsFound, AreOfWholeAccumulators) {
  const Steps s = steps_of(8);
  verify(s.kernel);
  const VectorLoops found = vector_loops(s.kernel);
  EXPECT_EQ(found.loops.size(), 2U);
  EXPECT_TRUE(found.accumulators.contains(s.accumulator));
  EXPECT_TRUE(found.read_elsewhere.empty());
  EXPECT_EQ(vector_loops(steps_of(8, Op::Div, 0, DType::Float64).kernel).loops.size(), 2U);
}

TEST(VectorLoopsFound, AreNoneOfManyLanesOtherOpsAndOtherTypes) {
  EXPECT_EQ(vector_loops(steps_of(8, Op::Add, 0, DType::Int32).kernel).loops.size(), 0U);
  EXPECT_EQ(vector_loops(steps_of(4096).kernel).loops.size(), 0U) << "too much text";
  for (const Steps& s : {steps_of(8, Op::Mod), steps_of(7, Op::Max)}) {
    const VectorLoops found = vector_loops(s.kernel);
    EXPECT_EQ(found.loops.size(), 1U) << "that which stores";
    EXPECT_FALSE(found.accumulators.contains(s.accumulator));
  }
  EXPECT_EQ(vector_loops(steps_of(8, Op::Max).kernel).loops.size(), 2U);
}

// A later element may be written before or after: left to the compiler.
TEST(VectorLoopsFound, ReadNothingThatAnotherLaneWrites) {
  for (const std::int64_t shift : {-1, 1, 4}) {
    const Steps s = steps_of(8, Op::Add, shift);
    const VectorLoops found = vector_loops(s.kernel);
    EXPECT_FALSE(found.loops.contains(s.loop)) << shift;
    EXPECT_FALSE(found.accumulators.contains(s.accumulator)) << shift;
  }
}

// Folds an accumulator's upper half onto the lower; these are not lanes of both.
TEST(VectorLoopsFound, FoldWhatLiesBeyondTheirLanes) {
  for (const std::int64_t shift : {7, 8, 9}) {
    Steps s = steps_of(8, Op::Add, shift);
    s.kernel.steps[static_cast<std::size_t>(s.accumulator)].arg = 32;
    const VectorLoops found = vector_loops(s.kernel);
    EXPECT_EQ(found.loops.contains(s.loop), shift >= 8) << shift;
    EXPECT_FALSE(found.accumulators.contains(s.accumulator)) << shift;
    EXPECT_TRUE(found.in_memory.contains(s.accumulator)) << shift;
  }
  Steps s = steps_of(8, Op::Add, 8);  // l + l instead of l + 8
  for (LinearStep& u : s.kernel.steps)
    if (u.kind == StepKind::Index) u.src[1] = s.loop;
  EXPECT_FALSE(vector_loops(s.kernel).loops.contains(s.loop));
}

TEST(VectorLoopsFound, SplitIntoPowersOfTwo) {
  for (std::int64_t lanes = 1; lanes < 200; ++lanes) {
    const auto widths = codegen::vector_widths(lanes, DType::Float32);
    EXPECT_EQ(std::accumulate(widths.begin(), widths.end(), std::int64_t{0}), lanes);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      EXPECT_EQ(16 % widths[i], 0);
      EXPECT_TRUE(i == 0 || widths[i] <= widths[i - 1]);
    }
  }
}

TEST(RenderVectors, FoldsByVectors) {
  const auto text_of = [](DType type, std::int64_t terms, const char* opts) {
    const LazyOpPtr sum = LazyOp::reduce(
        Op::ReduceSum, LazyOp::load(1, type, ShapeTracker::contiguous({5, terms})), {1});
    CodegenOptions options;
    options.opts = parse_opts(opts);
    return render_vector_function(
        linearize(LazyOp::store(ShapeTracker::contiguous({5, 1}), sum), options), "f");
  };
  const auto loops_over_lanes = [](const std::string& text) {
    int count = 0;
    for (std::size_t at = 0; (at = text.find("for (i64 l", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  for (const DType type : {DType::Float32, DType::Float64})
    for (const std::int64_t terms : {16, 32, 160}) {
      const std::string text = text_of(type, terms, "sums(16)");
      EXPECT_EQ(loops_over_lanes(text), 0) << text;
      EXPECT_NE(text.find("acc"), std::string::npos) << text;
    }
  // Separate loops for filling, a round, the rest, and each half but the last.
  EXPECT_EQ(loops_over_lanes(text_of(DType::Int32, 34, "sums(16)")), 1 + 2 + 3);
  // Does not unroll many vectors.
  const std::string wide = text_of(DType::Float64, 200000, "sums(65536)");
  EXPECT_LT(std::ranges::count(wide, '\n'), 150) << wide.substr(0, 4000);
}

TEST(RenderVectors, KeepsAccumulatorsInRegisters) {
  const Shape shape{16, 48, 32};
  const auto view = [&](std::vector<sint> strides) {
    return ShapeTracker({View::strided(shape, std::move(strides), 0)});
  };
  const auto sum =
      LazyOp::reduce(Op::ReduceSum,
                     LazyOp::binary(Op::Mul, LazyOp::load(1, DType::Float32, view({32, 0, 1})),
                                    LazyOp::load(2, DType::Float32, view({0, 1, 48}))),
                     {2});
  const auto text_of = [](const LazyOpPtr& value) {
    return render_vector_function(
        linearize(LazyOp::store(ShapeTracker::contiguous(value->shape()), value)), "f");
  };
  const std::string plain = text_of(sum);
  EXPECT_EQ(plain.find("acc["), std::string::npos) << plain;
  EXPECT_EQ(plain.find("f32 acc"), std::string::npos) << plain;
  EXPECT_NE(plain.find("f32x16 acc"), std::string::npos) << plain;
  // A non-vector operand is copied before the loop.
  const std::string rest = text_of(LazyOp::binary(
      Op::Mod, sum, LazyOp::load(3, DType::Float32, ShapeTracker::contiguous(sum->shape()))));
  EXPECT_NE(rest.find("f32x16 acc"), std::string::npos) << rest;
  EXPECT_NE(rest.find("f32 acc"), std::string::npos) << rest;
}

}  // namespace
}  // namespace touchstone
