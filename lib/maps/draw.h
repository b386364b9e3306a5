#pragma once

#include "touchstone/maps/map.h"

namespace touchstone::maps {

/// A self-contained page with a grid for each map, side by side, and a legend. By "address" and
/// "bank" a cell is a point and has its results; points where a map differs from the first have a
/// frame. By "lane" a cell is an address and has the value of the first input that reads it.
struct Drawing {
  std::string by = "address";
  int banks = 32, bytes = 4;  // a bank is 4 bytes wide
};
/// titles: of each map. Throws ShapeError if a map has no or more than 4,096 points, or several
/// results, and ParseError on another `by`.
std::string html_of(const std::vector<Map>& maps, const std::vector<std::string>& titles,
                    const Drawing& drawing);

}  // namespace touchstone::maps
