#include "touchstone/prove/prover.h"

#include <gtest/gtest.h>

#include <chrono>

#include "../support/traced_draws.h"
#include "touchstone/prove/defined.h"
#include "touchstone/prove/smt.h"

namespace touchstone::prove {
namespace {

Proof decide(const std::string& text, const std::string& witness = "") {
  Prover prover;
  return prover.prove(read_claim(text, witness));
}

TEST(Prover, ProvesForSymbolicDivisors) {
  for (const char* text : {
           "x//b//c -> x//(b*c) ; c > 0",
           "(c*x + y)//(c*d) -> x//d ; d > 0 and 0 <= y and y < c",
           "x//a%d*k + x//(a*d)*(k*d) -> x//a*k ; d > 0",
           "(k*(x//a%d) + y)%c -> (k*(x//a) + y)%c ; k*d%c == 0",
           "c*x + k < 0 -> x + k//c < 0 ; c > 0",
           "x - b*(x//b) -> x%b",
           "(x + b)%b -> x%b",
       }) {
    const Proof p = decide(text);
    EXPECT_EQ(p.verdict, Verdict::Proved) << text << ": " << p.reason;
    EXPECT_EQ(p.method, Method::Elimination) << text;
    for (const Query& q : p.queries) EXPECT_FALSE(q.script.empty());
  }
}

TEST(Prover, ProvesForNumbersChoicesAndLogic) {
  for (const char* text : {
           "(4*x + y)//4 -> x ; 0 <= y and y < 4",
           "x//12*12 + x%12//4*4 + x%4 -> x",
           "min(x, y) + max(x, y) -> x + y",
           "max(x, y, z) -> max(z, max(y, x))",
           "where(x < y, x, y) -> min(x, y)",
           "not (x and y) -> not x or not y",
           "tdiv(x, 4) -> x//4 ; x >= 0",
           "tmod(x, -3) -> tmod(x, 3)",
           "x < 8 -> x//8 < 1",
           "x*x >= 0 -> True",
           "div*let - let*div -> 0",
           "x*(x + 1)%2 -> 0",
           "(x*x*x - x)%6 -> 0",
           "x*x%4 < 2 -> True",
       })
    EXPECT_EQ(decide(text).verdict, Verdict::Proved) << text;
}

TEST(Prover, RefutesWithTheSmallestPointItComesTo) {
  const auto refuted = [](const std::string& text) {
    const Proof p = decide(text);
    if (p.verdict != Verdict::Refuted) return std::string(name_of(p.verdict));
    return text_of(*p.counterexample);
  };
  EXPECT_EQ(refuted("tmod(x, 4) -> x%4"), "x = -1: lhs is -1, rhs is 3");
  EXPECT_EQ(refuted("x//-2 -> -(x//2)"), "x = 1: lhs is -1, rhs is 0");
  EXPECT_EQ(refuted("0 -> 1"), "lhs is 0, rhs is 1");
  EXPECT_EQ(refuted("x -> x//b*b + x%b"), "b = 0, x = 0: lhs is 0, rhs divides by zero");
  EXPECT_EQ(refuted("x//b//c -> x//(b*c)"), "b = 2, c = -1, x = 1: lhs is 0, rhs is -1");
}

TEST(Prover, FindsCounterexamplesFarFromZero) {
  const Proof p = decide("x < 123456789 -> True ; x%1000003 == 7");
  EXPECT_EQ(p.verdict, Verdict::Refuted);
  const Proof q = decide("x*y == 1000036000099 -> False ; x > 1 and y > x and x < 1000010");
  EXPECT_NE(q.verdict, Verdict::Proved);  // 1000003 * 1000033
}

// Claims that may divide by zero.
TEST(Prover, ClaimsNothingWhereTheLeftSideIsUndefined) {
  EXPECT_EQ(decide("x//b*b + x%b -> x").verdict, Verdict::Proved);
  EXPECT_EQ(decide("x -> x//b*b + x%b").verdict, Verdict::Refuted);
  EXPECT_EQ(decide("x -> x//b*b + x%b ; b != 0").verdict, Verdict::Proved);
  EXPECT_EQ(decide("x -> where(b == 0, x, x//b*b + x%b)").verdict, Verdict::Proved);
  EXPECT_EQ(decide("b != 0 and x//b == 2 -> False ; b == 0").verdict, Verdict::Proved);
  EXPECT_EQ(decide("x//b == 2 and b != 0 -> False ; b == 0").verdict, Verdict::Proved);
  EXPECT_EQ(decide("b == 0 or x//b == 2 -> True ; b == 0").verdict, Verdict::Proved);
  EXPECT_EQ(decide("False -> x//b == 2 ; b == 0").verdict, Verdict::Refuted);
  EXPECT_EQ(decide("x -> y ; 1//b == 1 and b == 0").verdict, Verdict::Proved);
  EXPECT_EQ(decide("0*(x//b) -> 0").verdict, Verdict::Proved);
  EXPECT_EQ(decide("0 -> 0*(x//b)").verdict, Verdict::Refuted);
}

TEST(Prover, UsesAWitness) {
  const Proof p = decide("(c*x + y)//(c*d) -> x//d ; d > 0 and 0 <= y and y < c", "x = d*q + s");
  EXPECT_EQ(p.verdict, Verdict::Proved);
  EXPECT_EQ(p.steps.front(), "write x as d*q + s, with 0 <= s and s < d");
  const Proof zero = decide("x*0//1 -> 0", "x = x*x*q + s");
  EXPECT_EQ(zero.verdict, Verdict::Proved);
  EXPECT_EQ(zero.steps.front(), "the witness divides by x*x, which may be 0");
  EXPECT_EQ(zero.method, Method::Direct);
}

TEST(Prover, EnumeratesWhatIsFinite) {
  Limits limits;
  limits.seconds = 0.5;
  Prover prover(limits);
  const Proof p =
      prover.prove(read_claim("x*x*y*y%7*z -> x*x%7*(y*y%7)%7*z ; 0 <= x and x < 40 "
                              "and -3 < y and y <= 20 and 3 > z and z == 2"));
  EXPECT_EQ(p.verdict, Verdict::Proved);
  EXPECT_EQ(decide("x*x*x*x*x*x -> 0 ; 3 < x and x < 2").verdict, Verdict::Proved);
}

TEST(Prover, EqualCountsPointsWhereBothAreDefined) {
  Prover prover;
  EXPECT_EQ(prover.equal("x", "x//b*b + x%b").verdict, Verdict::Proved);
  EXPECT_EQ(prover.equal("x//b*b + x%b", "x").verdict, Verdict::Proved);
  EXPECT_EQ(prover.equal("x%4", "x", "0 <= x and x < 4").verdict, Verdict::Proved);
  const Proof p = prover.equal("x%4", "x", "0 <= x");
  EXPECT_EQ(p.verdict, Verdict::Refuted);
  EXPECT_EQ(text_of(*p.counterexample), "x = 4: lhs is 0, rhs is 4");
  EXPECT_THROW(prover.equal("x +", "x"), ParseError);
}

TEST(Prover, SaysThatAClaimIsVacuous) {
  for (const char* text : {"x -> x + 1 ; x < x", "x -> y ; x < y and y < x", "x -> 7 ; x*x < 0",
                           "x -> 7 ; 3 < x and x < 2", "x -> 7 ; 1//b == 1 and b == 0",
                           "x -> 7 ; 0 <= x and x < 50 and x*x == 1000"}) {
    const Proof p = decide(text);
    EXPECT_EQ(p.verdict, Verdict::Proved) << text;
    EXPECT_TRUE(p.vacuous) << text;
  }
  for (const char* text : {"x//b//c -> x//(b*c) ; c > 0", "x*0 -> 0", "x -> 1000 ; x == 1000",
                           "x//31 -> 3 ; 93 <= x and x < 124"})
    EXPECT_FALSE(decide(text).vacuous) << text;
}

TEST(Prover, EqualIsNotSlowedDownByVariablesThatDoNotOccur) {
  Prover prover;
  const auto begin = std::chrono::steady_clock::now();
  const Proof p =
      prover.equal("(x*x*x + y*y*y)%1009", "(x*x*x + y*y*y)%1009 + (x == 41)*(y == 23)",
                   "0 <= x and x < 42 and 0 <= y and y < 24 and 0 <= z and z <= 1000000 and z < w");
  EXPECT_EQ(p.verdict, Verdict::Refuted);
  EXPECT_EQ(p.counterexample->point.size(), 2U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  // An assumption must hold somewhere.
  EXPECT_TRUE(prover.equal("x", "x + 1", "y < y").vacuous);
}

// Renaming parts that are multiples of a divisor produced new names without end.
TEST(Prover, EndsWhereNamesLeadToNames) {
  Limits limits;
  limits.elimination_seconds = 2;
  limits.seconds = 0.2;
  limits.last_points = 1000;
  Prover prover(limits);
  const Proof p = prover.equal(
      "tmod(tmod(y*n, 100), 10 + x + 1)",
      "where(x < -11, where(n*y < 0 and -(n*y)%100 != 0, n*y%-100%(x + 11), -(where(n*y "
      "< 0, -(n*y)%100, -(n*y)%-100)%(x + 11))), where(n*y < 0 and -(n*y)%100 != 0, "
      "-(-(n*y)%100)%(-11 - x), where(n*y < 0, n*y%-100, n*y%100)%(x + 11)))",
      "-6400 <= y and y <= 19200");
  EXPECT_NE(p.verdict, Verdict::Refuted);
}

TEST(Prover, SaysUnknownWhereItCannotTell) {
  Limits limits;
  limits.last_points = 1000;
  limits.seconds = 0.5;
  Prover prover(limits);
  // Fermat's last theorem for 3.
  const Proof p =
      prover.prove(read_claim("x*x*x + y*y*y == z*z*z -> False ; x > 0 and y > 0 and z > 0"));
  EXPECT_EQ(p.verdict, Verdict::Unknown);
  EXPECT_FALSE(p.reason.empty());
  // Then continues with the next question.
  EXPECT_EQ(prover.prove(read_claim("x%4//4 -> 0")).verdict, Verdict::Proved);
}

TEST(Solver, IsEndedWhenItTakesTooLong) {
  const std::string cubes =
      "(declare-const x Int)(declare-const y Int)(declare-const z Int)"
      "(assert (and (> x 1) (> y 1) (> z 1) (= (+ (* x x x) (* y y y)) (* z z z))))";
  Solver solver;
  const auto begin = std::chrono::steady_clock::now();
  const Reply late = solver.ask(cubes, 4'000'000'000U, 0.3);
  EXPECT_EQ(late.answer, Answer::Unknown);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  const Reply tired = solver.ask(cubes, 10'000, 60);
  EXPECT_EQ(tired.answer, Answer::Unknown);
  EXPECT_LT(tired.seconds, 30);
  EXPECT_EQ(solver.ask("(declare-const x Int)(assert (= (* x x) 49))(assert (< x 0))", 100'000, 60)
                .model.at("x"),
            Int(-7));
  EXPECT_EQ(solver.ask("(assert nonsense)", 100'000, 60).answer, Answer::Unknown);
  EXPECT_EQ(solver.ask("(assert false)", 100'000, 60).answer, Answer::Unsat);
}

TEST(Smt, KeepsNamesApartFromItsOwn) {
  EXPECT_EQ(smt_name("x1"), "x1");
  EXPECT_EQ(smt_name("div"), "v.div");
  EXPECT_EQ(smt_name("_x"), "v._x");
  Exprs e;
  const Expr goal = parse_expr(e, "let//3 == abs%b");
  const std::string script = smt_script(e, {}, goal);
  EXPECT_NE(script.find("(declare-const v.let Int)"), std::string::npos) << script;
  EXPECT_NE(script.find("(div v.let 3)"), std::string::npos) << script;
  EXPECT_NE(script.find("(define-fun floor_mod"), std::string::npos) << script;
}

// The solver interprets every operator like the evaluator.
TEST(Smt, MeansWhatTheEvaluatorComputes) {
  Solver solver;
  test::TracedDraws random(7);
  const char* texts[] = {"x//y",
                         "x%y",
                         "tdiv(x, y)",
                         "tmod(x, y)",
                         "min(x, y, 2)",
                         "max(x, -y)",
                         "x < y",
                         "x >= y",
                         "x == y or x != 2",
                         "not x and y",
                         "-x*y - 3",
                         "x//-3 + x%-3",
                         "where(x <= y, x, y) > 0"};
  for (const char* text : texts)
    for (int i = 0; i < 4; ++i) {
      const int x = random.index(15) - 7;
      const int y = random.index(7) + 1, sign = i % 2 == 0 ? 1 : -1;
      Exprs e;
      const Expr root = parse_expr(e, text);
      symbolic::Evaluator values(e, {root}, {"x", "y"});
      const std::vector<Int> point{x, sign * y};
      values.at(point);
      const std::map<std::string, Expr, std::less<>> now{{"x", e.constant(x)},
                                                         {"y", e.constant(sign * y)}};
      const Expr is =
          e.apply(ExprOp::Eq, {e.substitute(root, now), e.constant(*values.value(root))});
      EXPECT_EQ(solver.ask(smt_script(e, {}, is), 1'000'000, 60).answer, Answer::Unsat)
          << text << " at " << x << ", " << sign * y;
      const Expr floored = with_floor_divisions(e, is);
      EXPECT_EQ(solver.ask(smt_script(e, {}, floored), 1'000'000, 60).answer, Answer::Unsat)
          << text << " at " << x << ", " << sign * y;
    }
}

// defined() holds exactly where the evaluator has a value.
TEST(Defined, IsWhereThereIsAValue) {
  const char* texts[] = {"x//y",
                         "x%y + 1//x",
                         "where(x, 1//x, 0)",
                         "where(1//x, y, 2)",
                         "x and 1//x",
                         "1//x and x",
                         "x == 0 or 1//x == y",
                         "1//x or 1//y",
                         "not (1//x and y)",
                         "max(1//y, 2%(x - 1))",
                         "tdiv(1, x - y)",
                         "(1//x < 2 and 1//y < 2) or x < y"};
  for (const char* text : texts) {
    Exprs e;
    const Expr root = parse_expr(e, text);
    const Expr is = defined(e, root);
    symbolic::Evaluator values(e, {root, is}, {"x", "y"});
    for (int x = -2; x <= 2; ++x)
      for (int y = -2; y <= 2; ++y) {
        const std::vector<Int> point{x, y};
        values.at(point);
        // The condition divides nowhere that matters.
        ASSERT_TRUE(values.value(is)) << text << ": " << render(e, is) << " at " << x << ", " << y;
        EXPECT_EQ(values.value(root).has_value(), !values.value(is)->is_zero())
            << text << " at " << x << ", " << y;
      }
  }
}

}  // namespace
}  // namespace touchstone::prove
