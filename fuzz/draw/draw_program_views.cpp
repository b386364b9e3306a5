// Statements that move elements, and combine such values with others.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "touchstone/fuzz/draw/program_draw.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {

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
      std::string steps;
      for (std::size_t i = 0; i < rank; ++i)
        steps += fmt::format("{}{}", i == 0 ? "" : ",", i == axis ? -1 : 1);
      y = emit(fmt::format("stride %{} {}", x, steps), t);
      break;
    }
    case 1: {
      std::string ends, keep;
      ProgramType padded = t;
      ++padded.shape[axis];
      for (std::size_t i = 0; i < rank; ++i) {
        ends += fmt::format("{}{}:0", i == 0 ? "" : ",", i == axis ? 1 : 0);
        keep += fmt::format("{}0:{}", i == 0 ? "" : ",", t.shape[i]);
      }
      y = emit(fmt::format("pad %{} {}", x, ends), padded);
      y = emit(fmt::format("shrink %{} {}", y, keep), t);
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
  ProgramType wide = type(x);
  ++wide.shape[axis];
  std::string ends;
  for (std::size_t i = 0; i < wide.shape.size(); ++i)
    ends += fmt::format("{}{}", i == 0 ? "" : ",", i != axis ? "0:0" : front ? "1:0" : "0:1");
  return emit(fmt::format("pad %{} {}", x, ends), wide);
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
  std::string keep;
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    // One element less, at the opposite end.
    const std::int64_t begin = i == axis && !front ? 1 : 0;
    keep += fmt::format("{}{}:{}", i == 0 ? "" : ",", begin, begin + t.shape[i]);
  }
  lengthened(last(), axis, front);
  if (chooser_.chance(1, 2)) emit(fmt::format("shrink %{} {}", last(), keep), t);
  ProgramType seen = type(last());
  std::ranges::reverse(seen.shape);
  if (chooser_.chance(1, 2)) emit(fmt::format("reshape %{} {}", last(), words(seen.shape)), seen);
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
    ProgramType seen = type(y);
    std::ranges::reverse(seen.shape);
    if (chooser_.chance(1, 2)) y = emit(fmt::format("reshape %{} {}", y, words(seen.shape)), seen);
  }
  const ProgramType all = type(y);
  const int axis = chooser_.index(all.shape.size());
  ProgramType rows = all;
  rows.shape[static_cast<std::size_t>(axis)] = 1;
  const std::string_view name = chooser_.chance(1, 2) ? "reduce_sum" : "reduce_max";
  const int reduced = emit(fmt::format("{} %{} {}", name, y, axis), rows);
  int wide = emit(fmt::format("expand %{} {}", reduced, words(all.shape)), all);
  if (!at_hand && chooser_.chance(1, 4)) {
    ProgramType seen = all;
    std::ranges::reverse(seen.shape);
    wide = emit(fmt::format("reshape %{} {}", wide, words(seen.shape)), seen);
    y = input_like(seen);
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
  const ProgramType t = type(x);
  Sizes now = t.shape;
  std::string argument;
  const auto add = [&](const std::string& word) {
    argument += (argument.empty() ? "" : ",") + word;
  };
  const std::int64_t most = smooth_ ? 24 : 96;
  std::string_view name;
  switch (chooser_.below(6)) {
    case 0: {
      name = "reshape";
      now.push_back(1);
      if (const std::int64_t elements = product(t.shape); elements > 0)
        now = chooser_.factors(elements, 4);
      argument = words(now);
      break;
    }
    case 1: {
      name = "permute";
      const Sizes order = chooser_.order(t.shape.size());
      for (std::size_t i = 0; i < order.size(); ++i)
        now[i] = t.shape[static_cast<std::size_t>(order[i])];
      argument = words(order);
      break;
    }
    case 2:
      name = "pad";
      for (std::int64_t& size : now) {
        std::int64_t a = chooser_.between(0, 2), b = chooser_.between(0, 1);
        size += a + b;
        if (product(now) > most) {
          size -= a + b;
          a = b = 0;
        }
        add(fmt::format("{}:{}", a, b));
      }
      break;
    case 3:
      name = "shrink";
      for (std::int64_t& size : now) {
        const std::int64_t a = chooser_.between(0, std::min<std::int64_t>(size, 1));
        const std::int64_t b = chooser_.between(0, std::min<std::int64_t>(size - a, 1));
        const bool all = a + b == size && smooth_;  // keep something
        add(all ? fmt::format("0:{}", size) : fmt::format("{}:{}", a, size - b));
        if (!all) size -= a + b;
      }
      break;
    case 4:
      name = "expand";
      for (std::int64_t& size : now) {
        const std::int64_t wide = size == 1 ? chooser_.between(1, 3) : size;
        if (product(now) * wide <= most * std::max<std::int64_t>(size, 1)) size = wide;
      }
      argument = words(now);
      break;
    default:
      name = "stride";
      for (std::int64_t& size : now) {
        constexpr std::int64_t kSteps[] = {1, -1, 2, -2};
        const std::int64_t by = kSteps[chooser_.below(4)];
        const std::int64_t width = by < 0 ? -by : by;
        size = (size + width - 1) / width;
        add(fmt::format("{}", by));
      }
      break;
  }
  emit(fmt::format("{} %{} {}", name, x, argument.empty() ? "()" : argument), {now, t.dtype});
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
  ProgramType seen = type(last());
  std::ranges::reverse(seen.shape);
  const int view = emit(fmt::format("reshape %{} {}", last(), words(seen.shape)), seen);
  chooser_.chance(1, 2) ? unary(view) : joined(view, input_like(seen));
}

void ProgramDraw::overwritten(int table) {
  const ProgramType t = type(table);
  if (t.shape[0] == 0 || !chooser_.chance(1, 6)) return;
  const int read = last();
  const int now = emit(fmt::format("assign %{} %{}", table, operand(t)), t);
  ProgramType first = t;
  first.shape[0] = 1;
  std::string keep = "0:1";
  for (std::size_t i = 1; i < t.shape.size(); ++i) keep += fmt::format(",0:{}", t.shape[i]);
  const int row = emit(fmt::format("shrink %{} {}", now, keep), first);
  const ProgramType all = type(read);
  const int beside = emit(fmt::format("reshape %{} {}", row, words(all.shape)), all);
  chooser_.chance(1, 2) ? joined(read, beside) : joined(beside, read);
}

}  // namespace touchstone::fuzz
