#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "touchstone/fuzz/areas/number_check.h"
#include "touchstone/fuzz/areas/profile_check.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"

// Questions chosen by a number, independent of the case's kernel.

namespace touchstone::fuzz {
namespace {

void expect_none(std::optional<std::string> (*wrong)(std::uint64_t), std::uint64_t questions) {
  for (std::uint64_t choice = 0; choice < questions; ++choice) {
    const std::optional<std::string> what = wrong(choice);
    ASSERT_FALSE(what) << choice << ": " << *what;
  }
}

TEST(Questions, CastsAreWhatTheyAreByDefinition) { expect_none(cast_not_right, 500); }
TEST(Questions, SumsAreWhatTheyAreByDefinition) { expect_none(sum_not_right, 500); }
TEST(Questions, ProfilesAreTakenAtTheirWords) { expect_none(profile_not_kept, 2000); }

// Stacks that merge to different views for different values of a variable, or not at all; sampling
// a few values does not reveal it.
TEST(ViewCases, OfVariablesWithManyValuesNeedTheProofsOfASymbolicMerge) {
  int many = 0, turns = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomChooser chooser(11, seed);
    const ViewCase c = ViewCase::parse(draw_symbolic_chain(chooser));
    if (c.variables.size() != 1 || c.variables[0].high - c.variables[0].low < 6) continue;
    ++many;
    ShapeTracker st = ShapeTracker::contiguous(c.base);
    for (const MovementOp& op : c.ops) st = apply(st, op);
    if (st.views().size() < 2) continue;
    turns += shapetracker::symbolic_merge(st.views()).why ==
             "its strides depend on the values of the variables";
  }
  EXPECT_GT(many, 300);
  EXPECT_GT(turns, 0);
}

}  // namespace
}  // namespace touchstone::fuzz
