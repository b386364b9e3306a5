#include "touchstone/shapetracker/merge/explain.h"

namespace touchstone::shapetracker {

const char* name(MergeClass reason) {
  switch (reason) {
    case MergeClass::OneView:
      return "one view";
    case MergeClass::Empty:
      return "empty";
    case MergeClass::Coalesced:
      return "coalesced";
    case MergeClass::LevelAffine:
      return "level-affine";
    case MergeClass::Masked:
      return "masked";
    case MergeClass::CarryCancel:
      return "carry-cancel";
  }
  return "";
}

std::string Witness::str() const {
  std::vector<std::string> names;
  for (const auto& point : points) names.push_back(fmt::format("({})", fmt::join(point, ", ")));
  switch (kind) {
    case Kind::Hole: {
      const std::string gap = names.back();
      names.pop_back();
      return fmt::format("{} is padding although it lies between {}, which are not", gap,
                         fmt::join(names, ", "));
    }
    case Kind::Bend:
      return fmt::format("the address changes differently from {} to {} than from {} to {}",
                         names[0], names[1], names[2], names[3]);
    case Kind::TooFar:
      return fmt::format("the view that fits around {} has an offset or a stride beyond 64 bits",
                         names[0]);
    case Kind::NoAxis:
      return "the only point is padding, and a view of rank 0 has no axis to mask";
  }
  return "";
}

std::string Explanation::str() const {
  if (reason) return fmt::format("merged ({}): {}", name(*reason), result.view->str());
  if (witness) return "no single view: " + witness->str();
  return fmt::format("over budget: not decided after {} boxes", result.nodes);
}

}  // namespace touchstone::shapetracker
