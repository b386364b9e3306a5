#include "touchstone/fuzz/engine/coverage.h"

#include <algorithm>

#include <fmt/format.h>

namespace touchstone::fuzz {

Coverage::Coverage(std::vector<Dimension> dimensions, Feasible feasible)
    : dimensions_(std::move(dimensions)), feasible_(std::move(feasible)), first_{0} {
  for (const Dimension& d : dimensions_) first_.push_back(first_.back() + d.values.size());
}

// Cells are numbers in base (values + 1), one digit per value, 0 for none.
std::uint64_t Coverage::cell(std::span<const std::size_t> dimensions,
                             std::span<const std::size_t> values) const {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    number = number * (first_.back() + 1) + first_[dimensions[i]] + values[i] + 1;
  return number;
}

void Coverage::bump(std::uint64_t cell, std::uint64_t by) {
  cells_[cell] += by;
  news_[cell] += by;
}

void Coverage::count(std::span<const CoverageRow> rows) {
  const std::size_t n = dimensions_.size();
  for (const CoverageRow& row : rows) {
    ++rows_;
    ++new_rows_;
    const auto value = [&](std::size_t d) { return static_cast<std::size_t>(row[d]); };
    for (std::size_t x = 0; x < n; ++x) {
      if (row[x] < 0) continue;
      for (std::size_t y = x + 1; y < n; ++y) {
        if (row[y] < 0) continue;
        const std::size_t two[] = {x, y}, of_two[] = {value(x), value(y)};
        bump(cell(two, of_two), 1);
        for (std::size_t z = y + 1; z < n; ++z) {
          if (row[z] < 0) continue;
          const std::size_t three[] = {x, y, z}, of_three[] = {value(x), value(y), value(z)};
          bump(cell(three, of_three), 1);
        }
      }
    }
  }
}

std::vector<std::uint64_t> Coverage::take_news() {
  std::vector<std::uint64_t> list{new_rows_};
  for (const auto& [cell, count] : news_) {
    list.push_back(cell);
    list.push_back(count);
  }
  news_.clear();
  new_rows_ = 0;
  return list;
}

void Coverage::add(std::span<const std::uint64_t> news) {
  if (news.empty()) return;
  rows_ += news[0];
  for (std::size_t i = 1; i + 1 < news.size(); i += 2) cells_[news[i]] += news[i + 1];
}

void Coverage::add(const Coverage& other) {
  rows_ += other.rows_;
  for (const auto& [cell, count] : other.cells_) cells_[cell] += count;
}

std::uint64_t Coverage::pair(std::size_t x, std::size_t a, std::size_t y, std::size_t b) const {
  const std::size_t two[] = {x, y}, values[] = {a, b};
  const auto found = cells_.find(cell(two, values));
  return found == cells_.end() ? 0 : found->second;
}

bool Coverage::can(std::size_t x, std::size_t a, std::size_t y, std::size_t b) const {
  if (!feasible_) return true;
  CoverageRow row(dimensions_.size(), -1);
  row[x] = static_cast<int>(a);
  row[y] = static_cast<int>(b);
  return feasible_(row);
}

// Calls visit(values, row, reached) for each possible cell of two or three dimensions.
template <class Visit>
void Coverage::each_cell(std::span<const std::size_t> dimensions, const Visit& visit) const {
  std::vector<std::size_t> values(dimensions.size(), 0);
  for (;;) {
    CoverageRow row(dimensions_.size(), -1);
    for (std::size_t i = 0; i < values.size(); ++i)
      row[dimensions[i]] = static_cast<int>(values[i]);
    if (!feasible_ || feasible_(row)) visit(values, cells_.contains(cell(dimensions, values)));
    std::size_t i = values.size();
    while (i-- > 0) {
      if (++values[i] < dimensions_[dimensions[i]].values.size()) break;
      values[i] = 0;
    }
    if (i == static_cast<std::size_t>(-1)) return;
  }
}

std::vector<Coverage::Share> Coverage::shares() const {
  const std::size_t n = dimensions_.size();
  std::vector<Share> all;
  const auto add = [&](std::vector<std::size_t> dimensions) {
    Share share{std::move(dimensions)};
    each_cell(share.dimensions, [&](const auto&, bool reached) {
      ++share.possible;
      share.reached += reached;
    });
    all.push_back(std::move(share));
  };
  for (std::size_t x = 0; x < n; ++x)
    for (std::size_t y = x + 1; y < n; ++y) add({x, y});
  for (std::size_t x = 0; x < n; ++x)
    for (std::size_t y = x + 1; y < n; ++y)
      for (std::size_t z = y + 1; z < n; ++z) add({x, y, z});
  return all;
}

std::vector<std::string> Coverage::missing(std::size_t most) const {
  std::vector<std::string> list;
  for (const Share& share : shares()) {
    if (share.reached == share.possible || list.size() >= most) continue;
    each_cell(share.dimensions, [&](const std::vector<std::size_t>& values, bool reached) {
      if (reached || list.size() >= most) return;
      std::string text;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Dimension& d = dimensions_[share.dimensions[i]];
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", d.name, d.values[values[i]]);
      }
      list.push_back(std::move(text));
    });
  }
  return list;
}

std::string coverage_text(const std::string& area, const Coverage& coverage) {
  std::string text = fmt::format("coverage of {}: {} rows\n", area, coverage.rows());
  std::uint64_t reached[2] = {0, 0}, possible[2] = {0, 0};
  for (const Coverage::Share& s : coverage.shares()) {
    if (s.possible == 0) continue;  // these dimensions are not counted together
    reached[s.dimensions.size() - 2] += s.reached;
    possible[s.dimensions.size() - 2] += s.possible;
    std::string names;
    for (const std::size_t d : s.dimensions)
      names += (names.empty() ? "" : " x ") + coverage.dimensions()[d].name;
    text += fmt::format("  {:<40} {:>7} of {:>7}  {:6.2f} %\n", names, s.reached, s.possible,
                        100.0 * static_cast<double>(s.reached) / static_cast<double>(s.possible));
  }
  for (const int i : {0, 1})
    if (possible[i] > 0)
      text += fmt::format(
          "  {:<40} {:>7} of {:>7}  {:6.2f} %\n", i == 0 ? "all pairs" : "all triples", reached[i],
          possible[i], 100.0 * static_cast<double>(reached[i]) / static_cast<double>(possible[i]));
  return text;
}

}  // namespace touchstone::fuzz
