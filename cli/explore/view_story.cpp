#include "touchstone/cli/explore/view_story.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "touchstone/base/suggest.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/ask/movement_words.h"
#include "touchstone/shapetracker/ask/reason.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/index/shortest_index.h"
#include "touchstone/shapetracker/merge/reduce.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::explore {
namespace {

namespace in_words = shapetracker::in_words;
using in_words::Names;

// Variables from words such as "n=2..9", both bounds inclusive. Throws ParseError on a malformed
// word, an empty range or a repeated name.
Names parse_ranges(const std::vector<std::string>& words) {
  Names names;
  for (const std::string& word : words) {
    const auto [name, low, high] = in_words::range(
        word, fmt::format("--var {}: give the lower and the upper bound, as n=2..9", word));
    if (low > high)
      throw ParseError(
          fmt::format("--var {}: the range is empty: {} is greater than {}", word, low, high));
    if (!names.emplace(name, symbolic::variable(name, low, high)).second)
      throw ParseError(fmt::format("--var {}: '{}' is given twice", word, name));
  }
  return names;
}

// The tracker of a shape with that layout. Throws ParseError and ShapeError.
ShapeTracker parse_start(const std::string& shape, const ViewStart& start, const Names& names) {
  if (!start.strides && !start.offset && !start.mask)
    return ShapeTracker::contiguous(in_words::sizes(shape, names));
  Shape sizes = in_words::sizes(shape, names);
  Strides strides =
      start.strides ? in_words::sizes(*start.strides, names) : row_major_strides(sizes);
  const sint offset = start.offset ? in_words::size(*start.offset, *start.offset, names) : sint(0);
  std::optional<Mask> mask;
  if (start.mask) mask = in_words::pairs(*start.mask, names);
  return ShapeTracker(
      {View::strided(std::move(sizes), std::move(strides), offset, std::move(mask))});
}

// Applies a movement operation given in words: `permute 1,0`, `pad 0:1,2:0`, `stride -1,2`,
// `flip 0`, `as_strided 2,3:1,2:0`. Throws ParseError on malformed words, ShapeError if it does
// not fit the shape.
ShapeTracker apply_words(const ShapeTracker& st, const std::string& op, const std::string& argument,
                         const Names& names) {
  const auto is = [&](std::string_view known) { return op == known; };
  if (is("flip") || is("permute"))
    for (const std::int64_t axis : in_words::numbers(argument))  // before narrowing
      if (axis < 0 || axis >= st.rank())
        throw ShapeError(fmt::format("{}: axis {} is not in [0, {})", op, axis, st.rank()));
  if (is("flip")) {
    const std::vector<std::int64_t> axes = in_words::numbers(argument);
    return st.flip(std::vector<int>(axes.begin(), axes.end()));
  }
  const bool at_start = is("as_strided") && std::ranges::count(argument, ':') == 1;
  if (std::ranges::any_of(in_words::kMovements, is))
    return apply(st, in_words::movement(op, at_start ? argument + ":0" : argument, names));
  constexpr std::string_view kOps[] = {"permute", "reshape", "expand", "pad",
                                       "shrink",  "stride",  "flip",   "as_strided"};
  throw ParseError(fmt::format("there is no movement operation '{}'{}; known: {}", op,
                               did_you_mean(op, kOps), fmt::join(kOps, ", ")));
}

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

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

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
