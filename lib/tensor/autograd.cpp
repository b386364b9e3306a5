#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "touchstone/lazy/jit.h"
#include "touchstone/tensor/mlops.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone {
namespace {

// The nodes reached by a gradient of `root`, each after all its readers.
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

void accumulate(std::optional<Tensor>& sum, const Tensor& gradient) {
  sum = sum ? mlops::apply(mlops::Binary::Add, *sum, gradient) : gradient;
}

// The inputs of the step that made `node`, as they were then; with history if the gradient is
// itself to be differentiated.
std::vector<Tensor> inputs_of(const TensorNode& node, CreateGraph create) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node.parents.size(); ++i) {
    const bool same = node.parents[i]->data == node.inputs[i];
    if (create == CreateGraph::Yes && !same && node.parents[i]->requires_grad)
      throw Error(fmt::format(
          "gradients: a tensor of shape {} was assigned other values after the result was computed "
          "from it, so the gradient cannot be derived; compute the result again",
          str(node.inputs[i]->shape())));
    inputs.push_back(create == CreateGraph::Yes && same ? Tensor(node.parents[i])
                                                        : Tensor(node.inputs[i]));
  }
  return inputs;
}

// Walks from `root` to the leaves; calls `visit` with each node and its complete gradient.
template <class Visit>
void walk_back(const Tensor& root, const Tensor& seed, CreateGraph create, Visit visit) {
  std::unordered_map<const TensorNode*, std::optional<Tensor>> sums;
  sums[root.node().get()] = seed;
  for (TensorNode* node : readers_first(root.node().get())) {
    const std::optional<Tensor> gradient = std::move(sums[node]);
    sums.erase(node);
    if (!gradient) continue;
    visit(*node, *gradient);
    if (node->function == nullptr) continue;
    const std::vector<Tensor> inputs = inputs_of(*node, create);
    const Tensor out =
        create == CreateGraph::Yes ? Tensor(node->shared_from_this()) : Tensor(node->data);
    const OriginScope origin({node->origin.name, true});
    const Gradients to_parents = node->function->backward({inputs, out, *gradient});
    for (std::size_t i = 0; i < to_parents.size(); ++i)
      if (to_parents[i] && node->parents[i]->requires_grad)
        accumulate(sums[node->parents[i].get()], *to_parents[i]);
  }
}

Tensor seed_of(const char* who, const Tensor& root, const std::optional<Tensor>& given) {
  if (!given && root.elements() != 1)
    throw ShapeError(
        fmt::format("{}: shape {} has {} elements; reduce it to one (sum or mean) first, or pass "
                    "the gradient with respect to it",
                    who, str(root.shape()), root.elements()));
  if (!root.requires_grad())
    throw Error(
        fmt::format("{}: no tensor that this one was computed from requires a gradient; call "
                    "set_requires_grad() on the parameters before the forward pass",
                    who));
  if (!given) return Tensor::ones(root.shape(), {root.dtype(), root.device()});
  if (given->shape() != root.shape())
    throw ShapeError(fmt::format("{}: a gradient of shape {} for a result of shape {}; expand it",
                                 who, str(given->shape()), str(root.shape())));
  if (given->dtype() != root.dtype())
    throw DTypeError(fmt::format("{}: a gradient of {} for a result of {}; cast it", who,
                                 name(given->dtype()), name(root.dtype())));
  return *given;
}

// In a function that a TensorJit replays, each call must start without gradients.
void note_gradient(StateLog& log, TensorNode& node) {
  if (node.gradient == nullptr) return log.changed_gradient(node.shared_from_this(), false);
  if (lazy::CacheCollector::current() != nullptr && !log.knows_gradient(node))
    throw Error(
        fmt::format("backward: a function captured by a TensorJit adds to an earlier gradient, of "
                    "shape {}, which a replay would not repeat; call zero_grad() in the function",
                    str(node.data->shape())));
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
  if (!any || !is_float(result.dtype()) || !gradients_are_noted()) return result;
  TensorNode& node = *result.node();
  node.requires_grad = true;
  node.function = std::move(function);
  node.origin = OriginScope::current();
  for (const Tensor& input : inputs) node.parents.push_back(input.node());
  node.inputs = std::move(data);
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

void Tensor::backward(const std::optional<Tensor>& gradient) const {
  const Tensor seed = seed_of("backward", *this, gradient).detach();
  walk_back(*this, seed, CreateGraph::No, [](TensorNode& node, const Tensor& g) {
    if (node.function != nullptr && !node.keeps_gradient) return;
    if (StateLog* const log = StateLog::current()) note_gradient(*log, node);
    const LazyBufferPtr here = g.lazy()->place(node.data->device(), node.data->axis());
    node.gradient = node.gradient ? LazyBuffer::e(Op::Add, {node.gradient, here}) : here;
  });
}

std::vector<Tensor> gradients(const Tensor& of, const std::vector<Tensor>& with_respect_to,
                              CreateGraph create, const std::optional<Tensor>& gradient) {
  const Tensor given = seed_of("gradients", of, gradient);
  const Tensor seed = create == CreateGraph::Yes ? given : given.detach();
  std::unordered_map<const TensorNode*, Tensor> found;
  for (const Tensor& x : with_respect_to)
    found.emplace(x.node().get(), Tensor::zeros(x.shape(), {x.dtype(), x.device()}));
  walk_back(of, seed, create, [&](TensorNode& node, const Tensor& g) {
    if (const auto at = found.find(&node); at != found.end()) at->second = g;
  });
  std::vector<Tensor> all;
  for (const Tensor& x : with_respect_to) all.push_back(found.at(x.node().get()));
  return all;
}

}  // namespace touchstone
