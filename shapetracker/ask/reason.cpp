#include "touchstone/shapetracker/ask/reason.h"

#include <algorithm>

#include "touchstone/shapetracker/ask/check.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"

namespace touchstone::shapetracker {
namespace {

std::string words(MergeClass why) {
  switch (why) {
    case MergeClass::OneView: return "it is one view";
    case MergeClass::Empty: return "no index is valid";
    case MergeClass::Coalesced: return "the view below is one run of evenly spaced elements";
    case MergeClass::LevelAffine:
      return "every relevant quotient of the flat index is affine on the shape";
    case MergeClass::Masked: return "the valid indices are a box and the address is affine on it";
    case MergeClass::CarryCancel: return "the carries between the digits of the flat index cancel";
  }
  return {};
}

std::string reads(std::span<const View> views, const std::vector<std::int64_t>& index) {
  const std::optional<std::int64_t> address = evaluate(views, index);
  return fmt::format("({}) {}", fmt::join(index, ","),
                     address ? fmt::format("reads {}", *address) : "is padding");
}

// Describes the points of a witness, what they read, and the contradiction.
std::string evidence(std::span<const View> views, const Witness& witness) {
  std::vector<std::string> points;
  for (const auto& point : witness.points) points.push_back(reads(views, point));
  const std::string all = fmt::format("{}", fmt::join(points, ", "));
  const auto step = [&](std::size_t from) {
    return *evaluate(views, witness.points[from + 1]) - *evaluate(views, witness.points[from]);
  };
  switch (witness.kind) {
    case Witness::Kind::Hole:
      return all +
             ": the last lies in the bounding box of the others, so the valid indices are not a "
             "box";
    case Witness::Kind::Bend:
      return fmt::format("{}: one index step moves the address by {} here and by {} there", all,
                         step(0), step(2));
    case Witness::Kind::TooFar:
    case Witness::Kind::NoAxis: return witness.str();
  }
  return {};
}

}  // namespace

std::string reason(std::span<const View> views, const Explanation& explanation) {
  if (explanation.reason) return words(*explanation.reason);
  if (explanation.witness) return evidence(views, *explanation.witness);
  return fmt::format("not decided after {} boxes of indices", explanation.result.nodes);
}

Reason reason(std::span<const View> views) {
  if (std::ranges::all_of(views, [](const View& view) { return view.is_concrete(); })) {
    const Explanation explanation = explain_merge(views);
    return {explanation.reason.has_value(), explanation.reason || explanation.witness,
            reason(views, explanation)};
  }
  SymbolicReason of_all = symbolic_reason(views);
  return Reason(std::move(of_all));
}

SymbolicReason symbolic_reason(std::span<const View> views) {
  SymbolicResult result = symbolic_merge(views);
  switch (result.answer) {
    case MergeAnswer::Merged:
      return {{true, true,
               "for all values the valid indices are a box and the address is affine on it"}};
    case MergeAnswer::NoSuchView: {
      std::vector<View> bound;
      for (const View& view : views) bound.push_back(view.bind(result.values));
      const std::string text =
          fmt::format("with {}, {}", str(result.values), evidence(bound, *result.witness));
      return {{false, true, text},
              std::move(result.witness),
              std::move(result.values),
              std::move(bound)};
    }
    case MergeAnswer::OverBudget: break;
  }
  return {{false, false, "not decided: " + result.why}};
}

}  // namespace touchstone::shapetracker
