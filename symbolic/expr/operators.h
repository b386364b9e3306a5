#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "touchstone/symbolic/expr.h"

namespace touchstone::symbolic {

/// Where an operator stands in the text.
enum class Notation : std::uint8_t { Leaf, Prefix, Infix, Call };

/// One operator of the notation: what the parser reads, the writer writes and checks rely on.
struct OperatorInfo {
  ExprOp op;
  std::string_view text;  // in the text, with the blanks that the writer puts round it
  Notation notation;
  int level;                // binds tighter where higher, as in Python
  std::size_t least, most;  // operands
  bool commutes;            // operands in any order give the same value

  constexpr std::string_view name() const {
    std::string_view bare = text;
    while (bare.starts_with(' ')) bare.remove_prefix(1);
    while (bare.ends_with(' ')) bare.remove_suffix(1);
    return bare;
  }
};

inline constexpr std::size_t kAnyCount = static_cast<std::size_t>(-1);
/// Of what needs no parentheses.
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

/// Whether the notation uses the word itself, so that no variable has it as a name.
constexpr bool is_reserved(std::string_view word) {
  if (word == "True" || word == "False") return true;
  for (const OperatorInfo& o : kOperators)
    if (!word.empty() && o.name() == word) return true;
  return false;
}

/// Whether the operator has no value where its second operand is 0.
constexpr bool divides(ExprOp op) {
  return op == ExprOp::Div || op == ExprOp::Mod || op == ExprOp::TruncDiv || op == ExprOp::TruncMod;
}
/// An operator of two operands, but for `and` and `or`, by its definition; a divisor is not 0. What
/// checks the simplifier evaluates with this and with nothing of the simplifier's.
Int value_of(ExprOp op, const Int& a, const Int& b);

}  // namespace touchstone::symbolic
