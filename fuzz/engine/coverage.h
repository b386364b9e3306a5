#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// Counts how often each pair and each triple of values of different dimensions occurred together.
/// A row may leave a dimension out (-1).
class Coverage {
 public:
  /// Whether a row, -1 for no value, can occur; null: any can.
  using Feasible = std::function<bool(std::span<const int> row)>;

  explicit Coverage(std::vector<Dimension> dimensions, Feasible feasible = {});

  void count(std::span<const CoverageRow> rows);
  /// take_news returns the counts since its last call, as cell, count, cell, count, ...; add merges
  /// them.
  std::vector<std::uint64_t> take_news();
  void add(std::span<const std::uint64_t> news);
  /// Adds all counts of another object with the same dimensions.
  void add(const Coverage& other);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  std::uint64_t rows() const { return rows_; }
  /// How often value `a` of dimension `x` occurred with value `b` of dimension `y`; x < y.
  std::uint64_t pair(std::size_t x, std::size_t a, std::size_t y, std::size_t b) const;
  bool can(std::size_t x, std::size_t a, std::size_t y, std::size_t b) const;

  struct Share {
    std::vector<std::size_t> dimensions;  // two or three
    std::uint64_t reached = 0, possible = 0;
  };
  /// For every two and every three dimensions: the cells reached, of those possible.
  std::vector<Share> shares() const;
  /// Describes possible cells that were not reached, at most `most`.
  std::vector<std::string> missing(std::size_t most) const;

 private:
  void bump(std::uint64_t cell, std::uint64_t by);
  std::uint64_t cell(std::span<const std::size_t> dimensions,
                     std::span<const std::size_t> values) const;
  template <class Visit>
  void each_cell(std::span<const std::size_t> dimensions, const Visit& visit) const;

  std::vector<Dimension> dimensions_;
  Feasible feasible_;
  std::vector<std::size_t> first_;  // each dimension's first value; then the total
  std::map<std::uint64_t, std::uint64_t> cells_, news_;
  std::uint64_t rows_ = 0, new_rows_ = 0;
};

/// The shares as a table of text.
std::string coverage_text(const std::string& area, const Coverage& coverage);

/// A self-contained page: for each area a heat map of value pairs, the shares, and the missing
/// cells.
std::string coverage_html(std::span<const std::pair<std::string, const Coverage*>> areas,
                          const std::string& title);

}  // namespace touchstone::fuzz
