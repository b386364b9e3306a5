#pragma once

#include <span>
#include <vector>

#include "touchstone/kernelize/kernelize.h"
#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// A graph of LazyBuffers converted to UOps.
struct TensorGraph {
  UOp sink;                          // over the bases of all outputs that need work
  std::vector<LazyBufferPtr> bases;  // bases to compute, sources first
  std::vector<UOp> nodes;            // one per base
  std::vector<int> outputs;          // indices of the requested bases
  UOpMap<LazyBufferPtr> buffers;     // BUFFER -> the LazyBuffer that owns it
  std::vector<LazyBufferPtr> fills;  // by id of UOpFill: RAND, EMPTY, CUSTOM
};
TensorGraph tensor_graph(std::span<const LazyBufferPtr> outputs);

/// As schedule(), with the kernels of lib/kernelize. Every output gets its own memory: one that
/// rewriting found equal to another value is copied from it.
std::vector<ScheduleItem> schedule_kernelized(std::span<const LazyBufferPtr> outputs,
                                              const symbolic::Values& values, const Config& config);

}  // namespace touchstone::lazy
