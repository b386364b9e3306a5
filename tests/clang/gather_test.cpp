// GATHER: a LOAD whose place on one axis is a value. Each device against a loop over the table.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include <gmock/gmock.h>

#include "harness.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/flop_counter.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone {
namespace {

using Bits = std::vector<std::uint64_t>;
using Places = std::vector<std::int64_t>;
constexpr DType kPlaces = DType::Int64;

BufferPtr filled(Device& device, DType dtype, const Bits& bits) {
  auto made = std::make_shared<Buffer>(device, dtype, static_cast<std::int64_t>(bits.size()));
  auto* to = static_cast<std::byte*>(made->memory());
  for (std::size_t i = 0; i < bits.size(); ++i)
    std::memcpy(to + i * itemsize(dtype), &bits[i], itemsize(dtype));
  return made;
}
Bits bits_of(const Buffer& buffer) {
  Bits bits(static_cast<std::size_t>(buffer.size()));
  const auto* from = static_cast<const std::byte*>(buffer.memory());
  for (std::size_t i = 0; i < bits.size(); ++i)
    std::memcpy(&bits[i], from + i * itemsize(buffer.dtype()), itemsize(buffer.dtype()));
  return bits;
}
Bits as_bits(const Places& places) { return {places.begin(), places.end()}; }

struct Input {
  DType dtype;
  Bits bits;
};

Device& compiled() {
  static TestDevice device;
  return *device;
}
// Compiles a test's kernels in one compiler call.
void compile(const std::vector<LazyOpPtr>& values) {
  std::vector<LazyOpPtr> kernels;
  for (const LazyOpPtr& value : values) kernels.push_back(stored(value));
  compiled().prepare(kernels);
}

// The value's output on CPU and CLANG, which must agree bit for bit.
Bits output_of(const LazyOpPtr& value, const std::vector<Input>& inputs,
               const symbolic::Values& values = {}) {
  static const auto reference = make_interpreted_device("REFERENCE", 1);
  const LazyOpPtr kernel = stored(value);
  validate_kernel(kernel);
  const KernelFile again = kernel_from_json(to_json({kernel, buffers_of(kernel)}));
  EXPECT_TRUE(same(again.ast, kernel));
  std::vector<Bits> outputs;
  for (Device* device : {reference.get(), &compiled()}) {
    const std::int64_t size = elements(bind_variables(kernel, values)->shape()).as_int();
    std::vector<BufferPtr> held{std::make_shared<Buffer>(*device, kernel->dtype(), size)};
    for (const Input& input : inputs) held.push_back(filled(*device, input.dtype, input.bits));
    std::vector<Buffer*> raw;
    for (const BufferPtr& b : held) raw.push_back(b.get());
    run_kernel(*device, kernel, raw, values);
    outputs.push_back(bits_of(*held[0]));
    if (!values.empty()) continue;
    const Verdict verdict = judge(kernel, raw, *raw[0]);
    EXPECT_EQ(verdict.outcome, Outcome::Pass) << str(kernel);
  }
  EXPECT_EQ(outputs[0], outputs[1]) << str(kernel);
  return outputs[0];
}

LazyOpPtr places(int buffer, const Shape& shape) {
  return LazyOp::load(buffer, kPlaces, ShapeTracker::contiguous(shape));
}

// Row p of a contiguous table (rows, row) for each p in `at`; zeros if outside.
Bits rows_at(const Bits& table, std::int64_t rows, std::int64_t row, const Places& at) {
  Bits out;
  for (const std::int64_t p : at)
    for (std::int64_t i = 0; i < row; ++i)
      out.push_back(p < 0 || p >= rows ? 0 : table[static_cast<std::size_t>(p * row + i)]);
  return out;
}

const Places kAround = {0,
                        4,
                        2,
                        2,
                        -1,
                        5,
                        -5,
                        3,
                        1LL << 40,
                        -(1LL << 40),
                        1,
                        std::numeric_limits<std::int64_t>::min(),
                        std::numeric_limits<std::int64_t>::max()};

TEST(Gather, GivesTheBitsOfEveryTypeAndZeroOutside) {
  const auto n = static_cast<std::int64_t>(kAround.size());
  const auto value_of = [&](DType dtype) {
    return LazyOp::gather(
        1, dtype, ShapeTracker::contiguous({5, 1, 2}).expand({5, n, 2}),
        LazyOp::load(2, kPlaces, ShapeTracker::contiguous({n, 1}).expand({n, 2})));
  };
  std::vector<LazyOpPtr> values;
  for (const DTypeInfo& type : dtype_table) values.push_back(value_of(type.dtype));
  compile(values);
  for (const DTypeInfo& type : dtype_table) {
    const std::uint64_t all = type.itemsize == 8 ? ~0ULL : (1ULL << (8 * type.itemsize)) - 1;
    Bits table;  // includes -0.0, NaN payloads and the ends of the range
    for (std::uint64_t i = 0; i < 10; ++i)
      table.push_back(is_bool(type.dtype) ? i % 2
                      : i == 3            ? all ^ (all >> 1)
                      : i == 7            ? all - 2
                                          : (i * 0x9e3779b97f4a7c15ULL) & all);
    EXPECT_EQ(output_of(value_of(type.dtype), {{type.dtype, table}, {kPlaces, as_bits(kAround)}}),
              rows_at(table, 5, 2, kAround))
        << type.name;
  }
}

TEST(Gather, OfATableOfOneRowOrNone) {
  for (const std::int64_t rows : {0, 1}) {
    const auto n = static_cast<std::int64_t>(kAround.size());
    const ShapeTracker st = ShapeTracker::contiguous({rows, 1}).expand({rows, n});
    const Bits table(static_cast<std::size_t>(rows), 7);
    EXPECT_EQ(output_of(LazyOp::gather(1, DType::Int32, st, places(2, {n})),
                        {{DType::Int32, table}, {kPlaces, as_bits(kAround)}}),
              rows_at(table, rows, 1, kAround));
  }
}

TEST(Gather, SeesTheTableThroughAnyView) {
  Bits memory;
  for (std::uint64_t i = 1; i <= 24; ++i) memory.push_back(i);
  const std::vector<ShapeTracker> tables = {
      // (positions' axis 4, 3 elements), built in several ways
      ShapeTracker::contiguous({3, 4}).permute(std::vector<int>{1, 0}),
      ShapeTracker::contiguous({4, 3}).stride(std::vector<std::int64_t>{-1, -1}),
      ShapeTracker::contiguous({8, 3}).stride(std::vector<std::int64_t>{2, 1}),
      ShapeTracker::contiguous({2, 3}).pad({{1, 1}, {0, 0}}),
      ShapeTracker::contiguous({4, 2}).pad({{0, 0}, {1, 0}}),
      ShapeTracker::contiguous({6, 4}).shrink({{1, 5}, {1, 4}}),
      ShapeTracker::contiguous({1, 3}).expand({4, 3}),
      ShapeTracker::contiguous({3, 4})
          .permute(std::vector<int>{1, 0})
          .reshape({12})
          .stride(std::vector<std::int64_t>{-1})
          .reshape({4, 3}),
  };
  const Places at = {3, 0, -1, 1, 4, 2};
  // Rows at positions, and each element with its own position in another axis order.
  const auto rows_of = [](const ShapeTracker& table) {
    return LazyOp::gather(
        1, DType::Int32, table.reshape({4, 1, 3}).expand({4, 6, 3}),
        LazyOp::load(2, kPlaces, ShapeTracker::contiguous({6, 1}).expand({6, 3})));
  };
  const auto elements_of = [](const ShapeTracker& table) {
    return LazyOp::gather(1, DType::Int32, table.reshape({4, 3, 1}).expand({4, 3, 2}),
                          places(2, {3, 2}));
  };
  std::vector<LazyOpPtr> values;
  for (const ShapeTracker& table : tables)
    for (const LazyOpPtr& value :
         {LazyOp::load(1, DType::Int32, table), rows_of(table), elements_of(table)})
      values.push_back(value);
  compile(values);
  for (const ShapeTracker& table : tables) {
    const Bits whole = output_of(LazyOp::load(1, DType::Int32, table), {{DType::Int32, memory}});
    const std::vector<Input> inputs = {{DType::Int32, memory}, {kPlaces, as_bits(at)}};
    EXPECT_EQ(output_of(rows_of(table), inputs), rows_at(whole, 4, 3, at)) << table.str();
    Bits want;
    for (std::size_t i = 0; i < 6; ++i) want.push_back(rows_at(whole, 4, 3, {at[i]})[i / 2]);
    EXPECT_EQ(output_of(elements_of(table), inputs), want) << table.str();
  }
}

// (4) positions in 5 numbers: a table for other tests.
const std::vector<Input> kInputs = {{DType::Int64, {3, 1, 4, 0, 2}}, {kPlaces, {4, 0, 3, 9}}};
LazyOpPtr chosen(const LazyOpPtr& at) {
  Shape shape = at->shape();
  shape.insert(shape.begin(), 5);
  return LazyOp::gather(1, DType::Int64,
                        ShapeTracker::contiguous({5}).reshape({5, 1}).expand({5, shape[1]}), at);
}

TEST(Gather, StandsBesideAndAboveAnother) {
  const LazyOpPtr one = chosen(places(2, {4}));  // 2 3 0 0
  EXPECT_EQ(output_of(one, kInputs), (Bits{2, 3, 0, 0}));
  EXPECT_EQ(output_of(chosen(one), kInputs), (Bits{4, 0, 3, 3}));
  EXPECT_EQ(output_of(LazyOp::binary(Op::Add, chosen(one), one), kInputs), (Bits{6, 3, 3, 3}));
  const LazyOpPtr minus = LazyOp::unary(Op::Neg, one);  // -2 -3 0 0
  EXPECT_EQ(
      output_of(LazyOp::binary(Op::Sub, chosen(minus), chosen(LazyOp::binary(Op::Add, one, minus))),
                kInputs),
      (Bits{~0ULL - 2, ~0ULL - 2, 0, 0}));
}

TEST(Gather, BelowAReduceAndAtTheResultOfOne) {
  const LazyOpPtr one = chosen(places(2, {4}));
  EXPECT_EQ(output_of(LazyOp::reduce(Op::ReduceSum, one, {0}), kInputs), (Bits{5}));
  // The position is a sum: 2 + 3 + 0 + 0 is outside, the largest is not.
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, one, {0});
  EXPECT_EQ(output_of(chosen(sum), kInputs), (Bits{0}));
  EXPECT_EQ(output_of(chosen(LazyOp::reduce(Op::ReduceMax, one, {0})), kInputs), (Bits{0}));
  // Sums of 5 products of selected rows, 64 adjacent results: lanes and stages.
  std::vector<Input> inputs(2);
  inputs[0] = {DType::Int32, {}};
  inputs[1] = {kPlaces, as_bits({6, 0, -1, 2, 7})};
  for (std::uint64_t i = 0; i < 7 * 64; ++i) inputs[0].bits.push_back(i * i % 97);
  const auto wide = [](int axis) {
    return LazyOp::load(2, kPlaces,
                        axis == 0 ? ShapeTracker::contiguous({5, 1}).expand({5, 64})
                                  : ShapeTracker::contiguous({1, 5}).expand({64, 5}));
  };
  const auto table = ShapeTracker::contiguous({7, 1, 64}).expand({7, 5, 64});
  const LazyOpPtr rows = LazyOp::gather(1, DType::Int32, table, wide(0));
  const LazyOpPtr columns =
      LazyOp::gather(1, DType::Int32, table.permute(std::vector<int>{0, 2, 1}), wide(1));
  Bits want(64), squares(64);
  for (std::size_t i = 0; i < 64; ++i)
    for (const std::size_t row : {6U, 0U, 2U}) {
      want[i] += inputs[0].bits[row * 64 + i];
      squares[i] += inputs[0].bits[row * 64 + i] * inputs[0].bits[row * 64 + i];
    }
  EXPECT_EQ(output_of(LazyOp::reduce(Op::ReduceSum, rows, {0}), inputs), want);
  EXPECT_EQ(output_of(LazyOp::reduce(Op::ReduceSum, columns, {1}), inputs), want);
  EXPECT_EQ(
      output_of(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, rows, rows), {0}), inputs),
      squares);
  // Beside a reduce that is equal for all columns.
  const LazyOpPtr still = LazyOp::gather(1, DType::Int32,
                                         ShapeTracker::contiguous({7, 64})
                                             .shrink({{0, 7}, {0, 1}})
                                             .reshape({7, 1, 1})
                                             .expand({7, 5, 64}),
                                         wide(0));
  Bits both = want;
  for (std::uint64_t& b : both) b += want[0];
  EXPECT_EQ(output_of(LazyOp::binary(Op::Add, LazyOp::reduce(Op::ReduceSum, still, {0}),
                                     LazyOp::reduce(Op::ReduceSum, rows, {0})),
                      inputs),
            both);
}

TEST(Gather, TheNumberOfRowsAndOfPositionsMayBeVariables) {
  const sint n = symbolic::variable("n", 1, 5), k = symbolic::variable("k", 1, 4);
  const ShapeTracker table = ShapeTracker::contiguous({n}).reshape({n, 1}).expand({n, k});
  const LazyOpPtr at = LazyOp::load(2, kPlaces, ShapeTracker::contiguous({k}));
  const LazyOpPtr value = LazyOp::gather(1, DType::Int32, table, at);
  const std::vector<Input> inputs = {{DType::Int32, {10, 11, 12, 13, 14}},
                                     {kPlaces, as_bits({4, 2, 0, -1})}};
  EXPECT_EQ(output_of(value, inputs, {{"n", 5}, {"k", 4}}), (Bits{14, 12, 10, 0}));
  EXPECT_EQ(output_of(value, inputs, {{"n", 3}, {"k", 4}}), (Bits{0, 12, 10, 0}));
  EXPECT_EQ(output_of(value, inputs, {{"n", 2}, {"k", 2}}), (Bits{0, 0}));
}

TEST(Gather, IsRefusedWhereItIsIllTyped) {
  const auto error = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const AstError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const ShapeTracker st = ShapeTracker::contiguous({5, 4});
  EXPECT_THAT(error([&] {
                LazyOp::gather(1, DType::Int32, st,
                               LazyOp::load(2, DType::Int32, ShapeTracker::contiguous({4})));
              }),
              ::testing::HasSubstr("positions of int64, not int32"));
  EXPECT_THAT(error([&] {
                LazyOp::gather(1, DType::Int32, st, places(2, {5, 4}));
              }),
              ::testing::HasSubstr("one more axis"));
  EXPECT_THAT(error([&] { LazyOp::gather(1, DType::Int32, ShapeTracker(), places(2, {})); }),
              ::testing::HasSubstr("one more axis"));
  EXPECT_THAT(error([&] { LazyOp::gather(-1, DType::Int32, st, places(2, {4})); }),
              ::testing::HasSubstr("is negative"));
  EXPECT_THAT(
      error([&] { validate_kernel(stored(LazyOp::gather(0, DType::Int32, st, places(2, {4})))); }),
      ::testing::HasSubstr("reads buffer 0"));
}

TEST(Gather, CountsTheWholeTableAsReachableAndThatWhichItReadsAsRead) {
  const LazyOpPtr kernel = stored(
      LazyOp::gather(1, DType::Float32, ShapeTracker::contiguous({1000, 1, 8}).expand({1000, 3, 8}),
                     LazyOp::load(2, kPlaces, ShapeTracker::contiguous({3, 1}).expand({3, 8}))));
  EXPECT_EQ(buffers_of(kernel)[1].size, 8000);
  EXPECT_EQ(get_lazyop_info(kernel).mem.at(1), sint(4 * 3 * 8));
}

TEST(Gather, AnElementAtAPositionThatIsNotOneNumberMayBeAny) {
  const auto device = make_interpreted_device("JUDGED", 1);
  const LazyOpPtr at = LazyOp::binary(Op::Div, places(2, {2}), places(3, {2}));  // 4 / 0, 4 / 2
  const LazyOpPtr kernel =
      stored(LazyOp::gather(1, DType::Int32, ShapeTracker::contiguous({3, 1}).expand({3, 2}), at));
  const std::vector<BufferPtr> held{
      std::make_shared<Buffer>(*device, DType::Int32, 2), filled(*device, DType::Int32, {5, 6, 7}),
      filled(*device, kPlaces, {4, 4}), filled(*device, kPlaces, {0, 2})};
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : held) raw.push_back(b.get());
  const auto outcome = [&](const std::vector<std::int32_t>& output) {
    held[0]->write<std::int32_t>(output);
    return judge(kernel, raw, *raw[0]).outcome;
  };
  for (const std::int32_t any : {0, 5, 6, 7}) EXPECT_NE(outcome({any, 7}), Outcome::Fail);
  for (const std::int32_t wrong : {0, 5, 6}) EXPECT_EQ(outcome({5, wrong}), Outcome::Fail);
  EXPECT_EQ(explain(kernel, raw, std::vector<std::int64_t>{0}).back().legal.str(), "anything");
  EXPECT_EQ(explain(kernel, raw, std::vector<std::int64_t>{1}).back().reference.to_int64(), 7);
}

TEST(Gather, AProfileSaysWhatAPositionOutsideGives) {
  const auto device = make_interpreted_device("JUDGED", 1);
  const LazyOpPtr kernel = stored(LazyOp::gather(
      1, DType::Int32, ShapeTracker::contiguous({3, 1}).expand({3, 3}), places(2, {3})));
  const std::vector<BufferPtr> held{std::make_shared<Buffer>(*device, DType::Int32, 3),
                                    filled(*device, DType::Int32, {5, 6, 7}),
                                    filled(*device, kPlaces, as_bits({-1, 3, 1}))};
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : held) raw.push_back(b.get());
  const auto fails = [&](const std::vector<std::int32_t>& output, const char* outside) {
    const Profile profile = Profile::from_json(fmt::format(R"({{"outside": "{}"}})", outside));
    EXPECT_EQ(Profile::from_json(profile.to_json()), profile);
    held[0]->write<std::int32_t>(output);
    return judge(kernel, raw, *raw[0], profile).outcome == Outcome::Fail;
  };
  EXPECT_FALSE(fails({0, 0, 6}, "zero"));
  EXPECT_TRUE(fails({5, 0, 6}, "zero"));
  EXPECT_TRUE(fails({0, 7, 6}, "zero"));
  EXPECT_FALSE(fails({5, 7, 6}, "clamps"));
  EXPECT_TRUE(fails({0, 7, 6}, "clamps"));
  EXPECT_FALSE(fails({1, 2, 6}, "anything"));
  EXPECT_TRUE(fails({1, 2, 7}, "anything"));
  EXPECT_THROW(Profile::from_json(R"({"outside": "wraps"})"), ParseError);
}

}  // namespace
}  // namespace touchstone
