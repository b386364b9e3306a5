#include "touchstone/tensor/tensor.h"

#include <algorithm>
#include <cmath>

#include "touchstone/base/checked.h"
#include "touchstone/lazy/aside.h"
#include "touchstone/lazy/jit.h"
#include "touchstone/tensor/function.h"
#include "touchstone/tensor/mlops.h"
#include "touchstone/tensor/state_log.h"

namespace touchstone {

Tensor::Tensor(LazyBufferPtr data) : node_(std::make_shared<TensorNode>(std::move(data))) {}

Tensor Tensor::full(const Shape& shape, Number value, const TensorOptions& options) {
  Device::require(options.device);
  return Tensor(LazyBuffer::constant(value.as(options.dtype), shape, options.device));
}
Tensor Tensor::zeros(const Shape& shape, const TensorOptions& options) {
  return full(shape, 0, options);
}
Tensor Tensor::ones(const Shape& shape, const TensorOptions& options) {
  return full(shape, 1, options);
}
Tensor Tensor::empty(const Shape& shape, const TensorOptions& options) {
  Device::require(options.device);
  return Tensor(LazyBuffer::empty(shape, options.dtype, options.device));
}

namespace {

// value(0), value(1), ... value(count - 1).
template <class Value>
Tensor values_of(std::uint64_t count, const TensorOptions& options, const Value& value) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  if (count > kMost)
    throw ShapeError(fmt::format("cannot make {} values; use at most {}", count, kMost));
  return with_storage(options.dtype, [&]<class T>(std::type_identity<T>) {
    std::vector<T> values;
    values.reserve(count);
    const auto size = static_cast<std::int64_t>(count);
    for (std::int64_t i = 0; i < size; ++i) values.push_back(convert<T>(value(i)));
    return Tensor::from<T>(values, {sint(size)}, options.device);
  });
}

}  // namespace

Tensor Tensor::arange(std::int64_t begin, std::int64_t end, std::int64_t step,
                      const TensorOptions& options) {
  if (step == 0) throw ShapeError("arange: the step is 0; use a positive or negative step");
  const std::int64_t way = checked_sub(end, begin);
  const auto size = [](std::int64_t n) { return n < 0 ? 0 - std::uint64_t(n) : std::uint64_t(n); };
  const std::uint64_t full = size(way) / size(step), rest = size(way) % size(step) != 0;
  return values_of((way < 0) == (step < 0) ? full + rest : 0, options,
                   [&](std::int64_t i) { return begin + i * step; });
}

Tensor Tensor::arange_of(double begin, double end, double step, const TensorOptions& options) {
  const double wanted = std::ceil((end - begin) / step);
  if (step == 0 || !std::isfinite(begin) || !std::isfinite(step) || !(wanted < 9e15))
    throw ShapeError(fmt::format(
        "arange: from {} to {} by {} there is no finite number of values; change the step", begin,
        end, step));
  return values_of(static_cast<std::uint64_t>(std::max(wanted, 0.0)), options,
                   [&](std::int64_t i) { return begin + static_cast<double>(i) * step; });
}

Tensor Tensor::linspace(double begin, double end, std::int64_t count,
                        const TensorOptions& options) {
  if (count < 0)
    throw ShapeError(fmt::format("linspace: cannot make {} values; use 0 or more", count));
  if (!is_float(options.dtype))
    throw DTypeError(
        fmt::format("linspace: makes floats, not {}; cast the result", name(options.dtype)));
  const double step = count > 1 ? (end - begin) / static_cast<double>(count - 1) : 0;
  return values_of(static_cast<std::uint64_t>(count), options, [&](std::int64_t i) {
    return i > 0 && i == count - 1 ? end : begin + static_cast<double>(i) * step;
  });
}

Tensor Tensor::full_like(const Tensor& x, Number value, std::optional<DType> dtype) {
  return full(x.shape(), value, {dtype.value_or(x.dtype()), x.device()});
}
Tensor Tensor::zeros_like(const Tensor& x, std::optional<DType> dtype) {
  return full_like(x, 0, dtype);
}
Tensor Tensor::ones_like(const Tensor& x, std::optional<DType> dtype) {
  return full_like(x, 1, dtype);
}
Tensor Tensor::empty_like(const Tensor& x, std::optional<DType> dtype) {
  return empty(x.shape(), {dtype.value_or(x.dtype()), x.device()});
}

Tensor Tensor::eye(std::int64_t n, const TensorOptions& options) {
  // Rows of n ones, each followed by n zeros, cut to n x n: row i has its one in column i.
  const std::vector<Slice> all_but_last = {{.end = checked_mul(n, n)}};
  return ones({n, 1}, options).pad({{0, 0}, {0, n}}).flatten().slice(all_but_last).reshape({n, n});
}

Tensor Tensor::from_bytes(DType dtype, std::span<const std::byte> bytes, const Shape& shape,
                          const std::string& device) {
  const std::int64_t wanted = max_elements(shape);
  if (bytes.size() != static_cast<std::size_t>(wanted) * itemsize(dtype))
    throw ShapeError(fmt::format("from: {} values do not fill shape {} of {} elements",
                                 bytes.size() / itemsize(dtype), str(shape), wanted));
  if (wanted == 0) return zeros(shape, {dtype, device});
  if (const auto all = Device::names_in(Device::canonical(device)); all.size() > 1)
    return from_bytes(dtype, bytes, shape, all[0]).to(device);
  const auto buffer = std::make_shared<Buffer>(Device::get(device), dtype, wanted);
  buffer->copy_in(bytes);
  Tensor made(LazyBuffer::from_buffer(buffer, shape));
  made.node_->given = true;
  return made;
}

TensorNode& Tensor::held() const {
  if (node_ == nullptr)
    throw Error(
        "the tensor was moved from, or its layer was created without it, so it has no values; "
        "assign to it, copy it before the move, or check defined()");
  return *node_;
}
const LazyBufferPtr& Tensor::lazy() const {
  (void)held();
  if (StateLog* const log = StateLog::current()) log->read(node_);
  return node_->data;
}
const LazyBufferPtr& Tensor::values() const { return held().data; }
bool Tensor::requires_grad() const { return held().requires_grad; }

namespace {

// For sizes queried directly: variable sizes are known only when a kernel runs.
std::int64_t number(const sint& size, const Shape& shape) {
  if (size.is_int()) return size.as_int();
  const char* const by = OriginScope::current().name;
  throw ShapeError(
      fmt::format("{}a size of shape {} is the variable {}, where a number is needed; "
                  "bind() it first",
                  by == nullptr ? "" : fmt::format("{}: ", by), str(shape), size.str()));
}

}  // namespace

std::int64_t Tensor::size(int axis) const {
  return number(shape()[static_cast<std::size_t>(normal_axis(axis))], shape());
}

std::int64_t Tensor::elements() const {
  std::int64_t n = 1;
  for (const sint& s : shape()) n = checked_mul(n, number(s, shape()));
  return n;
}

std::int64_t Tensor::nbytes() const {
  return checked_mul(elements(), static_cast<std::int64_t>(itemsize(dtype())));
}

int Tensor::normal_axis(int axis) const {
  if (axis < -rank() || axis >= rank())
    throw ShapeError(fmt::format("axis {} is outside [{}, {}) of shape {}", axis, -rank(), rank(),
                                 str(shape())));
  return axis < 0 ? axis + rank() : axis;
}

std::vector<int> Tensor::normal_axes(const std::vector<int>& axes) const {
  std::vector<int> normal;
  for (const int axis : axes) normal.push_back(normal_axis(axis));
  return normal;
}

const Tensor& Tensor::realize(const symbolic::Values& values) const {
  touchstone::realize(std::span(&held().data, 1), values);
  return *this;
}

Tensor Tensor::bind(const symbolic::Values& values) const {
  Shape bound;
  for (const sint& size : shape()) {
    for (const symbolic::Node& v : symbolic::variables(size.node())) {
      const auto given = values.find(symbolic::variable_name(v));
      if (given == values.end())
        throw Error(fmt::format("bind: shape {} has the variable {}, which has no value here",
                                str(shape()), symbolic::variable_name(v)));
      const sint range(v);
      if (given->second < range.min().value_or(given->second) ||
          given->second > range.max().value_or(given->second))
        throw ShapeError(fmt::format("bind: {} is {}, which is outside [{}, {}]",
                                     symbolic::variable_name(v), given->second,
                                     range.min().value_or(0), range.max().value_or(0)));
    }
    bound.emplace_back(size.evaluate(values));
  }
  const std::int64_t count = touchstone::elements(bound).as_int();
  if (count == 0) return zeros(bound, {dtype(), device()});
  const LazyBufferPtr whole = lazy()->contiguous();
  lazy::Aside aside;  // other values recompute everything
  for (const ScheduleItem& item : schedule(std::span(&whole, 1), values)) aside.run(item);
  settle_all_transfers();
  if (whole->several()) {
    Shape local = bound;
    if (whole->axis()) {
      sint& size = local[static_cast<std::size_t>(*whole->axis())];
      size = size.as_int() / static_cast<std::int64_t>(whole->devices().size());
    }
    const std::int64_t own = touchstone::elements(local).as_int();
    std::vector<LazyBufferPtr> parts;
    for (const BufferPtr& part : aside.parts(whole->base()))
      parts.push_back(
          LazyBuffer::from_buffer(part, {part->size()})->shrink({{0, own}})->reshape(local));
    return Tensor(LazyBuffer::stack(std::move(parts), device(), bound, whole->axis()));
  }
  BufferPtr memory = aside.made(whole->base());
  if (memory == nullptr) memory = whole->realized();
  return Tensor(
      LazyBuffer::from_buffer(memory, {memory->size()})->shrink({{0, count}})->reshape(bound));
}

void realize(std::span<const Tensor> tensors, const symbolic::Values& values) {
  std::vector<LazyBufferPtr> data;
  for (const Tensor& t : tensors) data.push_back(t.lazy());
  realize(std::span<const LazyBufferPtr>(data), values);
}

BufferPtr Tensor::host_ready() const { return lazy::host_values(lazy()); }

namespace {

// The part of a file that a view reads, as a buffer in the mapped memory, for host devices. Null if
// x is no such view; a whole file is copied directly.
LazyBufferPtr part_of_disk(const LazyBufferPtr& x, const std::string& device) {
  if (!x->device().starts_with("DISK:") || x->is_base() || x->realized() == nullptr) return nullptr;
  const std::vector<View>& views = x->st().views();
  if (views.size() != 1 || views[0].mask()) return nullptr;
  std::vector<std::int64_t> shape, strides;
  for (const sint& s : x->shape()) shape.push_back(s.as_int());
  for (const sint& s : views[0].strides()) strides.push_back(s.as_int());
  const BufferPtr& file = x->realized();
  auto* const memory = static_cast<std::byte*>(file->memory());
  const std::int64_t offset =
      views[0].offset().as_int() * static_cast<std::int64_t>(itemsize(x->dtype()));
  return LazyBuffer::from_host(memory + offset, x->dtype(), shape, strides, file,
                               Device::get(device).host_memory() ? device : "CPU");
}

}  // namespace

Tensor Tensor::to(const std::vector<std::string>& all) const { return to(Device::tuple(all)); }
Tensor Tensor::to(std::initializer_list<std::string> all) const {
  return to(std::vector<std::string>(all));
}
Tensor Tensor::shard(const std::vector<std::string>& all, int axis) const {
  const std::string device = Device::tuple(all);
  Device::require(device);
  if (all.size() == 1) {
    (void)normal_axis(axis);
    return to(device);
  }
  return apply<mlops::CopyTo>({*this}, device, normal_axis(axis));
}
Tensor Tensor::shard_like(const Tensor& other) const {
  return device() == other.device() && shard_axis() == other.shard_axis()
             ? *this
             : apply<mlops::CopyTo>({*this}, other.device(), other.shard_axis());
}

Tensor Tensor::to(const std::string& device) const {
  Device::require(device);
  if (const auto all = Device::names_in(Device::canonical(device));
      all.size() > 1 && this->device().starts_with("DISK:"))
    return to(all[0]).to(device);
  if (!requires_grad())
    if (const LazyBufferPtr part = part_of_disk(lazy(), device))
      return Tensor(part->contiguous()->copy_to_device(device));
  return apply<mlops::CopyTo>({*this}, device);
}
Tensor& Tensor::to_(const std::string& device) { return place_("to", device, std::nullopt); }
Tensor& Tensor::shard_(const std::vector<std::string>& all, int axis) {
  const int along = normal_axis(axis);
  return place_("shard", Device::tuple(all), all.size() > 1 ? std::optional(along) : std::nullopt);
}
Tensor& Tensor::place_(const char* who, const std::string& device, std::optional<int> axis) {
  Device::require(device);
  if (held().function != nullptr)
    throw Error(fmt::format(
        "{}_: this tensor was computed from others; use {}(), or detach() it first", who, who));
  if (StateLog::current() != nullptr)
    throw Error(
        fmt::format("{}_: a function captured by a TensorJit moves a tensor; move it before", who));
  held().data = held().data->place(device, axis);
  if (held().gradient != nullptr) held().gradient = held().gradient->place(device, axis);
  return *this;
}
Tensor Tensor::clone() const { return contiguous(); }
Tensor Tensor::contiguous() const { return apply<mlops::Contiguous>({*this}); }
Tensor Tensor::cast(DType to) const {
  return to == dtype() ? *this : apply<mlops::Cast>({*this}, to);
}
Tensor Tensor::bitcast(DType to) const { return Tensor(lazy()->bitcast(to)); }
Tensor Tensor::detach() const { return Tensor(lazy()); }

void Tensor::assign(const Tensor& values) {
  if (values.shape() != shape())
    throw ShapeError(
        fmt::format("assign: the tensor has shape {}, but the values {}; reshape or expand them",
                    str(shape()), str(values.shape())));
  if (values.dtype() != dtype())
    throw DTypeError(fmt::format("assign: the tensor is {}, but the values are {}; cast them",
                                 name(dtype()), name(values.dtype())));
  if (values.device() != device())
    throw BufferError(fmt::format("assign: the tensor is on {}, but the values are on {}; use to()",
                                  device(), values.device()));
  if (values.shard_axis() != shard_axis())
    throw BufferError(
        "assign: the tensor and the values are sharded along different axes; use "
        "shard_like()");
  if (StateLog* const log = StateLog::current())
    log->assigned(node_);
  else if (lazy::CacheCollector::current() != nullptr)
    throw Error(
        "assign: a function captured by a TinyJit assigns to a tensor, which a replay would not "
        "repeat; capture it with a TensorJit");
  held().data = values.lazy();
  held().given = values.held().given;
  held().function.reset();
  held().parents.clear();
  held().inputs.clear();
}

Tensor& Tensor::set_requires_grad(bool wanted) {
  if (wanted && !is_float(dtype()))
    throw DTypeError(
        fmt::format("a tensor of {} has no gradient; cast it to a float first", name(dtype())));
  if (held().function != nullptr)
    throw Error("set_requires_grad: this tensor was computed from others; detach() it first");
  held().requires_grad = wanted;
  return *this;
}

std::optional<Tensor> Tensor::grad() const {
  if (held().gradient == nullptr) return std::nullopt;
  if (const StateLog* const log = StateLog::current();
      log != nullptr && !log->knows_gradient(*node_))
    throw Error(
        fmt::format("grad: a function captured by a TensorJit reads an earlier gradient, of shape "
                    "{}, which would be the same at each replay; call backward() in the function, "
                    "or give the gradient as an input",
                    str(held().data->shape())));
  return Tensor(held().gradient);
}

void Tensor::set_grad(const Tensor& gradient) {
  if (gradient.shape() != shape() || gradient.dtype() != dtype() || gradient.device() != device())
    throw ShapeError(fmt::format(
        "set_grad: a gradient {} of {} on {} for a tensor {} of {} on {}; they must agree",
        str(gradient.shape()), name(gradient.dtype()), gradient.device(), str(shape()),
        name(dtype()), device()));
  if (StateLog* const log = StateLog::current()) log->changed_gradient(node_, true);
  held().gradient = gradient.lazy();
}

Tensor& Tensor::retain_grad() {
  if (!requires_grad())
    throw Error(
        "retain_grad: this tensor requires no gradient; call set_requires_grad() on the tensors it "
        "is computed from");
  held().keeps_gradient = true;
  return *this;
}

void Tensor::zero_grad() {
  held().gradient = nullptr;
  if (StateLog* const log = StateLog::current()) log->changed_gradient(node_, true);
}

// Operators that change a tensor.
Tensor& Tensor::become(const Tensor& result, const char* what) {
  if (result.requires_grad() || (requires_grad() && gradients_are_noted())) {
    if (held().function == nullptr && requires_grad())
      throw Error(
          fmt::format("{}: this leaf requires a gradient and cannot change in place; write x = x "
                      "{} y, or change it in a NoGrad scope",
                      what, what[0]));
    return *this = result;
  }
  if (result.shape() != shape())
    throw ShapeError(fmt::format("{}: the tensor has shape {}, but the result {}; write x = x {} y",
                                 what, str(shape()), str(result.shape()), what[0]));
  if (result.dtype() != dtype())
    throw DTypeError(
        fmt::format("{}: the tensor is {}, but the result {}; write x = x {} y, or cast", what,
                    name(dtype()), name(result.dtype()), what[0]));
  assign(result);
  return *this;
}

Tensor& Tensor::operator+=(const Tensor& other) { return become(*this + other, "+="); }
Tensor& Tensor::operator-=(const Tensor& other) { return become(*this - other, "-="); }
Tensor& Tensor::operator*=(const Tensor& other) { return become(*this * other, "*="); }
Tensor& Tensor::operator/=(const Tensor& other) { return become(*this / other, "/="); }
Tensor& Tensor::operator+=(Number other) { return become(*this + other, "+="); }
Tensor& Tensor::operator-=(Number other) { return become(*this - other, "-="); }
Tensor& Tensor::operator*=(Number other) { return become(*this * other, "*="); }
Tensor& Tensor::operator/=(Number other) { return become(*this / other, "/="); }

}  // namespace touchstone
