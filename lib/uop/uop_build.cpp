// The makers of nodes.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "touchstone/uop/uop.h"

namespace touchstone {
namespace {

bool concrete_ones(const Shape& shape, const std::vector<int>& axes) {
  for (const int a : axes)
    if (a < 0 || static_cast<std::size_t>(a) >= shape.size()) return false;
  return true;
}

UOp moved_or_same(const UOp& x, const UOp& moved) { return *moved.st() == x.tracker() ? x : moved; }

}  // namespace

UOp UOp::unique() {
  static std::atomic<std::int64_t> next{0};
  return make(GraphOp::Unique, UOpType::none(), {}, next.fetch_add(1));
}

UOp UOp::device(std::string name) {
  return make(GraphOp::Device, UOpType::none(), {}, std::move(name));
}
UOp UOp::device(std::vector<std::string> names) {
  if (names.size() == 1) return device(std::move(names[0]));
  return make(GraphOp::Device, UOpType::none(), {}, std::move(names));
}

UOp UOp::new_buffer(const UOp& device, std::int64_t size, DType dtype) {
  return make(GraphOp::Buffer, dtype, {unique(), device}, size);
}

UOp UOp::constant(Scalar value, const Shape& shape, const UOp& device) {
  ShapeTracker st = ShapeTracker().reshape(Shape(shape.size(), 1)).expand(shape);
  const UOp at = make(GraphOp::View, UOpType::none(), {device}, std::move(st));
  return make(GraphOp::Const, value.dtype(), {at}, value);
}
UOp UOp::constant(Scalar value) { return make(GraphOp::Const, value.dtype(), {}, value); }

UOp UOp::variable(std::string name, std::int64_t min, std::int64_t max) {
  return make(GraphOp::DefineVar, DType::Int64, {}, UOpVariable{std::move(name), min, max});
}

sint device_number(std::size_t count) {
  return sint(
      symbolic::variable(std::string(kDeviceNumber), 0, static_cast<std::int64_t>(count) - 1));
}

UOp UOp::sink(std::vector<UOp> of) { return make(GraphOp::Sink, UOpType::none(), std::move(of)); }

UOp UOp::reshape(const Shape& to) const {
  if (shape() == to) return *this;
  return moved_or_same(*this, make(GraphOp::Reshape, dtype(), {*this}, to));
}
UOp UOp::expand(const Shape& to) const {
  if (shape() == to) return *this;
  return moved_or_same(*this, make(GraphOp::Expand, dtype(), {*this}, to));
}
UOp UOp::permute(std::vector<int> order) const {
  return moved_or_same(*this, make(GraphOp::Permute, dtype(), {*this}, std::move(order)));
}
UOp UOp::pad(const Padding& padding) const {
  return moved_or_same(*this, make(GraphOp::Pad, dtype(), {*this}, padding));
}
UOp UOp::shrink(const Mask& keep) const {
  return moved_or_same(*this, make(GraphOp::Shrink, dtype(), {*this}, keep));
}
UOp UOp::flip(std::vector<int> axes) const {
  std::ranges::sort(axes);
  if (axes.empty()) return *this;
  return moved_or_same(*this, make(GraphOp::Flip, dtype(), {*this}, std::move(axes)));
}

UOp UOp::view(ShapeTracker through) const {
  if (st() != nullptr && through.is_contiguous() && through.shape() == shape() &&
      op() != GraphOp::View)
    return *this;
  return make(GraphOp::View, dtype(), {*this}, std::move(through));
}

UOp UOp::alu(GraphOp op, std::vector<UOp> others) const {
  std::vector<UOp> of{*this};
  for (UOp& other : others) of.push_back(std::move(other));
  const GraphOpInfo& row = info(op);
  if (!is_alu(op) || static_cast<int>(of.size()) != row.least)
    throw AstError(
        fmt::format("{} of {} operands is not an elementwise node", name(op), of.size()));
  UOpType type = op == GraphOp::Where ? of[1].dtype() : dtype();
  if (is_comparison(op)) type = DType::Bool;
  if (type.is_image()) type = type.base;
  return make(op, type, std::move(of));
}

UOp UOp::call(NamedFunction function, std::vector<UOp> others) const {
  others.insert(others.begin(), *this);
  return make(GraphOp::Function, dtype().is_image() ? dtype().base : dtype(), std::move(others),
              function);
}

UOp UOp::cast(UOpType to) const { return dtype() == to ? *this : make(GraphOp::Cast, to, {*this}); }
UOp UOp::bitcast(UOpType to) const {
  return dtype() == to ? *this : make(GraphOp::Bitcast, to, {*this});
}

UOp UOp::reduce(GraphOp op, std::vector<int> axes, bool fused) const {
  const Shape& from = shape();
  if (!concrete_ones(from, axes))
    throw ShapeError(fmt::format("reduce: an axis is not in {}", touchstone::str(from)));
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  std::erase_if(axes, [&](int a) { return from[static_cast<std::size_t>(a)] == sint(1); });
  if (axes.empty()) return *this;
  const UOpType type = dtype().is_image() ? UOpType(dtype().base) : dtype();
  return make(GraphOp::ReduceAxis, type, {*this}, UOpReduce{op, std::move(axes), fused});
}

UOp UOp::ask(GraphOp op) const {
  if (group(op) != GraphOpGroup::Ask)
    throw AstError(fmt::format("{} is not a request to a tensor", name(op)));
  return make(op, dtype(), {*this});
}

UOp UOp::assign(const UOp& value) const { return make(GraphOp::Assign, dtype(), {*this, value}); }
UOp UOp::copy_to(const UOp& device) const { return make(GraphOp::Copy, dtype(), {*this, device}); }

UOp UOp::multi(int axis) const {
  return make(GraphOp::Multi, dtype(), {*this}, static_cast<std::int64_t>(axis));
}
UOp UOp::mselect(std::size_t which) const {
  return make(GraphOp::MSelect, dtype(), {*this}, static_cast<std::int64_t>(which));
}
UOp UOp::mstack(std::vector<UOp> of) {
  if (of.empty()) throw AstError("MSTACK: no devices given");
  const UOpType type = of[0].dtype();
  return make(GraphOp::MStack, type, std::move(of));
}
UOp UOp::allreduce(GraphOp op, const UOp& device) const {
  return make(GraphOp::Allreduce, dtype(), {*this, device}, UOpReduce{op, {}, false});
}

UOp UOp::const_like(const Scalar& value) const {
  const UOp where = device_node();
  if (!where) {
    if (st() == nullptr) return constant(value);
    const ShapeTracker flat = ShapeTracker().reshape(Shape(shape().size(), 1)).expand(shape());
    return make(GraphOp::Const, value.dtype(), {make(GraphOp::View, UOpType::none(), {}, flat)},
                value);
  }
  return constant(value, shape(), where);
}
UOp UOp::const_like(double value) const {
  return const_like(Scalar::from_double(dtype().base, value));
}

UOp UOp::with_src(std::vector<UOp> src) const {
  return make(op(), dtype(), std::move(src), arg(), tag());
}
UOp UOp::with_arg(UOpArg arg) const { return make(op(), dtype(), src(), std::move(arg), tag()); }
UOp UOp::with_dtype(UOpType dtype) const { return make(op(), dtype, src(), arg(), tag()); }
UOp UOp::with_tag(std::optional<std::int64_t> tag) const {
  return make(op(), dtype(), src(), arg(), tag);
}

}  // namespace touchstone
