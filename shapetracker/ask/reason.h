#pragma once

#include <span>
#include <string>

#include "touchstone/shapetracker/merge/explain.h"

namespace touchstone::shapetracker {

/// Why a stack is one view or none, in a sentence for a person; a refusal gives its witness in
/// plain numbers. explanation: of these views.
std::string reason(std::span<const View> views, const Explanation& explanation);

/// The same for any stack, also with variables, for all values of which it must be one view; a
/// refusal gives values at which it is none, and the witness there.
struct Reason {
  bool merged;
  bool decided;  // merged, or proved to be no view
  std::string text;
};
Reason reason(std::span<const View> views);

/// The same of a stack with variables, with what shows a refusal.
struct SymbolicReason : Reason {
  std::optional<Witness> witness{};  // where there is no view with
  symbolic::Values values{};         // these values,
  std::vector<View> bound{};         // which make the stack this one
};
SymbolicReason symbolic_reason(std::span<const View> views);

}  // namespace touchstone::shapetracker
