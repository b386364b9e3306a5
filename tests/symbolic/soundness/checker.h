#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

/// Counts over many trees.
struct Tally {
  std::uint64_t trees = 0, points = 0;  // points: where the tree as written is defined
  std::uint64_t refused = 0;            // certain divisions by zero
  std::uint64_t wrong = 0;              // trees with a wrong value, bound or refusal
  std::uint64_t reread = 0;             // trees whose printed form reads back as another node
  std::uint64_t swapped = 0;            // trees that give another node when operands are swapped
  std::uint64_t longer = 0;             // trees whose printed form is larger than they are
  std::uint64_t bounded = 0,
                exact = 0;  // trees with all values known; of these, with exact bounds
};

/// Names and bounds.
using Variables = std::vector<std::pair<std::string, Interval>>;

/// A tree as written, and its values at some points.
struct Sample {
  std::string text;
  std::string swapped;                       // the same with commutative operands exchanged
  std::size_t size = 0;                      // operators, variables and constants
  std::span<const std::vector<Int>> points;  // a value for each variable
  std::vector<std::optional<Int>> values;    // nullopt for a division by zero
  bool all_points = false;                   // the points are exhaustive
  bool wide = false;  // an extreme with many members; may read back differently
};

/// How many trees to print that read back differently, change when swapped, come out larger, or
/// have loose bounds.
struct Show {
  int reread = 20, swapped = 20, longer = 0, inexact = 0;
};

/// Simplifies samples, each in an empty context, compares, and prints mistakes.
class Checker {
 public:
  Checker(Variables variables, Show show) : show_(show) { use(std::move(variables)); }
  /// Sets the variables from now on.
  void use(Variables variables) { variables_ = std::move(variables); }
  void check(const Sample& sample);
  const Tally& tally() const { return tally_; }

 private:
  std::string where() const;
  std::string values_differ(const Sample& sample, Id id);
  std::string bounds_differ(const Sample& sample, Id id);

  Context context_;
  Variables variables_;
  Show show_;
  Tally tally_;
};

}  // namespace touchstone::symbolic
