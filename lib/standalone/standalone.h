#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/codegen/linearize.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone {

/// A program of its own that computes what a graph computes: C11, which needs a C compiler and its
/// math library and nothing of this project. The files by name:
///   NAME.c, NAME.h   int NAME_run(weights, workspace, input0, ..., output0, ...), and the sizes of
///                    all these; it allocates nothing, and may run in several threads at once, each
///                    with a workspace of its own. It gives 1 where a position that an input holds
///                    is outside its axis, else 0.
///   NAME.weights     everything that has memory and is no input, each at a multiple of 64 bytes,
///                    in the order of bytes of this machine
///   main.c           reads weights and inputs from files of bare elements, writes the outputs so
/// Compiled without contraction (gcc and clang: -ffp-contract=off) it gives the bits of the CLANG
/// device with the same `codegen`.
///
/// `name` is an identifier of C. Inputs have memory, whose contents do not matter; outputs that
/// have none yet get it here. Sizes and variables are those of now. Throws Error, saying which,
/// where an input has no memory, a size is not known, or there is work that is no kernel: random
/// numbers, copies from another device, assign(), functions of the host.
std::map<std::string, std::string> standalone_c(std::string_view name,
                                                std::span<const LazyBufferPtr> inputs,
                                                std::span<const LazyBufferPtr> outputs,
                                                const CodegenOptions& codegen = {});

}  // namespace touchstone
