#pragma once

#include <span>
#include <string>

#include "touchstone/shapetracker/merge/explain.h"

namespace touchstone::shapetracker {

/// A sentence that explains why a stack is or is not a single view, with the witness in plain
/// numbers. explanation: of these views.
std::string reason(std::span<const View> views, const Explanation& explanation);

/// The same for any stack. With variables, it must be one view for all their values; a refusal
/// names values for which it is none, and the witness there.
struct Reason {
  bool merged;
  bool decided;  // merged, or proved not to be a single view
  std::string text;
};
Reason reason(std::span<const View> views);

/// The same for a stack with variables, with the evidence of a refusal.
struct SymbolicReason : Reason {
  std::optional<Witness> witness{};  // if no view exists,
  symbolic::Values values{};         // with these values,
  std::vector<View> bound{};         // for this bound stack
};
SymbolicReason symbolic_reason(std::span<const View> views);

}  // namespace touchstone::shapetracker
