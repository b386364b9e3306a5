#pragma once

#include <string>
#include <string_view>

#include "touchstone/cuda/grid.h"

namespace touchstone::cuda {

/// A kernel in C for which `target_preamble` says what its capitals mean: KERNEL(n) before its
/// name, with the threads of a block, SHARED before arrays of a block, THREAD, BLOCK and BLOCKS for
/// the number of this thread in its block, of its block and of all blocks, and MEET() where the
/// threads of a block wait for one another. Arguments: the buffers by number, the variables as i64,
/// and where the kernel checks positions an IndexFault for each thread of the grid. Last, with
/// opts.blocks, the memory of its shared arrays (scratch_bytes); LAST(p) says there whether this
/// block is the last one to count itself in *p.
std::string render_cuda_function(const GridKernel& kernel, std::string_view symbol);

enum class Target : std::uint8_t {
  Nvptx,  // clang's nvptx64-nvidia-cuda
  Host    // C11 for a run in this process (host_grid.h)
};

/// All that stands before functions of render_cuda_function; `functions` are they.
std::string target_preamble(Target target, std::string_view functions);

/// The function by which the host runs a kernel of this symbol, called SYMBOL_on_host:
///   void(void* const* arguments, const i64* vars, struct grid*)
/// with the arguments before the variables.
std::string host_entry(const GridKernel& kernel, std::string_view symbol);

}  // namespace touchstone::cuda
