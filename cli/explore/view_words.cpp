#include "touchstone/cli/explore/view_words.h"

#include <algorithm>

#include "touchstone/base/suggest.h"
#include "touchstone/shapetracker/ask/movement_words.h"

namespace touchstone::explore {

namespace in_words = shapetracker::in_words;

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

}  // namespace touchstone::explore
