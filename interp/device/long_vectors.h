#pragma once

namespace touchstone::interp {

#if defined(__x86_64__)
namespace vectors {
// Clang has no preferred width in the attribute.
#if defined(__clang__)
#define TOUCHSTONE_LONGEST "avx512f,avx512dq,avx512vl,avx512bw"
#else
#define TOUCHSTONE_LONGEST "avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512"
#endif
template <class F>
[[gnu::flatten, gnu::target("avx2")]] void in_avx2(const F& f) {
  f();
}
template <class F>
[[gnu::flatten, gnu::target(TOUCHSTONE_LONGEST)]] void in_avx512(const F& f) {
  f();
}
#undef TOUCHSTONE_LONGEST
}  // namespace vectors
#endif

/// Calls f, with everything that it calls inlined and compiled for the longest vectors that the
/// processor has. The results are the same.
template <class F>
void in_longest_vectors(const F& f) {
#if defined(__x86_64__)
  static const bool is_long = __builtin_cpu_supports("avx2") != 0;
  static const bool is_longest = __builtin_cpu_supports("avx512dq") != 0 &&
                                 __builtin_cpu_supports("avx512vl") != 0 &&
                                 __builtin_cpu_supports("avx512bw") != 0;
  if (is_longest) return vectors::in_avx512(f);
  if (is_long) return vectors::in_avx2(f);
#endif
  f();
}

}  // namespace touchstone::interp
