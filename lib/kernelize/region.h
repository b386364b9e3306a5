#pragma once

#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/limits.h"
#include "touchstone/kernelize/walk.h"

namespace touchstone::kernelize {

/// The product; INT64_MAX if it is larger.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/// The terms per result of a reduce.
inline std::int64_t terms_added(const UOp& reduce) {
  Shape axes;
  for (const int axis : reduce.arg_as<UOpReduce>().axes)
    axes.push_back(reduce.src(0).shape()[static_cast<std::size_t>(axis)]);
  return max_elements(axes);
}

/// What is computed together for one node.
struct Region {
  int ops = 0, reduces = 0;
  std::vector<UOp> buffers;  // that it reads
  std::int64_t terms = 1;    // of all reduces, multiplied
  bool cheap = true;         // all ops are cheap
  bool too_long = false;     // to be counted

  /// True if it can be computed for every copy of its result.
  bool is_cheap() const {
    return cheap && reduces == 0 && ops <= kMostRecomputed && buffers.size() <= 1;
  }
};

/// The region of u, down to nodes for which `is_stored` is true.
template <class IsStored>
Region region_of(const UOp& u, const IsStored& is_stored) {
  constexpr int kMostNodes = 1024;
  Region out;
  int nodes = 0;
  walk_sources(u, [&](const UOp& at) {
    if (!has_values(at) || out.too_long) return false;
    out.too_long = ++nodes > kMostNodes;
    if (at != u && (is_stored(at) || at.op() == GraphOp::Buffer || at.op() == GraphOp::Assign)) {
      out.buffers.push_back(at);
      return false;
    }
    if (at.op() == GraphOp::ReduceAxis) {
      ++out.reduces;
      out.terms = times(out.terms, terms_added(at));
    } else if (is_elementwise(at.op())) {
      ++out.ops;
      const auto op = info(at.op()).kernel;
      out.cheap = out.cheap && (at.op() == GraphOp::Cast || at.op() == GraphOp::Bitcast ||
                                (op && info(*op).cheap));
    }
    return true;
  });
  return out;
}

}  // namespace touchstone::kernelize
