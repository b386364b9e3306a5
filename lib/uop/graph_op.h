#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "touchstone/base/rows.h"
#include "touchstone/ops/op.h"

namespace touchstone {

/// Kinds of UOp nodes, grouped by `GraphOpGroup`. Sources and arguments are described in uop.h.
// clang-format off
enum class GraphOp : std::uint8_t {
  // Placement
  Unique, Device, Buffer, BufferView, Const, DefineVar, Bind,
  // Movement
  Reshape, Expand, Permute, Pad, Shrink, Flip, View,
  // Unary
  Exp2, Log2, Sin, Sqrt, Recip, Neg, Cast, Bitcast,
  // Binary
  Add, Mul, Sub, Fdiv, Idiv, Max, Mod, CmpLt, CmpNe, CmpEq, Xor, Or, And, Shl, Shr, Pow, Threefry, Gather,
  // Ternary
  Where, MulAcc,
  // Named function
  Function,
  // Reduce
  ReduceAxis,
  // Requests to a tensor
  Contiguous, ContiguousBackward, Detach, Fuse, Gbarrier,
  // Between devices and memory
  Copy, Custom, Assign, Kernel, Sink,
  // Several devices
  Multi, MSelect, MStack, Allreduce,
  // Inside kernels
  Load, Store, Valid, DefineGlobal
};
inline constexpr int kGraphOpCount = 62;

enum class GraphOpGroup : std::uint8_t {
  Place, Movement, Unary, Binary, Ternary, Function, Reduce, Ask, Memory, Devices, Kernel
};
// clang-format on

/// Properties of a kind of node. It has `least` to `most` sources. `commutes`: its two sources can
/// be exchanged. `keeps_zero`: zeros give +0, so padding may pass through. `contiguous`: the result
/// is row-major in memory or needs no memory. `kernel`: the op of a kernel's AST that computes the
/// same; its facts stand in op_table. None for CMPNE (see kernelize/lower.cpp), OR, AND, SHL, SHR,
/// POW, THREEFRY, and for CAST, BITCAST and FUNCTION, which carry types or a name. GATHER carries
/// views.
struct GraphOpInfo {
  GraphOp op;
  std::string_view name;
  GraphOpGroup group;
  int least, most;
  bool commutes;
  bool keeps_zero;
  bool contiguous;
  std::optional<Op> kernel = std::nullopt;
};

/// The row of a node that computes what a kernel's op does.
constexpr GraphOpInfo computes(GraphOp op, std::string_view name, GraphOpGroup group, Op kernel) {
  const OpInfo& of = info(kernel);
  return {op, name, group, of.arity, of.arity, of.commutes, of.keeps_zero, false, kernel};
}

inline constexpr int kAnySources = 1 << 30;

// clang-format off
inline constexpr std::array<GraphOpInfo, kGraphOpCount> graph_op_table = {{
    // op, name, group, least, most, commutes, keeps_zero, contiguous
    {GraphOp::Unique, "UNIQUE", GraphOpGroup::Place, 0, 0, false, true, false},
    {GraphOp::Device, "DEVICE", GraphOpGroup::Place, 0, 0, false, true, true},
    {GraphOp::Buffer, "BUFFER", GraphOpGroup::Place, 2, 2, false, true, true},
    {GraphOp::BufferView, "BUFFER_VIEW", GraphOpGroup::Place, 1, 1, false, true, true},
    {GraphOp::Const, "CONST", GraphOpGroup::Place, 0, 1, false, true, true},
    {GraphOp::DefineVar, "DEFINE_VAR", GraphOpGroup::Place, 0, 1, false, true, false},
    {GraphOp::Bind, "BIND", GraphOpGroup::Place, 2, 2, false, true, true},
    {GraphOp::Reshape, "RESHAPE", GraphOpGroup::Movement, 1, 1, false, true, false},
    {GraphOp::Expand, "EXPAND", GraphOpGroup::Movement, 1, 1, false, true, false},
    {GraphOp::Permute, "PERMUTE", GraphOpGroup::Movement, 1, 1, false, true, false},
    {GraphOp::Pad, "PAD", GraphOpGroup::Movement, 1, 1, false, true, false},
    {GraphOp::Shrink, "SHRINK", GraphOpGroup::Movement, 1, 1, false, true, false},
    {GraphOp::Flip, "FLIP", GraphOpGroup::Movement, 1, 1, false, true, false},
    {GraphOp::View, "VIEW", GraphOpGroup::Movement, 0, 1, false, true, false},
    computes(GraphOp::Exp2, "EXP2", GraphOpGroup::Unary, Op::Exp2),
    computes(GraphOp::Log2, "LOG2", GraphOpGroup::Unary, Op::Log2),
    computes(GraphOp::Sin, "SIN", GraphOpGroup::Unary, Op::Sin),
    computes(GraphOp::Sqrt, "SQRT", GraphOpGroup::Unary, Op::Sqrt),
    computes(GraphOp::Recip, "RECIP", GraphOpGroup::Unary, Op::Recip),
    computes(GraphOp::Neg, "NEG", GraphOpGroup::Unary, Op::Neg),
    {GraphOp::Cast, "CAST", GraphOpGroup::Unary, 1, 1, false, true, false},
    {GraphOp::Bitcast, "BITCAST", GraphOpGroup::Unary, 1, 1, false, true, false},
    computes(GraphOp::Add, "ADD", GraphOpGroup::Binary, Op::Add),
    computes(GraphOp::Mul, "MUL", GraphOpGroup::Binary, Op::Mul),
    computes(GraphOp::Sub, "SUB", GraphOpGroup::Binary, Op::Sub),
    computes(GraphOp::Fdiv, "FDIV", GraphOpGroup::Binary, Op::Div),
    computes(GraphOp::Idiv, "IDIV", GraphOpGroup::Binary, Op::Div),
    computes(GraphOp::Max, "MAX", GraphOpGroup::Binary, Op::Max),
    computes(GraphOp::Mod, "MOD", GraphOpGroup::Binary, Op::Mod),
    computes(GraphOp::CmpLt, "CMPLT", GraphOpGroup::Binary, Op::CmpLt),
    {GraphOp::CmpNe, "CMPNE", GraphOpGroup::Binary, 2, 2, true, true, false},
    computes(GraphOp::CmpEq, "CMPEQ", GraphOpGroup::Binary, Op::CmpEq),
    computes(GraphOp::Xor, "XOR", GraphOpGroup::Binary, Op::Xor),
    {GraphOp::Or, "OR", GraphOpGroup::Binary, 2, 2, true, true, false},
    {GraphOp::And, "AND", GraphOpGroup::Binary, 2, 2, true, true, false},
    {GraphOp::Shl, "SHL", GraphOpGroup::Binary, 2, 2, false, true, false},
    {GraphOp::Shr, "SHR", GraphOpGroup::Binary, 2, 2, false, true, false},
    {GraphOp::Pow, "POW", GraphOpGroup::Binary, 2, 2, false, false, false},
    {GraphOp::Threefry, "THREEFRY", GraphOpGroup::Binary, 2, 2, false, false, false},
    {GraphOp::Gather, "GATHER", GraphOpGroup::Binary, 2, 2, false, true, false, Op::Gather},
    computes(GraphOp::Where, "WHERE", GraphOpGroup::Ternary, Op::Where),
    computes(GraphOp::MulAcc, "MULACC", GraphOpGroup::Ternary, Op::MulAcc),
    {GraphOp::Function, "FUNCTION", GraphOpGroup::Function, 1, 2, false, false, false},
    {GraphOp::ReduceAxis, "REDUCE_AXIS", GraphOpGroup::Reduce, 1, 1, false, true, false},
    {GraphOp::Contiguous, "CONTIGUOUS", GraphOpGroup::Ask, 1, 1, false, true, true},
    {GraphOp::ContiguousBackward, "CONTIGUOUS_BACKWARD", GraphOpGroup::Ask, 1, 1, false, true, false},
    {GraphOp::Detach, "DETACH", GraphOpGroup::Ask, 1, 1, false, true, false},
    {GraphOp::Fuse, "FUSE", GraphOpGroup::Ask, 1, 1, false, true, false},
    {GraphOp::Gbarrier, "GBARRIER", GraphOpGroup::Ask, 1, 1, false, true, true},
    {GraphOp::Copy, "COPY", GraphOpGroup::Memory, 2, 2, false, true, true},
    {GraphOp::Custom, "CUSTOM", GraphOpGroup::Memory, 1, kAnySources, false, true, true},
    {GraphOp::Assign, "ASSIGN", GraphOpGroup::Memory, 2, kAnySources, false, true, true},
    {GraphOp::Kernel, "KERNEL", GraphOpGroup::Memory, 0, kAnySources, false, true, false},
    {GraphOp::Sink, "SINK", GraphOpGroup::Memory, 0, kAnySources, false, true, false},
    {GraphOp::Multi, "MULTI", GraphOpGroup::Devices, 1, 1, false, true, false},
    {GraphOp::MSelect, "MSELECT", GraphOpGroup::Devices, 1, 1, false, true, true},
    {GraphOp::MStack, "MSTACK", GraphOpGroup::Devices, 1, kAnySources, false, true, true},
    {GraphOp::Allreduce, "ALLREDUCE", GraphOpGroup::Devices, 2, 2, false, true, false},
    {GraphOp::Load, "LOAD", GraphOpGroup::Kernel, 1, kAnySources, false, true, false},
    {GraphOp::Store, "STORE", GraphOpGroup::Kernel, 2, kAnySources, false, true, false},
    {GraphOp::Valid, "VALID", GraphOpGroup::Kernel, 1, 1, false, true, false},
    {GraphOp::DefineGlobal, "DEFINE_GLOBAL", GraphOpGroup::Kernel, 0, 0, false, true, false},
}};
// clang-format on

static_assert(rows_follow_enum(graph_op_table, &GraphOpInfo::op, GraphOp::DefineGlobal),
              "graph_op_table needs one row per GraphOp, in the order of GraphOp");

constexpr const GraphOpInfo& info(GraphOp op) {
  return graph_op_table[static_cast<std::size_t>(op)];
}
constexpr std::string_view name(GraphOp op) { return info(op).name; }
constexpr GraphOpGroup group(GraphOp op) { return info(op).group; }
constexpr bool is_movement(GraphOp op) { return group(op) == GraphOpGroup::Movement; }
constexpr bool is_alu(GraphOp op) {
  return (group(op) == GraphOpGroup::Unary || group(op) == GraphOpGroup::Binary ||
          group(op) == GraphOpGroup::Ternary) &&
         op != GraphOp::Cast && op != GraphOp::Bitcast && op != GraphOp::Gather;
}
/// True for a source in a tensor graph that is not computed by one of our kernels.
constexpr bool is_meta(GraphOp op) {
  return op == GraphOp::Copy || op == GraphOp::BufferView || op == GraphOp::Custom;
}
/// The node that computes what a kernel's elementwise op does on floats or on other types; nullopt
/// for NOOP and CAST.
constexpr std::optional<GraphOp> graph_op_of(Op kernel, bool floats) {
  if (kernel == Op::Div) return floats ? GraphOp::Fdiv : GraphOp::Idiv;
  for (const GraphOpInfo& row : graph_op_table)
    if (row.kernel == kernel) return row.op;
  return std::nullopt;
}
constexpr bool is_comparison(GraphOp op) {
  return op == GraphOp::CmpLt || op == GraphOp::CmpNe || op == GraphOp::CmpEq;
}

/// A set of kinds as a bit set.
class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr OpSet(GraphOp op) { add(op); }  // NOLINT(google-explicit-constructor): one is a set
  constexpr OpSet(std::initializer_list<GraphOp> ops) {
    for (const GraphOp op : ops) add(op);
  }
  static constexpr OpSet all() {
    OpSet set;
    for (int i = 0; i < kGraphOpCount; ++i) set.add(static_cast<GraphOp>(i));
    return set;
  }
  /// All kinds of a group.
  static constexpr OpSet of(GraphOpGroup wanted) {
    OpSet set;
    for (const GraphOpInfo& row : graph_op_table)
      if (row.group == wanted) set.add(row.op);
    return set;
  }

  constexpr void add(GraphOp op) { word_ |= bit(op); }
  constexpr bool has(GraphOp op) const { return (word_ & bit(op)) != 0; }
  constexpr bool empty() const { return word_ == 0; }
  constexpr int size() const { return std::popcount(word_); }
  constexpr bool has_all(OpSet other) const { return (word_ & other.word_) == other.word_; }
  /// The only element; meaningless unless size() is 1.
  constexpr GraphOp front() const { return static_cast<GraphOp>(std::countr_zero(word_)); }
  friend constexpr OpSet operator|(OpSet a, OpSet b) {
    a.word_ |= b.word_;
    return a;
  }
  constexpr bool operator==(const OpSet&) const = default;

 private:
  static constexpr std::uint64_t bit(GraphOp op) {
    return std::uint64_t{1} << static_cast<std::uint64_t>(op);
  }
  static_assert(kGraphOpCount <= 64, "an OpSet holds at most 64 ops");
  std::uint64_t word_ = 0;
};

/// Elementwise ops, including CAST, BITCAST, FUNCTION and GATHER.
constexpr OpSet elementwise_ops() {
  return OpSet::of(GraphOpGroup::Unary) | OpSet::of(GraphOpGroup::Binary) |
         OpSet::of(GraphOpGroup::Ternary) | GraphOp::Function;
}
constexpr bool is_elementwise(GraphOp op) { return elementwise_ops().has(op); }
/// True if the result is row-major in memory or needs no memory.
constexpr bool always_contiguous(GraphOp op) { return info(op).contiguous; }

}  // namespace touchstone
