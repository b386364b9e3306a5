#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/codegen/linearize.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone {

/// Returns the files of a standalone C11 program that computes a graph; it needs a C compiler and
/// its math library, and nothing of this project:
///   NAME.c, NAME.h   int NAME_run(weights, workspace, input0, ..., output0, ...), and the sizes
///                    of all these. Allocates nothing; thread-safe with one workspace per thread.
///                    Returns 1 if a position in an input is outside its axis, else 0.
///   NAME.weights     all data that is not an input, aligned to 64 bytes, in this machine's byte
///                    order
///   main.c           reads weights and inputs from files of raw elements, writes the outputs alike
/// Without contraction (gcc and clang: -ffp-contract=off) results equal those of the CLANG device
/// with the same `codegen`, bit for bit.
///
/// `name` is a C identifier. Inputs must have memory; its contents do not matter. Outputs without
/// memory get it here. Current sizes and variables apply. Throws Error naming the cause if an input
/// has no memory, a size is unknown, or there is work outside kernels: random numbers, copies from
/// another device, assign(), host functions.
std::map<std::string, std::string> standalone_c(std::string_view name,
                                                std::span<const LazyBufferPtr> inputs,
                                                std::span<const LazyBufferPtr> outputs,
                                                const CodegenOptions& codegen = {});

}  // namespace touchstone
