// Figures for docs/measured/views.md. Disabled in the suite: run with
//   shapetracker_test --gtest_also_run_disabled_tests --gtest_filter='*Figures*'
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "../support/traced_draws.h"
#include "chains.h"
#include "greedy.h"
#include "touchstone/shapetracker/invert/invert.h"
#include "touchstone/shapetracker/merge/merge.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Chain;

int rounds(int usual) {
  const char* text = std::getenv("TOUCHSTONE_ROUNDS");
  return text != nullptr ? std::atoi(text) : usual;
}

bool show() { return std::getenv("TOUCHSTONE_SHOW") != nullptr; }

struct Counts {
  int onto = 0, inverted = 0, bijections = 0, bijections_inverted = 0;
};

void invert_one(const Chain& chain, Counts& counts) {
  const auto& addresses = chain.array.address;
  std::int64_t size = 0, valid = 0;
  for (const std::int64_t a : addresses) {
    size = std::max(size, a + 1);
    valid += a >= 0;
  }
  std::vector<bool> read(static_cast<std::size_t>(size), false);
  for (const std::int64_t a : addresses)
    if (a >= 0) read[static_cast<std::size_t>(a)] = true;
  const bool onto = std::ranges::find(read, false) == read.end();
  Inverse inverse;
  try {
    inverse = invert(chain.tracker);
  } catch (const Error& error) {
    FAIL() << error.what() << simplify(chain.tracker).str();
  }
  counts.onto += onto;
  counts.inverted += inverse.tracker.has_value();
  counts.bijections += onto && valid == size;
  counts.bijections_inverted += inverse.tracker && onto && valid == size;
  ASSERT_TRUE(onto || !inverse.tracker) << chain.story;
  if (onto && !inverse.tracker && show())
    std::printf("no inverse%s: %s\n", valid == size ? " of a bijection" : "",
                simplify(chain.tracker).str().c_str());
  if (!inverse.tracker) return;
  ASSERT_EQ(inverse.bijection, valid == size) << chain.story;
  const auto flat = model::materialise(*inverse.tracker).address;
  ASSERT_EQ(std::ssize(flat), size);
  for (std::size_t y = 0; y < flat.size(); ++y) {
    ASSERT_GE(flat[y], 0) << chain.story;
    ASSERT_EQ(addresses[static_cast<std::size_t>(flat[y])], static_cast<std::int64_t>(y))
        << chain.story << inverse.tracker->str();
  }
}

struct Family {
  const char* name;
  model::ChainKind kind;
};
const Family kFamilies[] = {{"everyday", model::kEveryday},
                            {"reshape-heavy", model::kReshapes},
                            {"as a campaign's", model::of_length({}, 2, 8)},
                            {"everyday, from 2 to 4 axes", model::dense(model::kEveryday)},
                            {"reshape and permute", model::kPermutes}};

TEST(DISABLED_Figures, OfInverses) {
  for (const Family& family : kFamilies) {
    Counts counts;
    const int chains = rounds(7000);
    for (int i = chains; i > 0; --i) {
      invert_one(model::chain_at(7, static_cast<std::uint64_t>(i), family.kind), counts);
      if (::testing::Test::HasFatalFailure()) return;
    }
    std::printf("%s: %d chains; onto %d, inverted %d; bijections %d, inverted %d\n", family.name,
                chains, counts.onto, counts.inverted, counts.bijections,
                counts.bijections_inverted);
  }
}

// Subset sums of many numbers: random, solvable, and nearly equal ones.
TEST(DISABLED_Figures, OfSubsetSums) {
  test::TracedDraws random(2);
  int asked = 0, decided = 0;
  double slowest = 0;
  for (std::int64_t most = 1'000; most <= 1'000'000'000'000; most *= 1'000)
    for (const int count : {26, 32, 40})
      for (int kind = 0; kind < 3; ++kind) {
        model::Ints parts;
        std::int64_t total = 0, wanted = 0;
        for (int i = 0; i < count; ++i) {
          parts.push_back(kind == 2 ? random.between(most, most + most / 100 - 1)
                                    : random.between(1, most));
          total += parts.back();
          if (random.chance(1, 2)) wanted += parts.back();
        }
        if (kind == 0) wanted = total / 4 + random.between(0, total / 2 - 1);
        if (kind == 2) wanted = parts[0] * (count / 2) + random.between(0, most / 2 - 1);
        const auto stack = model::subset_sum(parts, wanted);
        const auto start = std::chrono::steady_clock::now();
        const auto answer = shapetracker::merge_stack(stack).answer;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        ASSERT_TRUE(kind != 1 || answer == shapetracker::MergeAnswer::NoSuchView);
        ++asked;
        decided += answer != shapetracker::MergeAnswer::OverBudget;
        slowest = std::max(slowest, took.count());
      }
  std::printf("%d of %d subset sums decided, the slowest in %.2f s\n", decided, asked, slowest);
}

// Mean number of views: as composed, greedily merged, and simplified.
TEST(DISABLED_Figures, OfChains) {
  for (const Family& family : kFamilies) {
    const int chains = rounds(7000);
    std::size_t composed = 0, last_two = 0, neighbours = 0, simplified = 0, eagerly = 0;
    int single = 0, found = 0, shorter = 0;
    for (int i = chains; i > 0; --i) {
      const auto index = static_cast<std::uint64_t>(i);
      const Chain chain = model::chain_at(11, index, family.kind, model::Keep::All);
      const std::vector<View>& views = chain.tracker.views();
      const std::vector<View> fewest = simplify(chain.tracker).views();
      const std::size_t greedy = model::merge_last_two(views).size();
      const std::size_t better = model::merge_neighbours(views).size();
      const ShapeTracker merged = simplify(model::chain_at(11, index, family.kind).tracker);
      composed += views.size();
      last_two += greedy;
      neighbours += better;
      simplified += fewest.size();
      eagerly += merged.views().size();
      const bool one = model::only_view(chain.array).has_value();
      single += one;
      found += one && fewest.size() == 1;
      shorter += fewest.size() < greedy;
      ASSERT_LE(fewest.size(), std::min(greedy, better)) << chain.story;
      if (show() && merged.views().size() != fewest.size())
        std::printf("merged on the way %zu, at the end %zu:%s\n", merged.views().size(),
                    fewest.size(), chain.story.c_str());
      if (show() && fewest.size() > 2) std::printf("left: %s\n", merged.str().c_str());
      ASSERT_EQ(model::materialise(ShapeTracker(fewest)), chain.array) << chain.story;
    }
    const auto mean = [&](std::size_t n) { return static_cast<double>(n) / chains; };
    std::printf(
        "%s: %d chains, views composed %.4f, last two merged %.4f, neighbours merged %.4f, "
        "simplified %.4f (on the way %.4f), %d shorter; one view: %d of %d found\n",
        family.name, chains, mean(composed), mean(last_two), mean(neighbours), mean(simplified),
        mean(eagerly), shorter, found, single);
  }
}

}  // namespace
}  // namespace touchstone
