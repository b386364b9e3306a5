#include "touchstone/device/threefry.h"

#include <algorithm>
#include <bit>

namespace touchstone {

std::array<std::uint32_t, 2> threefry2x32(std::array<std::uint32_t, 2> key,
                                          std::array<std::uint32_t, 2> counter) {
  // Rotation distances and the parity constant are Threefry's, from the paper's table 2 and Skein.
  constexpr std::array<int, 8> kRotations = {13, 15, 26, 6, 17, 29, 16, 24};
  constexpr std::uint32_t kParity = 0x1BD11BDA;
  const std::array<std::uint32_t, 3> schedule = {key[0], key[1], kParity ^ key[0] ^ key[1]};
  std::uint32_t x0 = counter[0] + schedule[0];
  std::uint32_t x1 = counter[1] + schedule[1];
  for (std::uint32_t round = 0; round < 20; ++round) {
    x0 += x1;
    x1 = std::rotl(x1, kRotations[round % 8]) ^ x0;
    if (round % 4 != 3) continue;
    const std::uint32_t injection = round / 4 + 1;
    x0 += schedule[injection % 3];
    x1 += schedule[(injection + 1) % 3] + injection;
  }
  return {x0, x1};
}

namespace {

constexpr std::size_t kLanes = 8;
using Lanes [[gnu::vector_size(4 * kLanes)]] = std::uint32_t;

template <std::uint32_t... kTurns>
void rounds(Lanes& x0, Lanes& x1) {
  ((x0 += x1, x1 = (x1 << kTurns | x1 >> (32 - kTurns)) ^ x0), ...);
}

// Computes kLanes blocks from `counter` on; the low halves must not wrap.
void blocks(std::array<std::uint32_t, 2> key, std::array<std::uint32_t, 2> counter,
            std::uint32_t* out) {
  const std::uint32_t schedule[] = {key[0], key[1], 0x1BD11BDA ^ key[0] ^ key[1]};
  Lanes x0 = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + (counter[0] + schedule[0]);
  Lanes x1 = Lanes{} + (counter[1] + schedule[1]);
  for (std::uint32_t injection = 1; injection <= 5; ++injection) {
    if (injection % 2 == 1)
      rounds<13, 15, 26, 6>(x0, x1);
    else
      rounds<17, 29, 16, 24>(x0, x1);
    x0 += schedule[injection % 3];
    x1 += schedule[(injection + 1) % 3] + injection;
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    out[2 * i] = x0[i];
    out[2 * i + 1] = x1[i];
  }
}

}  // namespace

void random_bits(std::uint64_t seed, std::uint64_t first, std::span<std::uint32_t> out) {
  const auto split = [](std::uint64_t v) {
    return std::array{static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32)};
  };
  std::array<std::uint32_t, 2> pair{};
  for (std::size_t i = 0; i < out.size();) {
    const std::uint64_t at = first + i;
    const auto counter = split(at / 2);
    if (at % 2 == 0 && out.size() - i >= 2 * kLanes && counter[0] <= UINT32_MAX - kLanes) {
      blocks(split(seed), counter, &out[i]);
      i += 2 * kLanes;
      continue;
    }
    if (i == 0 || at % 2 == 0) pair = threefry2x32(split(seed), counter);
    out[i++] = pair[at % 2];
  }
}

void random_uniform(std::uint64_t seed, std::uint64_t first, std::span<float> out) {
  std::array<std::uint32_t, 256> bits{};
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t n = std::min(bits.size(), out.size() - done);
    random_bits(seed, first + done, std::span(bits).first(n));
    for (std::size_t i = 0; i < n; ++i) out[done + i] = static_cast<float>(bits[i] >> 8) * 0x1p-24F;
    done += n;
  }
}

}  // namespace touchstone
