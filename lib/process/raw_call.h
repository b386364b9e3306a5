#pragma once

#include <cerrno>

#include <unistd.h>

namespace touchstone::process {

/// Makes a system call by number; returns -errno on failure. Unlike libc it touches no thread-local
/// state, which callers in supervisor.cpp share with another thread.
inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
#else  // these do set errno, which the other thread may notice
  const long result = ::syscall(number, a, b, c, d, e);
  return result == -1 ? -errno : result;
#endif
}

template <class T>
long as_long(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace touchstone::process
