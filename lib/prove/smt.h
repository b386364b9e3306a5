#pragma once

#include <string>
#include <vector>

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// A script of SMT-LIB 2 that can be satisfied exactly where all facts hold and the goal does not:
/// declarations of the variables, definitions of shared subexpressions, assertions. Numbers are
/// integers without bounds. Floor divisions are written with SMT-LIB's div and mod, which floor for
/// a positive divisor; what a division by zero gives is open, so facts must guard it. Each comment
/// line stands at the top.
std::string smt_script(const Exprs& exprs, const std::vector<Expr>& facts, Expr goal,
                       const std::vector<std::string>& comments = {});

/// A variable's name in a script: SMT-LIB has names of its own, such as div and let.
std::string smt_name(const std::string& name);

}  // namespace touchstone::prove
