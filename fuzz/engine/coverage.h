#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// Which values of an area's dimensions occurred together: how often each pair and each triple of
/// values of different dimensions did. A row may leave a dimension out (-1).
class Coverage {
 public:
  /// Whether a row, -1 where it says nothing, can occur at all; a null function: any can.
  using Feasible = std::function<bool(std::span<const int> row)>;

  explicit Coverage(std::vector<Dimension> dimensions, Feasible feasible = {});

  void count(std::span<const CoverageRow> rows);
  /// Counts that came since the last call, as cell, count, cell, count, ...; and taking them over.
  std::vector<std::uint64_t> take_news();
  void add(std::span<const std::uint64_t> news);
  /// All that another one of the same dimensions counted.
  void add(const Coverage& other);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  std::uint64_t rows() const { return rows_; }
  /// How often value `a` of dimension `x` and value `b` of dimension `y` met; x < y.
  std::uint64_t pair(std::size_t x, std::size_t a, std::size_t y, std::size_t b) const;
  bool can(std::size_t x, std::size_t a, std::size_t y, std::size_t b) const;

  struct Share {
    std::vector<std::size_t> dimensions;  // two or three
    std::uint64_t reached = 0, possible = 0;
  };
  /// For each two, and each three dimensions: cells that were reached, of those that can be.
  std::vector<Share> shares() const;
  /// Cells that can be reached and were not, in words, at most `most`.
  std::vector<std::string> missing(std::size_t most) const;

 private:
  void bump(std::uint64_t cell, std::uint64_t by);
  std::uint64_t cell(std::span<const std::size_t> dimensions,
                     std::span<const std::size_t> values) const;
  template <class Visit>
  void each_cell(std::span<const std::size_t> dimensions, const Visit& visit) const;

  std::vector<Dimension> dimensions_;
  Feasible feasible_;
  std::vector<std::size_t> first_;  // the number of a dimension's first value; then of all values
  std::map<std::uint64_t, std::uint64_t> cells_, news_;
  std::uint64_t rows_ = 0, new_rows_ = 0;
};

/// The shares as a table of text.
std::string coverage_text(const std::string& area, const Coverage& coverage);

/// A page that needs nothing else: for each area how often every two values met, as a map of
/// colours, the shares, and what is missing.
std::string coverage_html(std::span<const std::pair<std::string, const Coverage*>> areas,
                          const std::string& title);

}  // namespace touchstone::fuzz
