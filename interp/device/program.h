#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "touchstone/interp/device/addresses.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::interp {

/// The role of a float node in contraction. Bit k of a mask stands for operand k.
struct Contraction {
  bool is_product = false;   // a MUL, or a node compiled to one
  bool carries = false;      // a product, or a node that passes one on
  bool is_addend = false;    // an addition takes it, directly or through nodes that pass it on
  bool is_summed = false;    // the same for REDUCE_SUM only
  std::uint8_t adds = 0;     // operands that it adds
  std::uint8_t passes = 0;   // operands that it passes on unchanged except for sign and type
  bool flips_fused = false;  // negates a possibly fused operation: a zero may have either sign

  /// True if the result may be a number that its type does not represent.
  bool may_be_unrounded() const { return is_addend && carries; }
  /// True if operand k may be such a number.
  bool reads_unrounded(std::size_t k) const {
    return (((adds | (is_addend ? passes : 0U)) >> k) & 1U) != 0;
  }
  bool operator==(const Contraction&) const = default;
};

/// A reduce along one axis whose terms are WHERE(taken, a, none), none neutral or counted once, and
/// a does not depend on the target axis of the result: term j is taken by the targets equal to its
/// key, or by target t if j < ends[t]. The node's region holds the terms a of each row of results;
/// a row has a result for each target.
struct Groups {
  std::int64_t targets = 0;
  int numbers = -1, keys = -1;     // regions: the number of each target, the key of each term
  bool keys_of_rows = false;       // each row has its own keys
  std::vector<std::int64_t> ends;  // ascending; empty if there are keys
  int first = -1;                  // region of the results' first terms, which all are taken
  int none = -1;                   // region of `none`, if it matters
};

/// One node of a region, over the region's space. Operands are earlier nodes of the same region.
struct ProgramNode {
  Op op;
  DType dtype;
  std::vector<int> src;
  std::vector<DType> src_dtypes;
  Addresses addresses;  // LOAD, GATHER and CONST
  int buffer = -1;      // LOAD and GATHER
  // GATHER: row p of `rows` at element i is element p * row_size + i of `addresses`.
  std::int64_t rows = 0, row_size = 0;
  // Of a checked GATHER: the number of each element's position, -1 if it is not checked.
  std::optional<Addresses> numbers = std::nullopt;
  Scalar value;          // CONST
  bool bitcast = false;  // CAST
  FunctionArg function;  // FUNCTION
  // Reduces: element i of this node reduces elements [i * terms, (i + 1) * terms) of the last node
  // of `region`.
  int region = -1;
  std::int64_t terms = 0;
  // Terms next to each other where the operand of a reduce is stored: of its last axes, if these
  // are reduced, else 1.
  std::int64_t row = 1;
  // The axes of this region, by place, that the region of the terms begins with; its others are
  // reduced.
  std::vector<int> outer_axes;
  DType accumulator = DType::Bool;
  // If set, the reduction has only `distinct` results, constant along some axes; `results` maps
  // element i of this node to its result.
  bool repeats = false;
  Addresses results;
  std::int64_t distinct = 0;
  // Results by rows of targets, as `results` says; `repeats` is set.
  std::optional<Groups> groups = std::nullopt;
  // A costly operation whose results repeat: result i is element i of `region`; `src` is empty.
  bool kept = false;
  // Elements [k * run, (k + 1) * run) are equal, for each k. A multiple of every user's `run`.
  std::int64_t run = 1;
  Contraction contraction;
  // The kernel's result type, if the device may hold the result in the wider `dtype`: it may, or
  // must, be rounded to this type (excess.h).
  std::optional<DType> rounds_to = std::nullopt;
  bool rounds_always = false;
  const LazyOp* origin = nullptr;  // the AST node that this represents
};

/// Elementwise nodes over one space of `size` elements in row-major order; the last is the result.
struct Region {
  std::vector<ProgramNode> nodes;
  std::int64_t size = 0;
  std::vector<std::int64_t> shape;
};

/// A concrete kernel with reordered axes: the operand of every reduce has the reduced axes last, so
/// a reduction reads one run of elements. Region 0 is the stored value, in output order; a reduce
/// names the region of its operand. The AST is otherwise unchanged.
struct KernelProgram {
  std::vector<Region> regions;
};

/// How often to compute a reduce whose terms are the same along an axis of its result: for each
/// element, or once along such axes, which its region then omits; with KeptFunctions also
/// functions and quotients, which cost more than copies.
enum class Repeats : std::uint8_t { Computed, Kept, KeptFunctions };

/// For two regions of a program, with the lower number first, and each node of the second: a node
/// of the first with the same results for each element, or -1. Empty for large programs.
std::map<std::pair<int, int>, std::vector<int>> alike_nodes(const KernelProgram& program);

/// The addresses of consecutive elements of a GATHER, from `first` on, at the given positions: runs
/// in order, invalid for positions out of range.
void gathered_runs(const ProgramNode& node, std::span<const std::int64_t> positions,
                   std::int64_t first, std::vector<AddressRun>& out);

/// The first fault among elements first, first + 1, ... of a GATHER at these positions; none if it
/// is not checked.
IndexFault fault_of(const ProgramNode& node, std::span<const std::int64_t> positions,
                    std::int64_t first);

/// `kernel` must be valid and without variables.
KernelProgram make_program(const LazyOpPtr& kernel, Repeats repeats = Repeats::Computed);

}  // namespace touchstone::interp
