#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/interp/addresses.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::interp {

/// One node of a region, over the region's space. Operands are earlier nodes of the same region.
struct ProgramNode {
  Op op;
  DType dtype;
  std::vector<int> src;
  std::vector<DType> src_dtypes;
  Addresses addresses{ShapeTracker()};  // LOAD and CONST
  int buffer = -1;                      // LOAD
  Scalar value;                         // CONST
  bool bitcast = false;                 // CAST
  // Reduces: element i of this node is the reduction of elements [i * terms, (i + 1) * terms) of
  // the last node of `region`.
  int region = -1;
  std::int64_t terms = 0;
  DType accumulator = DType::Bool;
  bool is_addend = false;          // a MUL of floats that an ADD, SUB or REDUCE_SUM takes
  bool is_summed = false;          // a MUL of floats that a REDUCE_SUM takes
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

/// `kernel` valid and without variables.
Program make_program(const LazyOpPtr& kernel);

}  // namespace touchstone::interp
