#include "touchstone/fuzz/draw/draw_call.h"

namespace touchstone::fuzz {
namespace {

void draw_reshape(Drawing& d) {
  const CallSizes shape = d.shape(0, 4);
  CallSizes to = shape;
  std::reverse(to.begin(), to.end());
  if (to.size() > 1 && d.chance(1, 2)) {
    to[0] *= to[1];
    to.erase(to.begin() + 1);
  }
  if (d.chance(1, 3)) to.insert(to.begin() + d.between(0, static_cast<std::int64_t>(to.size())), 1);
  if (!to.empty() && d.chance(1, 3) && Drawing::count(shape) > 0)
    to[static_cast<std::size_t>(d.chooser.below(to.size()))] = -1;
  d.call.set("shape", to);
  d.input(shape);
}
void draw_permute(Drawing& d) {
  const CallSizes shape = d.shape(0, 4);
  CallSizes order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[d.chooser.below(i)]);
  for (std::int64_t& axis : order)
    if (d.chance(1, 5)) axis -= static_cast<std::int64_t>(order.size());
  d.call.set("order", order);
  d.input(shape);
}
void draw_expand(Drawing& d) {
  CallSizes whole = d.shape(0, 3), part = whole;
  for (std::int64_t& size : part)
    if (d.chance(1, 2)) size = 1;
  if (d.chance(1, 3)) whole.insert(whole.begin(), d.between(0, 3));
  for (std::size_t i = 0; i < part.size(); ++i)
    if (d.chance(1, 4)) whole[whole.size() - part.size() + i] = part[i] == 1 ? 1 : -1;
  d.call.set("shape", whole);
  d.input(part);
}
void draw_pad(Drawing& d) {
  static const std::vector<std::string> kModes = {"constant", "reflect", "replicate", "circular"};
  const CallSizes shape = d.shape(1, 3);
  const std::string mode = d.chooser.pick(kModes);
  CallSizes before, after;
  for (const std::int64_t size : shape) {
    const std::int64_t most = mode == "constant"    ? 3
                              : mode == "reflect"   ? std::max<std::int64_t>(size - 1, 0)
                              : mode == "replicate" ? (size > 0 ? 3 : 0)
                                                    : size;
    before.push_back(d.chance(1, 2) ? d.between(0, most) : 0);
    after.push_back(d.chance(1, 2) ? d.between(0, most) : 0);
  }
  d.call.set("before", before);
  d.call.set("after", after);
  if (mode != "constant" || d.chance(1, 2)) d.call.set("mode", mode);
  if (mode == "constant" && d.call.has("mode")) d.set("value", d.between(0, 1));
  d.input(shape);
}
void draw_pad2d(Drawing& d) {
  const CallSizes shape = d.shape(2, 3);
  CallSizes padding;
  for (const std::int64_t size : {shape.back(), shape[shape.size() - 2]})
    for (int side = 0; side < 2; ++side) padding.push_back(d.between(-size / 2, 2));
  d.call.set("padding", padding);
  if (d.chance(1, 2)) d.set("value", d.between(0, 1));
  d.input(shape);
}
void draw_narrow(Drawing& d) {
  const CallSizes shape = d.shape(1, 3);
  const auto at = static_cast<std::size_t>(d.set_axis(shape));
  const std::int64_t begin = d.between(0, shape[at]);
  d.set("begin", begin);
  d.set("size", d.between(0, shape[at] - begin));
  d.input(shape);
}
void draw_axes_of_one(Drawing& d) {
  CallSizes shape = d.shape(0, 3);
  if (d.call.name == "squeeze") {
    for (std::int64_t& size : shape)
      if (d.chance(1, 2)) size = 1;
    if (!shape.empty() && d.chance(1, 2)) d.set_axis(shape);
  } else if (d.call.name == "unsqueeze") {
    d.set("axis", d.axis(shape.size() + 1));
  } else if (!shape.empty()) {
    d.set_axis(shape, "first");
  }
  d.input(shape);
}
void draw_unflatten(Drawing& d) {
  CallSizes shape = d.shape(1, 3);
  const auto at = static_cast<std::size_t>(d.set_axis(shape));
  const std::int64_t outer = d.between(1, 3);
  CallSizes sizes = {outer, d.between(1, 3)};
  shape[at] = sizes[0] * sizes[1];
  if (d.chance(1, 3)) sizes[d.chooser.below(2)] = -1;
  d.call.set("sizes", sizes);
  d.input(shape);
}
void draw_split(Drawing& d) {
  const CallSizes shape = d.shape(1, 3);
  const auto at = static_cast<std::size_t>(d.set_axis(shape));
  const std::int64_t first = d.between(0, shape[at]), second = d.between(0, shape[at] - first);
  if (d.chance(1, 2))
    d.set("size", d.between(1, 3));
  else
    d.call.set("sizes", CallSizes{first, second, shape[at] - first - second});
  d.input(shape);
}
void draw_repeat(Drawing& d) {
  const CallSizes shape = d.shape(0, 3);
  CallSizes times;
  for (std::size_t i = 0; i < shape.size() + d.chooser.below(2); ++i)
    times.push_back(d.chance(1, 8) ? 0 : d.between(1, 3));
  times.resize(std::max(times.size(), shape.size()), 1);
  d.call.set("times", times);
  d.input(shape);
}
void draw_unfold(Drawing& d) {
  CallSizes shape = d.shape(1, 3);
  const auto at = static_cast<std::size_t>(d.set_axis(shape));
  shape[at] = d.between(1, 6);
  d.set("size", d.between(1, shape[at]));
  d.set("step", d.between(1, 3));
  d.input(shape);
}
void draw_diagonal(Drawing& d) {
  const CallSizes shape = d.shape(2, 3);
  const auto a = d.set_axis(shape, "a"), rank = std::ssize(shape);
  d.set("b", (a + d.between(1, rank - 1)) % rank - (d.chance(1, 3) ? rank : 0));
  d.input(shape);
}
void draw_joined(Drawing& d) {
  CallSizes shape = d.shape(d.call.name == "cat" ? 1 : 0, 3);
  const std::int64_t parts = d.between(1, 3);
  if (d.call.name == "stack") d.set("axis", d.axis(shape.size() + 1));
  const auto at = static_cast<std::size_t>(d.call.name == "cat" ? d.set_axis(shape) : 0);
  for (std::int64_t i = 0; i < parts; ++i) {
    if (d.call.name == "cat") shape[at] = d.between(0, 3);
    d.input(shape);
  }
}
void draw_bound(Drawing& d) {
  const CallSizes shape = d.shape(1, 3);
  const auto axis = static_cast<std::int64_t>(d.chooser.below(shape.size()));
  d.set("axis", axis);
  d.set("count", d.between(0, shape[static_cast<std::size_t>(axis)]));
  d.input(shape);
}
void draw_creation(Drawing& d) {
  d.call.set("dtype", std::string(name(d.dtype)));
  const std::string& of = d.call.name;
  if (of.ends_with("_like")) {
    if (of == "full_like") d.set("value", d.between(0, 1));
    if (d.chance(1, 2)) d.call.args.erase(d.call.args.begin());
    d.any_type();
    d.input(d.shape());
    return;
  }
  if (of == "arange" && (is_bool(d.dtype) || d.dtype == DType::UInt64)) d.dtype = DType::Int32;
  if (of == "linspace" && !is_float(d.dtype)) d.dtype = DType::Float32;
  d.call.set("dtype", std::string(name(d.dtype)));
  if (of == "full") d.set("value", d.between(0, 1));
  if (of == "full" || of == "zeros" || of == "ones" || of == "empty")
    d.call.set("shape", d.shape());
  if (of == "eye") d.set("n", d.between(0, 4));
  if (of == "linspace") {
    d.set("begin", d.between(-3, 3));
    d.set("end", d.between(-3, 9));
    d.set("count", d.between(0, 9));
  }
  if (of == "arange") {
    const bool fractions = is_float(d.dtype) && d.chance(1, 2);
    const bool up = is_unsigned(d.dtype) || d.chance(2, 3);
    d.set("begin", up ? d.between(0, 3) : d.between(3, 9));
    d.set("end", up ? d.between(2, 9) : d.between(0, 3));
    d.set("step", up ? d.between(1, 3) : -d.between(1, 3));
    if (fractions) {
      d.call.set("fractions", "1");
      d.call.set("step", up ? "0.375" : "-0.75");
    }
  }
  d.dtype = DType::Float32;
  d.input({});
}

constexpr DrawnCall kMovementCalls[] = {
    {"reshape", draw_reshape},
    {"permute", draw_permute},
    {"expand", draw_expand},
    {"pad", draw_pad},
    {"pad2d", draw_pad2d},
    {"narrow", draw_narrow},
    {"squeeze unsqueeze flatten", draw_axes_of_one},
    {"unflatten", draw_unflatten},
    {"split", draw_split},
    {"repeat", draw_repeat},
    {"unfold", draw_unfold},
    {"diagonal", draw_diagonal},
    {"cat stack", draw_joined},
    {"full zeros ones empty full_like zeros_like ones_like empty_like arange linspace eye",
     draw_creation},
    {"bind", draw_bound, true},
};

}  // namespace

std::span<const DrawnCall> drawn_movements() { return kMovementCalls; }

}  // namespace touchstone::fuzz
