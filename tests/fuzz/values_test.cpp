#include "touchstone/fuzz/judge/values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone::fuzz {
namespace {

const DType kFloats[] = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

LazyOpPtr load(int idx, DType d, const ShapeTracker& st) { return LazyOp::load(idx, d, st); }
LazyOpPtr store(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}
LazyOpPtr sum_kernel(DType d, std::int64_t rows, std::int64_t terms, bool dot) {
  const ShapeTracker st = ShapeTracker::contiguous({rows, terms});
  const LazyOpPtr x = load(1, d, st);
  return store(
      LazyOp::reduce(Op::ReduceSum, dot ? LazyOp::binary(Op::Mul, x, load(2, d, st)) : x, {1}));
}

Scalar element(const HostArray& a, std::int64_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, a.bytes.data() + static_cast<std::size_t>(i) * itemsize(a.dtype),
              itemsize(a.dtype));
  return Scalar::from_bits(a.dtype, bits);
}

// The reference's verdict on itself, under a profile that allows any order.
Verdict verdict_of(const LazyOpPtr& kernel, ValueFamily family) {
  register_interpreted_device();
  RandomChooser chooser(1, 1);
  return run_case({kernel, draw_inputs(chooser, family, kernel)}, Device::get("CPU"));
}

TEST(Values, SmallIntegersLeaveOneAnswerToEverySum) {
  for (const DType d : kFloats)
    for (const std::int64_t terms : {15, 1000, 65535})
      for (const bool dot : {false, true}) {
        const Verdict v = verdict_of(sum_kernel(d, 4, terms, dot), ValueFamily::Integers);
        EXPECT_EQ(v.determined + v.weak, 4) << name(d) << terms << v.str();
        EXPECT_EQ(v.power_ulp, 0) << name(d) << terms << v.str();
      }
}

TEST(Values, FullSignificandsLeaveOneAnswerToEveryOtherSum) {
  for (const DType d : kFloats) {
    const LazyOpPtr kernel = sum_kernel(d, 50, 100, false);
    const Verdict v = verdict_of(kernel, ValueFamily::Full);
    EXPECT_EQ(v.determined, 50) << name(d) << v.str();
    RandomChooser chooser(1, 1);
    const HostArray x = draw_inputs(chooser, ValueFamily::Full, kernel)[0];
    std::int64_t odd = 0, nonzero[2] = {0, 0};
    for (std::int64_t i = 0; i < x.size(); ++i) {
      odd += i / 100 % 2 == 0 ? static_cast<std::int64_t>(element(x, i).bits() & 1) : 0;
      nonzero[i / 100 % 2] += element(x, i).to_double() != 0 ? 1 : 0;
    }
    EXPECT_GT(odd, 10) << name(d);
    EXPECT_LE(nonzero[0], 25 * 2) << name(d);
    EXPECT_EQ(nonzero[1], 25 * 100) << name(d);
  }
}

// Every edge operand is drawn before other values.
TEST(Values, EdgesComeInTurn) {
  for (const OpInfo& row : op_table) {
    if (!is_elementwise(row.op) || row.op == Op::Cast) continue;
    for (const DTypeInfo& d : dtype_table) {
      if (!takes(row.op, d.dtype)) continue;
      const ShapeTracker st = ShapeTracker::contiguous({15});
      std::vector<LazyOpPtr> src;
      for (int i = 0; i < row.arity; ++i)
        src.push_back(load(i + 1, row.op == Op::Where && i == 0 ? DType::Bool : d.dtype, st));
      const LazyOpPtr kernel = store(LazyOp::make(row.op, src, {}));
      std::set<std::vector<std::uint64_t>> drawn;
      RandomChooser chooser(1, 1);
      for (int draw = 0; draw < 2; ++draw) {
        const auto inputs = draw_inputs(chooser, ValueFamily::Edges, kernel, draw);
        for (std::int64_t i = 0; i < 15; ++i) {
          std::vector<std::uint64_t> operands;
          for (const HostArray& a : inputs) operands.push_back(element(a, i).bits());
          drawn.insert(operands);
        }
      }
      const auto wanted = edge_operands(row.op, d.dtype);
      EXPECT_FALSE(wanted.empty()) << row.name << d.name;
      for (const Operands& operands : wanted) {
        std::vector<std::uint64_t> bits;
        for (const Scalar& x : operands) bits.push_back(x.bits());
        EXPECT_EQ(static_cast<int>(operands.size()), row.arity) << row.name << d.name;
        EXPECT_TRUE(drawn.contains(bits)) << row.name << " " << d.name;
      }
    }
  }
}

TEST(Values, MaximaMeetRowsBelowZeroAndRowsOfTheLeast) {
  const LazyOpPtr kernel = store(LazyOp::reduce(
      Op::ReduceMax, load(1, DType::Float32, ShapeTracker::contiguous({9, 20})), {1}));
  const auto holds = [&](ValueFamily family, auto all) {
    RandomChooser chooser(1, 1);
    const HostArray x = draw_inputs(chooser, family, kernel)[0];
    for (int row = 0; row < 9; ++row) {
      bool every = true;
      for (int i = 0; i < 20; ++i) every = every && all(element(x, 20 * row + i).to_double());
      if (every) return true;
    }
    return false;
  };
  EXPECT_TRUE(holds(ValueFamily::Integers, [](double x) { return x < 0; }));
  EXPECT_TRUE(holds(ValueFamily::Edges, [](double x) { return std::isinf(x) && x < 0; }));
}

TEST(Values, ZerosAreOfBothSigns) {
  RandomChooser chooser(1, 1);
  const HostArray x = draw_values(chooser, ValueFamily::Zeros, DType::Float16, 64);
  std::set<std::uint64_t> bits;
  for (std::int64_t i = 0; i < 64; ++i) bits.insert(element(x, i).bits());
  EXPECT_EQ(bits, (std::set<std::uint64_t>{0, 0x8000}));
}

}  // namespace
}  // namespace touchstone::fuzz
