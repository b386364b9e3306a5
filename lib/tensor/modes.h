#pragma once

#include "touchstone/dtype/dtype.h"

/// Thread-wide modes, set by scopes or functions.
namespace touchstone {

/// This thread's type for new tensors whose options name none; initially float32. Operation results
/// follow promote() regardless.
DType default_dtype();
/// Sets the default, floats only, and returns the previous one. Throws DTypeError.
DType set_default_dtype(DType dtype);

/// True if this thread records history for gradients.
bool gradients_are_noted();
/// Sets it until the next call, or until a scope that is open now ends and restores its value.
void set_gradients_noted(bool wanted);
/// Disables recording for its lifetime: results have no history, as if every operand were detached.
/// Scopes nest.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// True if layers that are given no mode train; false outside any TrainingScope.
bool is_training();
/// As set_gradients_noted.
void set_training(bool wanted);
/// Sets is_training() for its lifetime: TrainingScope training; or TrainingScope evaluation(false);
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
