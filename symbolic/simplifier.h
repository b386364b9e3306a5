#pragma once

#include <optional>
#include <span>

#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {

/// constant + the sum of coef * atom; atoms sorted by `compare`, none twice, no coefficient 0. The
/// working form of the simplifier: every expression is one.
struct Linear {
  Int constant;
  Terms terms;

  bool is_constant() const { return terms.empty(); }
  bool operator==(const Linear&) const = default;
};

/// Builds canonical nodes. Each function takes canonical parts and answers with the canonical form
/// of the operation on them; the laws it uses stand in rules.h under the names its comments give.
/// The caller holds the context's lock. Nothing here recurses on the depth of an expression: the
/// parts are canonical already, and what is rebuilt is at most the top levels.
class Simplifier {
 public:
  explicit Simplifier(Context& context) : c_(context) {}

  Linear linear(Id id) const;
  /// The node of a sum.
  Id build(const Linear& sum);
  /// to += factor * what
  void add(Linear& to, const Linear& what, const Int& factor = 1) const;
  void add(Linear& to, Id what, const Int& factor = 1) const;
  /// The node of a sum of many terms, each with its factor, in n log n.
  Id add_all(std::span<const Term> terms);

  Linear multiply(const Linear& a, const Linear& b);
  /// Floor quotient and remainder. Throws Error where b is certainly 0.
  Linear divide(const Linear& a, const Linear& b);
  Linear modulo(const Linear& a, const Linear& b);
  /// (s // lo) % (hi / lo); lo >= 1, lo divides hi, hi = 0 is infinite.
  Linear digit(Linear s, Int lo, Int hi);

  Id negative(Linear s);  // s < 0
  Id zero(Linear s);      // s == 0
  Id truth(Id id);        // id != 0
  Id negate(Id boolean);  // 1 - boolean
  Id both(std::span<const Id> booleans);
  Id either(std::span<const Id> booleans);

  /// a where the 0/1 expression c is 1, else b.
  Linear where(Id c, const Linear& a, const Linear& b);
  Linear maximum(std::span<const Linear> members);

  /// Sound bounds of a sum: each term by itself, trimmed by what the terms have in common.
  Interval bounds(const Linear& sum) const;

 private:
  struct Split {
    Linear quotient, remainder;
  };
  /// s = g * quotient + remainder with the remainder in [0, g) for all values of the variables,
  /// where such a split is found. `whole` asks that no atom be in both parts.
  std::optional<Split> split(const Linear& s, const Int& g, bool whole) const;
  std::optional<Split> split_with(const Linear& s, const Int& g, bool whole,
                                  std::size_t flipped) const;
  Ids part_list(std::span<const Id> booleans);

  Linear atom(Id id) const { return Linear{0, {Term{1, id}}}; }
  Linear node(Kind kind, std::span<const Id> args, const Interval& bounds, const Int& lo = 0,
              const Int& hi = 0);
  void sort_terms(Terms& terms) const;

  // sum.cpp
  void recombine(Linear& sum);
  Interval relaxed_bounds(const Linear& sum) const;
  Interval choice_bounds(const Linear& sum, const Interval& known) const;
  // digit.cpp
  bool lower_digits(Linear& s, const Int& period);
  bool fold_quotient(Linear& s, Int& lo, Int& hi);
  Terms factors_below(const Linear& s, const Int& lo, const Int& hi) const;
  // divide.cpp
  Linear divide_symbolic(Linear a, Linear b, bool remainder);
  Linear long_division(Linear& a, const Linear& b);
  // product.cpp
  Linear multiply_atoms(Id a, Id b);

  Context& c_;
};

/// The negation of a sum.
Linear operator-(const Linear& sum);

}  // namespace touchstone::symbolic
