#pragma once

#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/files/npy.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::fuzz {

/// A concrete kernel and its inputs: inputs[i] is buffer i + 1. A plain value; no randomness once
/// drawn.
struct KernelCase {
  LazyOpPtr kernel;
  std::vector<HostArray> inputs;
  symbolic::Values values{};  // of the kernel's variables

  /// The kernel with its variables replaced by their values.
  LazyOpPtr concrete() const;
};

/// The case's buffers on a device: output first, zero-filled.
std::vector<BufferPtr> make_buffers(const KernelCase& c, Device& device);

/// The device's answer to the case.
HostArray answer_of(const KernelCase& c, Device& device);

/// Runs the case on the candidate and judges the output.
Verdict run_case(const KernelCase& c, Device& candidate, const Profile& profile = {});

/// The bits of element i of an array, as they are stored.
std::uint64_t bits_at(const HostArray& array, std::size_t i);

/// The case as text: the kernel as a tree and the first elements of each input.
std::string str(const KernelCase& c);

}  // namespace touchstone::fuzz
