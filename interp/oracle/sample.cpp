#include "touchstone/interp/oracle/sample.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <fmt/format.h>

namespace touchstone {
namespace interp {
namespace {

constexpr std::int64_t kEdge = 32;  // elements on each edge of the output

class Picker {
 public:
  Picker(std::int64_t rows, std::int64_t columns, std::uint64_t seed)
      : rows_(rows), columns_(columns), random_(seed) {}

  // A row in each of `count` parts, and the first and the last.
  std::vector<ElementRun> whole_rows(std::int64_t count) {
    std::vector<std::int64_t> picked{0, rows_ - 1};
    for (std::int64_t i = 0; i < count; ++i)
      picked.push_back(between(part(i, count, rows_), part(i + 1, count, rows_)));
    return runs_of(std::move(picked), columns_);
  }
  // An element of each rectangle of `height` rows and `width` columns, and some of the edges.
  std::vector<ElementRun> elements(std::int64_t height, std::int64_t width, std::int64_t edges) {
    std::vector<std::int64_t> picked;
    for (std::int64_t row = 0; row < rows_; row += height)
      for (std::int64_t column = 0; column < columns_; column += width)
        picked.push_back(between(row, std::min(row + height, rows_)) * columns_ +
                         between(column, std::min(column + width, columns_)));
    for (std::int64_t i = 0; i < std::min(edges, kEdge); ++i)
      for (const bool last : {false, true}) {
        picked.push_back((last ? rows_ - 1 : 0) * columns_ + between(0, columns_));
        picked.push_back(between(0, rows_) * columns_ + (last ? columns_ - 1 : 0));
      }
    for (const std::int64_t row : {std::int64_t{0}, rows_ - 1})
      for (const std::int64_t column : {std::int64_t{0}, columns_ - 1})
        picked.push_back(row * columns_ + column);
    return runs_of(std::move(picked), 1);
  }

 private:
  static std::int64_t part(std::int64_t i, std::int64_t count, std::int64_t size) {
    return static_cast<std::int64_t>(static_cast<long double>(size) * static_cast<long double>(i) /
                                     static_cast<long double>(count));
  }
  // In [first, last).
  std::int64_t between(std::int64_t first, std::int64_t last) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(last - first, 1));
    return first + static_cast<std::int64_t>(random_() % size);
  }
  static std::vector<ElementRun> runs_of(std::vector<std::int64_t> picked, std::int64_t length) {
    std::ranges::sort(picked);
    picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
    std::vector<ElementRun> runs;
    for (const std::int64_t i : picked) runs.push_back({i * length, (i + 1) * length});
    return runs;
  }

  std::int64_t rows_, columns_;
  std::mt19937_64 random_;
};

// The work for a block of a region: as many elements of each axis as `extents` says.
class Work {
 public:
  explicit Work(const KernelProgram& program) : program_(program) {}

  double of(int id, const std::vector<std::int64_t>& extents) {
    const auto [at, fresh] = known_.try_emplace({id, extents}, 0);
    if (!fresh) return at->second;
    const std::vector<ProgramNode>& nodes = program_.regions[static_cast<std::size_t>(id)].nodes;
    double all = static_cast<double>(nodes.size());
    for (const std::int64_t n : extents) all *= static_cast<double>(n);
    for (const ProgramNode& node : nodes) {
      if (node.region < 0) continue;
      std::vector<std::int64_t> terms =
          program_.regions[static_cast<std::size_t>(node.region)].shape;
      for (std::size_t k = 0; k < node.outer_axes.size(); ++k)
        terms[k] = extents[static_cast<std::size_t>(node.outer_axes[k])];
      all += of(node.region, terms);
      if (!node.groups) continue;
      const Groups& g = *node.groups;
      terms.back() = g.targets;  // of each row, and the work for one result
      double results = 4;
      for (const std::int64_t n : terms) results *= static_cast<double>(n);
      all += results;
      if (g.first >= 0) all += of(g.first, terms);
      if (g.keys >= 0) all += of(g.numbers, {g.targets}) + of_region(g.keys);
    }
    return known_[{id, extents}] = all;
  }

 private:
  double of_region(int id) { return of(id, program_.regions[static_cast<std::size_t>(id)].shape); }

  const KernelProgram& program_;
  std::map<std::pair<int, std::vector<std::int64_t>>, double> known_;
};

}  // namespace

std::int64_t columns_of(const KernelProgram& program) {
  std::int64_t columns = 1;
  for (const std::int64_t n : program.regions[0].shape)
    if (n != 1) columns = n;
  return std::max<std::int64_t>(columns, 1);
}

double work_of(const KernelProgram& program, std::int64_t length) {
  std::vector<std::int64_t> extents = program.regions[0].shape;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(extents[axis], 1);
    extents[axis] = std::min(size, length);
    length = (length + size - 1) / size;
  }
  return Work(program).of(0, extents);
}

std::optional<Sample> sample_of(const KernelProgram& program, const Sampling& sampling) {
  constexpr double kLeastWork = 256;  // of one element judged alone
  const std::int64_t size = program.regions[0].size;
  if (size < 2) return {};
  const double all = work_of(program, size);
  if (all <= sampling.most) return {};
  const std::int64_t columns = columns_of(program), rows = size / columns;
  const double one = std::max(work_of(program, 1), kLeastWork), row = work_of(program, columns);
  Picker picker(rows, columns, sampling.seed);
  Sample sample;
  Sampled& of = sample.sampled;
  of.of = size;
  of.height = std::min(of.height, rows);
  of.width = std::min(of.width, columns);
  const double tile = static_cast<double>(of.height) * static_cast<double>(of.width);
  if (rows > 1 && row < 8 * one) {
    const auto count = static_cast<std::int64_t>(
        std::clamp(sampling.wanted / row, 1.0, static_cast<double>(rows)));
    if (2 * static_cast<double>(count) * row > all) return {};
    sample.runs = picker.whole_rows(count);
    const double share = static_cast<double>(count) / static_cast<double>(rows);
    of.element = of.row = 1 - share;
    of.tile = std::exp(-static_cast<double>(of.height) * share);
  } else {
    const double most = static_cast<double>(size);
    const double count = std::clamp(sampling.wanted / one, std::min(16.0, most), most);
    if (2 * count * one > all) return {};
    const double area = most / count;  // of the rectangle around each
    const auto width = static_cast<std::int64_t>(
        std::clamp(std::max(std::sqrt(area), area / static_cast<double>(rows)), 1.0,
                   static_cast<double>(columns)));
    const auto height = static_cast<std::int64_t>(
        std::clamp(std::ceil(area / static_cast<double>(width)), 1.0, static_cast<double>(rows)));
    sample.runs = picker.elements(height, width, static_cast<std::int64_t>(count / 16));
    const double share = 1 / (static_cast<double>(height) * static_cast<double>(width));
    of.element = 1 - share;
    of.row = std::pow(1 - 1 / static_cast<double>(height),
                      std::ceil(static_cast<double>(columns) / static_cast<double>(width)));
    of.tile = std::exp(-tile * share);
  }
  for (const ElementRun& run : sample.runs) of.judged += run.last - run.first;
  return sample;
}

}  // namespace interp

std::string Sampled::str() const {
  const std::string of_row =
      height > 1 ? fmt::format("of one row of the last axis {:.2f} %, ", 100 * row) : std::string();
  return fmt::format(
      "{} of {} elements were judged; a fault of one element is missed with a chance of {:.2f} %, "
      "{}of {} x {} elements {:.2f} %",
      judged, of, 100 * element, of_row, height, width, 100 * tile);
}

}  // namespace touchstone
