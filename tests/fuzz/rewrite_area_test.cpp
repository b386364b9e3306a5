#include <gtest/gtest.h>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/cases/rewrite_case.h"
#include "touchstone/fuzz/definitions/rewriting.h"

namespace touchstone::fuzz {
namespace {

TEST(RewriteCases, ReadBackAndNameWhatIsWrong) {
  for (const std::string good :
       {"CONST:i32=i32/1; NEG:i32 ^1; 40*SIN:f32 ^1 %0; SINK ^40..1 | top | m@ADD{x, #1} -> NEG(x) "
        "if x!=m",
        "3*CONST:f32=i; SINK#-1@a %0..2 | map | SINK[CONST] -> null | map bottom | "
        "~MUL+ADD:i32+f32(a@?(NEG(b), _), ...) -> a.0 if b:NEG",
        "UNIQUE:f32*; UNIQUE:f32.2x3=(2,0) | bottom | c@~UNIQUE=0 -> CONST:f32=f32/-0.0#1() | "
        "substitute %0=%1"})
    EXPECT_EQ(RewriteCase::parse(good).str(), good);
  for (const std::string bad :
       {"", "ADDD", "CONST | x", "CONST | top | ADD", "CONST | top | ADD -> ", "CONST |",
        "CONST | top | ADD( -> x", "CONST | top | ADD[_, _] -> null", "CONST | substitute %0",
        "CONST | top | ?() -> null", "CONST | top | ADD -> x if x", "CONST:i31", "0.5*CONST"})
    EXPECT_THROW(RewriteCase::parse(bad), ParseError) << bad;
  for (const std::string bad :
       {"NEG %0", "NEG ^1", "0*CONST", "9999*CONST", "CONST | substitute %0=%1",
        "CONST; 100*SINK 100*%0", "NEG | top | ADD(a, b) -> c"})
    EXPECT_THROW(make_rewrite_area()->check(bad, Effort::Full), ParseError) << bad;
}

// Tests the definition against hand-written results: a fault in it would hide faults in the
// library.
struct Plainly {
  UOp result;
  std::size_t calls = 0;
};
Plainly plainly(const std::string& text) {
  const RewriteCase c = RewriteCase::parse(text);
  const std::vector<UOp> nodes = c.build();
  PlainRewriting plain(c.passes[0].rules);
  const UOp result = plain.rewritten(nodes.back(), c.passes[0].bottom_up, 100);
  return {result, plain.calls.size()};
}

TEST(PlainRewriting, IsAsDefined) {
  // sin sin x -> exp2 x, sin x -> sqrt x of sin sin sin v.
  const std::string graph = "DEFINE_VAR:f32; 3*SIN:f32 ^1 | ",
                    rules = " | SIN(SIN(x)) -> EXP2(x) | SIN(x) -> SQRT(x)";
  const UOp v = UOp::make(GraphOp::DefineVar, DType::Float32);
  EXPECT_EQ(plainly(graph + "top" + rules).result,
            v.alu(GraphOp::Sqrt).alu(GraphOp::Sqrt).alu(GraphOp::Sqrt));
  EXPECT_EQ(plainly(graph + "bottom" + rules).result, v.alu(GraphOp::Sqrt).alu(GraphOp::Exp2));
  // Both orders of two sources; null makes the matcher try the next.
  EXPECT_EQ(plainly("DEFINE_VAR; UNIQUE; ADD %0 %1 | top | ADD{a, b} -> null").calls, 2U);
  EXPECT_EQ(plainly("DEFINE_VAR; UNIQUE; ADD %0 %1 | top | ADD{a, b} -> b if a:UNIQUE").result,
            UOp::make(GraphOp::DefineVar, UOpType::none()));
  // Each pattern without sources fits; two sources are not one, and a name binds one node.
  EXPECT_EQ(plainly("SINK | top | SINK[NEG] -> UNIQUE()").result.op(), GraphOp::Unique);
  EXPECT_EQ(plainly("UNIQUE; SINK %0 %0 | top | SINK(_) -> UNIQUE()").result.op(), GraphOp::Sink);
  EXPECT_EQ(plainly("UNIQUE; SINK %0 %0 | top | SINK(_, ...) -> UNIQUE()").result.op(),
            GraphOp::Unique);
  EXPECT_EQ(plainly("UNIQUE; DEVICE; ADD %0 %1 | top | ADD(x, x) -> x").result.op(), GraphOp::Add);
  for (const char* endless : {"NEG | top | NEG -> NEG=1() | NEG=1 -> NEG()",
                              "NEG | bottom | x@NEG -> NEG(x)", "NEG | top | NEG -> NEG(NEG())"})
    EXPECT_THROW(plainly(endless), Endless) << endless;
}

TEST(PlainRewriting, RefusesWhatCanNeverMatch) {
  const auto refused = [](const std::string& rule) {
    return refusal_of(RewriteCase::parse("NEG | top | " + rule).passes[0].rules[0]);
  };
  EXPECT_EQ(refused("ADD(a, b) -> a"), "");
  EXPECT_EQ(refused("ADD(a) -> a"), "no op has so many sources");
  EXPECT_EQ(refused("ADD(NEG(a, b), _) -> a"), "no op has so many sources");
  EXPECT_EQ(refused("ADD+NEG(a) -> a"), "");
  EXPECT_EQ(refused("x -> x"), "its top says no op");
}

TEST(RewriteArea, HoldsWhereRulesDoNotEndAndWhereGraphsAreDeepOrWide) {
  const std::unique_ptr<Area> area = make_rewrite_area();
  for (const std::string text :
       {"NEG:f32 | top | NEG -> NEG=1() | NEG=1 -> NEG()",
        "UNIQUE; NEG ^1 | bottom | x@NEG -> NEG(x)",
        "CONST=1; 2000*ADD ^1 %0 | top | ADD{x, CONST=1} -> x",
        "CONST=1; 2000*ADD ^1 %0 | bottom | ADD{x, CONST=1} -> x",
        "200*CONST:i32=i; SINK ^200..1 | map | SINK[x] -> x | map | CONST -> UNIQUE()",
        "CONST:f32=f32/0.0; RESHAPE:f32=(0,2) ^1 | top | RESHAPE=(0,2)(x) -> x",
        "DEVICE; NEG ^1; SIN ^1 | substitute %0=%1"})
    EXPECT_EQ(area->check(text, Effort::Full).ending, Ending::Pass) << text;
}

}  // namespace
}  // namespace touchstone::fuzz
