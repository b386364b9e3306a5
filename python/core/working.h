#pragma once

#include <mutex>

#include <Python.h>
#include <signal.h>
#include <unistd.h>

namespace touchstone::python {

/// While it lives, other threads run Python.
class Released {
 public:
  Released() : thread_(PyEval_SaveThread()) {}
  ~Released() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (...) {
      // Python ends, and wants this thread, one that it does not wait for, to end first, by
      // unwinding it. What it holds of Python's could not be given back: it waits for the process
      // to end.
      for (;;) pause();
    }
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* thread_;
};

/// The lock of devices and tensors, which are for one thread at a time. Whoever holds it does not
/// wait for the interpreter, so that a thread with the interpreter may wait for it, as one that
/// forks does. A forked child begins with a free one.
std::recursive_mutex& stack_mutex();

/// While it lives, in the main thread, an interrupt from the keyboard ends what the library does,
/// too, which throws Interrupted.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction before_;
  bool listens_ = false;
};

/// While it lives, this thread alone works with devices and tensors, and others run Python.
class Working {
 private:
  Released released_;
  Interruptible interruptible_;
  std::scoped_lock<std::recursive_mutex> lock_{stack_mutex()};
};

}  // namespace touchstone::python
