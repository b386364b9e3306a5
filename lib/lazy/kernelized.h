#pragma once

#include <span>
#include <vector>

#include "touchstone/kernelize/kernelize.h"
#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// A graph of LazyBuffers as a graph of UOps.
struct TensorGraph {
  UOp sink;                          // over the bases of the outputs that need work
  std::vector<LazyBufferPtr> bases;  // sources first: what has to be computed
  std::vector<UOp> nodes;            // of each of them
  std::vector<int> outputs;          // which of them are asked for
  UOpMap<LazyBufferPtr> buffers;     // BUFFER -> what holds it
  std::vector<LazyBufferPtr> fills;  // by the id of a UOpFill: RAND, EMPTY, CUSTOM
};
TensorGraph tensor_graph(std::span<const LazyBufferPtr> outputs);

/// schedule(), with the kernels of lib/kernelize. Every output has memory of its own afterwards:
/// one that rewriting found equal to something else is copied from it.
std::vector<ScheduleItem> schedule_kernelized(std::span<const LazyBufferPtr> outputs,
                                              const symbolic::Values& values, const Config& config);

}  // namespace touchstone::lazy
