#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/lazy/jit.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// A TinyJit (lazy/jit.h) of tensors: the first call runs the function, the second notes its
/// kernels, each later call runs these on its own inputs.
///
/// Tensors that the function uses beside its inputs are read as they are when a call begins; those
/// that it assigns to, itself or through an optimizer or a layer, have their new values after it.
/// So a step of training may be such a function, and another one that evaluates the same network.
/// Where one that was a constant when the kernels were noted, such as zeros(), is assigned to
/// elsewhere, the function is built again. What it does beside computing and assigning, print or
/// set a gradient, is done twice, not at each call.
///
/// Inputs of a call have the shapes, dtypes, devices and views of those of the second; a size that
/// changes is a variable with its value in `values`. Inputs and results have no history: a function
/// that takes gradients returns them or steps an optimizer.
class TensorJit {
 public:
  using Tensors = std::vector<Tensor>;

  explicit TensorJit(std::function<Tensors(std::span<const Tensor> inputs)> function);
  explicit TensorJit(std::function<Tensor(const Tensor& input)> function);
  ~TensorJit();
  TensorJit(TensorJit&&) noexcept;
  TensorJit& operator=(TensorJit&&) noexcept;

  /// The realized results, new tensors each time. Throws Error that says which input differs from
  /// the one noted, that one is given twice, that nothing was computed, that a variable is new or
  /// missing, that the function draws random numbers, which would be the same at each replay, that
  /// it adds to a gradient from before or reads one, or that it assigns to other tensors than at
  /// its first call.
  Tensors operator()(std::span<const Tensor> inputs, const symbolic::Values& values = {});
  /// Of a function of one tensor that gives one. Throws Error where it gives several.
  Tensor operator()(const Tensor& input, const symbolic::Values& values = {});

  /// Steps of a replay; 0 before the second call.
  std::size_t captured() const;
  /// The next call is a first one.
  void reset();

 private:
  struct Captured;
  std::unique_ptr<Captured> captured_;
};

}  // namespace touchstone
