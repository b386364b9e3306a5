// The allowed reads of kernels, against counts by hand.
#include "touchstone/fuzz/areas/reads_check.h"

#include <gtest/gtest.h>

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/draw/draw_kernel.h"

namespace touchstone::fuzz {
namespace {

LazyOpPtr seen(const Shape& shape, std::vector<sint> strides) {
  return LazyOp::load(1, DType::Int32, ShapeTracker({View::strided(shape, strides, 0)}));
}

KernelCase stored(const LazyOpPtr& value) {
  return {LazyOp::store(ShapeTracker::contiguous(value->shape()), value), {}};
}

// x of 30 rows and 20 columns, minus each column's maximum: one read for the maximum and one for
// the element.
LazyOpPtr less_largest_of_column(int rows, int columns) {
  const LazyOpPtr largest = LazyOp::reduce(
      Op::ReduceMax, seen({rows, columns, rows}, {sint(0), sint(1), sint(columns)}), {2});
  return LazyOp::binary(Op::Sub, seen({rows, columns, 1}, {sint(columns), sint(1), sint(0)}),
                        largest);
}

TEST(ReadsCheck, CountsEachReduceOnceForWhatItDependsOn) {
  EXPECT_EQ(allowed_reads(stored(less_largest_of_column(30, 20)).kernel), 2 * 30 * 20);
  // Summed over the rows, as in a variance: the maximum is equal for all terms.
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, less_largest_of_column(30, 20), {0});
  EXPECT_EQ(allowed_reads(stored(sum).kernel), 2 * 30 * 20);
  // Summed over the columns it differs per term.
  const LazyOpPtr other = LazyOp::reduce(Op::ReduceSum, less_largest_of_column(30, 20), {1});
  EXPECT_EQ(allowed_reads(stored(other).kernel), 30 * 20 + 30 * 20 * 30);
  // A matrix product reads two operands per term.
  const LazyOpPtr a = seen({4, 5, 6}, {sint(6), sint(0), sint(1)}),
                  b = LazyOp::load(
                      2, DType::Int32,
                      ShapeTracker({View::strided({4, 5, 6}, {sint(0), sint(1), sint(5)}, 0)}));
  const LazyOpPtr product = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, a, b), {2});
  EXPECT_EQ(allowed_reads(stored(product).kernel), 2 * 4 * 5 * 6);
}

TEST(ReadsCheck, OurCodeReadsNoMoreOften) {
  int asked = 0;
  for (std::uint64_t i = 0; i < 1'500; ++i) {
    RandomChooser chooser(20'261'127, i);
    const Reply reply = reads_too_often(draw_loops(chooser, Loops::Lines));
    asked += reply.asked ? 1 : 0;
    EXPECT_FALSE(reply.what) << "case " << i << ": " << *reply.what;
  }
  EXPECT_GT(asked, 800);
}

}  // namespace
}  // namespace touchstone::fuzz
