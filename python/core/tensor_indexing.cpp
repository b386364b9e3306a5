#include "tensors.h"
#include "touchstone/tensor/conv.h"
#include "touchstone/tensor/einsum.h"
#include "touchstone/tensor/indexing.h"

// Indexing tensors by tensors, and sorting.

namespace touchstone::python {
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
      .def(
          "gather", [](const Tensor& x, int axis, const Tensor& at) { return gather(x, axis, at); },
          py::arg("axis"), py::arg("at"), Guard(), "out[i, j] = x[i, at[i, j]] for axis 1.")
      .def(
          "scatter",
          [](const Tensor& x, int axis, const Tensor& at, const Tensor& source) {
            return scatter(x, axis, at, source);
          },
          py::arg("axis"), py::arg("at"), py::arg("source"), Guard(),
          "x with source[i, j] written to [i, at[i, j]] for axis 1.")
      .def(
          "scatter_add",
          [](const Tensor& x, int axis, const Tensor& at, const Tensor& source) {
            return scatter_add(x, axis, at, source);
          },
          py::arg("axis"), py::arg("at"), py::arg("source"), Guard())
      .def(
          "masked_fill",
          [](const Tensor& x, const Tensor& mask, double value) {
            return masked_fill(x, mask, value);
          },
          py::arg("mask"), py::arg("value"), Guard())
      .def(
          "nonzero", [](const Tensor& x) { return nonzero(x); }, Guard(),
          "Int64 positions, (count, rank).")
      .def(
          "one_hot", [](const Tensor& x, std::int64_t classes) { return one_hot(x, classes); },
          py::arg("classes"), Guard(), "(...) integers -> (..., classes), bool.")
      .def(
          "interpolate",
          [](const Tensor& x, const std::vector<std::int64_t>& sizes, bool linear, bool corners) {
            return interpolate(x, sizes, linear ? Interpolation::Linear : Interpolation::Nearest,
                               corners ? AlignCorners::Yes : AlignCorners::No);
          },
          py::arg("sizes"), py::arg("linear") = false, py::arg("align_corners") = false, Guard(),
          "The last axes brought to these sizes.")
      .def_static(
          "einsum",
          [](const std::string& notation, const std::vector<Tensor>& operands) {
            return einsum(notation, operands);
          },
          py::arg("notation"), py::arg("operands"), Guard(), "Einstein's summation, 'ij,jk->ik'.");
}

}  // namespace touchstone::python
