#include "touchstone/kernelize/op_of.h"

#include <array>
#include <utility>

namespace touchstone::kernelize {
namespace {

// DIV has two ops: for floats and for integers.
constexpr std::array<std::pair<Ops, Op>, 19> kPairs = {{
    {Ops::Exp2, Op::Exp2},
    {Ops::Log2, Op::Log2},
    {Ops::Sin, Op::Sin},
    {Ops::Sqrt, Op::Sqrt},
    {Ops::Recip, Op::Recip},
    {Ops::Neg, Op::Neg},
    {Ops::Add, Op::Add},
    {Ops::Mul, Op::Mul},
    {Ops::Sub, Op::Sub},
    {Ops::Fdiv, Op::Div},
    {Ops::Idiv, Op::Div},
    {Ops::Max, Op::Max},
    {Ops::Mod, Op::Mod},
    {Ops::CmpLt, Op::CmpLt},
    {Ops::CmpEq, Op::CmpEq},
    {Ops::Xor, Op::Xor},
    {Ops::Where, Op::Where},
    {Ops::MulAcc, Op::MulAcc},
    {Ops::ReduceAxis, Op::ReduceSum},
}};

}  // namespace

std::optional<Op> op_of(Ops op) {
  if (op == Ops::ReduceAxis) return std::nullopt;
  for (const auto& [node, kernel] : kPairs)
    if (node == op) return kernel;
  return std::nullopt;
}

std::optional<Ops> ops_of(Op op, bool floats) {
  if (op == Op::Div) return floats ? Ops::Fdiv : Ops::Idiv;
  if (!is_elementwise(op)) return std::nullopt;
  for (const auto& [node, kernel] : kPairs)
    if (kernel == op) return node;
  return std::nullopt;
}

}  // namespace touchstone::kernelize
