// Chains of movement operations with variables, drawn by the fuzzer, and their expected arrays.
#pragma once

#include <algorithm>
#include <regex>

#include "chains.h"

namespace touchstone::model {

/// A chain's tracker, and the array of addresses for every combination of its variables' values,
/// computed with numbers alone.
struct SymbolicChain {
  std::string story;
  std::vector<fuzz::ViewCase::Range> variables;
  ShapeTracker tracker;
  std::vector<symbolic::Values> bindings;
  std::vector<Array> arrays;  // one per binding

  explicit SymbolicChain(const testing::Chain& chain)
      : story(chain.text()),
        variables(chain.variables),
        tracker(chain.tracker()),
        bindings(chain.all_values()) {
    for (const symbolic::Values& values : bindings) arrays.push_back(array_of(chain.bind(values)));
  }

  std::string text() const { return story + " -> " + tracker.str(); }
  std::int64_t largest() const {
    std::int64_t most = 0;
    for (const Array& array : arrays) most = std::max(most, count(array.shape));
    return most;
  }
};

/// The same chain with variables named like axes.
inline testing::Chain with_taken_names(const testing::Chain& chain) {
  constexpr const char* kTaken[][2] = {{"n", "idx0"}, {"m", "idx"}, {"k", "idx_1"}, {"j", "idx1"}};
  std::string text = chain.text();
  for (const auto& [name, taken] : kTaken)
    text = std::regex_replace(text, std::regex(std::string("\\b") + name + "\\b"), taken);
  return testing::Chain::of(text);
}

}  // namespace touchstone::model
