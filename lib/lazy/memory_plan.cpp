#include "touchstone/lazy/memory_plan.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "touchstone/base/checked.h"

namespace touchstone {
namespace {

constexpr std::int64_t kAlignment = 64;

// Finds results that die with the schedule: all their owners are its items, or die too, or release
// their sources when realized.
class Survivors {
 public:
  explicit Survivors(std::span<const ScheduleItem> items) {
    for (const ScheduleItem& item : items) {
      hold(item.out);
      facts_[item.out.get()].realized_here = true;
      for (const LazyBufferPtr& input : item.inputs) hold(input);
    }
    for (const ScheduleItem& item : items)
      if (item.kind == Op::Noop)  // it consists of its parts from now on
        for (const LazyBufferPtr& part : item.inputs) facts_.at(part.get()).kept = true;
    for (const ScheduleItem& item : items) walk(*item.out);
    std::ranges::reverse(order_);  // readers first
    for (const LazyBuffer* reader : order_) {
      const Facts& of = facts_.at(reader);
      const bool dies = of.shared->use_count() == of.held && !of.kept;
      if (dies || of.realized_here) continue;
      each_source(*reader,
                  [&](const LazyBufferPtr& source) { facts_.at(source.get()).kept = true; });
    }
  }

  bool dies(const LazyBufferPtr& result) const {
    const Facts& of = facts_.at(result.get());
    return !of.kept && result.use_count() == of.held;
  }

 private:
  struct Facts {
    const LazyBufferPtr* shared = nullptr;
    long held = 0;  // references from items and the graph
    bool realized_here = false;
    bool kept = false;  // by a surviving reader
    bool seen = false;
  };

  template <class F>
  static void each_source(const LazyBuffer& reader, F&& f) {
    if (reader.base_of_view()) return f(reader.base_of_view());
    for (const LazyBufferPtr& source : reader.srcs()) f(source);
    if (reader.assigns_to()) f(reader.assigns_to());
  }

  void hold(const LazyBufferPtr& what) {
    Facts& of = facts_[what.get()];
    of.shared = &what;
    ++of.held;
  }

  void walk(const LazyBuffer& root) {
    std::vector<std::pair<const LazyBuffer*, bool>> path{{&root, false}};
    while (!path.empty()) {
      const auto [at, below_done] = path.back();
      path.pop_back();
      if (below_done) {
        order_.push_back(at);
        continue;
      }
      if (std::exchange(facts_[at].seen, true)) continue;
      path.emplace_back(at, true);
      each_source(*at, [&](const LazyBufferPtr& source) {
        hold(source);
        path.emplace_back(source.get(), false);
      });
    }
  }

  std::unordered_map<const LazyBuffer*, Facts> facts_;
  std::vector<const LazyBuffer*> order_;
};

// One block: its free pieces by position and by size.
class Block {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      // Extends the last piece if it is free.
      std::int64_t at = end_;
      if (!by_place_.empty()) {
        const auto last = std::prev(by_place_.end());
        if (last->first + last->second == end_) {
          at = last->first;
          drop(last);
        }
      }
      end_ = at + bytes;
      return at;
    }
    const auto [size, at] = *fit;
    drop(by_place_.find(at));
    if (size > bytes) add(at + bytes, size - bytes);
    return at;
  }

  void give(std::int64_t at, std::int64_t bytes) {
    auto next = by_place_.lower_bound(at);
    if (next != by_place_.end() && next->first == at + bytes) {
      bytes += next->second;
      next = drop(next);
    }
    if (next != by_place_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        at = before->first;
        bytes += before->second;
        drop(before);
      }
    }
    add(at, bytes);
  }

  std::int64_t end() const { return end_; }

 private:
  using ByPlace = std::map<std::int64_t, std::int64_t>;
  void add(std::int64_t at, std::int64_t bytes) {
    by_place_[at] = bytes;
    by_size_.emplace(bytes, at);
  }
  ByPlace::iterator drop(ByPlace::iterator it) {
    by_size_.erase({it->second, it->first});
    return by_place_.erase(it);
  }

  ByPlace by_place_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

bool may_be_planned(const ScheduleItem& item) {
  const LazyBuffer& out = *item.out;
  if (item.kind != Op::Store && item.kind != Op::Rand && item.kind != Op::From) return false;
  return !out.assigns_to() &&
         std::ranges::all_of(out.shape(), [](const sint& s) { return s.is_int(); });
}

}  // namespace

std::int64_t MemoryPlan::planned() const {
  std::int64_t total = 0;
  for (const auto& [device, bytes] : blocks) total += bytes;
  return total;
}

MemoryPlan plan_memory(std::span<const ScheduleItem> items) {
  MemoryPlan plan;
  plan.places.resize(items.size());
  const Survivors survivors(items);
  std::unordered_map<const LazyBuffer*, std::size_t> made;  // planned results with their items
  std::vector<std::size_t> last(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const LazyBufferPtr& input : items[i].inputs)
      if (const auto it = made.find(input.get()); it != made.end()) last[it->second] = i;
    if (may_be_planned(items[i]) && survivors.dies(items[i].out)) {
      made.emplace(items[i].out.get(), i);
      last[i] = i;
    }
  }
  std::unordered_map<std::string, Block> blocks;
  std::vector<std::vector<std::size_t>> dying(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (made.contains(items[i].out.get())) {
      const LazyBuffer& out = *items[i].out;
      const std::int64_t raw =
          checked_mul(max_elements(out.shape()), static_cast<std::int64_t>(itemsize(out.dtype())));
      const std::int64_t bytes = (raw + kAlignment - 1) / kAlignment * kAlignment;
      plan.places[i] = MemoryPlan::Place{blocks[out.device()].take(bytes), bytes};
      plan.unplanned += bytes;
      dying[last[i]].push_back(i);
    }
    for (const std::size_t dead : dying[i])
      blocks[items[dead].out->device()].give(plan.places[dead]->offset, plan.places[dead]->bytes);
  }
  for (const auto& [device, block] : blocks) plan.blocks[device] = block.end();
  return plan;
}

}  // namespace touchstone
