// Converts an Array to the AST of one kernel, where movement occurs only in the views of leaves.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "touchstone/define/parts.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::define {
namespace {

// A pending movement operation above a node, in the form of ArrayNode.
struct Move {
  Op op;
  Pairs of;
  std::int64_t offset = 0;
};
using Moves = std::vector<Move>;  // in order of application

ShapeTracker moved(const ShapeTracker& st, const Move& move) {
  Shape firsts, seconds;
  std::vector<std::pair<sint, sint>> pairs;
  std::vector<int> order;
  Sizes steps;
  for (const auto& [a, b] : move.of) {
    firsts.emplace_back(a);
    seconds.emplace_back(b);
    pairs.emplace_back(a, b);
    if (move.op == Op::Permute) order.push_back(static_cast<int>(a));
    steps.push_back(a);
  }
  switch (move.op) {
    case Op::Reshape: return st.reshape(firsts);
    case Op::Permute: return st.permute(order);
    case Op::Expand: return st.expand(firsts);
    case Op::Pad: return st.pad(pairs);
    case Op::Shrink: return st.shrink(pairs);
    case Op::Stride: return st.stride(steps);
        TOUCHSTONE_CASES_COMPUTED:
    case Op::Function:
    case Op::AsStrided:
    TOUCHSTONE_CASES_LOAD:
    TOUCHSTONE_CASES_BUFFER:
      break;
  }
  return st.as_strided(firsts, seconds, move.offset);
}

// The argument of a movement for an axis that it keeps: `size` elements, `stride` apart.
std::pair<std::int64_t, std::int64_t> kept_axis(Op op, std::int64_t axis, std::int64_t size,
                                                std::int64_t stride) {
  switch (op) {
    case Op::Permute: return {axis, 0};
    case Op::Pad: return {0, 0};
    case Op::Shrink: return {0, size};
    case Op::Stride: return {1, 0};
    case Op::AsStrided: return {size, stride};
        TOUCHSTONE_CASES_COMPUTED:
    case Op::Function:
    case Op::Reshape:
    case Op::Expand:
    TOUCHSTONE_CASES_LOAD:
    TOUCHSTONE_CASES_BUFFER:
      break;
  }
  return {size, 0};
}

// The same movement with extra trailing axes of these sizes, which it keeps. For AS_STRIDED,
// element counts are multiplied accordingly.
Move with_axes(Move move, const Sizes& sizes) {
  std::int64_t all = product_of(sizes);
  if (move.op == Op::AsStrided) {
    for (auto& [size, stride] : move.of) stride = size > 1 ? checked_mul(stride, all) : 0;
    move.offset = checked_mul(move.offset, all);
  }
  for (const std::int64_t size : sizes) {
    all = size == 0 ? 0 : all / size;
    move.of.push_back(kept_axis(move.op, std::ssize(move.of), size, all));
  }
  return move;
}

// The result shape of a movement applied to `shape`.
Sizes shape_after(const Move& move, const Sizes& shape) {
  const ShapeTracker after =
      moved(ShapeTracker::contiguous(Shape(shape.begin(), shape.end())), move);
  Sizes sizes;
  for (const sint& s : after.shape()) sizes.push_back(s.as_int());
  return sizes;
}

// The same movement behind an extra leading axis of size `first`, which it keeps.
Move behind(Move move, std::int64_t first, const Sizes& sizes) {
  if (move.op == Op::Permute)
    for (auto& [axis, none] : move.of) ++axis;
  move.of.insert(move.of.begin(), kept_axis(move.op, 0, first, product_of(sizes)));
  return move;
}

Pairs as_firsts(const Sizes& sizes) {
  Pairs out;
  for (const std::int64_t s : sizes) out.emplace_back(s, 0);
  return out;
}

// A value of shape S has, in the AST, trailing axes of size 1 for the reduced axes of reduces below
// or beside it: a reduce's operand has the kept axes in the order of S, then the reduced ones.
class Lowering {
 public:
  explicit Lowering(Numbers numbers) : numbers_(numbers) {}

  LazyOpPtr store(const Array& value) {
    const LazyOpPtr stored = lower(*value.node(), {}, spare_axes(*value.node()));
    return LazyOp::store(ShapeTracker::contiguous(stored->shape()), stored);
  }

 private:
  // The number of trailing axes of size 1 that a value needs.
  std::size_t spare_axes(const ArrayNode& node) {
    if (const auto it = spare_.find(&node); it != spare_.end()) return it->second;
    std::size_t most = 0;
    for (const auto& s : node.src) most = std::max(most, spare_axes(*s));
    if (is_reduce(node.op)) most += node.reduce.axes.size();
    return spare_.emplace(&node, most).first->second;
  }

  static std::string key(const ArrayNode& node, const Moves& moves, std::size_t spare) {
    std::string out = fmt::format("{}/{}", static_cast<const void*>(&node), spare);
    for (const Move& m : moves) {
      out += fmt::format("|{}+{}", static_cast<int>(m.op), m.offset);
      for (const auto& [a, b] : m.of) out += fmt::format(":{},{}", a, b);
    }
    return out;
  }

  LazyOpPtr lower(const ArrayNode& node, const Moves& moves, std::size_t spare) {
    if (is_movement(node.op)) return lower_movement(node, moves, spare);
    std::string name = key(node, moves, spare);
    if (const auto it = made_.find(name); it != made_.end()) return it->second;
    LazyOpPtr made;
    if (node.op == Op::Load) {
      made = LazyOp::load(node.buffer, node.dtype, leaf_view(node.shape, moves, spare));
      check_buffer(node);
    } else if (node.op == Op::Const) {
      made = constant(node.value, node.shape, moves, spare);
      if (numbers_ == Numbers::MayBeExact && node.unrounded)
        made = LazyOp::unary(
            Op::Noop, LazyOp::cast(constant(Scalar::of(*node.unrounded), node.shape, moves, spare),
                                   node.dtype));
    } else if (node.op == Op::Gather) {
      made = lower_rows(node, moves, spare);
    } else if (is_reduce(node.op)) {
      made = lower_reduce(node, moves, spare);
    } else {
      std::vector<LazyOpPtr> src;
      for (const auto& s : node.src) src.push_back(lower(*s, moves, spare));
      made = LazyOp::make(node.op, std::move(src),
                          node.op == Op::Cast       ? OpArg(node.cast)
                          : node.op == Op::Function ? OpArg(node.function)
                                                    : OpArg());
    }
    if (made_.size() >= kMostNodes)
      throw AstError(fmt::format(
          "the kernel has more than {} nodes: a value that is read n times is computed n "
          "times; store an intermediate result in a buffer",
          kMostNodes));
    made_.emplace(std::move(name), made);
    return made;
  }

  // Padding around a computed value is 0, not the value computed from zeros.
  LazyOpPtr lower_movement(const ArrayNode& node, const Moves& moves, std::size_t spare) {
    Moves all{{node.op, node.move, node.offset}};
    all.insert(all.end(), moves.begin(), moves.end());
    const ArrayNode& below = *node.src[0];
    LazyOpPtr value = lower(below, all, spare);
    if (node.op != Op::Pad || is_leaf(below)) return value;
    const LazyOpPtr inside = constant(Scalar::of(true), below.shape, all, spare);
    const LazyOpPtr zero = constant(Scalar::from_int(node.dtype, 0), node.shape, moves, spare);
    return LazyOp::ternary(Op::Where, inside, value, zero);
  }

  static bool is_leaf(const ArrayNode& node) {
    const ArrayNode* at = &node;
    while (is_movement(at->op)) at = at->src[0].get();
    return at->op == Op::Load || at->op == Op::Const || at->op == Op::Gather;
  }

  LazyOpPtr lower_rows(const ArrayNode& node, const Moves& moves, std::size_t spare) {
    Moves chain;
    const ArrayNode* table = node.src[0].get();
    for (; is_movement(table->op); table = table->src[0].get())
      chain.insert(chain.begin(), {table->op, table->move, table->offset});
    check_buffer(*table);
    // The axes of the positions after the table's first axis, with size 1, then all axes of this
    // node.
    const std::size_t rank = node.numbered.size();
    Sizes between = node.src[0]->shape, whole = node.shape;
    between.insert(between.begin() + 1, rank, 1);
    whole.insert(whole.begin(), between[0]);
    chain.push_back({Op::Reshape, as_firsts(between)});
    chain.push_back({Op::Expand, as_firsts(whole)});
    Sizes now = node.shape;
    for (const Move& m : moves) {
      chain.push_back(behind(m, between[0], now));
      now = shape_after(m, now);
    }
    const ShapeTracker st = leaf_view(table->shape, chain, spare);
    std::optional<ShapeTracker> numbers;
    if (node.checked) {
      Sizes places = node.numbered;
      places.insert(places.end(), node.shape.size() - rank, 1);
      Moves all{{Op::Reshape, as_firsts(places)}, {Op::Expand, as_firsts(node.shape)}};
      all.insert(all.end(), moves.begin(), moves.end());
      numbers = leaf_view(node.numbered, all, spare);
    }
    return LazyOp::gather(table->buffer, table->dtype, st, lower(*node.src[1], moves, spare),
                          std::move(numbers));
  }

  LazyOpPtr lower_reduce(const ArrayNode& node, const Moves& moves, std::size_t spare) {
    const ArrayNode& operand = *node.src[0];
    Sizes kept = node.shape, reduced;
    Pairs order;
    for (std::size_t i = 0; i < operand.shape.size(); ++i)
      if (!std::ranges::binary_search(node.reduce.axes, static_cast<int>(i)))
        order.emplace_back(static_cast<std::int64_t>(i), 0);
    for (const int axis : node.reduce.axes) {
      order.emplace_back(axis, 0);
      reduced.push_back(operand.shape[static_cast<std::size_t>(axis)]);
    }
    Sizes split = kept;
    split.insert(split.end(), reduced.begin(), reduced.end());
    Moves below{{Op::Permute, order}, {Op::Reshape, as_firsts(split)}};
    for (const Move& m : moves) below.push_back(with_axes(m, reduced));
    const std::size_t rank = moves.empty() ? kept.size() : moves.back().of.size();
    ReduceArg arg{{}, node.reduce.accumulator};
    for (std::size_t i = 0; i < reduced.size(); ++i) arg.axes.push_back(static_cast<int>(rank + i));
    const LazyOpPtr x = lower(operand, below, spare - reduced.size());
    return LazyOp::reduce(node.op, x, arg.axes, arg.accumulator);
  }

  LazyOpPtr constant(const Scalar& value, const Sizes& shape, const Moves& moves,
                     std::size_t spare) {
    Moves all{{Op::Reshape, as_firsts(Sizes(shape.size(), 1))}, {Op::Expand, as_firsts(shape)}};
    all.insert(all.end(), moves.begin(), moves.end());
    return LazyOp::constant(value, leaf_view({}, all, spare));
  }

  static ShapeTracker leaf_view(const Sizes& shape, const Moves& moves, std::size_t spare) {
    ShapeTracker st = ShapeTracker::contiguous({shape.begin(), shape.end()});
    for (const Move& m : moves) st = moved(st, m);
    Shape padded = st.shape();
    padded.insert(padded.end(), spare, sint(1));
    return simplify(st.reshape(padded));
  }

  void check_buffer(const ArrayNode& node) {
    const auto [it, fresh] = buffers_.emplace(node.buffer, &node);
    if (it->second->shape != node.shape || it->second->dtype != node.dtype)
      throw AstError(fmt::format("input {} is {} of {} in one place and {} of {} in another",
                                 node.buffer, str(it->second->shape), name(it->second->dtype),
                                 str(node.shape), name(node.dtype)));
  }

  Numbers numbers_;
  std::unordered_map<const ArrayNode*, std::size_t> spare_;
  std::unordered_map<std::string, LazyOpPtr> made_;
  std::unordered_map<int, const ArrayNode*> buffers_;
};

}  // namespace

LazyOpPtr kernel(const Array& value, Numbers numbers) {
  LazyOpPtr made = Lowering(numbers).store(value.is_number() ? value.cast(DType::Float32) : value);
  validate_kernel(made);
  return made;
}

}  // namespace touchstone::define
