#include "touchstone/lazy/lazy_buffer.h"

#include <algorithm>
#include <utility>

#include "touchstone/base/checked.h"
#include "touchstone/device/config.h"
#include "touchstone/device/device.h"
#include "touchstone/lazy/lazy_cache.h"
#include "touchstone/lazy/on_several.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

std::string canonical(const std::string& device) { return Device::canonical(device); }

bool is_symbolic(const Shape& shape) {
  return std::ranges::any_of(shape, [](const sint& s) { return !s.is_int(); });
}

// Excludes nodes with a new value each time or foreign memory.
bool may_be_remembered(const LazyBuffer& b) {
  if (!b.is_base()) return true;
  return !b.several() && b.move() == nullptr && b.op() != Op::Empty && b.op() != Op::Rand &&
         b.op() != Op::Custom && !b.assigns_to();
}

using Family = std::vector<std::weak_ptr<LazyBuffer>>;

// Prunes the list so that it is at most twice as long as needed.
void add_to(Family& family, const LazyBufferPtr& member) {
  if (family.size() == family.capacity() && family.size() >= 8)
    std::erase_if(family, [](const auto& weak) { return weak.expired(); });
  family.push_back(member);
}

std::vector<LazyBufferPtr> living(const Family& family) {
  std::vector<LazyBufferPtr> all;
  const std::scoped_lock lock(lazy::family_mutex());
  all.reserve(family.size());
  for (const auto& weak : family)
    if (LazyBufferPtr member = weak.lock()) all.push_back(std::move(member));
  return all;
}

}  // namespace

LazyBuffer::LazyBuffer(std::string device, DType dtype, ShapeTracker st)
    : device_(std::move(device)),
      dtype_(dtype),
      st_(std::move(st)),
      several_(device_.find(',') != std::string::npos && !device_.starts_with("DISK:")) {}

LazyBuffer::~LazyBuffer() {
  // Takes over sources that only this node owns, so that destructors do not nest.
  if (remembered_) lazy::forget(*this);
  std::vector<LazyBufferPtr> doomed = std::move(srcs_);
  if (base_) doomed.push_back(std::move(base_));
  if (assigns_to_) doomed.push_back(std::move(assigns_to_));
  while (!doomed.empty()) {
    const LazyBufferPtr last = std::move(doomed.back());
    doomed.pop_back();
    if (last == nullptr || last.use_count() != 1) continue;
    if (std::exchange(last->remembered_, false)) lazy::forget(*last);
    std::ranges::move(last->srcs_, std::back_inserter(doomed));
    last->srcs_.clear();
    if (last->base_) doomed.push_back(std::move(last->base_));
    if (last->assigns_to_) doomed.push_back(std::move(last->assigns_to_));
  }
}

LazyBufferPtr LazyBuffer::make_base(std::string device, DType dtype, Shape shape, Op op, OpArg arg,
                                    std::vector<LazyBufferPtr> srcs) {
  if (has_no_elements(shape)) return constant(Scalar::from_int(dtype, 0), shape, device);
  LazyBufferPtr made(
      new LazyBuffer(std::move(device), dtype, ShapeTracker::contiguous(std::move(shape))));
  made->op_ = op;
  made->arg_ = std::move(arg);
  made->srcs_ = std::move(srcs);
  if (made->several_) made->axis_ = lazy::axis_of_result(*made);
  return op == Op::Empty || op == Op::Custom ? made : enter(std::move(made));
}

LazyBufferPtr LazyBuffer::enter(LazyBufferPtr made) {
  const Config& config = Config::current();
  if (config.lazycache && may_be_remembered(*made)) {
    LazyBufferPtr known = lazy::remembered(made);
    if (known != made) return known;
    made->remembered_ = true;
  }
  {
    const std::scoped_lock lock(lazy::family_mutex());
    if (made->base_) add_to(made->base_->views_, made);
    for (std::size_t i = 0; i < made->srcs_.size(); ++i)
      if (i == 0 || made->srcs_[i] != made->srcs_[i - 1]) add_to(made->srcs_[i]->children_, made);
  }
  if (!config.lazy && made->is_base() && !made->is_const_base() && !is_symbolic(made->shape()))
    realize({&made, 1});
  return made;
}

std::vector<LazyBufferPtr> LazyBuffer::children() const { return living(children_); }
std::vector<LazyBufferPtr> LazyBuffer::views() const { return living(views_); }

LazyBufferPtr LazyBuffer::view(ShapeTracker st) {
  const LazyBufferPtr base = base_ptr();
  if (Config::current().on(Switch::MergeViews)) st = merge_outermost(st);
  if (is_const_base() || Config::current().on(Switch::RemoveMovementNops)) {
    if (st == st_) return shared_from_this();
    if (st == base->st_) return base;
  }
  if (has_no_elements(st.shape()) && !is_const_base())
    return constant(Scalar::from_int(dtype_, 0), st.shape(), device_);
  LazyBufferPtr made(new LazyBuffer(device_, dtype_, std::move(st)));
  made->base_ = base;
  return enter(std::move(made));
}

template <class Make>
LazyBufferPtr LazyBuffer::on_each(const std::vector<std::string>& devices, const Make& make) {
  std::vector<LazyBufferPtr> parts;
  for (const std::string& device : devices) parts.push_back(make(device));
  if (parts[0]->is_const_base())
    return constant(Scalar::from_int(parts[0]->dtype(), 0), parts[0]->shape(),
                    Device::tuple(devices));
  const Shape shape = parts[0]->shape();
  return stack(std::move(parts), Device::tuple(devices), shape, std::nullopt);
}

LazyBufferPtr LazyBuffer::empty(Shape shape, DType dtype, const std::string& device) {
  if (const auto all = Device::names_in(canonical(device)); all.size() > 1)
    return on_each(all, [&](const std::string& one) { return empty(shape, dtype, one); });
  return make_base(canonical(device), dtype, std::move(shape), Op::Empty, {}, {});
}

LazyBufferPtr LazyBuffer::random(RandArg arg, Shape shape, const std::string& device) {
  if (is_symbolic(shape))
    throw ShapeError(
        fmt::format("random: shape {} is symbolic; draw the largest size and shrink", str(shape)));
  if (const auto all = Device::names_in(canonical(device)); all.size() > 1)
    return on_each(all, [&](const std::string& one) { return random(arg, shape, one); });
  return make_base(canonical(device), DType::Float32, std::move(shape), Op::Rand, arg, {});
}

LazyBufferPtr LazyBuffer::constant(Scalar value, const Shape& shape, const std::string& device) {
  LazyBufferPtr made(new LazyBuffer(canonical(device), value.dtype(), ShapeTracker()));
  made->op_ = Op::LoadConst;
  made->arg_ = ConstBuffer{value, ShapeTracker()};
  made = enter(std::move(made));
  return made->view(made->st_.reshape(Shape(shape.size(), 1)).expand(shape));
}

LazyBufferPtr LazyBuffer::custom(CustomFunctionPtr function, std::vector<LazyBufferPtr> srcs,
                                 Shape shape, DType dtype, const std::string& device) {
  if (is_symbolic(shape))
    throw ShapeError(
        fmt::format("custom: shape {} is symbolic; take the largest size and shrink", str(shape)));
  const std::string where = canonical(device);
  for (LazyBufferPtr& source : srcs) {
    if (source->device() != where)
      throw BufferError(fmt::format("custom: '{}' runs on {}, but a source is on {}; copy it first",
                                    function->name, where, source->device()));
    if (source->several()) source = source->copy_to_device(source->devices()[0]);
    source = source->contiguous();
    if (source->is_const_base())  // without elements, otherwise it would be realized
      throw ShapeError(fmt::format("custom: a source of '{}' has no elements: {}", function->name,
                                   str(source->shape())));
  }
  const std::vector<std::string> all = Device::names_in(where);
  if (all.size() > 1)  // only one of them runs it
    return custom(std::move(function), std::move(srcs), std::move(shape), dtype, all[0])
        ->copy_to_device(where);
  LazyBufferPtr made = make_base(where, dtype, std::move(shape), Op::Custom, {}, std::move(srcs));
  if (made->is_const_base()) return made;
  made->custom_ = std::move(function);
  return enter(std::move(made));
}

// Positions and the table's other axes are sharded alike: each device looks up its own positions in
// a table with all rows.
LazyBufferPtr LazyBuffer::gathered_on_each(const LazyBufferPtr& table,
                                           const LazyBufferPtr& positions,
                                           const std::optional<ShapeTracker>& checked) {
  const std::string& all = table->device();
  std::optional<int> axis = positions->axis();
  if (table->axis() && *table->axis() > 0) axis = *table->axis() - 1;
  const LazyBufferPtr own_table = table->place(all, axis ? std::optional(*axis + 1) : std::nullopt),
                      own_positions = positions->place(all, axis);
  const std::vector<std::string> names = table->devices();
  std::vector<LazyBufferPtr> parts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::optional<ShapeTracker> numbers = checked;
    if (checked && axis)
      numbers = checked->shrink(
          part_mask(positions->shape(), *axis, static_cast<std::int64_t>(i), names.size()));
    parts.push_back(gather(own_table->part(i), own_positions->part(i), std::move(numbers)));
  }
  return stack(std::move(parts), all, positions->shape(), axis);
}

LazyBufferPtr LazyBuffer::gather(LazyBufferPtr table, LazyBufferPtr positions,
                                 std::optional<ShapeTracker> checked) {
  const Shape& axes = table->shape();
  if (axes.empty() || !std::ranges::equal(std::span(axes).subspan(1), positions->shape()))
    throw ShapeError(
        fmt::format("gather: positions of shape {} in a table of shape {}; expected the shape of "
                    "the table without its first axis",
                    str(positions->shape()), str(axes)));
  if (positions->dtype() != DType::Int64)
    throw DTypeError(
        fmt::format("gather: positions of {}; cast them to int64", name(positions->dtype())));
  if (positions->device() != table->device())
    throw BufferError(fmt::format("gather: positions on {}, but the table is on {}; copy one",
                                  positions->device(), table->device()));
  if (checked && checked->shape() != positions->shape())
    throw ShapeError(fmt::format("gather: numbers of shape {} for positions of shape {}",
                                 str(checked->shape()), str(positions->shape())));
  if (checked && axes[0] == sint(0) && !has_no_elements(positions->shape()))
    throw ShapeError(fmt::format("gather: positions of shape {} in an axis of no elements",
                                 str(positions->shape())));
  if (has_no_elements(axes))
    return constant(Scalar::from_int(table->dtype(), 0), positions->shape(), table->device());
  if (table->several()) return gathered_on_each(table, positions, checked);
  if (table->is_const_base()) table = table->contiguous();
  Shape shape = positions->shape();
  std::string device = table->device();
  const DType dtype = table->dtype();
  OpArg arg;
  if (checked) arg = MemBuffer{0, dtype, table->st(), std::move(checked)};
  return make_base(std::move(device), dtype, std::move(shape), Op::Gather, std::move(arg),
                   {std::move(positions), std::move(table)});
}

LazyBufferPtr LazyBuffer::from_host(void* data, DType dtype, std::span<const std::int64_t> shape,
                                    std::span<const std::int64_t> strides,
                                    std::shared_ptr<const void> owner, const std::string& device) {
  Device& where = Device::get(device);
  if (shape.size() != strides.size())
    throw ShapeError(fmt::format("from_host: {} sizes but {} strides; give one stride per axis",
                                 shape.size(), strides.size()));
  std::int64_t low = 0, high = 0;
  bool none = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) throw ShapeError(fmt::format("from_host: axis {} has size {}", i, shape[i]));
    none = none || shape[i] == 0;
    if (shape[i] == 0) continue;
    const std::int64_t reach = checked_mul(shape[i] - 1, strides[i]);
    (reach < 0 ? low : high) = checked_add(reach < 0 ? low : high, reach);
  }
  const Shape sizes(shape.begin(), shape.end());
  if (none) return constant(Scalar::from_int(dtype, 0), sizes, where.name());
  const std::int64_t count = checked_add(checked_sub(high, low), 1);
  auto* const first =
      static_cast<std::byte*>(data) + low * static_cast<std::int64_t>(itemsize(dtype));
  auto buffer = std::make_shared<Buffer>(where, dtype, count, first, std::move(owner));
  const LazyBufferPtr flat = from_buffer(std::move(buffer), {count});
  const Strides steps(strides.begin(), strides.end());
  return flat->view(flat->st().as_strided(sizes, steps, sint(-low)));
}

LazyBufferPtr LazyBuffer::from_buffer(BufferPtr buffer, Shape shape) {
  const std::int64_t wanted = max_elements(shape);
  if (buffer->size() != wanted)
    throw ShapeError(fmt::format("from_buffer: shape {} has {} elements, but the buffer has {}",
                                 str(shape), wanted, buffer->size()));
  if (wanted == 0)
    return constant(Scalar::from_int(buffer->dtype(), 0), shape, buffer->device().name());
  LazyBufferPtr made = make_base(canonical(buffer->device().name()), buffer->dtype(),
                                 std::move(shape), Op::Empty, {}, {});
  made->buffer_ = std::move(buffer);
  return made;
}

LazyBufferPtr LazyBuffer::from_parts(std::vector<LazyBufferPtr> parts, const std::string& devices,
                                     const Shape& shape, std::optional<int> axis) {
  LazyBufferPtr made(
      new LazyBuffer(canonical(devices), parts.at(0)->dtype(), ShapeTracker::contiguous(shape)));
  made->set_parts(std::move(parts), axis);
  return made;
}

LazyBufferPtr LazyBuffer::stack(std::vector<LazyBufferPtr> parts, const std::string& devices,
                                const Shape& shape, std::optional<int> axis) {
  if (has_no_elements(shape))
    return constant(Scalar::from_int(parts.at(0)->dtype(), 0), shape, devices);
  LazyBufferPtr made(
      new LazyBuffer(canonical(devices), parts.at(0)->dtype(), ShapeTracker::contiguous(shape)));
  made->op_ = Op::Noop;
  made->move_ = std::make_shared<const Move>(
      Move{GraphOp::MStack, static_cast<std::int64_t>(axis ? *axis : -1)});
  made->srcs_ = std::move(parts);
  made->axis_ = axis;
  return enter(std::move(made));
}

LazyBufferPtr LazyBuffer::part(std::size_t i) {
  const std::string device = devices().at(i);
  const Shape local = lazy::shape_on_each(*this);
  if (const auto value = constant_value()) return constant(*value, local, device);
  if (!several_) return shared_from_this();
  if (is_realized()) return parts()[i]->reshape(local);
  LazyBufferPtr made(new LazyBuffer(device, dtype_, ShapeTracker::contiguous(local)));
  made->op_ = Op::Noop;
  made->move_ = std::make_shared<const Move>(Move{GraphOp::MSelect, static_cast<std::int64_t>(i)});
  made->srcs_ = {shared_from_this()};
  return enter(std::move(made));
}

std::optional<Scalar> LazyBuffer::constant_value() const {
  if (!is_const_base() || st_.masked()) return std::nullopt;
  return std::get<ConstBuffer>(base().arg_).value;
}

LazyBufferPtr LazyBuffer::contiguous() {
  const bool whole = st_.is_contiguous() && st_.size() == base().st_.size() &&
                     (is_base() || Config::current().on(Switch::RemoveMovementNops));
  if (is_const_base() ? has_no_elements(shape()) : whole) {
    if (!is_realized() && !is_const_base()) base().must_realize_ = true;
    return shared_from_this();
  }
  return make_base(device_, dtype_, shape(), Op::Contiguous, {}, {shared_from_this()});
}

LazyBufferPtr LazyBuffer::assign(const LazyBufferPtr& value) {
  if (!is_const_base() && (!st_.is_contiguous() || st_.size() != base().st_.size()))
    throw ShapeError(fmt::format(
        "assign: shape {} is a part or a rearrangement of its buffer; assign to the whole buffer",
        str(shape())));
  if (value->shape() != shape())
    throw ShapeError(fmt::format("assign: shape {} to shape {}; reshape or expand it first",
                                 str(value->shape()), str(shape())));
  if (value->dtype() != dtype_)
    throw DTypeError(
        fmt::format("assign: {} to {}; cast it first", name(value->dtype()), name(dtype_)));
  if (value->device() != device_)
    throw BufferError(fmt::format("assign: the value is on {}, but the memory on {}; copy it first",
                                  value->device(), device_));
  if (several_ && axis_ != value->axis_)
    throw BufferError(fmt::format(
        "assign: the target is {}, but the value is {}; shard one like the other",
        axis_ ? fmt::format("sharded along axis {}", *axis_) : "not sharded",
        value->axis_ ? fmt::format("sharded along axis {}", *value->axis_) : "not sharded"));
  if (!is_realized()) return value->contiguous();
  LazyBufferPtr made(new LazyBuffer(device_, dtype_, ShapeTracker::contiguous(shape())));
  made->op_ = Op::Contiguous;
  made->srcs_ = {value};
  made->must_realize_ = true;
  made->assigns_to_ = base_ptr();
  made->axis_ = axis_;
  return enter(std::move(made));
}

LazyBufferPtr LazyBuffer::copy_to_device(const std::string& device) {
  const std::string target = canonical(device);
  if (target == device_ && !axis_) return shared_from_this();
  const LazyBuffer& from = base();
  if (!is_realized() && from.op_ == Op::From && st_.is_contiguous() &&
      st_.size() == from.st_.size())
    return from.srcs_[0]->copy_to_device(target)->reshape(shape());
  if (const auto value = constant_value()) return constant(*value, shape(), target);
  const LazyBufferPtr whole = contiguous();
  if (whole->is_const_base())  // no elements: any constant fits
    return constant(Scalar::from_int(dtype_, 0), shape(), target);
  return make_base(target, dtype_, whole->base().shape(), Op::From, {}, {whole->base_ptr()})
      ->reshape(shape());
}

LazyBufferPtr LazyBuffer::shard(int axis) {
  if (!several_)
    throw BufferError(fmt::format("shard: {} is one device; copy it to several first", device_));
  if (axis_) throw BufferError("shard: it is already sharded; copy it whole to the devices first");
  if (axis < 0 || axis >= rank())
    throw ShapeError(fmt::format("shard: there is no axis {} in {}", axis, str(shape())));
  const auto n = static_cast<std::int64_t>(devices().size());
  const sint& size = shape()[static_cast<std::size_t>(axis)];
  if (!size.is_int() || size.as_int() % n != 0)
    throw ShapeError(
        fmt::format("shard: multi axis uneven: axis {} of {} does not divide into {} shards; pad "
                    "it, or choose another axis or number of devices",
                    axis, str(shape()), n));
  return moved(GraphOp::Multi, static_cast<std::int64_t>(axis), st_);
}

LazyBufferPtr LazyBuffer::place(const std::string& device, std::optional<int> axis) {
  if (axis && axis == axis_) {
    if (canonical(device) == device_) return shared_from_this();
    const std::vector<std::string> names = Device::names_in(canonical(device));
    if (names.size() == devices().size()) {  // each shard goes to its own device
      std::vector<LazyBufferPtr> parts;
      for (std::size_t i = 0; i < names.size(); ++i)
        parts.push_back(part(i)->copy_to_device(names[i]));
      return stack(std::move(parts), device, shape(), axis);
    }
  }
  const LazyBufferPtr whole = copy_to_device(device);
  return axis ? whole->shard(*axis) : whole;
}

LazyBufferPtr LazyBuffer::moved(GraphOp op, UOpArg arg, const ShapeTracker& st) {
  if (st == st_ && op != GraphOp::Multi) return shared_from_this();
  if (has_no_elements(st.shape()))
    return constant(Scalar::from_int(dtype_, 0), st.shape(), device_);
  LazyBufferPtr made(new LazyBuffer(device_, dtype_, ShapeTracker::contiguous(st.shape())));
  made->op_ = Op::Noop;
  made->move_ = std::make_shared<const Move>(Move{op, std::move(arg)});
  made->srcs_ = {shared_from_this()};
  made->axis_ = lazy::axis_of_result(*made);
  return enter(std::move(made));
}

LazyBufferPtr LazyBuffer::reshape(const Shape& to) {
  return steps_alone() ? moved(GraphOp::Reshape, to, st_.reshape(to)) : view(st_.reshape(to));
}
LazyBufferPtr LazyBuffer::permute(std::span<const int> order) {
  return steps_alone() ? moved(GraphOp::Permute, std::vector<int>(order.begin(), order.end()),
                               st_.permute(order))
                       : view(st_.permute(order));
}
LazyBufferPtr LazyBuffer::expand(const Shape& to) {
  return steps_alone() ? moved(GraphOp::Expand, to, st_.expand(to)) : view(st_.expand(to));
}
LazyBufferPtr LazyBuffer::pad(const Padding& padding) {
  return steps_alone() ? moved(GraphOp::Pad, padding, st_.pad(padding)) : view(st_.pad(padding));
}
LazyBufferPtr LazyBuffer::shrink(const Mask& keep) {
  return steps_alone() ? moved(GraphOp::Shrink, keep, st_.shrink(keep)) : view(st_.shrink(keep));
}
LazyBufferPtr LazyBuffer::stride(std::span<const std::int64_t> steps) {
  if (!steps_alone()) return view(st_.stride(steps));
  std::vector<int> turned;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] == -1) turned.push_back(static_cast<int>(i));
    if (steps[i] != 1 && steps[i] != -1)
      throw ShapeError(fmt::format(
          "stride: step {} is not supported on several devices; copy it to one of them first",
          steps[i]));
  }
  return moved(GraphOp::Flip, std::move(turned), st_.stride(steps));
}

void LazyBuffer::set_parts(std::vector<LazyBufferPtr> parts, std::optional<int> axis) {
  set_realized(nullptr);
  parts_ = std::move(parts);
  axis_ = axis;
}

void LazyBuffer::set_realized(BufferPtr buffer) {
  LazyBuffer& b = base();
  if (std::exchange(b.remembered_, false)) lazy::forget(b);
  b.buffer_ = std::move(buffer);
  b.op_ = Op::Empty;
  b.arg_ = {};
  b.must_realize_ = false;
  b.srcs_.clear();
  b.move_.reset();
  b.custom_.reset();
  b.assigns_to_.reset();
}

}  // namespace touchstone
