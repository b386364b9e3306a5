#pragma once

#include "touchstone/maps/decide.h"

// The algebra of layouts: inverses, complements, products; and maps in the forms of libraries.

namespace touchstone::maps {

/// G with map(G(y)) = y where y is a result; its conditions say which y are.
struct Inverse {
  std::optional<Map> map;  // none: no form of digits or of bits was found
  bool injective = false;  // G(map(x)) = x, too
  bool gaps = false;       // some y within the ranges is no result
};
/// Throws ShapeError if the domain is empty.
Inverse inverse(const Map& map);

/// The layout of the addresses below `size` that a layout leaves out, as CuTe's complement. Throws
/// ShapeError that says why there is none.
Map complement(const Map& map, std::int64_t size);
/// CuTe's logical_divide and logical_product, with a mode for each part of the result.
Map divided(const Map& map, const Map& tiler);
Map product(const Map& map, const Map& tiler);
/// The same function of the flat index with as few inputs as possible. Throws ShapeError if the map
/// is no layout.
Map coalesced(const Map& map);

/// The map as modes, a list for each input, and an offset; nullopt if it is no such layout.
struct Layout {
  std::vector<std::vector<Map::Mode>> modes;
  std::int64_t offset = 0;
};
std::optional<Layout> layout_of(const Map& map);
/// The fewest views found; nullopt if the map is no stack of this kind.
std::optional<ShapeTracker> views_of(const Map& map);
/// Results for each bit of each input, over GF(2); nullopt if the map is not linear.
using Bases = std::vector<std::vector<std::vector<std::int64_t>>>;
std::optional<Bases> bases_of(const Map& map);

/// The map in a notation: a language (notation.h), "cute", "triton", "einops", "view" or "strides".
/// Throws Error if it has no such form.
std::string written(const Map& map, const std::string& notation);

}  // namespace touchstone::maps
