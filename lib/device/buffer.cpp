#include "touchstone/device/buffer.h"

#include <cstring>
#include <new>

#include "touchstone/device/device.h"

namespace touchstone {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void* HostAllocator::allocate(std::size_t bytes) {
  void* memory = ::operator new(bytes == 0 ? 1 : bytes, kAlignment, std::nothrow);
  if (memory == nullptr)
    throw BufferError(fmt::format("no memory for a buffer of {} bytes", bytes));
  std::memset(memory, 0, bytes);
  return memory;
}

void HostAllocator::release(void* memory, std::size_t) noexcept {
  ::operator delete(memory, kAlignment);
}

void HostAllocator::copy_in(void* memory, std::span<const std::byte> source) {
  if (!source.empty()) std::memcpy(memory, source.data(), source.size());
}

void HostAllocator::copy_out(std::span<std::byte> target, const void* memory) {
  if (!target.empty()) std::memcpy(target.data(), memory, target.size());
}

Buffer::Buffer(Device& device, DType dtype, std::int64_t size)
    : device_(device), dtype_(dtype), size_(size), memory_(nullptr) {
  if (size < 0) throw BufferError(fmt::format("a buffer cannot hold {} elements", size));
  const std::int64_t limit = PTRDIFF_MAX / static_cast<std::int64_t>(itemsize(dtype));
  if (size > limit)
    throw BufferError(
        fmt::format("no memory for a buffer of {} elements of {}", size, name(dtype)));
  memory_ = device_.allocator().allocate(bytes());
  counters().mem_used += static_cast<std::int64_t>(bytes());
}

Buffer::~Buffer() {
  device_.allocator().release(memory_, bytes());
  counters().mem_used -= static_cast<std::int64_t>(bytes());
}

void Buffer::copy_in(std::span<const std::byte> source) {
  if (source.size() != bytes())
    throw BufferError(fmt::format("{} bytes given for a buffer of {} {} elements, {} bytes",
                                  source.size(), size_, name(dtype_), bytes()));
  device_.allocator().copy_in(memory_, source);
}

void Buffer::copy_out(std::span<std::byte> target) const {
  if (target.size() != bytes())
    throw BufferError(
        fmt::format("room for {} bytes given for a buffer of {} {} elements, {} bytes",
                    target.size(), size_, name(dtype_), bytes()));
  device_.allocator().copy_out(target, memory_);
}

Scalar Buffer::at(std::int64_t index) const {
  if (index < 0 || index >= size_)
    throw BufferError(fmt::format("element {} of a buffer that holds {}", index, size_));
  std::uint64_t bits = 0;
  const std::size_t width = itemsize(dtype_);
  const auto* from =
      static_cast<const std::byte*>(memory_) + static_cast<std::size_t>(index) * width;
  device_.allocator().copy_out(std::as_writable_bytes(std::span(&bits, 1)).first(width), from);
  return Scalar::from_bits(dtype_, bits);
}

void Buffer::check_type(DType wanted) const {
  if (wanted != dtype_)
    throw BufferError(fmt::format("the buffer holds {}, not {}; cast the tensor first",
                                  name(dtype_), name(wanted)));
}

template <>
std::vector<bool> Buffer::read<bool>() const {
  check_type(DType::Bool);
  std::vector<std::uint8_t> raw(static_cast<std::size_t>(size_));
  copy_out(std::as_writable_bytes(std::span<std::uint8_t>(raw)));
  return {raw.begin(), raw.end()};
}

}  // namespace touchstone
