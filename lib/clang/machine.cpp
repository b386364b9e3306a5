#include "touchstone/clang/machine.h"

#include <algorithm>
#include <thread>

#include <unistd.h>

namespace touchstone {

namespace {

// 0 if the system does not say.
std::int64_t cache_bytes(int name) {
  const std::int64_t bytes = ::sysconf(name);
  return std::max<std::int64_t>(bytes, 0);
}

std::string known(const char* cache, std::int64_t bytes) {
  return bytes == 0 ? fmt::format("{} of unknown size", cache)
                    : fmt::format("{} of {} KiB", cache, bytes >> 10);
}

}  // namespace

Machine this_machine(const ClangOptions& options) {
  Machine machine;
  machine.registers = "16 of 32 bytes";
  machine.vector = 8;
  machine.accumulators = 64;
#ifdef __x86_64__
  if (options.march == "native" && __builtin_cpu_supports("avx512f") != 0) {
    machine.registers = "32 of 64 bytes (AVX-512)";
    machine.vector = 16;
    machine.accumulators = 256;
  } else if (__builtin_cpu_supports("avx2") != 0) {
    machine.registers += " (AVX2)";
  }
#endif
  machine.l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  machine.l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  machine.l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  const unsigned cores = std::thread::hardware_concurrency();  // 0: unknown
  machine.threads = options.threads > 0 ? options.threads : static_cast<int>(std::max(cores, 1U));
  return machine;
}

LayoutSizes sizes_for(const Machine& machine) {
  // Caches that several programs share, or that a virtual machine claims to have alone.
  constexpr std::int64_t kLeastL1 = 16 << 10, kLeastL2 = 256 << 10, kMostL2 = 4 << 20,
                         kLeastL3 = 4 << 20;
  const LayoutSizes usual;
  LayoutSizes sizes;
  if (machine.vector > 0 && machine.accumulators < usual.block_rows * usual.block_lanes) {
    sizes.block_lanes = 2 * machine.vector;
    sizes.block_rows = machine.accumulators / sizes.block_lanes;
    sizes.window_vectors = machine.accumulators / machine.vector / 2;
  }
  if (machine.l1 >= kLeastL1) sizes.staged_bytes = machine.l1 / 2;
  if (machine.l2 >= kLeastL2) sizes.packed_bytes = std::min(machine.l2, kMostL2) / 2;
  if (machine.l3 >= kLeastL3)
    sizes.past_cache_bytes = std::clamp(machine.l3, 4 * sizes.packed_bytes, usual.past_cache_bytes);
  return sizes;
}

std::vector<LayoutReason> reasons_for(const Machine& machine) {
  const LayoutSizes sizes = sizes_for(machine);
  return {{fmt::format("vector registers: {}", machine.registers), "block, lanes",
           fmt::format("blocks of {} rows of {} numbers, which half of them hold", sizes.block_rows,
                       sizes.block_lanes)},
          {known("L1 data cache", machine.l1), "stage",
           fmt::format("arrays of up to {} bytes in all{}", sizes.staged_bytes,
                       machine.l1 == 0 ? "" : ": half of it")},
          {known("L2 cache", machine.l2), "pack",
           fmt::format("packed tiles of up to {} bytes{}", sizes.packed_bytes,
                       machine.l2 == 0 ? "" : ": half of it")},
          {known("L3 cache", machine.l3), "prefetch, tile",
           fmt::format("outputs of {} bytes and more go past the caches", sizes.past_cache_bytes)},
          {fmt::format("threads: {}", machine.threads), "",
           fmt::format("share kernels of {} operations and more", ClangOptions{}.parallel_work)}};
}

}  // namespace touchstone
