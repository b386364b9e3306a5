#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace touchstone::power {

/// Legal runs of sums, dot products, matrix products and normalised rows by many devices: orders,
/// widths, fusion, wider and truncating accumulators, on values that cancel and values that do not.
struct SuspectCount {
  std::int64_t runs = 0;  // that were legal and whose errors were looked at
  std::int64_t tests = 0;
  std::int64_t illegal = 0;  // a truncating device may be: not counted
  std::int64_t suspects = 0;
  double least_log_p = 0;
  std::vector<std::string> first;  // a line for each of the first suspects
};
SuspectCount run_legal_suspects(std::int64_t count, std::int64_t most_terms, std::uint64_t seed,
                                bool thorough);

/// One planted fault in a matrix product of float32, and what was said of it.
struct PlantedFault {
  std::string fault, values, device, said;
  bool caught = false;
};
std::vector<PlantedFault> run_planted_suspects(std::int64_t rows, std::int64_t terms,
                                               std::int64_t columns, std::uint64_t seed);

/// Seconds of the legal results of a kernel, and of what its errors say beside them.
struct EvidenceCost {
  std::string kernel;
  double legal = 0, evidence = 0;
};
std::vector<EvidenceCost> evidence_costs(int repeats);

}  // namespace touchstone::power
