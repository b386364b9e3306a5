#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "touchstone/base/rows.h"
#include "touchstone/dtype/dtype.h"

namespace touchstone {

/// Every operation of the stack, grouped by `OpGroup`.
// clang-format off
enum class Op : std::uint8_t {
  // Unary
  Noop, Exp2, Log2, Cast, Sin, Sqrt, Recip, Neg,
  // Binary
  Add, Sub, Mul, Div, Max, Mod, CmpLt, CmpEq, Xor,
  // Ternary
  MulAcc, Where,
  // Named function: a row of function_table
  Function,
  // Reduce
  ReduceSum, ReduceMax,
  // Movement
  Reshape, Permute, Expand, Pad, Shrink, Stride, AsStrided,
  // Load: tensor sources
  Empty, LoadConst, From, Contiguous, Custom, Rand,
  // Buffer: the leaves and the root of a kernel
  Load, Gather, Const, Store
};
inline constexpr int kOpCount = 39;

enum class OpGroup : std::uint8_t { Unary, Binary, Ternary, Function, Reduce, Movement, Load, Buffer };
// clang-format on

/// The element types that an elementwise or reduce op accepts.
enum class OpTypes : std::uint8_t { None, All, Floats, Numbers, IntsAndBool };

/// Properties of an op. `keeps_zero`: zero operands give exactly +0 (false for bool) in every
/// accepted type, so padding may pass through it; not NEG, as -(+0) is -0 and not false is true.
/// `commutes`: swapping the operands keeps the value. `selects`: the result is an operand or its
/// negation, so nothing is rounded. `cheap`: recomputing costs no more than storing and loading the
/// result.
struct OpInfo {
  Op op;
  std::string_view name;
  OpGroup group;
  int arity;
  OpTypes types;
  bool commutes;
  bool keeps_zero;
  bool selects;
  bool cheap;
};

// clang-format off
inline constexpr std::array<OpInfo, kOpCount> op_table = {{
    // op             name          group              arity types                 commutes keeps_zero selects cheap
    {Op::Noop,       "NOOP",        OpGroup::Unary,    1, OpTypes::All,         false, true,      true,   true},
    {Op::Exp2,       "EXP2",        OpGroup::Unary,    1, OpTypes::Floats,      false, false,     false,  false},
    {Op::Log2,       "LOG2",        OpGroup::Unary,    1, OpTypes::Floats,      false, false,     false,  false},
    {Op::Cast,       "CAST",        OpGroup::Unary,    1, OpTypes::All,         false, true,      false,  true},
    {Op::Sin,        "SIN",         OpGroup::Unary,    1, OpTypes::Floats,      false, true,      false,  false},
    {Op::Sqrt,       "SQRT",        OpGroup::Unary,    1, OpTypes::Floats,      false, true,      false,  false},
    {Op::Recip,      "RECIP",       OpGroup::Unary,    1, OpTypes::Floats,      false, false,     false,  false},
    {Op::Neg,        "NEG",         OpGroup::Unary,    1, OpTypes::All,         false, false,     true,   true},
    {Op::Add,        "ADD",         OpGroup::Binary,   2, OpTypes::All,         true,  true,      false,  true},
    {Op::Sub,        "SUB",         OpGroup::Binary,   2, OpTypes::All,         false, true,      false,  true},
    {Op::Mul,        "MUL",         OpGroup::Binary,   2, OpTypes::All,         true,  true,      false,  true},
    {Op::Div,        "DIV",         OpGroup::Binary,   2, OpTypes::Numbers,     false, false,     false,  false},
    {Op::Max,        "MAX",         OpGroup::Binary,   2, OpTypes::All,         true,  true,      true,   true},
    {Op::Mod,        "MOD",         OpGroup::Binary,   2, OpTypes::Numbers,     false, false,     false,  false},
    {Op::CmpLt,      "CMPLT",       OpGroup::Binary,   2, OpTypes::All,         false, true,      false,  true},
    {Op::CmpEq,      "CMPEQ",       OpGroup::Binary,   2, OpTypes::All,         true,  false,     false,  true},
    {Op::Xor,        "XOR",         OpGroup::Binary,   2, OpTypes::IntsAndBool, true,  true,      false,  true},
    {Op::MulAcc,     "MULACC",      OpGroup::Ternary,  3, OpTypes::All,         false, true,      false,  true},
    {Op::Where,      "WHERE",       OpGroup::Ternary,  3, OpTypes::All,         false, true,      true,   true},
    {Op::Function,   "FUNCTION",    OpGroup::Function, 0, OpTypes::Floats,      false, false,     false,  false},
    {Op::ReduceSum,  "REDUCE_SUM",  OpGroup::Reduce,   1, OpTypes::All,         false, true,      false,  false},
    {Op::ReduceMax,  "REDUCE_MAX",  OpGroup::Reduce,   1, OpTypes::All,         false, true,      true,   false},
    {Op::Reshape,    "RESHAPE",     OpGroup::Movement, 1, OpTypes::All,         false, true,      false,  false},
    {Op::Permute,    "PERMUTE",     OpGroup::Movement, 1, OpTypes::All,         false, true,      false,  false},
    {Op::Expand,     "EXPAND",      OpGroup::Movement, 1, OpTypes::All,         false, true,      false,  false},
    {Op::Pad,        "PAD",         OpGroup::Movement, 1, OpTypes::All,         false, true,      false,  false},
    {Op::Shrink,     "SHRINK",      OpGroup::Movement, 1, OpTypes::All,         false, true,      false,  false},
    {Op::Stride,     "STRIDE",      OpGroup::Movement, 1, OpTypes::All,         false, true,      false,  false},
    {Op::AsStrided,  "AS_STRIDED",  OpGroup::Movement, 1, OpTypes::All,         false, true,      false,  false},
    {Op::Empty,      "EMPTY",       OpGroup::Load,     0, OpTypes::None,        false, false,     false,  false},
    {Op::LoadConst,  "LOAD_CONST",  OpGroup::Load,     0, OpTypes::None,        false, false,     false,  false},
    {Op::From,       "FROM",        OpGroup::Load,     1, OpTypes::All,         false, false,     false,  false},
    {Op::Contiguous, "CONTIGUOUS",  OpGroup::Load,     1, OpTypes::All,         false, true,      false,  false},
    {Op::Custom,     "CUSTOM",      OpGroup::Load,     0, OpTypes::None,        false, false,     false,  false},
    {Op::Rand,       "RAND",        OpGroup::Load,     0, OpTypes::None,        false, false,     false,  false},
    {Op::Load,       "LOAD",        OpGroup::Buffer,   0, OpTypes::None,        false, false,     false,  false},
    {Op::Gather,     "GATHER",      OpGroup::Buffer,   1, OpTypes::None,        false, true,      true,   false},
    {Op::Const,      "CONST",       OpGroup::Buffer,   0, OpTypes::None,        false, false,     false,  false},
    {Op::Store,      "STORE",       OpGroup::Buffer,   1, OpTypes::All,         false, false,     false,  false},
}};
// clang-format on

static_assert(rows_follow_enum(op_table, &OpInfo::op, Op::Store),
              "op_table needs one row per Op, in the order of Op");

constexpr const OpInfo& info(Op op) { return op_table[static_cast<std::size_t>(op)]; }
constexpr std::string_view name(Op op) { return info(op).name; }
constexpr OpGroup group(Op op) { return info(op).group; }
constexpr bool is_elementwise(Op op) {
  return group(op) == OpGroup::Unary || group(op) == OpGroup::Binary ||
         group(op) == OpGroup::Ternary;
}
/// Elementwise or FUNCTION: one result for each element of operands of one shape.
constexpr bool is_pointwise(Op op) { return is_elementwise(op) || op == Op::Function; }
constexpr bool is_reduce(Op op) { return group(op) == OpGroup::Reduce; }
constexpr bool is_movement(Op op) { return group(op) == OpGroup::Movement; }
/// True for ops that read a buffer through their view.
constexpr bool is_load(Op op) { return op == Op::Load || op == Op::Gather; }
/// The number of leading view axes that the node itself lacks: 1 for GATHER (the position axis).
constexpr int position_axes(Op op) { return op == Op::Gather ? 1 : 0; }

/// True if an elementwise or reduce op accepts operands of a type (for WHERE: of the two arms).
constexpr bool takes(Op op, DType d) {
  switch (info(op).types) {
    case OpTypes::None: return false;
    case OpTypes::All: return true;
    case OpTypes::Floats: return is_float(d);
    case OpTypes::Numbers: return !is_bool(d);
    case OpTypes::IntsAndBool: return !is_float(d);
  }
  return false;
}

// Case labels for groups of ops. Switches over Op have no default (tests/build/op_switches.py), so
// for a new op the compiler names every place to extend.
// clang-format off
#define TOUCHSTONE_CASES_FUNCTION \
  case Op::Exp2: case Op::Log2: case Op::Sin: case Op::Sqrt: case Op::Recip
#define TOUCHSTONE_CASES_COMPARISON case Op::CmpLt: case Op::CmpEq
#define TOUCHSTONE_CASES_TERNARY case Op::MulAcc: case Op::Where
#define TOUCHSTONE_CASES_REDUCE case Op::ReduceSum: case Op::ReduceMax
#define TOUCHSTONE_CASES_COMPUTED \
  case Op::Noop: case Op::Cast: case Op::Neg: case Op::Add: case Op::Sub: case Op::Mul: \
  case Op::Div: case Op::Max: case Op::Mod: case Op::Xor: TOUCHSTONE_CASES_FUNCTION: \
  TOUCHSTONE_CASES_COMPARISON: TOUCHSTONE_CASES_TERNARY: TOUCHSTONE_CASES_REDUCE
#define TOUCHSTONE_CASES_MOVEMENT \
  case Op::Reshape: case Op::Permute: case Op::Expand: case Op::Pad: case Op::Shrink: \
  case Op::Stride: case Op::AsStrided
#define TOUCHSTONE_CASES_LOAD \
  case Op::Empty: case Op::LoadConst: case Op::From: case Op::Contiguous: case Op::Custom: \
  case Op::Rand
#define TOUCHSTONE_CASES_BUFFER \
  case Op::Load: case Op::Gather: case Op::Const: case Op::Store
// With FUNCTION, which is decomposed where it has no code of its own (ops/decompose.h).
#define TOUCHSTONE_CASES_NOT_COMPUTED \
  case Op::Function: TOUCHSTONE_CASES_MOVEMENT: TOUCHSTONE_CASES_LOAD: TOUCHSTONE_CASES_BUFFER
// clang-format on

/// Looks up a name, ignoring case; nullopt if unknown.
std::optional<Op> op_from_name(std::string_view name);
/// As op_from_name, but throws AstError with the nearest name.
Op parse_op(std::string_view name);

}  // namespace touchstone
