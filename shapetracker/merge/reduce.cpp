#include "touchstone/shapetracker/merge/reduce.h"

#include <algorithm>
#include <unordered_map>

#include "touchstone/base/hash.h"
#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/shapetracker/merge/two_views.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"
#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone::shapetracker {
namespace {

using Views = std::vector<View>;

bool all_concrete(std::span<const View> views) {
  return std::ranges::all_of(views, [](const View& view) { return view.is_concrete(); });
}

std::uint64_t hash_of(const Views& views) {
  std::uint64_t seed = views.size();
  for (const View& view : views) seed = hash_mix(seed, view.hash());
  return seed;
}

// Replaces views[begin, begin + length) by `parts`.
void replace(Views& views, std::size_t begin, std::size_t length, Views parts) {
  const auto first = views.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto rest = views.erase(first, first + static_cast<std::ptrdiff_t>(length));
  views.insert(rest, std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
}

constexpr MergeBudget kBoxesOnly{
    .bits = 0, .sums = 0, .last_nodes = 0, .points = Limits::kRunPoints};

MergeResult decide(std::span<const View> run, const MergeBudget& budget) {
  return run.size() == 2 ? merge_pair(run[0], run[1], budget) : merge_stack(run, budget);
}

/// Decides runs; only the first few pairs may exceed the box budget.
class Runs {
 public:
  std::optional<View> merge(std::span<const View> run) {
    if (!all_concrete(run)) return merge_run(run);
    const bool patient = run.size() == 2 && patience_ > 0;
    const MergeResult result = decide(run, patient ? MergeBudget{} : kBoxesOnly);
    if (patient && result.was_hard()) --patience_;
    return result.view;
  }

 private:
  int patience_ = Limits::kHardPairs;
};

// Merges neighbours, from the outermost on, until no pair is one view.
void merge_neighbours(Views& views, Runs& runs) {
  for (std::size_t i = views.size() - 1; i-- > 0;)
    if (std::optional<View> merged = runs.merge(std::span(views).subspan(i, 2))) {
      replace(views, i, 2, {std::move(*merged)});
      i = std::min(i + 1, views.size() - 1);  // the view above has a new neighbour
    }
}

// The fewest runs of neighbours that are one view each. The whole stack is not one.
Views fewest_runs(const Views& views, Runs& runs) {
  struct Best {
    std::size_t count = 0, from = 0;
    View last;
  };
  std::vector<Best> best(views.size() + 1);
  for (std::size_t end = 1; end <= views.size(); ++end) {
    best[end] = {best[end - 1].count + 1, end - 1, views[end - 1]};
    for (std::size_t begin = end - std::min(end, Limits::kLongestRun); begin + 1 < end; ++begin) {
      if (best[begin].count + 1 >= best[end].count || (begin == 0 && end == views.size())) continue;
      if (std::optional<View> merged = runs.merge(std::span(views).subspan(begin, end - begin)))
        best[end] = {best[begin].count + 1, begin, std::move(*merged)};
    }
  }
  Views fewest;
  for (std::size_t end = views.size(); end > 0; end = best[end].from)
    fewest.push_back(std::move(best[end].last));
  std::ranges::reverse(fewest);
  return fewest;
}

/// Recent results, of which the caller gives the hash.
template <class Key, class Value>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  const Value* find(std::uint64_t hash, const Key& key) const {
    const auto [first, last] = kept_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (it->second.first == key) return &it->second.second;
    return nullptr;
  }
  void keep(std::uint64_t hash, Key key, Value value) {
    if (kept_.size() >= most_) kept_.clear();
    kept_.emplace(hash, std::pair(std::move(key), std::move(value)));
  }

 private:
  std::size_t most_;
  std::unordered_multimap<std::uint64_t, std::pair<Key, Value>> kept_;
};

/// Replaces three or more views by two.
class Shortener {
 public:
  /// Rewrites some run of three or more views as two; false if none is found.
  bool shorten(Views& views) {
    for (std::size_t length = std::min(views.size(), Limits::kLongestTwoViews); length >= 3;
         --length)
      for (std::size_t begin = views.size() - length + 1; begin-- > 0;)
        if (const auto two = two_views(std::span(views).subspan(begin, length), views, begin)) {
          replace(views, begin, length, {two->inner, two->outer});
          return true;
        }
    return false;
  }
  bool limited() const { return limited_; }
  std::int64_t work() const { return work_; }

 private:
  std::optional<TwoViews> two_views(std::span<const View> run, const Views& views,
                                    std::size_t begin) {
    // Runs that are not two views, and whether that search was cut short: a chain of operations
    // requests its stack again after each one.
    thread_local Recent<std::pair<Views, Reach>, bool> failed(Limits::kFailedRuns);
    if (!all_concrete(run)) return std::nullopt;
    std::pair key(Views(run.begin(), run.end()), reach_of(views, begin));
    const auto& [low, high] = key.second;
    const std::uint64_t hash = hash_mix(hash_of(key.first), hash_mix(wrap(low), wrap(high)));
    if (const bool* known = failed.find(hash, key)) {
      limited_ = limited_ || *known;
      return std::nullopt;
    }
    if (effort_ <= 0) {
      limited_ = true;
      return std::nullopt;
    }
    TwoViewsFound found = as_two_views(run, key.second, effort_);
    work_ += found.work;
    if (found.views) return std::move(found.views);
    limited_ = limited_ || found.limited;
    if (effort_ > 0) failed.keep(hash, std::move(key), found.limited);
    return std::nullopt;
  }

  std::int64_t effort_ = Limits::kLookups;
  std::int64_t work_ = 0;
  bool limited_ = false;
};

}  // namespace

std::optional<View> merge_run(std::span<const View> run) {
  if (run.size() == 2) return touchstone::merge(run[0], run[1]);
  if (!all_concrete(run)) return symbolic_merge(run).view;
  return merge_stack(run, kBoxesOnly).view;
}

Reduction reduce(std::vector<View> views) {
  Reduction result{std::move(views), std::nullopt};
  Views& left = result.views;
  if (left.size() == 1) return result;
  const bool concrete = all_concrete(left);
  if (concrete) result.whole = decide(left, {});
  std::optional<View> single = result.whole ? result.whole->view : merge_run(left);
  if (single) {
    left = {std::move(*single)};
    return result;
  }
  const std::size_t before = left.size();
  Runs runs;
  if (left.size() > Limits::kLongestRun) merge_neighbours(left, runs);
  Shortener shortener;
  do {
    if (left.size() > 2) left = fewest_runs(left, runs);
  } while (left.size() > 2 && shortener.shorten(left));
  result.limited = shortener.limited() && left.size() > 2;
  result.work = shortener.work();
  // With variables a run may be proved to be one view only after a part of it is.
  if (left.size() < before && left.size() > 1 && !concrete) left = reduce(std::move(left)).views;
  return result;
}

std::vector<View> reduce_stack(std::vector<View> views) {
  // Strides, masks and sizes of one tracker each request its shortest stack.
  thread_local Recent<Views, Views> reduced(Limits::kReducedStacks);
  if (views.size() == 1) return views;
  if (!all_concrete(views)) return reduce(std::move(views)).views;
  const std::uint64_t hash = hash_of(views);
  if (const Views* known = reduced.find(hash, views)) return *known;
  Views found = reduce(views).views;
  reduced.keep(hash, std::move(views), found);
  return found;
}

}  // namespace touchstone::shapetracker
