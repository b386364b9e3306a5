#pragma once

#include "convert.h"
#include "touchstone/judging/judging.h"

namespace touchstone::python {

/// Inside Working: releases the lock and lets this thread run Python.
class Paused {
 public:
  Paused() {
    stack_mutex().unlock();
    state_ = PyGILState_Ensure();
  }
  ~Paused() {
    PyGILState_Release(state_);
    stack_mutex().lock();
  }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A verdict and the profile that it was made under.
struct JudgedVerdict : Verdict {
  ChosenProfile by;
};

void bind_builder(py::module_& m);

}  // namespace touchstone::python
