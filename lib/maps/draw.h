#pragma once

#include "touchstone/maps/map.h"

namespace touchstone::maps {

/// A grid for each map, side by side, with a scale of the colours. By "address" and "bank" a cell
/// is a point and has its result; by "lane" a cell is an address and has the values of the first
/// input that read it. Where the inputs fit, the maps are drawn over those of the first, and cells
/// that differ from its cells have a frame.
struct Drawing {
  std::string by = "address";
  int banks = 32, bytes = 4;  // a bank is 4 bytes wide
};
/// A part of a page, with its style. titles: of each map. Throws ShapeError if a map has no or more
/// than 4,096 points, or several results, and ParseError on another `by`.
std::string drawing_html(const std::vector<Map>& maps, const std::vector<std::string>& titles,
                         const Drawing& drawing);
/// The same as a self-contained page; `notes` are lines below the grids.
std::string html_of(const std::vector<Map>& maps, const std::vector<std::string>& titles,
                    const Drawing& drawing, const std::vector<std::string>& notes = {});

}  // namespace touchstone::maps
