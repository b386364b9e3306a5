#pragma once

#include <vector>

#include "touchstone/uop/uop_map.h"

namespace touchstone::kernelize {

/// Calls visit(node) once for `from` and each node reached from it through sources: those of a node
/// for which `visit` returns true. The last source comes first.
template <class Visit>
void walk_sources(const UOp& from, Visit&& visit) {
  std::vector<UOp> open{from};
  UOpSet seen;
  while (!open.empty()) {
    const UOp at = std::move(open.back());
    open.pop_back();
    if (seen.add(at) && visit(at)) open.insert(open.end(), at.src().begin(), at.src().end());
  }
}

/// True for an array of values, unlike a DEVICE or a SINK.
inline bool has_values(const UOp& u) { return u.st() != nullptr && !u.dtype().is_none(); }

}  // namespace touchstone::kernelize
