#pragma once

#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/device/npy.h"
#include "touchstone/fuzz/chooser.h"
#include "touchstone/interp/verdict.h"

namespace touchstone::fuzz {

/// A concrete kernel and what it reads: inputs[i] is buffer i + 1. A value: nothing about it
/// depends on random numbers once it is drawn.
struct KernelCase {
  LazyOpPtr kernel;
  std::vector<HostArray> inputs;
  symbolic::Values values{};  // of the kernel's variables

  /// The kernel with its variables replaced by their values.
  LazyOpPtr concrete() const;
};

/// A well-typed kernel with inputs: elementwise DAGs with shared operands over views of every kind
/// (masks, broadcasts, negative strides, stacks), up to three reduces, above and beside each other,
/// casts and bitcasts; one in eight has an axis whose size is a variable. One in six is a single
/// operation, or two, over many elements, of which many are at an edge of that operation.
enum class Checks : bool { None, Drawn };  // of positions: then a case may have no answer
KernelCase draw_kernel_case(Chooser& chooser, Checks checks = Checks::None);

/// A contraction of two operands of up to 33 a side, with little computed before and after it:
/// rows, tiles and lanes that share what they read. One case in 32 is one, of those that are not
/// single operations.
KernelCase draw_contraction(Chooser& chooser);

/// Those kernels of the shipped models (tensor/models.h), forward and backward, that are small
/// enough to be judged in a millisecond; each once. One case in 64 is one of them.
const std::vector<LazyOpPtr>& network_kernels();

/// A ShapeTracker whose logical shape is `shape`, through up to five movement operations.
ShapeTracker draw_view(Chooser& chooser, const std::vector<std::int64_t>& shape);

/// The case's buffers on a device: output first, zero-filled.
std::vector<BufferPtr> make_buffers(const KernelCase& c, Device& device);

/// The device's answer to the case.
HostArray answer_of(const KernelCase& c, Device& device);

/// Runs the case on the candidate and judges the output.
Verdict run_case(const KernelCase& c, Device& candidate, const Profile& profile = {});

/// The case for a person: the kernel as a tree and the first elements of each input.
std::string str(const KernelCase& c);

}  // namespace touchstone::fuzz
