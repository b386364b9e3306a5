#include "touchstone/symbolic/number/congruence.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {
namespace {

Congruence any_congruence() {
  const int modulus = *rc::gen::inRange(0, 13);
  return Congruence::of(modulus, *rc::gen::inRange(-20, 20));
}

Int member(const Congruence& c) { return c.residue + c.modulus * *rc::gen::inRange(-9, 10); }

TEST(Congruence, IsInOneForm) {
  EXPECT_EQ(Congruence::of(-3, 7), (Congruence{3, 1}));
  EXPECT_EQ(Congruence::of(0, -7), Congruence::point(-7));
  EXPECT_TRUE(Congruence::of(1, 5).is_trivial());
  EXPECT_TRUE((Congruence{3, 1}.contains(-2)));
  EXPECT_FALSE((Congruence{3, 1}.contains(2)));
}

TEST(Congruence, OfASumMayBeSharperThanItsParts) {
  const Congruence a{4, 1}, b{6, 5};
  EXPECT_EQ(a + b, (Congruence{2, 0}));
  EXPECT_EQ(a * Int(3), (Congruence{12, 3}));
  EXPECT_EQ(floor_div(Congruence{12, 7}, 4), (Congruence{3, 1}));
  EXPECT_EQ(floor_mod(Congruence{12, 7}, 4), Congruence::point(3));
  EXPECT_EQ(floor_mod(Congruence{12, 7}, 8), (Congruence{4, 3}));
  EXPECT_EQ(hull(Congruence{12, 7}, Congruence{12, 1}), (Congruence{6, 1}));
}

TEST(Congruence, MeetsAnother) {
  EXPECT_EQ(meet(Congruence{4, 1}, Congruence{6, 5}), (Congruence{12, 5}));
  EXPECT_EQ(meet(Congruence{4, 1}, Congruence{6, 4}), std::nullopt);
  EXPECT_EQ(solved(4, 2, 6), (Congruence{3, 1}));
  EXPECT_EQ(solved(4, 1, 6), std::nullopt);
}

TEST(Congruence, TrimsAnInterval) {
  EXPECT_EQ(trimmed({Int(0), Int(9)}, {4, 3}), (Interval{Int(3), Int(7)}));
  EXPECT_EQ(trimmed({Int(-5), std::nullopt}, {4, 3}), (Interval{Int(-5), std::nullopt}));
  EXPECT_EQ(trimmed({Int(4), Int(6)}, {4, 3}), std::nullopt);
}

RC_GTEST_PROP(Congruence, HoldsEveryResult, ()) {
  const Congruence a = any_congruence(), b = any_congruence();
  const Int x = member(a), y = member(b), k = *rc::gen::inRange(-9, 10);
  const Int d = *rc::gen::inRange(1, 12);
  RC_ASSERT((a + b).contains(x + y));
  RC_ASSERT((a * k).contains(x * k));
  RC_ASSERT((a * b).contains(x * y));
  RC_ASSERT(floor_div(a, d).contains(floor_div(x, d)));
  RC_ASSERT(floor_mod(a, d).contains(floor_mod(x, d)));
  if (!y.is_zero()) RC_ASSERT(floor_mod(a, b).contains(floor_mod(x, y)));
  RC_ASSERT(hull(a, b).contains(x) && hull(a, b).contains(y));
}

RC_GTEST_PROP(Congruence, MeetsInWhatBothHold, ()) {
  const Congruence a = any_congruence(), b = any_congruence();
  const auto both = meet(a, b);
  for (int v = -300; v < 300; ++v)
    RC_ASSERT((a.contains(v) && b.contains(v)) == (both && both->contains(v)));
}

RC_GTEST_PROP(Congruence, SolvesWhatIsLinear, ()) {
  const Int factor = *rc::gen::inRange(-9, 10), constant = *rc::gen::inRange(-9, 10);
  const Int modulus = *rc::gen::inRange(0, 13);
  const auto found = solved(factor, constant, modulus);
  for (int v = -40; v < 40; ++v)
    RC_ASSERT(Congruence::of(modulus, 0).contains(factor * v + constant) ==
              (found && found->contains(v)));
}

RC_GTEST_PROP(Congruence, TrimsToTheNearestMembers, ()) {
  const Congruence c = any_congruence();
  const int lo = *rc::gen::inRange(-40, 40), hi = lo + *rc::gen::inRange(0, 30);
  std::optional<Interval> want;
  for (int v = lo; v <= hi; ++v)
    if (c.contains(v)) want = Interval{want ? want->lo : End(v), Int(v)};
  RC_ASSERT(trimmed({Int(lo), Int(hi)}, c) == want);
}

}  // namespace
}  // namespace touchstone::symbolic
