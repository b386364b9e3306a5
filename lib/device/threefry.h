#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace touchstone {

/// Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
/// 1, 2, 3; SC 2011): a keyed bijection of 64-bit counters.
std::array<std::uint32_t, 2> threefry2x32(std::array<std::uint32_t, 2> key,
                                          std::array<std::uint32_t, 2> counter);

/// Elements first, first + 1, ... of the stream of `seed`, 32 random bits each. Element i is word i
/// % 2 of threefry2x32(seed, i / 2); 64-bit values are split least significant word first.
void random_bits(std::uint64_t seed, std::uint64_t first, std::span<std::uint32_t> out);

/// The same stream as float32, uniform in [0, 1): the high 24 bits over 2^24. Bit-identical on
/// every device and machine.
void random_uniform(std::uint64_t seed, std::uint64_t first, std::span<float> out);

}  // namespace touchstone
