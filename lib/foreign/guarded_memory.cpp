#include "touchstone/foreign/guarded_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "touchstone/base/error.h"

namespace touchstone::foreign {
namespace {

constexpr std::byte kPattern{0xa5};
constexpr std::size_t kLeastGuard = std::size_t{4} << 20, kMostGuard = std::size_t{64} << 20;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes, std::size_t alignment, Place place)
    : bytes_(bytes) {
  const std::size_t size = rounded_up(std::max<std::size_t>(bytes, 1), page_size());
  guard_ = std::clamp(size, kLeastGuard, kMostGuard);
  length_ = size + 2 * guard_;
  void* const pages = ::mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw BufferError(fmt::format("cannot allocate {} bytes: {}", bytes, std::strerror(errno)));
  pages_ = static_cast<std::byte*>(pages);
  if (::mprotect(inner().data(), size, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(pages_, length_);
    throw BufferError(fmt::format("cannot allocate {} bytes: {}", bytes, std::strerror(errno)));
  }
  begin_ = inner().data() + (place == Place::AtStart ? 0 : size - rounded_up(bytes, alignment));
  std::ranges::fill(inner(), kPattern);
}

GuardedMemory::~GuardedMemory() {
  if (pages_ != nullptr) ::munmap(pages_, length_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)),
      length_(other.length_),
      guard_(other.guard_),
      begin_(other.begin_),
      bytes_(other.bytes_),
      read_only_(other.read_only_) {}

void GuardedMemory::make_read_only() {
  read_only_ = ::mprotect(inner().data(), inner().size(), PROT_READ) == 0;
}

std::string GuardedMemory::damage() const {
  const auto whole = [](const std::byte* from, const std::byte* to) {
    return std::all_of(from, to, [](std::byte b) { return b == kPattern; });
  };
  if (!whole(inner().data(), begin_)) return "before its beginning";
  if (!whole(begin_ + bytes_, inner().data() + inner().size())) return "past its end";
  return {};
}

bool GuardedMemory::describe(const void* address, int number, char* text, std::size_t size) const {
  const auto* const at = static_cast<const std::byte*>(address);
  if (at < pages_ || at >= pages_ + length_) return false;
  if (at >= begin_ && at < begin_ + bytes_ && read_only_)
    std::snprintf(text, size, "at byte %td of buffer %d, which is an input", at - begin_, number);
  else
    std::snprintf(text, size, "at byte %td of buffer %d, which has %zu bytes", at - begin_, number,
                  bytes_);
  return true;
}

}  // namespace touchstone::foreign
