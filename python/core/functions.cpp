#include "tensors.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/state.h"

// Functions of layers, and layers' tensors in files.

namespace touchstone::python {

std::vector<std::int64_t> per_axis(const PerAxis& given) {
  if (const auto* one = std::get_if<std::int64_t>(&given)) return {*one};
  return std::get<std::vector<std::int64_t>>(given);
}
std::array<std::int64_t, 2> of_two_axes(const PerAxis& given) {
  const std::vector<std::int64_t> numbers = per_axis(given);
  if (numbers.size() == 1) return {numbers[0], numbers[0]};
  if (numbers.size() != 2)
    throw ShapeError(
        fmt::format("{} numbers for two axes; give one, or one per axis", numbers.size()));
  return {numbers[0], numbers[1]};
}

namespace {

using Maybe = std::optional<Tensor>;

Reduction reduction_of(const std::string& name) {
  if (name == "none") return Reduction::None;
  if (name == "mean") return Reduction::Mean;
  if (name == "sum") return Reduction::Sum;
  throw ParseError(fmt::format("there is no reduction '{}'; choose from: none, mean, sum", name));
}

void bind_losses(py::module_& m) {
  using Loss = Tensor (*)(const Tensor&, const Tensor&, Reduction);
  const auto loss = [&](const char* name, Loss f, const char* first, const char* second,
                        const char* doc) {
    m.def(
        name,
        [f](const Tensor& x, const Tensor& wanted, const std::string& reduction) {
          return f(x, wanted, reduction_of(reduction));
        },
        py::arg(first), py::arg(second), py::arg("reduction") = "mean", Guard(), doc);
  };
  loss("mse_loss", &mse_loss, "x", "wanted", "(x - wanted)^2; reduction: none, mean or sum.");
  loss("l1_loss", &l1_loss, "x", "wanted", "|x - wanted|.");
  loss("binary_cross_entropy", &binary_cross_entropy, "p", "wanted",
       "-wanted log(p) - (1 - wanted) log(1 - p), each logarithm at least -100.");
  loss("binary_cross_entropy_with_logits", &binary_cross_entropy_with_logits, "x", "wanted",
       "The same of p = sigmoid(x), without overflow.");
  loss("nll_loss", &nll_loss, "log_p", "labels", "-log_p[i, labels[i]] of (n, classes).");
  m.def(
      "huber_loss",
      [](const Tensor& x, const Tensor& wanted, double delta, const std::string& reduction) {
        return huber_loss(x, wanted, delta, reduction_of(reduction));
      },
      py::arg("x"), py::arg("wanted"), py::arg("delta") = 1.0, py::arg("reduction") = "mean",
      Guard(), "d^2/2 for |d| < delta, delta (|d| - delta/2) elsewhere.");
  m.def(
      "cross_entropy",
      [](const Tensor& logits, const Tensor& labels, double smoothing,
         const std::optional<std::int64_t>& ignored, const std::string& reduction) {
        return cross_entropy(logits, labels,
                             CrossEntropyArgs{.label_smoothing = smoothing,
                                              .ignore_index = ignored,
                                              .reduction = reduction_of(reduction)});
      },
      py::arg("logits"), py::arg("labels"), py::arg("label_smoothing") = 0.0,
      py::arg("ignore_index") = py::none(), py::arg("reduction") = "mean", Guard(),
      "-log softmax(logits)[label]. logits: (n, classes), labels: (n).");
}

void bind_normalisation(py::module_& m) {
  m.def("layernorm", &layernorm, py::arg("x"), py::arg("axis") = -1, py::arg("eps") = 1e-5, Guard(),
        "Shifted to mean 0 and scaled to variance 1 along an axis.");
  m.def(
      "layer_norm",
      [](const Tensor& x, int axes, const Maybe& weight, const Maybe& bias, double eps) {
        return layer_norm(x, axes, {weight, bias}, eps);
      },
      py::arg("x"), py::arg("axes"), py::arg("weight") = py::none(), py::arg("bias") = py::none(),
      py::arg("eps") = 1e-5, Guard(), "The same over the last axes, `axes` of them.");
  m.def("rms_norm", &rms_norm, py::arg("x"), py::arg("weight") = py::none(), py::arg("eps") = 1e-6,
        Guard(), "x over the root of the mean of its squares along the last axis.");
  m.def(
      "batch_norm",
      [](const Tensor& x, const Tensor& mean, const Tensor& variance, const Maybe& weight,
         const Maybe& bias, double eps) {
        return batch_norm(x, mean, variance, {weight, bias}, eps);
      },
      py::arg("x"), py::arg("mean"), py::arg("variance"), py::arg("weight") = py::none(),
      py::arg("bias") = py::none(), py::arg("eps") = 1e-5, Guard(),
      "x: (n, channels, ...), with one mean and variance per channel.");
  m.def(
      "group_norm",
      [](const Tensor& x, std::int64_t groups, const Maybe& weight, const Maybe& bias, double eps) {
        return group_norm(x, groups, {weight, bias}, eps);
      },
      py::arg("x"), py::arg("groups"), py::arg("weight") = py::none(), py::arg("bias") = py::none(),
      py::arg("eps") = 1e-5, Guard(),
      "x: (n, channels, ...), with the mean and variance of each image's group of channels.");
  m.def(
      "instance_norm",
      [](const Tensor& x, const Maybe& weight, const Maybe& bias, double eps) {
        return instance_norm(x, {weight, bias}, eps);
      },
      py::arg("x"), py::arg("weight") = py::none(), py::arg("bias") = py::none(),
      py::arg("eps") = 1e-5, Guard(), "With the mean and variance of each channel of each image.");
}

void bind_windows(py::module_& m) {
  const auto pooled = [&](const char* name,
                          Tensor (*f)(const Tensor&, const std::vector<std::int64_t>&,
                                      const PoolArgs&),
                          const char* doc) {
    m.def(
        name,
        [f](const Tensor& x, const std::vector<std::int64_t>& kernel,
            const std::optional<PerAxis>& stride, const PerAxis& padding, const PerAxis& dilation) {
          PoolArgs args;
          if (stride) args.stride = per_axis(*stride);
          args.padding = per_axis(padding);
          args.dilation = per_axis(dilation);
          return f(x, kernel, args);
        },
        py::arg("x"), py::arg("kernel"), py::arg("stride") = py::none(), py::arg("padding") = 0,
        py::arg("dilation") = 1, Guard(), doc);
  };
  pooled("max_pool", &max_pool,
         "The maximum of each window over the last axes; stride: default the kernel.");
  pooled("avg_pool", &avg_pool,
         "The mean of each window over the last axes; stride: default the kernel.");
  const auto pooled2d = [&](const char* name,
                            Tensor (*f)(const Tensor&, std::array<std::int64_t, 2>,
                                        std::optional<std::array<std::int64_t, 2>>)) {
    m.def(
        name,
        [f](const Tensor& x, const PerAxis& kernel, const std::optional<PerAxis>& stride) {
          return f(x, of_two_axes(kernel),
                   stride ? std::optional(of_two_axes(*stride)) : std::nullopt);
        },
        py::arg("x"), py::arg("kernel"), py::arg("stride") = py::none(), Guard(),
        "Over the last two axes, without padding.");
  };
  pooled2d("max_pool2d", &max_pool2d);
  pooled2d("avg_pool2d", &avg_pool2d);
  const auto conv_with = [&](const char* name, auto f, const char* doc) {
    m.def(
        name,
        [f](const Tensor& x, const Tensor& weight, const Maybe& bias, const PerAxis& stride,
            const PerAxis& padding, const PerAxis& dilation, std::int64_t groups,
            const PerAxis& output_padding) {
          ConvArgs args;
          args.stride = per_axis(stride);
          args.padding = per_axis(padding);
          args.dilation = per_axis(dilation);
          args.groups = groups;
          args.output_padding = per_axis(output_padding);
          return f(x, weight, bias, args);
        },
        py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(), py::arg("stride") = 1,
        py::arg("padding") = 0, py::arg("dilation") = 1, py::arg("groups") = 1,
        py::arg("output_padding") = 0, Guard(), doc);
  };
  conv_with("conv", &conv, "x: (n, in, sizes...), weight: (out, in / groups, kernel...).");
  conv_with("conv_transpose", &conv_transpose,
            "The gradient of conv; weight: (in, out / groups, kernel...).");
}

// From a dict of names, or from a layer's state().
nn::StateDict state_of(const std::vector<std::pair<std::string, Tensor>>& state) {
  nn::StateDict out;
  for (const auto& [name, tensor] : state) out.push_back({name, tensor});
  return out;
}
void bind_files(py::module_& m) {
  using State = std::vector<std::pair<std::string, Tensor>>;
  m.def(
      "save_state",
      [](const std::string& path, const State& state) { nn::save_state(path, state_of(state)); },
      py::arg("path"), py::arg("state"), Guard(),
      "Writes .safetensors or .npz, by the extension: layer.state().");
  m.def(
      "load_state",
      [](const std::string& path, const State& state, bool strict) {
        nn::load_state(path, state_of(state), strict ? nn::Strict::Yes : nn::Strict::No);
      },
      py::arg("path"), py::arg("state"), py::arg("strict") = true, Guard(),
      "Loads the values of layer.state() from a file: .safetensors, .npz, PyTorch's .pt. Changes "
      "nothing if something does not fit.");
  m.def(
      "load_tensors",
      [](const std::string& path) {
        State out;
        for (const nn::NamedTensor& n : nn::load_tensors(path)) out.emplace_back(n.name, n.tensor);
        return out;
      },
      py::arg("path"), Guard(), "(name, tensor) of each tensor in a file.");
}

}  // namespace

void bind_functions(py::module_& m) {
  m.def("linear", &linear, py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(), Guard(),
        "x: (..., in), weight: (out, in), bias: (out) -> (..., out).");
  m.def("softmax", &softmax, py::arg("x"), py::arg("axis") = -1, Guard());
  m.def("log_softmax", &log_softmax, py::arg("x"), py::arg("axis") = -1, Guard());
  m.def(
      "dropout", [](const Tensor& x, double p) { return dropout(x, p, default_generator()); },
      py::arg("x"), py::arg("p"), Guard(),
      "Zeros a part p of the elements and scales the rest by 1 / (1 - p).");
  m.def(
      "scaled_dot_product_attention",
      [](const Tensor& q, const Tensor& k, const Tensor& v, const Maybe& mask, bool causal,
         const std::optional<double>& scale, double part) {
        return scaled_dot_product_attention(q, k, v,
                                            {.mask = mask,
                                             .causal = causal,
                                             .scale = scale,
                                             .dropout = part,
                                             .generator = &default_generator()});
      },
      py::arg("q"), py::arg("k"), py::arg("v"), py::arg("mask") = py::none(),
      py::arg("causal") = false, py::arg("scale") = py::none(), py::arg("dropout") = 0.0, Guard(),
      "softmax(q k^T scale) v. q: (..., queries, size), k: (..., keys, size), v: (..., keys, "
      "out).");
  bind_normalisation(m);
  bind_windows(m);
  bind_losses(m);
  bind_files(m);
}

}  // namespace touchstone::python
