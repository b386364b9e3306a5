#include "touchstone/shapetracker/invert/invert_search.h"

#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

/// Digits of y, fine first, each with its step in the flat index, chosen so that every number
/// written with the digits so far maps to an index that reads it.
class DigitSearch {
 public:
  DigitSearch(const std::vector<std::int64_t>& addresses, std::int64_t size)
      : addresses_(addresses), readers_(static_cast<std::size_t>(size)) {
    for (std::size_t i = 0; i < addresses.size(); ++i)
      if (addresses[i] >= 0)
        readers_[static_cast<std::size_t>(addresses[i])].push_back(static_cast<std::int64_t>(i));
  }

  std::optional<Maps> run() {
    for (const std::int64_t start : readers_[0]) {
      indices_ = {start};
      if (grow()) return maps(start);
      if (spent_ > Limits::kTableSteps) break;
    }
    return std::nullopt;
  }

 private:
  std::int64_t size() const { return std::ssize(readers_); }

  bool grow() {
    const std::int64_t covered = std::ssize(indices_);
    if (covered >= size()) return true;
    for (const std::int64_t reader : readers_[static_cast<std::size_t>(covered)]) {
      if (spent_ > Limits::kTableSteps) return false;
      const std::int64_t weight = reader - indices_[0];
      for (std::int64_t count = repeats(weight); count >= 2; --count) {
        sizes_.push_back(count);
        weights_.push_back(weight);
        for (std::int64_t i = covered; i < covered * count; ++i)
          indices_.push_back(indices_[static_cast<std::size_t>(i - covered)] + weight);
        if (grow()) return true;
        indices_.resize(static_cast<std::size_t>(covered));
        sizes_.pop_back();
        weights_.pop_back();
      }
    }
    return false;
  }

  // The number of values of a digit worth `weight` on top of the digits so far.
  std::int64_t repeats(std::int64_t weight) {
    const std::int64_t covered = std::ssize(indices_);
    for (std::int64_t count = 1;; ++count) {
      if (covered * count >= size()) return count;
      for (std::int64_t y = 0; y < covered; ++y) {
        const std::int64_t index = indices_[static_cast<std::size_t>(y)] + weight * count;
        ++spent_;
        if (index < 0 || index >= std::ssize(addresses_)) return count;
        // Values beyond the last address are cut off, but must be indices.
        if (covered * count + y < size() &&
            addresses_[static_cast<std::size_t>(index)] != covered * count + y)
          return count;
      }
    }
  }

  Maps maps(std::int64_t start) const {
    const Shape shape(sizes_.rbegin(), sizes_.rend());
    const Strides strides(weights_.rbegin(), weights_.rend());
    View view = View::trusted(shape, strides, start, std::nullopt);
    if (view.size() == sint(size())) return {std::move(view)};
    return {View::contiguous({size()}), std::move(view)};
  }

  const std::vector<std::int64_t>& addresses_;
  std::vector<std::vector<std::int64_t>> readers_;  // of each address
  std::vector<std::int64_t> indices_, sizes_, weights_;
  std::int64_t spent_ = 0;
};

}  // namespace

std::optional<Maps> find_inverse(const std::vector<std::int64_t>& addresses, std::int64_t size) {
  return DigitSearch(addresses, size).run();
}

}  // namespace touchstone::shapetracker
