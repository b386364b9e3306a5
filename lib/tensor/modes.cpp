#include "touchstone/tensor/modes.h"

#include <utility>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

thread_local DType dtype_of_new = DType::Float32;
thread_local bool notes_gradients = true, trains = false;

}  // namespace

DType default_dtype() { return dtype_of_new; }
DType set_default_dtype(DType dtype) {
  if (!is_float(dtype))
    throw DTypeError(fmt::format(
        "set_default_dtype: {} is not a float; give integers their type in TensorOptions",
        name(dtype)));
  return std::exchange(dtype_of_new, dtype);
}

bool gradients_are_noted() { return notes_gradients; }
void set_gradients_noted(bool wanted) { notes_gradients = wanted; }
NoGrad::NoGrad() : before_(std::exchange(notes_gradients, false)) {}
NoGrad::~NoGrad() { notes_gradients = before_; }

bool is_training() { return trains; }
void set_training(bool wanted) { trains = wanted; }
TrainingScope::TrainingScope(bool wanted) : before_(std::exchange(trains, wanted)) {}
TrainingScope::~TrainingScope() { trains = before_; }

}  // namespace touchstone
