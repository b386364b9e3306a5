#include "touchstone/codegen/fault.h"

#include <gtest/gtest.h>

#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/merge_axes.h"

namespace touchstone {
namespace {

ShapeTracker dense(Shape shape) { return ShapeTracker::contiguous(std::move(shape)); }
LazyOpPtr load(const ShapeTracker& st, DType d = DType::Float32) { return LazyOp::load(1, d, st); }
LazyOpPtr stored(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

TEST(Fault, NamesParseBack) {
  for (const FaultInfo& row : fault_table) EXPECT_EQ(parse_fault(row.name), row.fault);
}

TEST(Fault, UnknownNameSuggestsTheNearest) {
  try {
    parse_fault("mask-of-by-one");
    FAIL() << "parsed";
  } catch (const ParseError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'mask-off-by-one'"), std::string::npos)
        << e.what();
  }
}

TEST(Fault, StaysInsideTheBuffer) {
  // Three elements of twelve: with the strides of the two axes of size 2 exchanged they would be 24
  // apart, beyond the last element that the kernel accesses.
  const ShapeTracker few({View::strided({2, 6, 2}, {24, 4, 1}, 49), View::contiguous({3})});
  const LazyOpPtr kernel = stored(load(few));
  EXPECT_FALSE(holds_fault(kernel, Fault::StrideSwapped));
  EXPECT_EQ(buffers_of(plant_fault(kernel, Fault::StrideSwapped)), buffers_of(kernel));
}

std::string faults_of(const LazyOpPtr& kernel) {
  std::string names;
  for (const FaultInfo& row : fault_table)
    if (holds_fault(kernel, row.fault)) names += std::string(row.name) + " ";
  return names;
}

TEST(Fault, IsHeldWhereItShows) {
  const auto wide = load(dense({2, 3}));
  EXPECT_EQ(faults_of(stored(wide)), "");
  EXPECT_EQ(faults_of(stored(load(dense({3, 3})))), "stride-swapped ");
  EXPECT_EQ(faults_of(stored(load(dense({2, 3}).pad(Padding{{0, 1}, {0, 0}})))),
            "mask-off-by-one ");
  EXPECT_EQ(faults_of(stored(LazyOp::reduce(Op::ReduceSum, wide, {0}))), "drop-last-reduce ");
  EXPECT_EQ(faults_of(stored(LazyOp::reduce(Op::ReduceSum, load(dense({2, 1})), {1}))), "");
  EXPECT_EQ(faults_of(stored(LazyOp::binary(Op::Max, wide, wide))), "max-without-nan ");
  EXPECT_EQ(faults_of(stored(LazyOp::binary(Op::Div, wide, wide))), "");
  const auto ints = load(dense({2}), DType::Int32), bytes = load(dense({2}), DType::UInt8);
  EXPECT_EQ(faults_of(stored(LazyOp::binary(Op::Div, ints, ints))), "int-div-floors ");
  EXPECT_EQ(faults_of(stored(LazyOp::binary(Op::Div, bytes, bytes))), "");
}

TEST(Fault, ChangesTheCodeOfWhatHoldsItAndOfNothingElse) {
  const auto ints = LazyOp::cast(load(dense({3, 3}).pad(Padding{{1, 0}, {1, 0}})), DType::Int16);
  const auto div = LazyOp::binary(Op::Div, ints, LazyOp::binary(Op::Max, ints, ints));
  const std::vector<LazyOpPtr> kernels = {
      stored(load(dense({2, 3}))), stored(load(dense({3, 3}))), stored(div),
      stored(LazyOp::reduce(Op::ReduceMax, load(dense({2, 3})), {1}))};
  for (const LazyOpPtr& k : kernels)
    for (const FaultInfo& row : fault_table) {
      const LinearKernel faulty = linearize_with(row.fault, k);
      EXPECT_NO_THROW(verify(faulty));
      EXPECT_EQ(faulty != linearize(k), holds_fault(k, row.fault)) << row.name << "\n" << str(k);
    }
}

TEST(Fault, InAViewStaysInBounds) {
  const ShapeTracker views[] = {
      dense({4, 4}), dense({4, 4}).stride(std::vector<std::int64_t>{-1, 1}),
      dense({4, 4}).pad(Padding{{1, 1}, {1, 1}}), dense({4, 4}).pad(Padding{{1, 0}, {0, 1}}),
      dense({3, 5, 3}).shrink(Mask{{0, 3}, {1, 4}, {0, 3}})};
  for (const ShapeTracker& st : views)
    for (const Fault fault : {Fault::MaskOffByOne, Fault::StrideSwapped}) {
      const auto kernel = stored(load(st));
      EXPECT_LE(buffers_of(plant_fault(kernel, fault)).back().size, buffers_of(kernel).back().size)
          << st.str() << name(fault);
    }
}

TEST(MergeAxes, NeighboursBecomeOneWhereViewsAllow) {
  EXPECT_EQ(str(merge_axes(stored(load(dense({2, 3, 4}))))->shape()), "(24,)");
  EXPECT_EQ(
      str(merge_axes(stored(load(dense({2, 3, 4}).pad(Padding{{0, 0}, {1, 0}, {0, 0}}))))->shape()),
      "(2, 16)");
  const std::vector<int> order{2, 0, 1};
  EXPECT_EQ(str(merge_axes(stored(load(dense({2, 3, 4}).permute(order))))->shape()), "(4, 6)");
}

TEST(MergeAxes, ReducedAxesJoinOnlyEachOther) {
  const auto sum = LazyOp::reduce(Op::ReduceSum, load(dense({2, 3, 4, 5})), {2, 3});
  const LazyOpPtr merged = merge_axes(stored(sum));
  EXPECT_EQ(str(merged->src()[0]->src()[0]->shape()), "(6, 20)");
  EXPECT_EQ(merged->src()[0]->reduce_arg().axes, std::vector<int>{1});
}

}  // namespace
}  // namespace touchstone
