#include "touchstone/shapetracker/merge/two_views.h"

#include <algorithm>
#include <numeric>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/merge_search.h"
#include "touchstone/shapetracker/merge/recover_digits.h"
#include "touchstone/shapetracker/merge/same_map.h"
#include "touchstone/shapetracker/merge/sparse_digits.h"
#include "touchstone/shapetracker/merge/sum_search.h"

namespace touchstone::shapetracker {
namespace {

using Truth = MergeSearch::Truth;
using Group = std::vector<std::size_t>;  // axes of the frame, ascending
using Worth = std::vector<std::int64_t>;

/// Axes whose indices form one position: sum(worth * index) - lowest, each in its range.
struct Block {
  Group axes;
  Worth worth;
  std::vector<std::int64_t> first, last;  // range of indices with valid points
  Wide lowest = 0;
  PositionDigits digits;

  bool constant() const {
    return std::ranges::all_of(digits.digits, [](const PositionDigits::Digit& digit) {
      return digit.stride == 0 && digit.begin == 0 && digit.end == digit.size;
    });
  }
};

/// The search for one stack.
class Splitter {
 public:
  Splitter(std::span<const View> stack, const Reach& reach, std::int64_t& effort)
      : stack_(stack), reach_(reach), effort_(effort), outer_(stack.back()) {
    for (std::size_t i = stack.size() - 1; i-- > 0;) inner_.emplace_back(stack[i]);
  }

  TwoViewsFound run() {
    MergeSearch search(outer_.index, {inner_.data(), inner_.size()}, Limits::kOriginBoxes);
    MergeSearch::Found found = search.find(outer_.box);
    if (found.truth == Truth::Unknown) return {std::nullopt, true};
    if (found.truth == Truth::No) return {};
    origin_ = std::move(found.point);
    at_origin_ = *address(origin_);
    if (!add_blocks()) return {std::nullopt, limited_};
    std::optional<TwoViews> views = join_until_equal();
    const bool limited = limited_ && !views;
    return {std::move(views), limited};
  }
  /// Boxes and elements examined when comparing two views with the stack.
  std::int64_t compared() const { return compared_; }

 private:
  // The flat index into inner_[level], or the address after the last one.
  std::optional<std::int64_t> flat(const Point& point, std::size_t level) const {
    return follow_flat({inner_.data(), level}, outer_.index.at(point));
  }
  std::optional<std::int64_t> address_from(std::int64_t k) const {
    return follow_flat({inner_.data(), inner_.size()}, k);
  }
  std::optional<std::int64_t> address(const Point& point) const {
    return address_from(outer_.index.at(point));
  }

  std::int64_t extent(std::size_t axis) const { return outer_.box.dims[axis].extent; }

  // Adds every axis alone, or joined with another if it is not a map of positions by itself.
  bool add_blocks() {
    Group left;
    for (std::size_t axis = 0; axis < origin_.size(); ++axis)
      if (!add_block({axis})) left.push_back(axis);
    for (const std::size_t axis : left) {
      std::size_t b = 0;
      while (b < blocks_.size() && !add_block(joined(blocks_[b].axes, {axis}))) ++b;
      if (b == blocks_.size()) {
        if (!add_spaced(axis)) return add_all();
        continue;
      }
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(b));
    }
    return true;
  }

  // Adds an axis whose steps skip positions.
  bool add_spaced(std::size_t axis) {
    if (extent(axis) > Limits::kPositions) return false;
    for (std::int64_t worth = 2; worth <= Limits::kWorth; ++worth)
      if (std::optional<Block> block = read_block({axis}, {worth})) {
        blocks_.push_back(std::move(*block));
        return true;
      }
    return false;
  }

  // Adds all axes as one block.
  bool add_all() {
    Group all;
    for (std::size_t axis = 0; axis < origin_.size(); ++axis) all.push_back(axis);
    blocks_.clear();
    return add_block(std::move(all));
  }

  static Group joined(Group one, const Group& other) {
    one.insert(one.end(), other.begin(), other.end());
    std::ranges::sort(one);
    return one;
  }

  // Reads the group with the other axes at the origin. False if it is not a map of positions.
  bool add_block(const Group& group) {
    for (const Worth& worth : worths(group))
      if (std::optional<Block> block = read_block(group, worth)) {
        blocks_.push_back(std::move(*block));
        return true;
      }
    return false;
  }

  // Candidate position steps along each axis of a group: its flat-index steps in one of the views.
  std::vector<Worth> worths(const Group& group) const {
    std::vector<Worth> found;
    const auto offer = [&](Worth worth) {
      std::int64_t unit = 0;
      for (const std::int64_t w : worth) unit = std::gcd(unit, w);
      if (unit == 0 || std::ranges::find(worth, 0) != worth.end()) return;
      for (std::int64_t& w : worth) w /= unit;
      if (std::ranges::find(found, worth) == found.end()) found.push_back(std::move(worth));
    };
    if (group.size() == 1) return {{1}};
    for (std::size_t level = 0; level < inner_.size(); ++level) {
      Worth worth;
      for (const std::size_t axis : group) {
        Point next = origin_;
        const std::int64_t step = origin_[axis] + 1 < extent(axis) ? 1 : -1;
        next[axis] += step;
        const auto here = flat(origin_, level), there = flat(next, level);
        if (!here || !there) break;
        worth.push_back((*there - *here) * step);
      }
      if (worth.size() == group.size()) offer(std::move(worth));
    }
    return found;
  }

  // The number of positions.
  static Wide extent_of(const Block& block) {
    Wide positions = 1;
    for (std::size_t i = 0; i < block.axes.size(); ++i) {
      const Wide reach = static_cast<Wide>(block.worth[i]) * (block.last[i] - block.first[i]);
      positions += reach < 0 ? -reach : reach;
    }
    return positions;
  }

  // Sets `lowest`; returns the number of positions.
  static Wide place(Block& block) {
    block.lowest = 0;
    for (std::size_t i = 0; i < block.axes.size(); ++i)
      block.lowest +=
          static_cast<Wide>(block.worth[i]) * (block.worth[i] < 0 ? block.last : block.first)[i];
    return extent_of(block);
  }

  std::optional<Block> read_block(const Group& group, const Worth& worth) {
    Block block{group, worth, {}, {}, 0, {}};
    for (const std::size_t axis : group) {
      block.first.push_back(0);
      block.last.push_back(extent(axis) - 1);
    }
    const Wide points = points_of(block);
    if (points > Limits::kPositions) return read_long(std::move(block));
    if (!afford(2 * static_cast<std::int64_t>(points))) return std::nullopt;
    std::vector<Entry> read;  // in the order of visit()
    read.reserve(static_cast<std::size_t>(points));
    std::vector<std::int64_t> first = block.last, last = block.first;
    visit(block, [&](const Point& point, std::int64_t k) {
      const std::optional<std::int64_t> found = address_from(k);
      read.push_back(found ? Entry{Entry::Kind::Address, *found} : Entry{Entry::Kind::Padding});
      if (!found) return true;
      for (std::size_t i = 0; i < group.size(); ++i) {
        first[i] = std::min(first[i], point[group[i]]);
        last[i] = std::max(last[i], point[group[i]]);
      }
      return true;
    });
    // The bounding box of the valid points.
    const Block whole = block;
    block.first = std::move(first);
    block.last = std::move(last);
    const Wide positions = place(block);
    if (positions > Limits::kPositions) return read_long(std::move(block));
    std::optional<std::vector<Entry>> table = table_of(block, whole, read);
    if (!table) return std::nullopt;
    std::optional<PositionDigits> digits = recover_digits(*table, reach_.first, reach_.second);
    if (!digits) return std::nullopt;
    block.digits = std::move(*digits);
    return block;
  }

  // The entries of each position, read at the points of `whole`; nullopt if two points with the
  // same position differ.
  std::optional<std::vector<Entry>> table_of(const Block& block, const Block& whole,
                                             const std::vector<Entry>& read) const {
    const Wide positions = extent_of(block);
    std::vector<Entry> table(static_cast<std::size_t>(positions));
    auto entry = read.begin();
    bool agree = true;
    visit(whole, [&](const Point& point, std::int64_t) {
      const Entry& here = *entry++;
      for (std::size_t i = 0; i < block.axes.size(); ++i)
        if (point[block.axes[i]] < block.first[i] || point[block.axes[i]] > block.last[i])
          return true;
      Entry& known = table[static_cast<std::size_t>(position(block, point))];
      agree = known.kind == Entry::Kind::Unknown || known == here;
      known = here;
      return agree;
    });
    return agree ? std::optional(std::move(table)) : std::nullopt;
  }

  Wide points_of(const Block& block) const {
    Wide points = 1;
    for (const std::size_t axis : block.axes)
      if (points <= Limits::kPositions) points *= extent(axis);
    return points;
  }

  // Charges look-ups for that many points; false if the budget is spent.
  bool afford(std::int64_t points) {
    effort_ -= points * static_cast<std::int64_t>(inner_.size());
    limited_ = limited_ || effort_ < 0;
    return effort_ >= 0;
  }

  // Reads a group with too many positions to enumerate.
  std::optional<Block> read_long(Block block) {
    const Wide positions = place(block);
    if (positions > INT64_MAX || !afford(Limits::kWindowReads)) {
      limited_ = true;
      return std::nullopt;
    }
    const Small<std::size_t> order = by_worth(block);
    const LongMap map{[&](std::int64_t p) { return entry_at(block, order, p); },
                      static_cast<std::int64_t>(positions), position(block, origin_)};
    std::optional<PositionDigits> digits = recover_sparse_digits(map);
    if (!digits) {
      limited_ = true;  // positions between the windows were not read
      return std::nullopt;
    }
    block.digits = std::move(*digits);
    return block;
  }

  // The block's axes by descending worth.
  static Small<std::size_t> by_worth(const Block& block) {
    Small<std::size_t> order(block.axes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::greater(),
                      [&](std::size_t i) { return std::abs(block.worth[i]); });
    return order;
  }

  // The entry of a position: that of the first point found for it, taking axes in this order.
  Entry entry_at(const Block& block, const Small<std::size_t>& order, std::int64_t p) const {
    Point point = origin_;
    std::int64_t rest = p;  // for each axis, counted from the end with the lowest position
    for (const std::size_t i : order) {
      const std::int64_t worth = std::abs(block.worth[i]);
      const std::int64_t steps = std::min(rest / worth, block.last[i] - block.first[i]);
      point[block.axes[i]] = block.worth[i] < 0 ? block.last[i] - steps : block.first[i] + steps;
      rest -= steps * worth;
    }
    if (rest != 0) return {};
    const std::optional<std::int64_t> read = address(point);
    return read ? Entry{Entry::Kind::Address, *read} : Entry{Entry::Kind::Padding};
  }

  // Calls look(point, k) for every index of the block's axes, the others at the origin, and its
  // flat index, while it returns true.
  template <typename Look>
  void visit(const Block& block, const Look& look) const {
    const auto& axes = block.axes;
    Point point = origin_;
    for (std::size_t i = 0; i < axes.size(); ++i) point[axes[i]] = block.first[i];
    std::int64_t k = outer_.index.at(point);
    for (std::size_t i = 0; i < axes.size();) {
      if (i == 0 && !look(point, k)) return;
      const std::int64_t stride = outer_.index.strides[axes[i]];
      if (++point[axes[i]] <= block.last[i]) {
        k += stride;
        i = 0;
      } else {
        k -= stride * (block.last[i] - block.first[i]);
        point[axes[i]] = block.first[i];
        ++i;
      }
    }
  }

  static std::int64_t position(const Block& block, const Point& point) {
    Wide sum = -block.lowest;
    for (std::size_t i = 0; i < block.axes.size(); ++i)
      sum += static_cast<Wide>(block.worth[i]) * point[block.axes[i]];
    return static_cast<std::int64_t>(sum);
  }

  // Assembles the blocks side by side; where the result is wrong, two of them share carries and are
  // joined.
  std::optional<TwoViews> join_until_equal() {
    for (;;) {
      std::optional<TwoViews> views = assemble();
      if (!views) return std::nullopt;
      const View pair[] = {views->inner, views->outer};
      const Comparison compared = compare_maps(stack_, pair);
      compared_ += compared.work;
      if (compared.same == Truth::Yes) return within_reach(views->inner) ? views : std::nullopt;
      limited_ = limited_ || compared.same == Truth::Unknown;
      if (compared.same == Truth::Unknown || blocks_.size() < 2) return std::nullopt;
      if (!join(*views, compared.different)) return std::nullopt;
    }
  }

  // Joins two dependent blocks, given an index where the views are wrong.
  bool join(const TwoViews& views, const std::vector<std::int64_t>& different) {
    const auto moved = [&](std::initializer_list<std::size_t> blocks) {
      Point point = origin_;
      for (const std::size_t block : blocks)
        for (const std::size_t axis : blocks_[block].axes)
          point[axis] = different[outer_.axes[axis]] - outer_.begins[axis];
      return point;
    };
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const Point point = moved({i, j});
        if (address(point) == read(views, point)) continue;
        Group group = joined(blocks_[i].axes, blocks_[j].axes);
        if (!add_block(std::move(group))) return add_all();
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(j));
        return true;
      }
    return add_all();
  }

  // The address that two views read at a point of the frame.
  std::optional<std::int64_t> read(const TwoViews& views, const Point& point) const {
    std::vector<std::int64_t> index;
    for (const auto& [begin, end] : views.outer.ranges()) index.push_back(begin.as_int());
    for (std::size_t i = 0; i < point.size(); ++i)
      index[outer_.axes[i]] = outer_.begins[i] + point[i];
    const std::optional<std::int64_t> k = views.outer.at(index);
    return k ? FlatView(views.inner).at(*k) : std::nullopt;
  }

  std::optional<TwoViews> assemble() {
    std::ranges::sort(blocks_, {}, [](const Block& block) { return block.axes.back(); });
    const View& outermost = stack_.back();
    Shape shape;  // fine to coarse, reversed at the end
    Strides strides, places(outermost.shape().size(), 0);
    Mask mask, kept = outermost.ranges();
    Wide weight = 1, place = 0, offset = at_origin_;
    for (std::size_t b = blocks_.size(); b-- > 0;) {
      const Block& block = blocks_[b];
      for (std::size_t i = 0; i < block.axes.size(); ++i) {
        const std::int64_t begin = outer_.begins[block.axes[i]];
        kept[outer_.axes[block.axes[i]]] = {begin + block.first[i], begin + block.last[i] + 1};
      }
      if (block.constant()) continue;
      offset += block.digits.base - at_origin_;
      place += weight * (block.digits.shift - block.lowest);
      for (std::size_t i = 0; i < block.axes.size(); ++i) {
        const Wide stride = weight * block.worth[i];
        if (!fits(stride)) return std::nullopt;
        const std::size_t axis = block.axes[i];
        places[outer_.axes[axis]] = static_cast<std::int64_t>(stride);
        place -= stride * outer_.begins[axis];
      }
      for (const PositionDigits::Digit& digit : block.digits.digits) {
        if (!fits(digit.stride)) return std::nullopt;
        shape.emplace_back(digit.size);
        strides.emplace_back(static_cast<std::int64_t>(digit.stride));
        mask.emplace_back(digit.begin, digit.end);
        weight *= digit.size;
        if (!fits(weight)) return std::nullopt;
      }
    }
    if (!fits(offset) || !fits(place)) return std::nullopt;
    std::ranges::reverse(shape);
    std::ranges::reverse(strides);
    std::ranges::reverse(mask);
    try {
      return TwoViews{View::trusted(std::move(shape), std::move(strides),
                                    static_cast<std::int64_t>(offset), std::move(mask)),
                      View::trusted(outermost.shape(), std::move(places),
                                    static_cast<std::int64_t>(place), std::move(kept))};
    } catch (const OverflowError&) {
      // With room for whole digits, sizes overflow.
      return std::nullopt;
    }
  }

  bool within_reach(const View& view) const {
    const auto [low, high] = address_range(view);
    return low.as_int() >= reach_.first && high.as_int() <= reach_.second;
  }

  std::span<const View> stack_;
  Reach reach_;
  std::int64_t& effort_;
  Outer outer_;
  Small<FlatView> inner_;
  Point origin_;  // a valid point
  std::int64_t at_origin_ = 0;
  std::vector<Block> blocks_;
  std::int64_t compared_ = 0;  // boxes and elements
  bool limited_ = false;
};

}  // namespace

Reach reach_of(std::span<const View> views, std::size_t begin) {
  if (begin > 0 && views[begin - 1].is_concrete()) return {0, views[begin - 1].size().as_int() - 1};
  if (views[begin].nothing_valid()) return {0, 0};
  const auto [low, high] = address_range(views[begin]);
  return {low.as_int(), high.as_int()};
}

TwoViewsFound as_two_views(std::span<const View> stack, const Reach& reach, std::int64_t& effort) {
  for (const View& view : stack)
    if (view.nothing_valid()) return {};
  const std::int64_t before = effort;
  Splitter splitter(stack, reach, effort);
  TwoViewsFound found = splitter.run();
  found.work = before - effort + splitter.compared();
  return found;
}

}  // namespace touchstone::shapetracker
