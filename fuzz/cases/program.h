#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/scalar.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/fuzz/index/view_case.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone {
class Device;
}

namespace touchstone::fuzz {

/// A statement of a program: an input, or an operation on earlier values.
struct ProgramStep {
  std::string name;                   // "input", "const", "exp2", "reshape", "realize", ...
  std::vector<int> of;                // statements that it reads
  std::string word;                   // a cast's dtype, a reduction's axes
  MovementOp movement{};              // of movement operations
  DType dtype = DType::Float32;       // of an input or a constant
  std::vector<std::int64_t> shape{};  // the same
  std::vector<std::string> values{};  // the same, repeated to fill the elements

  bool leaf() const { return name == "input" || name == "const"; }
};

/// The type of a statement's value.
struct ProgramType {
  std::vector<std::int64_t> shape;
  DType dtype = DType::Float32;
  bool operator==(const ProgramType&) const = default;
};

/// Straight-line code over tensors; %0 is the first statement's value:
///   "float32 2,3: 1 -2.5 nan; exp2 %0; pad %1 0:1,0:0; const float32 3,3: 2; add %2 %3"
/// The program computes the last statement's value. "assign %a %b" writes %b into the memory of %a
/// and has the value of %b; readers of %a still see its old value. "away" and "back" copy to
/// another device and back, "copy" does both; an operation runs on the device of its first operand.
struct TensorProgram {
  std::vector<ProgramStep> steps;

  /// Throws ParseError saying what is wrong, including types and shapes.
  static TensorProgram parse(std::string_view text);
  std::string str() const;
  /// One per statement. Throws ParseError if a statement does not fit.
  std::vector<ProgramType> types() const;
};

/// True for statements that control when or where values are computed without changing them:
/// "realize", "copy", ...
bool settles(std::string_view name);

/// The type of a statement after statements of the types `before`. Throws ParseError if it does not
/// fit.
ProgramType type_of(const ProgramStep& s, const std::vector<ProgramType>& before);

/// Splits a text at `at` and drops empty parts.
std::vector<std::string_view> split(std::string_view text, char at);
/// Throws ParseError if the word is no number or out of range.
template <class T = std::int64_t>
T number(std::string_view word) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty())
    throw ParseError(fmt::format("'{}' is not a {}-bit number", word.substr(0, 40), 8 * sizeof(T)));
  return value;
}

/// Applies `op`, reshape to stride, to x; `strided(x, steps)` applies the steps.
template <class T, class Strided>
auto apply_movement(T& x, const MovementOp& op, const Strided& strided)
    -> decltype(x.reshape(op.shape)) {
  using Kind = MovementOp::Kind;
  switch (op.kind) {
    case Kind::Reshape: return x.reshape(op.shape);
    case Kind::Permute: return x.permute(op.order);
    case Kind::Expand: return x.expand(op.shape);
    case Kind::Pad: return x.pad(op.ends);
    case Kind::Shrink: return x.shrink(op.ends);
    default: return std::invoke(strided, x, op.steps);
  }
}

/// The op of an elementwise statement or a reduce. Throws ParseError for statements of area tensor.
Op op_of(std::string_view statement);
/// The argument of the op: the function of a FUNCTION.
OpArg arg_of(std::string_view statement);
std::vector<int> axes_of(const ProgramStep& reduce);

/// The result's bytes for a program of area lazy: each statement is a kernel built here and run on
/// `device`; movement is done element by element. Uses nothing of lib/lazy.
std::string by_definition(const TensorProgram& program, Device& device);

/// The kind of an area's programs.
struct ProgramKind {
  bool gradients = false;  // float64, smooth nearly everywhere; else every type and op
};
std::string draw_program(Chooser& chooser, const ProgramKind& kind);

/// Smaller programs, the boldest first, and the size of one.
std::vector<std::string> smaller_programs(const TensorProgram& program, const ProgramKind& kind);
Measure measure_of(const TensorProgram& program);
Extent extent_of(const TensorProgram& program);

/// The value of element `i` of an input.
Scalar value_of(const ProgramStep& input, std::size_t i);

/// Rows for the coverage report: op, operand, rank, dtype.
std::vector<Dimension> program_dimensions(const ProgramKind& kind);
std::vector<CoverageRow> program_coverage(const TensorProgram& program, const ProgramKind& kind);

}  // namespace touchstone::fuzz
