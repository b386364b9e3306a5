#pragma once

#include <string>
#include <vector>

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// An SMT-LIB 2 script that is satisfiable exactly if all facts can hold without the goal:
/// declarations of the variables, definitions of shared subexpressions, assertions. Numbers are
/// unbounded integers. Floor divisions use SMT-LIB's div and mod, which floor for a positive
/// divisor; division by zero is unspecified, so facts must exclude it. Comment lines go at the top.
std::string smt_script(const Exprs& exprs, const std::vector<Expr>& facts, Expr goal,
                       const std::vector<std::string>& comments = {});

/// A variable's name in a script, avoiding reserved names such as div and let.
std::string smt_name(const std::string& name);

}  // namespace touchstone::prove
