#pragma once

// Standard library features that this program uses and libc++ 19 for WASI lacks; included before
// every source.

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string>

namespace std {

// There are no threads, so nothing to lock.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  void lock() {}
  bool try_lock() { return true; }
  void unlock() {}
};

template <class... Mutexes>
class scoped_lock {
 public:
  explicit scoped_lock(Mutexes&...) {}
};

// The C library's parsing is correctly rounded. Callers pass only decimal digits, a point and an
// exponent. Subnormal numbers are in range.
template <class T, class Read>
from_chars_result read_float(const char* first, const char* last, T& value, Read read) {
  const string text(first, last);
  char* end = nullptr;
  errno = 0;
  const T number = read(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  const char* const stop = first + (end - text.c_str());
  if (errno == ERANGE && (number == 0 || number - number != 0))
    return {stop, errc::result_out_of_range};
  value = number;
  return {stop, errc{}};
}
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  return read_float(first, last, value, strtod);
}
inline from_chars_result from_chars(const char* first, const char* last, float& value) {
  return read_float(first, last, value, strtof);
}

}  // namespace std
