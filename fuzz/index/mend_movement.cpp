// Adjusts movement operations to the shape before them.
#include <algorithm>
#include <numeric>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {

namespace {

using Kind = MovementOp::Kind;

// Reduces each wanted size to its greatest common divisor with the remaining element count; one of
// them takes the rest.
void divide_among(std::int64_t count, Shape& wanted) {
  if (wanted.empty() || count == 0) return;
  for (sint& size : wanted) {
    const std::int64_t kept = std::gcd(size.as_int(), count);
    size = kept;
    count /= kept;
  }
  wanted.front() = wanted.front() * count;
}

// Adjusts one size of a reshape to the element count; if none can, all of them.
void mend_reshape(const Shape& shape, Shape& wanted) {
  const sint count = elements(shape);
  for (sint& size : wanted) {
    sint rest = 1;
    for (const sint& s : wanted)
      if (&s != &size) rest = rest * s;
    if (certainly_eq(rest * size, count)) return;
    if (certainly_eq(rest, 0)) continue;
    const sint fit = floor_div(count, rest);
    if (!certainly_eq(fit * rest, count)) continue;
    size = fit;
    return;
  }
  const auto is_number = [](const sint& size) { return size.is_int(); };
  if (count.is_int() && std::ranges::all_of(wanted, is_number))
    divide_among(count.as_int(), wanted);
}

}  // namespace

Shape mend(const Shape& shape, MovementOp& op) {
  Shape after = shape;
  const std::size_t rank = shape.size();
  const auto same_rank = [&](std::size_t other) {
    if (other != rank) throw ShapeError("another rank");
  };
  switch (op.kind) {
    case Kind::Reshape: mend_reshape(shape, op.shape); return op.shape;
    case Kind::AsStrided: return op.shape;
    case Kind::Permute:
      same_rank(op.order.size());
      for (std::size_t i = 0; i < rank; ++i)
        after[i] = shape[static_cast<std::size_t>(op.order[i]) % rank];
      return after;
    case Kind::Expand:
      same_rank(op.shape.size());
      for (std::size_t i = 0; i < rank; ++i)
        if (!certainly_eq(shape[i], 1)) op.shape[i] = shape[i];
      return op.shape;
    case Kind::Pad:
      same_rank(op.ends.size());
      for (std::size_t i = 0; i < rank; ++i)
        after[i] = shape[i] + op.ends[i].first + op.ends[i].second;
      return after;
    case Kind::Shrink:
      same_rank(op.ends.size());
      for (std::size_t i = 0; i < rank; ++i) {
        auto& [begin, end] = op.ends[i];
        if (certainly_lt(shape[i], end)) end = shape[i];
        if (certainly_lt(end, begin)) begin = end;
        after[i] = end - begin;
      }
      return after;
    case Kind::Stride:
      same_rank(op.steps.size());
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t step = op.steps[i] < 0 ? -op.steps[i] : op.steps[i];
        if (step != 1) after[i] = floor_div(shape[i] + (step - 1), step);
      }
      return after;
  }
  return after;
}

}  // namespace touchstone::fuzz
