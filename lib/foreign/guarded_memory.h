#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace touchstone::foreign {

/// Memory between two inaccessible guards, each as large as the memory itself, at least 4 MiB, at
/// most 64 MiB. The data touches one guard; the rest of its pages holds a pattern.
class GuardedMemory {
 public:
  enum class Place : std::uint8_t {
    AtEnd,   // its end touches the guard, up to alignment
    AtStart  // its start touches the guard
  };
  /// `alignment`: a power of two, at most a page. Throws BufferError if no memory is available.
  GuardedMemory(std::size_t bytes, std::size_t alignment, Place place);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::span<std::byte> data() const { return {begin_, bytes_}; }
  void make_read_only();
  /// Where the pattern around the data was overwritten ("before its beginning"); empty if intact.
  std::string damage() const;

  /// Writes the position of an address: "at byte 20 of buffer 1, which has 16 bytes"; returns false
  /// if the address is outside this memory and its guards. Async-signal-safe; `number` names the
  /// buffer.
  bool describe(const void* address, int number, char* text, std::size_t size) const;

 private:
  std::span<std::byte> inner() const { return {pages_ + guard_, length_ - 2 * guard_}; }

  std::byte* pages_ = nullptr;  // including the guards
  std::size_t length_ = 0, guard_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  bool read_only_ = false;
};

}  // namespace touchstone::foreign
