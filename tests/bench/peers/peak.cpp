#include "peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <immintrin.h>

namespace touchstone::peers {
namespace {

constexpr int kSums = 12;  // as many as hide the latency of both operations
constexpr std::int64_t kRounds = 4'000'000;

struct Wide {
  using V = __m512;
  static constexpr int kLanes = 16;
  static V all(float x) { return _mm512_set1_ps(x); }
  static V times(V a, V b) { return _mm512_mul_ps(a, b); }
  static V plus(V a, V b) { return _mm512_add_ps(a, b); }
  static V fused(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static float first(V a) { return _mm512_cvtss_f32(a); }
};
struct Narrow {
  using V = __m256;
  static constexpr int kLanes = 8;
  static V all(float x) { return _mm256_set1_ps(x); }
  static V times(V a, V b) { return _mm256_mul_ps(a, b); }
  static V plus(V a, V b) { return _mm256_add_ps(a, b); }
  static V fused(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static float first(V a) { return _mm256_cvtss_f32(a); }
};

template <class M, bool kFused>
void rounds() {
  volatile float factor = 0.5F, addend = 1.0F, sink = 0;
  const typename M::V a = M::all(factor), b = M::all(addend);
  typename M::V sums[kSums];
  for (auto& s : sums) s = M::all(addend);
  for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12  // in registers
    for (auto& s : sums) {
      if constexpr (kFused)
        s = M::fused(s, a, b);
      else
        s = M::plus(M::times(s, a), b);
    }
  }
  for (const auto& s : sums) sink = sink + M::first(s);
}

}  // namespace

double peak_flops(int threads, bool fused) {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  const auto run = wide ? (fused ? rounds<Wide, true> : rounds<Wide, false>)
                        : (fused ? rounds<Narrow, true> : rounds<Narrow, false>);
  const double flops =
      2.0 * kSums * static_cast<double>(kRounds) * (wide ? Wide::kLanes : Narrow::kLanes) * threads;
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(run);
    run();
    for (std::thread& t : others) t.join();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    best = std::max(best, flops / spent.count());
  }
  return best;
}

}  // namespace touchstone::peers
