#include "touchstone/fuzz/draw/draw_call.h"

namespace touchstone::fuzz {
namespace {

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
std::string any_slice(Drawing& d, std::int64_t size) {
  std::string text;
  if (d.chance(1, 2)) text += fmt::format("{}", d.between(-size - 1, size + 1));
  text += ':';
  if (d.chance(1, 2)) text += fmt::format("{}", d.between(-size - 1, size + 1));
  if (d.chance(1, 2))
    text += fmt::format(":{}", d.chance(1, 2) ? -d.between(1, 3) : d.between(1, 3));
  return text;
}
// A number or a tensor to write.
void draw_written(Drawing& d) {
  if (!d.call.name.starts_with("set")) return;
  if (d.chance(1, 2) && !is_bool(d.dtype))
    d.set("value", d.between(0, 5));
  else
    d.input({});
}
void draw_slice(Drawing& d) {
  const CallSizes shape = d.shape(1, 3);
  std::vector<std::string> parts;
  for (std::size_t i = 0, n = 1 + d.chooser.below(shape.size()); i < n; ++i)
    parts.push_back(any_slice(d, shape[i]));
  d.call.set("parts", fmt::format("{}", fmt::join(parts, ",")));
  d.input(shape);
  draw_written(d);
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
      case 0: parts.emplace_back(":"); break;
      case 1: parts.push_back(fmt::format("{}", d.between(-shape[i], shape[i] - 1))); break;
      case 2: parts.push_back(any_slice(d, shape[i])); break;
      case 3:
        d.mask({shape[i]});
        parts.emplace_back("tensor");
        // Masks of different counts do not broadcast: keep one position.
        for (std::size_t k = 0; k < d.call.inputs.back().values.size(); ++k)
          d.call.inputs.back().values[k] = k == 0 ? "1" : "0";
        d.call.inputs.back().via = "";
        break;
      default: d.positions(d.part_of(together), shape[i]); parts.emplace_back("tensor");
    }
    if (d.chance(1, 8)) {
      parts.emplace_back("...");
      break;
    }
  }
  d.call.set("parts", fmt::format("{}", fmt::join(parts, ",")));
  draw_written(d);
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
    {"take", draw_take},
    {"Embedding", draw_take, true},
    {"slice set", draw_slice},
    {"index set_index", draw_index},
    {"MultiHeadAttention next", draw_heads, true},
    {"SGD Adam AdamW LAMB clip_grad_norm clip_grad_value backward gradients", draw_training, true},
};

}  // namespace

std::span<const DrawnCall> drawn_layers() { return kLayerCalls; }

}  // namespace touchstone::fuzz
