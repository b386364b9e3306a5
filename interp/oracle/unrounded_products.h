#pragma once

#include <cmath>
#include <memory>
#include <span>

#include "touchstone/interp/oracle/envelope.h"

// Products that an addition takes as they are, not rounded to their type (contraction.h says
// which).

namespace touchstone::interp {

/// Whether the result of rounding may stand for numbers beyond the largest.
template <class T>
bool is_saturated(const Legal<T>& x) {
  if constexpr (is_float_storage<T> && !has_infinities<T>)
    return x.number && (order_key(x.lo) == order_key(infinity<T>(true)) ||
                        order_key(x.hi) == order_key(infinity<T>()));
  else
    return false;
}

/// The legal values of a product where it is not rounded.
template <class T>
Legal<T> not_rounded(const Legal<T>& x) {
  return is_saturated(x) ? Legal<T>::unknown() : legal::widened(x, 1);
}

/// One term of an addition, or what hands it on: it may be a product that was never rounded.
template <class T>
Legal<T> addend(const LegalBlock& block, std::int64_t i) {
  const Legal<T> x = block.get<T>(i);
  if constexpr (is_float_storage<T>)
    if (block.unrounded(i)) return not_rounded(x);
  return x;
}

/// Operand k of a node that hands it on where an addition takes it.
template <class T>
Legal<T> operand(const ProgramNode& node, std::size_t k, const LegalBlock& block, std::int64_t i) {
  return node.contraction.reads_unrounded(k) ? addend<T>(block, i) : block.get<T>(i);
}

/// Whether it is x + x, that is x * 2, and an addition may take the product as it is.
inline bool doubles_unrounded(const ProgramNode& node) {
  return (node.op == Op::Add || node.op == Op::Sub) && node.contraction.is_product &&
         node.contraction.is_addend;
}

/// Whether a product with this leaves the other operand as it is, but for its sign.
template <class T>
bool is_one(const Legal<T>& x) {
  return x.is_point() && std::abs(scalar::detail::computing(x.lo)) == 1;
}

/// Marks the products of a determined block that are not the exact ones, so that not rounding them
/// changes something; with their radii where `with_balls`. Nothing where there are none.
void mark_inexact(const LegalBlock& a, const LegalBlock& b, LegalBlock& out, bool with_balls);

/// The same of x + x, of which the infinite are not exact.
void mark_doubled(const LegalBlock& x, LegalBlock& out, bool with_balls);

/// The same of nodes that hand such products on, one operand of determined ones for each element.
void hand_on_inexact(const ProgramNode& node, std::span<const LegalBlock* const> in,
                     LegalBlock& out);

/// -(a * b + c) is made one operation, which gives the other zero where the sum is 0: either zero.
void free_zeros(LegalBlock& block);

/// A reduce of one term that an addition takes: the term itself, which may be a product that was
/// never rounded.
std::unique_ptr<LegalReducer> one_term(std::unique_ptr<LegalReducer> inner);

}  // namespace touchstone::interp
