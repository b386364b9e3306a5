#pragma once

#include <cstddef>
#include <cstdint>

namespace touchstone::symbolic {

/// All bounds on work and memory of the module. Exceeding one of the first three is an error; past
/// any other the result is correct, but may be longer, or an interval wider, than possible.
struct Limits {
  // ---- Exceeding it is an error.
  std::size_t digits = 1'000'000;        // of a number in a text
  std::size_t text_parts = 50'000'000;   // of a rendered expression
  std::size_t derivation_parts = 5'000;  // of an expression with a derivation

  // ---- Memory: past it, results are recomputed.
  std::size_t results = std::size_t{1} << 20;         // of operations, memoized by a context
  std::size_t tape_words = std::size_t{1} << 22;      // of tapes with memoized nodes
  std::size_t names = 4096;                           // kept when a context is cleared
  std::size_t session_bytes = std::size_t{8} << 20;   // of answers; past it the cache is emptied
  std::size_t scratch_bytes = std::size_t{64} << 20;  // of a session's context between questions

  // ---- Sums.
  std::int64_t folded_number = std::int64_t{1} << 31;  // larger nested quotients are not folded,
                                                       // and no coefficient is scaled beyond it
  std::size_t choice_terms = 24;       // a longer sum in a choice stays one term, and none expands
                                       // to a longer one
  std::size_t chain_terms = 8;         // of `+` and `-`; longer chains join at once, not one by one
  std::size_t choices_in_sum = 2;      // in a choice; with more, the sum stays one term
  std::size_t joined_terms = 16;       // a dividend that expands to more stays closed
  int dividend_forms = 16;             // rewrites of a dividend, since two forms may alternate
  std::size_t nested_digits = 6;       // with more, the whole part of a dividend stays inside
  std::ptrdiff_t opened_digits = 128;  // digits of one sum; more are not joined
  std::ptrdiff_t joined_digits = 24;   // quotients left over; more do not join to digits
  int turned_quotients = 32;           // intermediate quotients when turning one; further ones stay
  int turned_height = 8;               // taller digits are not turned
  int joined_depth = 4;                // sums in digits in sums; deeper ones are not joined
  std::size_t joined_conditions = 8;   // terms; longer sums do not merge choices on two conditions
  std::size_t product_terms = 64;      // past it, a factor that is a sum stays a factor
  std::size_t product_terms_by_one = 128;  // the same if the other factor is one term
  std::size_t joined_factors = 4;          // digits in longer products are not joined
  int division_steps = 16;                 // of a long division; past it the quotient stays
  std::size_t divisor_terms = 16;          // of a product of divisors; past it two divisions remain

  // ---- Rules that the matcher applies.
  int rules_in_rules = 3;            // rules tried on the result of a rule
  std::size_t matched_terms = 16;    // longer sums and comparisons of them are not matched
  std::size_t measured_nodes = 200;  // no rule applies to larger expressions

  // ---- max and min.
  std::size_t members = 10;           // with more, a nested maximum stays one member
  std::size_t clauses = 10;           // maxima of minima; past it, nested ones stay one member
  std::size_t members_at_once = 20;   // more are compared only pairwise
  std::size_t compared_members = 64;  // with more, only the ends of their ranges are compared
  int nested_clauses = 3;             // deeper choices stay one member
  std::size_t compared_terms = 8;     // a longer difference of members is bounded term by term
  std::size_t member_terms = 24;      // longer members are neither divided nor split jointly
  std::size_t condition_nodes = 64;   // of a quotient that is searched for a member
  std::size_t sign_members = 8;       // with more, the sign of a maximum is not simplified

  // ---- Conditions and assumptions.
  std::size_t flat_parts = 256;     // of an `and`; longer ones nest
  std::size_t assumed_parts = 12;   // with more, parts of an `and` do not simplify each other
  std::size_t compared_parts = 32;  // with more, parts are not compared pairwise
  std::size_t assumed_nodes = 256;  // a larger expression is unchanged under assumptions
  int chained_facts = 6;            // with more, at most two bound a sum together
  int fact_height = 6;              // of quotients and maxima that facts about their parts bound
  int assumed_height = 16;          // a taller one is unchanged under another part of it, and does
                                    // not simplify other parts
  std::int64_t flag_points = 16;    // with more, no point is evaluated to decide a comparison
  std::size_t pointed_nodes = 48;   // nor in a larger expression
  std::size_t contradicted_rows = 48;  // inequalities made by eliminating atoms
  int narrowings = 2;                  // rounds of deriving bounds from facts
  std::size_t facts = 12;        // in force at once, derived ones included; no more are derived
  std::size_t solved_facts = 8;  // with more, none is solved for an atom
  std::size_t fact_terms = 4;    // longer facts are neither multiplied nor solved
  std::size_t fact_pairs = 32;   // terms times facts; past it, facts are used one at a time

  // ---- Bounds: past it, terms are bounded one by one.
  std::size_t corner_variables = 6;        // of a piecewise linear sum
  std::int64_t corner_coefficient = 4096;  // in it
  int corner_depth = 3;                    // of nested maxima in it
  int bounded_choices = 3;                 // choices, products, or remainders, in a sum
  std::size_t case_terms = 8;              // of a sum whose choices are split into cases
  int listed_divisors = 16;                // values of a divisor that are enumerated
  std::size_t answer_corners = 6;          // variables whose corners are tried for exact bounds
  std::int64_t answer_work = 1'000'000;    // nodes evaluated for exact bounds of an answer
  std::size_t answer_variables = 20;       // with more there are too many points

  // ---- Rendering: past it, the text may be longer than possible.
  int absorbed_depth = 3;               // nested choices that absorb neighbouring terms
  int absorbed_choices = 4;             // of one sum
  std::size_t grouped_members = 8;      // members of a maximum that share a term
  std::size_t least_size = 1'000;       // sizes are distinguished up to it in estimates of forms
  std::size_t placed_size = 1'000'000;  // the same when terms are placed in choices
  std::size_t placed_cells = 1 << 14;   // members times terms of a choice; with more, only
                                        // placements that leave all or nothing beside it are tried
  std::size_t turned_digits = 4;        // of a sum whose complements are tried
  std::size_t tidied_parts = 200;       // of a question that stays, whose parts get their forms
  std::size_t later_nodes = 48;         // larger expressions are laid out part by part
  std::size_t reread_nodes = 128;       // a larger expression is not read back
  std::size_t reread_size = 400;        // nor one whose text is longer
  std::size_t reread_rounds = 12;       // of rendering and parsing until nothing changes

  std::size_t message_characters = 60;  // of a text quoted in a message; the rest is "..."

  // ---- Derivations and their checker: past it, a step is not explained or not accepted.
  int tried_places = 2'000;               // where an equation may apply, for each simplification
  std::int64_t derived_work = 4'000'000;  // polynomials for a chain of steps; fewer for fewer facts
  std::size_t spots = 4'000;              // of an expression that are searched, outermost first
  std::size_t tried_factors = 6;          // of an equation matched with terms of a sum
  int derived_rounds = 3;                 // of all rules on a part
  int derived_uses = 6;                   // of one rule in a round
  std::size_t monomials = 2'048;          // of an expanded product; past it, the product is an atom
  std::size_t maximum_members = 64;       // of a normal form
  std::size_t flags = 5;                  // flags that are split into cases
  int normal_rounds = 4;                  // of normalizing a maximum
  int cases = 300;                        // case splits to prove an equation
  int case_bounds = 25'000;               // bounds computed meanwhile
  int points = 24;                        // points tried before the case splits
  std::int64_t value_work = 1'000'000;    // nodes evaluated for an equation at all points
  int division_rounds = 64;               // of opening quotients in a case
  int case_values = 12;                   // values of an atom that are split
  std::int64_t case_residues = 24;        // residues of a divided variable
  std::size_t residues = 64;              // derived from facts
  std::size_t inequalities = 160;         // solved together; also the number of unknowns
  int pivots = 240;                       // of the simplex method
  int entailed_depth = 3;                 // facts applied to facts, nested cases
  int entailed_rounds = 3;                // of deriving bounds from facts
  int entailed_bounds = 20'000;           // computed to decide whether a condition is implied
  std::size_t entailed_terms = 40;        // longer polynomials are bounded term by term
  // A residue's modulus is at most the square of this.
  std::int64_t residue_modulus = std::int64_t{1} << 62;
};
inline constexpr Limits kLimits;

}  // namespace touchstone::symbolic
