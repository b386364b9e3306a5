#include "touchstone/shapetracker/reduce.h"

#include <algorithm>
#include <array>

#include "touchstone/shapetracker/simplify.h"
#include "touchstone/shapetracker/symbolic_merge.h"
#include "touchstone/shapetracker/two_views.h"

namespace touchstone::shapetracker {
namespace {

using Views = std::vector<View>;

bool all_concrete(std::span<const View> views) {
  return std::ranges::all_of(views, [](const View& view) { return view.is_concrete(); });
}

// Puts `parts` in place of views[begin, begin + length).
void replace(Views& views, std::size_t begin, std::size_t length, Views parts) {
  const auto first = views.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto rest = views.erase(first, first + static_cast<std::ptrdiff_t>(length));
  views.insert(rest, std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
}

constexpr MergeBudget kBoxesOnly{.bits = 0, .sums = 0, .last_nodes = 0, .points = 1 << 14};

MergeResult decide(std::span<const View> run, const MergeBudget& budget) {
  return run.size() == 2 ? merge_pair(run[0], run[1], budget) : merge_stack(run, budget);
}

/// Decides runs; of those that take more than the boxes of a budget only the first few pairs.
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
  int patience_ = 3;
};

// Merges neighbours, from the outermost on, until no two are one view.
void merge_neighbours(Views& views, Runs& runs) {
  for (std::size_t i = views.size() - 1; i-- > 0;)
    if (std::optional<View> merged = runs.merge(std::span(views).subspan(i, 2))) {
      replace(views, i, 2, {std::move(*merged)});
      i = std::min(i + 1, views.size() - 1);  // the one above has a new neighbour
    }
}

// The fewest runs of neighbours that are one view each. The whole is none.
Views fewest_runs(const Views& views, Runs& runs) {
  struct Best {
    std::size_t count = 0, from = 0;
    View last;
  };
  std::vector<Best> best(views.size() + 1);
  for (std::size_t end = 1; end <= views.size(); ++end) {
    best[end] = {best[end - 1].count + 1, end - 1, views[end - 1]};
    for (std::size_t begin = end - std::min(end, kLongestRun); begin + 1 < end; ++begin) {
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

// Writes some run of three views or more as two; false where none is found.
bool shorten(Views& views, std::int64_t& effort) {
  constexpr std::size_t kLongest = 8;
  for (std::size_t length = std::min(views.size(), kLongest); length >= 3; --length)
    for (std::size_t begin = views.size() - length + 1; begin-- > 0;) {
      const auto run = std::span(views).subspan(begin, length);
      if (effort <= 0 || !all_concrete(run)) continue;
      if (std::optional<TwoViews> two = as_two_views(run, reach_of(views, begin), effort)) {
        replace(views, begin, length, {std::move(two->inner), std::move(two->outer)});
        return true;
      }
    }
  return false;
}

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
  if (all_concrete(left)) result.whole = decide(left, {});
  std::optional<View> single = result.whole ? result.whole->view : merge_run(left);
  if (single) {
    left = {std::move(*single)};
    return result;
  }
  const std::size_t before = left.size();
  Runs runs;
  if (left.size() > kLongestRun) merge_neighbours(left, runs);
  constexpr std::int64_t kEffort = 1 << 19;
  std::int64_t effort = kEffort;
  do {
    if (left.size() > 2) left = fewest_runs(left, runs);
  } while (left.size() > 2 && shorten(left, effort));
  // With variables a run may be shown to be one view only when a part of it is one.
  if (left.size() < before && left.size() > 1 && !all_concrete(left))
    left = reduce(std::move(left)).views;
  return result;
}

namespace {

/// Concrete stacks that were left as they are a moment ago: the strides, masks and sizes of one
/// tracker all ask for its shortest stack.
class ShortStacks {
 public:
  bool knows(const Views& views) const { return std::ranges::find(kept_, views) != kept_.end(); }
  void keep(const Views& views) {
    kept_[next_] = views;
    next_ = (next_ + 1) % kept_.size();
  }

 private:
  std::array<Views, 4> kept_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<View> reduce_stack(std::vector<View> views) {
  thread_local ShortStacks short_stacks;
  if (views.size() == 1 || short_stacks.knows(views)) return views;
  Views found = reduce(views).views;
  if (found == views && all_concrete(views)) short_stacks.keep(views);
  return found;
}

}  // namespace touchstone::shapetracker
