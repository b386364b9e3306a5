// Compiles the rules of the table that the matcher applies.
#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "touchstone/symbolic/match.h"
#include "touchstone/symbolic/operators.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

using Op = Pattern::Op;
using Root = Rule::Root;

std::uint32_t kind_bit(Kind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }

/// Compiles expressions as written to patterns.
class Compiler {
 public:
  explicit Compiler(const Exprs& exprs) : e_(exprs) {}

  Pattern sum(Expr e) const {
    Pattern p;
    add(p, e, 1);
    return p;
  }
  /// The comparison as a gap below, equal to or apart from 0.
  Pattern compared(Expr e) const {
    Pattern p;
    Pattern::Item item;
    const ExprOp op = e_.op(e);
    if (info(op).level != info(ExprOp::Lt).level)
      throw Error("rules: no comparison: " + render(e_, e));
    const bool swap = op == ExprOp::Gt || op == ExprOp::Ge;
    Pattern gap;
    add(gap, e_.arg(e, swap ? 1 : 0), 1);
    add(gap, e_.arg(e, swap ? 0 : 1), -1);
    if (op == ExprOp::Le || op == ExprOp::Ge) gap.constant -= 1;
    item.op = op == ExprOp::Eq ? Op::Equal : op == ExprOp::Ne ? Op::Apart : Op::Below;
    item.args.push_back(std::move(gap));
    p.items.push_back(std::move(item));
    return p;
  }

 private:
  char letter(Expr e) const { return e_.op(e) == ExprOp::Variable ? e_.name(e)[0] : char{0}; }

  void add(Pattern& to, Expr e, const Int& by) const {
    switch (e_.op(e)) {
      case ExprOp::Constant:
        to.constant += e_.value(e) * by;
        return;
      case ExprOp::Add:
        add(to, e_.arg(e, 0), by);
        add(to, e_.arg(e, 1), by);
        return;
      case ExprOp::Sub:
        add(to, e_.arg(e, 0), by);
        add(to, e_.arg(e, 1), -by);
        return;
      case ExprOp::Neg:
        add(to, e_.arg(e, 0), -by);
        return;
      default:
        to.items.push_back(item(e));
        to.items.back().coef = to.items.back().coef * by;
    }
  }

  Pattern::Item item(Expr e) const {
    Pattern::Item r;
    const auto args = [&](Op op) {
      r.op = op;
      for (const Expr a : e_.args(e)) r.args.push_back(sum(a));
    };
    switch (e_.op(e)) {
      case ExprOp::Variable:
        r.letter = letter(e);
        break;
      case ExprOp::Mul:
        for (const int side : {0, 1}) {
          const Expr a = e_.arg(e, side == 0 ? 0 : 1), b = e_.arg(e, side == 0 ? 1 : 0);
          if (!e_.is_constant(a) && !is_constant_letter(letter(a))) continue;
          r = item(b);
          if (e_.is_constant(a))
            r.coef = r.coef * e_.value(a);
          else
            r.factor = letter(a);
          return r;
        }
        args(Op::Product);
        break;
      case ExprOp::Div:
        args(Op::Quotient);
        break;
      case ExprOp::Mod:
        args(Op::Remainder);
        break;
      case ExprOp::Max:  // of 0 and something
        r.op = Op::Maximum;
        r.args.push_back(sum(e_.arg(e, 1)));
        break;
      default:
        throw Error("rules: the matcher has no pattern for " + render(e_, e));
    }
    return r;
  }

  const Exprs& e_;
};

std::uint32_t kinds_of(const Pattern& p) {
  for (const Pattern::Item& i : p.items) {
    if (i.op == Op::Maximum) return kind_bit(Kind::Max);
    if (i.op == Op::Product) return kind_bit(Kind::Product);
  }
  return 0;
}

bool divides_in(const Pattern& p) {
  return std::ranges::any_of(p.items, [](const Pattern::Item& i) {
    return i.op == Op::Quotient || i.op == Op::Remainder;
  });
}

/// Terms that a sum can take at most; a variable that is no constant takes any number.
std::size_t most_terms(const Pattern& p) {
  std::size_t most = 0;
  for (const Pattern::Item& i : p.items) {
    const bool constant = i.op == Op::Variable && i.factor == 0 && is_constant_letter(i.letter);
    if (Pattern::is_comparison(i.op) || (i.op == Op::Variable && !constant))
      return static_cast<std::size_t>(-1);
    most += i.op != Op::Variable;
  }
  return most;
}

/// The constant of a sum that it matches, where no variable may stand for a part of it.
std::optional<Int> only_constant(const Pattern& p) {
  const auto takes = [](const Pattern::Item& i) {
    return Pattern::is_comparison(i.op) || i.op == Op::Variable;
  };
  return std::ranges::any_of(p.items, takes) ? std::nullopt : std::optional(p.constant);
}

/// Whether two sums, whatever their variables stand for, add up to a constant.
bool opposed(const Pattern& a, const Pattern& b) {
  const auto varies = [](const Pattern::Item& i) {
    return i.op != Op::Variable || i.factor != 0 || !is_constant_letter(i.letter);
  };
  std::size_t left = 0, right = 0;
  for (const Pattern::Item& i : b.items) right += varies(i);
  for (const Pattern::Item& i : a.items) {
    if (!varies(i)) continue;
    ++left;
    const auto cancels = [&](const Pattern::Item& j) {
      return i.op == Op::Variable && j.op == Op::Variable && i.letter == j.letter &&
             i.factor == j.factor && i.coef == -j.coef;
    };
    if (std::ranges::count_if(b.items, cancels) != 1) return false;
  }
  return left == right;
}

/// Whether two patterns match the same sums, given what their variables stand for; what is constant
/// in them may differ where that is `aside`.
bool alike(const Pattern& a, const Pattern& b, bool aside) {
  const auto counts = [&](const Pattern::Item& i) {
    const bool constant = i.op == Op::Variable && i.factor == 0 && is_constant_letter(i.letter);
    return !(aside && constant);
  };
  const auto same = [&](const Pattern::Item& i, const Pattern::Item& j) {
    return i.coef == j.coef && i.factor == j.factor && i.op == j.op && i.letter == j.letter &&
           std::ranges::equal(i.args, j.args, [&](const Pattern& x, const Pattern& y) {
             return alike(x, y, false);
           });
  };
  std::vector<const Pattern::Item*> left, right;
  for (const Pattern::Item& i : a.items)
    if (counts(i)) left.push_back(&i);
  for (const Pattern::Item& i : b.items)
    if (counts(i)) right.push_back(&i);
  if (!aside && a.constant != b.constant) return false;
  return std::ranges::equal(
      left, right, [&](const Pattern::Item* i, const Pattern::Item* j) { return same(*i, *j); });
}

/// Whether two terms are quotients with one divisor, their dividends but a constant apart.
bool twins(const Pattern& a, const Pattern& b) {
  if (a.items.size() != 1 || b.items.size() != 1) return false;
  const Pattern::Item &x = a.items[0], &y = b.items[0];
  return x.op == Op::Quotient && y.op == Op::Quotient && alike(x.args[1], y.args[1], false) &&
         alike(x.args[0], y.args[0], true);
}

}  // namespace

namespace {

/// Divisions and maxima among the terms of what is matched, but for the division that is its root.
std::uint32_t kinds_in_text(const Rule& rule) {
  int divisions = rule.root == Root::Quotient || rule.root == Root::Remainder ? -1 : 0;
  int depth = 0;
  bool maxima = false;
  for (std::size_t i = 0; i < rule.lhs.size(); ++i) {
    const std::string_view rest = rule.lhs.substr(i);
    depth += rest[0] == '(' ? 1 : rest[0] == ')' ? -1 : 0;
    if (depth > 0) continue;
    divisions += rest[0] == '%' || rest.starts_with("//");
    maxima |= rest.starts_with("max(");
  }
  return (divisions > 0 ? kind_bit(Kind::Digit) : 0) | (maxima ? kind_bit(Kind::Max) : 0);
}

CompiledRule::Patterns compiled(const Rule& rule) {
  Exprs exprs;
  const Compiler compiler(exprs);
  CompiledRule::Patterns r;
  const Expr lhs = parse_expr(exprs, rule.lhs);
  const auto arguments = [&](std::initializer_list<ExprOp> roots) {
    if (std::ranges::find(roots, exprs.op(lhs)) == roots.end())
      throw Error("rules: the root of " + std::string(rule.name) + " is another one");
    return exprs.args(lhs);
  };
  switch (rule.root) {
    case Root::And:
      for (const Expr part : arguments({ExprOp::And})) r.parts.push_back(compiler.compared(part));
      break;
    case Root::Sum:
      arguments({ExprOp::Add, ExprOp::Sub});
      for (const Pattern::Item& term : compiler.sum(lhs).items)
        r.parts.emplace_back().items.push_back(term);
      break;
    case Root::Below:
    case Root::Equal:
      arguments({rule.root == Root::Below ? ExprOp::Lt : ExprOp::Eq});
      r.parts = compiler.compared(lhs).items[0].args;
      break;
    default:
      for (const Expr part : arguments({rule.root == Root::Quotient    ? ExprOp::Div
                                        : rule.root == Root::Remainder ? ExprOp::Mod
                                                                       : ExprOp::Mul}))
        r.parts.push_back(compiler.sum(part));
  }
  for (const Expr e : exprs.parts(lhs))
    if (exprs.op(e) == ExprOp::Variable) r.letters.push_back(exprs.name(e)[0]);
  for (const Pattern& part : r.parts) {
    const bool compared = rule.root == Root::And;
    const Pattern& p = compared ? part.items[0].args[0] : part;
    const std::uint32_t kinds = kinds_of(p) | (divides_in(p) ? kind_bit(Kind::Digit) : 0);
    r.part_kinds.push_back(kinds);
    r.kinds |= kinds;
    r.most_terms.push_back(most_terms(p));
    r.constants.push_back(compared ? std::nullopt : only_constant(p));
    for (const Pattern::Item& i : p.items) r.scales |= i.factor != 0;
  }
  if (rule.root == Root::And)
    r.opposed = opposed(r.parts[0].items[0].args[0], r.parts[1].items[0].args[0]);
  r.twins = rule.root == Root::Sum && r.parts.size() == 2 && twins(r.parts[0], r.parts[1]);
  return r;
}

}  // namespace

CompiledRule::CompiledRule(const Rule& r) : rule(r), kinds(kinds_in_text(r)) {}

const CompiledRule::Patterns& CompiledRule::patterns() const {
  std::call_once(patterns_read_, [&] { patterns_ = compiled(rule); });
  return patterns_;
}

const CompiledRule::Outcome& CompiledRule::outcome() const {
  std::call_once(outcome_read_, [&] {
    Exprs& x = outcome_.exprs;
    outcome_.rhs = parse_expr(x, rule.rhs);
    std::vector<Expr> list;
    if (!rule.when.empty()) list.push_back(parse_expr(x, rule.when));
    while (!list.empty()) {
      const Expr e = list.back();
      list.pop_back();
      if (x.op(e) == ExprOp::And)
        list.insert(list.end(), x.args(e).begin(), x.args(e).end());
      else
        outcome_.conditions.push_back(e);
    }
    std::ranges::stable_partition(outcome_.conditions, [&](Expr e) {
      return std::ranges::all_of(x.parts(e), [&](Expr part) {
        return x.op(part) != ExprOp::Variable || is_constant_letter(x.name(part)[0]);
      });
    });
  });
  return outcome_;
}

const std::deque<CompiledRule>& compiled_rules(Root root) {
  using Groups = std::array<std::deque<CompiledRule>, 8>;
  static const Groups* const groups = [] {
    auto* const made = new Groups;  // never destroyed: contexts may outlive main
    for (const Rule& rule : rules())
      if (rule.root != Root::None) (*made)[static_cast<std::size_t>(rule.root)].emplace_back(rule);
    return made;
  }();
  return (*groups)[static_cast<std::size_t>(root)];
}

}  // namespace touchstone::symbolic
