#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/lazy/jit.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// A TinyJit (lazy/jit.h) for tensors: the first call runs the function, the second captures its
/// kernels, each later call runs these on its own inputs.
///
/// Other tensors that the function uses are read as of the start of a call; those that it assigns
/// to, directly or through an optimizer or layer, have their new values afterwards. So a training
/// step can be such a function, and evaluation of the same network another. If a tensor that was
/// constant at capture, such as zeros(), is assigned to elsewhere, the function is captured again.
/// Other side effects, such as printing or setting a gradient, happen in the first two calls only.
///
/// Inputs must match the shapes, dtypes, devices and views of the second call; a varying size is a
/// variable with its value in `values`. Inputs and results have no history: a function that
/// computes gradients returns them or steps an optimizer.
class TensorJit {
 public:
  using Tensors = std::vector<Tensor>;

  explicit TensorJit(std::function<Tensors(std::span<const Tensor> inputs)> function);
  explicit TensorJit(std::function<Tensor(const Tensor& input)> function);
  ~TensorJit();
  TensorJit(TensorJit&&) noexcept;
  TensorJit& operator=(TensorJit&&) noexcept;

  /// Returns the realized results, new tensors each time. Throws Error if an input differs from the
  /// captured one or is given twice, if nothing was computed, if a variable is new or missing, or
  /// if the function draws random numbers that would repeat at each replay, adds to or reads a
  /// gradient from before, or assigns to other tensors than in its first call.
  Tensors operator()(std::span<const Tensor> inputs, const symbolic::Values& values = {});
  /// For a function from one tensor to one tensor. Throws Error if it returns several.
  Tensor operator()(const Tensor& input, const symbolic::Values& values = {});

  /// Steps per replay; 0 before the second call.
  std::size_t captured() const;
  /// Makes the next call a first one.
  void reset();

 private:
  struct Captured;
  std::unique_ptr<Captured> captured_;
};

}  // namespace touchstone
