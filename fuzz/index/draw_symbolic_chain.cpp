#include <algorithm>
#include <numeric>

#include "touchstone/fuzz/view_case.h"

namespace touchstone::fuzz {
namespace {

using Kind = MovementOp::Kind;

/// Chains whose numbers hold up to four variables. An operation that the bounds of these leave open
/// is left out.
class SymbolicChainDraw {
 public:
  explicit SymbolicChainDraw(Chooser& chooser) : chooser_(chooser) {}

  std::string draw() {
    const std::int64_t operations = chooser_.between(0, 6);
    declare();
    start();
    for (std::int64_t i = 0; i < operations; ++i) add(any_op());
    return case_.str();
  }

 private:
  static constexpr std::int64_t kMostElements = 160;

  void declare() {
    constexpr std::string_view kNames[] = {"n", "m", "k", "j"};
    const std::int64_t count = chooser_.between(1, std::ssize(kNames));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name(kNames[i]);
      const std::int64_t low = chooser_.between(0, 2);
      const std::int64_t high = low + chooser_.between(1, count > 2 ? 2 : 3);
      case_.variables.push_back({name, low, high});
      variables_.emplace_back(symbolic::variable(name, low, high));
    }
  }

  const sint& any_variable() { return variables_[chooser_.below(variables_.size())]; }

  // A number that is small, never negative.
  sint number(std::int64_t most) {
    const std::uint64_t kind = chooser_.below(8);
    if (kind < 2) return chooser_.between(chooser_.chance(1, 6) ? 0 : 1, most);
    const sint v = any_variable();
    switch (kind) {
      case 2:
        return v + chooser_.between(0, 2);
      case 3:
        return v * 2;
      case 4: {
        const sint& w = any_variable();
        return certainly_le(w, v) ? v - w : v + w;
      }
      case 5:  // as many as a variable leaves of its largest value
        return certainly_le(1, v) ? v - 1 : sint(*v.max()) - v;
      default:
        return v;
    }
  }

  void start() {
    for (std::int64_t rank = chooser_.between(0, 3); rank > 0; --rank)
      case_.base.push_back(chooser_.chance(1, 5) ? sint(1) : number(4));
    while (!case_.base.empty() && View::contiguous(case_.base).max_size() > kMostElements)
      case_.base.pop_back();
    tracker_ = ShapeTracker::contiguous(case_.base);
  }

  void add(MovementOp op) {
    try {
      ShapeTracker next = apply(tracker_, op);
      if (next.max_size() > kMostElements) return;
      tracker_ = std::move(next);
    } catch (const ShapeError&) {
      return;
    }
    case_.ops.push_back(std::move(op));
  }

  MovementOp any_op() {
    switch (chooser_.below(9)) {
      case 1:
        return permute();
      case 2:
        return expand();
      case 3:
        return pad();
      case 4:
        return shrink();
      case 5:
      case 6:
        return stride();
      case 7:
        return as_strided();
      default:
        return reshape();
    }
  }

  // Neighbours joined, an axis split by a factor, ones put in and left out.
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
    MovementOp op{.kind = Kind::Permute};
    op.order.resize(tracker_.shape().size());
    std::iota(op.order.begin(), op.order.end(), 0);
    for (std::size_t i = op.order.size(); i > 1; --i)
      std::swap(op.order[i - 1], op.order[i - 1 - chooser_.below(i)]);
    return op;
  }

  MovementOp expand() {
    MovementOp op{.kind = Kind::Expand, .shape = tracker_.shape()};
    for (sint& size : op.shape)
      if (size == sint(1)) size = number(3);
    return op;
  }

  MovementOp pad() {
    MovementOp op{.kind = Kind::Pad};
    const auto some = [&] { return chooser_.chance(1, 3) ? number(2) : sint(0); };
    for (std::size_t i = 0; i < tracker_.shape().size(); ++i) {
      const sint before = some();
      op.ends.emplace_back(before, some());
    }
    return op;
  }

  MovementOp shrink() {
    MovementOp op{.kind = Kind::Shrink};
    for (const sint& size : tracker_.shape()) {
      sint begin = chooser_.chance(1, 2) ? number(2) : sint(0), end = size;
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
    for (std::size_t i = 0; i < tracker_.shape().size(); ++i)
      op.steps.push_back(chooser_.between(1, most) * (chooser_.chance(1, 3) ? -1 : 1));
    return op;
  }

  // Strides of 0, negative ones and overlaps among them.
  MovementOp as_strided() {
    MovementOp op{.kind = Kind::AsStrided};
    for (std::int64_t rank = chooser_.between(0, 3); rank > 0; --rank) {
      const sint size = number(3);
      sint stride = chooser_.chance(1, 3) ? any_variable() : sint(chooser_.between(-2, 3));
      if (chooser_.chance(1, 4)) stride = sint(0) - stride;
      if (!certainly_le(0, stride)) op.offset = op.offset - stride * (size - 1);
      op.shape.push_back(size);
      op.strides.push_back(stride);
    }
    op.offset = op.offset + chooser_.between(0, 1);
    return op;
  }

  Chooser& chooser_;
  std::vector<sint> variables_;
  ViewCase case_;
  ShapeTracker tracker_ = ShapeTracker::contiguous({});
};

}  // namespace

std::string draw_symbolic_chain(Chooser& chooser) { return SymbolicChainDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
