#include <atomic>
#include <new>
#include <system_error>

#include <pthread.h>
#include <unistd.h>

#include "convert.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::python {
namespace {

using Mutex = std::recursive_mutex;
alignas(Mutex) unsigned char stack_mutex_place[sizeof(Mutex)];
Mutex* const stack_mutex_there = new (stack_mutex_place) Mutex;

// A thread that holds a lock while the process forks does not exist in the child, so forking waits
// for other threads' computations. It waits on threads that hold the interpreter, because
// computations do not wait for the interpreter. A thread without it is the library's own and may
// fork within a computation.
thread_local bool computations_wait = false;
void before_fork() {
  computations_wait = PyGILState_Check() != 0;
  if (computations_wait) stack_mutex().lock();
  symbolic::Context::shared().mutex().lock();
}
void after_fork_in_parent() {
  symbolic::Context::shared().mutex().unlock();
  if (computations_wait) stack_mutex().unlock();
}
void after_fork_in_child() {
  symbolic::Context::shared().mutex().unlock();
  new (stack_mutex_place) Mutex;
}

// Python's handler while an Interruptible listens; it still gets called.
void (*python_handler)(int) = nullptr;
std::atomic<bool> interrupted = false;
void on_interrupt(int signal) {
  interrupted = true;
  Interrupt::request();
  python_handler(signal);
}

// The exception classes, owned by the module; they live as long as the process.
struct Classes {
  PyObject *error, *shape, *index, *dtype, *ast, *parse, *overflow, *buffer, *system, *interrupted;
};
Classes classes;

PyObject* made(py::module_& m, const char* name, const char* doc, PyObject* base,
               PyObject* builtin) {
  const py::tuple bases = builtin == nullptr
                              ? py::make_tuple(py::handle(base))
                              : py::make_tuple(py::handle(base), py::handle(builtin));
  PyObject* made = PyErr_NewExceptionWithDoc((std::string("touchstone.") + name).c_str(), doc,
                                             bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  m.add_object(name, py::handle(made));
  return made;
}

PyObject* new_instance(PyTypeObject* type, PyObject* args, PyObject* named) {
  return py::detail::pybind11_object_new(type, args, named);
}
// cls.__new__(cls) would make an object without a value, which methods would use. Python refuses it
// for a class whose constructor differs from that of the class that defines __new__.
void refuse_bare_objects(const py::module_& m) {
  for (const auto& [name, member] : py::dict(m.attr("__dict__"))) {
    if (!PyType_Check(member.ptr()) ||
        py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(member.ptr())) == nullptr)
      continue;
    reinterpret_cast<PyTypeObject*>(member.ptr())->tp_new = &new_instance;
    PyType_Modified(reinterpret_cast<PyTypeObject*>(member.ptr()));
  }
}

void raise(PyObject* type, const char* text) { PyErr_SetString(type, text); }

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Interrupted& e) {
    if (PyErr_CheckSignals() == 0) raise(classes.interrupted, e.what());
  } catch (const IndexError& e) {
    raise(classes.index, e.what());
  } catch (const BadIndex& e) {
    raise(classes.index, e.what());
  } catch (const ShapeError& e) {
    raise(classes.shape, e.what());
  } catch (const DTypeError& e) {
    raise(classes.dtype, e.what());
  } catch (const AstError& e) {
    raise(classes.ast, e.what());
  } catch (const ParseError& e) {
    raise(classes.parse, e.what());
  } catch (const OverflowError& e) {
    raise(classes.overflow, e.what());
  } catch (const BufferError& e) {
    raise(classes.buffer, e.what());
  } catch (const SystemError& e) {
    raise(classes.system, e.what());
  } catch (const Error& e) {
    raise(classes.error, e.what());
  } catch (const std::system_error& e) {
    raise(classes.system, e.what());
  } catch (
      const py::cast_error& e) {  // an object's attribute or a function's result has another type
    raise(PyExc_TypeError, e.what());
  }
}

}  // namespace

Mutex& stack_mutex() { return *stack_mutex_there; }

Interruptible::Interruptible() {
  if (gettid() != getpid() || sigaction(SIGINT, nullptr, &before_) != 0) return;
  if ((before_.sa_flags & SA_SIGINFO) != 0 || before_.sa_handler == SIG_DFL ||
      before_.sa_handler == SIG_IGN || before_.sa_handler == &on_interrupt)
    return;
  python_handler = before_.sa_handler;
  struct sigaction ours = before_;
  ours.sa_handler = &on_interrupt;
  listens_ = sigaction(SIGINT, &ours, nullptr) == 0;
}
Interruptible::~Interruptible() {
  if (!listens_) return;
  sigaction(SIGINT, &before_, nullptr);
  if (interrupted.exchange(false)) Interrupt::clear();
}

void bind_errors(py::module_& m) {
  classes.error =
      made(m, "Error", "The base class of the library's errors.", PyExc_Exception, nullptr);
  PyObject* const root = classes.error;
  classes.shape = made(m, "ShapeError", "An invalid shape, axis, stride, mask or view.", root,
                       PyExc_ValueError);
  classes.index = made(m, "IndexError", "A position outside its axis, or a key that does not fit.",
                       classes.shape, PyExc_IndexError);
  classes.dtype = made(m, "DTypeError", "An element type that an operation does not support.", root,
                       PyExc_TypeError);
  classes.ast = made(m, "AstError", "A kernel that breaks a rule.", root, PyExc_ValueError);
  classes.parse = made(m, "ParseError", "Text that cannot be parsed.", root, PyExc_ValueError);
  classes.overflow = made(m, "OverflowError", "A number out of range.", root, PyExc_OverflowError);
  classes.buffer = made(m, "BufferError", "An array that does not fit.", root, PyExc_BufferError);
  classes.system =
      made(m, "SystemError", "A file, a compiler or a process that failed.", root, PyExc_OSError);
  classes.interrupted =
      made(m, "Interrupted", "A computation that was interrupted.", root, nullptr);
  py::register_exception_translator(&translate);
}

}  // namespace touchstone::python

PYBIND11_MODULE(_core, m) {
  using namespace touchstone::python;
  m.doc() = "The C++ library; users import touchstone.";
  m.attr("__version__") = TOUCHSTONE_VERSION;
  pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  bind_errors(m);
  py::module_ symbolic = m.def_submodule("symbolic", "Index expressions.");
  bind_symbolic(symbolic);
  bind_derivations(symbolic);
  py::module_ view = m.def_submodule("view", "Views and stacks of them.");
  bind_view(view);
  py::module_ maps = m.def_submodule("maps", "Maps and checks of an index.");
  bind_maps(maps);
  py::module_ kernel = m.def_submodule("kernel", "Kernels and verdicts.");
  bind_kernel(kernel);
  py::module_ model = m.def_submodule("model", "Models of other frameworks.");
  bind_model(model);
  py::module_ tensor = m.def_submodule("tensor", "Tensors.");
  bind_tensor(tensor);
  for (const py::module_& each : {symbolic, view, maps, kernel, model, tensor})
    refuse_bare_objects(each);
}
