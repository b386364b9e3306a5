#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace touchstone {

/// Kinds of UOp nodes, grouped by `OpsGroup`. Sources and arguments are described in uop.h.
enum class Ops : std::uint8_t {
  // Placement
  Unique,
  Device,
  Buffer,
  BufferView,
  Const,
  DefineVar,
  Bind,
  // Movement
  Reshape,
  Expand,
  Permute,
  Pad,
  Shrink,
  Flip,
  View,
  // Unary
  Exp2,
  Log2,
  Sin,
  Sqrt,
  Recip,
  Neg,
  Cast,
  Bitcast,
  // Binary
  Add,
  Mul,
  Sub,
  Fdiv,
  Idiv,
  Max,
  Mod,
  CmpLt,
  CmpNe,
  CmpEq,
  Xor,
  Or,
  And,
  Shl,
  Shr,
  Pow,
  Threefry,
  // Ternary
  Where,
  MulAcc,
  // Reduce
  ReduceAxis,
  // Requests to a tensor
  Contiguous,
  ContiguousBackward,
  Detach,
  Fuse,
  Gbarrier,
  // Between devices and memory
  Copy,
  Custom,
  Assign,
  Kernel,
  Sink,
  // Several devices
  Multi,
  MSelect,
  MStack,
  Allreduce,
  // Inside kernels
  Load,
  Store,
  Valid,
  DefineGlobal
};
inline constexpr int kOpsCount = 60;

enum class OpsGroup : std::uint8_t {
  Place,
  Movement,
  Unary,
  Binary,
  Ternary,
  Reduce,
  Ask,
  Memory,
  Devices,
  Kernel
};

/// Properties of a kind of node. It has `least` to `most` sources. `commutes`: its two sources can
/// be exchanged. `unsafe_pad`: zeros may give something other than +0, so padding must not pass
/// through (EXP2, RECIP, also 0 % 0 and a random number of 0; NEG gives -0, CMPEQ true).
/// `contiguous`: the result is row-major in memory or needs no memory.
struct OpsInfo {
  Ops op;
  std::string_view name;
  OpsGroup group;
  int least, most;
  bool commutes;
  bool unsafe_pad;
  bool contiguous;
};

inline constexpr int kAnySources = 1 << 30;

// clang-format off
inline constexpr std::array<OpsInfo, kOpsCount> ops_table = {{
    // op                name         group               least most        commutes unsafe contiguous
    {Ops::Unique,     "UNIQUE",      OpsGroup::Place,    0, 0,           false, false, false},
    {Ops::Device,     "DEVICE",      OpsGroup::Place,    0, 0,           false, false, true},
    {Ops::Buffer,     "BUFFER",      OpsGroup::Place,    2, 2,           false, false, true},
    {Ops::BufferView, "BUFFER_VIEW", OpsGroup::Place,    1, 1,           false, false, true},
    {Ops::Const,      "CONST",       OpsGroup::Place,    0, 1,           false, false, true},
    {Ops::DefineVar,  "DEFINE_VAR",  OpsGroup::Place,    0, 1,           false, false, false},
    {Ops::Bind,       "BIND",        OpsGroup::Place,    2, 2,           false, false, true},
    {Ops::Reshape,    "RESHAPE",     OpsGroup::Movement, 1, 1,           false, false, false},
    {Ops::Expand,     "EXPAND",      OpsGroup::Movement, 1, 1,           false, false, false},
    {Ops::Permute,    "PERMUTE",     OpsGroup::Movement, 1, 1,           false, false, false},
    {Ops::Pad,        "PAD",         OpsGroup::Movement, 1, 1,           false, false, false},
    {Ops::Shrink,     "SHRINK",      OpsGroup::Movement, 1, 1,           false, false, false},
    {Ops::Flip,       "FLIP",        OpsGroup::Movement, 1, 1,           false, false, false},
    {Ops::View,       "VIEW",        OpsGroup::Movement, 0, 1,           false, false, false},
    {Ops::Exp2,       "EXP2",        OpsGroup::Unary,    1, 1,           false, true,  false},
    {Ops::Log2,       "LOG2",        OpsGroup::Unary,    1, 1,           false, true,  false},
    {Ops::Sin,        "SIN",         OpsGroup::Unary,    1, 1,           false, false, false},
    {Ops::Sqrt,       "SQRT",        OpsGroup::Unary,    1, 1,           false, false, false},
    {Ops::Recip,      "RECIP",       OpsGroup::Unary,    1, 1,           false, true,  false},
    {Ops::Neg,        "NEG",         OpsGroup::Unary,    1, 1,           false, true,  false},
    {Ops::Cast,       "CAST",        OpsGroup::Unary,    1, 1,           false, false, false},
    {Ops::Bitcast,    "BITCAST",     OpsGroup::Unary,    1, 1,           false, false, false},
    {Ops::Add,        "ADD",         OpsGroup::Binary,   2, 2,           true,  false, false},
    {Ops::Mul,        "MUL",         OpsGroup::Binary,   2, 2,           true,  false, false},
    {Ops::Sub,        "SUB",         OpsGroup::Binary,   2, 2,           false, false, false},
    {Ops::Fdiv,       "FDIV",        OpsGroup::Binary,   2, 2,           false, true,  false},
    {Ops::Idiv,       "IDIV",        OpsGroup::Binary,   2, 2,           false, true,  false},
    {Ops::Max,        "MAX",         OpsGroup::Binary,   2, 2,           true,  false, false},
    {Ops::Mod,        "MOD",         OpsGroup::Binary,   2, 2,           false, true,  false},
    {Ops::CmpLt,      "CMPLT",       OpsGroup::Binary,   2, 2,           false, false, false},
    {Ops::CmpNe,      "CMPNE",       OpsGroup::Binary,   2, 2,           true,  false, false},
    {Ops::CmpEq,      "CMPEQ",       OpsGroup::Binary,   2, 2,           true,  true,  false},
    {Ops::Xor,        "XOR",         OpsGroup::Binary,   2, 2,           true,  false, false},
    {Ops::Or,         "OR",          OpsGroup::Binary,   2, 2,           true,  false, false},
    {Ops::And,        "AND",         OpsGroup::Binary,   2, 2,           true,  false, false},
    {Ops::Shl,        "SHL",         OpsGroup::Binary,   2, 2,           false, false, false},
    {Ops::Shr,        "SHR",         OpsGroup::Binary,   2, 2,           false, false, false},
    {Ops::Pow,        "POW",         OpsGroup::Binary,   2, 2,           false, true,  false},
    {Ops::Threefry,   "THREEFRY",    OpsGroup::Binary,   2, 2,           false, true,  false},
    {Ops::Where,      "WHERE",       OpsGroup::Ternary,  3, 3,           false, false, false},
    {Ops::MulAcc,     "MULACC",      OpsGroup::Ternary,  3, 3,           false, false, false},
    {Ops::ReduceAxis, "REDUCE_AXIS", OpsGroup::Reduce,   1, 1,           false, false, false},
    {Ops::Contiguous, "CONTIGUOUS",  OpsGroup::Ask,      1, 1,           false, false, true},
    {Ops::ContiguousBackward, "CONTIGUOUS_BACKWARD", OpsGroup::Ask, 1, 1, false, false, false},
    {Ops::Detach,     "DETACH",      OpsGroup::Ask,      1, 1,           false, false, false},
    {Ops::Fuse,       "FUSE",        OpsGroup::Ask,      1, 1,           false, false, false},
    {Ops::Gbarrier,   "GBARRIER",    OpsGroup::Ask,      1, 1,           false, false, true},
    {Ops::Copy,       "COPY",        OpsGroup::Memory,   2, 2,           false, false, true},
    {Ops::Custom,     "CUSTOM",      OpsGroup::Memory,   1, kAnySources, false, false, true},
    {Ops::Assign,     "ASSIGN",      OpsGroup::Memory,   2, kAnySources, false, false, true},
    {Ops::Kernel,     "KERNEL",      OpsGroup::Memory,   0, kAnySources, false, false, false},
    {Ops::Sink,       "SINK",        OpsGroup::Memory,   0, kAnySources, false, false, false},
    {Ops::Multi,      "MULTI",       OpsGroup::Devices,  1, 1,           false, false, false},
    {Ops::MSelect,    "MSELECT",     OpsGroup::Devices,  1, 1,           false, false, true},
    {Ops::MStack,     "MSTACK",      OpsGroup::Devices,  1, kAnySources, false, false, true},
    {Ops::Allreduce,  "ALLREDUCE",   OpsGroup::Devices,  2, 2,           false, false, false},
    {Ops::Load,       "LOAD",        OpsGroup::Kernel,   1, kAnySources, false, false, false},
    {Ops::Store,      "STORE",       OpsGroup::Kernel,   2, kAnySources, false, false, false},
    {Ops::Valid,      "VALID",       OpsGroup::Kernel,   1, 1,           false, false, false},
    {Ops::DefineGlobal, "DEFINE_GLOBAL", OpsGroup::Kernel, 0, 0,         false, false, false},
}};
// clang-format on

constexpr bool ops_rows_follow_enum() {
  for (std::size_t i = 0; i < ops_table.size(); ++i)
    if (ops_table[i].op != static_cast<Ops>(i)) return false;
  return static_cast<int>(Ops::DefineGlobal) + 1 == kOpsCount;
}
static_assert(ops_rows_follow_enum(), "ops_table needs one row per Ops, in the order of Ops");

constexpr const OpsInfo& info(Ops op) { return ops_table[static_cast<std::size_t>(op)]; }
constexpr std::string_view name(Ops op) { return info(op).name; }
constexpr OpsGroup group(Ops op) { return info(op).group; }
constexpr bool is_movement(Ops op) { return group(op) == OpsGroup::Movement; }
constexpr bool is_alu(Ops op) {
  return (group(op) == OpsGroup::Unary || group(op) == OpsGroup::Binary ||
          group(op) == OpsGroup::Ternary) &&
         op != Ops::Cast && op != Ops::Bitcast;
}
/// True for a source in a tensor graph that is not computed by one of our kernels.
constexpr bool is_meta(Ops op) {
  return op == Ops::Copy || op == Ops::BufferView || op == Ops::Custom;
}
constexpr bool is_comparison(Ops op) {
  return op == Ops::CmpLt || op == Ops::CmpNe || op == Ops::CmpEq;
}

/// A set of kinds as a bit set.
class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr OpSet(Ops op) { add(op); }  // NOLINT(google-explicit-constructor): one is a set
  constexpr OpSet(std::initializer_list<Ops> ops) {
    for (const Ops op : ops) add(op);
  }
  static constexpr OpSet all() {
    OpSet set;
    for (int i = 0; i < kOpsCount; ++i) set.add(static_cast<Ops>(i));
    return set;
  }
  /// All kinds of a group.
  static constexpr OpSet of(OpsGroup wanted) {
    OpSet set;
    for (const OpsInfo& row : ops_table)
      if (row.group == wanted) set.add(row.op);
    return set;
  }

  constexpr void add(Ops op) { word_ |= bit(op); }
  constexpr bool has(Ops op) const { return (word_ & bit(op)) != 0; }
  constexpr bool empty() const { return word_ == 0; }
  constexpr int size() const { return std::popcount(word_); }
  constexpr bool has_all(OpSet other) const { return (word_ & other.word_) == other.word_; }
  /// The only element; meaningless unless size() is 1.
  constexpr Ops front() const { return static_cast<Ops>(std::countr_zero(word_)); }
  friend constexpr OpSet operator|(OpSet a, OpSet b) {
    a.word_ |= b.word_;
    return a;
  }
  constexpr bool operator==(const OpSet&) const = default;

 private:
  static constexpr std::uint64_t bit(Ops op) {
    return std::uint64_t{1} << static_cast<std::uint64_t>(op);
  }
  static_assert(kOpsCount <= 64, "an OpSet holds at most 64 ops");
  std::uint64_t word_ = 0;
};

/// Elementwise ops, including CAST and BITCAST.
constexpr OpSet elementwise_ops() {
  return OpSet::of(OpsGroup::Unary) | OpSet::of(OpsGroup::Binary) | OpSet::of(OpsGroup::Ternary);
}
constexpr bool is_elementwise(Ops op) { return elementwise_ops().has(op); }
/// True if the result is row-major in memory or needs no memory.
constexpr bool always_contiguous(Ops op) { return info(op).contiguous; }

}  // namespace touchstone
