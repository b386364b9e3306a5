#pragma once

#include <map>
#include <optional>
#include <string>

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone::explore {

/// The variables that sizes may be written with, by name.
using Names = std::map<std::string, symbolic::Node>;

/// "n=2..9" as a variable with these bounds, both inclusive. Throws ParseError on a word that does
/// not parse, an empty range, or a name that is there twice.
Names parse_ranges(const std::vector<std::string>& words);

/// "10,10" as a shape, "()" as the one of rank 0; with names also "n,2*n". Throws ParseError.
Shape parse_shape(const std::string& word, const Names& names = {});

/// How the first view lies where it is not row-major: "4,1", "3", "0:2,1:3".
struct ViewStart {
  std::optional<std::string> strides, offset, mask;
};
/// The tracker of a shape that lies so. Throws ParseError and ShapeError.
ShapeTracker parse_start(const std::string& shape, const ViewStart& start, const Names& names);

/// A movement operation in words, as `permute 1,0`, `pad 0:1,2:0`, `stride -1,2`, `flip 0`,
/// `as_strided 2,3:1,2:0`.
/// Throws ParseError on words that do not parse, ShapeError where the shape does not allow it.
ShapeTracker apply_words(const ShapeTracker& st, const std::string& op, const std::string& argument,
                         const Names& names = {});

}  // namespace touchstone::explore
