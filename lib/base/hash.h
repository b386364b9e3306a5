#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace touchstone {

/// Mixes `value` into `seed`. Stable across runs and machines.
constexpr std::uint64_t hash_mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// XXH3 of a byte string (xxHash, 64 bits). Stable across runs and machines.
std::uint64_t hash_bytes(std::string_view bytes);

/// XXH3 of a byte string (xxHash, 128 bits) as 32 lower-case hexadecimal digits; names kernels,
/// cached objects and reproducers. Stable across runs and machines; not cryptographic.
std::string content_hash(std::string_view bytes);

}  // namespace touchstone
