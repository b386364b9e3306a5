// Running sums and scatters, which the reference computes by groups of terms, against each result's
// terms taken one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "../interp/kernels.h"
#include "../support/draws.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/interp/oracle/envelope.h"
#include "trial.h"

namespace touchstone {
namespace {

using interp::LegalBlock;

constexpr std::int64_t kTerms = 150, kTargets = 160, kColumns = 3;

const std::string kProfiles[] = {
    R"({"sum": "any"})",           R"({"sum": "sequential"})",
    R"({"sum": {"lanes": 8}})",    R"({"sum": {"folded": 8}})",
    R"({"sum": {"pairwise": 4}})", R"({"accumulator": "float16"})",
    R"({"flush": "both"})",        R"({"excess": {"to": "float64", "rounds": "stores"}})"};

struct Case {
  std::string formula;
  std::vector<BufferPtr> inputs;
  Op op;
  // Terms of element (t, c) of the result.
  std::function<std::vector<float>(std::int64_t t, std::int64_t c)> terms;
  std::int64_t rows = kTargets, columns = kColumns;
};

std::vector<Case> cases() {
  test::TracedDraws random(7);
  const auto drawn = [&](std::int64_t count) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < count; ++i)
      x.push_back(i % 37 == 5 ? 0 : i == 11 ? 3e38F : random.uniform(-1.0F, 1.0F));
    return x;
  };
  const auto x = drawn(kTargets * kColumns), u = drawn(kTerms * kColumns);
  std::vector<std::int64_t> index, places;  // of rows, and of single elements
  for (std::int64_t i = 0; i < kTerms; ++i)
    index.push_back(random.index(static_cast<int>(kTargets) / 2) - 4);
  for (std::int64_t i = 0; i < kTerms * kColumns; ++i)
    places.push_back(random.index(static_cast<int>(kTargets)));
  const auto at = [](std::int64_t i, std::int64_t c) {
    return static_cast<std::size_t>(i * kColumns + c);
  };
  const auto written = [=](bool by_row, float none) {
    return [=](std::int64_t t, std::int64_t c) {
      std::vector<float> terms{x[at(t, c)]};
      for (std::int64_t i = 0; i < kTerms; ++i) {
        const std::int64_t to = by_row ? index[static_cast<std::size_t>(i)] : places[at(i, c)];
        terms.push_back((to < 0 ? to + kTargets : to) == t ? u[at(i, c)] : none);
      }
      return terms;
    };
  };
  const auto in_column = [=](float none) {
    return [=](std::int64_t t, std::int64_t c) {
      std::vector<float> terms;
      for (std::int64_t i = 0; i < kTargets; ++i) terms.push_back(i <= t ? x[at(i, c)] : none);
      return terms;
    };
  };
  const BufferPtr of_x = test::buffer(x), of_u = test::buffer(u);
  const std::string tail = fmt::format("i[{}", kTerms);
  const std::string head = fmt::format("(x[{},{}], ", kTargets, kColumns),
                    updates = fmt::format("u[{},{}]", kTerms, kColumns);
  const std::string two = fmt::format("i[{},{}]:i64, ", kTerms, kColumns);
  return {
      {fmt::format("cumsum(x[{},{}], axis=0)", kTargets, kColumns),
       {of_x},
       Op::ReduceSum,
       in_column(0)},
      {"index_add" + head + tail + "]:i64, " + updates + ")",
       {of_x, test::buffer(index), of_u},
       Op::ReduceSum,
       written(true, -0.0F)},
      {"scatter" + head + two + updates + ", reduce=add)",
       {of_x, test::buffer(places), of_u},
       Op::ReduceSum,
       written(false, -0.0F)},
      {"scatter" + head + two + updates + ", reduce=max)",
       {of_x, test::buffer(places), of_u},
       Op::ReduceMax,
       written(false, -HUGE_VALF)},
  };
}

bool is_grouped(const LazyOpPtr& kernel) {
  for (const interp::Region& region :
       interp::make_program(kernel, interp::Repeats::KeptFunctions).regions)
    for (const interp::ProgramNode& node : region.nodes)
      if (node.groups) return true;
  return false;
}

TEST(Groups, AreTheSumsAndMaximaOfTheirTermsInEveryProfile) {
  const FpGuard guard;
  for (const Case& c : cases()) {
    const LazyOpPtr kernel = formula_to_judge(c.formula).ast;
    EXPECT_TRUE(is_grouped(kernel)) << c.formula;
    std::vector<BufferPtr> inputs = c.inputs;
    inputs.insert(inputs.begin(), test::buffer(DType::Float32, c.rows * c.columns));
    const std::vector<Buffer*> raw = test::raw(inputs);
    for (const std::string& text : kProfiles) {
      const Profile profile = Profile::from_json(text);
      interp::legal_results(kernel, raw, profile, {}, [&](std::int64_t first, const LegalBlock& b) {
        for (std::int64_t i = 0; i < b.count(); ++i) {
          const std::int64_t t = (first + i) / c.columns, column = (first + i) % c.columns;
          const std::vector<float> terms = c.terms(t, column);
          const auto size = static_cast<std::int64_t>(terms.size());
          const LazyOpPtr alone = test::store(LazyOp::reduce(
              c.op, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({size})), {0}));
          const BufferPtr in = test::buffer(terms);
          std::vector<Buffer*> one{raw[0], in.get()};
          interp::legal_results(alone, one, profile, {}, [&](std::int64_t, const LegalBlock& a) {
            const auto wanted = a.get<float>(0), got = b.get<float>(i);
            ASSERT_EQ(wanted.number, got.number) << c.formula << " " << text << " at " << t;
            ASSERT_EQ(wanted.nan, got.nan) << c.formula << " " << text << " at " << t;
            ASSERT_EQ(interp::order_key(wanted.lo), interp::order_key(got.lo))
                << c.formula << " " << text << " at " << t << ": " << wanted.lo << " " << got.lo;
            ASSERT_EQ(interp::order_key(wanted.hi), interp::order_key(got.hi))
                << c.formula << " " << text << " at " << t << ": " << wanted.hi << " " << got.hi;
          });
        }
      });
    }
    run_kernel(test::reference(), kernel, raw);
    const std::vector<float> got = inputs[0]->read<float>();
    for (std::int64_t i = 0; i < c.rows * c.columns; ++i) {
      const std::vector<float> terms = c.terms(i / c.columns, i % c.columns);
      long double value = c.op == Op::ReduceMax ? -HUGE_VALL : 0;
      for (const float v : terms)
        value = c.op == Op::ReduceMax ? std::max<long double>(value, v) : value + v;
      EXPECT_FLOAT_EQ(got[static_cast<std::size_t>(i)], static_cast<float>(value)) << c.formula;
    }
  }
}

// Half a million results, of as many terms each, in less than the work of a thousand.
TEST(Groups, TakeWorkInProportionToTheirTerms) {
  for (const std::string text :
       {"cumsum(x[500000])", "index_add(x[1000000], i[1000000]:i64, u[1000000])"}) {
    const interp::KernelProgram program =
        interp::make_program(formula_to_judge(text).ast, interp::Repeats::KeptFunctions);
    EXPECT_LT(interp::work_of(program, program.regions[0].size), 2e8) << text;
    EXPECT_FALSE(interp::sample_of(program, {})) << text;
  }
}

}  // namespace
}  // namespace touchstone
