#include "touchstone/tensor/tensor.h"

#include <limits>

#include "arrays.h"
#include "kernel.h"
#include "tensors.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/cuda/cuda_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/modes.h"
#include "touchstone/tensor/print.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone::python {

namespace {

TensorOptions options_of(const std::optional<std::string>& dtype, const std::string& device) {
  TensorOptions options;
  if (dtype) options.dtype = parse_dtype(*dtype);
  options.device = device;
  return options;
}

// Nested lists of numbers, all rows of one length.
struct Nested {
  std::vector<std::int64_t> shape;
  std::vector<py::object> numbers;
};
void collect(py::handle value, std::size_t depth, Nested& to) {
  if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value)) {
    if (depth != to.shape.size())
      throw ShapeError("Tensor: lists mix rows and numbers; make them equal");
    to.numbers.push_back(py::reinterpret_borrow<py::object>(value));
    return;
  }
  if (depth > 32) throw ShapeError("Tensor: lists nest deeper than 32");
  const auto list = py::reinterpret_borrow<py::sequence>(value);
  const auto size = static_cast<std::int64_t>(py::len(list));
  if (to.shape.size() == depth && to.numbers.empty()) to.shape.push_back(size);
  if (to.shape.size() <= depth || to.shape[depth] != size)
    throw ShapeError(fmt::format("Tensor: rows of {} and {} values; they must have equal lengths",
                                 to.shape.size() <= depth ? 0 : to.shape[depth], size));
  for (const py::handle entry : list) collect(entry, depth + 1, to);
}

using Real = std::variant<std::int64_t, double>;

// A number, or a tensor of one.
Real real_of(const Arg& arg) {
  return std::visit(
      []<class T>(const T& value) -> Real {
        if constexpr (std::is_same_v<T, Tensor>) {
          if (is_float(value.dtype())) return value.cast(DType::Float64).template item<double>();
          return value.cast(DType::Int64).template item<std::int64_t>();
        } else if constexpr (std::is_same_v<T, bool>) {
          return std::int64_t{value};
        } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>) {
          return value;
        } else {
          throw DTypeError("arange: None and numbers from 2^63 on are no ends");
        }
      },
      arg);
}

Shape shape_of(const std::vector<std::int64_t>& sizes) { return {sizes.begin(), sizes.end()}; }

Tensor of_numbers(py::handle data, const std::optional<DType>& wanted, const std::string& device) {
  Nested nested;
  collect(data, 0, nested);
  bool floats = nested.numbers.empty(), bools = !nested.numbers.empty();
  for (const py::object& n : nested.numbers) {
    const bool is_bool = PyBool_Check(n.ptr()) != 0;
    if (!is_bool && PyFloat_Check(n.ptr()) == 0 && PyIndex_Check(n.ptr()) == 0)
      throw py::type_error("Tensor: a " +
                           py::str(py::type::of(n).attr("__name__")).cast<std::string>() +
                           " is neither a number nor an array");
    floats = floats || PyFloat_Check(n.ptr()) != 0;
    bools = bools && is_bool;
  }
  std::vector<double> reals;
  std::vector<std::int64_t> wholes;
  std::vector<std::uint64_t> large;  // the same, if one is 2^63 or more
  bool negative = false, beyond = false;
  for (const py::object& n : nested.numbers) {
    if (floats) {
      reals.push_back(n.cast<double>());
      continue;
    }
    const py::int_ whole = py::reinterpret_steal<py::int_>(PyNumber_Index(n.ptr()));
    int overflow = 0;
    wholes.push_back(PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow));
    negative = negative || overflow < 0 || (overflow == 0 && wholes.back() < 0);
    beyond = beyond || overflow != 0;
    large.push_back(overflow > 0 ? PyLong_AsUnsignedLongLong(whole.ptr())
                                 : static_cast<std::uint64_t>(wholes.back()));
    if (PyErr_Occurred() != nullptr || (negative && beyond)) {
      PyErr_Clear();
      throw OverflowError("Tensor: no integer type holds all of the numbers; give floats");
    }
  }
  const Shape shape = shape_of(nested.shape);
  const Working working;
  const Tensor made = floats   ? Tensor::from(reals, shape, device)
                      : beyond ? Tensor::from(large, shape, device)
                               : Tensor::from(wholes, shape, device);
  if (wanted) return made.cast(*wanted);
  if (floats) return made.cast(default_dtype());
  return bools ? made.bool_() : made;
}

Tensor tensor_of(py::handle data, const std::optional<std::string>& dtype,
                 const std::string& device, bool requires_grad) {
  std::optional<DType> wanted;
  if (dtype) wanted = parse_dtype(*dtype);
  const auto made = [&]() -> Tensor {
    if (PyFloat_Check(data.ptr()) != 0 || PyLong_Check(data.ptr()) != 0 ||
        py::isinstance<py::list>(data) || py::isinstance<py::tuple>(data))
      return of_numbers(data, wanted, device);
    const Borrowed b(data, "Tensor");
    const Working working;
    const Shape shape = shape_of(b.shape());
    if (b.size() == 0) return Tensor::zeros(shape, {b.dtype(), device});
    const auto buffer = std::make_shared<Buffer>(Device::get(device), b.dtype(), b.size());
    buffer->copy_in({b.data(), b.bytes()});
    const Tensor t(LazyBuffer::from_buffer(buffer, shape));
    return wanted && *wanted != b.dtype() ? t.cast(*wanted) : t;
  };
  Tensor t = made();
  if (requires_grad) t.set_requires_grad();
  return t;
}

Elements elements_of(const Tensor& t) {
  Elements out(t.dtype(), concrete(t.shape()));
  const Working working;
  if (out.size() == 0) return out;
  lazy::host_values(t.lazy())->copy_out(
      {out.data(), static_cast<std::size_t>(out.size()) * itemsize(out.dtype)});
  return out;
}

// An integer, or a tensor of one; the end of int64 for one beyond, whose sign `beyond` is.
std::int64_t whole_of(py::handle number, int& beyond) {
  const py::object whole = py::isinstance<Tensor>(number)
                               ? number.attr("__int__")()
                               : py::reinterpret_steal<py::object>(PyNumber_Index(number.ptr()));
  if (!whole) throw py::error_already_set();
  const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &beyond);
  using Ends = std::numeric_limits<std::int64_t>;
  return beyond == 0 ? value : beyond > 0 ? Ends::max() : Ends::min();
}

Slice slice_of(const py::slice& s) {
  const auto end = [&s](const char* name) -> std::optional<std::int64_t> {
    const py::object o = s.attr(name);
    int beyond = 0;
    if (o.is_none()) return std::nullopt;
    return whole_of(o, beyond);
  };
  return {end("start"), end("stop"), end("step").value_or(1)};
}

// An integer, including NumPy's scalars and arrays without axes.
bool is_position(py::handle part) {
  return PyIndex_Check(part.ptr()) != 0 && PyBool_Check(part.ptr()) == 0 &&
         (!py::hasattr(part, "shape") || py::len(part.attr("shape")) == 0);
}

std::int64_t position_of(py::handle part) {
  int beyond = 0;
  const std::int64_t at = whole_of(part, beyond);
  if (beyond != 0)
    throw BadIndex(
        fmt::format("index: position {} is outside any axis", py::str(part).cast<std::string>()));
  return at;
}

template <class F>
auto indexed(const F& f) {
  try {
    return f();
  } catch (const ShapeError& e) {
    throw BadIndex(e.what());
  }
}

py::tuple tuple_of(const py::object& key) {
  return py::isinstance<py::tuple>(key) ? py::tuple(key) : py::make_tuple(key);
}

// Positions in a list or array; an empty list has integers.
Tensor positions_of(py::handle part) {
  Nested nested;
  if (py::isinstance<py::list>(part) || py::isinstance<py::tuple>(part)) collect(part, 0, nested);
  const bool empty = !nested.shape.empty() && nested.numbers.empty();
  return tensor_of(part, empty ? std::optional<std::string>("int64") : std::nullopt, "CPU", false);
}

// Its tensors may be the last handles, so they are freed under the lock.
Held<std::vector<Index>> parts_of(const py::object& key) {
  Held<std::vector<Index>> parts(new std::vector<Index>);
  for (const py::handle part : tuple_of(key)) {
    if (part.is_none())
      parts->emplace_back(kNewAxis);
    else if (part.ptr() == Py_Ellipsis)
      parts->emplace_back(kEllipsis);
    else if (py::isinstance<py::slice>(part))
      parts->emplace_back(slice_of(py::reinterpret_borrow<py::slice>(part)));
    else if (py::isinstance<Tensor>(part))
      parts->emplace_back(part.cast<Tensor>());
    else if (is_position(part))
      parts->emplace_back(position_of(part));
    else
      parts->emplace_back(positions_of(part));
  }
  return parts;
}

// The slices of a key without arrays, new axes and ellipses, and which of its parts are integers:
// slices of one element.
struct Sliced {
  std::vector<Slice> slices;
  std::vector<bool> integers;
};

// x[1, :] = values: adds the axes that values lack for integers.
Tensor with_axes(Tensor values, const std::vector<bool>& integers, int rank) {
  for (int i = static_cast<int>(integers.size()); i-- > 0;) {
    const int behind = rank - 1 - i;
    if (integers[static_cast<std::size_t>(i)] && values.rank() > 0 && values.rank() >= behind)
      values = values.unsqueeze(values.rank() - behind);
  }
  return values;
}

std::optional<Sliced> slices_of(const Tensor& x, const py::object& key) {
  Sliced found;
  std::vector<Slice>& slices = found.slices;
  for (const py::handle part : tuple_of(key)) {
    found.integers.push_back(!py::isinstance<py::slice>(part));
    if (!found.integers.back()) {
      slices.push_back(slice_of(py::reinterpret_borrow<py::slice>(part)));
    } else if (!is_position(part)) {
      return std::nullopt;
    } else {
      const std::int64_t at = position_of(part);
      const std::size_t axis = slices.size();
      if (axis < x.shape().size() && x.shape()[axis].is_int() &&
          (at < -x.shape()[axis].as_int() || at >= x.shape()[axis].as_int()))
        throw BadIndex(fmt::format("index: position {} is outside axis {} of shape {}", at, axis,
                                   str(x.shape())));
      const bool last = at == -1 || at == std::numeric_limits<std::int64_t>::max();
      slices.push_back({at, last ? std::nullopt : std::optional(at + 1), 1});
    }
  }
  return found;
}

void bind_creation(py::module_& m, TensorClass& t) {
  t.def(py::init(&tensor_of), py::arg("data"), py::arg("dtype") = py::none(),
        py::arg("device") = "CPU", py::arg("requires_grad") = false,
        "data: a number, lists of numbers, or an array by the buffer protocol, "
        "__array_interface__ or DLPack; its elements are copied.")
      .def_static(
          "from_dlpack",
          [](const py::object& array, const std::string& device) {
            return tensor_of(array, std::nullopt, device, false);
          },
          py::arg("array"), py::arg("device") = "CPU", "The elements of an array, copied.")
      .def_static(
          "full",
          [](const Shape& shape, const Arg& v, const std::optional<std::string>& dtype,
             const std::string& device) {
            const TensorOptions o = options_of(dtype, device);
            return std::visit(
                [&]<class T>(const T& x) -> Tensor {
                  if constexpr (std::is_same_v<T, std::uint64_t>)
                    return Tensor::from(std::vector{x}, Shape{}, device)
                        .cast(o.dtype)
                        .expand(shape);
                  else if constexpr (std::is_arithmetic_v<T>)
                    return Tensor::full(shape, x, o);
                  else
                    throw DTypeError("full: the value is not a number");
                },
                v);
          },
          py::arg("shape"), py::arg("value"), py::arg("dtype") = py::none(),
          py::arg("device") = "CPU", Guard());
  const auto filled = [&](const char* name, Tensor (*make)(const Shape&, const TensorOptions&)) {
    t.def_static(
        name,
        [make](const Shape& shape, const std::optional<std::string>& dtype,
               const std::string& device) { return make(shape, options_of(dtype, device)); },
        py::arg("shape"), py::arg("dtype") = py::none(), py::arg("device") = "CPU", Guard());
  };
  filled("zeros", &Tensor::zeros);
  filled("ones", &Tensor::ones);
  filled("empty", &Tensor::empty);
  filled("rand", &rand);
  filled("randn", &randn);
  t.def_static(
       "arange",
       [](const Arg& begin, const Arg& end, const Arg& step,
          const std::optional<std::string>& dtype, const std::string& device) {
         const bool both = !std::holds_alternative<std::monostate>(end);
         const Real first = both ? real_of(begin) : std::int64_t{0},
                    last = real_of(both ? end : begin);
         return std::visit(
             [&]<class A, class B, class C>(A from, B to, C by) {
               TensorOptions o = options_of(dtype, device);
               if constexpr (std::is_integral_v<A> && std::is_integral_v<B> &&
                             std::is_integral_v<C>)
                 if (!dtype) o.dtype = DType::Int32;
               return Tensor::arange(from, to, by, o);
             },
             first, last, real_of(step));
       },
       py::arg("begin"), py::arg("end") = py::none(), py::arg("step") = 1,
       py::arg("dtype") = py::none(), py::arg("device") = "CPU", Guard())
      .def_static(
          "eye",
          [](std::int64_t n, const std::optional<std::string>& dtype, const std::string& device) {
            return Tensor::eye(n, options_of(dtype, device));
          },
          py::arg("n"), py::arg("dtype") = py::none(), py::arg("device") = "CPU", Guard())
      .def_static("cat", &Tensor::cat, py::arg("parts"), py::arg("axis") = 0, Guard())
      .def_static("stack", &Tensor::stack, py::arg("parts"), py::arg("axis") = 0, Guard());
  const auto like = [&](const char* name, Tensor (*make)(const Tensor&, std::optional<DType>)) {
    t.def_static(
        name,
        [make](const Tensor& x, const std::optional<std::string>& dtype) {
          return make(x, dtype ? std::optional(parse_dtype(*dtype)) : std::nullopt);
        },
        py::arg("x"), py::arg("dtype") = py::none(), Guard());
  };
  like("zeros_like", &Tensor::zeros_like);
  like("ones_like", &Tensor::ones_like);
  like("empty_like", &Tensor::empty_like);
  like("rand_like", &rand_like);
  like("randn_like", &randn_like);
  t.def_static(
       "linspace",
       [](double begin, double end, std::int64_t count, const std::optional<std::string>& dtype,
          const std::string& device) {
         return Tensor::linspace(begin, end, count, options_of(dtype, device));
       },
       py::arg("begin"), py::arg("end"), py::arg("count"), py::arg("dtype") = py::none(),
       py::arg("device") = "CPU", Guard())
      .def_static(
          "uniform",
          [](const Shape& shape, double low, double high, const std::optional<std::string>& dtype,
             const std::string& device) {
            return default_generator().uniform(shape, low, high, options_of(dtype, device));
          },
          py::arg("shape"), py::arg("low") = 0.0, py::arg("high") = 1.0,
          py::arg("dtype") = py::none(), py::arg("device") = "CPU", Guard())
      .def_static(
          "normal",
          [](const Shape& shape, double mean, double std, const std::optional<std::string>& dtype,
             const std::string& device) {
            return default_generator().normal(shape, mean, std, options_of(dtype, device));
          },
          py::arg("shape"), py::arg("mean") = 0.0, py::arg("std") = 1.0,
          py::arg("dtype") = py::none(), py::arg("device") = "CPU", Guard())
      .def_static(
          "randint",
          [](const Shape& shape, std::int64_t low, std::int64_t high, const std::string& dtype,
             const std::string& device) {
            return default_generator().randint(shape, low, high, options_of(dtype, device));
          },
          py::arg("shape"), py::arg("low") = 0, py::arg("high") = 10, py::arg("dtype") = "int32",
          py::arg("device") = "CPU", Guard(), "Integers in [low, high).")
      .def(
          "multinomial",
          [](const Tensor& weights, std::int64_t count, bool replacement) {
            return default_generator().multinomial(
                weights, count, replacement ? Replacement::Yes : Replacement::No);
          },
          py::arg("num_samples") = 1, py::arg("replacement") = false, Guard(),
          "Int32 positions along the last axis, by weight; any of them for weights below 0 and for "
          "totals that are not positive and finite.");
  using Initial = Tensor (Generator::*)(const Shape&, const TensorOptions&);
  const std::pair<const char*, Initial> initial[] = {
      {"glorot_uniform", &Generator::glorot_uniform},
      {"kaiming_uniform", &Generator::kaiming_uniform},
      {"kaiming_normal", &Generator::kaiming_normal},
      {"scaled_uniform", &Generator::scaled_uniform}};
  for (const auto& [name, make] : initial)
    t.def_static(
        name,
        [make](const Shape& shape, const std::optional<std::string>& dtype,
               const std::string& device) {
          return (default_generator().*make)(shape, options_of(dtype, device));
        },
        py::arg("shape"), py::arg("dtype") = py::none(), py::arg("device") = "CPU", Guard());
  m.def("manual_seed", &manual_seed, py::arg("seed"), Guard(),
        "Reseeds the random numbers of this thread.");
}

void bind_values(TensorClass& t) {
  t.def_property_readonly("shape",
                          [](const Tensor& x) {
                            py::tuple out(x.shape().size());
                            for (std::size_t i = 0; i < x.shape().size(); ++i)
                              out[i] = python_sint(x.shape()[i]);
                            return out;
                          })
      .def_property_readonly("rank", &Tensor::rank)
      .def_property_readonly("dtype", [](const Tensor& x) { return name(x.dtype()); })
      .def_property_readonly("device", &Tensor::device)
      .def("__len__", [](const Tensor& x) { return x.size(0); })
      .def("_elements", &elements_of)
      .def(
          "realize",
          [](const Tensor& x, const symbolic::Values& values) { return x.realize(values); },
          py::arg("values") = symbolic::Values(), Guard(), "Computes it.")
      .def("bind", &Tensor::bind, py::arg("values"), Guard())
      .def_property_readonly("size", &Tensor::elements, "Elements.")
      .def_property_readonly("nbytes", &Tensor::nbytes, "Of the elements.")
      .def_property_readonly("devices", &Tensor::devices, "The names of all that it is on.")
      .def_property_readonly(
          "shard_axis", &Tensor::shard_axis,
          "The axis along which each device has a part; None if each has the whole tensor.")
      .def(
          "to",
          [](const Tensor& x, const std::variant<std::string, std::vector<std::string>>& device) {
            return std::visit([&](const auto& there) { return x.to(there); }, device);
          },
          py::arg("device"), Guard(), "The tensor on another device, or whole on each of several.")
      .def("to_", &Tensor::to_, py::arg("device"), Guard(),
           "Moves this tensor to another device, for all of its handles.")
      .def("shard", &Tensor::shard, py::arg("devices"), py::arg("axis") = 0, Guard(),
           "An equal part along an axis on each of several devices.")
      .def("shard_", &Tensor::shard_, py::arg("devices"), py::arg("axis") = 0, Guard(),
           "Shards this tensor in place, for all of its handles.")
      .def("shard_like", &Tensor::shard_like, py::arg("other"), Guard(),
           "This tensor in the same parts and on the same devices as the other.")
      .def("contiguous", &Tensor::contiguous, Guard())
      .def("clone", &Tensor::clone, Guard())
      .def(
          "cast", [](const Tensor& x, const std::string& to) { return x.cast(parse_dtype(to)); },
          py::arg("dtype"), Guard())
      .def(
          "bitcast",
          [](const Tensor& x, const std::string& to) { return x.bitcast(parse_dtype(to)); },
          py::arg("dtype"), Guard())
      .def("assign", &Tensor::assign, py::arg("values"), Guard(), "Replaces the values.")
      .def(
          "__getitem__",
          [](const Tensor& x, const py::object& key) {
            const Held<std::vector<Index>> parts = parts_of(key);
            const Working working;
            return indexed([&] { return index(x, *parts); });
          },
          py::arg("key"))
      .def(
          "__setitem__",
          [](Tensor& x, const py::object& key, const Arg& value) {
            const std::optional<Sliced> sliced = slices_of(x, key);
            const Held<std::vector<Index>> parts = sliced ? nullptr : parts_of(key);
            const Working working;
            with_arg(value, x.dtype(), x.device(), [&]<class T>(const T& v) {
              indexed([&] {
                if (!sliced)
                  set_index(x, *parts, v);
                else if constexpr (std::is_same_v<T, Tensor>)
                  x.set(sliced->slices, with_axes(v, sliced->integers, x.rank()));
                else
                  x.set(sliced->slices, v);
              });
              return x;
            });
          },
          py::arg("key"), py::arg("value"))
      .def(
          "__repr__", [](const Tensor& x) { return str(x); }, Guard());
}

void bind_gradients(py::module_& m, TensorClass& t) {
  t.def_property("requires_grad", &Tensor::requires_grad,
                 [](Tensor& x, bool wanted) { x.set_requires_grad(wanted); })
      .def_property(
          "grad", &Tensor::grad,
          [](Tensor& x, const Tensor& gradient) {
            const Working working;
            x.set_grad(gradient);
          },
          "The gradient of a leaf, or None.")
      .def("zero_grad", &Tensor::zero_grad, Guard())
      .def(
          "retain_grad", [](Tensor& x) { x.retain_grad(); }, Guard())
      .def("backward", &Tensor::backward, py::arg("gradient") = py::none(), Guard(),
           "Adds d(self)/d(leaf) to the gradient of every leaf that requires one.")
      .def("detach", &Tensor::detach, Guard());
  m.def(
      "gradients",
      [](const Tensor& of, const std::vector<Tensor>& leaves, bool create_graph,
         const std::optional<Tensor>& gradient) {
        return gradients(of, leaves, create_graph ? CreateGraph::Yes : CreateGraph::No, gradient);
      },
      py::arg("of"), py::arg("with_respect_to"), py::arg("create_graph") = false,
      py::arg("gradient") = py::none(), Guard(), "d(of)/d(x) of each x.");
  m.def(
      "realize", [](const std::vector<Tensor>& all) { touchstone::realize(all); },
      py::arg("tensors"), Guard(), "Computes many tensors in one schedule.");
}

TensorJit::Tensors called(const py::function& f, std::span<const Tensor> inputs) {
  TensorJit::Tensors out;
  std::exception_ptr thrown;
  {
    const Paused paused;
    try {
      py::tuple given(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) given[i] = py::cast(inputs[i]);
      const py::object result = f(*given);
      if (py::isinstance<Tensor>(result))
        out = {result.cast<Tensor>()};
      else
        out = result.cast<std::vector<Tensor>>();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  return out;
}

// Python frees the function, but not the tensors: they are freed first, under their lock.
struct Jit {
  explicit Jit(py::function f)
      : function(std::move(f)),
        replayed(new TensorJit(std::function(
            [this](std::span<const Tensor> inputs) { return called(function, inputs); }))) {}
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  py::function function;
  Held<TensorJit> replayed;
};

struct NoGradScope {
  std::unique_ptr<NoGrad> scope;
};
struct TrainingMode {
  bool wanted;
  std::unique_ptr<TrainingScope> scope;
};

void bind_modes(py::module_& m, TensorClass& t) {
  t.def_property_static(
       "no_grad", [](const py::object&) { return !gradients_are_noted(); },
       [](const py::object&, bool wanted) { set_gradients_noted(!wanted); },
       "Whether operations are not recorded for gradients. Per thread; until it is set anew, or a "
       "scope around ends.")
      .def_property_static(
          "training", [](const py::object&) { return is_training(); },
          [](const py::object&, bool wanted) { set_training(wanted); },
          "Whether layers train. Per thread; until it is set anew, or a scope around ends.");
  py::class_<Jit>(
      m, "TensorJit",
      "The first call runs, the second captures its kernels, each later one replays them.")
      .def(py::init<py::function>(), py::arg("function"))
      .def("__call__",
           [](Jit& jit, const py::args& args) {
             std::vector<Tensor> inputs;
             for (const py::handle a : args) inputs.push_back(a.cast<Tensor>());
             const Working working;
             return (*jit.replayed)(inputs);
           })
      .def_property_readonly(
          "captured", [](const Jit& jit) { return jit.replayed->captured(); },
          "Steps of a replay; 0 before the second call.")
      .def(
          "reset", [](Jit& jit) { jit.replayed->reset(); }, Guard());
  py::class_<NoGradScope>(m, "no_grad",
                          "with no_grad(): operations are not recorded for gradients.")
      .def(py::init([] { return NoGradScope{}; }))
      .def("__enter__", [](NoGradScope& s) { s.scope = std::make_unique<NoGrad>(); })
      .def("__exit__", [](NoGradScope& s, const py::args&) { s.scope.reset(); });
  py::class_<TrainingMode>(m, "training", "with training(): layers train.")
      .def(py::init([](bool wanted) {
             return TrainingMode{wanted, nullptr};
           }),
           py::arg("wanted") = true)
      .def("__enter__",
           [](TrainingMode& s) { s.scope = std::make_unique<TrainingScope>(s.wanted); })
      .def("__exit__", [](TrainingMode& s, const py::args&) { s.scope.reset(); });
  m.def("devices", &Device::names, "The names of devices.");
  m.def(
      "counters",
      [] {
        const GlobalCounters c = counters();
        py::dict out;
        out["kernels"] = c.kernels;
        out["ops"] = c.ops;
        out["mem"] = c.mem;
        out["seconds"] = c.seconds;
        out["mem_used"] = c.mem_used;
        out["mem_peak"] = c.mem_peak;
        return out;
      },
      "Counters since reset_counters(): kernels, their operations, bytes touched and seconds; and "
      "the bytes allocated now and at most.");
  m.def(
      "reset_counters", [] { counters().reset(); },
      "Resets all counters except the bytes allocated to 0.");
}

}  // namespace

void bind_tensor(py::module_& m) {
  register_interpreted_device();
  register_clang_device();
  register_cuda_device();
  TensorClass t(m, "Tensor",
                "A lazily computed array with reverse-mode differentiation. Copies of the handle "
                "are the same tensor; nothing is computed until its values are read.");
  bind_creation(m, t);
  bind_values(t);
  bind_gradients(m, t);
  bind_tensor_operations(t);
  bind_indexing(t);
  bind_modes(m, t);
  bind_layers(m);
  bind_functions(m);
  bind_optimizers(m);
}

}  // namespace touchstone::python
