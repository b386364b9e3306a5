#include "touchstone/symbolic/ask/session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "touchstone/base/error.h"

namespace touchstone::symbolic {
namespace {

Question question(const std::string& text, std::int64_t most = 9) {
  return {{{"x", {Int(0), Int(most)}}, {"y", {Int(0), {}}}}, {}, text};
}

TEST(Session, RemembersWholeQuestions) {
  Session session;
  const Answer first = session.answer(question("x//2*2 + x%2"));
  EXPECT_EQ(first.text, "x");
  EXPECT_EQ(session.size(), 1U);
  const Answer again = session.answer(question("x//2*2 + x%2"));
  EXPECT_EQ(session.size(), 1U);
  EXPECT_EQ(again.text, first.text);
  EXPECT_EQ(again.size, first.size);
  EXPECT_EQ(again.bounds, first.bounds);
  std::int64_t least = again.ns;
  for (int i = 0; i < 20; ++i) least = std::min(least, session.answer(question("x//2*2 + x%2")).ns);
  EXPECT_LT(least, first.ns);
}

TEST(Session, TellsQuestionsApartByEachOfTheirParts) {
  Session session;
  EXPECT_EQ(session.answer(question("x//10")).text, "0");
  EXPECT_EQ(session.answer(question("x//10", 99)).text, "x//10");
  Question assuming = question("x//10", 99);
  assuming.assumptions = {"x < 10"};
  EXPECT_EQ(session.answer(assuming).text, "0");
  EXPECT_EQ(session.answer(question("x//10 ", 99)).text, "x//10");
  EXPECT_EQ(session.size(), 4U);
}

TEST(Session, RemembersNoError) {
  Session session;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(session.answer(question("x +")), ParseError);
  EXPECT_EQ(session.size(), 0U);
}

TEST(Session, GivesTheAnswersOfACleanStart) {
  Session session;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 300; ++i) {
      const Question q = question("(x*" + std::to_string(i) + " + y)//7%5 + max(x, y*2)", i + 1);
      Context fresh;
      const Answer want = answer(q, fresh), have = session.answer(q);
      EXPECT_EQ(have.text, want.text);
      EXPECT_EQ(have.size, want.size);
      EXPECT_EQ(have.bounds, want.bounds);
    }
}

TEST(Session, ForgetsBeforeItGrowsWithoutEnd) {
  Session session;
  const std::string padding(std::size_t{1} << 16, ' ');
  std::size_t most = 0;
  for (int i = 0; i < 400; ++i) {
    session.answer(question(padding + "x + " + std::to_string(i)));
    most = std::max(most, session.size());
  }
  EXPECT_LE(most, Session::kMostKept >> 16);
  EXPECT_GT(most, 64U);
  EXPECT_EQ(session.answer(question(padding + "x + 399")).text, "x + 399");
}

}  // namespace
}  // namespace touchstone::symbolic
