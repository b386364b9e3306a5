#pragma once

#include <mutex>

#include <Python.h>
#include <signal.h>
#include <unistd.h>

namespace touchstone::python {

/// While one lives, other threads may run Python.
class Released {
 public:
  Released() : thread_(PyEval_SaveThread()) {}
  ~Released() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (...) {
      // Python is shutting down and unwinds this daemon thread. Its Python objects could not be
      // released, so it waits for the process to end.
      for (;;) pause();
    }
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* thread_;
};

/// The lock of devices and tensors, which one thread at a time may use. A holder does not wait for
/// the interpreter, so a thread that holds the interpreter, such as one that forks, may wait for
/// the lock. It is free in a forked child.
std::recursive_mutex& stack_mutex();

/// While one lives in the main thread, a keyboard interrupt also ends library work, which throws
/// Interrupted.
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

/// While one lives, only this thread uses devices and tensors, and others may run Python.
class Working {
 private:
  Released released_;
  Interruptible interruptible_;
  std::scoped_lock<std::recursive_mutex> lock_{stack_mutex()};
};

}  // namespace touchstone::python
