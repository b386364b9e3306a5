#include "sleef_peer.h"

#include <cstdlib>
#include <vector>

#include <immintrin.h>
#include <sleef.h>

namespace touchstone::peers {
namespace {

using Range = void (*)(const float* from, float* to, std::int64_t count);

template <auto F>
void by_16(const float* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i + 16 <= count; i += 16)
    _mm512_storeu_ps(to + i, F(_mm512_loadu_ps(from + i)));
}
template <auto F>
void by_8(const float* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, F(_mm256_loadu_ps(from + i)));
}

Range range_of(std::string_view name) {
  const auto fitting = [](Range of_16, Range of_8) {
    const char* const march = std::getenv("TOUCHSTONE_MARCH");
    const bool held = march != nullptr && std::string_view(march) == "x86-64-v3";
    return !held && __builtin_cpu_supports("avx512f") != 0 ? of_16 : of_8;
  };
  if (name == "exp2") return fitting(by_16<Sleef_exp2f16_u10avx512f>, by_8<Sleef_exp2f8_u10avx2>);
  if (name == "log2") return fitting(by_16<Sleef_log2f16_u10avx512f>, by_8<Sleef_log2f8_u10avx2>);
  return fitting(by_16<Sleef_sinf16_u10avx512f>, by_8<Sleef_sinf8_u10avx2>);
}

}  // namespace

std::function<void(int, int)> sleef_function(std::string_view name, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<float> from(size);
  for (std::size_t i = 0; i < size; ++i)
    from[i] = static_cast<float>(static_cast<double>(i * 2654435761U % 65536) / 65536.0);
  return [=, range = range_of(name), from = std::move(from), to = std::vector<float>(size)](
             std::int64_t part, std::int64_t parts) mutable {
    const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    range(from.data() + begin, to.data() + begin, end - begin);
  };
}

}  // namespace touchstone::peers
