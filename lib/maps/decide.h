#pragma once

#include "touchstone/maps/axes.h"
#include "touchstone/maps/points.h"

// Questions about maps. With numbers for sizes they are answered exactly up to kMostPoints points,
// beyond where digits of the inputs decide; with symbols by proof for all their values, or by
// values that refute.

namespace touchstone::maps {

using Verdict = Finding::Verdict;
constexpr const char* word_of(Verdict v) {
  return v == Verdict::Yes ? "yes" : v == Verdict::No ? "no" : "unknown";
}

/// No has the points that show it: names of inputs, and of symbols, with values.
struct Reply {
  Verdict verdict = Verdict::Open;
  std::string what;
  std::vector<symbolic::Values> points{};
};

/// Do both have the same domain and the same results there? Over the inputs of `a`, as
/// Map::over_inputs_of. Throws ShapeError if the inputs do not fit.
Reply same(const Map& a, const Map& b);
/// Missing facts: under each of them alone the maps are proved equal. A fact is a divisibility or a
/// bound of a variable or a dividend; the weakest comes first, and none follows from another.
std::vector<std::string> missing_facts(const Map& a, const Map& b);
/// Do different points have different results?
Reply injective(const Map& map);
/// Is every tuple of the ranges a result? Without ranges: from the least, or 0 if that is less, to
/// the largest of each result.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
Reply surjective(const Map& map, const std::optional<Ranges>& onto = {});
/// Both.
Reply bijective(const Map& map, const std::optional<Ranges>& onto = {});
/// Yes: the maps never have the same result. No: two points that have.
Reply apart(const Map& a, const Map& b);

struct Image {
  std::optional<std::int64_t> points, distinct;  // nullopt: not counted
  Ranges ranges;                                 // least and largest of each result
};
/// nullopt if the domain is empty or open, or its results were not all seen.
std::optional<Image> image(const Map& map);

/// The results of a that b has, too, and those that it has not.
struct Comparison {
  struct Part {
    std::int64_t count = 0;
    std::vector<std::vector<std::int64_t>> some{};  // the first few
  };
  Part both, only_a, only_b;
};
/// nullopt if there are too many points.
std::optional<Comparison> compare_images(const Map& a, const Map& b);

/// The values of the one input where the result is not 0 and all conditions hold, as expressions of
/// the symbols. `exact`: these are all from the least to the largest, if the rest holds.
struct Solved {
  std::optional<symbolic::Node> least, largest;
  std::vector<symbolic::Node> rest;  // conditions of symbols alone, or not linear in the input
  bool exact = true;
};
/// Throws ShapeError for a map of several inputs or results.
Solved solved(const Map& map);

/// Distinct results of tiles: of sizes[k] values of input k, from a multiple of it.
struct Footprint {
  std::int64_t tiles = 0, least = 0, most = 0;  // distinct results of one
  std::int64_t runs = 0;                        // the most runs of consecutive results in one
  symbolic::Values at{};                        // where the most are
};
std::optional<Footprint> footprint(const Map& map, const std::vector<std::int64_t>& sizes);

}  // namespace touchstone::maps
