#pragma once

#include <optional>
#include <string>
#include <vector>

#include "touchstone/cli/explore/view_words.h"
#include "touchstone/shapetracker/index/plain_index.h"

namespace touchstone::explore {

/// A chain of movement operations after one of them.
struct ViewStep {
  std::string title;               // "reshape 5,2,5,2"; the shape itself first
  std::vector<View> composed;      // with nothing merged; innermost first, as all stacks
  std::vector<View> views;         // as merged so far
  std::vector<std::string> notes;  // merges, with the reason, and failed merges, with theirs
};

/// An address and its condition as text, and what both cost.
struct IndexText {
  std::string index, valid;
  shapetracker::IndexCost cost;
};

struct ViewStory {
  std::vector<ViewStep> steps;  // the last is "simplified" where that changes something
  IndexText composed, simplified;
  std::vector<std::optional<sint>> strides;
  bool contiguous = false;
};

/// Follows "10,10 permute 1,0 reshape 100"; `variables` as "n=2..9", then also "n,2*n permute 1,0".
/// start: how the shape lies. Throws ParseError or ShapeError on a wrong word.
ViewStory tell(const std::vector<std::string>& words,
               const std::vector<std::string>& variables = {}, const ViewStart& start = {});

}  // namespace touchstone::explore
