// Certificates made to deceive the checker: no false claim is accepted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "../support/sanitized.h"
#include "touchstone/fuzz/areas/claim_check.h"
#include "touchstone/fuzz/index/expression_case.h"

namespace touchstone::fuzz {
namespace {

TEST(Claims, OfForgedCertificatesAreAcceptedOnlyWhereTheyHold) {
  const char* cases[] = {
      "a=0..10 b=0..3 | (a*4 + b)//4",
      "a=-3..3 b=-2..2 | where(a < b, a//2, b%3)",
      "a=0..4 b=0..4 | (a*b + b)//(b + 1) | a < b",
      "a=-2..5 | a//a + a%2",
      "a=0..5 b=1..4 c=-1..1 | (a*b + c)//b%2",
      "a=0..3 b=0..3 | a < b and b%2 == 0 or a == 3",
      "a=0..7 b=-4..4 | tdiv(a, b) + max(a, b) | b != 0",
      "a=0.. b=0..6 | a%7*b//3",
  };
  const char* given = std::getenv("TOUCHSTONE_FUZZ_CASES");
  const std::uint64_t count = given              ? std::strtoull(given, nullptr, 10)
                              : test::kSanitized ? 2'000
                                                 : 10'000;
  std::uint64_t accepted = 0, open = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomChooser chooser(28, i);
    const std::string text =
        i % 4 == 0 ? draw_expression(chooser) : cases[chooser.below(std::size(cases))];
    const ExpressionCase c = ExpressionCase::parse(text);
    if (c.exprs.size(c.root) > 40) {
      ++open;
      continue;
    }
    const ClaimReply reply = ask_forged(c, i);
    accepted += reply.accepted;
    EXPECT_EQ(reply.wrong, "") << text << ", forgery " << i;
  }
  std::cout << accepted << " of " << count - open << " forged certificates accepted\n";
  EXPECT_GT(accepted, (count - open) / 100);  // a forgery may be true by chance
}

}  // namespace
}  // namespace touchstone::fuzz
