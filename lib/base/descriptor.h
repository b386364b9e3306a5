#pragma once

#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace touchstone {

/// Owns a file descriptor, -1 for none; closes it on destruction.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// read(2), repeated if a signal interrupts it.
inline ssize_t read_some(int fd, std::span<char> to) {
  for (;;)
    if (const ssize_t n = ::read(fd, to.data(), to.size()); n >= 0 || errno != EINTR) return n;
}

/// Writes all bytes. Returns the errno of the first failing step, or 0.
inline int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR)
      return n == 0 ? EIO : errno;
  }
  return 0;
}

}  // namespace touchstone
