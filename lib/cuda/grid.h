#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/node/node.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone::cuda {

/// How the threads of a grid share a kernel's loops. As text: `threads(256)`, then `team(1)` and
/// other values that differ from the defaults.
struct GridOpts {
  int threads = 256;  // per block: 1 to 1024
  /// True: the threads of a block work on one output row together; false: each has its own outputs.
  bool team = false;
  int vector = 1;  // adjacent outputs per thread: 1, 2, 4, 8 or 16
  /// Nonzero: the threads of a block cover the last two output loops, `patch` along the inner one,
  /// threads / patch along the outer one.
  int patch = 0;
  /// For teams: output rows side by side in a block, with threads / columns threads each; adjacent
  /// threads belong to adjacent rows.
  int columns = 1;
  /// For teams, nonzero: so many blocks share the single output row; the block that finishes last
  /// folds their running sums.
  int blocks = 0;
  /// With blocks, nonzero: adjacent lanes per block and turn, a divisor of its threads; each block
  /// then folds its own sums before it stores them. 0: all lanes.
  int run = 0;
  /// Adjacent threads that can synchronize as a warp: a power of 2 up to 32; fewer in tests.
  int warp = 32;

  /// The threads of a block that work on one output row.
  int lanes() const { return threads / columns; }
  bool operator==(const GridOpts&) const = default;
};

std::string str(const GridOpts& opts);
/// Parses what str() writes; missing values are the defaults. Throws ParseError naming the fault.
GridOpts parse_grid_opts(std::string_view text);

/// Which threads synchronize before a step.
enum class Meeting : std::uint8_t { None, Warp, Block };

/// A kernel whose output loops are merged into one, `linear.split`; the grid's threads (for teams:
/// its blocks) share its iterations. -1: no such loop, and a single block.
struct GridKernel {
  LinearKernel linear;
  GridOpts opts;
  std::vector<bool> shared;      // by step: a loop whose iterations, or an array, that the threads
                                 // of a block share
  std::vector<Meeting> meeting;  // by step
  int cut = -1;                  // with opts.blocks: the step where the last block continues
  std::int64_t left = 0;         // nonzero: elements of an array that all blocks store
  std::optional<std::int64_t> iterations;  // of the loop; nullopt if it depends on variables

  /// True if threads of a block synchronize anywhere.
  bool waits() const;
  /// With opts.blocks: the adjacent lanes of one block, and of all blocks. Lanes that far apart
  /// belong to the same block.
  int run() const { return opts.run != 0 ? opts.run : opts.threads; }
  std::int64_t turn() const { return std::int64_t{opts.blocks} * run(); }
  /// The number of elements, out of `places`, that one block holds before storing them.
  std::int64_t places_of_block(std::int64_t places) const {
    return (places + turn() - 1) / turn() * run();
  }
};

/// True if each iteration has its own thread or block; otherwise they take turns. In a kernel that
/// checks positions, each thread records its least fault, so the grid is small.
bool is_direct(const GridKernel& grid);
/// Blocks per launch: 1 to 2^31 - 1.
std::int64_t blocks_of(const GridKernel& grid);
inline constexpr std::int64_t kScratchHead = 16;  // words
/// The bytes of device memory for a kernel with opts.blocks: kScratchHead 8-byte words, the first
/// of which counts blocks and is 0 before and after each launch, then its shared arrays.
std::int64_t scratch_bytes(const GridKernel& grid);

/// Merges the loops around the kernel's store, as far as nothing is summed before them, and at most
/// so many of them. Throws AstError naming an opt that does not fit and why; for teams also if a
/// thread could read an element before another has written it, or two could write the same one.
/// Every access of the result is proved in bounds or guarded (bounds_proof.h).
GridKernel map_to_grid(const LinearKernel& kernel, const GridOpts& opts,
                       std::span<const symbolic::Node> variables = {},
                       std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace touchstone::cuda
