#include "touchstone/fuzz/draw/draw_call.h"

namespace touchstone::fuzz {
namespace {

void draw_window(Drawing& d) {
  const std::string& of = d.call.name;
  const bool two = of.ends_with("2d");
  const auto axes = static_cast<std::size_t>(two ? 2 : d.between(1, 2));
  CallSizes kernel, stride, padding, dilation, shape = d.shape(two ? 1 : 0, 2);
  for (std::size_t i = 0; i < axes; ++i) {
    kernel.push_back(d.between(1, 3));
    stride.push_back(d.between(1, 3));
    padding.push_back(two ? 0 : d.between(0, 2));
    dilation.push_back(two ? 1 : d.between(1, 2));
    shape.push_back(std::max<std::int64_t>(
        1, dilation.back() * (kernel.back() - 1) + 1 - padding.back() * 2 + d.between(0, 4)));
  }
  d.call.set("kernel", kernel);
  if (d.chance(2, 3)) d.call.set("stride", stride);
  if (!two) {
    d.call.set("padding", padding);
    d.call.set("dilation", dilation);
  }
  d.input(shape);
}
void draw_conv(Drawing& d) {
  std::string of = d.call.name;
  for (char& c : of) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const bool transposed = of.find("transpose") != std::string::npos;
  const auto axes = static_cast<std::size_t>(of.ends_with("1d")   ? 1
                                             : of.ends_with("2d") ? 2
                                                                  : d.between(1, 2));
  const std::int64_t groups = d.chance(1, 3) ? 2 : 1, in = d.between(1, 2), out = d.between(1, 2);
  CallSizes stride, padding, dilation, more, x = {d.between(1, 2), in * groups}, w;
  w = transposed ? CallSizes{in * groups, out} : CallSizes{out * groups, in};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t k = d.between(1, 3);
    stride.push_back(d.between(1, 3));
    dilation.push_back(d.between(1, 2));
    padding.push_back(d.between(0, transposed ? (k - 1) * dilation.back() / 2 : 2));
    more.push_back(d.between(0, std::max(stride.back(), dilation.back()) - 1));
    w.push_back(k);
    x.push_back(transposed ? d.between(1, 3)
                           : std::max<std::int64_t>(1, dilation.back() * (k - 1) + 1 -
                                                           2 * padding.back() + d.between(0, 3)));
  }
  if (groups > 1) d.set("groups", groups);
  d.call.set("stride", stride);
  d.call.set("dilation", dilation);
  d.call.set("padding", padding);
  if (transposed && d.chance(1, 2)) d.call.set("output_padding", more);
  if (of == "conv" && d.chance(1, 3)) {
    CallSizes after;
    for (std::size_t i = 0; i < axes; ++i) after.push_back(padding[i] + d.between(0, 1));
    d.call.set("before", padding);
    d.call.set("after", after);
  }
  d.input(x);
  d.input(w);
  if (d.chance(1, 2)) d.input({transposed ? out * groups : w[0]});
}
void draw_interpolate(Drawing& d) {
  CallSizes shape = d.shape(0, 2), sizes;
  for (std::int64_t axes = d.between(1, 2); axes > 0; --axes) {
    shape.push_back(d.between(1, 4));
    sizes.push_back(d.between(1, 6));
  }
  d.call.set("sizes", sizes);
  if (d.chance(1, 2)) {
    d.call.set("mode", "linear");
    if (d.chance(1, 2)) d.set("corners", 1);
  }
  d.input(shape);
}

void draw_take(Drawing& d) {
  CallSizes shape = d.shape(1, 3);
  if (d.call.name == "Embedding") {
    shape = {d.between(1, 4), d.between(1, 3)};
    d.input(shape);
    d.positions(d.shape(0, 2), shape[0]);
    return;
  }
  const auto axis = static_cast<std::size_t>(d.set_axis(shape));
  shape[axis] = std::max<std::int64_t>(1, shape[axis]);
  d.input(shape);
  if (d.chance(1, 3)) {
    CallSizes at;
    for (std::int64_t n = d.between(1, 4); n > 0; --n)
      at.push_back(d.between(-shape[axis], shape[axis] - 1));
    d.call.set("at", at);
  } else {
    d.positions(d.shape(0, 2), shape[axis]);
  }
}
void draw_gather(Drawing& d) {
  CallSizes shape = d.shape(1, 3);
  const auto axis = static_cast<std::size_t>(d.set_axis(shape));
  shape[axis] = std::max<std::int64_t>(1, shape[axis]);
  CallSizes at = shape;
  for (std::int64_t& size : at)
    if (d.chance(1, 4)) size = d.between(0, size);
  at[axis] = d.between(0, 4);
  if (d.call.name == "scatter_add" && is_bool(d.dtype)) d.dtype = DType::Int32;
  d.input(shape);
  d.positions(at, shape[axis]);
  if (d.call.name != "gather") d.input(at);
}
void draw_masked(Drawing& d) {
  const CallSizes shape = d.shape();
  d.call.set("value", is_float(d.dtype) && d.chance(1, 2) ? "-2.5"
                      : is_bool(d.dtype)                  ? "1.0"
                                                          : "3");
  if (is_bool(d.dtype)) d.dtype = DType::Int8, d.call.set("value", "1");
  d.input(shape);
  d.mask(d.part_of(shape));
}
void draw_labels(Drawing& d) {
  const std::int64_t classes = d.between(1, 5);
  d.set("classes", classes);
  d.positions(d.shape(0, 2), classes, false);
}
void draw_sorted(Drawing& d) {
  CallSizes shape = d.shape(1, 3);
  if (d.chance(1, 2)) shape.back() = d.between(2, 8);
  const auto axis = static_cast<std::size_t>(d.set_axis(shape));
  d.maybe("order", {"descending", "ascending"});
  if (d.call.name == "topk") d.set("k", d.between(0, shape[axis]));
  if (d.chance(1, 2)) d.numbers = Numbers::Ties;
  d.input(shape);
}
std::string any_slice(Drawing& d, std::int64_t size) {
  std::string text;
  if (d.chance(1, 2)) text += fmt::format("{}", d.between(-size - 1, size + 1));
  text += ':';
  if (d.chance(1, 2)) text += fmt::format("{}", d.between(-size - 1, size + 1));
  if (d.chance(1, 2))
    text += fmt::format(":{}", d.chance(1, 2) ? -d.between(1, 3) : d.between(1, 3));
  return text;
}
void draw_slice(Drawing& d) {
  const CallSizes shape = d.shape(1, 3);
  std::vector<std::string> parts;
  CallSizes left;
  for (std::size_t i = 0, n = 1 + d.chooser.below(shape.size()); i < n; ++i)
    parts.push_back(any_slice(d, shape[i]));
  d.call.set("parts", fmt::format("{}", fmt::join(parts, ",")));
  d.input(shape);
  if (d.call.name != "set") return;
  if (d.chance(1, 2) && !is_bool(d.dtype))
    d.set("value", d.between(0, 5));
  else
    d.input({});
}
void draw_index(Drawing& d) {
  CallSizes shape = d.shape(d.chance(1, 2) ? 3 : 1, 4);
  for (std::int64_t& size : shape) size = std::max<std::int64_t>(1, size);
  d.input(shape);
  std::vector<std::string> parts;
  const CallSizes together = d.shape(0, 2);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (d.chance(1, 6)) parts.emplace_back("new");
    switch (d.chooser.below(6)) {
      case 0:
        parts.emplace_back(":");
        break;
      case 1:
        parts.push_back(fmt::format("{}", d.between(-shape[i], shape[i] - 1)));
        break;
      case 2:
        parts.push_back(any_slice(d, shape[i]));
        break;
      case 3:
        d.mask({shape[i]});
        parts.emplace_back("tensor");
        // Masks of different counts do not broadcast: keep one position.
        for (std::size_t k = 0; k < d.call.inputs.back().values.size(); ++k)
          d.call.inputs.back().values[k] = k == 0 ? "1" : "0";
        d.call.inputs.back().via = "";
        break;
      default:
        d.positions(d.part_of(together), shape[i]);
        parts.emplace_back("tensor");
    }
    if (d.chance(1, 8)) {
      parts.emplace_back("...");
      break;
    }
  }
  d.call.set("parts", fmt::format("{}", fmt::join(parts, ",")));
  if (d.call.name != "set_index") return;
  if (d.chance(1, 2) && !is_bool(d.dtype))
    d.set("value", d.between(0, 5));
  else
    d.input({});
}

void draw_linear(Drawing& d) {
  CallSizes x = d.shape(1, 3);
  const std::int64_t out = d.between(1, 3);
  d.input(x);
  d.input({out, x.back()});
  if (d.call.name == "Sequential" || d.chance(1, 2)) d.input({out});
}
void draw_norm(Drawing& d) {
  const std::string& of = d.call.name;
  std::string lower = of;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  d.maybe("eps", {"0.125", "1e-05", "0.001"});
  if (d.numbers == Numbers::Ties) d.call.set("eps", "0.125");
  const std::int64_t channels = d.between(1, 4);
  CallSizes x = {d.between(1, 2), channels};
  for (std::int64_t more = of == "LayerNorm2d" ? 2 : d.between(0, 2); more > 0; --more)
    x.push_back(d.between(1, 3));
  const bool affine = d.chance(2, 3);
  d.input(x);
  if (lower == "rms_norm" || lower == "rmsnorm") {
    if (affine) d.input({x.back()});
    return;
  }
  CallSizes weight = {channels};
  if (lower == "layer_norm" || lower == "layernorm") {
    const std::int64_t axes = d.between(1, static_cast<std::int64_t>(x.size()));
    d.set("axes", axes);
    weight.assign(x.end() - axes, x.end());
  }
  if (lower == "group_norm" || lower == "groupnorm")
    d.set("groups", channels % 2 == 0 && d.chance(1, 2) ? 2 : d.chance(1, 2) ? channels : 1);
  if (lower == "batch_norm" || lower == "batchnorm") {
    d.input(weight);
    d.input(weight);
    d.in_range(0.5, 3);
    if (of == "BatchNorm" && d.chance(1, 2)) {
      d.call.set("train", "1");
      d.maybe("momentum", {"0.5", "0.25"});
      if (d.chance(1, 2)) d.call.set("eps", "0.125");
    }
  }
  if (!affine) return;
  d.input(weight);
  d.input(weight);
}
void draw_attention(Drawing& d) {
  const std::int64_t queries = d.between(1, 3), keys = d.between(1, 3), size = d.between(1, 3);
  const CallSizes lead = d.shape(0, 2);
  const auto with = [&](std::int64_t a, std::int64_t b) {
    CallSizes shape = lead;
    shape.push_back(a);
    shape.push_back(b);
    return shape;
  };
  d.input(with(queries, size));
  d.input(with(keys, size));
  d.input(with(keys, d.between(1, 3)));
  if (d.chance(1, 3)) {
    if (d.chance(1, 2)) {
      d.mask(d.part_of({queries, keys}));
      for (std::size_t i = 0; i < d.call.inputs.back().values.size(); i += 2)
        d.call.inputs.back().values[i] = "1";
    } else {
      d.input({queries, keys});
    }
  }
  if (d.chance(1, 3)) d.set("causal", 1);
  d.maybe("scale", {"0.5", "2.0"});
}
void draw_heads(Drawing& d) {
  const std::int64_t heads = d.between(1, 2), size = heads * d.between(1, 2), n = d.between(1, 2);
  const bool next = d.call.name == "next";
  const std::int64_t queries = d.between(1, 3), keys = next ? queries : d.between(1, 3);
  d.set("heads", heads);
  if (next || d.chance(1, 3)) d.set("causal", 1);
  d.input({n, queries, size});
  for (int i = 0; i < 2; ++i)
    if (next)
      d.call.inputs.push_back(CallInput(d.call.inputs[0]));
    else
      d.input({n, keys, size});
  for (int i = 0; i < 4; ++i) {
    d.input({size, size});
    d.input({size});
  }
}
void draw_recurrent(Drawing& d) {
  const std::int64_t gates = d.call.name == "LSTM" ? 4 : 3, hidden = d.between(1, 2),
                     in = d.between(1, 2), n = d.between(1, 2);
  d.input({n, d.between(1, 3), in});
  d.input({gates * hidden, in});
  d.input({gates * hidden, hidden});
  d.input({gates * hidden});
  d.input({gates * hidden});
  if (!d.chance(1, 2)) return;
  d.input({n, hidden});
  if (gates == 4) d.input({n, hidden});
}
void draw_loss(Drawing& d) {
  d.maybe("reduction", {"none", "sum", "mean"});
  if (d.call.name == "huber_loss") d.maybe("delta", {"0.5", "1.75"});
  const CallSizes shape = d.shape(0, 3);
  const bool shares = d.call.name == "binary_cross_entropy";
  for (int i = 0; i < 2; ++i) {
    d.input(shape);
    if (shares) d.in_range(0, 1);
  }
}
void draw_labelled(Drawing& d) {
  d.maybe("reduction", {"none", "sum", "mean"});
  const std::int64_t n = d.between(0, 4), classes = d.between(1, 4);
  if (d.call.name == "cross_entropy") {
    d.maybe("smoothing", {"0.25", "0.5"});
    if (d.chance(1, 3)) d.set("ignore", d.between(-1, classes - 1));
  }
  d.input({n, classes});
  d.positions({n}, classes, false);
  if (d.call.has("ignore") && n > 0 && d.chance(1, 2))
    d.call.inputs.back().values[0] = std::string(*d.call.arg("ignore"));
}
void draw_training(Drawing& d) {
  const std::string& of = d.call.name;
  const CallSizes shape = d.shape(0, 2);
  if (of.starts_with("clip")) {
    d.maybe("most", {"0.5", "2.0", "100.0"});
    for (std::int64_t n = d.between(1, 2); n > 0; --n) d.input(n == 1 ? shape : d.shape(0, 2));
    return;
  }
  if (of == "backward" || of == "gradients") {
    if (d.chance(1, 2)) d.call.set("cleared", "1");
  } else {
    d.call.set("lr", d.chance(1, 2) ? "0.25" : "0.03125");
    d.maybe("then", {"0.5", "0.0625"});
    d.maybe("scale", {"0.5", "2.0"});
    if (d.chance(1, 3)) d.call.set("saved", "1");
    if (of != "Adam") d.maybe("decay", {"0.125", "0.25", "0"});
    if (of != "Adam") d.maybe("group_decay", {"0.0625", "0.5", "0"});
    if (d.chance(1, 6)) d.call.set("beside", d.dtype == DType::Float16 ? "float32" : "float16");
    if (of == "SGD") {
      d.maybe("momentum", {"0.5", "0.75"});
      if (d.call.has("momentum") && d.chance(1, 2)) d.call.set("nesterov", "1");
    } else {
      d.maybe("beta1", {"0.5", "0.75"});
      d.maybe("beta2", {"0.5", "0.96875"});
      d.call.set("eps", d.chance(1, 2) ? "0.125" : "0.001");
    }
  }
  d.input(shape);
  for (std::int64_t steps = d.between(1, 4); steps > 0; --steps) {
    d.input(shape);
    if (d.chance(1, 8)) d.in_range(0, 0);
  }
}

constexpr DrawnCall kLayerCalls[] = {
    {"pool", draw_window},
    {"max_pool", draw_window},
    {"avg_pool", draw_window},
    {"max_pool2d", draw_window},
    {"avg_pool2d", draw_window},
    {"conv", draw_conv, true},
    {"conv1d", draw_conv, true},
    {"conv2d", draw_conv, true},
    {"conv_transpose", draw_conv, true},
    {"Conv1d", draw_conv, true},
    {"Conv2d", draw_conv, true},
    {"ConvTranspose1d", draw_conv, true},
    {"ConvTranspose2d", draw_conv, true},
    {"interpolate", draw_interpolate, true},
    {"take", draw_take},
    {"Embedding", draw_take, true},
    {"gather", draw_gather},
    {"scatter", draw_gather},
    {"scatter_add", draw_gather},
    {"masked_fill", draw_masked},
    {"one_hot", draw_labels},
    {"sort", draw_sorted},
    {"argsort", draw_sorted},
    {"topk", draw_sorted},
    {"slice", draw_slice},
    {"set", draw_slice},
    {"index", draw_index},
    {"set_index", draw_index},
    {"linear", draw_linear, true},
    {"Linear", draw_linear, true},
    {"Sequential", draw_linear, true},
    {"layer_norm", draw_norm, true},
    {"LayerNorm", draw_norm, true},
    {"LayerNorm2d", draw_norm, true},
    {"rms_norm", draw_norm, true},
    {"RMSNorm", draw_norm, true},
    {"group_norm", draw_norm, true},
    {"GroupNorm", draw_norm, true},
    {"instance_norm", draw_norm, true},
    {"InstanceNorm", draw_norm, true},
    {"batch_norm", draw_norm, true},
    {"BatchNorm", draw_norm, true},
    {"scaled_dot_product_attention", draw_attention, true},
    {"MultiHeadAttention", draw_heads, true},
    {"next", draw_heads, true},
    {"LSTM", draw_recurrent, true},
    {"GRU", draw_recurrent, true},
    {"mse_loss", draw_loss, true},
    {"l1_loss", draw_loss, true},
    {"huber_loss", draw_loss, true},
    {"binary_cross_entropy", draw_loss, true},
    {"binary_cross_entropy_with_logits", draw_loss, true},
    {"nll_loss", draw_labelled, true},
    {"cross_entropy", draw_labelled, true},
    {"SGD", draw_training, true},
    {"Adam", draw_training, true},
    {"AdamW", draw_training, true},
    {"LAMB", draw_training, true},
    {"clip_grad_norm", draw_training, true},
    {"clip_grad_value", draw_training, true},
    {"backward", draw_training, true},
    {"gradients", draw_training, true},
};

}  // namespace

std::span<const DrawnCall> drawn_layers() { return kLayerCalls; }

}  // namespace touchstone::fuzz
