#include "touchstone/cli/explore/view_story.h"

#include "touchstone/cli/explore/view_words.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/ask/reason.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/index/shortest_index.h"
#include "touchstone/shapetracker/merge/reduce.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::explore {
namespace {

using shapetracker::cost;
using shapetracker::reason;

// Notes on merges in `pushed`, the stack an operation made, and on failed ones.
std::vector<std::string> notes(const std::vector<View>& pushed, const std::vector<View>& views) {
  std::vector<std::string> notes;
  if (views.size() < pushed.size()) {
    const std::size_t below = views.size() - 1;
    const auto run = std::span(pushed).subspan(below);
    const bool at_top = std::equal(views.begin(), views.end() - 1, pushed.begin());
    const shapetracker::Reason why = reason(run);
    if (at_top && why.merged)
      notes.push_back(fmt::format("{} views become one: {}", run.size(), why.text));
    else
      notes.push_back(fmt::format("{} views become {}", pushed.size(), views.size()));
  }
  for (std::size_t i = views.size(); i-- > 1;) {
    const auto pair = std::span(views).subspan(i - 1, 2);
    notes.push_back(fmt::format("{} on {} cannot merge: {}", str(std::span(pair[1].shape())),
                                str(std::span(pair[0].shape())), reason(pair).text));
  }
  if (views.size() > 2)
    notes.push_back("all of them together are not a single view: " + reason(views).text);
  return notes;
}

ViewStep after(const ViewStep& before, const std::string& op, const std::string& argument,
               const Names& names) {
  ViewStep step;
  step.title = op + " " + argument;
  step.composed = apply_words(ShapeTracker(before.composed), op, argument, names).views();
  const ShapeTracker pushed = apply_words(ShapeTracker(before.views), op, argument, names);
  step.views = merge_outermost(pushed).views();
  step.notes = notes(pushed.views(), step.views);
  return step;
}

}  // namespace

ViewStory tell(const std::vector<std::string>& words, const std::vector<std::string>& variables,
               const ViewStart& start) {
  const Names names = parse_ranges(variables);
  ViewStory story;
  ViewStep first{words.at(0), {}, {}, {}};
  first.views = first.composed = parse_start(words[0], start, names).views();
  story.steps.push_back(std::move(first));
  if (words.size() % 2 == 0)
    throw ParseError(fmt::format(
        "'{}' has no argument; give operations in pairs, as in 10,10 permute 1,0 reshape 100",
        words.back()));
  for (std::size_t i = 1; i < words.size(); i += 2)
    story.steps.push_back(after(story.steps.back(), words[i], words[i + 1], names));
  const ShapeTracker tracker(story.steps.back().views);
  const shapetracker::Reduction reduced = shapetracker::reduce(tracker.views());
  const ShapeTracker simple = ShapeTracker::trusted(reduced.views);
  if (simple != tracker) {
    ViewStep last{"simplified", story.steps.back().composed, simple.views(), {}};
    last.notes = notes(tracker.views(), simple.views());
    story.steps.push_back(std::move(last));
  }
  if (reduced.limited)
    story.steps.back().notes.emplace_back(
        "the search for two views in place of three or more hit a limit: fewer views may be "
        "possible");
  const shapetracker::PlainIndex plain = shapetracker::plain_index(story.steps.back().composed);
  story.composed = {shapetracker::bounded_text(plain.exprs, plain.index),
                    shapetracker::bounded_text(plain.exprs, plain.valid), cost(plain)};
  const shapetracker::PlainIndex shortest =
      shapetracker::cheapest_index(simple, story.steps.back().composed);
  story.simplified = {shapetracker::bounded_text(shortest.exprs, shortest.index),
                      shapetracker::bounded_text(shortest.exprs, shortest.valid), cost(shortest)};
  story.strides = real_strides(simple);
  story.contiguous = simple.is_contiguous();
  return story;
}

}  // namespace touchstone::explore
