#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/ops/op.h"

namespace touchstone {
class Device;
}

namespace touchstone::fuzz {

/// One statement of a program: an input, or an operation on values of earlier ones.
struct ProgramStep {
  std::string name;                   // "input", "const", "exp2", "reshape", "realize", ...
  std::vector<int> of;                // statements that it reads
  std::string word;                   // of a cast the dtype; of reductions the axes
  MovementOp movement{};              // of movement operations
  DType dtype = DType::Float32;       // of an input or a constant
  std::vector<std::int64_t> shape{};  // the same
  std::vector<std::string> values{};  // the same, given out in turn over its elements

  bool leaf() const { return name == "input" || name == "const"; }
};

/// The type of a statement's value.
struct ProgramType {
  std::vector<std::int64_t> shape;
  DType dtype = DType::Float32;
  bool operator==(const ProgramType&) const = default;
};

/// Straight-line code over tensors, one statement after the other, %0 the value of the first:
///   "float32 2,3: 1 -2.5 nan; exp2 %0; pad %1 0:1,0:0; const float32 3,3: 2; add %2 %3"
/// The last statement's value is what the program computes. The value of "assign %a %b" is that of
/// %b, put into the memory of %a; whoever reads %a finds it as it was. "away" and "back" copy to
/// another device and to the first, "copy" there and back; an operation runs where its first
/// operand is.
struct Program {
  std::vector<ProgramStep> steps;

  /// Throws ParseError saying what is wrong, types and shapes included.
  static Program parse(std::string_view text);
  std::string str() const;
  /// Of every statement. Throws ParseError where one does not fit.
  std::vector<ProgramType> types() const;
};

/// Whether a statement says when or where to compute, and changes no value: "realize", "copy", ...
bool settles(std::string_view name);

/// Of a statement behind those of the types `before`. Throws ParseError where it does not fit.
ProgramType type_of(const ProgramStep& s, const std::vector<ProgramType>& before);

/// The parts of a text between `at`, without empty ones.
std::vector<std::string_view> split(std::string_view text, char at);
/// Throws ParseError where a word is not a number that fits.
std::int64_t number(std::string_view word);

/// x moved by `op`, of reshape to stride; `strided(x, steps)` takes every so many.
template <class T, class Strided>
auto apply_movement(T& x, const MovementOp& op, const Strided& strided)
    -> decltype(x.reshape(op.shape)) {
  using Kind = MovementOp::Kind;
  switch (op.kind) {
    case Kind::Reshape:
      return x.reshape(op.shape);
    case Kind::Permute:
      return x.permute(op.order);
    case Kind::Expand:
      return x.expand(op.shape);
    case Kind::Pad:
      return x.pad(op.ends);
    case Kind::Shrink:
      return x.shrink(op.ends);
    default:
      return std::invoke(strided, x, op.steps);
  }
}

/// The op of an elementwise statement or a reduce. Throws ParseError where it is of area tensor.
Op op_of(std::string_view statement);
std::vector<int> axes_of(const ProgramStep& reduce);

/// The bytes of what a program of area lazy computes: each statement in a kernel of its own, made
/// here and run on `device`, movement element by element. None of lib/lazy takes part.
std::string by_definition(const Program& program, Device& device);

/// The kind of an area's programs.
struct ProgramKind {
  bool gradients = false;  // float64, smooth nearly everywhere; else every type and op
};
std::string draw_program(Chooser& chooser, const ProgramKind& kind);

/// Smaller programs, the boldest first, and how large one is.
std::vector<std::string> smaller_programs(const Program& program, const ProgramKind& kind);
Measure measure_of(const Program& program);
Extent extent_of(const Program& program);

/// The value of element `i` of an input.
Scalar value_of(const ProgramStep& input, std::size_t i);

/// Rows for the coverage report: op, operand, rank, dtype.
std::vector<Dimension> program_dimensions(const ProgramKind& kind);
std::vector<CoverageRow> program_coverage(const Program& program, const ProgramKind& kind);

}  // namespace touchstone::fuzz
