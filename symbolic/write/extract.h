#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/node/linear.h"
#include "touchstone/symbolic/number/id_map.h"

namespace touchstone::symbolic {

/// One operation of a rendering. A Sub from the constant 0 is a negation, rendered `-x`.
struct Form {
  ExprOp op = ExprOp::Constant;
  Int value;                          // Constant
  const std::string* name = nullptr;  // Variable
  SmallVector<int, 4> args;
  std::size_t size = 1;      // operators, variables and constants, repeats counted
  std::int64_t largest = 0;  // magnitude of the largest constant
  Interval bounds;           // set if the forms are for code
};

/// Chooses the rendering of a canonical node: the side of each term in a comparison, the place of
/// common factors, the choices that absorb the sum around them. Each node is laid out once: the
/// smallest of a few candidates, of equals that with the smaller constants, built from the forms of
/// its atoms.
class Extractor {
 public:
  /// Purpose of the forms: text may divide by a negative constant if that is shorter.
  enum class For : std::uint8_t { Text, Code };
  Extractor(const Context& context, For purpose) : c_(context), purpose_(purpose) {
    forms_.reserve(32);
  }
  /// The index of the node's form in forms().
  int extract(Id root) { return extract(root, {}); }
  /// `nodes` is reachable(root) if already known, else empty.
  int extract(Id root, std::span<const Id> nodes);
  const List<Form>& forms() const { return forms_; }

 private:
  using Sum = Linear;
  /// coef * an existing form.
  struct Item {
    Int coef;
    int form;
  };
  using Items = SmallVector<Item>;

  Sum sum_of(Id id) const { return linear_of(c_, id); }
  Sum plus(const Sum& a, const Sum& b, const Int& factor) const;
  static Int coefficient(const Sum& s, Id atom);
  /// Removes the term.
  void take(Sum& s, const Term& t) const;
  std::size_t size(int form) const { return forms_[static_cast<std::size_t>(form)].size; }
  /// The smaller one; of equals the one with smaller constants, else a.
  int smaller_form(int a, int b) const {
    const Form &x = forms_[static_cast<std::size_t>(a)], &y = forms_[static_cast<std::size_t>(b)];
    return std::pair(y.size, y.largest) < std::pair(x.size, x.largest) ? b : a;
  }

  int constant(const Int& value);
  int apply(ExprOp op, std::initializer_list<int> args);
  int chained(ExprOp op, std::span<const int> parts);
  int scaled(int form, const Int& factor);
  /// A remainder of a multiple or a negation, scaled by a positive factor, as one remainder:
  /// (x*k) % m * f is x*(k*f) % (m*f). -1 if impossible.
  int scaled_modulo(int form, const Int& factor);

  int lay_out(Id id);
  /// The form of a node on its own.
  int form_of(Id id);
  int lay_out_digit(const NodeData& n);
  int lay_out_digit(const NodeData& n, Sum dividend, int whole);
  /// The digit of -1 minus its number; the original is a constant minus this one.
  int complement(Id digit);
  int compared(const Sum& s, ExprOp op);
  /// left - right + constant compared with 0; a side has terms unless neither does.
  int sides(Sum left, Sum right, const Int& constant, ExprOp op);
  int negation(Id atom);
  int negated_part(Id part);

  // sums
  int lay_out_sum(const Sum& s, int depth = 0);
  /// The sum in its given shape, with the items laid out already.
  int lay_out_with(const Sum& s, int depth, Items items);
  bool absorbs(const Sum& s) const;
  int absorbed(const Sum& s, int depth, Items items);
  /// Replaces digits by their complements so that `constant` remains; empty if none qualify.
  Items turn_digits(Sum& s, const Int& constant);
  /// Reduces coefficients to the residues nearest to 0: modulo b, b - 1 is -1.
  static Sum nearest(Sum dividend, const Int& period);
  /// Matches k*(x%c) - k*(c - 1).
  bool is_minus_complement(const Sum& s) const;
  /// -(x % c) as (-x) % -c, and x%c - (c - 1) as (x + 1) % -c; -1 if the term is no modulo.
  int turned_modulo(const Term& t, int depth);
  /// Moves terms beside the quotient, or in a choice of the sum, into the dividend if that is
  /// shorter.
  void take_in_beside(Sum& work, Sum& dividend, const Int& k, const Int& divisor, int depth);
  void absorb_quotient(Sum& work, const Term& digit, int depth, Items& items);
  /// coef * (dividend // divisor) + work
  struct Quotient {
    Sum work, dividend;
    Int coef;
    int form = -1;
  };
  /// q laid out with the terms beside it moved in; `whole` is the original quotient.
  Quotient absorbed_quotient(Quotient q, const Int& divisor, std::optional<Id> whole, int depth);
  /// min(x*4, y) // 4 as min(x, y // 4); -1 if no member is a multiple.
  int divided_members(int form, const Int& divisor);
  /// The quotient of a dividend whose form is `form`.
  int quotient(const Sum& dividend, int form, const Int& divisor, int depth);
  /// k - k*flag as k times the negated flag; only if that is `no_longer` than the flag.
  void turn_flag(Sum& work, Items& items, bool no_longer = false);
  void factor_products(Sum& work, Items& items);
  int join(Items items, const Int& constant);
  int join_plain(const Items& items, const Int& constant);
  Items plain_items(const Sum& s);
  /// A lower bound on the size of plain forms of the sum.
  std::size_t least_plain(const Sum& s) const;

  // choices: extract_choice.cpp, extract_placement.cpp
  struct Choice;
  struct Placement;
  using Members = SmallVector<Sum, 4>;
  bool chooses(const Sum& s, const Term& flag) const;
  bool opposite(Id a, Id b) const;
  /// True if a quotient in `work` has the choice in its dividend and may absorb the whole sum.
  bool divided(const Sum& work, Id choice) const;
  /// True if choices remain for quotients to absorb.
  bool absorb_choices(Sum& work, int depth, bool quotients_first, Items& items);
  std::optional<Choice> choice_of(const Sum& work, const Term& t);
  Placement best_placement(const Sum& work, const Choice& choice);
  template <class Number, class Row>
  class Table;
  void place(Sum& work, const Choice& choice, int depth, Items& items);
  List<Placement> whole_placements(const Sum& work, const Choice& choice) const;
  int lay_out_choice(const Choice& choice, const Placement& at, int depth);
  /// A member of a choice on an equation, simplified by that equation.
  int lay_out_met(const Sum& member, const Choice& choice, int depth);
  bool has_choice(const Sum& s) const;
  int grouped(ExprOp op, Members members, int depth);

  /// Memo of sums that absorb their neighbours, by depth: nested choices lay out the same sums
  /// repeatedly.
  struct LaidOut {
    Sum sum;
    int depth;
    bool operator==(const LaidOut&) const = default;
  };
  struct Hash {
    std::size_t operator()(const LaidOut& key) const;
  };
  std::unordered_map<LaidOut, int, Hash, std::equal_to<LaidOut>,
                     Pooled<std::pair<const LaidOut, int>>>
      laid_out_;  // forms

  const Context& c_;
  For purpose_;
  List<Form> forms_;
  IdMap<int> best_;
  IdMap<int> complements_;
};

/// A form as Python-like text; shared parts are repeated. Throws Error if it exceeds 50 million
/// parts. The text is written into the storage of `memory`.
std::string render(const List<Form>& forms, int root, std::string memory = {});

}  // namespace touchstone::symbolic
