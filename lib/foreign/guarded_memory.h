#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace touchstone::foreign {

/// Memory with guards before and behind it, pages that nobody may touch: as many bytes as it has
/// itself, at least 4 MiB, at most 64 MiB. It touches one of them, and the rest of its pages is
/// filled with a pattern.
class GuardedMemory {
 public:
  enum class Place : std::uint8_t {
    AtEnd,   // its end touches the guard, as far as the alignment allows
    AtStart  // its beginning does
  };
  /// `alignment`: a power of two, at most a page. Throws BufferError where there is no room.
  GuardedMemory(std::size_t bytes, std::size_t alignment, Place place);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::span<std::byte> data() const { return {begin_, bytes_}; }
  void make_read_only();
  /// Whether the pattern round the data is whole; else where it is not: "before its beginning".
  std::string damage() const;

  /// The place of an address: "at byte 20 of buffer 1, which has 16 bytes"; false where it is no
  /// part. Async-signal-safe; `number` names the buffer.
  bool describe(const void* address, int number, char* text, std::size_t size) const;

 private:
  std::span<std::byte> inner() const { return {pages_ + guard_, length_ - 2 * guard_}; }

  std::byte* pages_ = nullptr;  // with the guards
  std::size_t length_ = 0, guard_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  bool read_only_ = false;
};

}  // namespace touchstone::foreign
