#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace touchstone {

/// Sets this thread's floating-point control to its default (round to nearest, no flush-to-zero, no
/// traps, full long double precision) and restores the previous state on destruction. This shields
/// results from the caller's mode and from the start-up code of loaded objects: loading one linked
/// with -ffast-math sets flush-to-zero.
class FpGuard {
 public:
  FpGuard(const FpGuard&) = delete;
  FpGuard& operator=(const FpGuard&) = delete;

#if defined(__x86_64__) || defined(__i386__)
  FpGuard() : mxcsr_(_mm_getcsr()) {
    __asm__ volatile("fnstcw %0" : "=m"(x87_));
    if ((mxcsr_ & kControl) != kDefault) _mm_setcsr(kDefault);
    if (x87_ != kX87Default) __asm__ volatile("fldcw %0" : : "m"(kX87Default));
    __asm__ volatile("" : : : "memory");  // keeps the compiler from moving computations across
  }
  ~FpGuard() {
    __asm__ volatile("" : : : "memory");
    if (_mm_getcsr() != mxcsr_) _mm_setcsr(mxcsr_);
    unsigned short now = 0;
    __asm__ volatile("fnstcw %0" : "=m"(now));
    if (now != x87_) __asm__ volatile("fldcw %0" : : "m"(x87_));
  }

 private:
  static constexpr unsigned kDefault = 0x1f80;
  static constexpr unsigned kControl = 0xffc0;  // all but the sticky flags
  static constexpr unsigned short kX87Default = 0x37f;
  unsigned mxcsr_;
  unsigned short x87_ = 0;
#else
  FpGuard() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FpGuard() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

}  // namespace touchstone
