#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/dtype/scalar.h"

namespace touchstone {

class Device;

/// Memory of one device. Only that device can interpret the addresses.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Returns at least `bytes` bytes, aligned to 64. Throws BufferError when out of memory.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  virtual void copy_in(void* memory, std::span<const std::byte> source) = 0;
  virtual void copy_out(std::span<std::byte> target, const void* memory) = 0;
  /// True if the host can use its addresses directly.
  virtual bool is_host_memory() const { return false; }
};

/// Host memory from the C++ runtime, for devices in this process. Released blocks are kept for the
/// next buffer of exactly their size (Config::lru); beyond kMostKept bytes the least recently
/// released are freed.
class HostAllocator : public Allocator {
 public:
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  void copy_in(void* memory, std::span<const std::byte> source) override;
  void copy_out(std::span<std::byte> target, const void* memory) override;
  bool is_host_memory() const final { return true; }

  static constexpr std::size_t kMostKept = std::size_t{256} << 20;
  HostAllocator();
  ~HostAllocator() override;
  std::size_t kept_bytes() const;  // released but not reused yet
  void forget_kept() noexcept;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

/// `size` elements of one dtype on one device, allocated and zero-filled at construction and
/// counted in counters().mem_used. Not copyable; shared by pointer.
class Buffer : public std::enable_shared_from_this<Buffer> {
 public:
  /// Throws BufferError for a negative size or when out of memory.
  Buffer(Device& device, DType dtype, std::int64_t size);
  /// Wraps existing memory that `owner` keeps alive; not counted. Only for devices that use host
  /// memory; throws BufferError on others.
  Buffer(Device& device, DType dtype, std::int64_t size, void* memory,
         std::shared_ptr<const void> owner);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Device& device() const { return device_; }
  DType dtype() const { return dtype_; }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * itemsize(dtype_); }
  /// The device address; only on host devices may the host dereference it.
  void* memory() const { return memory_; }

  /// Exchanges the contents with a buffer of the same device, dtype and size, by swapping the
  /// memory if both own theirs. Throws BufferError.
  void exchange(Buffer& other);

  /// The span must have exactly bytes() bytes; throws BufferError otherwise.
  void copy_in(std::span<const std::byte> source);
  void copy_out(std::span<std::byte> target) const;

  template <class T>
  void write(std::span<const T> values) {
    check_type(dtype_v<T>);
    copy_in(std::as_bytes(values));
  }
  template <class T>
  std::vector<T> read() const;
  Scalar at(std::int64_t index) const;  // one element, slow

 private:
  void check_type(DType wanted) const;
  Device& device_;
  DType dtype_;
  std::int64_t size_;
  void* memory_;
  std::shared_ptr<const void> owner_;  // null if the allocator owns the memory
};
using BufferPtr = std::shared_ptr<Buffer>;

template <class T>
std::vector<T> Buffer::read() const {
  check_type(dtype_v<T>);
  std::vector<T> values(static_cast<std::size_t>(size_));
  copy_out(std::as_writable_bytes(std::span<T>(values)));
  return values;
}
template <>
std::vector<bool> Buffer::read<bool>() const;

}  // namespace touchstone
