#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/device/addresses.h"

namespace touchstone::interp {

/// Copies elements of `itemsize` bytes (1, 2, 4 or 8) from `memory`, as `runs` name them, to `to`
/// on, one behind the other; what is masked out is 0. No address is checked.
void gather(std::size_t itemsize, const void* memory, std::span<const AddressRun> runs, void* to);

/// The same of an element with these bits, whatever the address.
void spread(std::size_t itemsize, std::uint64_t bits, std::span<const AddressRun> runs, void* to);

/// Throws BufferError where a run reaches beyond buffer number `number`.
void check_runs(std::span<const AddressRun> runs, const Buffer& buffer, int number);

}  // namespace touchstone::interp
