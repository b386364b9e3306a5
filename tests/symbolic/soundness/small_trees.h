#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "checker.h"

namespace touchstone::symbolic {

/// Every tree of at most seven nodes over two variables, six constants and eight binary operators,
/// in a fixed order, smaller ones first; with its value at every point of x in [0, 4] and y in [-2,
/// 2].
class SmallTrees {
 public:
  static constexpr std::size_t kPoints = 25;
  /// Selects one of two sets of operators and constants, 0 or 1.
  explicit SmallTrees(int set);

  std::uint64_t count() const { return first_.back(); }
  Sample at(std::uint64_t index) const;
  static Variables variables();

 private:
  static constexpr std::size_t kLeaves = 4;
  struct Tree {
    std::string text, swapped;
    std::size_t size = 1;
    std::array<std::int64_t, kPoints> value{};
    std::uint32_t undefined = 0;  // a bit per point
  };
  /// Tree number `number` among those with `leaves` leaves.
  Tree tree(std::size_t leaves, std::uint64_t number) const;
  static Tree combine(const std::string& op, const Tree& a, const Tree& b);

  std::vector<std::string> operators_;
  std::array<std::vector<Tree>, kLeaves> known_;    // by leaves; the largest are built on request
  std::array<std::uint64_t, kLeaves + 1> many_{};   // number of trees by leaves
  std::array<std::uint64_t, kLeaves + 1> first_{};  // trees with at most this many leaves
  std::vector<std::vector<Int>> points_;
};

}  // namespace touchstone::symbolic
