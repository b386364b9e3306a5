#include "touchstone/symbolic/rules/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <vector>

#include "../support/sanitized.h"
#include "touchstone/prove/mutate.h"
#include "touchstone/prove/prover.h"
#include "touchstone/prove/rules_page.h"

// The simplifier's rules, each proved for all integers; each condition shown necessary; and
// near-rules refuted by the prover.

namespace touchstone::symbolic {

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }
void PrintTo(const BoundRule& rule, std::ostream* out) { *out << rule.name; }

}  // namespace touchstone::symbolic

namespace touchstone::prove {
namespace {

class RuleTest : public testing::TestWithParam<symbolic::Rule> {
 protected:
  static Proof decide(const Claim& claim) {
    Prover prover;
    return prover.prove(claim);
  }
};

TEST_P(RuleTest, IsProvedForAllIntegers) {
  const Proof p = decide(read_claim(GetParam()));
  std::string steps;
  for (const std::string& step : p.steps) steps += step + "\n";
  EXPECT_EQ(p.verdict, Verdict::Proved) << p.reason << "\n" << steps;
  EXPECT_NE(p.method, Method::Enumeration);
}

TEST_P(RuleTest, NeedsEachOfItsConditions) {
  for (const Mutant& m : without_conditions(read_claim(GetParam())))
    EXPECT_EQ(decide(m.claim).verdict, Verdict::Refuted) << m.what;
}

// A mutant is false and has a counterexample, or is another law and has a proof; none stays open.
// The few laws are counted below.
TEST_P(RuleTest, LeavesNoMutantOpen) {
  for (const Mutant& m : mutants(read_claim(GetParam()))) {
    const Proof p = decide(m.claim);
    EXPECT_NE(p.verdict, Verdict::Unknown) << m.what << "\n" << text_of(m.claim) << p.reason;
  }
}

// Under a sanitizer, which watches the prover and not the rules, every fourth rule suffices.
template <class Rule>
auto rules_of(std::span<const Rule> all) {
  std::vector<Rule> list;
  for (std::size_t i = 0; i < all.size(); i += test::kSanitized ? 4 : 1) list.push_back(all[i]);
  return testing::ValuesIn(list);
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, rules_of(symbolic::rules()), [](const auto& info) {
  std::string name(info.param.name);
  std::ranges::replace(name, '.', '_');
  return name;
});

class BoundRuleTest : public testing::TestWithParam<symbolic::BoundRule> {};

TEST_P(BoundRuleTest, IsProvedAndNeedsEachOfItsConditions) {
  Prover prover;
  const Claim claim = read_claim(GetParam());
  const Proof p = prover.prove(claim);
  EXPECT_EQ(p.verdict, Verdict::Proved) << p.reason;
  for (const Mutant& m : without_conditions(claim))
    EXPECT_EQ(prover.prove(m.claim).verdict, Verdict::Refuted) << m.what;
}

TEST_P(BoundRuleTest, LeavesNoMutantOpen) {
  Prover prover;
  int refuted = 0;
  for (const Mutant& m : mutants(read_claim(GetParam()))) {
    const Proof p = prover.prove(m.claim);
    EXPECT_NE(p.verdict, Verdict::Unknown) << m.what << "\n" << text_of(m.claim) << p.reason;
    refuted += p.verdict == Verdict::Refuted ? 1 : 0;
  }
  EXPECT_GT(refuted, 0);
}

INSTANTIATE_TEST_SUITE_P(All, BoundRuleTest, rules_of(symbolic::bound_rules()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// docs/rules.md is generated from the tables.
TEST(Page, IsUpToDate) {
  std::ifstream file(TOUCHSTONE_SOURCE_DIR "/docs/rules.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(page, rules_page()) << "write it anew: touchstone prove --docs > docs/rules.md";
}

TEST(Page, AnExampleIsWrittenAsTheProgramWrites) {
  EXPECT_EQ(example_of(*symbolic::find_rule("div.split")), "(4*x + y)//12 is x//3 for y=0..3");
  EXPECT_EQ(example_of(*symbolic::find_rule("mod.flip")), "(x + 3)%2 is 1 - x%2");
}

TEST(Mutants, OfNineInTenRulesAreMostlyFalse) {
  Prover prover;
  int all = 0, refuted = 0;
  for (const symbolic::Rule& rule : symbolic::rules())
    for (const Mutant& m : mutants(read_claim(rule))) {
      ++all;
      refuted += search(m.claim, 3000).has_value() ? 1 : 0;
    }
  EXPECT_GT(all, 300);
  EXPECT_GT(refuted * 10, all * 9) << refuted << " of " << all;
}

TEST(Mutants, AreSingleChanges) {
  std::vector<std::string> texts;
  const Claim c = read_claim("where(x < y, x + 1, -y)//2 -> min(x, y) ; 0 <= y and x + y > 3");
  for (const Mutant& m : mutants(c)) texts.push_back(text_of(m.claim));
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "where(x < y, x + 1, -y)%2 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x < y, -y, x + 1)//2 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x < y, x + 1, -y)//3 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x <= y, x + 1, -y)//2 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x >= y, x + 1, -y)//2 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x < y, x - 1, -y)//2 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x < y, x + 1, y)//2 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x < y, x + 2, -y)//2 -> min(x, y) ; 0 <= y and x + y > 3",
                       "where(x < y, x + 1, -y)//2 -> max(x, y) ; 0 <= y and x + y > 3",
                       "where(x < y, x + 1, -y)//2 -> min(x, y) ; 0 <= y + 1 and x + y > 3",
                       "where(x < y, x + 1, -y)//2 -> min(x, y) ; 0 <= y and x + y >= 3",
                       "where(x < y, x + 1, -y)//2 -> min(x, y) ; 0 <= y and x - y > 3",
                   }));
  EXPECT_EQ(without_conditions(c).size(), 2U);
}

}  // namespace
}  // namespace touchstone::prove
