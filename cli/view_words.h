#pragma once

#include <string>

#include "touchstone/shapetracker/shapetracker.h"

namespace touchstone::cli {

/// "10,10" as a shape, "()" as the one of rank 0. Throws ParseError.
Shape parse_shape(const std::string& word);

/// A movement operation in words, as `permute 1,0`, `pad 0:1,2:0`, `stride -1,2`, `flip 0`.
/// Throws ParseError on words that do not parse, ShapeError where the shape does not allow it.
ShapeTracker apply_words(const ShapeTracker& st, const std::string& op,
                         const std::string& argument);

}  // namespace touchstone::cli
