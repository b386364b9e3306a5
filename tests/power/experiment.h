#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bugs.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::power {

/// The families in the order in which inputs are drawn, cyclically.
inline constexpr fuzz::ValueFamily kTurn[] = {fuzz::ValueFamily::Integers, fuzz::ValueFamily::Edges,
                                              fuzz::ValueFamily::Full, fuzz::ValueFamily::Random,
                                              fuzz::ValueFamily::Zeros};
inline constexpr int kDraws = 3;    // the goal: caught by the first three inputs
inline constexpr int kInputs = 10;  // at most

/// The result of one fault in one kernel.
struct Trial {
  const BugInfo* bug = nullptr;
  const Subject* subject = nullptr;
  int caught_by = 0;  // the first input with an illegal result, from 1; 0: none
  bool numpy = false, torch = false, loose = false;  // caught by these on the first three inputs
  bool torch_random = false;                         // by torch's, on two random inputs
};

/// Tries every applicable fault on a subject; deterministic for a seed.
std::vector<Trial> try_all(const Subject& subject, std::uint64_t seed);

/// Runs `count` legal variants of sums, dot products and small chains of float type `dtype` with up
/// to `terms` terms each: any order, trees, lanes, blocks, fused or not, wider accumulators,
/// function errors within the profile. Reports each that is called illegal.
struct VariantCount {
  std::int64_t variants = 0;
  std::int64_t alarms = 0;
  std::int64_t torch_alarms = 0;  // refused by torch's tolerance
  std::vector<std::string> first_alarms;
};
VariantCount run_variants(DType dtype, std::int64_t terms, std::int64_t count, std::uint64_t seed);

/// The overestimation of the interval of a sum of `terms`: half its width divided by the largest
/// error of sampled orders, and by the largest of orders from a greedy search for equal rounding
/// directions.
struct RatioOf {
  std::string what;  // "sum float32 normal, any order"
  double sampled = 0, searched = 0;
  bool legal = true;  // every result was inside
};
std::vector<RatioOf> envelope_ratios(std::int64_t terms, std::uint64_t seed);

}  // namespace touchstone::power
