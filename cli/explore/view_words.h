#pragma once

#include <optional>
#include <string>

#include "touchstone/shapetracker/ask/movement_words.h"

namespace touchstone::explore {

using shapetracker::in_words::Names;

/// Variables from words such as "n=2..9", both bounds inclusive. Throws ParseError on a malformed
/// word, an empty range or a repeated name.
Names parse_ranges(const std::vector<std::string>& words);

/// The layout of a first view that is not row-major: "4,1", "3", "0:2,1:3".
struct ViewStart {
  std::optional<std::string> strides, offset, mask;
};
/// The tracker of a shape with that layout. Throws ParseError and ShapeError.
ShapeTracker parse_start(const std::string& shape, const ViewStart& start, const Names& names);

/// Applies a movement operation given in words: `permute 1,0`, `pad 0:1,2:0`, `stride -1,2`,
/// `flip 0`, `as_strided 2,3:1,2:0`. Throws ParseError on malformed words, ShapeError if it does
/// not fit the shape.
ShapeTracker apply_words(const ShapeTracker& st, const std::string& op, const std::string& argument,
                         const Names& names = {});

}  // namespace touchstone::explore
