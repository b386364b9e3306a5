#pragma once

#include <string>
#include <string_view>

#include "touchstone/cuda/grid.h"

namespace touchstone::cuda {

/// Renders a kernel in C with macros that `target_preamble` defines: KERNEL(n) before its name,
/// with the threads per block; SHARED before arrays of a block; THREAD, BLOCK and BLOCKS for this
/// thread's number in its block, its block's number and the number of blocks; MEET() to synchronize
/// a block. Arguments: the buffers by number, the variables as i64, and, if the kernel checks
/// positions, one IndexFault per thread of the grid. With opts.blocks the last argument is the
/// memory of its shared arrays (scratch_bytes), and LAST(p) returns whether this block is the last
/// to count itself in *p.
std::string render_cuda_function(const GridKernel& kernel, std::string_view symbol);

enum class Target : std::uint8_t {
  Nvptx,  // clang's nvptx64-nvidia-cuda
  Host    // C11 for this process (host_engine.cpp)
};

/// The code to place before `functions`, made by render_cuda_function.
std::string target_preamble(Target target, std::string_view functions);

/// Renders the function SYMBOL_on_host, with which the host runs a kernel:
///   void(void* const* arguments, const i64* vars, struct grid*)
/// `arguments` are those before the variables.
std::string host_entry(const GridKernel& kernel, std::string_view symbol);

}  // namespace touchstone::cuda
