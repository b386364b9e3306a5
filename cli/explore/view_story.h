#pragma once

#include <optional>
#include <string>
#include <vector>

#include "touchstone/shapetracker/index/plain_index.h"

namespace touchstone::explore {

/// The layout of a first view that is not row-major: "4,1", "3", "0:2,1:3".
struct ViewStart {
  std::optional<std::string> strides, offset, mask;
};

/// The state of a chain after one movement operation.
struct ViewStep {
  std::string title;               // "reshape 5,2,5,2"; the shape itself first
  std::vector<View> composed;      // nothing merged; innermost first, like all stacks
  std::vector<View> views;         // merged so far
  std::vector<std::string> notes;  // merges and failed merges, with reasons
};

/// An address and its condition as text, and the cost of both.
struct IndexText {
  std::string index, valid;
  shapetracker::IndexCost cost;
};

struct ViewStory {
  std::vector<ViewStep> steps;  // the last is "simplified" if that changes something
  IndexText composed, simplified;
  std::vector<std::optional<sint>> strides;
  bool contiguous = false;
};

/// The words of a text, at blanks and line ends.
std::vector<std::string> words_in(const std::string& text);

/// Follows "10,10 permute 1,0 reshape 100"; with `variables` such as "n=2..9" also "n,2*n permute
/// 1,0". start: the initial layout. Throws ParseError or ShapeError on a wrong word.
ViewStory tell(const std::vector<std::string>& words,
               const std::vector<std::string>& variables = {}, const ViewStart& start = {});

}  // namespace touchstone::explore
