#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/node/node.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone::cuda {

/// How the loops of a kernel are shared by the threads of a grid. In text: `threads(256)`, then
/// `team(1)` and what else is not as it is by default.
struct GridOpts {
  int threads = 256;  // of a block: 1 to 1024
  /// Whether the threads of a block work on one output row together, else each on outputs of its
  /// own.
  bool team = false;
  int vector = 1;  // neighbouring outputs of a thread: 1, 2, 4, 8 or 16
  /// Other than 0: the threads of a block lie along the last two loops over the output, so many
  /// along the inner one, threads / patch along the outer one.
  int patch = 0;
  /// Of teams: rows of outputs that a block has side by side, threads / columns for each;
  /// neighbouring threads belong to neighbouring rows.
  int columns = 1;
  /// Of teams, other than 0: the one row of outputs is shared by so many blocks, whose running sums
  /// the block that is done last folds.
  int blocks = 0;
  /// With blocks, other than 0: neighbouring lanes that are one block's, which divides its threads;
  /// the others are the other blocks'. It then folds its own before it leaves them. 0: all of
  /// them.
  int run = 0;
  /// Neighbouring threads that may wait for one another by themselves: a power of 2 up to a warp's
  /// 32; fewer in tests.
  int warp = 32;

  /// Threads of one block that work on one row of outputs.
  int lanes() const { return threads / columns; }
  bool operator==(const GridOpts&) const = default;
};

std::string str(const GridOpts& opts);
/// Reads what str() writes; what is left out is as by default. Throws ParseError naming the part.
GridOpts parse_grid_opts(std::string_view text);

/// Who waits for one another before a step.
enum class Meeting : std::uint8_t { None, Warp, Block };

/// A kernel whose loops over the output are one, `linear.split`: its iterations are shared by the
/// threads of the grid, or, of teams, by its blocks. -1: there is no such loop, and one block.
struct GridKernel {
  LinearKernel linear;
  GridOpts opts;
  std::vector<bool> shared;      // by step: a loop whose iterations the threads of a block share,
                                 // or an array that they share
  std::vector<Meeting> meeting;  // by step
  int cut = -1;                  // with opts.blocks: the step that the last block goes on with
  std::int64_t left = 0;         // other than 0: places of an array that all blocks leave
  std::optional<std::int64_t> iterations;  // of the loop; nothing where variables decide

  /// Whether threads of a block wait for one another anywhere.
  bool waits() const;
  /// With opts.blocks: neighbouring lanes that one block has, and those of all blocks. Lanes so
  /// many apart are one block's.
  int run() const { return opts.run != 0 ? opts.run : opts.threads; }
  std::int64_t turn() const { return std::int64_t{opts.blocks} * run(); }
  /// Places of an array of `places` that one block has before it leaves them.
  std::int64_t places_of_block(std::int64_t places) const {
    return (places + turn() - 1) / turn() * run();
  }
};

/// Whether each iteration has a thread, or block, of its own; else they take turns. Of a kernel
/// that checks positions each thread notes the least fault of its own, so there are few.
bool is_direct(const GridKernel& grid);
/// Blocks of a launch: from 1 to 2^31 - 1.
std::int64_t blocks_of(const GridKernel& grid);
/// Bytes of the device's memory that a kernel with opts.blocks needs: kScratchHead words of 8
/// bytes, the first of which counts blocks and is 0 before and after each launch, then its shared
/// arrays.
inline constexpr std::int64_t kScratchHead = 16;
std::int64_t scratch_bytes(const GridKernel& grid);

/// Loops of `kernel` made one, as far as they stand round its store with nothing summed before
/// them. Throws AstError where an opt does not fit, naming it and why: of teams, where a thread
/// could read what another one has not written yet, or two could write to one place of an array.
/// Every access of the result is shown to stay inside its buffer, or guarded (bounds_proof.h).
GridKernel map_to_grid(const LinearKernel& kernel, const GridOpts& opts,
                       std::span<const symbolic::Node> variables = {});

}  // namespace touchstone::cuda
