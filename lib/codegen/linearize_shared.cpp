// Kernels with several reduces: where each is placed, and which are equal.
#include <algorithm>

#include "touchstone/codegen/linearizer.h"

namespace touchstone::codegen {

int Linearizer::depth_of(const LazyOp& reduce, int indices) const {
  const StillAxes still = still_[&reduce];
  const Indices& at = indices_[static_cast<std::size_t>(indices)];
  int depth = builder_.certain_depth();
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (reduce.shape()[i] == sint(1) || is_still(still, i)) continue;
    for (const symbolic::Node& v : symbolic::variables(at[i]))
      depth = std::max(depth, builder_.depth(names_.at(symbolic::variable_name(v))));
  }
  return depth;
}

const Compact& Linearizer::compact_of(const LazyOp& reduce) {
  const auto [it, fresh] = compact_.try_emplace(&reduce);
  if (fresh) it->second = compact(LazyOpPtr(LazyOpPtr(), &reduce), still_[&reduce]);
  return it->second;
}

Linearizer::Indices Linearizer::loops_of(const LazyOp& reduce, int indices) {
  Indices loops;
  for (const int axis : compact_of(reduce).axes) {
    const auto i = static_cast<std::size_t>(axis);
    loops.push_back(reduce.shape()[i] == sint(1) ? symbolic::Node(0)
                                                 : indices_[static_cast<std::size_t>(indices)][i]);
  }
  return loops;
}

int Linearizer::known_result(const LazyOp& reduce, int indices) {
  const auto known = results_.find(compact_of(reduce).node);
  if (known == results_.end()) return -1;
  const Indices loops = loops_of(reduce, indices);
  for (const Result& result : known->second)
    if (result.loops == loops && builder_.is_visible(result.value)) return result.value;
  return -1;
}

void Linearizer::add_result(const LazyOp& reduce, int indices, int value) {
  results_[compact_of(reduce).node].push_back({loops_of(reduce, indices), value});
}

}  // namespace touchstone::codegen
