#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/node/linear.h"
#include "touchstone/symbolic/number/id_map.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/match.h"
#include "touchstone/symbolic/simplify/trace.h"

namespace touchstone::symbolic {

/// Builds canonical nodes. Each function takes canonical parts and answers with the canonical form
/// of the operation on them; the laws it uses stand in rules.h under the names its comments give.
/// The caller holds the context's lock. Nothing here recurses on the depth of an expression: the
/// parts are canonical already, and what is rebuilt is at most the top levels.
class Simplifier {
 public:
  explicit Simplifier(Context& context) : c_(context) {}

  const Context& context() const { return c_; }
  Linear linear(Id id) const;
  /// Whether the node is that sum.
  bool is(Id id, const Linear& sum) const;
  /// The node of a sum.
  Id build(const Linear& sum);
  /// Whether building the sum would leave it as it is: its terms do not join, and it has more than
  /// one value.
  bool stands(const Linear& sum) const;
  /// to += factor * what
  void add(Linear& to, const Linear& what, const Int& factor = 1) const;
  void add(Linear& to, Id what, const Int& factor = 1) const;
  /// The node of a sum of many terms, each with its factor, in n log n.
  Id add_all(std::span<const Term> terms);

  Linear multiply(const Linear& a, const Linear& b);
  /// The product as a node: the same for both orders, also where multiplying out meets choices.
  Id product(Id a, Id b);
  /// Floor quotient and remainder. Throws Error where b is certainly 0.
  Linear divide(const Linear& a, const Linear& b);
  Linear modulo(const Linear& a, const Linear& b);
  /// (s // lo) % (hi / lo); lo >= 1, lo divides hi, hi = 0 is infinite.
  Linear digit(Linear s, const Int& lo, const Int& hi);

  Id negative(Linear s);  // s < 0
  Id zero(Linear s);      // s == 0
  Id truth(Id id);        // id != 0
  Id negate(Id boolean);  // 1 - boolean
  /// id != 0 as a flag without the facts in force, too, as the part of a node has to be.
  Id lasting_truth(Id id);
  Id both(std::span<const Id> booleans);
  Id either(std::span<const Id> booleans);

  /// a where the 0/1 expression c is 1, else b.
  Linear where(Id c, const Linear& a, const Linear& b);
  Linear maximum(std::span<const Linear> members);

  /// Sound bounds of a sum: each term by itself, trimmed by what the terms have in common, and by
  /// the facts of the assumptions in force.
  Interval bounds(const Linear& sum) const;
  /// The same of what all values of a sum have in common.
  Congruence congruence(const Linear& sum) const;

  /// From now on records each use of a rule; null ends it.
  void trace(Trace* trace) { trace_ = trace; }
  bool traced() const { return trace_ != nullptr; }

  /// root with nodes replaced, and all above them built anew. A division that becomes one by zero
  /// stays as a node of its own, which `defined` finds.
  using Replacements = SmallVector<std::pair<Id, Id>, 4>;  // of a few nodes, and by what
  Id rewritten(Id root, const Replacements& by);
  /// The same of several roots, in place.
  void rewrite(std::span<Id> roots, const Replacements& by);
  /// Whether root is `now` with nothing but variables replaced.
  bool renamed(Id now, Id root, const Replacements& back) const;
  bool defined(Id root) const;
  /// A node equal to root wherever all conditions hold; nullopt where they never hold together.
  /// bounds, which may be null, is trimmed to the values that root has there.
  std::optional<Id> under(Id root, std::span<const Id> conditions, Interval* bounds = nullptr);

 private:
  /// `now` holds what nodes became, and takes up more.
  Id rewritten(Id root, IdMap<Id>& now);
  using Clause = std::uint64_t;  // a set of members, by their places
  /// The largest, over the clauses, of the smallest member of each.
  struct Lattice {
    List<Linear> members;
    List<Clause> clauses;
  };
  struct Split {
    Linear quotient, remainder;
  };
  /// The bounds of a sum of residues nearest to 0, term by term, and whether a term has two as
  /// near.
  struct Nearest {
    Interval range;
    bool tied = false;
  };
  /// s = g * quotient + remainder with the remainder in [0, g) for all values of the variables,
  /// where such a split is found. `whole` asks that no atom be in both parts.
  std::optional<Split> split(const Linear& s, const Int& g, bool whole) const;
  /// The same with the residue nearest to 0 of each coefficient, but of the flipped term, of which
  /// it is the other one.
  std::optional<Split> split_with(const Linear& s, const Int& g, bool whole, std::size_t flipped,
                                  Nearest& nearest) const;
  bool open_quotient(Linear& s);
  Ids part_list(std::span<const Id> booleans);
  bool compare_parts(Ids& parts);
  /// Two parts that are one condition: the j-th goes into the i-th.
  bool meet_parts(Ids& parts, std::size_t i, std::size_t j);
  /// s == 0 as s <= 0 and s >= 0, where maxima in s leave one condition of that.
  std::optional<Id> between(const Linear& s);
  bool saturate(Linear& s);
  bool prune_alternatives(Ids& parts);
  bool factor_parts(Ids& parts);
  bool assume_parts(Ids& parts);
  /// Whether one part is the negation of another.
  bool opposed(std::span<const Id> parts);

  // apply.cpp: the rules of the table that the matcher applies
  bool apply_sum(Linear& s);
  std::optional<Linear> apply(Rule::Root root, std::span<const Linear> subjects);
  bool apply_and(Ids& parts);
  void applied(const CompiledRule& rule, const Bindings& bindings) const;
  bool simpler(Rule::Root root, std::span<const Linear> after,
               std::span<const Linear> before) const;

  Linear atom(Id id) const { return Linear{0, {Term{1, id}}}; }
  /// The node of a sum whose terms do not join any more; hash is hash_sum of it.
  Id settled(const Linear& s, std::uint64_t hash, Context::Place place = {});
  Linear node(Kind kind, std::span<const Id> args, const Interval& bounds, const Int& lo = 0,
              const Int& hi = 0);
  Id fixed_sum(const Linear& s, const Int& value);
  void sort_terms(Terms& terms) const;

  // assume.cpp
  using Facts = List<Linear>;                               // each is below 0
  using Overlay = SmallVector<std::pair<Id, Interval>, 4>;  // narrower bounds of variables
  Facts facts_of(std::span<const Id> conditions);
  void bound_dividend(const Linear& zero, Facts& facts) const;
  /// Narrows variables and remainders by the facts; false where no value is left.
  bool tighten(const Facts& facts, Overlay& overlay) const;
  bool drop_ends(std::span<const Id> conditions, Overlay& overlay) const;
  /// The facts that could say something of the nodes, an atom at a time; beside what variables are
  /// narrowed to.
  Facts of_use(const Facts& facts, std::span<const Id> nodes) const;
  Linear rebuilt(const NodeData& n, std::span<const Linear> args);
  /// Of a sum of variables, or of what is below 0 in a flag, where it and the facts, which
  /// narrow no variable, are so simple that the root changes only by what these bounds tell.
  std::optional<Interval> known_bounds(Id root, const Facts& facts);
  /// `under` what the node stands beside, which leaves a tall one as it is: what is nested would be
  /// built anew at each of its levels.
  std::optional<Id> within(Id root, std::span<const Id> conditions);
  /// Bounds from the facts in force, at most so many of them together.
  Interval fact_bounds(const Linear& sum, int most = 2) const;
  /// The variable that a condition x == y + k replaces, and by what.
  std::optional<std::pair<Id, Linear>> equal_variables(Id condition) const;
  /// Bounds of an atom by each fact: coef * atom + rest < 0 bounds the atom by a quotient.
  void solve(Facts& facts);
  /// Facts times factors of products in root.
  void multiply_facts(Facts& facts, Id root);

  // residue.cpp: what congruences tell
  /// sum = 0 (mod modulus); modulo 0 it is 0.
  struct Residue {
    Linear sum;
    Int modulus;
  };
  using Residues = List<Residue>;
  /// Residues from the conditions, and from remainders that they narrow to one number.
  Residues residues_of(std::span<const Id> conditions, const Overlay& overlay) const;
  /// Of single variables; false where no number is left.
  bool congruences_of(const Residues& residues, Table<Id, Congruence>& found) const;
  /// Bounds of single variables under conditions, and the congruences that these are.
  struct Narrowing {
    Overlay bounds;
    Residues residues;
    Table<Id, Congruence> strides;
  };
  /// False where no value of some variable is left. facts is facts_of the conditions.
  bool narrow(std::span<const Id> conditions, const Facts& facts, Narrowing& to) const;
  Congruence plain_congruence(const Linear& sum) const;
  Congruence residue_congruence(const Linear& sum, int most = 2) const;
  /// Some term has a congruence of its own, or facts may say one of several.
  bool strided(const Linear& s) const;
  // few_points.cpp
  /// The flag of that kind of a sum; a constant where looking at few points decides it.
  Id new_flag(Kind kind, Id sum);
  /// The same where looking decides it.
  std::optional<Id> by_points(Kind kind, Id sum);
  /// Whether the sum is below 0, or 0, at every point where it has a value, or at none; nullopt
  /// where neither is so, or there are many points.
  std::optional<bool> at_all_points(Kind kind, Id sum) const;
  /// Whether what is no multiple of a coefficient lies between two multiples of it: no sum is 0.
  bool lies_between_multiples(const Linear& s) const;
  /// Whether no values of its atoms, each within its bounds, make a sum of few values 0.
  bool steps_over_zero(const Linear& s) const;
  /// Terms count modulo a period, and some are known modulo it.
  bool drop_residues(Linear& s, const Int& lo, const Int& period);
  /// s = A + B, where A = k (mod c) and k + B lies in [0, c): A. The rule is named where B is not
  /// 0.
  bool drop_below_residue(Linear& s, const Int& divisor, std::string_view rule);
  bool open_exact_quotients(Linear& s);
  // recombine.cpp
  void recombine(Linear& s);
  void recombine_digits(Linear& s);
  bool join_remainder(Linear& s);
  void recombine_symbolic(Linear& s);
  void recombine_choices(Linear& s);
  bool join_choices(Linear& s);
  bool join_remainders(Linear& s);
  bool join_conditions(Linear& s);
  struct Division {
    Linear dividend, divisor;
  };
  /// The division that an atom is the remainder of.
  std::optional<Division> remainder_of(Id id);
  /// Turns top (k times a quotient of s) into a digit with a lower quotient of the same number.
  bool absorb_quotient(Linear& s, Linear& done, const Term& top);
  /// Taking m times the number out of s, for its remainder, leaves less, though not all its terms.
  bool lightens(const Linear& s, const Term& top, const Linear& part, const Int& m) const;
  /// Another term of s, or another digit's dividend, has an atom of this digit's dividend.
  bool related(const Linear& s, const Term& digit) const;
  int weight(const Linear& s) const;
  // turn.cpp
  /// The term is a remainder, and beside it there is what it takes to turn it.
  bool turns(const Linear& s, const Term& t) const;
  bool complement_remainder(Linear& s);
  struct QuotientCost {
    int all = 0, terms = 0;
    auto operator<=>(const QuotientCost&) const = default;
  };
  QuotientCost quotient_cost(const Linear& s, const Linear& dividend, const Int& k, const Int& lo,
                             bool complement) const;
  bool complement(Linear& s);
  void complement_quotients(Linear& s);
  bool wrap(Linear& s);
  bool shift_quotient(Linear& s);
  void join_opened(Linear& s, bool turn);
  /// to += factor * what, with its quotients as those that stand for others, too; whether any does.
  bool add_turned(Linear& to, const Linear& what, const Int& factor, int& steps);
  struct Nested {
    Linear inner, outer;  // whose sum is a quotient of a quotient that falls
  };
  std::optional<Nested> nested_turned(const Linear& d, const Int& lo);
  struct Side {
    Linear whole, shifted;  // d//lo is whole + shifted//lo, which is 0 or -1
    Linear near;            // shifted less what is below the factor in common, divided by that
    Int common, least;      // shifted//lo is near//least, too
  };
  std::optional<Side> side_of(const Linear& d, const Int& lo) const;
  // bounds.cpp
  Interval plain_bounds(const Linear& sum) const;
  /// bounds of a + factor * b
  Interval bounds_of_sum(const Linear& a, const Linear& b, const Int& factor) const;
  /// Bounds that hold without the facts: what a node may keep.
  Interval lasting_bounds(const Linear& sum) const;
  Interval relaxed_bounds(const Linear& sum) const;
  /// `shared` are the variables that several terms have; a term without one is left as it is.
  Interval choice_bounds(const Linear& sum, unsigned shared) const;
  /// Of a sum as functions of the sums that its maxima with 0 are of, at all places where these
  /// bend.
  Interval bend_bounds(const Linear& sum) const;
  /// Of the cases of each flag and choice, with what its condition says of the other terms.
  Interval case_bounds(const Linear& sum, unsigned shared) const;
  /// Bounds of s where the condition holds, or does not; nullopt where that is never so.
  std::optional<Interval> bounds_where(const Linear& s, Id condition, bool truth) const;
  /// Where all facts are below 0, and where another sum is not 0.
  std::optional<Interval> bounds_below(const Linear& s, std::span<const Linear> facts) const;
  std::optional<Interval> bounds_apart(const Linear& s, const Linear& other) const;
  Interval remainder_bounds(const Linear& sum) const;
  /// With straight lines below and above each product of two.
  Interval product_bounds(const Linear& sum, int most = 2) const;
  // slopes.cpp
  /// Surely takes values above and below every number.
  bool unbounded(const Linear& sum) const;
  // known.cpp: what was found a short while ago is not worked out again
  Linear new_digit(Linear s, Int lo, Int hi);
  Id flag(Linear s, bool equation);
  Id new_negative(Linear s);
  Id new_zero(Linear s);
  // digit.cpp
  bool lower_digits(Linear& s, const Int& lo, const Int& period);
  /// The digit as a straight line, where its quotient has but two values.
  std::optional<Linear> two_valued(const Linear& s, const Int& lo, const Int& hi);
  bool open_beside(Linear& s, const Int& low, const Int& high);
  bool fold_quotient(Linear& s, Int& lo, Int& hi);
  /// The same of a quotient that is taken away; `whole` is what comes out of the digit.
  bool fold_fallen_quotient(Linear& s, Int& lo, Int& hi, Linear& whole);
  static bool above_half(const Linear& s, const Int& period);
  /// -1 - s modulo the period, of a sum with all its numbers from 0 to that.
  static Linear complemented(const Linear& s, const Int& period);
  /// Records that (s//lo)%ratio is ratio - 1 less the same of -1 - s.
  void complement_laws(const Linear& s, const Int& lo, const Int& ratio);
  /// The one term that is a quotient; null where none is, or several are.
  const Term* only_quotient(const Linear& s) const;
  Terms factors_below(const Linear& s, const Int& lo, const Int& hi) const;
  // open_numbers.cpp
  /// In a sum k0*(x//c0) + k1*(x//c1) + ..., each divisor a multiple of the one before.
  struct Number {
    struct Place {
      Int divisor, factor;
      Id atom;  // kNoNode: x itself
    };
    Id dividend;
    Linear x;
    List<Place> places;
    std::size_t top = 0;  // below it all places become remainders; 0: none
    Int ratio(std::size_t place) const {
      return floor_div(places[place + 1].divisor, places[place].divisor);
    }
    Int carried(std::size_t place) const;
  };
  List<Number> numbers_in(const Linear& s);
  bool opens_within(const Linear& s, std::span<const Number> numbers, const Int& g) const;
  void open_number(Linear& s, const Number& n);
  struct OpenedNumbers {
    Int factor;  // of the divisor, by which the dividend then splits
    Split parts;
  };
  /// k*x + m*(x//c) as k*(x%c) + (k*c + m)*(x//c), where a part of a divisor is then less.
  std::optional<OpenedNumbers> open_numbers(const Linear& s, const Int& lo, const Int& hi);
  // condition.cpp
  bool at_last_remainder(const Linear& s) const;
  // choice.cpp
  static Int content(const Linear& s);
  static Linear divided(Linear s, const Int& factor);
  /// x of a node 1 - x, x a flag; any other node itself.
  Id negated(Id boolean) const;
  /// The sum that is below 0 exactly where the flag holds, of a comparison or its negation.
  std::optional<Linear> comparison(Id boolean) const;
  /// Whether `condition` holds where `known` does, as far as bounds tell.
  std::optional<bool> decided(Id condition, Id known);
  /// s as it is where `known` holds.
  Linear resolved(const Linear& s, Id known);
  /// A sum with a maximum that is 0 where the condition holds.
  bool vanishes(const Linear& s, Id condition);
  Linear select(Id c, Linear gap);
  /// A sum that is long, as one term: a choice holds its members twice, and must not grow by that.
  Linear shortened(const Linear& s);
  // lattice.cpp
  Lattice lattice_of(std::span<const Linear> members);
  /// `apart` opens also one of two choices that have nothing in common.
  List<Clause> clauses_of(const Linear& s, List<Linear>& members, bool apart = false,
                          int depth = 0);
  std::optional<List<Clause>> clamp_of(const Linear& s, const Terms& choices,
                                       List<Linear>& members);
  Clause member_of(Linear s, List<Linear>& members);
  void reduce(Lattice& lattice);
  /// Of two sums that are equal by their bounds, the one that stands for both.
  bool precedes(const Linear& a, const Linear& b) const;
  /// The maximum of two short sums without choices or quotients, in fewer steps.
  std::optional<Linear> larger_of_two(const Linear& a, const Linear& b);
  /// The maximum of more members than a set holds: those that another is never below go.
  Linear wide_maximum(List<Linear> members);
  void drop_low_members(List<Linear>& members);
  void drop_dominated(List<Linear>& members);
  /// Whether the largest smallest member is below 0, as far as the members' signs tell; else l is
  /// left with what matters for that.
  std::optional<bool> sign_of(Lattice& l) const;
  void drop_implied(List<Clause>& clauses, const List<Linear>& members) const;
  /// A simpler sum with choices that is below 0 exactly where s is.
  std::optional<Linear> same_sign(const Linear& s);
  /// Of a sum with a choice by a condition: the test in each branch, where that decides one.
  std::optional<Id> by_branch(const Linear& s, Id (Simplifier::*test)(Linear));
  std::optional<Linear> by_condition(std::span<const Linear> members);
  /// A digit has the part somewhere in its dividend, which is not large.
  bool depends(Id id, Id part) const;
  // lattice_build.cpp
  Linear built(Lattice lattice);
  /// The maximum; the first `plain` members are no choices, and the result is laid out from them.
  Linear largest(List<Linear> members, std::size_t plain);
  Linear positive_part(const Linear& s);
  std::optional<Linear> steps_of(const Lattice& lattice);
  std::optional<Linear> joint_quotient(const Lattice& lattice);
  // divide.cpp
  Linear divide_symbolic(Linear a, Linear b, bool remainder);
  /// Takes multiples of b out of a as far as that makes a no longer; the quotient.
  Linear long_division(Linear& a, const Linear& b, bool remainder);
  /// Divides a and b by the factors that all their terms have; the common factor.
  Linear cancel(Linear& a, Linear& b);
  /// kNoNode where it has not all the factors.
  static constexpr Id kNoNode = 0xffffffff;
  Id without(Id product, std::span<const Id> factors);
  /// Takes a quotient out of the dividend into the divisor, where that is positive.
  bool open_dividend(Linear& a, Linear& b);
  bool open_remainder(Linear& a, const Linear& b, bool remainder, Linear& quotient);
  /// Takes a factor in common, which is not 0, out of what is compared with 0.
  bool drop_factor(Linear& s, bool equation);
  bool drop_factor(Linear& s, Linear f, Linear x, Linear y, bool equation);
  /// s < 0, or s == 0, of a square and a number as a comparison of what is squared.
  std::optional<Id> by_square(const Linear& s, bool equation);
  // product.cpp
  Linear multiply_atoms(Id a, Id b);
  /// The factors of an atom.
  std::span<const Id> factors(const Id& atom) const;
  /// Joins digits that have the same cofactor, as they would join without it.
  bool recombine_products(Linear& s);
  /// A product of few factors, none of them tall.
  bool opens(Id atom) const;
  bool cofactors_meet(const Linear& s);
  /// The atom with its digits as plain quotients, of which no two are a number apart.
  Linear opened(Id atom, int& steps);
  /// Turns remainders and quotients in a dividend, or in a product there, into what joins the other
  /// terms; what was taken out of the quotient.
  std::optional<Linear> turn_beside(Linear& s, const Int& lo);

  /// Records the use of a rule of rules.h. `bind`, called only where someone listens, says what its
  /// variables stand for: law("div.div", [&](Instance& i) { i.bind("x", ...).bind("a", ...); }).
  template <class Bind>
  void law(std::string_view rule, const Bind& bind) const {
    if (!trace_) return;
    Instance use{rule};
    bind(use);
    trace_->record(std::move(use));
  }
  /// Records that an expression has but one value by its bounds.
  void fixed(Id id, const Int& value) const {
    law("bounds.fixed", [&](Instance& i) { i.bind("x", linear(id)).bind("k", value); });
  }
  Trace::Mark mark() const { return trace_ ? trace_->mark() : 0; }
  /// Forgets all uses since the mark: what they led to was not taken.
  void rewind(Trace::Mark mark) const {
    if (trace_) trace_->rewind(mark);
  }
  /// All uses since the mark served to write a result in terms of its source.
  void reverse_since(Trace::Mark mark) const {
    if (trace_) trace_->reverse(mark);
  }

  Context& c_;
  Trace* trace_ = nullptr;
  int depth_ = 0;                 // of recombine within recombine
  int deepest_ = 0;               // depth that was asked for since someone set it
  int matching_ = 0;              // of rules within rules
  bool assuming_ = false;         // within under
  bool inside_ = false;           // within `within`
  bool divided_by_zero_ = false;  // in `rewritten`; a product by 0 may hide it
  bool halving_ = false;          // within between
  Facts facts_;
  Residues residues_;
  mutable Linear last_sum_;  // whose lasting bounds were found last: they are often asked for twice
  mutable Interval last_bounds_;
  /// Bounds found before, each in the one place its hash gives it: under the facts of that number,
  /// or without facts, which is number 0.
  struct KnownBounds {
    Linear sum;
    Interval bounds;
    std::uint32_t facts = ~std::uint32_t{0};
  };
  /// Where the bounds of the sum are, or go; null while there were so few questions that a table
  /// does not pay.
  KnownBounds* place_of(const Linear& sum, std::uint32_t facts) const;
  mutable List<KnownBounds> known_;
  mutable std::uint32_t asked_ = 0;
  std::uint32_t facts_in_force_ = 0;  // the number of facts_ and residues_
  /// What results depend on beside the operands: the facts in force, whether rules are tried, and
  /// how deep in `recombine` they were asked for, where that came to its limit.
  struct Mode {
    std::uint32_t facts = 0, within = 0;
    int depth = 0, levels = 0;  // further ones that finding the result took
  };
  Mode mode() const;
  /// Whether what was found there is what would be found here.
  bool same_mode(const Mode& there, const Mode& here) const;
  struct KnownDigit {
    std::uint64_t hash = 0;
    Mode mode;
    Linear dividend;
    Int lo, hi;
    Linear result;
  };
  struct KnownFlag {
    std::uint64_t hash = 0;
    Mode mode;
    bool equation = false;
    Id flag = 0;
    Linear sum;
  };
  List<KnownDigit> digits_;  // the last few, in turn
  List<KnownFlag> flags_;
  std::size_t next_digit_ = 0, next_flag_ = 0;
};

/// Atoms that are 0 or 1 by their kind.
inline bool is_condition(Kind kind) {
  return kind == Kind::Negative || kind == Kind::Zero || kind == Kind::And;
}

/// The negation of a sum.
Linear operator-(const Linear& sum);

}  // namespace touchstone::symbolic
