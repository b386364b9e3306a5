#include "touchstone/shapetracker/invert/invert.h"

#include <algorithm>
#include <numeric>

#include "touchstone/shapetracker/invert/invert_steps.h"
#include "touchstone/shapetracker/invert/invert_view.h"
#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/merge.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/shapetracker/merge/two_views.h"
#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone {
namespace {

using shapetracker::FlatView;
using shapetracker::inverse_candidates;
using shapetracker::Limits;
using shapetracker::Maps;
using shapetracker::merge_stack;
using shapetracker::MergeAnswer;
using shapetracker::MergeBudget;

// Iterates over the elements of the tracker in row-major order.
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

// True if element i of the tracker reads address i, for each i in [0, size).
bool is_identity(const ShapeTracker& tracker, std::int64_t size) {
  const auto merged = merge_stack(tracker.views(), MergeBudget{.last_nodes = 0});
  if (merged.view) return View::contiguous({size}) == merged.view->reshape({size});
  if (merged.answer == MergeAnswer::NoSuchView || size > Limits::kCountedElements) return false;
  Elements elements(tracker);
  for (std::int64_t i = 0; i < size; ++i)
    if (elements.next() != i) return false;
  return true;
}

// `inner` seen through `outer`, whose flat indices lie within it.
ShapeTracker through(const ShapeTracker& inner, const ShapeTracker& outer) {
  std::vector<View> views = inner.views();
  views.insert(views.end(), outer.views().begin(), outer.views().end());
  return ShapeTracker(std::move(views));
}

// True if one of the first few elements reads an address other than its position. Rejects most
// wrong candidates.
bool is_no_identity_at_first(const ShapeTracker& tracker, std::int64_t size) {
  std::vector<FlatView> views;
  for (const View& view : tracker.views()) {
    if (view.nothing_valid()) return true;
    views.emplace_back(view);
  }
  for (std::int64_t i = 0; i < std::min(size, Limits::kFirstElements); ++i) {
    std::optional<std::int64_t> at = i;
    for (std::size_t v = views.size(); at && v-- > 0;) at = views[v].at(*at);
    if (at != i) return true;
  }
  return false;
}

// Chooses a candidate for each view, innermost first, so that the chain inverts the tracker.
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
  std::optional<ShapeTracker> attempt() {
    if (++tries_ > Limits::kCandidates) return std::nullopt;
    const ShapeTracker candidate(std::vector<View>(maps_.rbegin(), maps_.rend()));
    if (is_no_identity_at_first(through(tracker_, candidate), size_)) return std::nullopt;
    const ShapeTracker inverse = simplify(candidate);
    if (!is_identity(through(tracker_, inverse), size_)) return std::nullopt;
    return inverse;
  }

  const ShapeTracker& tracker_;
  std::int64_t size_;
  std::vector<std::vector<Maps>> candidates_;
  Maps maps_;  // the first one applied first
  int tries_ = 0;
};

// True if no address is read twice, given that every address in [0, size) is read.
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
  // Each valid element must be the one that the inverse returns for its address. The innermost view
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
  if (count > Limits::kCountedElements) return false;
  std::int64_t valid = 0;
  Elements elements(tracker);
  for (std::int64_t i = 0; i < count; ++i) valid += elements.next().has_value();
  return valid == size;
}

// Addresses of the tracker's elements, -1 for padding; nullopt if there are too many or an address
// in [0, size) is missed.
std::optional<std::vector<std::int64_t>> addresses_of(const ShapeTracker& tracker,
                                                      std::int64_t size) {
  const std::int64_t count = tracker.size().as_int();
  if (count > Limits::kInverseElements || size > count) return std::nullopt;
  std::vector<std::int64_t> addresses;
  std::vector<bool> read(static_cast<std::size_t>(size), false);
  Elements elements(tracker);
  for (std::int64_t i = 0; i < count; ++i) {
    addresses.push_back(elements.next().value_or(-1));
    if (addresses.back() >= 0) read[static_cast<std::size_t>(addresses.back())] = true;
  }
  if (std::ranges::find(read, false) != read.end()) return std::nullopt;
  return addresses;
}

std::optional<ShapeTracker> proved(const ShapeTracker& tracker, const std::optional<Maps>& maps,
                                   std::int64_t size) {
  if (!maps) return std::nullopt;
  try {
    ShapeTracker inverse = simplify(ShapeTracker(std::vector<View>(maps->rbegin(), maps->rend())));
    if (is_identity(through(tracker, inverse), size)) return inverse;
  } catch (const ShapeError&) {  // steps found separately may not fit together
  }
  return std::nullopt;
}

// One element for each address, preferring the successor of the previous one.
std::vector<std::int64_t> readers_of(const std::vector<std::int64_t>& addresses,
                                     std::int64_t size) {
  std::vector<std::int64_t> readers(static_cast<std::size_t>(size), -1);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] < 0) continue;
    const auto address = static_cast<std::size_t>(addresses[i]);
    const auto element = static_cast<std::int64_t>(i);
    if (readers[address] < 0 || (address > 0 && readers[address - 1] == element - 1))
      readers[address] = element;
  }
  return readers;
}

// The tracker with a run of its views rewritten as two: this drops parts of a view that the next
// one never reads, so that more views are invertible on their own.
std::vector<ShapeTracker> read_anew(const ShapeTracker& tracker) {
  std::vector<ShapeTracker> found;
  const auto& views = tracker.views();
  for (std::size_t length = views.size(); length >= 2; --length)
    for (std::size_t begin = 0; begin + length <= views.size(); ++begin) {
      if (length > 2 && length < views.size()) continue;
      const auto run = std::span(views).subspan(begin, length);
      std::int64_t effort = Limits::kCountedElements;
      const auto two =
          shapetracker::as_two_views(run, shapetracker::reach_of(views, begin), effort).views;
      if (!two) continue;
      std::vector<View> anew(views.begin(), views.begin() + static_cast<std::ptrdiff_t>(begin));
      anew.insert(anew.end(), {two->inner, two->outer});
      anew.insert(anew.end(), views.begin() + static_cast<std::ptrdiff_t>(begin + length),
                  views.end());
      if (anew != views) found.emplace_back(std::move(anew));
    }
  return found;
}

// Permutations of the digits of an address as views of [0, size) onto itself, with digits between
// the strides of the innermost view, which its stack permutes. The identity is first.
std::vector<View> digit_orders(const View& innermost, std::int64_t size) {
  std::vector<std::int64_t> weights{1};
  for (const sint& stride : innermost.strides())
    if (stride != sint(0)) weights.push_back(std::abs(stride.as_int()));
  weights.push_back(size);
  std::ranges::sort(weights);
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  Shape sizes;  // coarse to fine
  for (std::size_t i = weights.size(); i-- > 1;) {
    if (weights[i] % weights[i - 1] != 0) return {View::contiguous({size})};
    sizes.emplace_back(weights[i] / weights[i - 1]);
  }
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<View> orders;
  do {
    Shape shape;
    for (const int digit : order) shape.push_back(sizes[static_cast<std::size_t>(digit)]);
    const Strides row_major = row_major_strides(shape);
    Strides strides(sizes.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
      strides[static_cast<std::size_t>(order[i])] = row_major[i];
    orders.push_back(View::trusted(sizes, std::move(strides), 0, std::nullopt));
  } while (sizes.size() <= Limits::kOrderedDigits && std::ranges::next_permutation(order).found);
  return orders;
}

using StepsOf = std::optional<Maps> (*)(const std::vector<std::int64_t>&, std::int64_t);

// Some element for each address, as steps, after permuting the digits of the address.
std::optional<ShapeTracker> search_steps(const ShapeTracker& tracker,
                                         const std::vector<std::int64_t>& addresses,
                                         std::int64_t size, StepsOf steps_of) {
  const std::vector<std::int64_t> readers = readers_of(addresses, size);
  for (const View& order : digit_orders(tracker.views().front(), size)) {
    if (order.size() != sint(size)) continue;  // the digits have more elements than are read
    const ShapeTracker placed({order});
    Elements positions(placed);
    std::vector<std::int64_t> table(readers.size());
    for (const std::int64_t reader : readers)
      table[static_cast<std::size_t>(*positions.next())] = reader;
    std::optional<Maps> maps = steps_of(table, std::ssize(addresses));
    if (!maps) continue;
    maps->insert(maps->begin(), order);
    if (auto found = proved(tracker, maps, size)) return found;
  }
  return std::nullopt;
}

std::optional<ShapeTracker> find_inverse_as_it_stands(const ShapeTracker& simple,
                                                      std::int64_t size) {
  if (auto found = Chooser(simple, size).choose()) return found;
  if (simple.views().size() > 1)
    for (const ShapeTracker& anew : read_anew(simple))
      if (auto found = Chooser(anew, size).choose()) return found;
  const auto addresses = addresses_of(simple, size);
  if (!addresses) return std::nullopt;
  if (auto found = proved(simple, shapetracker::find_inverse(*addresses, size), size)) return found;
  return search_steps(simple, *addresses, size, shapetracker::steps_of);
}

// The same for the tracker with negative-stride axes of its outermost view flipped.
std::optional<ShapeTracker> find_inverse_upwards(const ShapeTracker& simple, std::int64_t size) {
  const View& outer = simple.views().back();
  std::vector<std::int64_t> turns(outer.shape().size(), 1);
  for (std::size_t axis = 0; axis < turns.size(); ++axis)
    if (outer.strides()[axis].as_int() < 0) turns[axis] = -1;
  if (std::ranges::find(turns, -1) == turns.end()) return std::nullopt;
  const auto found = find_inverse_as_it_stands(simplify(simple.stride(turns)), size);
  if (!found) return std::nullopt;
  const View turned = View::contiguous(outer.shape()).stride(turns);
  const std::vector<View>& rest = found->views();
  Maps maps(rest.rbegin(), rest.rend());
  maps.push_back(turned);
  return proved(simple, maps, size);
}

std::optional<ShapeTracker> find_inverse_of(const ShapeTracker& simple, std::int64_t size) {
  if (auto found = find_inverse_as_it_stands(simple, size)) return found;
  if (auto found = find_inverse_upwards(simple, size)) return found;
  const auto addresses = addresses_of(simple, size);
  if (!addresses) return std::nullopt;
  return search_steps(simple, *addresses, size, shapetracker::stages_of);
}

// True if each address in [0, size) is read by exactly one element, by counting; false if there are
// too many.
bool counts_as_bijection(const ShapeTracker& tracker, std::int64_t size) {
  const std::int64_t count = tracker.size().as_int();
  if (count > Limits::kCountedElements || size > count) return false;
  std::vector<bool> read(static_cast<std::size_t>(size), false);
  Elements elements(tracker);
  std::int64_t valid = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::optional<std::int64_t> address = elements.next();
    if (!address) continue;
    const auto at = static_cast<std::size_t>(*address);
    if (read[at]) return false;
    read[at] = true;
    ++valid;
  }
  return valid == size;
}

}  // namespace

Inverse invert(const ShapeTracker& tracker) {
  for (const View& view : tracker.views())
    if (!view.is_concrete())
      throw ShapeError(fmt::format("invert: {} has variables; bind them first", view.str()));
  const ShapeTracker simple = simplify(tracker);
  if (simple.nothing_valid()) return {ShapeTracker::contiguous({0}), true};
  const std::int64_t size = simple.real_size();
  Inverse result{find_inverse_of(simple, size), false};
  result.bijection = result.tracker ? is_one_to_one(simple, *result.tracker, size)
                                    : counts_as_bijection(simple, size);
  return result;
}

std::optional<View> invert(const View& view, const Shape& shape) {
  const sint wanted = elements(shape);
  const Inverse inverse = invert(ShapeTracker({view}));
  if (!inverse.tracker || !certainly_eq(wanted, inverse.tracker->size())) return std::nullopt;
  const ShapeTracker reshaped = simplify(inverse.tracker->reshape(shape));
  if (reshaped.views().size() != 1) return std::nullopt;
  return reshaped.views().front();
}

}  // namespace touchstone
