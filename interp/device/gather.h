#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/device/addresses.h"

namespace touchstone::interp {

/// Copies elements of `itemsize` bytes (1, 2, 4 or 8) at the addresses `runs` from `memory` to
/// consecutive elements at `to`; masked-out elements are 0. Addresses are not checked.
void gather(std::size_t itemsize, const void* memory, std::span<const AddressRun> runs, void* to);

/// The same with a constant element of these bits instead of memory.
void spread(std::size_t itemsize, std::uint64_t bits, std::span<const AddressRun> runs, void* to);

/// Throws BufferError if a run exceeds buffer number `number`.
void check_runs(std::span<const AddressRun> runs, const Buffer& buffer, int number);

}  // namespace touchstone::interp
