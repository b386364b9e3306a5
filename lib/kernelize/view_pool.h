#pragma once

#include <unordered_set>

#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::kernelize {

/// Keeps views so that equal ones have the same address, valid as long as the pool.
class ViewPool {
 public:
  const ShapeTracker* intern(ShapeTracker st) { return &*views_.insert(std::move(st)).first; }

  /// `inner` as seen through `outer`, a view of this pool. `merges`: merges views where possible.
  const ShapeTracker* through(const ShapeTracker& inner, const ShapeTracker* outer,
                              bool merges = true) {
    if (inner.is_contiguous()) return outer;
    if (outer->is_contiguous() && outer->shape() == inner.shape()) return intern(inner);
    ShapeTracker both = inner + *outer;
    return intern(merges ? merge_outermost(both) : std::move(both));
  }

 private:
  struct Hash {
    std::size_t operator()(const ShapeTracker& st) const {
      return static_cast<std::size_t>(st.hash());
    }
  };
  std::unordered_set<ShapeTracker, Hash> views_;
};

}  // namespace touchstone::kernelize
