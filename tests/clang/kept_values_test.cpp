#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness.h"
#include "touchstone/codegen/linearize.h"

// Values used by both a reduce and the output are computed once and kept in the output; compared
// bit for bit with kernels that compute them twice, and with cases where this is not allowed.

namespace touchstone {
namespace {

ShapeTracker view(const Shape& sizes, std::vector<sint> strides, std::int64_t offset = 0) {
  return ShapeTracker({View::strided(sizes, std::move(strides), offset)});
}

// f(x)/sum(f(x)) over rows of a buffer, read as `own` and `summed` specify.
struct Rows {
  std::int64_t rows = 5, columns = 64;
  std::int64_t own_step = 1, own_offset = 0;  // along a row
  std::int64_t summed_step = 1, summed_offset = 0;
  Op function = Op::Exp2;
  bool other_function = false;  // of the sum
  double scale_of_sum = 1;      // unless 1, the sum has another function
  std::int64_t row_step = 0;    // 0: columns
  bool two_inputs = false;
};

LazyOpPtr kernel_of(const Rows& r) {
  const Shape own{r.rows, r.columns, 1}, all{r.rows, r.columns, r.columns};
  const std::int64_t row = r.row_step == 0 ? r.columns : r.row_step;
  const auto function = [&](const LazyOpPtr& x, double scale, const Shape& shape) {
    const auto factor =
        LazyOp::constant(Scalar::from_double(DType::Float32, scale), view(shape, {0, 0, 0}));
    const auto argument = LazyOp::binary(Op::Mul, x, factor);
    if (r.function == Op::Div) return LazyOp::binary(Op::Div, factor, argument);
    const bool other = r.other_function && shape[2] != sint(1);
    return LazyOp::unary(other ? Op::Sin : r.function, argument);
  };
  const auto argument = [&](const Shape& shape, std::vector<sint> strides, std::int64_t offset) {
    const auto x = LazyOp::load(1, DType::Float32, view(shape, strides, offset));
    if (!r.two_inputs) return x;
    return LazyOp::binary(Op::Sub, x,
                          LazyOp::load(2, DType::Float32, view(shape, strides, offset)));
  };
  const auto value = function(argument(own, {row, r.own_step, 0}, r.own_offset), 1, own);
  const auto term =
      function(argument(all, {row, 0, r.summed_step}, r.summed_offset), r.scale_of_sum, all);
  const auto sum = LazyOp::reduce(Op::ReduceSum, term, {2});
  return stored(LazyOp::binary(Op::Mul, value, LazyOp::unary(Op::Recip, sum)));
}

std::int64_t stores(const LazyOpPtr& kernel, const CodegenOptions& options = {}) {
  const LinearKernel linear = linearize(kernel, options);
  return std::ranges::count(linear.steps, StepKind::Store, &LinearStep::kind);
}

void expect_same_bits(const LazyOpPtr& kernel, std::int64_t elements, std::size_t inputs) {
  std::vector<std::vector<float>> x(inputs);
  for (std::size_t b = 0; b < inputs; ++b)
    for (std::int64_t i = 0; i < elements; ++i)
      x[b].push_back(static_cast<float>((i * 37 + static_cast<std::int64_t>(b) * 11) % 61 + 1) / 7);
  ClangOptions options = ClangOptions::from_environment();
  options.threads = 3;
  options.parallel_work = 1;
  const TestDevice keeps(options);
  options.codegen.keep_values = false;
  const TestDevice computes(options);
  const std::vector<float> got = run<float>(*keeps, kernel, x),
                           wanted = run<float>(*computes, kernel, x);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(wanted[i]))
        << "element " << i;
}

TEST(KeptValues, AreThoseOfASoftmaxOfAnyWidth) {
  for (const std::int64_t columns : {16, 160, 1024})
    for (const std::int64_t rows : {1, 7}) {
      const LazyOpPtr kernel = kernel_of({.rows = rows, .columns = columns});
      EXPECT_EQ(stores(kernel), rows == 1 ? 1 : 2) << rows << " x " << columns;
      expect_same_bits(kernel, rows * columns, 1);
    }
  for (const std::int64_t columns : {3, 17, 1001})
    expect_same_bits(kernel_of({.columns = columns}), 5 * columns, 1);
}

TEST(KeptValues, AreOfFunctionsAndQuotientsOfSeveralInputs) {
  for (const Op op : {Op::Exp2, Op::Log2, Op::Sin, Op::Sqrt, Op::Recip, Op::Div}) {
    EXPECT_EQ(stores(kernel_of({.function = op})), 2) << name(op);
    expect_same_bits(kernel_of({.function = op}), 5 * 64, 1);
  }
  const LazyOpPtr kernel = kernel_of({.two_inputs = true});
  EXPECT_EQ(stores(kernel), 2);
  expect_same_bits(kernel, 5 * 64, 2);
}

TEST(KeptValues, AreNotWhereTheTwoDiffer) {
  // Another function; other elements; another order of elements; strided rows.
  const Rows differ[] = {{.scale_of_sum = 2},
                         {.other_function = true},
                         {.summed_offset = 1},
                         {.own_step = -1, .own_offset = 63},
                         {.summed_step = -1, .summed_offset = 63},
                         {.own_step = -1, .own_offset = 63, .summed_step = -1, .summed_offset = 63},
                         {.own_step = 2, .summed_step = 2, .row_step = 128},
                         {.summed_step = 2, .row_step = 128},
                         {.row_step = 1}};
  for (const Rows& r : differ) {
    const LazyOpPtr kernel = kernel_of(r);
    EXPECT_EQ(stores(kernel), 1) << &r - differ;
    expect_same_bits(kernel, 1000, 1);
  }
}

TEST(KeptValues, AreNotWhereTheyAreOfAnotherTypeThanTheOutput) {
  const LazyOpPtr wide = kernel_of({});
  const LazyOpPtr narrow = stored(LazyOp::cast(wide->src()[0], DType::Float16));
  EXPECT_EQ(stores(narrow), 1);
  const LazyOpPtr same =
      stored(LazyOp::cast(LazyOp::cast(wide->src()[0], DType::Float64), DType::Float32));
  EXPECT_EQ(stores(same), 2);
  expect_same_bits(same, 5 * 64, 1);
}

TEST(KeptValues, StayRightWhereTheOutputsMemoryIsAnInputs) {
  const LazyOpPtr kernel = kernel_of({});
  const TestDevice device(ClangOptions::from_environment());
  std::vector<float> x;
  for (int i = 0; i < 5 * 64; ++i) x.push_back(static_cast<float>(i % 17) / 3);
  const std::vector<float> wanted = run<float>(*device, kernel, {x});
  Buffer both(*device, DType::Float32, 5 * 64);
  both.write<float>(x);
  Buffer* const buffers[] = {&both, &both};
  run_kernel(*device, kernel, buffers);
  EXPECT_EQ(both.read<float>(), wanted);
}

}  // namespace
}  // namespace touchstone
