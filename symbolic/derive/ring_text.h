#pragma once

#include <unordered_map>

#include "touchstone/symbolic/check/ring.h"

namespace touchstone::symbolic {

/// Converts polynomials back to expressions.
class RingText {
 public:
  RingText(Exprs& exprs, Ring& ring) : e_(exprs), ring_(ring) {}

  /// An expression with this normal form.
  Expr of(PolyId p);
  Expr of_atom(AtomId a);

 private:
  Exprs& e_;
  Ring& ring_;
  std::unordered_map<PolyId, Expr> written_;
};

}  // namespace touchstone::symbolic
