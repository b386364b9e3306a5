#include "touchstone/fuzz/draw/draw_call.h"

namespace touchstone::fuzz {
namespace {

void draw_narrow(Drawing& d) {
  const CallSizes shape = d.shape(1, 3);
  const auto at = static_cast<std::size_t>(d.set_axis(shape));
  const std::int64_t begin = d.between(0, shape[at]);
  d.set("begin", begin);
  d.set("size", d.between(0, shape[at] - begin));
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
    {"narrow", draw_narrow},
    {"unflatten", draw_unflatten},
    {"split", draw_split},
    {"cat stack", draw_joined},
    {"full zeros ones empty full_like zeros_like ones_like empty_like arange linspace eye",
     draw_creation},
    {"bind", draw_bound, true},
};

}  // namespace

std::span<const DrawnCall> drawn_movements() { return kMovementCalls; }

}  // namespace touchstone::fuzz
