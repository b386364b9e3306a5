#include "tensors.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/nn.h"

// Layers.

namespace touchstone::python {
namespace {

template <class L>
using LayerClass = py::class_<L, nn::Module, Held<L>>;
using Dtype = std::optional<std::string>;

DType dtype_of(const Dtype& dtype) { return dtype ? parse_dtype(*dtype) : default_dtype(); }

nn::LayerOptions layer_options(bool bias, const Dtype& dtype, const std::string& device) {
  return {.dtype = dtype_of(dtype), .device = device, .bias = bias};
}
nn::NormOptions norm_options(bool affine, const Dtype& dtype, const std::string& device) {
  return {.dtype = dtype_of(dtype), .device = device, .affine = affine};
}

ConvArgs conv_args(const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation,
                   std::int64_t groups, const PerAxis& output_padding = std::int64_t{0}) {
  ConvArgs args;
  args.stride = per_axis(stride);
  args.padding = per_axis(padding);
  args.dilation = per_axis(dilation);
  args.groups = groups;
  args.output_padding = per_axis(output_padding);
  return args;
}
WindowArgs window_args(const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation,
                       std::int64_t groups) {
  return {.stride = of_two_axes(stride),
          .padding = of_two_axes(padding),
          .dilation = of_two_axes(dilation),
          .groups = groups};
}

// Exposes members; None for those that a layer was made without.
template <class L>
void weights(LayerClass<L>& c, std::initializer_list<std::pair<const char*, Tensor L::*>> members) {
  for (const auto& [name, member] : members)
    c.def_property_readonly(name, [member](const L& l) { return nn::given(l.*member); });
}
template <class L>
void one_tensor(LayerClass<L>& c, const char* name = "x") {
  c.def(
      "__call__", [](const L& l, const Tensor& x) { return l(x); }, py::arg(name), Guard());
}

template <class L, class... Args>
Held<L> made_layer(Args&&... args) {
  const Working w;
  return Held<L>(new L(std::forward<Args>(args)...));
}

// Trailing arguments of all layers with weights.
py::arg_v of_type() { return py::arg("dtype") = py::none(); }
py::arg_v of_device() { return py::arg("device") = "CPU"; }

void bind_linear(py::module_& m) {
  LayerClass<nn::Linear> linear(m, "Linear", "x: (..., in) -> (..., out).");
  linear.def(py::init([](std::int64_t in, std::int64_t out, bool bias, const Dtype& dtype,
                         const std::string& device) {
               return made_layer<nn::Linear>(in, out, default_generator(),
                                             layer_options(bias, dtype, device));
             }),
             py::arg("inputs"), py::arg("outputs"), py::arg("bias") = true, of_type(), of_device());
  one_tensor(linear);
  weights(linear, {{"weight", &nn::Linear::weight}, {"bias", &nn::Linear::bias}});
  LayerClass<nn::Embedding> embedding(m, "Embedding", "A row of weights for each integer.");
  embedding.def(py::init([](std::int64_t count, std::int64_t size, const Dtype& dtype,
                            const std::string& device) {
                  return made_layer<nn::Embedding>(count, size, default_generator(),
                                                   TensorOptions{dtype_of(dtype), device});
                }),
                py::arg("count"), py::arg("size"), of_type(), of_device());
  one_tensor(embedding, "tokens");
  weights(embedding, {{"weight", &nn::Embedding::weight}});
  LayerClass<nn::Dropout> dropout(
      m, "Dropout", "During training zeros a part p of the elements and scales the rest up.");
  dropout.def(py::init([](double p) { return Held<nn::Dropout>(new nn::Dropout(p)); }),
              py::arg("p"));
  one_tensor(dropout);
}

// One and two axes; a kernel is a number or an array of two.
template <class L, class Kernel, class Args>
void bind_conv(py::module_& m, const char* name, const char* doc, Kernel kernel, Args args) {
  LayerClass<L> c(m, name, doc);
  c.def(py::init([=](std::int64_t in, std::int64_t out, const PerAxis& size, const PerAxis& stride,
                     const PerAxis& padding, const PerAxis& dilation, std::int64_t groups,
                     bool bias, const Dtype& dtype, const std::string& device) {
          return made_layer<L>(in, out, kernel(size), default_generator(),
                               args(stride, padding, dilation, groups),
                               layer_options(bias, dtype, device));
        }),
        py::arg("inputs"), py::arg("outputs"), py::arg("kernel"), py::arg("stride") = 1,
        py::arg("padding") = 0, py::arg("dilation") = 1, py::arg("groups") = 1,
        py::arg("bias") = true, of_type(), of_device());
  one_tensor(c);
  weights(c, {{"weight", &L::weight}, {"bias", &L::bias}});
}
template <class L, class Kernel>
void bind_conv_transpose(py::module_& m, const char* name, const char* doc, Kernel kernel) {
  LayerClass<L> c(m, name, doc);
  c.def(
      py::init([=](std::int64_t in, std::int64_t out, const PerAxis& size, const PerAxis& stride,
                   const PerAxis& padding, const PerAxis& output_padding, const PerAxis& dilation,
                   std::int64_t groups, bool bias, const Dtype& dtype, const std::string& device) {
        return made_layer<L>(in, out, kernel(size), default_generator(),
                             conv_args(stride, padding, dilation, groups, output_padding),
                             layer_options(bias, dtype, device));
      }),
      py::arg("inputs"), py::arg("outputs"), py::arg("kernel"), py::arg("stride") = 1,
      py::arg("padding") = 0, py::arg("output_padding") = 0, py::arg("dilation") = 1,
      py::arg("groups") = 1, py::arg("bias") = true, of_type(), of_device());
  one_tensor(c);
  weights(c, {{"weight", &L::weight}, {"bias", &L::bias}});
}

void bind_convolutions(py::module_& m) {
  const auto one = [](const PerAxis& size) {
    const std::vector<std::int64_t> sizes = per_axis(size);
    if (sizes.size() != 1) throw ShapeError("a kernel over one axis must have one size");
    return sizes[0];
  };
  const auto several = [](const PerAxis& stride, const PerAxis& padding, const PerAxis& dilation,
                          std::int64_t groups) {
    return conv_args(stride, padding, dilation, groups);
  };
  bind_conv<nn::Conv1d>(m, "Conv1d", "x: (n, in, size) -> (n, out, places).", one, several);
  bind_conv<nn::Conv2d>(m, "Conv2d", "x: (n, in, h, w) -> (n, out, oh, ow).", &of_two_axes,
                        &window_args);
  bind_conv_transpose<nn::ConvTranspose1d>(
      m, "ConvTranspose1d", "x: (n, in, size): the gradient of Conv1d, as a layer.", one);
  bind_conv_transpose<nn::ConvTranspose2d>(
      m, "ConvTranspose2d", "x: (n, in, h, w): the gradient of Conv2d, as a layer.", &of_two_axes);
}

template <class Size>
using NameOf = const char*;

// Layers that normalise, from sizes with these names.
template <class L, class... Sizes>
void bind_norm(py::module_& m, const char* name, const char* doc, double usual_eps,
               NameOf<Sizes>... of) {
  LayerClass<L> c(m, name, doc);
  c.def(py::init([](const Sizes&... sizes, double eps, bool affine, const Dtype& dtype,
                    const std::string& device) {
          return made_layer<L>(sizes..., eps, norm_options(affine, dtype, device));
        }),
        py::arg(of)..., py::arg("eps") = usual_eps, py::arg("affine") = true, of_type(),
        of_device());
  one_tensor(c);
  weights(c, {{"weight", &L::weight}});
  if constexpr (requires { &L::bias; }) weights(c, {{"bias", &L::bias}});
}

void bind_batch_norm(py::module_& m) {
  using nn::BatchNorm;
  LayerClass<BatchNorm> c(m, "BatchNorm",
                          "x: (n, channels, ...). During training with the statistics of the "
                          "batch, which update the running ones; otherwise with the running ones.");
  c.def(py::init([](std::int64_t channels, double momentum, double eps, bool affine, bool track,
                    const Dtype& dtype, const std::string& device) {
          return made_layer<BatchNorm>(channels, momentum, eps,
                                       nn::BatchNormOptions{.dtype = dtype_of(dtype),
                                                            .device = device,
                                                            .affine = affine,
                                                            .track_running_stats = track});
        }),
        py::arg("channels"), py::arg("momentum") = 0.1, py::arg("eps") = 1e-5,
        py::arg("affine") = true, py::arg("track_running_stats") = true, of_type(), of_device());
  one_tensor(c);
  weights(c, {{"weight", &BatchNorm::weight},
              {"bias", &BatchNorm::bias},
              {"running_mean", &BatchNorm::running_mean},
              {"running_var", &BatchNorm::running_var}});
}

void bind_norms(py::module_& m) {
  bind_batch_norm(m);
  bind_norm<nn::LayerNorm, Shape>(
      m, "LayerNorm", "Over the last axes, which must have these sizes.", 1e-5, "sizes");
  bind_norm<nn::LayerNorm2d, std::int64_t>(
      m, "LayerNorm2d", "Over the channels at each position of (n, channels, h, w).", 1e-5,
      "channels");
  bind_norm<nn::InstanceNorm, std::int64_t>(
      m, "InstanceNorm", "x: (n, channels, ...), each channel of each image separately.", 1e-5,
      "channels");
  bind_norm<nn::GroupNorm, std::int64_t, std::int64_t>(
      m, "GroupNorm", "x: (n, channels, ...), each group of channels of each image separately.",
      1e-5, "groups", "channels");
  bind_norm<nn::RMSNorm, std::int64_t>(m, "RMSNorm", "Over the last axis.", 1e-6, "size");
}

void bind_attention(py::module_& m) {
  py::class_<nn::KvCache, Held<nn::KvCache>>(
      m, "KvCache", "Keys and values of earlier tokens, (n, heads, context, size / heads) each.")
      .def(py::init([](const Tensor& keys, const Tensor& values) {
             return Held<nn::KvCache>(new nn::KvCache{keys, values});
           }),
           py::arg("keys"), py::arg("values"))
      .def_property_readonly("keys", [](const nn::KvCache& c) { return c.keys; })
      .def_property_readonly("values", [](const nn::KvCache& c) { return c.values; });
  using Attention = nn::MultiHeadAttention;
  LayerClass<Attention> c(m, "MultiHeadAttention",
                          "Attention in `heads` parts of the last axis. q: (n, queries, size); k "
                          "and v: (n, keys, size).");
  c.def(py::init([](std::int64_t size, std::int64_t heads, bool bias, const Dtype& dtype,
                    const std::string& device) {
          return made_layer<Attention>(size, heads, default_generator(),
                                       layer_options(bias, dtype, device));
        }),
        py::arg("size"), py::arg("heads"), py::arg("bias") = true, of_type(), of_device())
      .def(
          "__call__",
          [](const Attention& l, const Tensor& q, const Tensor& k, const Tensor& v,
             const std::optional<Tensor>& mask, bool causal) {
            AttentionArgs args;
            args.mask = mask;
            args.causal = causal;
            return l(q, k, v, args);
          },
          py::arg("q"), py::arg("k"), py::arg("v"), py::arg("mask") = py::none(),
          py::arg("causal") = false, Guard(),
          "mask: bool, true where a key may be attended to, or numbers that are added; broadcasts "
          "to (n, heads, queries, keys).")
      .def("next", &Attention::next, py::arg("x"), py::arg("position"), py::arg("cache"), Guard(),
           "One more token, (n, 1, size), after the `position` tokens in the cache; its key and "
           "value are written to the cache.");
}

// PyTorch's results: all outputs, and the last state.
template <class L, class From, class Result>
void bind_recurrent(py::module_& m, const char* name, const char* doc, From from, Result result) {
  LayerClass<L> c(m, name, doc);
  c.def(py::init([](std::int64_t in, std::int64_t hidden, bool bias, const Dtype& dtype,
                    const std::string& device) {
          return made_layer<L>(in, hidden, default_generator(), layer_options(bias, dtype, device));
        }),
        py::arg("inputs"), py::arg("hidden"), py::arg("bias") = true, of_type(), of_device());
  c.def("__call__", from, py::arg("x"), py::arg("state") = py::none(), Guard(), result);
  weights(c, {{"weight_ih", &L::weight_ih},
              {"weight_hh", &L::weight_hh},
              {"bias_ih", &L::bias_ih},
              {"bias_hh", &L::bias_hh}});
}

void bind_recurrences(py::module_& m) {
  using Two = std::pair<Tensor, Tensor>;
  bind_recurrent<nn::LSTM>(
      m, "LSTM", "x: (n, steps, in). Gates i, f, g, o in that order.",
      [](const nn::LSTM& l, const Tensor& x, const std::optional<Two>& state) {
        std::optional<nn::RecurrentState> before;
        if (state) before = nn::RecurrentState{state->first, state->second};
        const nn::RecurrentResult r = l(x, before);
        return std::pair(r.outputs, Two(r.last.hidden, r.last.cell.value()));
      },
      "(outputs (n, steps, hidden), (hidden, cell)), from a state (hidden, cell) or zeros.");
  bind_recurrent<nn::GRU>(
      m, "GRU", "x: (n, steps, in). Gates r, z, n in that order.",
      [](const nn::GRU& l, const Tensor& x, const std::optional<Tensor>& state) {
        std::optional<nn::RecurrentState> before;
        if (state) before = nn::RecurrentState{*state};
        const nn::RecurrentResult r = l(x, before);
        return std::pair(r.outputs, r.last.hidden);
      },
      "(outputs (n, steps, hidden), hidden), from a state or zeros.");
}

}  // namespace

void bind_layers(py::module_& m) {
  py::class_<nn::Module, Held<nn::Module>>(m, "Layer",
                                           "A layer: parameters and a function of them.")
      .def("parameters", &nn::Module::parameters, Guard(), "The trainable tensors.")
      .def(
          "state",
          [](const nn::Module& l) {
            std::vector<std::pair<std::string, Tensor>> out;
            for (const nn::NamedTensor& n : l.state()) out.emplace_back(n.name, n.tensor);
            return out;
          },
          Guard(), "(name, tensor) of each parameter.");
  bind_linear(m);
  bind_convolutions(m);
  bind_norms(m);
  bind_attention(m);
  bind_recurrences(m);
}

}  // namespace touchstone::python
