#pragma once

#include "touchstone/maps/map.h"
#include "touchstone/symbolic/node/compiled_node.h"

namespace touchstone::maps {

/// The most points that a question tries.
inline constexpr std::int64_t kMostPoints = 1 << 20;

/// What happens at a result beyond 64 bits.
enum class Beyond : bool { Throw, Skip };

/// The values of a map without symbols at points.
class Values {
 public:
  explicit Values(const Map& map, Beyond beyond = Beyond::Throw);
  /// The results; nullopt outside the domain (ranges of inputs are not tested), and where one does
  /// not fit in 64 bits. Then throws OverflowError, unless these are skipped.
  const std::optional<std::vector<std::int64_t>>& at(std::span<const std::int64_t> point);
  /// A result of the last point did not fit.
  bool beyond() const { return is_beyond_; }

 private:
  struct Part {
    symbolic::CompiledNode code;
    std::vector<std::size_t> slots;  // the input of each of its variables
    std::vector<symbolic::Int> point;
  };
  void add(const Map& map, const symbolic::Node& n);
  std::vector<Part> parts_;
  std::size_t conditions_;
  Beyond skips_;
  bool is_beyond_ = false;
  std::optional<std::vector<std::int64_t>> value_;
};

/// Calls f for the points of a closed box, the last input fastest, until it is false; returns
/// whether it never was.
bool each_point(const Map::Box& box, const std::function<bool(std::span<const std::int64_t>)>& f);

/// All points of a map and their results.
struct Table {
  std::size_t inputs, results;
  std::vector<std::int64_t> points, values;  // of each point in turn
  bool beyond = false;                       // points were skipped
  std::size_t size() const { return values.size() / std::max<std::size_t>(results, 1); }
  std::span<const std::int64_t> point(std::size_t k) const {
    return std::span(points).subspan(k * inputs, inputs);
  }
  std::span<const std::int64_t> value(std::size_t k) const {
    return std::span(values).subspan(k * results, results);
  }
  /// The places of points, equal results together, in their order; one of each if `distinct`.
  std::vector<std::uint32_t> sorted(bool distinct) const;
};
/// nullopt with symbols, an open box or more points than `most`.
std::optional<Table> table_of(const Map& map, std::int64_t most = kMostPoints,
                              Beyond beyond = Beyond::Throw);
/// A smaller map: the first values of each input, `most` points at most. The last values if
/// `from_top`.
Map corner(const Map& map, std::int64_t most, bool from_top = false);

}  // namespace touchstone::maps
