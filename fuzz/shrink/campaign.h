#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "touchstone/fuzz/reproducer.h"

namespace touchstone::fuzz {

/// Cases [first, first + cases) of a campaign: case i is a function of (seed, i) alone.
struct CampaignOptions {
  std::uint64_t seed = 0;
  std::int64_t first = 0;
  std::int64_t cases = 1000;
};

/// A case whose verdict is FAIL, and what is left of it after shrinking.
struct Finding {
  std::int64_t index = 0;
  KernelCase original;
  Reproducer shrunk;
  Verdict verdict;      // on the shrunk case
  int shrink_runs = 0;  // how often the candidate ran to get there
};

struct CampaignResult {
  std::int64_t cases = 0, passed = 0, weak = 0, unusable = 0;
  std::vector<Finding> findings;
};

/// Draws kernels, runs them on the candidate in batches (Device::prepare) and judges each. Stops
/// shrinking, not judging, after the first finding: the others are kept as they were drawn.
CampaignResult run_campaign(Device& candidate, const CampaignOptions& options,
                            const std::function<void(std::int64_t done)>& progress = {});

}  // namespace touchstone::fuzz
