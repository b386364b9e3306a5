#include "touchstone/shapetracker/reduce.h"

#include <algorithm>

#include "touchstone/shapetracker/merge.h"
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

// Merges neighbours, from the outermost on, until no two are one view.
void merge_neighbours(Views& views) {
  for (std::size_t i = views.size() - 1; i-- > 0;)
    if (std::optional<View> merged = merge_run(std::span(views).subspan(i, 2))) {
      replace(views, i, 2, {std::move(*merged)});
      i = std::min(i + 1, views.size() - 1);  // the one above has a new neighbour
    }
}

// The fewest runs of neighbours that are one view each. The whole is none.
Views fewest_runs(const Views& views) {
  struct Best {
    std::size_t count = 0, from = 0;
    View last;
  };
  std::vector<Best> best(views.size() + 1);
  for (std::size_t end = 1; end <= views.size(); ++end) {
    best[end] = {best[end - 1].count + 1, end - 1, views[end - 1]};
    for (std::size_t begin = end - std::min(end, kLongestRun); begin + 1 < end; ++begin) {
      if (best[begin].count + 1 >= best[end].count || (begin == 0 && end == views.size())) continue;
      if (std::optional<View> merged = merge_run(std::span(views).subspan(begin, end - begin)))
        best[end] = {best[begin].count + 1, begin, std::move(*merged)};
    }
  }
  Views runs;
  for (std::size_t end = views.size(); end > 0; end = best[end].from)
    runs.push_back(std::move(best[end].last));
  std::ranges::reverse(runs);
  return runs;
}

// Writes some run of three views or more as two; false where none is found.
bool shorten(Views& views, std::int64_t& effort) {
  constexpr std::size_t kLongest = 8;
  const std::size_t most = views.size();
  for (std::size_t length = most; length >= 3; length = std::min(length - 1, kLongest))
    for (std::size_t begin = most - length + 1; begin-- > 0;) {
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
  if (run.size() == 2) return View::merge(run[0], run[1]);
  if (!all_concrete(run)) return symbolic_merge(run).view;
  return merge_stack(run).view;
}

std::vector<View> reduce_stack(std::vector<View> views) {
  if (views.size() == 1) return views;
  if (std::optional<View> single = merge_run(views)) return {std::move(*single)};
  if (views.size() > kLongestRun) merge_neighbours(views);
  if (views.size() > 2) views = fewest_runs(views);
  constexpr std::int64_t kEffort = 1 << 17;
  for (std::int64_t effort = kEffort; views.size() > 2 && shorten(views, effort);)
    if (views.size() > 2) views = fewest_runs(views);
  return views;
}

}  // namespace touchstone::shapetracker
