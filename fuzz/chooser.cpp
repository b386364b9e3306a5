#include "touchstone/fuzz/chooser.h"

#include "touchstone/base/hash.h"
#include "touchstone/device/threefry.h"

namespace touchstone::fuzz {

std::uint64_t RandomChooser::below(std::uint64_t n) {
  const std::uint64_t key = hash_mix(seed_, index_);
  const auto bits = threefry2x32(
      {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}, {drawn_++, 0});
  return ((static_cast<std::uint64_t>(bits[1]) << 32) | bits[0]) % n;
}

}  // namespace touchstone::fuzz
