#pragma once

#include <cmath>
#include <memory>
#include <span>

#include "touchstone/interp/oracle/envelope.h"

// Products that an addition takes without rounding them to their type (see contraction.h).

namespace touchstone::interp {

/// True if the rounded result may stand for numbers beyond the largest.
template <class T>
bool is_saturated(const Legal<T>& x) {
  if constexpr (is_float_storage<T> && !has_infinities<T>)
    return x.number && (order_key(x.lo) == order_key(infinity<T>(true)) ||
                        order_key(x.hi) == order_key(infinity<T>()));
  else
    return false;
}

/// The legal values of an unrounded product.
template <class T>
Legal<T> not_rounded(const Legal<T>& x) {
  return is_saturated(x) ? Legal<T>::unknown() : legal::widened(x, 1);
}

/// A term of an addition, or of a node that passes it on: possibly an unrounded product.
template <class T>
Legal<T> addend(const LegalBlock& block, std::int64_t i) {
  const Legal<T> x = block.get<T>(i);
  if constexpr (is_float_storage<T>)
    if (block.unrounded(i)) return not_rounded(x);
  return x;
}

/// Operand k of a node that passes it on to an addition.
template <class T>
Legal<T> operand(const ProgramNode& node, std::size_t k, const LegalBlock& block, std::int64_t i) {
  return node.contraction.reads_unrounded(k) ? addend<T>(block, i) : block.get<T>(i);
}

/// True for x + x, that is x * 2, if an addition may take the unrounded product.
inline bool doubles_unrounded(const ProgramNode& node) {
  return (node.op == Op::Add || node.op == Op::Sub) && node.contraction.is_product &&
         node.contraction.is_addend;
}

/// True if multiplying by this changes at most the sign.
template <class T>
bool is_one(const Legal<T>& x) {
  return x.is_point() && std::abs(scalar::detail::computing(x.lo)) == 1;
}

/// Marks the inexact products of a determined block, which change if unrounded; with their radii if
/// `with_balls`. Leaves `inexact` empty if there are none.
void mark_inexact(const LegalBlock& a, const LegalBlock& b, LegalBlock& out, bool with_balls);

/// The same for x + x, where only infinite results are inexact.
void mark_doubled(const LegalBlock& x, LegalBlock& out, bool with_balls);

/// The same for nodes that pass on such products, one determined operand for each element.
void hand_on_inexact(const ProgramNode& node, std::span<const LegalBlock* const> in,
                     LegalBlock& out);

/// -(a * b + c) may be compiled to one operation, which gives the other zero for a zero sum: allows
/// both zeros.
void free_zeros(LegalBlock& block);

/// A reduce of one term that an addition takes: the term itself, possibly an unrounded product.
std::unique_ptr<LegalReducer> one_term(std::unique_ptr<LegalReducer> inner);

}  // namespace touchstone::interp
