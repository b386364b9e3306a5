#include "touchstone/fuzz/cases/far_case.h"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/hash.h"
#include "touchstone/fuzz/cases/program.h"

namespace touchstone::fuzz {
using Sizes = std::vector<std::int64_t>;

// A namespace of its own avoids name clashes.
namespace far {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{5} << 30;
constexpr std::string_view kPrograms[] = {"load", "neg", "sum", "max", "rows"};

std::int64_t count(const Sizes& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) throw ParseError(fmt::format("a size of {}", size));
    n = checked_mul(n, size);
  }
  return n;
}

Sizes apart(std::int64_t at, const Sizes& shape) {
  Sizes index(shape.size(), 0);
  for (std::size_t i = shape.size(); i-- > 0; at /= shape[i]) index[i] = at % shape[i];
  return index;
}
std::int64_t flat(const Sizes& index, const Sizes& shape) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return at;
}

// The shapes on the way, and what each operation reads.
struct Walk {
  explicit Walk(const ViewCase& chain) : shapes{concrete(chain.base)} {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    for (const MovementOp& op : chain.ops) {
      const auto source = op.kind == MovementOp::Kind::AsStrided
                              ? std::nullopt
                              : source_of(shapes.back(), op, kMost);
      if (!source)
        throw ParseError(fmt::format("{} does not fit the shape ({})", op.str(),
                                     fmt::join(shapes.back(), ", ")));
      sources.push_back(*source);
      shapes.emplace_back();
      for (const Source::Axis& axis : source->axes) shapes.back().push_back(axis.size);
      (void)count(shapes.back());
    }
  }
  // Of the element at a place of the result; -1: padding.
  std::int64_t address(std::int64_t at) const {
    for (std::size_t k = sources.size(); k-- > 0 && at >= 0;)
      at = sources[k].at(apart(at, shapes[k + 1]));
    return at;
  }
  std::vector<Sizes> shapes;
  std::vector<Source> sources;
};

std::uint64_t cut(DType type, std::uint64_t bits) {
  const std::size_t width = 8 * itemsize(type);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

std::uint64_t larger(DType type, std::uint64_t a, std::uint64_t b) {
  const auto place = [&](std::uint64_t x) {  // flips the sign bit of signed numbers
    return is_unsigned(type) ? x : x ^ std::uint64_t{1} << (8 * itemsize(type) - 1);
  };
  return place(a) > place(b) ? a : b;
}

}  // namespace
}  // namespace far

FarCase FarCase::parse(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find(" | ");
    parts.push_back(rest.substr(0, end));
    if (end == rest.npos) break;
    rest.remove_prefix(end + 3);
  }
  if (parts.size() != 3)
    throw ParseError("a case of 'far' must be TYPE | SHAPE OPERATION ARGUMENT ... | PROGRAM");
  FarCase c;
  try {
    c.dtype = parse_dtype(std::string(parts[0]));
    if (is_float(c.dtype) || is_bool(c.dtype))
      throw ParseError(fmt::format("{} are not integers", parts[0]));
    c.chain = ViewCase::parse(parts[1]);
    if (!c.chain.variables.empty()) throw ParseError("a case of 'far' has no variables");
    const auto words = split(parts[2], ' ');
    const auto known = std::ranges::find(far::kPrograms, words.empty() ? "" : words[0]);
    if (known == std::end(far::kPrograms))
      throw ParseError("a program must be load, neg, sum, max or rows");
    c.program = static_cast<Kernel>(known - far::kPrograms);
    const bool worded = c.program >= Kernel::Sum;
    if (words.size() != (worded ? 2U : 1U)) throw ParseError("wrong number of arguments");
    for (const std::string_view word : split(worded ? words[1] : "", ',')) {
      if (c.program == Kernel::Rows)
        c.rows.push_back(number(word));
      else
        c.axes.push_back(static_cast<int>(number(word)));
    }
    const far::Walk walk(c.chain);
    const Sizes &base = walk.shapes.front(), &last = walk.shapes.back();
    if (far::count(base) == 0 ||
        far::count(base) > far::kMostBytes / static_cast<std::int64_t>(itemsize(c.dtype)))
      throw ParseError("the buffer has no elements, or more than 5 GiB");
    if (c.program == Kernel::Rows) {
      if (last.size() != 2 || last[1] != std::ssize(c.rows))
        throw ParseError("rows need two axes and one position per column");
    } else if (far::count(last) > kMostFar) {
      throw ParseError(fmt::format("more than {} elements", kMostFar));
    }
    for (const int axis : c.axes)
      if (axis < 0 || axis >= std::ssize(last)) throw ParseError(fmt::format("axis {}", axis));
    std::ranges::sort(c.axes);
    if (std::ranges::adjacent_find(c.axes) != c.axes.end())
      throw ParseError("an axis is given twice");
  } catch (const ParseError&) {
    throw;
  } catch (const Error& e) {
    throw ParseError(e.what());
  }
  return c;
}

std::string FarCase::str() const {
  std::string text = fmt::format("{} | {} | {}", name(dtype), chain.str(),
                                 far::kPrograms[static_cast<std::size_t>(program)]);
  if (program == Kernel::Rows) return text + fmt::format(" {}", fmt::join(rows, ","));
  return program < Kernel::Sum ? text : text + fmt::format(" {}", fmt::join(axes, ","));
}

std::int64_t FarCase::elements() const { return far::count(concrete(chain.base)); }

LazyOpPtr FarCase::kernel() const {
  ShapeTracker st = ShapeTracker::contiguous(chain.base);
  for (const MovementOp& op : chain.ops) st = apply(st, op);
  LazyOpPtr x;
  if (program == Kernel::Rows) {
    const LazyOpPtr at =
        LazyOp::load(2, DType::Int64, ShapeTracker::contiguous({std::ssize(rows)}));
    x = LazyOp::gather(1, dtype, st, at);
  } else {
    x = LazyOp::load(1, dtype, st);
  }
  if (program == Kernel::Neg) x = LazyOp::unary(Op::Neg, x);
  if (!axes.empty())
    x = LazyOp::reduce(program == Kernel::Sum ? Op::ReduceSum : Op::ReduceMax, x, axes);
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

std::uint64_t FarCase::at(std::int64_t address) {
  return hash_mix(0xfa4, static_cast<std::uint64_t>(address));
}

std::vector<std::int64_t> FarCase::cells() const {
  const far::Walk walk(chain);
  const Sizes& last = walk.shapes.back();
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    out.push_back(row < 0 || row >= last[0] ? -1 : walk.address(row * last[1] + i));
  }
  for (std::int64_t i = 0; program != Kernel::Rows && i < far::count(last); ++i)
    out.push_back(walk.address(i));
  return out;
}

std::vector<std::uint64_t> FarCase::value() const {
  std::vector<std::uint64_t> read;
  for (const std::int64_t cell : cells()) read.push_back(cell < 0 ? 0 : far::cut(dtype, at(cell)));
  if (program == Kernel::Neg)
    for (std::uint64_t& x : read) x = far::cut(dtype, std::uint64_t{0} - x);
  if (axes.empty()) return read;
  const Sizes last = far::Walk(chain).shapes.back();
  Sizes left = last;
  for (const int axis : axes) left[static_cast<std::size_t>(axis)] = 1;
  const std::uint64_t least =
      is_unsigned(dtype) ? 0 : std::uint64_t{1} << (8 * itemsize(dtype) - 1);
  std::vector<std::uint64_t> out(static_cast<std::size_t>(far::count(left)),
                                 program == Kernel::Sum ? 0 : least);
  for (std::size_t i = 0; i < read.size(); ++i) {
    Sizes index = far::apart(static_cast<std::int64_t>(i), last);
    for (const int axis : axes) index[static_cast<std::size_t>(axis)] = 0;
    std::uint64_t& to = out[static_cast<std::size_t>(far::flat(index, left))];
    to = program == Kernel::Sum ? far::cut(dtype, to + read[i]) : far::larger(dtype, to, read[i]);
  }
  return out;
}

std::vector<std::string> smaller_far(const FarCase& c) {
  std::vector<std::string> out;
  const auto add = [&](const FarCase& smaller) {
    const std::string text = smaller.str();
    try {
      (void)FarCase::parse(text);
      out.push_back(text);
    } catch (const ParseError&) {
      return;
    }
  };
  FarCase plain = c;
  plain.program = FarCase::Kernel::Load;
  plain.axes.clear();
  if (c.program != FarCase::Kernel::Rows) add(plain);
  for (const std::string& text : smaller_views(c.chain)) {
    FarCase smaller = c;
    smaller.chain = ViewCase::parse(text);
    add(smaller);
    if (!c.axes.empty()) {  // drop an axis
      smaller.axes.pop_back();
      if (!smaller.axes.empty()) add(smaller);
    }
  }
  for (std::size_t i = 0; i < c.rows.size(); ++i)
    for (const std::int64_t to : {std::int64_t{0}, c.rows[i] / 2, c.rows[i] - 1}) {
      FarCase smaller = c;
      smaller.rows[i] = to;
      add(smaller);
    }
  return out;
}

Measure measure_of(const FarCase& c) {
  Measure m = measure_of(c.chain);
  m[0] += c.program == FarCase::Kernel::Load ? 0 : 1;
  m[1] += std::ssize(c.axes);
  for (const std::int64_t row : c.rows) m[3] += std::max<std::int64_t>(row, 1);
  return m;
}

}  // namespace touchstone::fuzz
