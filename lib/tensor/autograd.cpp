#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "touchstone/tensor/function.h"

namespace touchstone {
namespace {

// The nodes that a gradient of `root` passes, each after everything that reads it.
std::vector<TensorNode*> readers_first(TensorNode* root) {
  std::vector<TensorNode*> order;
  std::unordered_set<const TensorNode*> seen{root};
  std::vector<std::pair<TensorNode*, std::size_t>> path{{root, 0}};
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next < node->parents.size()) {
      TensorNode* parent = node->parents[next++].get();
      if (parent->requires_grad && seen.insert(parent).second) path.emplace_back(parent, 0);
    } else {
      order.push_back(node);
      path.pop_back();
    }
  }
  return {order.rbegin(), order.rend()};
}

void accumulate(LazyBufferPtr& sum, const LazyBufferPtr& gradient) {
  sum = sum ? LazyBuffer::e(Op::Add, {sum, gradient}) : gradient;
}

}  // namespace

Tensor apply(std::unique_ptr<Function> function, std::span<const Tensor> inputs) {
  std::vector<LazyBufferPtr> data;
  bool any = false;
  for (const Tensor& input : inputs) {
    data.push_back(input.lazy());
    function->wanted_.push_back(input.requires_grad());
    any = any || input.requires_grad();
  }
  Tensor result(function->forward(data));
  if (!any || !is_float(result.dtype())) return result;
  TensorNode& node = *result.node();
  node.requires_grad = true;
  node.function = std::move(function);
  for (const Tensor& input : inputs) node.parents.push_back(input.node());
  return result;
}

TensorNode::~TensorNode() {
  std::vector<std::shared_ptr<TensorNode>> doomed = std::move(parents);
  while (!doomed.empty()) {
    const std::shared_ptr<TensorNode> last = std::move(doomed.back());
    doomed.pop_back();
    if (last.use_count() != 1) continue;
    std::ranges::move(last->parents, std::back_inserter(doomed));
    last->parents.clear();
  }
}

void Tensor::backward() const {
  if (elements() != 1)
    throw ShapeError(
        fmt::format("backward: shape {} has {} elements; reduce it to one (sum or "
                    "mean) first",
                    str(shape()), elements()));
  if (!requires_grad())
    throw Error(
        "backward: no tensor this one was computed from requires a gradient; call "
        "set_requires_grad() on the parameters before the forward pass");
  std::unordered_map<const TensorNode*, LazyBufferPtr> gradients;
  gradients[node_.get()] = LazyBuffer::constant(Scalar::from_int(dtype(), 1), shape(), device());
  for (TensorNode* node : readers_first(node_.get())) {
    const LazyBufferPtr gradient = std::move(gradients[node]);
    gradients.erase(node);
    if (gradient == nullptr) continue;
    if (node->function == nullptr) {
      accumulate(node->gradient, gradient);
      continue;
    }
    const std::vector<LazyBufferPtr> to_parents = node->function->backward(gradient);
    for (std::size_t i = 0; i < to_parents.size(); ++i)
      if (to_parents[i] && node->parents[i]->requires_grad)
        accumulate(gradients[node->parents[i].get()], to_parents[i]);
  }
}

}  // namespace touchstone
