#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "touchstone/dtype/dtype.h"
#include "touchstone/ops/op.h"
#include "touchstone/uop/linear_step.h"

namespace touchstone::codegen {

/// How ops on a narrow float are computed: on the bits, in float, or (bfloat16 only; other types
/// use float) in double. A bfloat16 product or quotient may be a subnormal float and would round
/// twice there.
enum class Narrow : std::uint8_t { Bits, Float, Double };

/// The C expression of one op for floats, integers and bool; empty if unsupported. $a $b $c:
/// operands; $t: type name; $u: unsigned type that wraps; $m: f for float, for libm.
struct COp {
  Op op;
  std::string_view floats, integers, booleans;
  Narrow narrow = Narrow::Float;
};

// NOOP and CAST are expanded before C is written, as is MULACC in LazyOps; the one in linear code
// rounds once.
// clang-format off
inline constexpr std::array<COp, 19> c_for_op = {{
    {Op::Noop,   "",                  "",                           ""},
    {Op::Exp2,   "exp2$m($a)",        "",                           ""},
    {Op::Log2,   "log2$m($a)",        "",                           ""},
    {Op::Cast,   "",                  "",                           ""},
    {Op::Sin,    "sin$m($a)",         "",                           ""},
    {Op::Sqrt,   "sqrt$m($a)",        "",                           ""},
    {Op::Recip,  "1 / $a",            "",                           "",         Narrow::Double},
    {Op::Neg,    "-$a",               "($t)(0 - ($u)$a)",           "!$a",      Narrow::Bits},
    {Op::Add,    "$a + $b",           "($t)(($u)$a + ($u)$b)",      "$a | $b"},
    {Op::Sub,    "$a - $b",           "($t)(($u)$a - ($u)$b)",      "$a ^ $b"},
    {Op::Mul,    "$a * $b",           "($t)(($u)$a * ($u)$b)",      "$a & $b",  Narrow::Double},
    {Op::Div,    "$a / $b",           "div_$t($a, $b)",             "",         Narrow::Double},
    {Op::Max,    "max_$t($a, $b)",    "max_$t($a, $b)",             "$a | $b"},
    {Op::Mod,    "fmod$m($a, $b)",    "mod_$t($a, $b)",             ""},
    {Op::CmpLt,  "$a < $b",           "$a < $b",                    "$a < $b"},
    {Op::CmpEq,  "$a == $b",          "$a == $b",                   "$a == $b"},
    {Op::Xor,    "",                  "($t)($a ^ $b)",              "$a ^ $b"},
    {Op::MulAcc, "fused_$t($a, $b, $c)", "",                        ""},
    {Op::Where,  "$a ? $b : $c",      "$a ? $b : $c",               "$a ? $b : $c", Narrow::Bits},
}};
// clang-format on

constexpr bool is_taken_apart(Op op) {
  return op == Op::Noop || op == Op::Cast || op == Op::MulAcc;
}

// Checks that every elementwise op has a row with text for exactly the types it accepts.
constexpr bool c_rows_complete() {
  for (std::size_t i = 0; i < c_for_op.size(); ++i) {
    const COp& row = c_for_op[i];
    if (row.op != static_cast<Op>(i) || !is_elementwise(row.op)) return false;
    if (is_taken_apart(row.op)) continue;
    const OpTypes types = info(row.op).types;
    if (row.floats.empty() != (types == OpTypes::IntsAndBool)) return false;
    if (row.integers.empty() != (types == OpTypes::Floats)) return false;
    if (row.booleans.empty() != (types == OpTypes::Floats || types == OpTypes::Numbers))
      return false;
  }
  return !is_elementwise(static_cast<Op>(c_for_op.size()));
}
static_assert(
    c_rows_complete(),
    "c_for_op needs one row per elementwise Op, in the order of Op, with text for its types");

/// The C expression of an index op; all operands are int64.
struct CIndexOp {
  IndexOp op;
  std::string_view text;
};

// clang-format off
inline constexpr std::array<CIndexOp, index_op_table.size()> c_for_index_op = {{
    {IndexOp::Add,      "$a + $b"},           {IndexOp::Sub,      "$a - $b"},
    {IndexOp::Mul,      "$a * $b"},           {IndexOp::FloorDiv, "floor_div($a, $b)"},
    {IndexOp::FloorMod, "floor_mod($a, $b)"}, {IndexOp::Div,      "$a / $b"},
    {IndexOp::Mod,      "$a % $b"},           {IndexOp::Lt,       "$a < $b"},
    {IndexOp::Le,       "$a <= $b"},          {IndexOp::Eq,       "$a == $b"},
    {IndexOp::Ne,       "$a != $b"},          {IndexOp::And,      "$a && $b"},
    {IndexOp::Or,       "$a || $b"},          {IndexOp::Not,      "!$a"},
    {IndexOp::Min,      "min_i64($a, $b)"},   {IndexOp::Max,      "max_i64($a, $b)"},
    {IndexOp::Where,    "$a ? $b : $c"},
}};
// clang-format on

static_assert(rows_follow_enum(c_for_index_op, &CIndexOp::op, IndexOp::Where),
              "c_for_index_op needs one row per IndexOp, in the order of IndexOp");
static_assert(std::ranges::none_of(c_for_index_op,
                                   [](const CIndexOp& row) { return row.text.empty(); }),
              "c_for_index_op needs a text in each row");

/// C names of element types. In memory they are the same, except bool, which is a byte.
// clang-format off
inline constexpr std::array<std::string_view, kDTypeCount> c_type_names = {
    "_Bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"};
// clang-format on

constexpr std::string_view c_type(DType d) { return c_type_names[static_cast<std::size_t>(d)]; }
constexpr std::string_view c_memory_type(DType d) { return is_bool(d) ? "u8" : c_type(d); }

}  // namespace touchstone::codegen
