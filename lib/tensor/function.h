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

/// The arguments of a backward pass: the step's inputs, its result, and the gradient of the result
/// with the same shape and dtype. They have history only if the gradient is itself to be
/// differentiated.
struct BackwardPass {
  std::span<const Tensor> inputs;
  const Tensor& out;
  const Tensor& gradient;
};
/// One per input, of its shape and dtype; nullopt if it has no gradient or none is needed.
using Gradients = std::vector<std::optional<Tensor>>;

/// One differentiable step: a forward pass on LazyBuffers, and a backward pass from the gradient of
/// the result to the gradients of the inputs, itself made of such steps. Use an object for one
/// forward pass only. Subclasses are in mlops.h, except Convolution in conv.cpp.
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

/// Returns the result of `function`, linked to its inputs if one of them requires a gradient.
Tensor apply(std::unique_ptr<Function> function, std::span<const Tensor> inputs);

/// apply<Add>({a, b}), apply<Reshape>({x}, shape): further arguments go to the constructor.
template <class F, class... Args>
Tensor apply(std::initializer_list<Tensor> inputs, Args&&... args) {
  return touchstone::apply(std::unique_ptr<Function>(new F(std::forward<Args>(args)...)),
                           std::span<const Tensor>(inputs.begin(), inputs.size()));
}

/// The node behind a Tensor handle: its values and their history.
struct TensorNode : std::enable_shared_from_this<TensorNode> {
  explicit TensorNode(LazyBufferPtr values) : data(std::move(values)), number(++made_) {}
  ~TensorNode();  // iterative, for graphs of any depth
  TensorNode(const TensorNode&) = delete;
  TensorNode& operator=(const TensorNode&) = delete;

  LazyBufferPtr data;
  LazyBufferPtr gradient;  // of leaves that require one, after backward
  bool requires_grad = false;
  bool keeps_gradient = false;         // although not a leaf
  bool given = false;                  // host values, written when the node was made
  std::unique_ptr<Function> function;  // null for leaves
  Origin origin;                       // of the function
  std::vector<std::shared_ptr<TensorNode>> parents;
  std::vector<LazyBufferPtr> inputs;  // the parents' values when the function was applied

  const std::uint64_t number;  // unique, in order of creation
  static std::uint64_t last_number() { return made_; }
  static std::uint64_t next_number() { return ++made_; }  // for other objects in the same numbering

 private:
  inline static std::atomic<std::uint64_t> made_ = 0;
};

}  // namespace touchstone
