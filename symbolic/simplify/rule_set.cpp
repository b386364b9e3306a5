// Compiles the rules of the table that the matcher applies.
#include <algorithm>
#include <string>

#include "touchstone/symbolic/match.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

using Op = Pattern::Op;
using Root = CompiledRule::Root;

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
  /// The comparison as a gap below, equal to or apart from 0; nullopt where e is none.
  std::optional<Pattern> compared(Expr e) const {
    Pattern p;
    Pattern::Item item;
    const ExprOp op = e_.op(e);
    if (op != ExprOp::Lt && op != ExprOp::Gt && op != ExprOp::Le && op != ExprOp::Ge &&
        op != ExprOp::Eq && op != ExprOp::Ne)
      return std::nullopt;
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

RuleSet::RuleSet() {
  const auto terms_of = [&](Expr e) {  // of a sum without constants, each by itself
    std::vector<Pattern> terms;
    const Pattern all = Compiler(exprs_).sum(e);
    for (const Pattern::Item& i : all.items) {
      terms.emplace_back();
      terms.back().items.push_back(i);
    }
    return terms;
  };
  for (const Rule& rule : touchstone::symbolic::rules()) {
    if (!rule.matched) continue;
    CompiledRule r;
    r.rule = &rule;
    const Expr lhs = parse_expr(exprs_, rule.lhs);
    r.rhs = parse_expr(exprs_, rule.rhs);
    if (!rule.when.empty()) {
      std::vector<Expr> list{parse_expr(exprs_, rule.when)};
      while (!list.empty()) {
        const Expr e = list.back();
        list.pop_back();
        if (exprs_.op(e) == ExprOp::And)
          list.insert(list.end(), exprs_.args(e).begin(), exprs_.args(e).end());
        else
          r.conditions.push_back(e);
      }
      // First those on constants, which take least time.
      std::ranges::stable_partition(r.conditions, [&](Expr e) {
        return std::ranges::all_of(exprs_.parts(e), [&](Expr part) {
          return exprs_.op(part) != ExprOp::Variable || is_constant_letter(exprs_.name(part)[0]);
        });
      });
    }
    for (const Expr e : exprs_.parts(lhs))
      if (exprs_.op(e) == ExprOp::Variable) r.letters.push_back(exprs_.name(e)[0]);
    const Compiler compile(exprs_);
    switch (exprs_.op(lhs)) {
      case ExprOp::And:
        r.root = Root::And;
        for (const Expr part : exprs_.args(lhs)) r.parts.push_back(compile.compared(part).value());
        break;
      case ExprOp::Div:
      case ExprOp::Mod:
        r.root = exprs_.op(lhs) == ExprOp::Div ? Root::Quotient : Root::Remainder;
        for (const Expr part : exprs_.args(lhs)) r.parts.push_back(compile.sum(part));
        break;
      case ExprOp::Mul:
        r.root = Root::Product;
        for (const Expr part : exprs_.args(lhs)) r.parts.push_back(compile.sum(part));
        break;
      case ExprOp::Add:
      case ExprOp::Sub:
        r.parts = terms_of(lhs);
        break;
      default: {
        const Pattern p = compile.compared(lhs).value();
        r.root = p.items[0].op == Op::Equal ? Root::Equal : Root::Below;
        r.parts = p.items[0].args;
      }
    }
    for (const Pattern& p : r.parts) {
      r.kinds |= kinds_of(p);
      r.most_terms.push_back(most_terms(r.root == Root::And ? p.items[0].args[0] : p));
      r.constants.push_back(only_constant(p));
      if (r.root != Root::And && divides_in(p)) r.kinds |= kind_bit(Kind::Digit);
      for (const Pattern::Item& i : p.items) r.scales |= i.factor != 0;
    }
    if (r.root == Root::And) {
      for (const Pattern& p : r.parts) {
        const Pattern& inner = p.items[0].args[0];
        r.part_kinds.push_back(kinds_of(inner) | (divides_in(inner) ? kind_bit(Kind::Digit) : 0));
      }
      r.opposed = opposed(r.parts[0].items[0].args[0], r.parts[1].items[0].args[0]);
    }
    r.twins = r.root == Root::Sum && r.parts.size() == 2 && twins(r.parts[0], r.parts[1]);
    by_root_[static_cast<std::size_t>(r.root)].push_back(std::move(r));
  }
}

const RuleSet& RuleSet::instance() {
  static const RuleSet* const set = new RuleSet;  // never destroyed: contexts may outlive main
  return *set;
}

}  // namespace touchstone::symbolic
