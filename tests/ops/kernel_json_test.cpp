#include "touchstone/ops/kernel_json.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include <gmock/gmock.h>

#include "../support/sanitized.h"

namespace touchstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

LazyOpPtr sample() {
  const ShapeTracker padded = ShapeTracker::contiguous({3, 4}).pad({{1, 0}, {0, 2}});
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, padded);
  const LazyOpPtr c =
      LazyOp::constant(Scalar::of(0.1F), ShapeTracker::contiguous({1, 1}).expand({4, 6}));
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, c), {1});
  return LazyOp::store(ShapeTracker::contiguous({4, 1}), LazyOp::cast(sum, DType::Float16));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  text.replace(at, from.size(), to);
  return text;
}

// The text without its hash, which a change invalidates.
std::string edited(const std::string& from, const std::string& to) {
  std::string text = to_json(kernel_file(sample()));
  text.resize(text.find(",\n\"hash\""));
  return replaced(text + "}", from, to);
}

std::string error_of(const std::string& text) {
  try {
    kernel_from_json(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(KernelJson, RoundTripGivesTheSameKernelAndTheSameText) {
  const KernelFile kernel = kernel_file(sample());
  const std::string text = to_json(kernel);
  const KernelFile back = kernel_from_json(text);
  EXPECT_TRUE(same(back.ast, kernel.ast));
  EXPECT_EQ(back.buffers, kernel.buffers);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(kernel_hash(back), kernel_hash(kernel));
}

// A file with two equal chains of that many products.
std::string twin_chains(std::size_t products) {
  const std::string views = R"("views":[{"mask":null,"offset":0,"shape":[4],"strides":[1]}])";
  std::string nodes;
  std::size_t next = 0;
  const auto node = [&](const std::string& rest) {
    nodes +=
        fmt::format("{}{{\"id\":{},\"dtype\":\"float32\",{}}}", next == 0 ? "" : ",", next, rest);
    return next++;
  };
  std::size_t ends[2] = {};
  for (std::size_t& end : ends) {
    const std::size_t x = end = node(R"("op":"LOAD","src":[],"arg":{"buffer":1,)" + views + "}");
    for (std::size_t i = 0; i < products; ++i)
      end = node(fmt::format(R"("op":"MUL","src":[{},{}])", end, x));
  }
  const std::size_t sum = node(fmt::format(R"("op":"ADD","src":[{},{}])", ends[0], ends[1]));
  node(fmt::format(R"("op":"STORE","src":[{}],"arg":{{"buffer":0,{}}})", sum, views));
  return R"({"touchstone_kernel":1,"buffers":[{"dtype":"float32","idx":0,"size":4},)"
         R"({"dtype":"float32","idx":1,"size":4}],"nodes":[)" +
         nodes + "]}";
}

TEST(KernelJson, EqualNodesAreReadAsOne) {
  const KernelFile kernel = kernel_from_json(twin_chains(3));
  const LazyOpPtr sum = kernel.ast->src()[0];
  EXPECT_EQ(sum->src()[0], sum->src()[1]);
  EXPECT_EQ(toposort(kernel.ast).size(), 6U);
}

// Comparing two equal chains of thousands of products must not compare them from top to bottom at
// each node.
TEST(KernelJson, LongChainsThatAreEqualTakeNoLonger) {
  const std::size_t length = test::kSanitized ? 8'000 : 30'000;
  const auto begin = std::chrono::steady_clock::now();
  const KernelFile kernel = kernel_from_json(twin_chains(length));
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4}));
  std::array<LazyOpPtr, 2> chains{x, x};  // built separately, and equal
  for (LazyOpPtr& chain : chains)
    for (std::size_t i = 0; i < length; ++i) chain = LazyOp::binary(Op::Mul, chain, x);
  const LazyOpPtr sum = LazyOp::binary(Op::Add, chains[0], chains[1]);
  EXPECT_EQ(kernel_hash(kernel),
            kernel_hash(kernel_file(LazyOp::store(ShapeTracker::contiguous({4}), sum))));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(KernelJson, SizesHaveLimitsWhichMessagesName) {
  EXPECT_THAT(error_of(twin_chains(32'768)),
              HasSubstr("nodes: there are 65540; the limit is 65536"));
  std::string variables;
  for (int i = 0; i < 257; ++i) variables += fmt::format("{}\"n{}\":[1,2]", i == 0 ? "" : ",", i);
  EXPECT_THAT(error_of(edited("\"variables\":{}", "\"variables\":{" + variables + "}")),
              HasSubstr("variables: there are 257; the limit is 256"));
  std::string product = "\"1";
  while (product.size() < 4097) product += "*1";
  EXPECT_THAT(error_of(edited("\"offset\":-4", "\"offset\":" + product + "\"")),
              HasSubstr("view 0 offset: the expression has 4097 characters; the limit is 4096"));
}

TEST(KernelJson, EqualNodesAreWrittenOnce) {
  const auto load = [] { return LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4})); };
  const LazyOpPtr shared = load();
  const ShapeTracker out = ShapeTracker::contiguous({4});
  EXPECT_EQ(to_json(kernel_file(LazyOp::store(out, LazyOp::binary(Op::Add, load(), load())))),
            to_json(kernel_file(LazyOp::store(out, LazyOp::binary(Op::Add, shared, shared)))));
}

TEST(KernelJson, NaNsOfEitherSignAreOneConstant) {
  const ShapeTracker st = ShapeTracker::contiguous({4});
  const auto nan = [&](const char* text) {
    return LazyOp::constant(Scalar::parse(DType::Float32, text), st);
  };
  const std::string text =
      to_json(kernel_file(LazyOp::store(st, LazyOp::binary(Op::Add, nan("nan"), nan("-nan")))));
  EXPECT_EQ(to_json(kernel_from_json(text)), text);
}

TEST(KernelJson, SymbolicSizesKeepTheirVariables) {
  const sint n = symbolic::variable("n", 1, 10);
  const LazyOpPtr x = LazyOp::load(1, DType::Int32, ShapeTracker::contiguous({n, 3}));
  const LazyOpPtr kernel =
      LazyOp::store(ShapeTracker::contiguous({n, 3}), LazyOp::unary(Op::Neg, x));
  EXPECT_TRUE(same(kernel_from_json(to_json(kernel_file(kernel))).ast, kernel));
}

TEST(KernelJson, AStackWhoseOuterViewLeavesElementsOutIsReadBack) {
  // Column by column, the first half: the last columns of the last rows are never read.
  const ShapeTracker half = ShapeTracker::contiguous({10, 10})
                                .permute(std::vector{1, 0})
                                .reshape({100})
                                .shrink({{0, 50}});
  ASSERT_EQ(half.views().size(), 2U);
  ASSERT_LT(half.real_size(), 100);
  const KernelFile kernel = kernel_file(
      LazyOp::store(ShapeTracker::contiguous({50}), LazyOp::load(1, DType::Float32, half)));
  EXPECT_TRUE(same(kernel_from_json(to_json(kernel)).ast, kernel.ast));
  const std::string small = replaced(to_json(kernel), fmt::format("\"size\":{}", half.real_size()),
                                     fmt::format("\"size\":{}", half.real_size() - 1));
  EXPECT_THAT(error_of(small), HasSubstr("of buffer 1, which has"));
}

TEST(KernelJson, AMemberThatIsNotKnownIsNamed) {
  EXPECT_THAT(error_of(edited("\"touchstone_kernel\":", "\"kernal\":1,\"touchstone_kernel\":")),
              HasSubstr("unknown member \"kernal\""));
  EXPECT_THAT(error_of(edited("\"id\":0", "\"id\":0,\"dtyp\":\"float32\"")),
              AllOf(HasSubstr("\"dtyp\""), HasSubstr("did you mean 'dtype'?")));
  EXPECT_THAT(error_of(edited("\"offset\":", "\"stride\":[1],\"offset\":")),
              AllOf(HasSubstr("\"stride\""), HasSubstr("did you mean 'strides'?")));
  EXPECT_THAT(error_of(edited("\"idx\":0", "\"idx\":0,\"shape\":[4]")),
              AllOf(HasSubstr("buffer 0"), HasSubstr("\"shape\"")));
  EXPECT_THAT(error_of(edited("\"buffer\":0", "\"buffer\":0,\"buffers\":0")),
              AllOf(HasSubstr("arg"), HasSubstr("\"buffers\"")));
}

TEST(KernelJson, DeepNestingIsAnErrorNotAnOverflow) {
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  EXPECT_THAT(error_of("{\"touchstone_kernel\":" + deep + "}"), HasSubstr("nest deeper"));
  EXPECT_THAT(error_of(edited("\"id\":2", "\"id\":" + deep)), HasSubstr("nest deeper"));
  EXPECT_THAT(error_of("{\"touchstone_kernel\":\"" + deep + "\\\"[\"}"),
              HasSubstr("is not an integer"));  // brackets in a string are text
}

TEST(KernelJson, ANodeThatNothingUsesIsRefused) {
  // The MUL's first operand replaces it in the sum.
  EXPECT_THAT(error_of(edited("\"id\":3,\"op\":\"REDUCE_SUM\",\"src\":[2]",
                              "\"id\":3,\"op\":\"REDUCE_SUM\",\"src\":[0]")),
              HasSubstr("node 1 (CONST): the last node does not depend on it"));
}

TEST(KernelJson, WhatIsWrongInsideANodeNamesTheNode) {
  EXPECT_THAT(error_of(edited("\"value\":\"0.1\"", "\"value\":\"one\"")),
              HasSubstr("kernel.json: node 1 (CONST): cannot read 'one' as float32"));
  EXPECT_THAT(error_of(edited("\"offset\":-4", "\"offset\":\"m*4\"")),
              HasSubstr("kernel.json: node 0 (LOAD): column 1: unknown name"));
}

TEST(KernelJson, BadInputIsNamed) {
  EXPECT_THAT(error_of("{"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("is not a kernel"));
  EXPECT_THAT(error_of("{\"touchstone_kernel\":2}"),
              HasSubstr("has version 2, but this program reads version 1"));
  EXPECT_THAT(error_of(edited("\"op\":\"MUL\"", "\"op\":\"MULL\"")),
              HasSubstr("node 2: there is no op 'MULL'; did you mean 'MUL'?"));
  EXPECT_THAT(error_of(edited("\"src\":[0,1]", "\"src\":[0]")),
              HasSubstr("takes 2 operands, not 1"));
  EXPECT_THAT(error_of(edited("\"src\":[0,1]", "\"src\":[0,7]")),
              HasSubstr("uses node 7, which does not come before it"));
  EXPECT_THAT(error_of(edited("\"mask\":[[1,4],[0,4]]", "\"mask\":[[1,4],[0,9]]")),
              HasSubstr("node 0 (LOAD)"));
  EXPECT_THAT(error_of(edited("\"dtype\":\"float32\",\"id\":2", "\"dtype\":\"float64\",\"id\":2")),
              HasSubstr("says dtype float64, but its dtype is float32"));
  EXPECT_THAT(error_of(edited("\"axes\":[1]", "\"axes\":[5]")), HasSubstr("axis 5"));
  EXPECT_THAT(error_of(edited("\"size\":12", "\"size\":11")),
              HasSubstr("accesses element 11 of buffer 1, which has 11"));
  EXPECT_THAT(error_of(edited("\"dtype\":\"float32\",\"idx\":1", "\"dtype\":\"int8\",\"idx\":1")),
              HasSubstr("it contains int8"));
  EXPECT_THAT(error_of(edited("\"variables\":{}", "\"variables\":{\"1n\":[0,1]}")),
              HasSubstr("kernel.json: variable '1n': "));
  EXPECT_THAT(error_of(edited("\"dtype\":\"float32\",\"idx\":1", "\"dtype\":\"int9\",\"idx\":1")),
              HasSubstr("kernel.json: buffer 1: there is no element type 'int9'"));
}

TEST(KernelJson, AHashThatDoesNotMatchIsRefused) {
  const std::string text =
      replaced(to_json(kernel_file(sample())), "\"value\":\"0.1\"", "\"value\":\"0.2\"");
  EXPECT_THAT(error_of(text), HasSubstr("remove the line"));
}

}  // namespace
}  // namespace touchstone
