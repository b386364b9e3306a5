#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "touchstone/base/hash.h"
#include "touchstone/codegen/block_builder.h"
#include "touchstone/codegen/lanes.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/plan.h"
#include "touchstone/codegen/running_sums.h"
#include "touchstone/codegen/stage.h"
#include "touchstone/codegen/tiles.h"
#include "touchstone/ops/still_axes.h"
#include "touchstone/shapetracker/index/index_expr.h"

namespace touchstone::codegen {

/// True if a reduce has no terms.
bool reduces_nothing(const LazyOp& reduce);

/// True for an unmasked load whose elements along the axis are adjacent.
bool lies_along(const LazyOp& node, std::size_t axis);

/// Lowers one kernel from AST to linear code. A node is computed once per set of indices at which
/// it is used; within one reduce, or outside all, all nodes share one set. A reduce is hoisted out
/// of the loops along which it is still (ops/still_axes.h), and shared by all users of the same
/// result.
class Linearizer {
 public:
  Linearizer(const Plan& plan, const CodegenOptions& options);
  LinearKernel run();
  /// From now on records which node each value belongs to.
  void trace() { traced_ = true; }
  /// After run(): the node of each step, null if it belongs to none.
  std::vector<const LazyOp*> origins(std::size_t steps) const;

 private:
  using Indices = std::vector<symbolic::Node>;
  struct Visit {
    const LazyOp* node;
    int indices;
    bool entered = false;
    int accumulator = -1;  // of an entered reduce, with its operand's indices and loops
    int inner = -1;
    int loops = 0;
    int inside = -1;  // where a hoisted reduce is used
  };

  // linearize.cpp: loops
  LinearKernel store();
  void write_in_parts(const Plan::Peel& peel, const Indices& indices, std::size_t axis);
  void write_block(const Indices& first);
  void write(int indices);
  std::vector<int> open_output_loops(Indices& indices, std::size_t from, std::size_t to);
  int open_loop(const sint& size, const char* prefix, symbolic::Node& index,
                std::int64_t unroll = 1);
  /// The loop whose iterations threads share; `best` unless the plan names one.
  int split_of(const std::vector<int>& loops, int best) const;
  std::size_t written_out(const LazyOp& reduce) const;
  int evaluate(const LazyOp* root, int indices);
  void enter(std::vector<Visit>& stack);
  int define_accumulator(const LazyOp& reduce, StepArg lanes);
  std::pair<int, Indices> open_reduce_loops(const LazyOp& reduce, Indices indices,
                                            std::size_t apart = 0);
  int leave(const Visit& visit);
  int close_reduce(const Visit& visit);
  int add_indices(Indices indices);
  /// The value of a node at a set of indices; -1 if not computed yet.
  int made(const LazyOp* node, int indices) const;
  void set_made(const LazyOp* node, int indices, int value);

  // linearize_lanes.cpp
  LinearKernel store_in_lanes(const LanePlan& plan);
  symbolic::Node open_tiles(const LanePlan& plan);
  void reduce_in_lanes(const LazyOp& reduce, const LanePlan& plan, std::vector<Indices> rows,
                       symbolic::Node base);
  bool is_ahead(const LazyOp& reduce, const LanePlan& plan) const;
  const LazyOp* same_in_lanes(const LazyOp& reduce, const Indices& at);
  void take_from_lanes(const LazyOp& reduce, const std::vector<int>& at);
  std::vector<Indices> terms_of(const LazyOp& reduce, std::size_t axes,
                                const std::vector<Indices>& rows);
  std::vector<int> open_lanes(const LanePlan& plan, const std::vector<Indices>& rows,
                              symbolic::Node base);

  // linearize_stages.cpp
  void stage_parts(const LazyOp& reduce, const LanePlan& plan, int first_reduced,
                   const std::vector<int>& inner, symbolic::Node base);
  bool is_same(const LazyOp& node, int indices, int other);
  void stage(const Stage& part, const TermLoops& loops, const std::vector<std::size_t>& axes,
             int inner, symbolic::Node base);
  int stage_row(const Stage& part, const std::vector<std::size_t>& axes, Indices ahead,
                symbolic::Node begin);
  std::optional<Slide> slide_of(const LazyOp& node, const TermLoops& loops,
                                const std::vector<std::size_t>& axes, int inner);
  /// The number of elements of a buffer of the kernel.
  std::int64_t size_of(int buffer);

  // linearize_tiles.cpp
  LinearKernel store_in_tiles(const TilePlan& plan);
  std::vector<const LazyOp*> alongside(const TilePlan& plan) const;
  void ask_ahead(const LazyOp& load, const TilePlan& plan, Indices tile, const symbolic::Node& row,
                 const symbolic::Node& column, std::size_t axis);
  /// Prefetches the cache line of an element, which may lie outside the buffer, into the first
  /// level (3) or the second (2).
  void ask_for(const LazyOp& load, const Indices& element, int level = 3);
  int copy_tile(const LazyOp& load, const TilePlan& plan, const Indices& tile);
  std::pair<int, int> place_in_tile(const TilePlan& plan, Indices tile, symbolic::Node row,
                                    symbolic::Node column);

  // linearize_running.cpp
  int reduce_in_running_sums(const LazyOp& reduce, int indices);
  struct Rounds {
    symbolic::Node begin;  // the first term
    symbolic::Node count, lanes;
    symbolic::Node first;  // accumulator
  };
  void ask_rounds_ahead(const LazyOp& reduce, const std::vector<Indices>& first, std::size_t axis,
                        std::int64_t terms);
  /// The sets of indices at which a reduce runs in the same loops, starting with this one.
  std::vector<int> together_with(const LazyOp& reduce, int indices) const;
  void run_over(const LazyOp& reduce, const std::vector<int>& accumulators,
                const std::vector<Indices>& at, const Rounds& rounds);
  void fold(const LazyOp& reduce, int accumulator, std::int64_t sums);

  // linearize_shared.cpp
  /// The number of loops that a reduce must stand in.
  int depth_of(const LazyOp& reduce, int indices) const;
  const Compact& compact_of(const LazyOp& reduce);
  Indices loops_of(const LazyOp& reduce, int indices);
  /// The result of an equal reduce; -1 if there is none.
  int known_result(const LazyOp& reduce, int indices);
  void add_result(const LazyOp& reduce, int indices, int value);

  // linearize_values.cpp: one value each; returns its number
  int elementwise(const LazyOp& node, int indices);
  int reduced(const LazyOp& reduce, int accumulated, int term);  // stays in the innermost loop
  /// As reduced(), for the term at a set of indices whose parts are computed.
  int add_term(const LazyOp& reduce, int accumulated, int indices);
  /// The nodes computed per term before it is added: the term, or the factors of a product.
  std::span<const LazyOpPtr> parts_of(const LazyOp& reduce) const;
  bool fuses(const LazyOp& reduce) const;
  int reduce_of_nothing(const LazyOp& reduce);
  int cast(int value, DType to, bool bitcast = false);
  int alu(Op op, DType dtype, Operands src, bool stay);
  int load(const LazyOp& node, int indices);
  int gather(const LazyOp& node, int indices);
  /// Emits the check of a position where the position is computed, but at least inside the loops of
  /// its number.
  void check(const ShapeTracker& numbers, const sint& rows, int position, int indices);
  int masked_constant(const LazyOp& node, int indices);
  int global(int number, DType dtype);
  IndexExpr address(const ShapeTracker& st, int indices);
  int lower(symbolic::Node node, int indices);

  const Plan& plan_;
  const LazyOpPtr& kernel_;
  BlockBuilder builder_;
  std::vector<std::string> variables_;
  std::map<std::string, int> names_;  // of variables and loop counters
  int counters_ = 0;
  std::vector<std::pair<symbolic::Node, int>> loops_;  // variable and counter
  LayoutSizes room_;                                   // left over by stages
  bool contract_ = false;
  std::vector<BufferSpec> buffers_;  // filled by size_of
  std::deque<Indices> indices_;
  std::vector<NodeMap<int>> made_;  // by set of indices
  struct Address {
    const ShapeTracker* view;
    int indices;
    IndexExpr expr;
  };
  std::unordered_multimap<std::uint64_t, Address> addresses_;
  std::map<std::pair<int, std::uint32_t>, std::pair<symbolic::Node, int>> lowered_;

  NodeMap<StillAxes> still_;
  bool finds_results_ = false;  // enables known_result, if reduces may be used twice
  std::vector<int> rows_;       // the index sets of a block of running sums
  // Accumulators of reduces that ran in lanes, one per row; none for empty reduces.
  std::unordered_map<const LazyOp*, std::vector<int>> in_lanes_;
  bool traced_ = false;
  std::map<int, const LazyOp*> origins_;  // by value
  // If there are several reduces: the loops and result of each, by the node of its Compact.
  struct Result {
    Indices loops;
    int value = -1;
  };
  std::unordered_map<const LazyOp*, Compact> compact_;
  std::unordered_map<LazyOpPtr, std::vector<Result>, LazyOpHash, LazyOpSame> results_;
  std::unordered_map<LazyOpPtr, std::vector<std::pair<Indices, const LazyOp*>>, LazyOpHash,
                     LazyOpSame>
      lane_results_;
};

/// Returns the plan of a kernel's loops. Throws as linearize.
Plan prepare(const LazyOpPtr& kernel, const CodegenOptions& options);
/// Runs the linearizer of a prepared kernel and adds the kernel's name and buffers.
LinearKernel linearized(Linearizer& linearizer, const LazyOpPtr& kernel,
                        const CodegenOptions& options);
/// Applies passes over the whole code, which then passes verify(). Returns the previous number of
/// each step.
std::vector<int> finish(LinearKernel& linear, const LazyOpPtr& kernel,
                        const CodegenOptions& options);

}  // namespace touchstone::codegen
