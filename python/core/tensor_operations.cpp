#include "tensors.h"
#include "touchstone/tensor/conv.h"
#include "touchstone/tensor/einsum.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/indexing.h"

namespace touchstone::python {
namespace {

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}
using Axes = std::variant<std::monostate, int, std::vector<int>>;
std::vector<int> axes_of(const Tensor& x, const Axes& axes) {
  if (const int* one = std::get_if<int>(&axes)) return {*one};
  if (const auto* some = std::get_if<std::vector<int>>(&axes)) return *some;
  return all_axes(x);
}
PadMode pad_mode(const std::string& name) {
  if (name == "constant") return PadMode::Constant;
  if (name == "reflect") return PadMode::Reflect;
  if (name == "replicate") return PadMode::Replicate;
  if (name == "circular") return PadMode::Circular;
  throw ParseError(fmt::format(
      "there is no padding '{}'; choose from: constant, reflect, replicate, circular", name));
}
KeepDim keep_of(bool keep) { return keep ? KeepDim::Yes : KeepDim::No; }

void bind_movement(TensorClass& t) {
  t.def("reshape", &Tensor::reshape, py::arg("shape"), Guard())
      .def("permute", &Tensor::permute, py::arg("order"), Guard())
      .def("transpose", &Tensor::transpose, py::arg("a") = -2, py::arg("b") = -1, Guard())
      .def("expand", &Tensor::expand, py::arg("shape"), Guard())
      .def(
          "pad",
          [](const Tensor& x, const Padding& p, const std::string& mode, double value) {
            return x.pad(p, pad_mode(mode), value);
          },
          py::arg("padding"), py::arg("mode") = "constant", py::arg("value") = 0.0, Guard(),
          "(before, after) of each axis; mode: constant, reflect, replicate or circular.")
      .def(
          "pad2d",
          [](const Tensor& x, const std::vector<std::int64_t>& p, double value) {
            return x.pad2d(p, value);
          },
          py::arg("padding"), py::arg("value") = 0.0, Guard(),
          "(before, after) of the last axis, then of the one before it, ...")
      .def("movedim", &Tensor::movedim, py::arg("from_axis"), py::arg("to_axis"), Guard())
      .def("unflatten", &Tensor::unflatten, py::arg("axis"), py::arg("sizes"), Guard())
      .def("narrow", &Tensor::narrow, py::arg("axis"), py::arg("begin"), py::arg("size"), Guard())
      .def(
          "split",
          [](const Tensor& x, const std::variant<std::int64_t, std::vector<std::int64_t>>& sizes,
             int axis) {
            return std::visit([&](const auto& s) { return x.split(s, axis); }, sizes);
          },
          py::arg("sizes"), py::arg("axis") = 0, Guard(),
          "Parts of these sizes along an axis, or all of one size.")
      .def("chunk", &Tensor::chunk, py::arg("count"), py::arg("axis") = 0, Guard())
      .def("repeat_interleave", &Tensor::repeat_interleave, py::arg("times"), py::arg("axis"),
           Guard())
      .def("unfold", &Tensor::unfold, py::arg("axis"), py::arg("size"), py::arg("step") = 1,
           Guard(), "Windows of an axis, whose elements are a new last axis.")
      .def("diagonal", &Tensor::diagonal, py::arg("a") = -2, py::arg("b") = -1, Guard())
      .def("shrink", &Tensor::shrink, py::arg("keep"), Guard())
      .def("flip", &Tensor::flip, py::arg("axes"), Guard())
      .def("unsqueeze", &Tensor::unsqueeze, py::arg("axis"), Guard())
      .def(
          "squeeze",
          [](const Tensor& x, const std::optional<int>& axis) {
            return axis ? x.squeeze(*axis) : x.squeeze();
          },
          py::arg("axis") = py::none(), Guard())
      .def("flatten", &Tensor::flatten, py::arg("first") = 0, Guard())
      .def("repeat", &Tensor::repeat, py::arg("times"), Guard())
      .def("roll", &Tensor::roll, py::arg("by"), py::arg("axis"), Guard())
      .def("triu", &Tensor::triu, py::arg("k") = 0, Guard())
      .def("tril", &Tensor::tril, py::arg("k") = 0, Guard())
      .def_property_readonly("T", [](const Tensor& x) { return x.transpose(); });
}

// The type that a number from 2^63 on takes beside an argument of where().
DType type_beside(const Arg& other) {
  if (const auto* t = std::get_if<Tensor>(&other)) return t->dtype();
  const auto* whole = std::get_if<std::int64_t>(&other);
  return whole != nullptr && *whole < 0 ? DType::Int64 : DType::UInt64;
}

void bind_arithmetic(TensorClass& t) {
  using Unary = Tensor (Tensor::*)() const;
  // clang-format off
#define TOUCHSTONE_UNARY(name) {#name, &Tensor::name}
  const std::pair<const char*, Unary> unary[] = {
      TOUCHSTONE_UNARY(exp), TOUCHSTONE_UNARY(exp2), TOUCHSTONE_UNARY(log), TOUCHSTONE_UNARY(log2),
      TOUCHSTONE_UNARY(sin), TOUCHSTONE_UNARY(cos), TOUCHSTONE_UNARY(tan), TOUCHSTONE_UNARY(sqrt),
      TOUCHSTONE_UNARY(rsqrt), TOUCHSTONE_UNARY(reciprocal), TOUCHSTONE_UNARY(relu),
      TOUCHSTONE_UNARY(sigmoid), TOUCHSTONE_UNARY(tanh), TOUCHSTONE_UNARY(abs),
      TOUCHSTONE_UNARY(square), TOUCHSTONE_UNARY(erf), TOUCHSTONE_UNARY(erfc),
      TOUCHSTONE_UNARY(log10), TOUCHSTONE_UNARY(asin), TOUCHSTONE_UNARY(acos),
      TOUCHSTONE_UNARY(atan), TOUCHSTONE_UNARY(cbrt), TOUCHSTONE_UNARY(lgamma),
      TOUCHSTONE_UNARY(digamma), TOUCHSTONE_UNARY(erfinv), TOUCHSTONE_UNARY(silu),
      TOUCHSTONE_UNARY(softplus), TOUCHSTONE_UNARY(floor), TOUCHSTONE_UNARY(ceil),
      TOUCHSTONE_UNARY(round), TOUCHSTONE_UNARY(sign), TOUCHSTONE_UNARY(isnan),
      TOUCHSTONE_UNARY(isinf), TOUCHSTONE_UNARY(logical_not), TOUCHSTONE_UNARY(expm1),
      TOUCHSTONE_UNARY(log1p), TOUCHSTONE_UNARY(sinh), TOUCHSTONE_UNARY(cosh),
      TOUCHSTONE_UNARY(asinh), TOUCHSTONE_UNARY(acosh), TOUCHSTONE_UNARY(atanh),
      TOUCHSTONE_UNARY(quick_gelu), TOUCHSTONE_UNARY(mish), TOUCHSTONE_UNARY(log_sigmoid),
      TOUCHSTONE_UNARY(softsign), TOUCHSTONE_UNARY(selu), TOUCHSTONE_UNARY(relu6),
      TOUCHSTONE_UNARY(hardsigmoid), TOUCHSTONE_UNARY(hardswish), TOUCHSTONE_UNARY(trunc),
      TOUCHSTONE_UNARY(isfinite)};
  // clang-format on
#undef TOUCHSTONE_UNARY
  for (const auto& [name, f] : unary) t.def(name, f, Guard());
  using Scaled = Tensor (Tensor::*)(double) const;
  const std::tuple<const char*, Scaled, const char*, double> scaled[] = {
      {"elu", &Tensor::elu, "alpha", 1},
      {"celu", &Tensor::celu, "alpha", 1},
      {"leaky_relu", &Tensor::leaky_relu, "slope", 0.01}};
  for (const auto& [name, f, argument, usual] : scaled)
    t.def(name, f, py::arg(argument) = usual, Guard());
  t.def(
       "gelu",
       [](const Tensor& x, bool tanh) { return x.gelu(tanh ? GeluForm::Tanh : GeluForm::Erf); },
       py::arg("tanh") = true, Guard(), "With the approximation by tanh, or with erf.")
      .def("hardtanh", &Tensor::hardtanh, py::arg("low") = -1.0, py::arg("high") = 1.0, Guard())
      .def(
          "__neg__", [](const Tensor& x) { return -x; }, Guard())
      .def("__abs__", &Tensor::abs, Guard())
      .def(
          "clamp",
          [](const Tensor& x, const Arg& low, const Arg& high) {
            const auto with = [&](const Tensor& t, const Arg& end, auto f) {
              if (std::holds_alternative<std::monostate>(end)) return t;
              return with_arg(end, x.dtype(), x.device(), [&](const auto& v) { return f(t, v); });
            };
            const auto most = [](const Tensor& t, const auto& v) { return maximum(t, v); };
            const auto least = [](const Tensor& t, const auto& v) { return minimum(t, v); };
            return with(with(x, low, most), high, least);
          },
          py::arg("low") = py::none(), py::arg("high") = py::none(), Guard(),
          "Between two numbers or tensors, of the type that maximum and minimum have; None leaves "
          "a "
          "side open.");
#define TOUCHSTONE_OPERATOR(name, expression)                                                 \
  t.def(                                                                                      \
      name,                                                                                   \
      [](const Tensor& x, const Arg& y) {                                                     \
        return with_arg(y, x.dtype(), x.device(), [&](const auto& v) { return expression; }); \
      },                                                                                      \
      py::is_operator(), Guard())
  TOUCHSTONE_OPERATOR("__add__", x + v);
  TOUCHSTONE_OPERATOR("__radd__", v + x);
  TOUCHSTONE_OPERATOR("__sub__", x - v);
  TOUCHSTONE_OPERATOR("__rsub__", v - x);
  TOUCHSTONE_OPERATOR("__mul__", x * v);
  TOUCHSTONE_OPERATOR("__rmul__", v * x);
  TOUCHSTONE_OPERATOR("__truediv__", x / v);
  TOUCHSTONE_OPERATOR("__rtruediv__", v / x);
  TOUCHSTONE_OPERATOR("__pow__", pow(x, v));
  TOUCHSTONE_OPERATOR("__rpow__", pow(v, x));
  TOUCHSTONE_OPERATOR("__xor__", (x ^ v));
  TOUCHSTONE_OPERATOR("__rxor__", (v ^ x));
  TOUCHSTONE_OPERATOR("__and__", (x & v));
  TOUCHSTONE_OPERATOR("__rand__", (x & v));
  TOUCHSTONE_OPERATOR("__or__", (x | v));
  TOUCHSTONE_OPERATOR("__ror__", (x | v));
  TOUCHSTONE_OPERATOR("__floordiv__", floor_div(x, v));
  TOUCHSTONE_OPERATOR("__rfloordiv__", floor_div(v, x));
  TOUCHSTONE_OPERATOR("__mod__", remainder(x, v));
  TOUCHSTONE_OPERATOR("__rmod__", remainder(v, x));
  TOUCHSTONE_OPERATOR("__lt__", x < v);
  TOUCHSTONE_OPERATOR("__le__", x <= v);
  TOUCHSTONE_OPERATOR("__gt__", x > v);
  TOUCHSTONE_OPERATOR("__ge__", x >= v);
  TOUCHSTONE_OPERATOR("__eq__", (x == v));
  TOUCHSTONE_OPERATOR("__ne__", (x != v));
  TOUCHSTONE_OPERATOR("maximum", maximum(x, v));
  TOUCHSTONE_OPERATOR("minimum", minimum(x, v));
  TOUCHSTONE_OPERATOR("mod", mod(x, v));
#undef TOUCHSTONE_OPERATOR
#define TOUCHSTONE_IN_PLACE(name, op)                                     \
  t.def(                                                                  \
      name,                                                               \
      [](Tensor& x, const Arg& y) {                                       \
        return with_arg(y, x.dtype(), x.device(),                         \
                        [&](const auto& v) -> Tensor { return x op v; }); \
      },                                                                  \
      py::is_operator(), Guard())
  TOUCHSTONE_IN_PLACE("__iadd__", +=);
  TOUCHSTONE_IN_PLACE("__isub__", -=);
  TOUCHSTONE_IN_PLACE("__imul__", *=);
  TOUCHSTONE_IN_PLACE("__itruediv__", /=);
#undef TOUCHSTONE_IN_PLACE
  t.def("atan2", &touchstone::atan2, Guard()).def("hypot", &touchstone::hypot, Guard());
  t.attr("__hash__") = py::module_::import("builtins").attr("object").attr("__hash__");
  t.def("matmul", &Tensor::matmul, py::arg("other"), Guard())
      .def("__matmul__", &Tensor::matmul, py::is_operator(), Guard())
      .def_static(
          "where",
          [](const Tensor& c, const Arg& a, const Arg& b) {
            return with_arg(a, type_beside(b), c.device(), [&](const auto& x) {
              return with_arg(b, type_beside(a), c.device(),
                              [&](const auto& y) { return Tensor::where(c, x, y); });
            });
          },
          py::arg("condition"), py::arg("a"), py::arg("b"), Guard());
}

void bind_reductions(TensorClass& t) {
#define TOUCHSTONE_REDUCTION(name)                       \
  t.def(                                                 \
      #name,                                             \
      [](const Tensor& x, const Axes& axes, bool keep) { \
        return x.name(axes_of(x, axes), keep_of(keep));  \
      },                                                 \
      py::arg("axes") = py::none(), py::arg("keepdim") = false, Guard())
  TOUCHSTONE_REDUCTION(sum);
  TOUCHSTONE_REDUCTION(mean);
  TOUCHSTONE_REDUCTION(max);
  TOUCHSTONE_REDUCTION(min);
  TOUCHSTONE_REDUCTION(prod);
  TOUCHSTONE_REDUCTION(any);
  TOUCHSTONE_REDUCTION(all);
  TOUCHSTONE_REDUCTION(logsumexp);
#undef TOUCHSTONE_REDUCTION
  t.def(
       "var",
       [](const Tensor& x, const Axes& axes, std::int64_t correction, bool keep) {
         return x.var(axes_of(x, axes), correction, keep_of(keep));
       },
       py::arg("axes") = py::none(), py::arg("correction") = 1, py::arg("keepdim") = false, Guard())
      .def(
          "std",
          [](const Tensor& x, const Axes& axes, std::int64_t correction, bool keep) {
            return x.std(axes_of(x, axes), correction, keep_of(keep));
          },
          py::arg("axes") = py::none(), py::arg("correction") = 1, py::arg("keepdim") = false,
          Guard())
      .def(
          "argmax",
          [](const Tensor& x, const std::optional<int>& axis, bool keep) {
            return axis ? x.argmax(*axis, keep_of(keep)) : x.argmax();
          },
          py::arg("axis") = py::none(), py::arg("keepdim") = false, Guard())
      .def(
          "argmin",
          [](const Tensor& x, const std::optional<int>& axis, bool keep) {
            return axis ? x.argmin(*axis, keep_of(keep)) : x.argmin();
          },
          py::arg("axis") = py::none(), py::arg("keepdim") = false, Guard())
      .def("softmax", &softmax, py::arg("axis") = -1, Guard())
      .def("log_softmax", &log_softmax, py::arg("axis") = -1, Guard());
  using Scan = Tensor (Tensor::*)(int) const;
  const std::pair<const char*, Scan> scans[] = {{"cumsum", &Tensor::cumsum},
                                                {"cumprod", &Tensor::cumprod},
                                                {"cummax", &Tensor::cummax},
                                                {"cummin", &Tensor::cummin}};
  for (const auto& [name, f] : scans) t.def(name, f, py::arg("axis"), Guard());
}

bool is_numpy_bool(py::handle source) {
  const std::string_view type = Py_TYPE(source.ptr())->tp_name;
  return type == "numpy.bool_" || type == "numpy.bool";
}

}  // namespace

Tensor large_number(std::uint64_t value, DType met, const std::string& device) {
  if (met != DType::UInt64 && !is_float(met))
    throw OverflowError(fmt::format(
        "{} is past int64, and beside {} no type holds both: cast the tensor to uint64 or a float",
        value, name(met)));
  return Tensor::from(std::vector{value}, Shape{}, device).cast(met);
}

bool load_number(py::handle source, Arg& to) {
  PyObject* const p = source.ptr();
  if (source.is_none()) {
    to = std::monostate();
  } else if (PyBool_Check(p) || is_numpy_bool(source)) {
    to = PyObject_IsTrue(p) == 1;
  } else if (PyLong_Check(p) || PyFloat_Check(p)) {
    if (PyFloat_Check(p)) {
      to = PyFloat_AsDouble(p);
    } else {
      int overflow = 0;
      const long long whole = PyLong_AsLongLongAndOverflow(p, &overflow);
      if (overflow == 0) {
        to = std::int64_t{whole};
        return true;
      }
      const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(p) : 0;
      if (overflow < 0 || PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return false;
      }
      to = std::uint64_t{large};
    }
  } else {
    if (py::hasattr(source, "shape") && py::len(source.attr("shape")) != 0) return false;
    if (py::hasattr(source, "imag") && py::hasattr(source, "__complex__") &&
        !py::object(source.attr("imag")).equal(py::int_(0)))
      return false;
    py::object plain;
    if (PyIndex_Check(p) != 0) plain = py::reinterpret_steal<py::object>(PyNumber_Index(p));
    if (!plain) {  // integer arrays have an index
      PyErr_Clear();
      const bool has_float =
          Py_TYPE(p)->tp_as_number != nullptr && Py_TYPE(p)->tp_as_number->nb_float != nullptr;
      if (has_float) plain = py::reinterpret_steal<py::object>(PyNumber_Float(p));
    }
    if (!plain) {
      PyErr_Clear();
      return false;
    }
    return load_number(plain, to);
  }
  return true;
}

void bind_tensor_operations(TensorClass& t) {
  bind_movement(t);
  bind_arithmetic(t);
  bind_reductions(t);
}

// Indexing tensors by tensors, and sorting.
namespace {

Order order_of(bool descending) { return descending ? Order::Descending : Order::Ascending; }
std::pair<Tensor, Tensor> pair_of(const Sorted& s) { return {s.values, s.indices}; }

void bind_order(TensorClass& t) {
  t.def(
       "sort",
       [](const Tensor& x, int axis, bool down) { return pair_of(sort(x, axis, order_of(down))); },
       py::arg("axis") = -1, py::arg("descending") = false, Guard(),
       "(values, int32 positions); stable, NaN counts as the largest.")
      .def(
          "argsort",
          [](const Tensor& x, int axis, bool down) { return argsort(x, axis, order_of(down)); },
          py::arg("axis") = -1, py::arg("descending") = false, Guard())
      .def(
          "topk",
          [](const Tensor& x, std::int64_t k, int axis, bool largest) {
            return pair_of(topk(x, k, axis, order_of(largest)));
          },
          py::arg("k"), py::arg("axis") = -1, py::arg("largest") = true, Guard(),
          "(values, int32 positions) of the k largest, or smallest.");
}

}  // namespace

void bind_indexing(TensorClass& t) {
  bind_order(t);
  t.def(
       "take", [](const Tensor& x, const Tensor& at, int axis) { return take(x, at, axis); },
       py::arg("at"), py::arg("axis"), Guard(), "Elements of one axis at positions.")
      .def("gather", &touchstone::gather, py::arg("axis"), py::arg("at"), Guard(),
           "out[i, j] = x[i, at[i, j]] for axis 1.")
      .def("scatter", &scatter, py::arg("axis"), py::arg("at"), py::arg("source"), Guard(),
           "x with source[i, j] written to [i, at[i, j]] for axis 1.")
      .def("scatter_add", &scatter_add, py::arg("axis"), py::arg("at"), py::arg("source"), Guard())
      .def(
          "masked_fill",
          [](const Tensor& x, const Tensor& mask, double value) {
            return masked_fill(x, mask, value);
          },
          py::arg("mask"), py::arg("value"), Guard())
      .def("nonzero", &nonzero, Guard(), "Int64 positions, (count, rank).")
      .def("one_hot", &one_hot, py::arg("classes"), Guard(),
           "(...) integers -> (..., classes), bool.")
      .def(
          "interpolate",
          [](const Tensor& x, const std::vector<std::int64_t>& sizes, bool linear, bool corners) {
            return interpolate(x, sizes, linear ? Interpolation::Linear : Interpolation::Nearest,
                               corners ? AlignCorners::Yes : AlignCorners::No);
          },
          py::arg("sizes"), py::arg("linear") = false, py::arg("align_corners") = false, Guard(),
          "The last axes brought to these sizes.")
      .def_static("einsum", &einsum, py::arg("notation"), py::arg("operands"), Guard(),
                  "Einstein's summation, 'ij,jk->ik'.");
}

}  // namespace touchstone::python
