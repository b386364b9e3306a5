#pragma once

#include <functional>
#include <span>
#include <vector>

#include "touchstone/lazy/jit.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// A TinyJit (lazy/jit.h) of tensors: the first call runs the function, the second notes its
/// kernels, each later call runs these on its own inputs. What the function does beside computing
/// its results is done twice, not at each call: print, draw, step an optimizer. Tensors it uses
/// beside its inputs have the values of the second call, those that somebody assigns to later, too.
///
/// Inputs of a call have the shapes, dtypes, devices and views of those of the second; a size that
/// changes is a variable with its value in `values`. Inputs and results have no history: a function
/// that takes gradients returns them.
class TensorJit {
 public:
  using Tensors = std::vector<Tensor>;

  explicit TensorJit(std::function<Tensors(std::span<const Tensor> inputs)> function);
  explicit TensorJit(std::function<Tensor(const Tensor& input)> function);

  /// The realized results, new tensors each time. Throws Error that says which input differs from
  /// the one noted, that one is given twice, that nothing was computed, that a variable is new or
  /// missing, or that the function draws random numbers or assigns to a tensor, which a replay
  /// would not do again.
  Tensors operator()(std::span<const Tensor> inputs, const symbolic::Values& values = {});
  /// Of a function of one tensor that gives one. Throws Error where it gives several.
  Tensor operator()(const Tensor& input, const symbolic::Values& values = {});

  /// Steps of a replay; 0 before the second call.
  std::size_t captured() const { return jit_.captured(); }
  /// The next call is a first one.
  void reset() { jit_.reset(); }

 private:
  TinyJit jit_;
};

}  // namespace touchstone
