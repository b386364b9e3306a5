#pragma once

#include <optional>
#include <string>
#include <vector>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// Builds linear code loop by loop. Every value is put into the outermost open loop that its
/// operands allow, and made once there, so invariant work leaves its loops as it is written. A load
/// never leaves a loop that may run zero times, nor does a check: its address may lie nowhere then.
class BlockBuilder {
 public:
  BlockBuilder();

  /// The number of a value equal to `uop`, made or found. Only for kinds without side effects.
  int value(LinearStep uop);
  /// Puts `uop` at the end of the innermost open loop, whatever its operands.
  int here(LinearStep uop);

  int int_const(std::int64_t value);
  int constant(const Scalar& value);
  /// As value(); what constants decide is a constant.
  int index(IndexOp op, Operands src);
  /// The number that `value` is, where it is a constant integer.
  std::optional<std::int64_t> known(int value) const;
  int alu(Op op, DType dtype, Operands src);

  struct Range {
    int begin = 0, end = 0;
    bool runs = false;  // at least one iteration for certain
    int copies = -1;    // of the body in one iteration of the compiled loop; -1: as it likes
  };
  /// Opens a loop inside the innermost one; gives its counter.
  int open_loop(const Range& range, std::string name);
  void close_loop();
  /// Continues inside the outermost `depth` of the open loops, before what the next of them will
  /// hold; resume() with the result goes back.
  int go_out_to(int depth);
  /// Loops that nothing may leave which is only valid inside: down to the innermost open one that
  /// may run zero times.
  int certain_depth() const;
  void resume(int block);

  bool inside_loop() const { return open_ != 0; }
  /// The counter of the innermost open loop, -1 where none is open.
  int innermost_loop() const { return block(open_).counter; }
  const std::string& loop_name(int counter) const {
    return std::get<std::string>(uop(counter).arg);
  }

  int open_loops() const { return block(open_).depth; }
  /// Whether the loop that `value` is made in is open.
  bool is_visible(int value) const;
  /// Loops round the place where `value` is made.
  int depth(int value) const;
  const LinearStep& uop(int value) const { return values_[static_cast<std::size_t>(value)]; }

  /// The code in order, renumbered; all loops must be closed. `split` and the steps only. Once.
  LinearKernel finish(int split_value);
  /// Of each value its step in the finished code, -1 where it has none.
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  struct Block {
    int parent = -1;
    int depth = 0;
    int counter = -1;
    bool runs = true;
    std::vector<int> items;  // a value v as v, a block b as -1 - b
  };

  int home(const LinearStep& uop) const;
  int append(LinearStep uop, int block);
  /// Where a value of this hash and block stands in `made_`, or where there is room for it.
  std::size_t place_of(const LinearStep& uop, int block, std::uint64_t hash) const;
  void make_room();
  Block& block(int b) { return blocks_[static_cast<std::size_t>(b)]; }
  const Block& block(int b) const { return blocks_[static_cast<std::size_t>(b)]; }

  std::vector<LinearStep> values_;
  std::vector<int> block_of_;  // per value
  std::vector<int> numbers_;   // once finished
  std::vector<Block> blocks_;
  struct Made {
    int value = -1;
    std::uint64_t hash = 0;  // of the step and its block
  };
  std::vector<Made> made_;  // the values that others may share, by hash; a power of 2 of places
  std::size_t shared_ = 0;  // how many
  int open_ = 0;            // innermost open block
};

}  // namespace touchstone::codegen
