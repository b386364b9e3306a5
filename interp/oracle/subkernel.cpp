#include "touchstone/interp/oracle/subkernel.h"

#include <algorithm>
#include <map>
#include <set>

#include "touchstone/base/error.h"

namespace touchstone::interp {
namespace {

// Elements [begin, end) of each axis.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The box of its operands that a node needs to compute `box` of itself.
Box needed(const LazyOp& node, Box box, const MissingTerms& left) {
  if (!is_reduce(node.op())) return box;
  for (const int axis : node.reduce_arg().axes) {
    const auto i = static_cast<std::size_t>(axis);
    box[i] = {0, node.src()[0]->shape()[i].as_int()};
  }
  if (node.reduce_arg().axes.empty() || (node.op() != Op::ReduceSum && !left.of_all)) return box;
  auto& [begin, end] = box[static_cast<std::size_t>(node.reduce_arg().axes.back())];
  if (end - begin > left.count && (left.of_length == 0 || end - begin == left.of_length))
    (left.first ? begin : end) += left.first ? left.count : -left.count;
  return box;
}

LazyOpPtr kept(const LazyOpPtr& node, const Box& box, std::vector<LazyOpPtr> src) {
  Mask mask(box.begin(), box.end());
  if (const auto* b = std::get_if<MemBuffer>(&node->arg())) {
    MemBuffer buffer = *b;
    if (b->checked) buffer.checked = b->checked->shrink(mask);
    if (node->op() == Op::Gather) mask.emplace(mask.begin(), 0, b->st.shape()[0]);
    buffer.st = b->st.shrink(mask);
    return LazyOp::make(node->op(), std::move(src), std::move(buffer));
  }
  if (const auto* c = std::get_if<ConstBuffer>(&node->arg()))
    return LazyOp::constant(c->value, c->st.shrink(mask));
  return LazyOp::make(node->op(), std::move(src), node->arg());
}

// The value of `kernel`, restricted to the elements of `box`. A node may be needed in several
// boxes: as a term of a sum and beside the sum.
LazyOpPtr restricted(const LazyOpPtr& kernel, const Box& box, const MissingTerms& left = {}) {
  const std::vector<LazyOpPtr> order = nodes_of(kernel);
  std::map<const LazyOp*, std::map<Box, LazyOpPtr>> parts;
  parts[order.back().get()][box];
  for (auto node = order.rbegin(); node != order.rend(); ++node)
    for (const auto& [own, none] : parts[node->get()])
      for (const LazyOpPtr& s : (*node)->src()) parts[s.get()][needed(**node, own, left)];
  for (const LazyOpPtr& node : order)
    for (auto& [own, part] : parts[node.get()]) {
      std::vector<LazyOpPtr> src;
      for (const LazyOpPtr& s : node->src())
        src.push_back(parts[s.get()].at(needed(*node, own, left)));
      part = kept(node, own, std::move(src));
    }
  return parts[order.back().get()].at(box);
}

}  // namespace

std::vector<LazyOpPtr> nodes_of(const LazyOpPtr& kernel) {
  std::vector<LazyOpPtr> order;
  std::set<const LazyOp*> seen;
  std::vector<std::pair<LazyOpPtr, std::size_t>> path{{kernel->src().at(0), 0}};
  seen.insert(path[0].first.get());
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next < node->src().size()) {
      const LazyOpPtr operand = node->src()[next++];
      if (seen.insert(operand.get()).second) path.emplace_back(operand, 0);
    } else {
      order.push_back(node);
      path.pop_back();
    }
  }
  return order;
}

LazyOpPtr kernel_of(const LazyOpPtr& node) {
  return LazyOp::store(ShapeTracker::contiguous(node->shape()), node);
}

std::vector<std::int64_t> place_of(std::int64_t flat, const LazyOpPtr& kernel) {
  const Shape& shape = kernel->shape();
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = flat % shape[i].as_int();
    flat /= shape[i].as_int();
  }
  return at;
}

std::string MissingTerms::str() const {
  return fmt::format("the {} {} of each sum{}{} {} missing", first ? "first" : "last",
                     count == 1 ? "term" : fmt::format("{} terms", count),
                     of_length > 0 ? fmt::format(" of {}", of_length) : std::string(),
                     of_all ? " and maximum" : "", count == 1 ? "is" : "are");
}

std::set<std::int64_t> counts_of_missing(std::int64_t n) {
  constexpr std::int64_t kLargestBlock = 512;
  std::set<std::int64_t> counts;
  for (std::int64_t block = 1; block <= kLargestBlock; block *= 2) {
    if (2 * block <= n) counts.insert(block);
    if (const std::int64_t rest = n % block; rest > 0 && rest < n) counts.insert(rest);
  }
  return counts;
}

LazyOpPtr without_terms(const LazyOpPtr& kernel, const MissingTerms& missing) {
  Box whole;
  for (const sint& size : kernel->shape()) whole.emplace_back(0, size.as_int());
  return kernel_of(restricted(kernel, whole, missing));
}

LazyOpPtr one_element(const LazyOpPtr& kernel, std::span<const std::int64_t> at) {
  const LazyOpPtr& value = kernel->src().at(0);
  const Shape& shape = value->shape();
  if (at.size() != shape.size())
    throw ShapeError(
        fmt::format("element ({}): the output has {} axes", fmt::join(at, ", "), shape.size()));
  Box box;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= shape[i].as_int())
      throw ShapeError(fmt::format("element ({}): axis {} of the output has {} elements",
                                   fmt::join(at, ", "), i, shape[i].as_int()));
    box.emplace_back(at[i], at[i] + 1);
  }
  return kernel_of(restricted(kernel, box));
}

}  // namespace touchstone::interp
