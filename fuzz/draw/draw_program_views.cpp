// Statements that move elements, and combine such values with others.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "touchstone/fuzz/draw/program_draw.h"
#include "touchstone/fuzz/index/movement_draw.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {

namespace {

using Kind = MovementOp::Kind;

// Nothing padded, or all kept, along each axis.
MovementOp ends_of(Kind kind, const std::vector<std::int64_t>& shape) {
  MovementOp op{.kind = kind};
  for (const std::int64_t size : shape) op.ends.emplace_back(0, kind == Kind::Pad ? 0 : size);
  return op;
}

}  // namespace

int ProgramDraw::moved(int x, const MovementOp& op) {
  const Shape from(type(x).shape.begin(), type(x).shape.end());
  ProgramType to{{}, type(x).dtype};
  const ShapeTracker after = apply(ShapeTracker::contiguous(from), op);
  for (const sint& size : after.shape()) to.shape.push_back(size.as_int());
  std::string text = movement_text(op);
  return emit(text.insert(text.find(' '), fmt::format(" %{}", x)), std::move(to));
}

int ProgramDraw::reversed(int x) {
  Sizes shape = type(x).shape;
  std::ranges::reverse(shape);
  return emit(fmt::format("reshape %{} {}", x, words(shape)), {shape, type(x).dtype});
}

void ProgramDraw::meet(int x) {
  const ProgramType t = type(x);
  const std::size_t rank = t.shape.size();
  if (smooth_ || rank == 0) {
    unary(x);
    return;
  }
  int y = x;
  const auto axis = static_cast<std::size_t>(chooser_.index(rank));
  switch (chooser_.below(3)) {
    case 0: {
      MovementOp flip{.kind = Kind::Stride, .steps = Sizes(rank, 1)};
      flip.steps[axis] = -1;
      y = moved(x, flip);
      break;
    }
    case 1: {
      MovementOp pad = ends_of(Kind::Pad, t.shape);
      pad.ends[axis].first = 1;
      y = moved(moved(x, pad), ends_of(Kind::Shrink, t.shape));
      break;
    }
    default: {
      Sizes order(rank);
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = 0; i < rank; ++i)
        if (i != axis && t.shape[i] == t.shape[axis]) std::swap(order[i], order[axis]);
      y = emit(fmt::format("permute %{} {}", x, words(order)), t);
    }
  }
  if (chooser_.chance(1, 3)) {
    unary(y);
    y = last();
  } else if (chooser_.chance(1, 4)) {
    y = emit(fmt::format("contiguous %{}", y), t);
  }
  chooser_.chance(1, 2) ? joined(x, y) : joined(y, x);
}

int ProgramDraw::lengthened(int x, std::size_t axis, bool front) {
  MovementOp pad = ends_of(Kind::Pad, type(x).shape);
  (front ? pad.ends[axis].first : pad.ends[axis].second) = 1;
  return moved(x, pad);
}

void ProgramDraw::padded(int x) {
  if (smooth_ || type(x).shape.empty()) return unary(x);
  if (chooser_.chance(1, 6)) return padded_alike(x);
  chooser_.chance(1, 2) ? unary(x) : binary(x);
  if (chooser_.chance(1, 2)) {
    const int a = last();
    const ProgramType own = type(a);
    unary(operand(own));
    if (const int b = last(); type(b) == type(a))
      chooser_.chance(1, 2) ? joined(a, b) : joined(b, a);
  }
  if (chooser_.chance(1, 3)) reduce(last());
  const ProgramType t = type(last());
  const auto axis = static_cast<std::size_t>(chooser_.index(t.shape.size()));
  const bool front = chooser_.chance(1, 2);
  MovementOp keep = ends_of(Kind::Shrink, t.shape);
  if (!front)  // one element less, at the opposite end
    keep.ends[axis] = {1, t.shape[axis] + 1};
  lengthened(last(), axis, front);
  if (chooser_.chance(1, 2)) moved(last(), keep);
  if (chooser_.chance(1, 2)) reversed(last());
  if (chooser_.chance(1, 2)) chooser_.chance(1, 2) ? reduce(last()) : unary(last());
}

void ProgramDraw::padded_alike(int x) {
  unary(x);
  const int first = last();
  unary(first);
  const int second = last();
  if (type(second) != type(first)) return;
  const auto axis = static_cast<std::size_t>(chooser_.index(type(x).shape.size()));
  const bool front = chooser_.chance(1, 2);
  const int a = lengthened(first, axis, front), b = lengthened(second, axis, front);
  chooser_.chance(1, 2) ? joined(a, b) : joined(b, a);
}

void ProgramDraw::reread(int x) {
  if (smooth_ || type(x).shape.empty()) return unary(x);
  const ProgramType t = type(x);
  int y = x;
  std::vector<int> of{x};
  for (std::uint64_t more = 1 + chooser_.below(4); more > 0; --more) {
    of.push_back(input_like(t));
    joined(y, of.back());
    y = last();
  }
  const bool at_hand = of.size() > 3 && chooser_.chance(1, 2);
  if (!at_hand && chooser_.chance(1, 2)) {
    const auto along = static_cast<std::size_t>(chooser_.index(t.shape.size()));
    y = lengthened(y, along, chooser_.chance(1, 2));
    if (chooser_.chance(1, 2)) y = reversed(y);
  }
  const ProgramType all = type(y);
  const int axis = chooser_.index(all.shape.size());
  ProgramType rows = all;
  rows.shape[static_cast<std::size_t>(axis)] = 1;
  const std::string_view name = chooser_.chance(1, 2) ? "reduce_sum" : "reduce_max";
  const int reduced = emit(fmt::format("{} %{} {}", name, y, axis), rows);
  int wide = emit(fmt::format("expand %{} {}", reduced, words(all.shape)), all);
  if (!at_hand && chooser_.chance(1, 4)) {
    wide = reversed(wide);
    y = input_like(type(wide));
  }
  chooser_.chance(1, 2) ? joined(y, wide) : joined(wide, y);
  if (at_hand)
    for (const int input : of) joined(last(), input);
  if (chooser_.chance(2, 3)) reduce(last());
}

void ProgramDraw::broadcast(int x) {
  const ProgramType t = type(x);
  std::vector<int> fitting;
  for (int i = last(); i >= 0 && !smooth_; --i) {
    bool fits = type(i).dtype == t.dtype && type(i).shape.size() == t.shape.size() &&
                type(i).shape != t.shape;
    for (std::size_t k = 0; fits && k < t.shape.size(); ++k)
      fits = t.shape[k] == 1 || t.shape[k] == type(i).shape[k];
    if (fits) fitting.push_back(i);
  }
  if (fitting.empty()) {
    binary(x);
    return;
  }
  const int y = chooser_.pick(fitting);
  const int wide = emit(fmt::format("expand %{} {}", x, words(type(y).shape)), type(y));
  chooser_.chance(1, 2) ? joined(wide, y) : joined(y, wide);
}

void ProgramDraw::movement(int x) {
  Sizes now = type(x).shape;
  MovementDraw draw(chooser_, now);
  const std::int64_t most = smooth_ ? 24 : 96;
  const auto drawn = [&]() -> MovementOp {
    switch (chooser_.below(6)) {
      case 0:
        if (const std::int64_t elements = product(now); elements > 0)
          return draw.reshape(chooser_.factors(elements, 4));
        now.push_back(1);
        return draw.reshape(now);
      case 1: return draw.permute();
      case 2:
        return draw.ends(
            Kind::Pad,
            [&](std::int64_t) {
              const std::int64_t a = chooser_.between(0, 2);
              return std::pair{a, chooser_.between(0, 1)};
            },
            most);
      case 3:
        return draw.ends(Kind::Shrink, [&](std::int64_t size) {
          const std::int64_t a = chooser_.between(0, std::min<std::int64_t>(size, 1));
          const std::int64_t b = chooser_.between(0, std::min<std::int64_t>(size - a, 1));
          const std::int64_t part = a + b == size && smooth_ ? 0 : 1;  // keep something
          return std::pair{a * part, b * part};
        });
      case 4: {
        Sizes to = now;
        for (std::int64_t& size : to) {
          const std::int64_t wide = size == 1 ? chooser_.between(1, 3) : size;
          if (product(to) * wide <= most * std::max<std::int64_t>(size, 1)) size = wide;
        }
        return draw.expand(std::move(to));
      }
      default:
        constexpr std::int64_t kSteps[] = {1, -1, 2, -2};
        return draw.stride([&](std::int64_t) { return kSteps[chooser_.below(4)]; });
    }
  };
  moved(x, drawn());
}

void ProgramDraw::gathered(int x) {
  const ProgramType t = type(x);
  if (smooth_) {
    if (t.shape.empty() || t.shape[0] == 0) return unary(x);
    Sizes rows(static_cast<std::size_t>(chooser_.between(1, 3)));
    for (std::int64_t& row : rows) row = chooser_.between(-t.shape[0], t.shape[0] - 1);
    ProgramType chosen = t;
    chosen.shape[0] = std::ssize(rows);
    emit(fmt::format("rows %{} {}", x, words(rows)), chosen);
    return;
  }
  if (!t.shape.empty() && chooser_.chance(1, 2)) {
    const ProgramType row{Sizes(t.shape.begin() + 1, t.shape.end()), t.dtype};
    const int at = operand({row.shape, DType::Int64});
    emit(fmt::format("gather %{} %{}", x, at), row);
    return overwritten(x);
  }
  const bool pads = !t.shape.empty() && chooser_.chance(1, 4);
  int at = x;
  if (pads) {  // pad a computed value
    unary(at);
    at = last();
  }
  if (type(at).dtype != DType::Int64)
    at = emit(fmt::format("cast %{} int64", at), {type(at).shape, DType::Int64});
  const auto longer = [&](const Sizes& sizes) {
    const std::size_t axis = chooser_.below(sizes.size());
    return lengthened(last(), axis, chooser_.chance(1, 2));
  };
  if (pads) at = longer(t.shape);
  const Sizes shape = type(at).shape;
  ProgramType table{shape, chooser_.pick(types_)};
  table.shape.insert(table.shape.begin(), chooser_.between(0, 4));
  if (product(table.shape) > 96) table.shape[0] = 1;
  const int from = operand(table);
  emit(fmt::format("gather %{} %{}", from, at), {shape, table.dtype});
  overwritten(from);
  if (shape.empty() || !chooser_.chance(1, 5)) return;
  // Gathers through views that no single view can express.
  longer(shape);
  const int view = reversed(last());
  chooser_.chance(1, 2) ? unary(view) : joined(view, input_like(type(view)));
}

void ProgramDraw::overwritten(int table) {
  const ProgramType t = type(table);
  if (t.shape[0] == 0 || !chooser_.chance(1, 6)) return;
  const int read = last();
  const int now = emit(fmt::format("assign %{} %{}", table, operand(t)), t);
  MovementOp first = ends_of(Kind::Shrink, t.shape);
  first.ends[0].second = 1;
  const int row = moved(now, first);
  const ProgramType all = type(read);
  const int beside = emit(fmt::format("reshape %{} {}", row, words(all.shape)), all);
  chooser_.chance(1, 2) ? joined(read, beside) : joined(beside, read);
}

}  // namespace touchstone::fuzz
