#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "touchstone/symbolic/node/linear.h"
#include "touchstone/symbolic/number/id_map.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/match.h"
#include "touchstone/symbolic/simplify/trace.h"

namespace touchstone::symbolic {

/// Builds canonical nodes. Each function takes canonical operands and returns the canonical form of
/// its operation; rules.h has the laws, under the names that comments use. The caller holds the
/// context's lock. Nothing recurses on the depth of an expression: operands are already canonical,
/// and at most their top levels are rebuilt.
class Simplifier {
 public:
  explicit Simplifier(Context& context) : c_(context) {}

  const Context& context() const { return c_; }
  Linear linear(Id id) const { return linear_of(c_, id); }
  /// True if the node is that sum.
  bool is(Id id, const Linear& sum) const;
  /// The node of a sum.
  Id build(const Linear& sum);
  /// True if building the sum would leave it unchanged: no terms join, and it has more than one
  /// value.
  bool stands(const Linear& sum) const;
  /// to += factor * what
  void add(Linear& to, const Linear& what, const Int& factor = 1) const;
  void add(Linear& to, Id what, const Int& factor = 1) const;
  /// a + factor * what, for a sum or an Id
  template <class What>
  Linear plus(const Linear& a, const What& what, const Int& factor = 1) const {
    Linear r = a;
    add(r, what, factor);
    return r;
  }
  /// The node of a sum of many terms, each with its factor, in O(n log n).
  Id add_all(std::span<const Term> terms);

  /// The operation on canonical operands, which sums give away. The sum may remain to be built.
  Id operate(ExprOp op, std::span<const Id> args);
  Linear operate(ExprOp op, std::span<Linear> args);
  /// The node of a chain of `+` and `-`: one operation after the other, except in a long chain.
  Id chain(std::span<const Term> terms);
  /// Replaces a sum whose terms join by its canonical form.
  void settle(Linear& sum);

  Linear multiply(const Linear& a, const Linear& b);
  /// The product as a node, independent of operand order even if expansion meets choices.
  Id product(Id a, Id b);
  /// Floor quotient and remainder. Throws Error if b is certainly 0.
  Linear divide(const Linear& a, const Linear& b);
  Linear modulo(const Linear& a, const Linear& b);
  /// C's quotient or remainder. Throws Error if y is certainly 0.
  Linear truncated(Linear x, Linear y, bool remainder);
  /// The same as a choice between floor's.
  Linear by_signs(const Linear& x, const Linear& y, bool remainder);
  /// root with all such nodes opened.
  Id without_truncations(Id root);
  /// (s // lo) % (hi / lo); lo >= 1, lo divides hi, hi = 0 is infinity.
  Linear digit(Linear s, const Int& lo, const Int& hi);

  Id negative(Linear s);  // s < 0
  Id zero(Linear s);      // s == 0
  Id truth(Id id);        // id != 0
  Id negate(Id boolean);  // 1 - boolean
  /// id != 0 as a flag that does not depend on the facts in force, as parts of nodes require.
  Id lasting_truth(Id id);
  Id both(std::span<const Id> booleans);
  Id either(std::span<const Id> booleans);

  /// a where the 0/1 expression c is 1, else b.
  Linear where(Id c, const Linear& a, const Linear& b);
  Linear maximum(std::span<const Linear> members);

  /// Sound bounds of a sum: term by term, trimmed by the congruence of the terms and by the assumed
  /// facts in force.
  Interval bounds(const Linear& sum) const;
  /// The congruence of all values of a sum, with the facts in force.
  Congruence congruence(const Linear& sum) const;

  /// Records each use of a rule from now on; null stops it.
  void trace(Trace* trace) { trace_ = trace; }
  bool traced() const { return trace_ != nullptr; }

  /// root with nodes replaced and everything above them rebuilt. A division that becomes one by
  /// zero stays as a node, which `defined` detects.
  using Replacements = SmallVector<std::pair<Id, Id>, 4>;  // nodes and their replacements
  Id rewritten(Id root, const Replacements& by);
  /// Rewrites several roots in place.
  void rewrite(std::span<Id> roots, const Replacements& by);
  /// True if root equals `now` with only variables renamed.
  bool renamed(Id now, Id root, const Replacements& back) const;
  bool defined(Id root) const;
  /// A node equal to root wherever all conditions hold; nullopt if they never hold together. Trims
  /// `bounds`, if not null, to the values of root there.
  std::optional<Id> under(Id root, std::span<const Id> conditions, Interval* bounds = nullptr);
  /// An assumption where the earlier ones hold, which may choose a member of its maxima; nullopt if
  /// they contradict each other.
  std::optional<Id> given(Id condition, std::span<const Id> earlier);

 private:
  /// `now` maps nodes to their rewritten forms and is extended.
  Id rewritten(Id root, IdMap<Id>& now);
  using Clause = std::uint64_t;  // a set of member indices
  /// The maximum over the clauses of the minimum of each clause's members.
  struct Lattice {
    List<Linear> members;
    List<Clause> clauses;
  };
  struct Split {
    Linear quotient, remainder;
  };
  /// Term-by-term bounds of a sum of residues nearest to 0; `tied` if some term has two such
  /// residues.
  struct Nearest {
    Interval range;
    bool tied = false;
  };
  /// s = g * quotient + remainder with the remainder always in [0, g), if such a split is found.
  /// `whole` requires that no atom occur in both parts.
  std::optional<Split> split(const Linear& s, const Int& g, bool whole) const;
  /// The same with each coefficient's residue nearest to 0, except that the term `flipped` uses its
  /// other residue.
  std::optional<Split> split_with(const Linear& s, const Int& g, bool whole, std::size_t flipped,
                                  Nearest& nearest) const;
  bool open_quotient(Linear& s);
  Ids part_list(std::span<const Id> booleans);
  bool compare_parts(Ids& parts);
  /// Merges part j into part i if the two make one condition.
  bool meet_parts(Ids& parts, std::size_t i, std::size_t j);
  /// s == 0 as s <= 0 and s >= 0, if maxima in s reduce that to one condition.
  std::optional<Id> between(const Linear& s);
  bool saturate(Linear& s);
  bool prune_alternatives(Ids& parts);
  bool factor_parts(Ids& parts);
  bool assume_parts(Ids& parts);
  /// True if one part is the negation of another.
  bool opposed(std::span<const Id> parts);

  // apply.cpp: rules applied by the matcher
  bool apply_sum(Linear& s);
  std::optional<Linear> apply(Rule::Root root, std::span<const Linear> subjects);
  bool apply_and(Ids& parts);
  void applied(const CompiledRule& rule, const Bindings& bindings) const;
  bool simpler(Rule::Root root, std::span<const Linear> after,
               std::span<const Linear> before) const;

  Linear atom(Id id) const { return Linear{0, {Term{1, id}}}; }
  /// The node of a sum whose terms no longer join; `hash` is its hash_sum.
  Id settled(const Linear& s, std::uint64_t hash, Context::Place place = {});
  Linear node(NodeKind kind, std::span<const Id> args, const Interval& bounds, const Int& lo = 0,
              const Int& hi = 0);
  Id fixed_sum(const Linear& s, const Int& value);
  void sort_terms(Terms& terms) const;

  // assume.cpp
  using Facts = List<Linear>;                               // each is < 0
  using Overlay = SmallVector<std::pair<Id, Interval>, 4>;  // narrower bounds of variables
  Facts facts_of(std::span<const Id> conditions);
  void bound_dividend(const Linear& zero, Facts& facts) const;
  /// Narrows variables and remainders by the facts; false if no value is left.
  bool tighten(const Facts& facts, Overlay& overlay) const;
  bool drop_ends(std::span<const Id> conditions, Overlay& overlay) const;
  /// The facts that can affect the nodes, found atom by atom, beyond the narrowed variables.
  Facts of_use(const Facts& facts, std::span<const Id> nodes) const;
  Linear rebuilt(const NodeData& n, std::span<const Linear> args);
  /// Bounds of a sum of variables, or of the sum compared in a flag, if it and the facts, which
  /// narrow no variable, are so simple that assuming them changes only these bounds.
  std::optional<Interval> known_bounds(Id root, const Facts& facts);
  /// Like `under`, for a part under its siblings; leaves a tall root unchanged, since nested ones
  /// would be rebuilt at every level.
  std::optional<Id> within(Id root, std::span<const Id> conditions);
  /// Bounds from up to `most` of the facts in force together.
  Interval fact_bounds(const Linear& sum, int most = 2) const;
  /// The first or second variable of a condition x == y + k, and its replacement.
  std::optional<std::pair<Id, Linear>> equal_variables(Id condition, bool first) const;
  /// Solves each fact for its atoms: coef * atom + rest < 0 bounds the atom by a quotient.
  void solve(Facts& facts);
  /// Adds products of facts with factors of products in root.
  void multiply_facts(Facts& facts, Id root);

  // residue.cpp: consequences of congruences
  /// sum = 0 (mod modulus); modulus 0 means sum = 0.
  struct Residue {
    Linear sum;
    Int modulus;
  };
  using Residues = List<Residue>;
  /// Residues from the conditions and from remainders that the overlay narrows to one value.
  Residues residues_of(std::span<const Id> conditions, const Overlay& overlay) const;
  /// Congruences of single variables; false if a variable has no value left.
  bool congruences_of(const Residues& residues, Table<Id, Congruence>& found) const;
  /// Bounds and congruences of single variables under conditions.
  struct Narrowing {
    Overlay bounds;
    Residues residues;
    Table<Id, Congruence> strides;
  };
  /// False if some variable has no value left. `facts` is facts_of the conditions.
  bool narrow(std::span<const Id> conditions, const Facts& facts, Narrowing& to);
  bool narrow_by_cases(Id condition, Narrowing& to);
  Congruence plain_congruence(const Linear& sum) const;
  Congruence residue_congruence(const Linear& sum, int most = 2) const;
  /// True if a term has its own congruence, or facts may give several terms one.
  bool strided(const Linear& s) const;
  // few_points.cpp
  /// A flag of that kind on a sum; a constant if few points decide it.
  Id new_flag(NodeKind kind, Id sum);
  /// The constant, if evaluating few points decides the flag.
  std::optional<Id> by_points(NodeKind kind, Id sum);
  /// True if the sum is below 0 (or 0) at every point where it has a value, false if at none;
  /// nullopt if neither holds or there are too many points.
  std::optional<bool> at_all_points(NodeKind kind, Id sum) const;
  /// True if the sum is never 0 because the rest lies strictly between two multiples of a
  /// coefficient.
  bool lies_between_multiples(const Linear& s) const;
  /// True if no values of its atoms within their bounds make a sum with few values 0.
  bool steps_over_zero(const Linear& s) const;
  /// Simplifies terms that count only modulo a period and are known modulo it.
  bool drop_residues(Linear& s, const Int& lo, const Int& period);
  /// Reduces s = A + B to A if A = k (mod c) and k + B lies in [0, c). Traces the rule if B is not
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
  /// C's quotient beside a flag that rounds it down or up, as floor's.
  bool round_truncation(Linear& s);
  bool truncate_quotient(Linear& s);
  struct Division {
    Linear dividend, divisor;
  };
  /// The dividend and divisor of the remainder that the atom is.
  std::optional<Division> remainder_of(Id id);
  /// Turns top (k times a quotient of s) into a digit with a lower quotient of the same number.
  bool absorb_quotient(Linear& s, Linear& done, const Term& top);
  /// True if taking m times the number out of s for its remainder makes s lighter but keeps some of
  /// its terms.
  bool lightens(const Linear& s, const Term& top, const Linear& part, const Int& m) const;
  /// True if another term of s or another digit's dividend shares an atom with this digit's
  /// dividend.
  bool related(const Linear& s, const Term& digit) const;
  int weight(const Linear& s) const;
  // turn.cpp
  /// True if the term is a remainder and the terms beside it allow its complement.
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
  bool wrap_symbolic(Linear& s);
  /// The same for one choice: `whole`, equal to s, has the term t, which adds `added` where
  /// `zero` is below 0, or is 0.
  bool wrap_symbolic(Linear& s, const Linear& whole, const Term& t, const Linear& zero,
                     const Linear& added, bool below);
  bool shift_quotient(Linear& s);
  void join_opened(Linear& s, bool turn);
  /// to += factor * what, with quotients replaced by equivalent ones; true if any was replaced.
  bool add_turned(Linear& to, const Linear& what, const Int& factor, int& steps);
  struct Nested {
    Linear inner, outer;  // their sum is d // lo, where d subtracts an inner quotient
  };
  std::optional<Nested> nested_turned(const Linear& d, const Int& lo);
  struct Side {
    Linear whole, shifted;  // d//lo is whole + shifted//lo; the latter is 0 or -1
    Linear near;            // shifted without its residue modulo `common`, over `common`
    Int common, least;      // shifted//lo equals near//least
  };
  std::optional<Side> side_of(const Linear& d, const Int& lo) const;
  // bounds.cpp
  Interval plain_bounds(const Linear& sum) const;
  /// The same with quotients and maxima bounded by the facts about their parts.
  Interval part_bounds(const Linear& sum) const;
  /// Bounds of a + factor * b.
  Interval bounds_of_sum(const Linear& a, const Linear& b, const Int& factor) const;
  /// Bounds that hold without the facts, as nodes may store them.
  Interval lasting_bounds(const Linear& sum) const;
  /// The sum of the bounds of groups of terms that share no variables; nullopt if fewer than two
  /// groups have several terms. `shared` variables occur in several terms.
  std::optional<Interval> bounds_of_groups(const Linear& sum, unsigned shared) const;
  Interval relaxed_bounds(const Linear& sum, bool under_facts = false) const;
  /// Bounds by cases of choices; terms with none of the `shared` variables, which occur in several
  /// terms, are bounded separately.
  Interval choice_bounds(const Linear& sum, unsigned shared) const;
  /// Bounds of a sum with maxima as a piecewise linear function, evaluated at its breakpoints.
  Interval bend_bounds(const Linear& sum) const;
  /// Bounds by cases of each flag and choice, applying its condition to the other terms.
  Interval case_bounds(const Linear& sum, unsigned shared) const;
  /// Bounds of s where the condition is `truth`; nullopt if it never is.
  std::optional<Interval> bounds_where(const Linear& s, Id condition, bool truth) const;
  /// Bounds of s where all facts are below 0, or where another sum is not 0.
  std::optional<Interval> bounds_below(const Linear& s, std::span<const Linear> facts) const;
  std::optional<Interval> bounds_apart(const Linear& s, const Linear& other) const;
  Interval remainder_bounds(const Linear& sum) const;
  /// Bounds with linear under- and overestimates of each product of two.
  Interval product_bounds(const Linear& sum, int most = 2) const;
  // slopes.cpp
  /// True if the sum certainly takes arbitrarily large and small values.
  bool unbounded(const Linear& sum) const;
  // known.cpp: memos of recent results
  Linear new_digit(Linear s, Int lo, Int hi);
  Id flag(Linear s, bool equation);
  Id new_negative(Linear s);
  Id new_zero(Linear s);
  // digit.cpp
  bool lower_digits(Linear& s, const Int& lo, const Int& period);
  /// The digit as a linear function if its quotient has only two values.
  std::optional<Linear> two_valued(const Linear& s, const Int& lo, const Int& hi);
  bool open_beside(Linear& s, const Int& low, const Int& high);
  bool fold_quotient(Linear& s, Int& lo, Int& hi);
  /// The same for a subtracted quotient; `whole` receives what leaves the digit.
  bool fold_fallen_quotient(Linear& s, Int& lo, Int& hi, Linear& whole);
  static bool above_half(const Linear& s, const Int& period);
  /// -1 - s modulo the period, every number reduced to [0, period).
  static Linear complemented(const Linear& s, const Int& period);
  /// Traces that (s//lo)%ratio is ratio - 1 minus the same digit of -1 - s.
  void complement_laws(const Linear& s, const Int& lo, const Int& ratio);
  /// The only quotient among the terms; null if there is none or more than one.
  const Term* only_quotient(const Linear& s) const;
  Terms factors_below(const Linear& s, const Int& lo, const Int& hi) const;
  // open_numbers.cpp
  /// The digits of one number x in a sum, as quotients k0*(x//c0) + k1*(x//c1) + ..., each divisor
  /// a multiple of the previous one.
  struct Number {
    struct Place {
      Int divisor, factor;
      Id atom;  // kNoNode: x itself
    };
    Id dividend;
    Linear x;
    List<Place> places;
    std::size_t top = 0;  // places below it become remainders; 0: none
    bool digits = false;  // some were finite digits
    Int ratio(std::size_t place) const {
      return floor_div(places[place + 1].divisor, places[place].divisor);
    }
    Int carried(std::size_t place) const;
  };
  /// Opens in s, a copy, finite digits of numbers that have several.
  List<Number> numbers_in(const Linear& given, Linear& s);
  bool opens_within(const Linear& s, std::span<const Number> numbers, const Int& g) const;
  void open_number(Linear& s, const Number& n);
  struct OpenedNumbers {
    Int factor;  // of the divisor, by which the dividend then splits; 0: into multiples of the
                 // period, which drop out, and fewer terms than before
    Split parts;
  };
  /// k*x + m*(x//c) as k*(x%c) + (k*c + m)*(x//c), if a factor of the divisor then splits.
  std::optional<OpenedNumbers> open_numbers(const Linear& given, const Int& lo, const Int& hi,
                                            bool reduce);
  // condition.cpp
  bool at_last_remainder(const Linear& s) const;
  // choice.cpp
  static Int content(const Linear& s);
  static Linear divided(Linear s, const Int& factor);
  /// x if the node is 1 - x for a flag x; any other node itself.
  Id negated(Id boolean) const;
  /// The sum that is below 0 exactly where the flag, a comparison or its negation, holds.
  std::optional<Linear> comparison(Id boolean) const;
  /// The truth of `condition` where `known` holds, if bounds decide it.
  std::optional<bool> decided(Id condition, Id known);
  /// s simplified where `known` holds.
  Linear resolved(const Linear& s, Id known);
  /// True if the sum contains a maximum that is 0 where the condition holds.
  bool vanishes(const Linear& s, Id condition);
  Linear select(Id c, Linear gap);
  /// A long sum as a single term: a choice holds its members twice and must not double it.
  Linear shortened(const Linear& s);
  // lattice.cpp
  Lattice lattice_of(std::span<const Linear> members);
  /// `apart` also opens one of two unrelated choices.
  List<Clause> clauses_of(const Linear& s, List<Linear>& members, bool apart = false,
                          int depth = 0);
  std::optional<List<Clause>> clamp_of(const Linear& s, const Terms& choices,
                                       List<Linear>& members);
  Clause member_of(Linear s, List<Linear>& members);
  Interval gap_bounds(const Linear& gap, bool by_law = false);
  void reduce(Lattice& lattice);
  /// The canonical choice between two sums that are equal by their bounds.
  bool precedes(const Linear& a, const Linear& b) const;
  /// A fast path for the maximum of two short sums without choices or quotients.
  std::optional<Linear> larger_of_two(const Linear& a, const Linear& b);
  std::optional<Linear> joint_truncation(const Linear& a, const Linear& b);
  /// The maximum of more members than a set holds; drops members never above another.
  Linear wide_maximum(List<Linear> members);
  void drop_low_members(List<Linear>& members);
  void drop_dominated(List<Linear>& members);
  /// True if the lattice is below 0, as decided by the members' signs; otherwise reduces l to what
  /// matters for its sign.
  std::optional<bool> sign_of(Lattice& l) const;
  void drop_implied(List<Clause>& clauses, const List<Linear>& members) const;
  /// A simpler sum with choices that is below 0 exactly where s is.
  std::optional<Linear> same_sign(const Linear& s);
  /// The test applied in each branch of a choice in s, if that decides one branch.
  std::optional<Id> by_branch(const Linear& s, Id (Simplifier::*test)(Linear));
  std::optional<Linear> by_condition(std::span<const Linear> members);
  /// True if a digit of limited size has the part in its dividend.
  bool depends(Id id, Id part) const;
  // lattice_build.cpp
  Linear built(Lattice lattice);
  /// The maximum, built starting from the first `plain` members, which are not choices.
  Linear largest(List<Linear> members, std::size_t plain);
  Linear positive_part(const Linear& s);
  std::optional<Linear> steps_of(const Lattice& lattice);
  std::optional<Linear> joint_quotient(const Lattice& lattice);
  // divide.cpp
  Linear divide_symbolic(Linear a, Linear b, bool remainder);
  std::optional<Linear> truncated_again(const Term& t, const Linear& c, bool remainder);
  /// Reduces a by multiples of b as long as it gets no longer; returns the quotient.
  Linear long_division(Linear& a, const Linear& b, bool remainder);
  /// Divides a and b by the factors common to all their terms; returns the common factor.
  Linear cancel(Linear& a, Linear& b);
  /// Returned by `without` if the product lacks some of the factors.
  static constexpr Id kNoNode = 0xffffffff;
  Id without(Id product, std::span<const Id> factors);
  /// Moves a quotient from the dividend into the divisor, if that is positive.
  bool open_dividend(Linear& a, Linear& b);
  bool open_remainder(Linear& a, const Linear& b, bool remainder, Linear& quotient);
  /// Cancels a nonzero common factor in a comparison with 0.
  bool drop_factor(Linear& s, bool equation);
  bool drop_factor(Linear& s, Linear f, Linear x, Linear y, bool equation);
  /// s < 0 or s == 0, for s a square and a number, as a comparison of the base.
  std::optional<Id> by_square(const Linear& s, bool equation);
  // product.cpp
  Linear multiply_atoms(Id a, Id b);
  /// The factors of an atom.
  std::span<const Id> factors(const Id& atom) const;
  /// Joins digits with the same cofactor as if it were absent.
  bool recombine_products(Linear& s);
  /// True for a product of few factors, none of them tall.
  bool opens(Id atom) const;
  bool cofactors_meet(const Linear& s);
  /// The atom with its digits opened to quotients; equal ones up to a number are unified.
  Linear opened(Id atom, int& steps);
  /// Opens remainders and quotients in a dividend, or in products there, so that they join other
  /// terms; returns what left the quotient.
  std::optional<Linear> turn_beside(Linear& s, const Int& lo);

  /// Traces a use of a rule of rules.h. `bind` sets the rule's variables and is called only while
  /// tracing: law("div.div", [&](Instance& i) { i.bind("x", ...).bind("a", ...); }).
  template <class Bind>
  void law(std::string_view rule, const Bind& bind) const {
    if (!trace_) return;
    Instance use{rule};
    bind(use);
    trace_->record(std::move(use));
  }
  /// The same with values that exist: law("div.div", "x", x, "a", a); an Id stands for its sum.
  template <class Value, class... Rest>
  void law(std::string_view rule, std::string_view name, const Value& value,
           const Rest&... rest) const {
    law(rule, [&](Instance& i) { bind(i, name, value, rest...); });
  }
  void bind(Instance&) const {}
  template <class Value, class... Rest>
  void bind(Instance& i, std::string_view name, const Value& value, const Rest&... rest) const {
    if constexpr (std::is_same_v<Value, Id>)
      i.bind(name, linear(value));
    else
      i.bind(name, value);
    bind(i, rest...);
  }
  /// Traces that an expression has a single value by its bounds.
  void fixed(Id id, const Int& value) const { law("bounds.fixed", "x", id, "k", value); }
  Trace::Mark mark() const { return trace_ ? trace_->mark() : 0; }
  /// Drops all uses since the mark, because their result was discarded.
  void rewind(Trace::Mark mark) const {
    if (trace_) trace_->rewind(mark);
  }
  /// Reverses all uses since the mark: they wrote a result in terms of its source.
  void reverse_since(Trace::Mark mark) const {
    if (trace_) trace_->reverse(mark);
  }

  Context& c_;
  Trace* trace_ = nullptr;
  int depth_ = 0;                 // nesting of recombine
  int deepest_ = 0;               // maximal depth requested since the last reset
  int matching_ = 0;              // nesting of rules in rules
  bool assuming_ = false;         // in `under`
  bool inside_ = false;           // in `within`
  bool divided_by_zero_ = false;  // in `rewritten`; a product by 0 may hide the division
  bool halving_ = false;          // in `between`
  bool opening_ = false;          // in `without_truncations`
  Facts facts_;
  Residues residues_;
  mutable Linear last_sum_;  // argument of the last lasting_bounds, often repeated
  mutable Interval last_bounds_;
  /// A direct-mapped cache of bounds, keyed by the sum and the number of its fact set; 0 is no
  /// facts.
  struct KnownBounds {
    Linear sum;
    Interval bounds;
    std::uint32_t facts = ~std::uint32_t{0};
  };
  /// The cache entry for the sum; null until enough questions make a table worthwhile.
  KnownBounds* place_of(const Linear& sum, std::uint32_t facts) const;
  mutable List<KnownBounds> known_;
  mutable std::uint32_t asked_ = 0;
  std::uint32_t facts_in_force_ = 0;  // the number of the fact set in facts_ and residues_
  /// The state besides the operands that results depend on: the facts in force, whether rules are
  /// tried, and, if the limit was reached, the depth in `recombine`.
  struct Mode {
    std::uint32_t facts = 0, within = 0;
    int depth = 0, levels = 0;  // levels: further nesting that the result took
  };
  Mode mode() const;
  /// True if a result found in mode `there` is valid in mode `here`.
  bool same_mode(const Mode& there, const Mode& here) const;
  /// A digit of a sum, or a flag: lo = 1 is an equation.
  template <class Result>
  struct Known {
    std::uint64_t hash = 0;
    Mode mode;
    Linear sum;
    Int lo, hi;
    Result result{};
  };
  template <class Result>
  struct Recent {
    List<Known<Result>> list;  // round-robin
    std::size_t next = 0;
  };
  template <class Result, class Make>
  Result remembered(Recent<Result>& recent, const Linear& s, const Int& lo, const Int& hi,
                    const Make& make);
  Recent<Linear> digits_;
  Recent<Id> flags_;
};

/// True for kinds whose values are 0 and 1.
inline bool is_condition(NodeKind kind) {
  return kind == NodeKind::Negative || kind == NodeKind::Zero || kind == NodeKind::And;
}

/// The negation of a sum.
Linear operator-(const Linear& sum);
inline Linear shifted(Linear sum, const Int& by) {
  sum.constant += by;
  return sum;
}

}  // namespace touchstone::symbolic
