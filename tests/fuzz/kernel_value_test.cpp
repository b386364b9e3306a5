// Kernels' values by definition, and the checks of the reference and oracle that use them.
#include "touchstone/fuzz/definitions/kernel_value.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "touchstone/fuzz/areas/reference_check.h"
#include "touchstone/fuzz/definitions/number_formats.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone::fuzz {
namespace {

HostArray array(DType dtype, const std::vector<Scalar>& elements) {
  HostArray a{dtype, {static_cast<std::int64_t>(elements.size())}, {}};
  for (const Scalar& e : elements) {
    const std::uint64_t bits = e.bits();
    a.bytes.append(reinterpret_cast<const char*>(&bits), itemsize(dtype));
  }
  return a;
}

LazyOpPtr load(int idx, DType d, std::int64_t size) {
  return LazyOp::load(idx, d, ShapeTracker::contiguous({size}));
}
LazyOpPtr store(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

TEST(NumberFormats, EveryPatternOfANarrowFloatIsTheNumberItReadsAs) {
  for (const DTypeInfo& row : dtype_table) {
    if (row.kind != DTypeKind::Float || row.itemsize > 2) continue;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * row.itemsize); ++bits) {
      const double number = definition::float_of_bits(row.dtype, bits);
      const double right = Scalar::from_bits(row.dtype, bits).to_double();
      ASSERT_EQ(std::isnan(number), std::isnan(right)) << row.name << " " << bits;
      if (std::isnan(number)) continue;
      ASSERT_EQ(number, right) << row.name << " " << bits;
      ASSERT_EQ(definition::bits_of_float(row.dtype, number), bits) << row.name;
    }
  }
}

TEST(NumberFormats, RoundsToTheNearestAndTiesToEven) {
  // Ties between 1 and 1 + 2^-10, and between float16's largest number and twice that.
  EXPECT_EQ(definition::rounded(1 + 0x1p-11, DType::Float16), 1);
  EXPECT_EQ(definition::rounded(1 + 0x3p-11, DType::Float16), 1 + 0x4p-11);
  EXPECT_EQ(definition::rounded(1 + 0x1.8p-11, DType::Float16), 1 + 0x2p-11);
  EXPECT_EQ(definition::rounded(65519, DType::Float16), 65504);
  EXPECT_TRUE(std::isinf(definition::rounded(65520, DType::Float16)));
  EXPECT_EQ(definition::rounded(480, DType::Float8E4M3), 448);
  EXPECT_EQ(definition::rounded(0x1p-25, DType::Float16), 0);
  EXPECT_EQ(definition::rounded(0x1.8p-25, DType::Float16), 0x1p-24);
}

TEST(KernelValue, ASumIsExactAndRoundedOnce) {
  const auto f = [](double x) { return Scalar::from_double(DType::Float32, x); };
  const KernelCase c{store(LazyOp::reduce(Op::ReduceSum, load(1, DType::Float32, 4), {0})),
                     {array(DType::Float32, {f(1), f(0x1p30), f(-0x1p30), f(0x1p-24)})}};
  const auto value = kernel_value(c, 1);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->number(0), 1);  // 1 + 2^-24 is a tie
  EXPECT_GT(value->radius[0], 100);
}

TEST(KernelValue, AnIntegersDivisionByZeroIsOpen) {
  const auto i = [](std::int64_t x) { return Scalar::from_int(DType::Int8, x); };
  const KernelCase c{
      store(LazyOp::binary(Op::Div, load(1, DType::Int8, 3), load(2, DType::Int8, 3))),
      {array(DType::Int8, {i(7), i(-7), i(-128)}), array(DType::Int8, {i(0), i(2), i(-1)})}};
  const auto value = kernel_value(c, 3);
  ASSERT_TRUE(value);
  EXPECT_TRUE(value->open[0] && value->open[2]);
  EXPECT_TRUE(value->agrees(1, 0xfd));
  EXPECT_FALSE(value->agrees(1, 0xfc));
}

TEST(KernelValue, OfANamedFunctionIsTheReferences) {
  const auto reference = make_interpreted_device("REFERENCE", 1);
  std::mt19937_64 random(1);
  for (const FunctionInfo& row : function_table)
    for (const DType d : {DType::Float8E5M2, DType::BFloat16, DType::Float32, DType::Float64}) {
      std::vector<Scalar> x, y;
      const double special[] = {0.0,   -0.0, 1,    -1,   0.5,   -0.5,     2,         -2.5,
                                1e-30, 700,  -700, 1e30, -1e30, INFINITY, -INFINITY, NAN};
      for (const double a : special)
        for (const double b : special) {
          x.push_back(Scalar::from_double(d, a));
          y.push_back(Scalar::from_double(d, b));
        }
      while (x.size() < kMostDefined)
        for (auto* to : {&x, &y})
          to->push_back(
              Scalar::from_double(d, std::ldexp(static_cast<double>(random() % 20001) - 10000,
                                                static_cast<int>(random() % 40) - 40)));
      std::vector<LazyOpPtr> operands = {load(1, d, kMostDefined)};
      std::vector<HostArray> inputs = {array(d, x)};
      if (row.arity == 2) {
        operands.push_back(load(2, d, kMostDefined));
        inputs.push_back(array(d, y));
      }
      const KernelCase c{store(LazyOp::function(row.function, operands)), inputs};
      const HostArray right = answer_of(c, *reference);
      const Reply truth = untrue(c, right), taken = taken_from_afar(c, right, Profile{}, 0);
      EXPECT_FALSE(truth.what) << row.name << " " << *truth.what;
      EXPECT_FALSE(taken.what) << row.name << " " << *taken.what;
      EXPECT_EQ(truth.asked, row.function != NamedFunction::Erfinv) << row.name;
    }
}

TEST(ReferenceCheck, NamesTheSideThatTheDefinitionBearsOut) {
  const auto f = [](double x) { return Scalar::from_double(DType::Float32, x); };
  const KernelCase c{store(LazyOp::unary(Op::Sqrt, load(1, DType::Float32, 2))),
                     {array(DType::Float32, {f(4), f(9)})}};
  const HostArray right = array(DType::Float32, {f(2), f(3)});
  const HostArray wrong = array(DType::Float32, {f(2), f(3.5)});
  EXPECT_FALSE(untrue(c, right).what);
  ASSERT_TRUE(untrue(c, wrong).what);
  EXPECT_EQ(*untrue(c, wrong).what, "element 1 is 3.0 by definition, and 3.5 on the reference");
  EXPECT_NE(borne_out(c, wrong, right, 1).find("as on the reference"), std::string::npos);
  EXPECT_NE(borne_out(c, right, wrong, 1).find("the reference is at fault"), std::string::npos);
  EXPECT_NE(borne_out(c, right, right, 1).find("the oracle, or a declared profile"),
            std::string::npos);
}

TEST(ReferenceCheck, BoundsThatAreFarTooWideAreTold) {
  const auto f = [](double x) { return Scalar::from_double(DType::Float32, x); };
  const KernelCase c{store(LazyOp::unary(Op::Exp2, load(1, DType::Float32, 1))),
                     {array(DType::Float32, {f(0.5)})}};
  const HostArray right = array(DType::Float32, {f(std::exp2(0.5))});
  Profile profile;
  EXPECT_FALSE(taken_from_afar(c, right, profile, 0).what);
  profile.exp2 = {1000, 0};
  EXPECT_TRUE(taken_from_afar(c, right, profile, 0).what);
  EXPECT_TRUE(taken_from_afar(c, right, profile, 1).what);
}

TEST(KernelValue, IsTheReferencesOfDrawnKernels) {
  // On request draws more kernels, with a new seed each time.
  const std::uint64_t seed =
      std::getenv("TOUCHSTONE_FUZZ_CASES") != nullptr ? std::random_device()() : 1;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const auto reference = make_interpreted_device("REFERENCE", 1);
  int seen = 0;
  for (std::uint64_t i = 0; i < 600; ++i) {
    RandomChooser chooser(seed, i);
    const KernelCase c = draw_kernel_case(chooser);
    const HostArray right = answer_of(c, *reference);
    const auto what = untrue(c, right).what;
    EXPECT_FALSE(what) << *what << "\n" << str(c);
    const auto taken = taken_from_afar(c, right, Profile{}, i).what;
    EXPECT_FALSE(taken) << *taken << "\n" << str(c);
    seen += kernel_value(c, static_cast<std::size_t>(right.size())).has_value() ? 1 : 0;
  }
  EXPECT_GT(seen, 200);
}

}  // namespace
}  // namespace touchstone::fuzz
