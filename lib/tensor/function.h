#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// The arguments of a backward pass: the step's inputs and result, and the gradient of
/// the result, of its shape and dtype. Where the gradient is itself to be differentiated, these are
/// parts of the graph; otherwise they have no history.
struct BackwardPass {
  std::span<const Tensor> inputs;
  const Tensor& out;
  const Tensor& gradient;
};
/// One an input, of its shape and dtype; none where there is none or nobody asks.
using Gradients = std::vector<std::optional<Tensor>>;

/// One differentiable step: a forward pass from LazyBuffers to a LazyBuffer, and a backward pass
/// from the gradient of its result to the gradients of its inputs, itself made of such steps. An
/// object is used for one forward pass. They are in mlops.h, but for Convolution in conv.cpp.
class Function {
 public:
  Function() = default;
  virtual ~Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  virtual LazyBufferPtr forward(std::span<const LazyBufferPtr> inputs) = 0;
  virtual Gradients backward(const BackwardPass& pass) = 0;

 protected:
  bool wants(std::size_t input) const { return wanted_[input]; }

 private:
  friend Tensor apply(std::unique_ptr<Function> function, std::span<const Tensor> inputs);
  std::vector<bool> wanted_;
};

/// The result of `function`, linked to its inputs where one of them requires a gradient.
Tensor apply(std::unique_ptr<Function> function, std::span<const Tensor> inputs);

/// apply<Add>({a, b}), apply<Reshape>({x}, shape): the rest go to the constructor.
template <class F, class... Args>
Tensor apply(std::initializer_list<Tensor> inputs, Args&&... args) {
  return touchstone::apply(std::unique_ptr<Function>(new F(std::forward<Args>(args)...)),
                           std::span<const Tensor>(inputs.begin(), inputs.size()));
}

/// The node that a Tensor is a handle to: its values, and how they came to be.
struct TensorNode : std::enable_shared_from_this<TensorNode> {
  explicit TensorNode(LazyBufferPtr values) : data(std::move(values)), number(++made_) {}
  ~TensorNode();  // iterative: a graph of any depth may end here
  TensorNode(const TensorNode&) = delete;
  TensorNode& operator=(const TensorNode&) = delete;

  LazyBufferPtr data;
  LazyBufferPtr gradient;  // of leaves that require one, after backward
  bool requires_grad = false;
  bool keeps_gradient = false;  // though it is no leaf
  bool given = false;           // the values are the host's, put into the memory when it was made
  std::unique_ptr<Function> function;  // null for leaves
  Origin origin;                       // of the function
  std::vector<std::shared_ptr<TensorNode>> parents;
  std::vector<LazyBufferPtr> inputs;  // the parents' values when the function was applied

  const std::uint64_t number;  // of all nodes, in the order in which they were made
  static std::uint64_t last_number() { return made_; }
  static std::uint64_t next_number() { return ++made_; }  // for what is told apart from them

 private:
  inline static std::atomic<std::uint64_t> made_ = 0;
};

}  // namespace touchstone
