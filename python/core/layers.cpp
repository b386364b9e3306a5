#include "convert.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/optim.h"

// Layers, losses and optimizers.

namespace touchstone::python {
namespace {

std::array<std::int64_t, 2> pair_of(
    const std::variant<std::int64_t, std::array<std::int64_t, 2>>& v) {
  if (const auto* one = std::get_if<std::int64_t>(&v)) return {*one, *one};
  return std::get<std::array<std::int64_t, 2>>(v);
}
using Pair = std::variant<std::int64_t, std::array<std::int64_t, 2>>;

nn::LayerOptions layer_options(bool bias, const std::string& device) {
  nn::LayerOptions o;
  o.bias = bias;
  o.device = device;
  return o;
}

}  // namespace

void bind_layers(py::module_& m) {
  py::class_<nn::Module>(m, "Layer", "A layer: parameters and what is done with them.")
      .def("parameters", &nn::Module::parameters, Guard())
      .def(
          "state",
          [](const nn::Module& l) {
            std::vector<std::pair<std::string, Tensor>> out;
            for (const nn::NamedTensor& n : l.state()) out.emplace_back(n.name, n.tensor);
            return out;
          },
          "(name, tensor) of each.");
  py::class_<nn::Linear, nn::Module>(m, "Linear", "x: (..., in) -> (..., out).")
      .def(py::init([](std::int64_t in, std::int64_t out, bool bias, const std::string& device) {
             const Working w;
             return std::make_unique<nn::Linear>(in, out, default_generator(),
                                                 layer_options(bias, device));
           }),
           py::arg("inputs"), py::arg("outputs"), py::arg("bias") = true, py::arg("device") = "CPU")
      .def("__call__", &nn::Linear::operator(), py::arg("x"), Guard())
      .def_readonly("weight", &nn::Linear::weight)
      .def_readonly("bias", &nn::Linear::bias);
  py::class_<nn::Conv2d, nn::Module>(m, "Conv2d", "x: (n, in, h, w) -> (n, out, oh, ow).")
      .def(py::init([](std::int64_t in, std::int64_t out, const Pair& kernel, const Pair& stride,
                       const Pair& padding, bool bias, const std::string& device) {
             const Working w;
             WindowArgs args;
             args.stride = pair_of(stride);
             args.padding = pair_of(padding);
             return std::make_unique<nn::Conv2d>(in, out, pair_of(kernel), default_generator(),
                                                 args, layer_options(bias, device));
           }),
           py::arg("inputs"), py::arg("outputs"), py::arg("kernel"), py::arg("stride") = 1,
           py::arg("padding") = 0, py::arg("bias") = true, py::arg("device") = "CPU")
      .def("__call__", &nn::Conv2d::operator(), py::arg("x"), Guard())
      .def_readonly("weight", &nn::Conv2d::weight)
      .def_readonly("bias", &nn::Conv2d::bias);
  py::class_<nn::BatchNorm, nn::Module>(m, "BatchNorm", "x: (n, channels, ...).")
      .def(py::init([](std::int64_t channels, double momentum, double eps) {
             const Working w;
             return std::make_unique<nn::BatchNorm>(channels, momentum, eps);
           }),
           py::arg("channels"), py::arg("momentum") = 0.1, py::arg("eps") = 1e-5)
      .def(
          "__call__", [](const nn::BatchNorm& l, const Tensor& x) { return l(x); }, py::arg("x"),
          Guard());
  py::class_<nn::LayerNorm, nn::Module>(m, "LayerNorm", "Over the last axes, of these sizes.")
      .def(py::init([](const Shape& sizes, double eps) {
             const Working w;
             return std::make_unique<nn::LayerNorm>(sizes, eps);
           }),
           py::arg("sizes"), py::arg("eps") = 1e-5)
      .def("__call__", &nn::LayerNorm::operator(), py::arg("x"), Guard());
  py::class_<nn::RMSNorm, nn::Module>(m, "RMSNorm", "Over the last axis.")
      .def(py::init([](std::int64_t size, double eps) {
             const Working w;
             return std::make_unique<nn::RMSNorm>(size, eps);
           }),
           py::arg("size"), py::arg("eps") = 1e-6)
      .def("__call__", &nn::RMSNorm::operator(), py::arg("x"), Guard());
  py::class_<nn::Embedding, nn::Module>(m, "Embedding", "A row of weights for each integer.")
      .def(py::init([](std::int64_t count, std::int64_t size) {
             const Working w;
             return std::make_unique<nn::Embedding>(count, size, default_generator());
           }),
           py::arg("count"), py::arg("size"))
      .def("__call__", &nn::Embedding::operator(), py::arg("tokens"), Guard())
      .def_readonly("weight", &nn::Embedding::weight);
  m.def(
      "cross_entropy",
      [](const Tensor& x, const Tensor& labels) { return cross_entropy(x, labels); },
      py::arg("logits"), py::arg("labels"), Guard(), "(n, classes), (n) -> mean loss.");
  m.def(
      "mse_loss", [](const Tensor& x, const Tensor& wanted) { return mse_loss(x, wanted); },
      py::arg("x"), py::arg("wanted"), Guard());
  m.def(
      "scaled_dot_product_attention",
      [](const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
        AttentionArgs args;
        args.causal = causal;
        return scaled_dot_product_attention(q, k, v, args);
      },
      py::arg("q"), py::arg("k"), py::arg("v"), py::arg("causal") = false, Guard());
  m.def(
      "max_pool2d",
      [](const Tensor& x, const Pair& kernel) { return max_pool2d(x, pair_of(kernel)); },
      py::arg("x"), py::arg("kernel"), Guard());
  m.def(
      "avg_pool2d",
      [](const Tensor& x, const Pair& kernel) { return avg_pool2d(x, pair_of(kernel)); },
      py::arg("x"), py::arg("kernel"), Guard());
}

void bind_optimizers(py::module_& m) {
  using optim::Optimizer;
  py::class_<Optimizer>(m, "Optimizer", "How parameters follow their gradients.")
      .def("zero_grad", &Optimizer::zero_grad, Guard())
      .def("step", &Optimizer::step, py::arg("also") = std::vector<Tensor>(), Guard(),
           "One step; `also` is computed in the same schedule.")
      .def_property("lr", &Optimizer::lr, &Optimizer::set_lr);
  py::class_<optim::SGD, Optimizer>(m, "SGD").def(
      py::init([](const std::vector<Tensor>& p, double lr, double momentum, double decay,
                  bool nesterov) {
        const Working w;
        return std::make_unique<optim::SGD>(p, lr, momentum, decay,
                                            nesterov ? optim::Nesterov::Yes : optim::Nesterov::No);
      }),
      py::arg("parameters"), py::arg("lr"), py::arg("momentum") = 0.0,
      py::arg("weight_decay") = 0.0, py::arg("nesterov") = false);
  py::class_<optim::Adam, Optimizer>(m, "Adam").def(
      py::init([](const std::vector<Tensor>& p, double lr) {
        const Working w;
        return std::make_unique<optim::Adam>(p, lr);
      }),
      py::arg("parameters"), py::arg("lr") = 1e-3);
  py::class_<optim::AdamW, Optimizer>(m, "AdamW")
      .def(py::init([](const std::vector<Tensor>& p, double lr, double decay) {
             const Working w;
             return std::make_unique<optim::AdamW>(p, lr, decay);
           }),
           py::arg("parameters"), py::arg("lr") = 1e-3, py::arg("weight_decay") = 0.01);
}

}  // namespace touchstone::python
