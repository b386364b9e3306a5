#include "tensors.h"
#include "touchstone/tensor/functional.h"

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
KeepDim keep_of(bool keep) { return keep ? KeepDim::Yes : KeepDim::No; }

void bind_movement(TensorClass& t) {
  t.def("reshape", &Tensor::reshape, py::arg("shape"), Guard())
      .def("permute", &Tensor::permute, py::arg("order"), Guard())
      .def("transpose", &Tensor::transpose, py::arg("a") = -2, py::arg("b") = -1, Guard())
      .def("expand", &Tensor::expand, py::arg("shape"), Guard())
      .def(
          "pad", [](const Tensor& x, const Padding& p) { return x.pad(p); }, py::arg("padding"),
          Guard())
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

void bind_arithmetic(TensorClass& t) {
  using Unary = Tensor (Tensor::*)() const;
  const std::pair<const char*, Unary> unary[] = {{"exp", &Tensor::exp},
                                                 {"exp2", &Tensor::exp2},
                                                 {"log", &Tensor::log},
                                                 {"log2", &Tensor::log2},
                                                 {"sin", &Tensor::sin},
                                                 {"cos", &Tensor::cos},
                                                 {"tan", &Tensor::tan},
                                                 {"sqrt", &Tensor::sqrt},
                                                 {"rsqrt", &Tensor::rsqrt},
                                                 {"reciprocal", &Tensor::reciprocal},
                                                 {"relu", &Tensor::relu},
                                                 {"sigmoid", &Tensor::sigmoid},
                                                 {"tanh", &Tensor::tanh},
                                                 {"abs", &Tensor::abs},
                                                 {"square", &Tensor::square},
                                                 {"erf", &Tensor::erf},
                                                 {"silu", &Tensor::silu},
                                                 {"softplus", &Tensor::softplus},
                                                 {"floor", &Tensor::floor},
                                                 {"ceil", &Tensor::ceil},
                                                 {"round", &Tensor::round},
                                                 {"sign", &Tensor::sign},
                                                 {"isnan", &Tensor::isnan},
                                                 {"isinf", &Tensor::isinf},
                                                 {"logical_not", &Tensor::logical_not}};
  for (const auto& [name, f] : unary) t.def(name, f, Guard());
  t.def(
       "gelu", [](const Tensor& x) { return x.gelu(); }, Guard())
      .def(
          "__neg__", [](const Tensor& x) { return -x; }, Guard())
      .def("__abs__", &Tensor::abs, Guard())
      .def(
          "clamp", [](const Tensor& x, double low, double high) { return x.clamp(low, high); },
          py::arg("low"), py::arg("high"), Guard());
#define TOUCHSTONE_OPERATOR(name, expression)                          \
  t.def(                                                               \
      name,                                                            \
      [](const Tensor& x, const Arg& y) {                              \
        return with_arg(y, [&](const auto& v) { return expression; }); \
      },                                                               \
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
  TOUCHSTONE_OPERATOR("__lt__", x < v);
  TOUCHSTONE_OPERATOR("__le__", x <= v);
  TOUCHSTONE_OPERATOR("__gt__", x > v);
  TOUCHSTONE_OPERATOR("__ge__", x >= v);
  TOUCHSTONE_OPERATOR("__eq__", (x == v));
  TOUCHSTONE_OPERATOR("__ne__", (x != v));
  TOUCHSTONE_OPERATOR("maximum", maximum(x, v));
  TOUCHSTONE_OPERATOR("minimum", minimum(x, v));
#undef TOUCHSTONE_OPERATOR
  t.attr("__hash__") = py::module_::import("builtins").attr("object").attr("__hash__");
  t.def("matmul", &Tensor::matmul, py::arg("other"), Guard())
      .def("__matmul__", &Tensor::matmul, py::is_operator(), Guard())
      .def_static(
          "where",
          [](const Tensor& c, const Tensor& a, const Tensor& b) { return Tensor::where(c, a, b); },
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
          [](const Tensor& x, const std::optional<int>& axis) {
            return axis ? x.argmax(*axis) : x.argmax();
          },
          py::arg("axis") = py::none(), Guard())
      .def(
          "argmin",
          [](const Tensor& x, const std::optional<int>& axis) {
            return axis ? x.argmin(*axis) : x.argmin();
          },
          py::arg("axis") = py::none(), Guard())
      .def("cumsum", &Tensor::cumsum, py::arg("axis"), Guard())
      .def(
          "softmax", [](const Tensor& x, int axis) { return softmax(x, axis); },
          py::arg("axis") = -1, Guard())
      .def(
          "log_softmax", [](const Tensor& x, int axis) { return log_softmax(x, axis); },
          py::arg("axis") = -1, Guard());
}

}  // namespace

void bind_tensor_operations(TensorClass& t) {
  bind_movement(t);
  bind_arithmetic(t);
  bind_reductions(t);
}

}  // namespace touchstone::python
