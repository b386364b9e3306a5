#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace touchstone::power {

/// Legal runs of sums, dot products, matrix products and normalised rows by many devices: orders,
/// widths, fusion, wider and truncating accumulators, on values with and without cancellation.
struct SuspectCount {
  std::int64_t runs = 0;  // legal runs whose errors were tested
  std::int64_t tests = 0;
  std::int64_t illegal = 0;  // possible for a truncating device: not counted
  std::int64_t suspects = 0;
  double least_log_p = 0;
  std::vector<std::string> first;  // a line per suspect, the first ones
};
SuspectCount run_legal_suspects(std::int64_t count, std::int64_t most_terms, std::uint64_t seed,
                                bool thorough);

/// A planted fault in a float32 matrix product, and its verdict.
struct PlantedFault {
  std::string fault, values, device, said;
  bool caught = false;
};
std::vector<PlantedFault> run_planted_suspects(std::int64_t rows, std::int64_t terms,
                                               std::int64_t columns, std::uint64_t seed);

/// The time for a kernel's legal results, and for its error statistics, in seconds.
struct EvidenceCost {
  std::string kernel;
  double legal = 0, evidence = 0;
};
std::vector<EvidenceCost> evidence_costs(int repeats);

}  // namespace touchstone::power
