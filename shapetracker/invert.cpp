#include "touchstone/shapetracker/invert.h"

#include <algorithm>

#include "touchstone/shapetracker/invert_search.h"
#include "touchstone/shapetracker/merge.h"

namespace touchstone {
namespace {

using shapetracker::inverse_candidates;
using shapetracker::Maps;
using shapetracker::merge_stack;
using shapetracker::MergeAnswer;
using shapetracker::MergeBudget;

constexpr std::int64_t kMostToTry = 1 << 22;  // elements looked at one by one

// Elements of the tracker in row-major order, index by index.
class Elements {
 public:
  explicit Elements(const ShapeTracker& tracker)
      : tracker_(tracker), shape_(concrete(tracker.shape())), index_(shape_.size(), 0) {}

  std::optional<std::int64_t> next() {
    const std::optional<std::int64_t> address = tracker_.at(index_);
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      if (++index_[axis] < shape_[axis]) break;
      index_[axis] = 0;
    }
    return address;
  }

 private:
  const ShapeTracker& tracker_;
  std::vector<std::int64_t> shape_, index_;
};

// Whether element i of the tracker is address i, for each i in [0, size).
bool is_identity(const ShapeTracker& tracker, std::int64_t size) {
  const auto merged = merge_stack(tracker.views(), MergeBudget{.last_nodes = 0});
  if (merged.view) return View::contiguous({size}) == merged.view->reshape({size});
  if (merged.answer == MergeAnswer::NoSuchView || size > kMostToTry) return false;
  Elements elements(tracker);
  for (std::int64_t i = 0; i < size; ++i)
    if (elements.next() != i) return false;
  return true;
}

// `inner` seen through the flat indices that `outer` gives, all of which it has.
ShapeTracker through(const ShapeTracker& inner, const ShapeTracker& outer) {
  std::vector<View> views = inner.views();
  views.insert(views.end(), outer.views().begin(), outer.views().end());
  return ShapeTracker(std::move(views));
}

// Chooses a candidate for each view, innermost first, whose chain undoes the tracker.
class Chooser {
 public:
  Chooser(const ShapeTracker& tracker, std::int64_t size) : tracker_(tracker), size_(size) {
    std::int64_t below = size;
    for (const View& view : tracker.views()) {
      candidates_.push_back(inverse_candidates(view, below));
      below = view.size().as_int();
    }
  }

  std::optional<ShapeTracker> choose(std::size_t view = 0) {
    if (view == candidates_.size()) return attempt();
    for (const Maps& maps : candidates_[view]) {
      const std::size_t before = maps_.size();
      maps_.insert(maps_.end(), maps.begin(), maps.end());
      if (auto found = choose(view + 1)) return found;
      maps_.resize(before);
    }
    return std::nullopt;
  }

 private:
  static constexpr int kMostTries = 64;

  std::optional<ShapeTracker> attempt() {
    if (++tries_ > kMostTries) return std::nullopt;
    const ShapeTracker inverse =
        ShapeTracker(std::vector<View>(maps_.rbegin(), maps_.rend())).simplify();
    if (!is_identity(through(tracker_, inverse), size_)) return std::nullopt;
    return inverse;
  }

  const ShapeTracker& tracker_;
  std::int64_t size_;
  std::vector<std::vector<Maps>> candidates_;
  Maps maps_;  // the one applied first in front
  int tries_ = 0;
};

// Whether no address is read twice, where every address in [0, size) is read.
bool is_one_to_one(const ShapeTracker& tracker, const ShapeTracker& inverse, std::int64_t size) {
  if (tracker.size() == sint(size)) return true;
  const bool masked =
      std::ranges::any_of(tracker.views(), [](const View& v) { return v.mask().has_value(); });
  if (!masked) return false;  // more elements than addresses
  if (tracker.views().size() == 1) {
    sint valid = 1;
    for (const auto& [begin, end] : *tracker.views()[0].mask()) valid = valid * (end - begin);
    return valid == sint(size);
  }
  // Each valid element must be the one that the inverse names for its address. The innermost view
  // may have addresses that are never read.
  const std::int64_t most = address_range(tracker.views().front()).second.as_int() + 1;
  const ShapeTracker padded({View::trusted({std::max(most, size)}, {1}, 0, Mask{{0, size}})});
  const auto back =
      merge_stack(through(through(inverse, padded), tracker).views(), MergeBudget{.last_nodes = 0});
  if (back.view) {
    Strides strides = row_major_strides(tracker.shape());
    return *back.view == View::trusted(tracker.shape(), std::move(strides), 0, back.view->mask());
  }
  const std::int64_t count = tracker.size().as_int();
  if (count > kMostToTry) return false;
  std::int64_t valid = 0;
  Elements elements(tracker);
  for (std::int64_t i = 0; i < count; ++i) valid += elements.next().has_value();
  return valid == size;
}

// One view as the inverse, by trying elements; nullopt where there are many or an address is
// missed.
std::optional<ShapeTracker> search(const ShapeTracker& tracker, std::int64_t size) {
  constexpr std::int64_t kMostElements = 1 << 16;
  const std::int64_t count = tracker.size().as_int();
  if (count > kMostElements || size > count) return std::nullopt;
  std::vector<std::int64_t> addresses;
  std::vector<bool> read(static_cast<std::size_t>(size), false);
  Elements elements(tracker);
  for (std::int64_t i = 0; i < count; ++i) {
    addresses.push_back(elements.next().value_or(-1));
    if (addresses.back() >= 0) read[static_cast<std::size_t>(addresses.back())] = true;
  }
  if (std::ranges::find(read, false) != read.end()) return std::nullopt;
  const std::optional<Maps> maps = shapetracker::find_inverse(addresses, size);
  if (!maps) return std::nullopt;
  ShapeTracker inverse(std::vector<View>(maps->rbegin(), maps->rend()));
  if (!is_identity(through(tracker, inverse), size)) return std::nullopt;
  return inverse;
}

}  // namespace

Inverse invert(const ShapeTracker& tracker) {
  for (const View& view : tracker.views())
    if (!view.is_concrete())
      throw ShapeError(fmt::format("invert: {} has variables; bind them first", view.str()));
  const ShapeTracker simple = tracker.simplify();
  if (simple.nothing_valid()) return {ShapeTracker::contiguous({0}), true};
  const std::int64_t size = simple.real_size();
  Inverse result{Chooser(simple, size).choose(), false};
  if (!result.tracker && simple.views().size() > 1) result.tracker = search(simple, size);
  if (result.tracker) result.bijection = is_one_to_one(simple, *result.tracker, size);
  return result;
}

}  // namespace touchstone
