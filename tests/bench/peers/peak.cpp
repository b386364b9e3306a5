#include "peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <immintrin.h>

namespace touchstone::peers {
namespace {

constexpr int kSums = 12;  // enough to hide the latency of both operations
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

constexpr std::size_t kLine = 64, kAhead = 2048;

struct WideBits {
  using V = __m512i;
  static V load(const char* p) { return _mm512_loadu_si512(p); }
  static V either(V a, V b) { return _mm512_or_si512(a, b); }
  static void store(char* p, V a) { _mm512_stream_si512(reinterpret_cast<V*>(p), a); }
  static bool any(V a) { return _mm512_test_epi64_mask(a, a) != 0; }
};
struct NarrowBits {
  using V = __m256i;
  static V load(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const V*>(p)); }
  static V either(V a, V b) { return _mm256_or_si256(a, b); }
  static void store(char* p, V a) { _mm256_stream_si256(reinterpret_cast<V*>(p), a); }
  static bool any(V a) { return _mm256_testz_si256(a, a) == 0; }
};

template <class B, bool kStores>
bool pass_by(std::span<const char* const> from, char* to, std::size_t bytes) {
  constexpr std::size_t kEach = kLine / sizeof(typename B::V);
  typename B::V found[kEach] = {};
  for (std::size_t i = 0; i < bytes; i += kLine) {
    typename B::V line[kEach] = {};
    for (const char* const source : from) {
      if (i + kAhead < bytes) __builtin_prefetch(source + i + kAhead);
      for (std::size_t k = 0; k < kEach; ++k)
        line[k] = B::either(line[k], B::load(source + i + k * sizeof(line[0])));
    }
    for (std::size_t k = 0; k < kEach; ++k)
      if constexpr (kStores)
        B::store(to + i + k * sizeof(line[0]), line[k]);
      else
        found[k] = B::either(found[k], line[k]);
  }
  if constexpr (kStores) _mm_sfence();
  return std::ranges::any_of(found, B::any);
}

}  // namespace

bool pass(std::span<const char* const> from, char* to, std::size_t bytes) {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  const auto run = to != nullptr ? (wide ? pass_by<WideBits, true> : pass_by<NarrowBits, true>)
                                 : (wide ? pass_by<WideBits, false> : pass_by<NarrowBits, false>);
  return run(from, to, bytes);
}

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
