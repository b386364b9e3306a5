#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// A map as two views: `outer` places its indices among the digits of `inner`.
struct TwoViews {
  View inner, outer;
};

/// Lowest and highest address that a view may have, also where nothing is read.
using Reach = std::pair<std::int64_t, std::int64_t>;

/// Of views[begin], concrete: of a buffer only those are known that the view has already.
Reach reach_of(std::span<const View> views, std::size_t begin);

struct TwoViewsFound {
  std::optional<TwoViews> views;
  bool limited = false;   // the search was cut short: two views may exist where none are found
  std::int64_t work = 0;  // views that an index was looked up in, boxes and elements compared
};

/// Two views that say what two or more say, where they are found: each axis by itself, or with the
/// axes it shares carries with, is read off as digits of a position; the digits of all are the
/// inner view, the positions the outer one. Up to 4,096 positions of a group are read one by one,
/// more in windows. The result is proved equal before it is returned: by boxes, or, where these do
/// not do, element by element of up to 2^22.
/// stack: concrete, innermost first.
/// effort: views to look an index up in; what is left of it is returned in place.
TwoViewsFound as_two_views(std::span<const View> stack, const Reach& reach, std::int64_t& effort);

}  // namespace touchstone::shapetracker
