// GATHER with checked positions: the devices against a loop over the positions.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/interp/oracle/subkernel.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;
using Places = std::vector<std::int64_t>;

struct Devices {
  Devices() {
    all.emplace("one thread", make_interpreted_device("CPU1", 1));
    all.emplace("four threads", make_interpreted_device("CPU4", 4));
    ClangOptions options = ClangOptions::from_environment();
    options.cache_dir = cache.path();
    options.threads = 3;
    options.parallel_work = 1;
    all.emplace("clang", make_clang_device("CLANG3", options));
    if (has_tcc()) all.emplace("tcc", make_tcc_device("TCC"));
  }
  TemporaryDirectory cache;
  std::map<std::string, std::unique_ptr<Device>> all;
};
Devices& devices() {
  static Devices all;
  return all;
}

LazyOpPtr stored(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

struct Answer {
  IndexFault fault;
  std::vector<std::int64_t> output;  // empty with a fault
  bool operator==(const Answer&) const = default;
};

// A device's result for a kernel of int64 buffers.
Answer answer(Device& device, const LazyOpPtr& kernel, const std::vector<Places>& inputs,
              const symbolic::Values& values = {}) {
  const std::int64_t size = elements(bind_variables(kernel, values)->shape()).as_int();
  std::vector<std::unique_ptr<Buffer>> held;
  held.push_back(std::make_unique<Buffer>(device, DType::Int64, size));
  for (const Places& input : inputs) {
    held.push_back(
        std::make_unique<Buffer>(device, DType::Int64, static_cast<std::int64_t>(input.size())));
    held.back()->write<std::int64_t>(input);
  }
  std::vector<Buffer*> raw;
  for (const auto& b : held) raw.push_back(b.get());
  try {
    run_kernel(device, kernel, raw, values);
  } catch (const IndexError& e) {
    return {e.fault(), {}};
  }
  return {{}, held[0]->read<std::int64_t>()};
}

void expect_answer(const LazyOpPtr& value, const std::vector<Places>& inputs, const Answer& want,
                   const symbolic::Values& values = {}) {
  const LazyOpPtr kernel = stored(value);
  validate_kernel(kernel);
  EXPECT_TRUE(same(kernel_from_json(to_json({kernel, buffers_of(kernel)})).ast, kernel));
  for (const auto& [name, device] : devices().all)
    EXPECT_EQ(answer(*device, kernel, inputs, values), want)
        << name << ": number " << want.fault.number << "\n"
        << str(kernel);
}

LazyOpPtr load(int buffer, const ShapeTracker& st) {
  return LazyOp::load(buffer, DType::Int64, st);
}

// Rows of a table (rows, row) at positions (n): (n, row).
LazyOpPtr rows_of(std::int64_t rows, std::int64_t n, std::int64_t row) {
  const ShapeTracker at = ShapeTracker::contiguous({n, 1}).expand({n, row});
  return LazyOp::gather(1, DType::Int64,
                        ShapeTracker::contiguous({rows, 1, row}).expand({rows, n, row}),
                        load(2, at), at);
}

Places counting(std::int64_t n) {
  Places all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(10 + i);
  return all;
}

TEST(CheckedGather, NamesTheFirstPositionOutside) {
  const LazyOpPtr value = rows_of(5, 4, 3);
  expect_answer(value, {counting(15), {4, 0, 1, 0}},
                {{}, {22, 23, 24, 10, 11, 12, 13, 14, 15, 10, 11, 12}});
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t far : {std::int64_t{5}, std::int64_t{-1}, least, most})
    for (const std::size_t at : {0U, 2U, 3U}) {
      Places places = {4, 0, 1, 0};
      for (std::size_t i = at; i < 4; ++i) places[i] = i == at ? far : 77;
      expect_answer(value, {counting(15), places}, {{static_cast<std::int64_t>(at), far, 5}, {}});
    }
}

TEST(CheckedGather, InManyThreadsTheLeastOfAll) {
  constexpr std::int64_t kCount = 40'000;
  test::TracedDraws random(1);
  Places places(kCount), want;
  for (std::int64_t& p : places) p = random.between(0, 6);
  for (const std::int64_t p : places) {
    want.push_back(10 + 2 * p);
    want.push_back(11 + 2 * p);
  }
  const LazyOpPtr value = rows_of(7, kCount, 2);
  expect_answer(value, {counting(14), places}, {{}, want});
  for (const std::size_t first : {39'999U, 21'000U, 13'333U, 4'096U, 1U}) {
    places[first] = 7;
    expect_answer(value, {counting(14), places}, {{static_cast<std::int64_t>(first), 7, 7}, {}});
  }
}

TEST(CheckedGather, KnowsPositionsByTheirNumberInAnyOrder) {
  // Positions (2, 3), flipped and transposed; fault numbers follow the order in memory.
  const ShapeTracker at = ShapeTracker::contiguous({2, 3})
                              .permute(std::vector<int>{1, 0})
                              .stride(std::vector<std::int64_t>{-1, 1});
  const LazyOpPtr value = LazyOp::gather(
      1, DType::Int64, ShapeTracker::contiguous({4, 1, 1}).expand({4, 3, 2}), load(2, at), at);
  for (std::size_t a = 0; a < 6; ++a)
    for (std::size_t b = 0; b < 6; ++b) {
      Places places = {0, 1, 2, 3, 0, 1};
      places[a] = places[b] = 4;
      expect_answer(value, {counting(4), places},
                    {{static_cast<std::int64_t>(std::min(a, b)), 4, 4}, {}});
    }
}

TEST(CheckedGather, AsksForNothingWhereItsNumbersAreMasked) {
  // Padding around three positions that are 9 there: 9 - 0.
  const ShapeTracker padded = ShapeTracker::contiguous({3}).pad({{2, 1}});
  const LazyOpPtr nine =
      LazyOp::constant(Scalar::of(std::int64_t{9}), ShapeTracker().reshape({1}).expand({6}));
  const LazyOpPtr at = LazyOp::binary(Op::Sub, nine, load(2, padded));
  const ShapeTracker table = ShapeTracker::contiguous({4, 1}).expand({4, 3}).pad({{0, 0}, {2, 1}});
  const LazyOpPtr value = LazyOp::gather(1, DType::Int64, table, at, padded);
  expect_answer(value, {counting(4), {9, 7, 6}}, {{}, {0, 0, 10, 12, 13, 0}});
  expect_answer(value, {counting(4), {9, 5, 6}}, {{1, 4, 4}, {}});
  const ShapeTracker nobody = ShapeTracker::contiguous({6}).shrink({{0, 0}}).pad({{0, 6}});
  expect_answer(LazyOp::gather(1, DType::Int64, table, at, nobody), {counting(4), {9, 5, 6}},
                {{}, {0, 0, 10, 0, 13, 0}});
}

TEST(CheckedGather, BelowReducesAndBesideOthers) {
  const LazyOpPtr rows = rows_of(5, 4, 64);
  const auto sum = [](const LazyOpPtr& x, std::vector<int> axes) {
    return LazyOp::reduce(Op::ReduceSum, x, std::move(axes));
  };
  Places places = {4, 0, 1, 0}, want(64), total = {0};
  for (std::int64_t i = 0; i < 64; ++i) {
    for (const std::int64_t p : places) want[static_cast<std::size_t>(i)] += 10 + p * 64 + i;
    total[0] += want[static_cast<std::size_t>(i)];
  }
  expect_answer(sum(rows, {0}), {counting(320), places}, {{}, want});
  expect_answer(sum(rows, {0, 1}), {counting(320), places}, {{}, total});
  Places far = {4, 0, 9, -2};
  for (const std::vector<int>& axes : {std::vector<int>{0}, {1}, {0, 1}})
    for (const LazyOpPtr& value : {sum(rows, axes), sum(LazyOp::binary(Op::Mul, rows, rows), axes)})
      expect_answer(value, {counting(320), far}, {{2, 9, 5}, {}});
  // The position is a sum of gathered numbers and indexes two tables.
  const auto pick = [](std::int64_t rows_there, const LazyOpPtr& at) {
    return LazyOp::gather(1, DType::Int64, ShapeTracker::contiguous({rows_there, 1}), at,
                          ShapeTracker::contiguous({1}));
  };
  const LazyOpPtr sum_of_two = sum(load(2, ShapeTracker::contiguous({2})), {0});
  const LazyOpPtr both = LazyOp::binary(Op::Add, pick(5, sum_of_two), pick(3, sum_of_two));
  expect_answer(both, {counting(5), {1, 1}}, {{}, {24}});
  expect_answer(both, {counting(5), {1, 2}}, {{0, 3, 3}, {}});
  expect_answer(both, {counting(5), {3, 2}}, {{0, 5, 3}, {}});
  expect_answer(pick(3, pick(5, sum_of_two)), {counting(5), {1, 1}}, {{0, 12, 3}, {}});
}

TEST(CheckedGather, ANumberMayMoveWhereNothingElseDoes) {
  // Two reduces that are equal along the output, with different numbers.
  const ShapeTracker at = ShapeTracker().reshape({1, 1}).expand({4, 3});
  const ShapeTracker numbers = ShapeTracker::contiguous({4, 3});
  const LazyOpPtr row = LazyOp::gather(
      1, DType::Int64, ShapeTracker::contiguous({5, 1, 3}).expand({5, 4, 3}), load(2, at), numbers);
  const LazyOpPtr both = LazyOp::binary(Op::Add, LazyOp::reduce(Op::ReduceSum, row, {1}),
                                        LazyOp::reduce(Op::ReduceMax, row, {1}));
  expect_answer(both, {counting(15), {2}}, {{}, {69, 69, 69, 69}});
  expect_answer(both, {counting(15), {5}}, {{0, 5, 5}, {}});
  // Needed in the last row only.
  const LazyOpPtr last =
      LazyOp::gather(1, DType::Int64, ShapeTracker::contiguous({5, 1, 3}).expand({5, 4, 3}),
                     load(2, at), ShapeTracker::contiguous({1, 3}).pad({{3, 0}, {0, 0}}));
  expect_answer(LazyOp::reduce(Op::ReduceSum, last, {1}), {counting(15), {5}}, {{0, 5, 5}, {}});
}

TEST(CheckedGather, OfTablesAndPositionsWithoutElements) {
  expect_answer(rows_of(0, 2, 3), {{}, {0, 0}}, {{0, 0, 0}, {}});
  expect_answer(rows_of(3, 0, 3), {counting(9), {}}, {{}, {}});
  expect_answer(rows_of(3, 2, 0), {{}, {0, 9}}, {{}, {}});
  expect_answer(rows_of(1, 2, 1), {{7}, {0, 0}}, {{}, {7, 7}});
  expect_answer(rows_of(1, 2, 1), {{7}, {0, 1}}, {{1, 1, 1}, {}});
  // Nothing is summed, so nothing is read.
  expect_answer(LazyOp::reduce(Op::ReduceSum, rows_of(0, 0, 3), {0}), {{}, {}}, {{}, {0, 0, 0}});
}

TEST(CheckedGather, OfVariableSizes) {
  const sint n = symbolic::variable("n", 1, 5), k = symbolic::variable("k", 0, 4);
  const ShapeTracker at = ShapeTracker::contiguous({k});
  const LazyOpPtr value =
      LazyOp::gather(1, DType::Int64, ShapeTracker::contiguous({n}).reshape({n, 1}).expand({n, k}),
                     load(2, at), at);
  const std::vector<Places> inputs = {counting(5), {4, 2, 0, 3}};
  expect_answer(value, inputs, {{}, {14, 12, 10, 13}}, {{"n", 5}, {"k", 4}});
  expect_answer(value, inputs, {{0, 4, 4}, {}}, {{"n", 4}, {"k", 1}});
  expect_answer(value, inputs, {{}, {}}, {{"n", 4}, {"k", 0}});
  // A loop that may run zero times contains code needed only inside.
  const ShapeTracker one = ShapeTracker::contiguous({1}).expand({k});
  const LazyOpPtr same_one = LazyOp::gather(
      1, DType::Int64, ShapeTracker::contiguous({n, 1}).expand({n, k}), load(2, one), one);
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, same_one, {0});
  expect_answer(sum, {counting(5), {9}}, {{}, {0}}, {{"n", 4}, {"k", 0}});
  expect_answer(sum, {counting(5), {9}}, {{0, 9, 4}, {}}, {{"n", 4}, {"k", 2}});
}

TEST(CheckedGather, IsJudgedAndExplainedOnlyWhereItHasAnAnswer) {
  Device& device = *devices().all.at("one thread");
  const LazyOpPtr kernel = stored(rows_of(3, 2, 1));
  std::vector<std::unique_ptr<Buffer>> held;
  for (const Places& data : {Places{10, 11}, counting(3), Places{0, 1}}) {
    held.push_back(
        std::make_unique<Buffer>(device, DType::Int64, static_cast<std::int64_t>(data.size())));
    held.back()->write<std::int64_t>(data);
  }
  std::vector<Buffer*> raw;
  for (const auto& b : held) raw.push_back(b.get());
  EXPECT_EQ(judge(kernel, raw, *raw[0]).outcome, Outcome::Pass);
  held[2]->write<std::int64_t>(Places{0, 3});
  for (const char* outside : {"zero", "clamps", "anything"}) {
    const Profile profile = Profile::from_json(fmt::format(R"({{"outside": "{}"}})", outside));
    const Verdict verdict = judge(kernel, raw, *raw[0], profile);
    EXPECT_EQ(verdict.outcome, Outcome::Unusable);
    EXPECT_THAT(verdict.why, HasSubstr("index 3 (number 1 of the positions"));
  }
  EXPECT_THROW(explain(kernel, raw, Places{1, 0}), IndexError);
  EXPECT_EQ(explain(kernel, raw, Places{0, 0}).back().reference.to_int64(), 10);
  EXPECT_EQ(answer(device, interp::one_element(kernel, Places{0, 0}), {counting(3), {0, 3}}),
            (Answer{{}, {10}}));
  EXPECT_EQ(answer(device, interp::one_element(kernel, Places{1, 0}), {counting(3), {0, 3}}),
            (Answer{{1, 3, 3}, {}}));
}

TEST(CheckedGather, IsRefusedWhereItIsIllTyped) {
  const ShapeTracker st = ShapeTracker::contiguous({5, 4}), at = ShapeTracker::contiguous({4});
  const auto error = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_THAT(error([&] { LazyOp::gather(1, DType::Int64, st, load(2, at), st); }),
              HasSubstr("numbers the positions has shape (5, 4), but the positions (4,)"));
  EXPECT_THAT(error([&] {
                LazyOp::make(Op::Load, {}, MemBuffer{1, DType::Int64, at, at});
              }),
              HasSubstr("no positions to check"));
  const LazyOpPtr kernel = stored(rows_of(3, 2, 1));
  EXPECT_THAT(error([&] { render_opencl(linearize(kernel)); }), HasSubstr("do not check"));
  const std::string json = to_json({kernel, buffers_of(kernel)});
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = json;
    text.replace(text.find(from), from.size(), to);
    const std::size_t hash = text.find(",\n\"hash\"");
    text.erase(hash, text.rfind('}') - hash);
    return text;
  };
  EXPECT_NE(json.find("\"checked\":["), std::string::npos);
  EXPECT_EQ(error([&] { kernel_from_json(changed("checked", "checked")); }), "none");
  EXPECT_THAT(error([&] { kernel_from_json(changed("\"checked\":[", "\"checkt\":[")); }),
              HasSubstr("did you mean 'checked'"));
  EXPECT_THAT(error([&] { kernel_from_json(changed("\"checked\":[", "\"checked\":[3,")); }),
              HasSubstr("view 0: is not an object"));
}

}  // namespace
}  // namespace touchstone
