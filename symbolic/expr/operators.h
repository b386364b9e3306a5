#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {

/// The position of an operator in the text.
enum class Notation : std::uint8_t { Leaf, Prefix, Infix, Call };

/// One operator of the notation, for the parser, the renderer and the checker.
struct OperatorInfo {
  ExprOp op;
  std::string_view text;  // with the spaces that the renderer puts around it
  Notation notation;
  int level;                // precedence as in Python; higher binds tighter
  std::size_t least, most;  // number of operands
  bool commutes;            // operand order does not matter

  constexpr std::string_view name() const {
    std::string_view bare = text;
    while (bare.starts_with(' ')) bare.remove_prefix(1);
    while (bare.ends_with(' ')) bare.remove_suffix(1);
    return bare;
  }
};

inline constexpr std::size_t kAnyCount = static_cast<std::size_t>(-1);
/// The level of atoms, which need no parentheses.
inline constexpr int kTightest = 8;

// clang-format off
inline constexpr std::array kOperators = {
    //           op                text     notation          level least most       commutes
    OperatorInfo{ExprOp::Constant, "",      Notation::Leaf,   8,    0,    0,         false},
    OperatorInfo{ExprOp::Variable, "",      Notation::Leaf,   8,    0,    0,         false},
    OperatorInfo{ExprOp::Or,       " or ",  Notation::Infix,  1,    2,    2,         true},
    OperatorInfo{ExprOp::And,      " and ", Notation::Infix,  2,    2,    2,         true},
    OperatorInfo{ExprOp::Not,      "not ",  Notation::Prefix, 3,    1,    1,         false},
    OperatorInfo{ExprOp::Lt,       " < ",   Notation::Infix,  4,    2,    2,         false},
    OperatorInfo{ExprOp::Gt,       " > ",   Notation::Infix,  4,    2,    2,         false},
    OperatorInfo{ExprOp::Le,       " <= ",  Notation::Infix,  4,    2,    2,         false},
    OperatorInfo{ExprOp::Ge,       " >= ",  Notation::Infix,  4,    2,    2,         false},
    OperatorInfo{ExprOp::Eq,       " == ",  Notation::Infix,  4,    2,    2,         true},
    OperatorInfo{ExprOp::Ne,       " != ",  Notation::Infix,  4,    2,    2,         true},
    OperatorInfo{ExprOp::Add,      " + ",   Notation::Infix,  5,    2,    2,         true},
    OperatorInfo{ExprOp::Sub,      " - ",   Notation::Infix,  5,    2,    2,         false},
    OperatorInfo{ExprOp::Mul,      "*",     Notation::Infix,  6,    2,    2,         true},
    OperatorInfo{ExprOp::Div,      "//",    Notation::Infix,  6,    2,    2,         false},
    OperatorInfo{ExprOp::Mod,      "%",     Notation::Infix,  6,    2,    2,         false},
    OperatorInfo{ExprOp::Neg,      "-",     Notation::Prefix, 7,    1,    1,         false},
    OperatorInfo{ExprOp::Min,      "min",   Notation::Call,   8,    1,    kAnyCount, true},
    OperatorInfo{ExprOp::Max,      "max",   Notation::Call,   8,    1,    kAnyCount, true},
    OperatorInfo{ExprOp::Where,    "where", Notation::Call,   8,    3,    3,         false},
    OperatorInfo{ExprOp::TruncDiv, "tdiv",  Notation::Call,   8,    2,    2,         false},
    OperatorInfo{ExprOp::TruncMod, "tmod",  Notation::Call,   8,    2,    2,         false},
};
// clang-format on

constexpr bool operator_rows_follow_enum() {
  for (std::size_t i = 0; i < kOperators.size(); ++i)
    if (kOperators[i].op != static_cast<ExprOp>(i)) return false;
  return static_cast<std::size_t>(ExprOp::TruncMod) + 1 == kOperators.size();
}
static_assert(operator_rows_follow_enum(),
              "kOperators needs one row per ExprOp, in the order of ExprOp");

constexpr const OperatorInfo& info(ExprOp op) { return kOperators[static_cast<std::size_t>(op)]; }

/// True for words of the notation, which cannot be variable names.
constexpr bool is_reserved(std::string_view word) {
  if (word == "True" || word == "False") return true;
  for (const OperatorInfo& o : kOperators)
    if (!word.empty() && o.name() == word) return true;
  return false;
}

/// True if the operator is undefined where its second operand is 0.
constexpr bool divides(ExprOp op) {
  return op == ExprOp::Div || op == ExprOp::Mod || op == ExprOp::TruncDiv || op == ExprOp::TruncMod;
}
/// Evaluates a binary operator other than `and` and `or` by definition; divisors must be nonzero.
/// The checks of the simplifier use this instead of any simplifier code.
Int value_of(ExprOp op, const Int& a, const Int& b);

/// Bounds of an operator from the bounds arg(0), .., arg(count - 1) of its operands.
template <class Arg>
Interval bounds_of(ExprOp op, std::size_t count, const Arg& arg) {
  switch (op) {
    case ExprOp::Add: return arg(0) + arg(1);
    case ExprOp::Sub: return arg(0) + arg(1) * Int(-1);
    case ExprOp::Neg: return arg(0) * Int(-1);
    case ExprOp::Mul: return arg(0) * arg(1);
    case ExprOp::Div: return floor_div(arg(0), arg(1));
    case ExprOp::Mod: return floor_mod(arg(0), arg(1));
    case ExprOp::TruncDiv: return trunc_div(arg(0), arg(1));
    case ExprOp::TruncMod: return trunc_mod(arg(0), arg(1));
    case ExprOp::Where: return hull(arg(1), arg(2));
    case ExprOp::Min:
    case ExprOp::Max: {
      const Int sign = op == ExprOp::Max ? 1 : -1;
      Interval r = arg(0) * sign;
      for (std::size_t i = 1; i < count; ++i) r = larger(r, arg(i) * sign);
      return r * sign;
    }
    default: return {Int(0), Int(1)};  // comparisons and logic
  }
}

}  // namespace touchstone::symbolic
