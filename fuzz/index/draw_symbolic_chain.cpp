#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {
namespace {

using Kind = MovementOp::Kind;

/// Chains whose numbers use up to four variables. Operations that the variables' bounds do not
/// prove valid are skipped. Some chains are wide: of one or two variables with many values, between
/// the few that a symbolic merge samples.
class SymbolicChainDraw {
 public:
  explicit SymbolicChainDraw(Chooser& chooser) : chooser_(chooser) {}

  std::string draw(std::int64_t wanted) {
    std::int64_t operations = chooser_.between(0, 6);
    wide_ = chooser_.chance(1, 3) && wanted < 0;
    if (wanted >= 0) {
      declare("n", chooser_.between(0, 2), 3);
      start();
      operations = wanted;
    } else if (wide_ && chooser_.chance(1, 6)) {
      turning();
      operations = chooser_.between(0, 1);
    } else if (!wide_ && chooser_.chance(1, 24)) {
      one_or_none();
      operations = chooser_.between(0, 2);
    } else {
      declare();
      declare_turn();
      start();
      if (turn_) add(as_strided());
      if (wide_ && chooser_.chance(1, 2)) operations = rows();
    }
    for (std::int64_t i = 0; i < operations; ++i)
      for (int tries = wide_ ? 3 : 1; tries > 0 && !add(any_op()); --tries) {
      }
    return case_.str();
  }

 private:
  std::int64_t most_elements() const { return wide_ ? 240 : 160; }

  void declare(std::string name, std::int64_t low, std::int64_t high) {
    variables_.emplace_back(symbolic::variable(name, low, high));
    case_.variables.push_back({std::move(name), low, high});
  }

  void declare() {
    static constexpr std::string_view kUsual[] = {"n", "m", "k", "j"},
                                      kAsIndices[] = {"idx0", "idx1", "idx", "idx2"};
    const std::span<const std::string_view> names(chooser_.chance(1, 8) ? kAsIndices : kUsual);
    const std::int64_t count =
        wide_ ? (chooser_.chance(1, 4) ? 2 : 1) : chooser_.between(1, std::ssize(names));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t low = chooser_.between(0, wide_ && chooser_.chance(1, 2) ? 5 : 2);
      const std::int64_t values = wide_       ? chooser_.between(6, count > 1 ? 8 : 12)
                                  : count > 2 ? chooser_.between(1, 2)
                                              : chooser_.between(count == 1 ? 0 : 1, 3);
      declare(std::string(names[static_cast<std::size_t>(i)]), low, low + values);
    }
  }

  // Declares a variable stride of any sign; it is no size.
  void declare_turn() {
    if (wide_ || variables_.size() > 2 || !chooser_.chance(1, 8)) return;
    const std::int64_t low = chooser_.between(-2, 0);
    declare("s", low, low + chooser_.between(1, 3));
    turn_ = variables_.back();
    variables_.pop_back();
  }

  // Strided rows with some padding. Returns how many operations remain.
  std::int64_t rows() {
    if (chooser_.chance(1, 2)) add(permute());
    add(pad());
    for (int tries = 4; tries > 0 && !add(as_strided()); --tries) {
    }
    return chooser_.between(0, 2);
  }

  // Steps of n elements along rows of `row`: from n = row on they reach other rows, whose elements
  // are not n apart. The end of another axis, times * n long, crosses there too, or nearly so. One
  // view fits smaller n, one larger n, and none fits all.
  void turning() {
    const std::int64_t row = chooser_.between(3, 6), times = chooser_.between(2, 3);
    const std::int64_t most = 2 * row - chooser_.between(1, 2);
    declare("n", chooser_.between(0, 1), most);
    const std::int64_t end = times * row - chooser_.between(0, times);
    case_.base = {row, 2, end};
    tracker_ = ShapeTracker::contiguous(case_.base);
    add({.kind = Kind::Permute, .order = {1, 0, 2}});
    if (chooser_.chance(1, 3)) add(stride());
    const std::int64_t rest = times * most - end;
    const std::int64_t before = chooser_.chance(1, 2) ? 0 : chooser_.between(0, rest);
    add({.kind = Kind::Pad, .ends = {{0, 0}, {0, 0}, {before, rest - before}}});
    const sint n = any_variable();
    add({.kind = Kind::AsStrided, .shape = {2, n * times}, .strides = {n * (end + rest), 1}});
  }

  // One element or none, padded to one and then expanded.
  void one_or_none() {
    declare("n", 0, 1);
    if (chooser_.chance(1, 2)) declare("m", 1, 3);
    case_.base = {variables_[0], chooser_.between(1, 3)};
    tracker_ = ShapeTracker::contiguous(case_.base);
    const sint rest = 1 - variables_[0], before = chooser_.chance(1, 2) ? rest : sint(0);
    add({.kind = Kind::Pad, .ends = {{before, rest - before}, {0, 0}}});
    if (chooser_.chance(1, 2)) add(permute());
    add(expand());
  }

  const sint& any_variable() { return variables_[chooser_.below(variables_.size())]; }

  // A small number, never negative.
  sint number(std::int64_t most) {
    const std::uint64_t kind = chooser_.below(8);
    if (kind < 2) return chooser_.between(chooser_.chance(1, 6) ? 0 : 1, most);
    const sint v = any_variable();
    switch (kind) {
      case 2: return v + chooser_.between(0, 2);
      case 3: return v * 2;
      case 4: {
        const sint& w = any_variable();
        return certainly_le(w, v) ? v - w : v + w;
      }
      case 5:  // the variable's distance from its largest value
        return certainly_le(1, v) ? v - 1 : sint(*v.max()) - v;
      default: return v;
    }
  }

  void start() {
    for (std::int64_t rank = chooser_.between(0, 3); rank > 0; --rank)
      case_.base.push_back(chooser_.chance(1, 5) ? sint(1) : number(wide_ ? 9 : 4));
    while (!case_.base.empty() && View::contiguous(case_.base).max_size() > most_elements())
      case_.base.pop_back();
    tracker_ = ShapeTracker::contiguous(case_.base);
  }

  // Whether non-empty axes hold few elements, possibly none.
  bool is_small(const Shape& shape) const {
    std::int64_t elements = 1;
    for (const sint& size : shape) {
      elements *= std::max<std::int64_t>(size.max().value_or(1), 1);
      if (elements > most_elements()) return false;
    }
    return true;
  }

  bool add(MovementOp op) {
    try {
      ShapeTracker next = apply(tracker_, op);
      if (!is_small(next.shape())) return false;
      tracker_ = std::move(next);
    } catch (const ShapeError&) {
      return false;
    }
    case_.ops.push_back(std::move(op));
    return true;
  }

  MovementOp any_op() {
    using Draw = MovementOp (SymbolicChainDraw::*)();
    using D = SymbolicChainDraw;
    static constexpr Draw kOps[] = {&D::reshape, &D::permute,    &D::expand,
                                    &D::pad,     &D::shrink,     &D::stride,
                                    &D::stride,  &D::as_strided, &D::reshape};
    return (this->*kOps[chooser_.below(std::size(kOps))])();
  }

  // Joins neighbours, splits an axis by a factor, inserts and drops ones.
  MovementOp reshape() {
    MovementOp op{.kind = Kind::Reshape};
    for (const sint& size : tracker_.shape()) {
      if (size == sint(1) && chooser_.chance(1, 2)) continue;
      if (chooser_.chance(1, 6)) op.shape.emplace_back(1);
      if (!op.shape.empty() && chooser_.chance(1, 2)) {
        op.shape.back() = op.shape.back() * size;
        continue;
      }
      const sint factor = chooser_.chance(1, 2) ? any_variable() : sint(chooser_.between(2, 3));
      if (chooser_.chance(1, 3) && certainly_le(1, factor) &&
          floor_div(size, factor) * factor == size) {
        op.shape.push_back(factor);
        op.shape.push_back(floor_div(size, factor));
        if (chooser_.chance(1, 2)) std::iter_swap(op.shape.end() - 2, op.shape.end() - 1);
        continue;
      }
      op.shape.push_back(size);
    }
    return op;
  }

  MovementOp permute() {
    return {.kind = Kind::Permute, .order = chooser_.order<int>(tracker_.shape().size())};
  }

  MovementOp expand() {
    MovementOp op{.kind = Kind::Expand, .shape = tracker_.shape()};
    for (sint& size : op.shape)
      if (size == sint(1)) size = number(3);
    return op;
  }

  MovementOp pad() {
    MovementOp op{.kind = Kind::Pad};
    const std::int64_t most = wide_ && chooser_.chance(1, 3) ? 9 : 2;
    const auto some = [&] { return chooser_.chance(1, 3) ? number(most) : sint(0); };
    for (std::size_t i = 0; i < tracker_.shape().size(); ++i) {
      const sint before = some();
      op.ends.emplace_back(before, some());
    }
    return op;
  }

  MovementOp shrink() {
    MovementOp op{.kind = Kind::Shrink};
    const std::optional<Mask>& mask = tracker_.views().back().mask();
    const bool at_edges = mask && chooser_.chance(1, 4);
    for (std::size_t i = 0; i < tracker_.shape().size(); ++i) {
      const sint& size = tracker_.shape()[i];
      sint begin = chooser_.chance(1, 2) ? number(2) : sint(0), end = size;
      if (at_edges)  // from the last padding element, or the last element before it
        begin = (chooser_.chance(1, 2) ? (*mask)[i].first : (*mask)[i].second) - 1;
      if (!certainly_le(0, begin)) begin = 0;
      if (!certainly_le(begin, size)) begin = 0;
      if (chooser_.chance(1, 3)) {
        const sint by = number(2);
        end = chooser_.chance(1, 2) ? begin + by : size - by;
      }
      if (!certainly_le(begin, end)) end = size;
      op.ends.emplace_back(begin, end);
    }
    return op;
  }

  MovementOp stride() {
    MovementOp op{.kind = Kind::Stride};
    const std::int64_t most = chooser_.chance(1, 2) ? 3 : 1;
    for (std::size_t i = 0; i < tracker_.shape().size(); ++i) {
      const std::int64_t step = chooser_.between(1, most);
      op.steps.push_back(chooser_.chance(1, 3) ? -step : step);
    }
    return op;
  }

  // Strides include 0, negative ones and overlaps; in wide chains also the stride of one axis of
  // the shape as it is.
  MovementOp as_strided() {
    MovementOp op{.kind = Kind::AsStrided};
    for (std::int64_t rank = chooser_.between(0, 3); rank > 0; --rank) {
      const sint size = number(3);
      const std::int64_t most = wide_ && chooser_.chance(1, 2) ? 9 : 3;
      sint stride = chooser_.chance(1, 3) ? any_variable() : sint(chooser_.between(-2, most));
      if (turn_ && chooser_.chance(1, 2)) stride = *turn_;
      if (wide_ && chooser_.chance(1, 2)) stride = stride * elements_behind_an_axis();
      if (chooser_.chance(1, 4)) stride = sint(0) - stride;
      if (!certainly_le(0, stride)) op.offset = op.offset - stride * (size - 1);
      op.shape.push_back(size);
      op.strides.push_back(stride);
    }
    op.offset = op.offset + chooser_.between(0, turn_ ? 6 : 1);
    return op;
  }

  sint elements_behind_an_axis() {
    const Shape& shape = tracker_.shape();
    sint elements = 1;
    for (std::uint64_t axes = chooser_.below(shape.size() + 1); axes > 0; --axes)
      elements = elements * shape[shape.size() - axes];
    return elements;
  }

  Chooser& chooser_;
  bool wide_ = false;
  std::vector<sint> variables_;
  std::optional<sint> turn_;
  ViewCase case_;
  ShapeTracker tracker_ = ShapeTracker::contiguous({});
};

}  // namespace

std::string draw_symbolic_chain(Chooser& chooser, std::int64_t operations) {
  return SymbolicChainDraw(chooser).draw(operations);
}

}  // namespace touchstone::fuzz
