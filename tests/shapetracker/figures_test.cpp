// Figures for docs/views.md. Disabled in the suite: run with
//   shapetracker_test --gtest_also_run_disabled_tests --gtest_filter='*Figures*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "chains.h"
#include "touchstone/shapetracker/invert.h"

namespace touchstone {
namespace {

using model::Chain;
using model::Draws;

Draws draws_from(std::mt19937& random) {
  std::vector<int> numbers(160);
  for (int& number : numbers) number = static_cast<int>(random() % (27720U * 7));
  return Draws(std::move(numbers));
}

int rounds(int usual) {
  const char* text = std::getenv("TOUCHSTONE_ROUNDS");
  return text != nullptr ? std::atoi(text) : usual;
}

struct Counts {
  int chains = 0, views = 0, onto = 0, inverted = 0, bijections = 0, bijections_inverted = 0;
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
    FAIL() << error.what() << chain.tracker.simplify().str();
  }
  counts.onto += onto;
  counts.inverted += inverse.tracker.has_value();
  counts.bijections += onto && valid == size;
  counts.bijections_inverted += inverse.tracker && onto && valid == size;
  ASSERT_TRUE(onto || !inverse.tracker) << chain.story;
  if (onto && !inverse.tracker && std::getenv("TOUCHSTONE_SHOW"))
    std::printf("no inverse%s: %s\n", valid == size ? " of a bijection" : "",
                chain.tracker.simplify().str().c_str());
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

void figures(const char* name, std::span<const model::Op> ops) {
  std::mt19937 random(7);
  Counts counts;
  for (int i = rounds(4000); i > 0; --i) {
    Draws draws = draws_from(random);
    const Chain chain = model::any_chain(draws, ops, 2, 8);
    ++counts.chains;
    counts.views += static_cast<int>(chain.tracker.simplify().views().size());
    invert_one(chain, counts);
    if (testing::Test::HasFatalFailure()) return;
  }
  std::printf(
      "%s: %d chains, %.4f views a chain; onto %d, inverted %d; bijections %d, inverted %d\n", name,
      counts.chains, static_cast<double>(counts.views) / counts.chains, counts.onto,
      counts.inverted, counts.bijections, counts.bijections_inverted);
}

TEST(DISABLED_Figures, OfChains) {
  figures("everyday", model::kEverydayOp);
  figures("reshape-heavy", model::kReshapeOp);
  figures("any", model::kAnyOp);
}

}  // namespace
}  // namespace touchstone
