#pragma once

#include <optional>
#include <string>
#include <vector>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// Builds linear code loop by loop. Every value goes once into the outermost open loop that its
/// operands allow, so invariant work is hoisted as it is emitted. Loads and checks never leave a
/// loop that may run zero times, because their address may then be invalid.
class BlockBuilder {
 public:
  BlockBuilder();

  /// Returns the number of a value equal to `uop`, new or existing. Only for kinds without side
  /// effects.
  int value(LinearStep uop);
  /// Appends `uop` to the innermost open loop, whatever its operands.
  int here(LinearStep uop);

  int int_const(std::int64_t value);
  int constant(const Scalar& value);
  /// As value(), with constant folding.
  int index(IndexOp op, Operands src);
  /// The value if it is a constant integer.
  std::optional<std::int64_t> known(int value) const;
  int alu(Op op, DType dtype, Operands src);

  struct Range {
    int begin = 0, end = 0;
    bool runs = false;  // certainly at least one iteration
    int copies = -1;    // of the body per iteration of the compiled loop; -1: the compiler decides
  };
  /// Opens a loop inside the innermost one; returns its counter.
  int open_loop(const Range& range, std::string name);
  void close_loop();
  /// Continues inside the outermost `depth` open loops, before the contents of the next one; return
  /// by passing the result to resume().
  int go_out_to(int depth);
  /// The loop depth that values valid only inside must not leave: that of the innermost open loop
  /// that may run zero times.
  int certain_depth() const;
  void resume(int block);

  bool inside_loop() const { return open_ != 0; }
  /// The counter of the innermost open loop, -1 if none is open.
  int innermost_loop() const { return block(open_).counter; }
  const std::string& loop_name(int counter) const {
    return std::get<std::string>(uop(counter).arg);
  }

  int open_loops() const { return block(open_).depth; }
  /// True if the loop that contains `value` is open.
  bool is_visible(int value) const;
  /// The number of loops around `value`.
  int depth(int value) const;
  const LinearStep& uop(int value) const { return values_[static_cast<std::size_t>(value)]; }

  /// Returns the code in order, renumbered, with only `split` and the steps set; all loops must be
  /// closed. Call once.
  LinearKernel finish(int split_value);
  /// The step of each value in the finished code, -1 if it has none.
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  struct Block {
    int parent = -1;
    int depth = 0;
    int counter = -1;
    bool runs = true;
    std::vector<int> items;  // value v as v, block b as -1 - b
  };

  int home(const LinearStep& uop) const;
  int append(LinearStep uop, int block);
  /// The slot of a value with this hash and block in `made_`, or a free one.
  std::size_t place_of(const LinearStep& uop, int block, std::uint64_t hash) const;
  void make_room();
  Block& block(int b) { return blocks_[static_cast<std::size_t>(b)]; }
  const Block& block(int b) const { return blocks_[static_cast<std::size_t>(b)]; }

  std::vector<LinearStep> values_;
  std::vector<int> block_of_;  // per value
  std::vector<int> numbers_;   // set by finish()
  std::vector<Block> blocks_;
  struct Made {
    int value = -1;
    std::uint64_t hash = 0;  // of the step and its block
  };
  std::vector<Made> made_;  // hash table of shareable values; its size is a power of 2
  std::size_t shared_ = 0;  // their number
  int open_ = 0;            // innermost open block
};

}  // namespace touchstone::codegen
