#include "touchstone/fuzz/rapidcheck/generators.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "touchstone/interp/device/interpreted.h"

namespace touchstone {
namespace {

namespace gen = touchstone::testing;

std::uint64_t drawn_seed() { return std::random_device()(); }

// Every kind reads back from its text, and many cases differ.
template <class Case>
void expect_cases() {
  const std::uint64_t seed = drawn_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  rc::Random random(seed);
  std::set<std::string> texts;
  for (int i = 0; i < 40; ++i) {
    const Case c = gen::cases<Case>()(random.split()).value();
    EXPECT_EQ(Case::of(c.text()).text(), c.text());
    texts.insert(c.text());
  }
  EXPECT_GT(texts.size(), 30U);
}

TEST(Generators, CasesAreTheirTexts) {
  expect_cases<gen::Kernel>();
  expect_cases<gen::Expression>();
  expect_cases<gen::Chain>();
  expect_cases<gen::VariableChain>();
  expect_cases<gen::TensorProgram>();
}

TEST(Generators, AValueIsShownWithTheCommandThatChecksIt) {
  std::ostringstream shown;
  rc::show(gen::Chain::of("4,6 permute 1,0"), shown);
  EXPECT_EQ(shown.str(), "4,6 permute 1,0\n  touchstone fuzz --area view --case '4,6 permute 1,0'");
}

// RapidCheck's shrinking, without a limit, against a campaign's.
template <class Case, class Fails>
void expect_shrinks_alike(const std::unique_ptr<fuzz::Area>& area, const Fails& fails) {
  const std::uint64_t seed = drawn_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  rc::Random random(seed);
  int seen = 0;
  for (int i = 0; i < 4000 && seen < 8; ++i) {
    const rc::Shrinkable<Case> drawn = gen::cases<Case>()(random.split());
    const std::string text = drawn.value().text();
    if (!fails(drawn.value())) continue;
    ++seen;
    int tries = 0;
    const auto [smallest, path] = rc::shrinkable::findLocalMin(drawn, [&](const Case& c) {
      ++tries;
      return fails(c);
    });
    const fuzz::ShrunkCase campaign = fuzz::shrink_case(
        *area, text, [&](const std::string& c) { return fails(Case::of(c)); }, 1'000'000);
    // A drawn text may have extra blanks, which changes the order of steps.
    EXPECT_EQ(area->measure(smallest.text())[0], area->measure(campaign.text)[0]) << text;
    EXPECT_LE(tries, 10 * std::max(campaign.runs, 1)) << text;
  }
  EXPECT_EQ(seen, 8);
}

TEST(Generators, ExpressionsShrinkAsInACampaign) {
  expect_shrinks_alike<gen::Expression>(fuzz::make_symbolic_area(), [](const gen::Expression& e) {
    return e.text().find('%') != std::string::npos;
  });
}

TEST(Generators, ChainsShrinkAsInACampaign) {
  expect_shrinks_alike<gen::Chain>(fuzz::make_view_area(), [](const gen::Chain& c) {
    return std::ranges::count_if(c.ops, [](const MovementOp& op) {
             return op.kind == MovementOp::Kind::Pad || op.kind == MovementOp::Kind::Reshape;
           }) >= 2;
  });
}

TEST(Generators, ProgramsShrinkAsInACampaign) {
  expect_shrinks_alike<gen::TensorProgram>(fuzz::make_lazy_area(), [](const gen::TensorProgram& p) {
    return std::ranges::any_of(p.steps, [](const auto& s) { return s.name == "mul"; });
  });
}

TEST(Generators, KernelsHaveAnAnswerThatIsLegal) {
  const auto reference = make_interpreted_device("REFERENCE", 1);
  const std::uint64_t seed = drawn_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  rc::Random random(seed);
  for (int i = 0; i < 300; ++i) {
    const gen::Kernel k = gen::cases<gen::Kernel>()(random.split()).value();
    ASSERT_NE(k.judge(fuzz::answer_of(k, *reference)).outcome, Outcome::Fail) << k.text();
  }
}

TEST(Generators, InputsFitTheirKernel) {
  const auto reference = make_interpreted_device("REFERENCE", 1);
  const std::uint64_t seed = drawn_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  rc::Random random(seed);
  for (int i = 0; i < 20; ++i) {
    const gen::Kernel k = gen::cases<gen::Kernel>()(random.split()).value();
    const LazyOpPtr kernel = k.concrete();
    const rc::Shrinkable<std::vector<HostArray>> drawn = gen::inputs(kernel)(random.split());
    const fuzz::KernelCase c{kernel, drawn.value()};
    EXPECT_NE(fuzz::judge({c, fuzz::answer_of(c, *reference), {}}).outcome, Outcome::Fail);
    const auto zeros = rc::shrinkable::findLocalMin(drawn, [](const auto&) { return true; }).first;
    for (const HostArray& input : zeros)
      EXPECT_EQ(input.bytes.find_first_not_of('\0'), std::string::npos);
  }
}

TEST(Generators, ViewsHaveTheirShape) {
  rc::Random random(drawn_seed());
  for (int i = 0; i < 50; ++i) {
    const ShapeTracker st = gen::views({3, 1, 4})(random.split()).value();
    EXPECT_EQ(st.shape(), Shape({3, 1, 4}));
  }
}

}  // namespace
}  // namespace touchstone
