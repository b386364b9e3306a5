#include "touchstone/base/error.h"
#include "touchstone/fuzz/areas/tensor_calls.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/optim.h"

namespace touchstone::fuzz {
namespace {

Tensor or_none(const Tensors& x, std::size_t i) { return i < x.size() ? x[i] : Tensor::none(); }
std::optional<Tensor> nth_tensor(const Tensors& x, std::size_t i) {
  return nn::given(or_none(x, i));
}
Affine affine_from(const Tensors& x, std::size_t first) {
  return {nth_tensor(x, first), nth_tensor(x, first + 1)};
}
int axis_in_call(const Call& call) { return int_in(call, "axis", -1); }
std::vector<std::pair<std::int64_t, std::int64_t>> padding_pairs(const Call& call) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const auto& [before, after] : pairs_in(call))
    pairs.emplace_back(before.as_int(), after.as_int());
  return pairs;
}
ConvArgs conv_args(const Call& call) {
  return {.stride = call.list("stride", {1}),
          .padding = call.list("padding", {0}),
          .dilation = call.list("dilation", {1}),
          .groups = call.whole("groups", 1),
          .output_padding = call.list("output_padding", {0}),
          .padding_pairs = padding_pairs(call)};
}
std::array<std::int64_t, 2> two_of(const std::vector<std::int64_t>& all) {
  return {all[0], all.size() > 1 ? all[1] : all[0]};
}
WindowArgs window_args(const Call& call) {
  return {.stride = two_of(call.list("stride", {1})),
          .padding = two_of(call.list("padding", {0})),
          .dilation = two_of(call.list("dilation", {1})),
          .groups = call.whole("groups", 1)};
}
PoolArgs pool_args(const Call& call) {
  PoolArgs args;
  if (call.has("stride")) args.stride = call.list("stride");
  args.padding = call.list("padding", {0});
  args.dilation = call.list("dilation", {1});
  return args;
}
std::optional<std::array<std::int64_t, 2>> stride2_of(const Call& call) {
  return call.has("stride") ? std::optional(two_of(call.list("stride"))) : std::nullopt;
}
Reduction reduction_of(const Call& call) {
  const std::string_view name = call.arg("reduction").value_or("mean");
  return name == "none" ? Reduction::None : name == "sum" ? Reduction::Sum : Reduction::Mean;
}
AttentionArgs attention_args(const Call& call, const Tensors& x) {
  AttentionArgs args;
  args.mask = nth_tensor(x, 3);
  args.causal = call.whole("causal", 0) != 0;
  if (call.has("scale")) args.scale = call.real("scale", 1);
  return args;
}
Order order_in(const Call& call, std::string_view otherwise) {
  return call.arg("order").value_or(otherwise) == "descending" ? Order::Descending
                                                               : Order::Ascending;
}
std::vector<Index> parts_in(const Call& call, const Tensors& x) {
  std::vector<Index> parts;
  std::size_t next = 1;
  for (const std::string_view p : split(call.arg("parts").value_or(""), ',')) {
    if (p == "...") {
      parts.emplace_back(kEllipsis);
    } else if (p == "new") {
      parts.emplace_back(kNewAxis);
    } else if (p == "tensor") {
      parts.emplace_back(x[next++]);
    } else if (p.find(':') != p.npos) {
      parts.emplace_back(slices_in(p)[0]);
    } else {
      parts.emplace_back(number(p));
    }
  }
  std::vector<Index> again;  // from each index's own fields
  for (const Index& p : parts)
    again.push_back(std::visit([](const auto& part) { return Index(part); }, p.part()));
  return again;
}

/// For a layer whose random weights are replaced.
struct AnyWeights {
  Generator generator{1};
  operator Generator&() && { return generator; }  // NOLINT(google-explicit-constructor)
};
// A layer with the given weights.
template <class Layer>
Layer weighted(Layer layer, const Tensors& x) {
  layer.weight = x[1];
  layer.bias = or_none(x, 2);
  return layer;
}
template <class Options = nn::LayerOptions>
Options layer_options(const Tensors& x) {
  Options options;
  options.dtype = x[0].dtype();
  options.device = x[0].device();
  return options;
}
template <class Layer, class Kernel, class Args>
Tensors convolved(const Tensors& x, std::int64_t out, Kernel kernel, const Args& args) {
  const Layer layer(x[0].size(1), out, kernel, AnyWeights(), args, layer_options(x));
  return {weighted(layer, x)(x[0])};
}
std::array<std::int64_t, 2> kernel_size(const Tensor& kernel) {
  return {kernel.size(2), kernel.size(3)};
}
nn::Linear linear_layer(const Tensors& x) {
  return weighted(nn::Linear(x[1].size(1), x[1].size(0), AnyWeights(), layer_options(x)), x);
}
template <class Layer, class... Sizes>
Tensors normed(const Tensors& x, Sizes... sizes) {
  auto options = layer_options<nn::NormOptions>(x);
  options.affine = x.size() > 1;
  Layer layer(std::move(sizes)..., options);
  if (x.size() > 1) layer.weight = x[1];
  if constexpr (requires { layer.bias; }) {
    if (x.size() > 1) layer.bias = or_none(x, 2);
  }
  return {layer(x[0])};
}
Tensors batch_normed_layer(const Call& call, const Tensors& x) {
  nn::BatchNorm layer(x[0].size(1), call.real("momentum", 0.1), call.real("eps", 1e-5),
                      layer_options<nn::BatchNormOptions>(x));
  layer.running_mean = x[1].clone();
  layer.running_var = x[2].clone();
  layer.weight = or_none(x, 3);
  layer.bias = or_none(x, 4);
  if (!call.has("train")) return {layer(x[0], nn::Mode::Evaluate)};
  const TrainingScope training;
  const Tensor y = layer(x[0]);
  return {y, layer.running_mean, layer.running_var};
}
nn::MultiHeadAttention heads_layer(const Call& call, const Tensors& x) {
  nn::MultiHeadAttention layer(x[0].size(2), call.whole("heads", 1), AnyWeights(),
                               layer_options(x));
  nn::Linear* const parts[] = {&layer.query, &layer.key, &layer.value, &layer.out};
  for (std::size_t i = 0; i < 4; ++i) {
    parts[i]->weight = x[3 + 2 * i];
    parts[i]->bias = x[4 + 2 * i];
  }
  return layer;
}
// One token at a time, with a cache of the earlier ones.
Tensors token_by_token(const Call& call, const Tensors& x) {
  const nn::MultiHeadAttention layer = heads_layer(call, x);
  const std::int64_t n = x[0].size(0), tokens = x[0].size(1), heads = layer.heads;
  const Shape shape = {n, heads, tokens, x[0].size(2) / heads};
  const TensorOptions options = {x[0].dtype(), x[0].device()};
  nn::KvCache cache = {Tensor::zeros(shape, options).contiguous(),
                       Tensor::zeros(shape, options).contiguous()};
  Tensors rows;
  for (std::int64_t t = 0; t < tokens; ++t)
    rows.push_back(layer.next(x[0].narrow(1, t, 1), t, cache).contiguous().realize());
  return {Tensor::cat(rows, 1)};
}
template <class Layer>
Tensors recurrent(const Call&, const Tensors& x) {
  Layer layer(x[0].size(2), x[2].size(1), AnyWeights(), layer_options(x));
  layer.weight_ih = x[1];
  layer.weight_hh = x[2];
  layer.bias_ih = x[3];
  layer.bias_hh = x[4];
  std::optional<nn::RecurrentState> from;
  if (x.size() > 5) from = nn::RecurrentState{x[5], nth_tensor(x, 6)};
  const nn::RecurrentResult result = layer(x[0], from);
  Tensors out = {result.outputs, result.last.hidden};
  if (result.last.cell) out.push_back(*result.last.cell);
  return out;
}

Tensors values_and_indices(const Sorted& sorted) { return {sorted.values, sorted.indices}; }

// clang-format off
constexpr TensorFunction kNetwork[] = {
    TOUCHSTONE_CALL("einsum", einsum(call.required("notation"), x)),
    TOUCHSTONE_CALL("pool", pool(x[0], call.list("kernel"), conv_args(call))),
    TOUCHSTONE_CALL("max_pool", max_pool(x[0], call.list("kernel"), pool_args(call))),
    TOUCHSTONE_CALL("avg_pool", avg_pool(x[0], call.list("kernel"), pool_args(call))),
    TOUCHSTONE_CALL("max_pool2d", max_pool2d(x[0], two_of(call.list("kernel")), stride2_of(call))),
    TOUCHSTONE_CALL("avg_pool2d", avg_pool2d(x[0], two_of(call.list("kernel")), stride2_of(call))),
    TOUCHSTONE_CALL("conv", conv(x[0], x[1], nth_tensor(x, 2), conv_args(call))),
    TOUCHSTONE_CALL("conv1d", conv1d(x[0], x[1], nth_tensor(x, 2), conv_args(call))),
    TOUCHSTONE_CALL("conv2d", conv2d(x[0], x[1], nth_tensor(x, 2), window_args(call))),
    TOUCHSTONE_CALL("conv_transpose", conv_transpose(x[0], x[1], nth_tensor(x, 2), conv_args(call))),
    TOUCHSTONE_CALL("Conv1d", convolved<nn::Conv1d>(x, x[1].size(0), x[1].size(2), conv_args(call))),
    TOUCHSTONE_CALL("Conv2d", convolved<nn::Conv2d>(x, x[1].size(0), kernel_size(x[1]), window_args(call))),
    TOUCHSTONE_CALL("ConvTranspose1d", convolved<nn::ConvTranspose1d>(x, x[1].size(1) * call.whole("groups", 1), x[1].size(2), conv_args(call))),
    TOUCHSTONE_CALL("ConvTranspose2d", convolved<nn::ConvTranspose2d>(x, x[1].size(1) * call.whole("groups", 1), kernel_size(x[1]), conv_args(call))),
    TOUCHSTONE_CALL("interpolate", interpolate(x[0], call.list("sizes"), call.arg("mode") == "linear" ? Interpolation::Linear : Interpolation::Nearest,
                                               call.whole("corners", 0) != 0 ? AlignCorners::Yes : AlignCorners::No)),
    TOUCHSTONE_CALL("take", call.has("at") ? take(x[0], call.list("at"), int_in(call, "axis")) : take(x[0], x[1], int_in(call, "axis"))),
    TOUCHSTONE_CALL("gather", gather(x[0], axis_in_call(call), x[1])),
    TOUCHSTONE_CALL("scatter", scatter(x[0], axis_in_call(call), x[1], x[2])),
    TOUCHSTONE_CALL("scatter_add", scatter_add(x[0], axis_in_call(call), x[1], x[2])),
    TOUCHSTONE_CALL("masked_fill", masked_fill(x[0], x[1], number_in(call))),
    TOUCHSTONE_CALL("nonzero", nonzero(x[0])),
    TOUCHSTONE_CALL("one_hot", one_hot(x[0], call.whole("classes", 1))),
    {"sort", [](const Call& call, const Tensors& x) { return values_and_indices(sort(x[0], axis_in_call(call), order_in(call, "ascending"))); }},
    TOUCHSTONE_CALL("argsort", argsort(x[0], axis_in_call(call), order_in(call, "ascending"))),
    {"topk", [](const Call& call, const Tensors& x) {
       return values_and_indices(topk(x[0], call.whole("k", 1), axis_in_call(call), order_in(call, "descending")));
     }},
    TOUCHSTONE_CALL("index", index(x[0], parts_in(call, x))),
    {"set_index", [](const Call& call, const Tensors& x) {
       return written(call, x, [&](Tensor& y, const auto& value) { set_index(y, parts_in(call, x), value); });
     }},
    TOUCHSTONE_CALL("linear", linear(x[0], x[1], nth_tensor(x, 2))),
    TOUCHSTONE_CALL("Linear", linear_layer(x)(x[0])),
    TOUCHSTONE_CALL("Sequential", nn::Sequential([](const Tensor& t) { return t.relu(); }, linear_layer(x))(x[0])),
    TOUCHSTONE_CALL("softmax", softmax(x[0], axis_in_call(call))),
    TOUCHSTONE_CALL("log_softmax", log_softmax(x[0], axis_in_call(call))),
    TOUCHSTONE_CALL("layernorm", layernorm(x[0], axis_in_call(call), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("layer_norm", layer_norm(x[0], int_in(call, "axes", 1), affine_from(x, 1), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("LayerNorm", normed<nn::LayerNorm>(x, Shape(x[0].shape().end() - call.whole("axes", 1), x[0].shape().end()), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("LayerNorm2d", normed<nn::LayerNorm2d>(x, x[0].size(1), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("rms_norm", rms_norm(x[0], nth_tensor(x, 1), call.real("eps", 1e-6))),
    TOUCHSTONE_CALL("RMSNorm", normed<nn::RMSNorm>(x, x[0].size(-1), call.real("eps", 1e-6))),
    TOUCHSTONE_CALL("group_norm", group_norm(x[0], call.whole("groups", 1), affine_from(x, 1), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("GroupNorm", normed<nn::GroupNorm>(x, call.whole("groups", 1), x[0].size(1), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("instance_norm", instance_norm(x[0], affine_from(x, 1), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("InstanceNorm", normed<nn::InstanceNorm>(x, x[0].size(1), call.real("eps", 1e-5))),
    TOUCHSTONE_CALL("batch_norm", batch_norm(x[0], x[1], x[2], affine_from(x, 3), call.real("eps", 1e-5))),
    {"BatchNorm", batch_normed_layer},
    TOUCHSTONE_CALL("scaled_dot_product_attention", scaled_dot_product_attention(x[0], x[1], x[2], attention_args(call, x))),
    TOUCHSTONE_CALL("MultiHeadAttention", heads_layer(call, x)(x[0], x[1], x[2], attention_args(call, {}))),
    {"next", token_by_token},
    {"LSTM", recurrent<nn::LSTM>},
    {"GRU", recurrent<nn::GRU>},
    {"Embedding", [](const Call&, const Tensors& x) -> Tensors {
       nn::Embedding layer(x[0].size(0), x[0].size(1), AnyWeights(), {x[0].dtype(), x[0].device()});
       layer.weight = x[0];
       return {layer(x[1])};
     }},
    TOUCHSTONE_CALL("Dropout", nn::Dropout(0.5)(x[0])),
    TOUCHSTONE_CALL("mse_loss", mse_loss(x[0], x[1], reduction_of(call))),
    TOUCHSTONE_CALL("l1_loss", l1_loss(x[0], x[1], reduction_of(call))),
    TOUCHSTONE_CALL("huber_loss", huber_loss(x[0], x[1], call.real("delta", 1), reduction_of(call))),
    TOUCHSTONE_CALL("binary_cross_entropy", binary_cross_entropy(x[0], x[1], reduction_of(call))),
    TOUCHSTONE_CALL("binary_cross_entropy_with_logits", binary_cross_entropy_with_logits(x[0], x[1], reduction_of(call))),
    TOUCHSTONE_CALL("nll_loss", nll_loss(x[0], x[1], reduction_of(call))),
    {"cross_entropy", [](const Call& call, const Tensors& x) -> Tensors {
       if (!call.has("smoothing") && !call.has("ignore")) return {cross_entropy(x[0], x[1], reduction_of(call))};
       CrossEntropyArgs args;
       args.label_smoothing = call.real("smoothing", 0);
       if (call.has("ignore")) args.ignore_index = call.whole("ignore", 0);
       args.reduction = reduction_of(call);
       return {cross_entropy(x[0], x[1], args)};
     }},
};
// clang-format on

// The parameter after one step per gradient, the final learning rate, and the number of steps after
// which a state tensor that travels along was realized. "saved": after the first step another
// optimizer loads the first one's state. "beside": a parameter of another type is trained as well.
template <class Make>
Tensors trained(const Call& call, const Tensors& x, Make make) {
  Tensor p = x[0].detach().clone().set_requires_grad();
  std::optional<Tensor> beside;
  if (const auto type = call.arg("beside"))
    beside = Tensor::ones({2}, {parse_dtype(*type), x[0].device()}).contiguous();
  if (beside) beside->set_requires_grad();
  optim::Group group{beside ? Tensors{*beside, p} : Tensors{p}, call.real("scale", 1),
                     std::nullopt};
  if (call.has("group_decay")) group.weight_decay = call.real("group_decay", 0);
  const optim::Parameters all({group});
  auto optimizer = make(all);
  Tensor moved = Tensor::zeros({1}, options_of(call, x)).contiguous();
  std::int64_t realized = 0;
  for (std::size_t t = 1; t < x.size(); ++t) {
    if (t == 2 && call.has("saved")) {
      auto other = make(optim::Parameters(all.groups()));
      nn::copy_state(optimizer->state(), other->state());
      optimizer = std::move(other);
    }
    if (t == 2 && call.has("then")) optimizer->set_lr(call.real("then", 0));
    optimizer->zero_grad();
    Tensor loss = (p * x[t].detach()).sum();
    if (beside) loss = loss + beside->sum().cast(p.dtype());
    loss.backward();
    moved.assign(moved + 1);
    optim::realize_at_next_step(moved);
    optimizer->step({loss});
    realized += moved.lazy()->realized() != nullptr ? 1 : 0;
  }
  const std::string device = x[0].device();
  return {optimizer->parameters().back().detach(),
          Tensor::from<double>({optimizer->lr()}, {}, device),
          Tensor::from<std::int64_t>({realized}, {}, device)};
}
template <class Optimizer, class... Settings>
Tensors trained_by(const Call& call, const Tensors& x, Settings... settings) {
  return trained(call, x, [&](const optim::Parameters& p) {
    return std::make_unique<Optimizer>(p, settings...);
  });
}
// Tensors with the given gradients.
Tensors with_gradients(const Tensors& x) {
  Tensors parameters;
  for (const Tensor& g : x) {
    Tensor p = Tensor::zeros_like(g).contiguous().set_requires_grad();
    p.set_grad(g.detach().contiguous());
    parameters.push_back(p);
  }
  return parameters;
}
Tensors gradients_of(const Tensors& parameters) {
  Tensors all;
  for (const Tensor& p : parameters) all.push_back(*p.grad());
  return all;
}

// clang-format off
constexpr TensorFunction kTraining[] = {
    TOUCHSTONE_CALL("SGD", trained_by<optim::SGD>(call, x, call.real("lr", 0.1), call.real("momentum", 0), call.real("decay", 0),
                                                  call.has("nesterov") ? optim::Nesterov::Yes : optim::Nesterov::No)),
    TOUCHSTONE_CALL("Adam", trained_by<optim::Adam>(call, x, call.real("lr", 1e-3), call.real("beta1", 0.9), call.real("beta2", 0.999), call.real("eps", 1e-8))),
    TOUCHSTONE_CALL("AdamW", trained_by<optim::AdamW>(call, x, call.real("lr", 1e-3), call.real("decay", 0.01), call.real("beta1", 0.9), call.real("beta2", 0.999), call.real("eps", 1e-8))),
    TOUCHSTONE_CALL("LAMB", trained_by<optim::LAMB>(call, x, call.real("lr", 1e-3), call.real("decay", 0.01), call.real("beta1", 0.9), call.real("beta2", 0.999), call.real("eps", 1e-6))),
    // clang-format on
    {"clip_grad_norm",
     [](const Call& call, const Tensors& x) {
       const Tensors p = with_gradients(x);
       const Tensor norm = optim::clip_grad_norm(p, call.real("most", 1));
       Tensors all = gradients_of(p);
       all.push_back(norm);
       return all;
     }},
    {"clip_grad_value",
     [](const Call& call, const Tensors& x) {
       const Tensors p = with_gradients(x);
       optim::clip_grad_value(p, call.real("most", 1));
       return gradients_of(p);
     }},
    {"backward",
     [](const Call& call, const Tensors& x) {
       Tensor p = x[0].detach().clone().set_requires_grad();
       for (std::size_t t = 1; t < x.size(); ++t) {
         if (call.has("cleared")) p.zero_grad();
         Tensor doubled = p * 1;
         doubled.retain_grad();
         doubled.backward(x[t].detach());
       }
       return Tensors{*p.grad()};
     }},
    {"gradients",
     [](const Call& call, const Tensors& x) {
       const Tensor p = x[0].detach().clone().set_requires_grad();
       Tensor all = p * x.back().detach();
       for (std::size_t t = 1; t + 1 < x.size() && !call.has("cleared"); ++t)
         all = all + p * x[t].detach();
       return gradients(all.sum(), {p});
     }},
};

}  // namespace

std::span<const TensorFunction> network_functions() { return kNetwork; }
std::span<const TensorFunction> training_functions() { return kTraining; }

}  // namespace touchstone::fuzz
