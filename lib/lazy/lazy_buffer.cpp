#include "touchstone/lazy/lazy_buffer.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "touchstone/device/device.h"

namespace touchstone {
namespace {

// As Device::get names it: upper case, ":0" dropped.
std::string canonical(std::string device) {
  std::transform(device.begin(), device.end(), device.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (device.ends_with(":0")) device.resize(device.size() - 2);
  return device;
}

bool has_no_elements(const Shape& shape) {
  return std::ranges::any_of(shape, [](const sint& s) { return s == sint(0); });
}

bool is_masked(const ShapeTracker& st) {
  return std::ranges::any_of(st.views(), [](const View& v) { return v.mask().has_value(); });
}

}  // namespace

LazyBuffer::LazyBuffer(std::string device, DType dtype, ShapeTracker st)
    : device_(std::move(device)), dtype_(dtype), st_(std::move(st)) {}

LazyBuffer::~LazyBuffer() {
  // Takes over what only this node holds, so that no destructor nests in another.
  std::vector<LazyBufferPtr> doomed = std::move(srcs_);
  if (base_) doomed.push_back(std::move(base_));
  while (!doomed.empty()) {
    const LazyBufferPtr last = std::move(doomed.back());
    doomed.pop_back();
    if (last == nullptr || last.use_count() != 1) continue;
    std::ranges::move(last->srcs_, std::back_inserter(doomed));
    last->srcs_.clear();
    if (last->base_) doomed.push_back(std::move(last->base_));
  }
}

LazyBufferPtr LazyBuffer::make_base(std::string device, DType dtype, Shape shape, Op op, OpArg arg,
                                    std::vector<LazyBufferPtr> srcs) {
  if (has_no_elements(shape)) return constant(Scalar::from_int(dtype, 0), shape, std::move(device));
  LazyBufferPtr made(
      new LazyBuffer(std::move(device), dtype, ShapeTracker::contiguous(std::move(shape))));
  made->op_ = op;
  made->arg_ = std::move(arg);
  made->srcs_ = std::move(srcs);
  return made;
}

LazyBufferPtr LazyBuffer::view(ShapeTracker st) {
  if (st == st_) return shared_from_this();
  const LazyBufferPtr base = base_ptr();
  if (st == base->st_) return base;
  if (has_no_elements(st.shape()) && !is_const_base())
    return constant(Scalar::from_int(dtype_, 0), st.shape(), device_);
  LazyBufferPtr made(new LazyBuffer(device_, dtype_, std::move(st)));
  made->base_ = base;
  return made;
}

LazyBufferPtr LazyBuffer::empty(Shape shape, DType dtype, std::string device) {
  return make_base(canonical(std::move(device)), dtype, std::move(shape), Op::Empty, {}, {});
}

LazyBufferPtr LazyBuffer::random(RandArg arg, Shape shape, std::string device) {
  for (const sint& s : shape)
    if (!s.is_int())
      throw ShapeError(fmt::format("random: shape {} is symbolic; draw the largest size and shrink",
                                   str(shape)));
  return make_base(canonical(std::move(device)), DType::Float32, std::move(shape), Op::Rand, arg,
                   {});
}

LazyBufferPtr LazyBuffer::constant(Scalar value, const Shape& shape, std::string device) {
  LazyBufferPtr made(new LazyBuffer(canonical(std::move(device)), value.dtype(), ShapeTracker()));
  made->op_ = Op::LoadConst;
  made->arg_ = ConstBuffer{value, ShapeTracker()};
  return made->view(made->st_.reshape(Shape(shape.size(), 1)).expand(shape));
}

LazyBufferPtr LazyBuffer::from_buffer(BufferPtr buffer, Shape shape) {
  const std::int64_t wanted = max_elements(shape);
  if (buffer->size() != wanted)
    throw ShapeError(fmt::format("from_buffer: shape {} has {} elements, the buffer holds {}",
                                 str(shape), wanted, buffer->size()));
  if (wanted == 0)
    return constant(Scalar::from_int(buffer->dtype(), 0), shape, buffer->device().name());
  LazyBufferPtr made = make_base(canonical(buffer->device().name()), buffer->dtype(),
                                 std::move(shape), Op::Empty, {}, {});
  made->buffer_ = std::move(buffer);
  return made;
}

std::optional<Scalar> LazyBuffer::constant_value() const {
  if (!is_const_base() || is_masked(st_)) return std::nullopt;
  return std::get<ConstBuffer>(base().arg_).value;
}

LazyBufferPtr LazyBuffer::contiguous() {
  if (is_const_base() ? has_no_elements(shape())
                      : st_.is_contiguous() && st_.size() == base().st_.size()) {
    if (!realized() && !is_const_base()) base().must_realize_ = true;
    return shared_from_this();
  }
  return make_base(device_, dtype_, shape(), Op::Contiguous, {}, {shared_from_this()});
}

LazyBufferPtr LazyBuffer::copy_to_device(const std::string& device) {
  const std::string target = canonical(device);
  if (target == device_) return shared_from_this();
  if (const auto value = constant_value()) return constant(*value, shape(), target);
  const LazyBufferPtr whole = contiguous();
  return make_base(target, dtype_, whole->base().shape(), Op::From, {}, {whole->base_ptr()})
      ->reshape(shape());
}

LazyBufferPtr LazyBuffer::reshape(const Shape& shape) { return view(st_.reshape(shape)); }
LazyBufferPtr LazyBuffer::permute(std::span<const int> order) { return view(st_.permute(order)); }
LazyBufferPtr LazyBuffer::expand(const Shape& shape) { return view(st_.expand(shape)); }
LazyBufferPtr LazyBuffer::pad(const Padding& padding) { return view(st_.pad(padding)); }
LazyBufferPtr LazyBuffer::shrink(const Mask& keep) { return view(st_.shrink(keep)); }
LazyBufferPtr LazyBuffer::stride(std::span<const std::int64_t> steps) {
  return view(st_.stride(steps));
}

void LazyBuffer::set_realized(BufferPtr buffer) {
  LazyBuffer& b = base();
  b.buffer_ = std::move(buffer);
  b.op_ = Op::Empty;
  b.arg_ = {};
  b.must_realize_ = false;
  b.srcs_.clear();
}

std::int64_t max_elements(const Shape& shape) {
  std::int64_t n = 1;
  for (const sint& s : shape) {
    const std::optional<std::int64_t> most = s.is_int() ? s.as_int() : s.max();
    if (!most)
      throw ShapeError(fmt::format("size {} of shape {} has no upper bound; bound its variables",
                                   s.str(), str(shape)));
    n = checked_mul(n, *most);
  }
  return n;
}

}  // namespace touchstone
