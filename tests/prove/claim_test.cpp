#include "touchstone/prove/claim.h"

#include <gtest/gtest.h>

#include "../support/error_of.h"

namespace touchstone::prove {
namespace {

using test::error_of;

std::string reread(const std::string& text) { return text_of(read_claim(text)); }

TEST(Claim, IsKeptAsWritten) {
  EXPECT_EQ(reread("x + 0 -> x"), "x + 0 -> x");
  EXPECT_EQ(reread("(c*x+y) // (c*d)->x//d ; d > 0 and (0 <= y and y < c)"),
            "(c*x + y)//(c*d) -> x//d ; d > 0 and 0 <= y and y < c");
  EXPECT_EQ(reread("x//a -> 0 ; x == 1 or x == 2"), "x//a -> 0 ; x == 1 or x == 2");
  EXPECT_EQ(reread("x -> x ; (x == 1 or x == 2) and x > 0"),
            "x -> x ; (x == 1 or x == 2) and x > 0");
  EXPECT_EQ(reread("x -> x ; "), "x -> x");
}

TEST(Claim, ReadsAWitnessOutermostFirst) {
  const Claim c = read_claim("x//c -> x//c ; c > 0 and d > 0", "x = c*(d*q + s) + r");
  ASSERT_EQ(c.witness.size(), 2U);
  const auto show = [&](Expr e) { return render(c.exprs, e); };
  EXPECT_EQ(show(c.witness[0].number), "x");
  EXPECT_EQ(show(c.witness[0].divisor), "c");
  EXPECT_EQ(show(c.witness[0].remainder), "r");
  EXPECT_EQ(c.witness[0].quotient, c.witness[1].number);
  EXPECT_EQ(show(c.witness[1].divisor), "d");
  EXPECT_EQ(show(c.witness[1].quotient), "q");
  EXPECT_EQ(show(c.witness[1].remainder), "s");
  EXPECT_EQ(read_claim("x//c -> x//c", "x = c*q + r; x*c = c*p + t").witness.size(), 2U);
}

TEST(Claim, ErrorsPointAtTheColumnInTheWholeText) {
  const auto error = [](const std::string& text, const std::string& witness = "") {
    return error_of([&] { read_claim(text, witness); });
  };
  EXPECT_EQ(error("x + 1"),
            "column 6: expected \"->\": a rule reads \"LHS -> RHS\" or \"LHS -> RHS ; CONDITION\"\n"
            "  x + 1\n"
            "       ^");
  EXPECT_EQ(error("x -> y + ; y > 0"),
            "column 10: expected a number, a name, \"(\", \"-\" or \"not\", found the end\n"
            "  x -> y + ; y > 0\n"
            "           ^");
  EXPECT_EQ(error("x -> y ; y > 0 )"),
            "column 16: expected an operator or the end, found \")\"\n"
            "  x -> y ; y > 0 )\n"
            "                 ^");
  EXPECT_EQ(error("x//0 -> y").substr(0, 28), "column 2: division by zero; ");
  EXPECT_EQ(error("-> y").substr(0, 9), "column 1:");
  EXPECT_EQ(error("x -> y -> z").substr(0, 9), "column 9:");
  EXPECT_EQ(error("x -> y", "x = c*q").substr(0, 36), "column 4: a witness reads \"x = c*q +");
  EXPECT_EQ(error("x//c -> y", "x = c*x + r").substr(0, 24), "column 4: \"x\" is already");
  EXPECT_EQ(error("x//c -> y", "z = c*q + r").substr(0, 34),
            "column 1: \"z\" is not a variable of");
  EXPECT_EQ(error("x//c -> y", "x = e*q + r").substr(0, 34),
            "column 4: \"e\" is not a variable of");
}

TEST(Claim, IsRefusedWhereItIsTooLarge) {
  std::string sum = "x";
  for (int i = 0; i < 2000; ++i) sum += " + x*" + std::to_string(i);
  EXPECT_NE(error_of([&] { read_claim(sum + " -> x"); }).find("more than 1000"), std::string::npos);
  const std::string deep(100'000, '(');
  EXPECT_NE(error_of([&] { read_claim(deep + " -> x"); }), "no error");
}

}  // namespace
}  // namespace touchstone::prove
