#pragma once

#include "touchstone/dtype/dtype.h"

/// What holds for a thread while a scope lives, or until it is set otherwise.
namespace touchstone {

/// The type of new tensors whose options name none, float32 to begin with; of this thread. Results
/// of operations follow promote(), whatever it is.
DType default_dtype();
/// Floats only; throws DTypeError. Gives the type that was the default before.
DType set_default_dtype(DType dtype);

/// Whether what this thread computes is noted for gradients.
bool gradients_are_noted();
/// While it lives, nothing is: results have no history, as if every operand were detached. Scopes
/// nest.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Whether layers that are given no mode train, which they do not outside of a TrainingScope.
bool is_training();
/// While it lives, they do (TrainingScope training;), or do not (TrainingScope evaluation(false);).
class TrainingScope {
 public:
  explicit TrainingScope(bool wanted = true);
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  bool before_;
};

}  // namespace touchstone
