#include "touchstone/device/buffer.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "touchstone/device/config.h"
#include "touchstone/device/device.h"

namespace touchstone {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Huge pages for large blocks: faster address translation and longer hardware prefetch.
std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes >= 2 * kHugePage ? kHugePage : kAlignment};
}

void* take_from_system(std::size_t bytes) {
  void* const memory = ::operator new(bytes == 0 ? 1 : bytes, alignment_of(bytes), std::nothrow);
#ifdef MADV_HUGEPAGE
  // If the system has no huge pages, this does nothing.
  if (memory != nullptr && bytes >= 2 * kHugePage)
    ::madvise(memory, bytes - bytes % kHugePage, MADV_HUGEPAGE);
#endif
  return memory;
}

void give_to_system(void* memory, std::size_t bytes) noexcept {
  ::operator delete(memory, alignment_of(bytes));
}

}  // namespace

// Blocks by size and in order of release.
struct HostAllocator::Kept {
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  using Order = std::list<Block>;

  void* take(std::size_t bytes) {
    const std::scoped_lock lock(mutex);
    const auto it = by_size.find(bytes);
    if (it == by_size.end()) return nullptr;
    void* const memory = it->second.back()->memory;
    drop(it->second.back());
    return memory;
  }

  // Keeps a block, freeing the oldest ones to make room; false if it is too large.
  bool keep(void* memory, std::size_t bytes) {
    if (bytes > kMostKept || bytes == 0) return false;
    const std::scoped_lock lock(mutex);
    while (total + bytes > kMostKept) {
      give_to_system(order.front().memory, order.front().bytes);
      drop(order.begin());
    }
    order.push_back({memory, bytes});
    by_size[bytes].push_back(std::prev(order.end()));
    total += bytes;
    return true;
  }

  void clear() {
    const std::scoped_lock lock(mutex);
    for (const Block& block : order) give_to_system(block.memory, block.bytes);
    order.clear();
    by_size.clear();
    total = 0;
  }

  mutable std::mutex mutex;
  std::size_t total = 0;

 private:
  void drop(Order::iterator at) {
    const auto it = by_size.find(at->bytes);
    std::erase(it->second, at);
    if (it->second.empty()) by_size.erase(it);
    total -= at->bytes;
    order.erase(at);
  }

  Order order;
  std::unordered_map<std::size_t, std::vector<Order::iterator>> by_size;
};

HostAllocator::HostAllocator() : kept_(std::make_unique<Kept>()) {}
HostAllocator::~HostAllocator() { forget_kept(); }

std::size_t HostAllocator::kept_bytes() const {
  const std::scoped_lock lock(kept_->mutex);
  return kept_->total;
}

void HostAllocator::forget_kept() noexcept { kept_->clear(); }

void* HostAllocator::allocate(std::size_t bytes) {
  void* memory = kept_->take(bytes);
  if (memory == nullptr) memory = take_from_system(bytes);
  if (memory == nullptr && kept_bytes() > 0) {
    forget_kept();
    memory = take_from_system(bytes);
  }
  if (memory == nullptr)
    throw BufferError(fmt::format("cannot allocate a buffer of {} bytes", bytes));
  std::memset(memory, 0, bytes);
  return memory;
}

void HostAllocator::release(void* memory, std::size_t bytes) noexcept {
  try {
    if (Config::current().lru && kept_->keep(memory, bytes)) return;
  } catch (const std::exception&) {  // no memory for the bookkeeping
  }
  give_to_system(memory, bytes);
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
        fmt::format("cannot allocate a buffer of {} elements of {}", size, name(dtype)));
  memory_ = device_.allocator().allocate(bytes());
  GlobalCounters& c = counters();
  c.mem_used += static_cast<std::int64_t>(bytes());
  c.mem_peak = std::max(c.mem_peak, c.mem_used);
}

Buffer::Buffer(Device& device, DType dtype, std::int64_t size, void* memory,
               std::shared_ptr<const void> owner)
    : device_(device), dtype_(dtype), size_(size), memory_(memory), owner_(std::move(owner)) {
  if (size < 0) throw BufferError(fmt::format("a buffer cannot hold {} elements", size));
  if (owner_ == nullptr)
    throw BufferError("memory that does not belong to the device needs an owner");
  if (!device.host_memory())
    throw BufferError(
        fmt::format("{} does not compute in host memory; copy the array to it", device.name()));
}

Buffer::~Buffer() {
  if (owner_ != nullptr) return;
  device_.allocator().release(memory_, bytes());
  counters().mem_used -= static_cast<std::int64_t>(bytes());
}

void Buffer::exchange(Buffer& other) {
  if (&other.device_ != &device_ || other.dtype_ != dtype_ || other.size_ != size_)
    throw BufferError(fmt::format("cannot exchange {} elements of {} on {} for {} of {} on {}",
                                  size_, name(dtype_), device_.name(), other.size_,
                                  name(other.dtype_), other.device_.name()));
  if (owner_ == nullptr && other.owner_ == nullptr) {
    std::swap(memory_, other.memory_);
    return;
  }
  std::vector<std::byte> mine(bytes()), others(bytes());
  copy_out(mine);
  other.copy_out(others);
  copy_in(others);
  other.copy_in(mine);
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
    throw BufferError(fmt::format("element {} is outside a buffer of {} elements", index, size_));
  std::uint64_t bits = 0;
  const std::size_t width = itemsize(dtype_);
  const auto* from =
      static_cast<const std::byte*>(memory_) + static_cast<std::size_t>(index) * width;
  device_.allocator().copy_out(std::as_writable_bytes(std::span(&bits, 1)).first(width), from);
  return Scalar::from_bits(dtype_, bits);
}

void Buffer::check_type(DType wanted) const {
  if (wanted != dtype_)
    throw BufferError(fmt::format("the buffer contains {}, not {}; cast the tensor first",
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
