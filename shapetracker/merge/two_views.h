#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// A map as two views: `outer` places its indices among the digits of `inner`.
struct TwoViews {
  View inner, outer;
};

/// Lowest and highest address that a view may have, even where nothing is read.
using Reach = std::pair<std::int64_t, std::int64_t>;

/// The reach of a replacement for concrete views[begin]: the elements of the view below; on a
/// buffer, the addresses that views[begin] covers.
Reach reach_of(std::span<const View> views, std::size_t begin);

struct TwoViewsFound {
  std::optional<TwoViews> views;
  bool limited = false;   // the search was cut short: two views may exist
  std::int64_t work = 0;  // look-ups of an index in a view, boxes and elements compared
};

/// Two views equal to two or more, if found: each axis, alone or with the axes it shares carries
/// with, is read off as digits of a position; the digits form the inner view, the positions the
/// outer one. Up to 4,096 positions of a group are read one by one, more in windows. The result is
/// proved equal by boxes or, failing that, element by element up to 2^22.
/// stack: concrete, innermost first.
/// effort: budget of look-ups; receives the rest.
TwoViewsFound as_two_views(std::span<const View> stack, const Reach& reach, std::int64_t& effort);

}  // namespace touchstone::shapetracker
