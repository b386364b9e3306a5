#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "touchstone/interp/device/addresses.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::interp {

/// The role of a node of floats in contraction. Bit k of a mask stands for operand k.
struct Contraction {
  bool is_product = false;  // a MUL, or what is compiled to one
  bool carries = false;     // one, or what hands one on
  bool is_addend = false;   // an addition takes it, directly or over nodes that hand it on
  bool is_summed = false;   // the same of a REDUCE_SUM alone
  std::uint8_t adds = 0;    // operands that it adds
  std::uint8_t passes = 0;  // operands that it hands on as they are, but for sign and type
  bool flips_fused =
      false;  // a negation of what may be one fused operation: a zero has either sign

  /// Whether the result may be a number that its type does not hold.
  bool may_be_unrounded() const { return is_addend && carries; }
  /// Whether operand k may be such a number.
  bool reads_unrounded(std::size_t k) const {
    return (((adds | (is_addend ? passes : 0U)) >> k) & 1U) != 0;
  }
};

/// One node of a region, over the region's space. Operands are earlier nodes of the same region.
struct ProgramNode {
  Op op;
  DType dtype;
  std::vector<int> src;
  std::vector<DType> src_dtypes;
  Addresses addresses;  // LOAD, GATHER and CONST
  int buffer = -1;      // LOAD and GATHER
  // GATHER: the element of row p of `rows` for element i is p * row_size + i of `addresses`.
  std::int64_t rows = 0, row_size = 0;
  // Of a checked GATHER: the number of each element's position, -1 where nobody asks for it.
  std::optional<Addresses> numbers = std::nullopt;
  Scalar value;          // CONST
  bool bitcast = false;  // CAST
  // Reduces: element i of this node is the reduction of elements [i * terms, (i + 1) * terms) of
  // the last node of `region`.
  int region = -1;
  std::int64_t terms = 0;
  DType accumulator = DType::Bool;
  // Where set, the reduction has `distinct` results, of which element i of this node is the one
  // that results gives it: along the other axes they are the same.
  bool repeats = false;
  Addresses results;
  std::int64_t distinct = 0;
  Contraction contraction;
  // The kernel's type of the result where the device may hold it in `dtype`, a wider one, instead:
  // it may be rounded to this type, or must be (excess.h).
  std::optional<DType> rounds_to = std::nullopt;
  bool rounds_always = false;
  const LazyOp* origin = nullptr;  // the AST node this stands for
};

/// Elementwise nodes over one space of `size` elements in row-major order; the last is the result.
struct Region {
  std::vector<ProgramNode> nodes;
  std::int64_t size = 0;
};

/// A concrete kernel with its axes put in order: the operand of every reduce has the reduced axes
/// last, so that a reduction reads one run of elements. Region 0 is the value that is stored, in
/// the output's order; a reduce names the region of its operand. Nothing else of the AST changes.
struct Program {
  std::vector<Region> regions;
};

/// How often a reduce is computed whose terms are the same along an axis of its result: once for
/// each element, or once for all along such axes, which a region then lacks.
enum class Repeats : std::uint8_t { Computed, Kept };

/// The addresses of consecutive elements of a GATHER, from `first` on, of which positions[i] is the
/// position: runs in order, invalid where that is outside.
void gathered_runs(const ProgramNode& node, std::span<const std::int64_t> positions,
                   std::int64_t first, std::vector<AddressRun>& out);

/// The least fault among elements first, first + 1, ... of a GATHER at these positions; none where
/// it is not checked.
IndexFault fault_of(const ProgramNode& node, std::span<const std::int64_t> positions,
                    std::int64_t first);

/// `kernel` valid and without variables.
Program make_program(const LazyOpPtr& kernel, Repeats repeats = Repeats::Computed);

}  // namespace touchstone::interp
