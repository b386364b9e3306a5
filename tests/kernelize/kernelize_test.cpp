#include "touchstone/kernelize/kernelize.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/grouping.h"
#include "touchstone/kernelize/rules.h"

namespace touchstone {
namespace {

using kernelize::as_shape;
using ::testing::HasSubstr;

const UOp kHost = UOp::device("HOST");

UOp array(const Shape& shape, DType d = DType::Float32) {
  return as_shape(UOp::new_buffer(kHost, max_elements(shape), d), shape);
}
UOp add(const UOp& a, const UOp& b) { return a.alu(GraphOp::Add, {b}); }
UOp mul(const UOp& a, const UOp& b) { return a.alu(GraphOp::Mul, {b}); }

UOp kernelized(const std::vector<UOp>& outputs, const Config& config = Config(),
               Assigns assigns = Assigns::InPlace) {
  const UOp sink = UOp::sink(outputs);
  return result_of(kernelize_graph(sink, config, assigns), sink);
}
std::size_t count(const std::vector<UOp>& outputs, const Config& config = Config()) {
  const std::vector<UOp> order = order_of_kernels(kernelized(outputs, config));
  for (const UOp& assign : order)
    if (assign.src(1).arg_as<UOpKernelPtr>()->ast.op() == GraphOp::Sink)
      validate_kernel(lower_kernel(assign).ast);
  return order.size();
}

TEST(Kernelize, Groups) {
  const UOp x = array({4, 8});
  const UOp s = x.reduce(GraphOp::Add, {1});
  EXPECT_EQ(count({s.alu(GraphOp::Max, {s.const_like(0.0)})}), 1U);               // sum, relu
  EXPECT_EQ(count({add(s.reshape({2, 2}).permute({1, 0}), array({2, 2}))}), 2U);  // permuted
  EXPECT_EQ(count({add(s, x.alu(GraphOp::Sin).reduce(GraphOp::Add, {1}))}), 2U);  // two sums
  EXPECT_EQ(count({add(s.alu(GraphOp::Exp2), s.alu(GraphOp::Sin))}), 1U);         // a diamond
  EXPECT_EQ(count({s.alu(GraphOp::Exp2), s.alu(GraphOp::Sin)}), 3U);              // two outputs
}

// A contiguous part of a file gets its own kernel, which others read.
TEST(Kernelize, APartOfADiskIsNoCopy) {
  const UOp file = UOp::new_buffer(UOp::device("DISK:file"), 24, DType::Float32);
  const UOp rows = file.reshape({4, 6}).shrink({{1, 3}, {0, 6}});
  for (const UOp& part : {rows.contiguous(), rows.bitcast(DType::Int32)}) {
    const std::vector<UOp> order =
        order_of_kernels(kernelized({part.copy_to(kHost).alu(GraphOp::Neg)}));
    ASSERT_EQ(order.size(), 3U);  // the part, its copy, the result
    const UOp& ast = order[0].src(1).arg_as<UOpKernelPtr>()->ast;
    ASSERT_EQ(ast.op(), GraphOp::BufferView);
    EXPECT_EQ(ast.arg_as<Mask>(), (Mask{{6, 12}}));
    EXPECT_EQ(ast.dtype(), part.dtype());
    const LoweredKernel kernel = lower_kernel(order[0]);
    validate_kernel(kernel.ast);
    EXPECT_EQ(kernel.inputs, std::vector<UOp>{file});
    EXPECT_EQ(kernel.ast->dtype(), part.dtype().base);
  }
  const UOp column = file.reshape({4, 6}).shrink({{0, 4}, {1, 2}});
  const std::vector<UOp> order = order_of_kernels(kernelized({column.contiguous()}));
  ASSERT_EQ(order.size(), 1U);
  EXPECT_EQ(order[0].src(1).arg_as<UOpKernelPtr>()->ast.op(), GraphOp::Sink);
}

TEST(Kernelize, TheChaseStopsBeforeACastToLargerElements) {
  const UOp s = array({4, 8}).reduce(GraphOp::Add, {1});
  const UOp wide = s.cast(DType::Float64);
  const std::vector<UOp> order =
      order_of_kernels(kernelized({wide.alu(GraphOp::Exp2), wide.alu(GraphOp::Sin)}));
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(order[0].src(0).dtype().base, DType::Float32);
}

// Ops that read a reduce and meet again are computed with it; their result is stored.
TEST(Kernelize, TheChaseGoesToWhereAllReadersMeet) {
  const UOp y = array({4, 1}), r = array({4, 8}).reduce(GraphOp::Add, {1});
  const auto is_stored = [](const UOp& u, const UOp& shared, Policy policy) {
    const UOp sink = UOp::sink({shared.alu(GraphOp::Neg), shared.alu(GraphOp::Sin)});
    return kernelize::what_gets_memory(sink, Config(), policy).has(u);
  };
  // Whether the common source of two outputs is stored and r is not, or the reverse.
  const auto stores = [&](const UOp& shared, bool reduce) {
    const auto as_asked = [&](Policy s) {
      return is_stored(shared, shared, s) != reduce && is_stored(r, shared, s) == reduce;
    };
    return as_asked(Policy::Kernelize) && as_asked(Policy::Ranges);
  };
  const UOp m = r.alu(GraphOp::Max, {y}).alu(GraphOp::Mod, {r});
  EXPECT_TRUE(stores(m, false));
  const UOp below = m.alu(GraphOp::Exp2), twice = add(add(below, below.alu(GraphOp::Sin)), m);
  EXPECT_TRUE(stores(twice, false));  // one inside another
  const UOp less = r.alu(GraphOp::CmpLt, {r.alu(GraphOp::Recip)});
  EXPECT_TRUE(stores(less, false));  // bools are stored for floats
  const UOp wide = add(r.cast(DType::Float64), r.alu(GraphOp::Sin).cast(DType::Float64));
  EXPECT_TRUE(stores(wide, true));  // but doubles are not
  EXPECT_TRUE(stores(add(r.alu(GraphOp::Sin), r.view(r.tracker().flip(std::vector{0}))), true));
  const auto chain = [&](const UOp& from, int ops) {
    UOp end = from;
    for (int i = 0; i < ops; ++i) end = end.alu(GraphOp::Sin);
    return end;
  };
  const UOp far = add(chain(r, 15), chain(r.alu(GraphOp::Exp2), 15));
  EXPECT_TRUE(stores(far, false));
  const UOp too_far = add(chain(r, 20), chain(r.alu(GraphOp::Exp2), 20));
  EXPECT_TRUE(is_stored(r, too_far, Policy::Kernelize));
}

TEST(Kernelize, ADeviceHasALimitOfBuffersOfItsOwn) {
  const auto most_buffers = [](const char* device, const Config& config) {
    const UOp on = UOp::device(device);
    const auto one = [&] { return UOp::new_buffer(on, 4, DType::Float32); };
    UOp total = one();
    for (int i = 0; i < 39; ++i) total = add(total, one());
    std::size_t most = 0;
    for (const UOp& assign : order_of_kernels(kernelized({total.contiguous()}, config)))
      most = std::max(most, lower_kernel(assign).inputs.size() + 1);
    return most;
  };
  EXPECT_EQ(most_buffers("HOST", Config()), 41U);
  EXPECT_LE(most_buffers("WEBGPU", Config()), 8U);
  EXPECT_LE(most_buffers("WEBGPU:1", Config()), 8U);
  EXPECT_LE(most_buffers("METAL", Config()), 32U);
  EXPECT_GT(most_buffers("METAL", Config()), 8U);
  EXPECT_EQ(most_buffers("WEBGPUX", Config()), 41U);
  Config wide;
  wide.kernelize.max_kernel_buffers = 100;
  EXPECT_EQ(most_buffers("WEBGPU", wide), 41U);
}

TEST(Kernelize, PadsAndUnsafeOps) {
  const auto padded_sum = [](const UOp& x) { return x.pad({{1, 2}}).reduce(GraphOp::Add, {0}); };
  const UOp x = array({4});
  EXPECT_EQ(count({padded_sum(x.alu(GraphOp::Exp2))}), 2U);
  EXPECT_EQ(count({padded_sum(add(x, x))}), 1U);
  EXPECT_EQ(count({padded_sum(x.alu(GraphOp::Mod, {array({4})}))}), 2U);  // 0 % 0
  const UOp seed = array({4}, DType::UInt64);
  const UOpSet memory = kernelize::what_gets_memory(
      UOp::sink(
          {seed.alu(GraphOp::Threefry, {seed}).view(ShapeTracker::contiguous({4}).pad({{1, 0}}))}),
      Config(), Policy::Kernelize);
  EXPECT_EQ(memory.size(), 1U);
}

// Whether padding applies to 2^x before memory must not depend on the visiting order.
TEST(Kernelize, WhatGetsMemoryDependsOnNoOrderOfVisits) {
  const auto graph = [](bool swapped) {
    const UOp x = array({4});
    const UOp e = x.alu(GraphOp::Exp2), f = e.alu(GraphOp::Neg);
    const UOp a = f.pad({{1, 1}}), b = e.pad({{1, 1}});
    return swapped ? std::vector<UOp>{b, a} : std::vector<UOp>{a, b};
  };
  EXPECT_EQ(count(graph(false)), count(graph(true)));
}

TEST(Kernelize, MetadataGoesToKernelsOnce) {
  const UOp x = array({4});
  const UOp s = x.alu(GraphOp::Sin), e = s.alu(GraphOp::Exp2);
  s.set_metadata({{"sin", "a.cc"}});
  e.set_metadata({{"sin", "a.cc"}, {"exp2", "b.cc"}});
  const std::vector<UOp> order = order_of_kernels(kernelized({e}));
  ASSERT_EQ(order.size(), 1U);
  const UOpMetadata& found = order[0].src(1).arg_as<UOpKernelPtr>()->metadata;
  EXPECT_THAT(found,
              ::testing::UnorderedElementsAre(UOpOrigin{"sin", "a.cc"}, UOpOrigin{"exp2", "b.cc"}));
}

TEST(Kernelize, FuseMakesOneKernelOfASoftmax) {
  const UOp x = array({4, 8});
  const UOp e =
      add(x, x.reduce(GraphOp::Max, {1}).expand({4, 8}).alu(GraphOp::Neg)).alu(GraphOp::Exp2);
  const UOp y = e.alu(GraphOp::Fdiv, {e.reduce(GraphOp::Add, {1}).expand({4, 8})});
  EXPECT_GT(count({y}), 1U);
  EXPECT_EQ(count({y.ask(GraphOp::Fuse)}), 1U);
}

// 1, 2, ... n as row sums of a triangle of ones.
UOp arange(std::int64_t n) {
  const UOp ones = UOp::constant(Scalar::of(std::int32_t{1}), {n}, kHost);
  const UOp rows = ones.pad({{n - 1, 0}}).reshape({1, 2 * n - 1}).expand({n, 2 * n - 1});
  const UOp steps = rows.reshape({n * (2 * n - 1)}).shrink({{0, n * (2 * n - 2)}});
  return steps.reshape({n, 2 * n - 2})
      .shrink({{0, n}, {0, n}})
      .reduce(GraphOp::Add, {1})
      .reshape({n});
}

TEST(Kernelize, IndexingByAnArangeIsOneKernelWhereAsked) {
  const UOp x = array({8, 4}), index = array({3}, DType::Int32);
  const UOp at = add(arange(8), UOp::constant(Scalar::of(std::int32_t{-1}), {8}, kHost));
  const UOp hit = at.reshape({1, 8, 1}).expand({3, 8, 4}).alu(
      GraphOp::CmpEq, {index.reshape({3, 1, 1}).expand({3, 8, 4})});
  const UOp wide = x.reshape({1, 8, 4}).expand({3, 8, 4});
  const UOp picked =
      hit.alu(GraphOp::Where, {wide, wide.const_like(0.0)}).reduce(GraphOp::Add, {1});
  Config config;
  EXPECT_EQ(count({picked}, config), 2U);
  config.kernelize.fuse_arange = true;
  EXPECT_EQ(count({picked}, config), 1U);
}

TEST(Kernelize, DistinctContiguousNodesStayDistinctUnderFuse) {
  const UOp x = array({4, 8});
  const UOp a = x.alu(GraphOp::Sin).contiguous(), b = x.alu(GraphOp::Neg).contiguous();
  const UOp y = add(a, b).reduce(GraphOp::Add, {1}).ask(GraphOp::Fuse);
  const std::vector<UOp> order = order_of_kernels(kernelized({y}));
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(lower_kernel(order[2]).inputs.size(), 2U);
}

// Readers of the old value run before its writer, even if one waits for another kernel.
TEST(Order, WriteAfterReadIsKept) {
  for (const bool swapped : {false, true}) {
    const UOp a = array({4}), b = array({4}), c = array({4});
    const UOp r = b.reduce(GraphOp::Add, {0}).expand({4});
    const UOp x = add(a, r).contiguous();
    const UOp w = a.assign(mul(c, c.const_like(2.0)));
    const std::vector<UOp> order =
        order_of_kernels(kernelized(swapped ? std::vector<UOp>{w, x} : std::vector<UOp>{x, w}));
    ASSERT_EQ(order.size(), 3U);
    EXPECT_EQ(order[2].src(0), a.base());  // the assign is last
  }
}

TEST(Order, AnAssignReadsItselfWhereItWrites) {
  const UOp a = array({2, 2});
  EXPECT_EQ(count({a.assign(add(a, a.const_like(1.0)))}), 1U);
  const auto lowered = [](const UOp& assign) {
    return lower_kernel(order_of_kernels(kernelized({assign}))[0]);
  };
  try {
    lowered(a.assign(add(a, a.permute({1, 0}))));
    FAIL();
  } catch (const AstError& e) {
    EXPECT_THAT(e.what(), HasSubstr("self operand of augmented assign must be contiguous"));
    EXPECT_THAT(e.what(), HasSubstr("a += a.T.contiguous()"));
  }
  EXPECT_EQ(count({a.assign(add(a, a.permute({1, 0}).contiguous()))}), 2U);
}

TEST(Order, OneKernelThatNeedsBothValuesIsACycle) {
  const UOp a = array({4}), b = array({4});
  const UOp w = a.assign(b);
  // x needs both the old and the new value of a.
  const UOp x = add(a.alu(GraphOp::Sin), w.alu(GraphOp::Neg)).contiguous();
  try {
    kernelized({x});
    FAIL();
  } catch (const AstError& e) {
    EXPECT_THAT(e.what(), HasSubstr("cycle detected"));
    EXPECT_THAT(e.what(), HasSubstr("both before and after it is assigned to"));
  }
  EXPECT_EQ(order_of_kernels(kernelized({x}, Config(), Assigns::Exchanged)).size(), 2U);
}

TEST(Order, TwoBuffersThatCrossAreACycleInPlace) {
  const UOp a = array({4}), b = array({4});
  const std::vector<UOp> both = {a.assign(add(b, b.const_like(1.0))),
                                 b.assign(add(a, a.const_like(1.0)))};
  EXPECT_THROW(kernelized(both), AstError);
  EXPECT_EQ(order_of_kernels(kernelized(both, Config(), Assigns::Exchanged)).size(), 2U);
}

TEST(Order, AssignsToOneBufferFollowEachOther) {
  const UOp a = array({4}), b = array({4});
  const UOp first = a.assign(b), second = first.assign(add(first, b));
  const std::vector<UOp> order = order_of_kernels(kernelized({second}));
  ASSERT_EQ(order.size(), 2U);
  EXPECT_EQ(order[0].src(0), order[1].src(0));
  EXPECT_THROW(kernelized({a.assign(b), a.assign(add(b, b))}), AstError);
}

TEST(Order, IsTheSameForTheSameGraph) {
  const UOp x = array({4, 8}), s = x.reduce(GraphOp::Add, {1});
  const UOp y = add(x, s.alu(GraphOp::Exp2).expand({4, 8})), z = y.reduce(GraphOp::Max, {0});
  const auto names = [&] {
    std::string all;
    for (const UOp& u : order_of_kernels(kernelized({y, z, s})))
      all += kernel_name(lower_kernel(u).ast) + " ";
    return all;
  };
  EXPECT_EQ(names(), names());
}

TEST(Kernelize, GraphsThatBreakTheSpecAreRefused) {
  const UOp x = array({4});
  const UOp bad = UOp::make(GraphOp::Where, DType::Float32, {x, x, x});
  try {
    kernelized({bad});
    FAIL();
  } catch (const AstError& e) {
    EXPECT_THAT(e.what(), HasSubstr("WHERE f32 over (BUFFER, BUFFER, BUFFER): choice"));
  }
}

TEST(Kernelize, RecordersSeeEveryPass) {
  struct Log : RewriteRecorder {
    std::vector<std::string> passes;
    int rewrites = 0;
    void begins(std::string_view pass, const UOp&) override { passes.emplace_back(pass); }
    void rewrote(const RewriteRule&, const UOp&, const UOp&) override { ++rewrites; }
  } log;
  const RecorderScope scope(log);
  kernelized({array({4}).alu(GraphOp::Sin)});
  EXPECT_EQ(log.passes, (std::vector<std::string>{"simplify", "barriers", "tidy barriers",
                                                  "drop tags", "kernels"}));
  EXPECT_GT(log.rewrites, 2);
}

TEST(Lower, NamesAnOpThatKernelsLack) {
  const UOp x = array({4}, DType::Int32);
  const UOp assign = order_of_kernels(kernelized({x.alu(GraphOp::Shl, {x})}))[0];
  EXPECT_THROW(lower_kernel(assign), AstError);
}

}  // namespace
}  // namespace touchstone
