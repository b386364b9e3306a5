#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/lazy/jit.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// A TinyJit (lazy/jit.h) for tensors: the first call runs the function, the second captures its
/// kernels, each later call runs these on its own inputs. A call has the bits of the function
/// itself, or throws Error.
///
/// Other tensors that the function uses are read as of the start of a call. Those that it assigns
/// to, directly or through an optimizer or layer, inputs included, have their new values
/// afterwards, and leaves the gradients of the call. If a tensor that was constant at capture, such
/// as zeros(), is assigned to elsewhere, the function is captured again; likewise if a value that
/// the function reads on the host (item(), read(), a mask as an index) differs. Each training
/// mode, NoGrad mode and default dtype has its own capture. Other side effects, such as printing,
/// happen in the calls that run the function only, and numbers of the host that it uses stay those
/// of the capture.
///
/// Inputs must match the shapes, dtypes, devices and views of the second call; a varying size is a
/// variable with its value in `values`. Results have no history: a function that computes gradients
/// calls backward(), returns them or steps an optimizer.
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
  /// if the function draws random numbers that would repeat at each replay, seeds a generator, adds
  /// to or reads a gradient from before, leaves another mode, or assigns to other tensors than in
  /// its first call although it has read nothing on the host.
  Tensors operator()(std::span<const Tensor> inputs, const symbolic::Values& values = {});
  /// For a function from one tensor to one tensor. Throws Error if it returns several.
  Tensor operator()(const Tensor& input, const symbolic::Values& values = {});

  /// Steps per replay; 0 before the second call.
  std::size_t captured() const;
  /// Makes the next call a first one.
  void reset();

 private:
  struct Modes;
  struct Capture;
  struct Captures;
  std::unique_ptr<Captures> captures_;
};

}  // namespace touchstone
