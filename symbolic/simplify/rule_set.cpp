// Compiles the rules that the matcher applies.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/simplify/match.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

using Op = Pattern::Op;
using Root = Rule::Root;

std::uint32_t kind_bit(NodeKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }

/// Compiles expressions to patterns.
class Compiler {
 public:
  explicit Compiler(const Exprs& exprs) : e_(exprs) {}

  Pattern sum(Expr e) const {
    Pattern p;
    add(p, e, 1);
    return p;
  }
  /// The comparison as a sum below, equal to or different from 0.
  Pattern compared(Expr e) const {
    Pattern p;
    Pattern::Item item;
    const ExprOp op = e_.op(e);
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
      case ExprOp::Constant: to.constant += e_.value(e) * by; return;
      case ExprOp::Add:
        add(to, e_.arg(e, 0), by);
        add(to, e_.arg(e, 1), by);
        return;
      case ExprOp::Sub:
        add(to, e_.arg(e, 0), by);
        add(to, e_.arg(e, 1), -by);
        return;
      case ExprOp::Neg: add(to, e_.arg(e, 0), -by); return;
      default: to.items.push_back(item(e)); to.items.back().coef = to.items.back().coef * by;
    }
  }

  Pattern::Item item(Expr e) const {
    Pattern::Item r;
    const auto args = [&](Op op) {
      r.op = op;
      for (const Expr a : e_.args(e)) r.args.push_back(sum(a));
    };
    switch (e_.op(e)) {
      case ExprOp::Variable: r.letter = letter(e); break;
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
      case ExprOp::Div: args(Op::Quotient); break;
      case ExprOp::Mod: args(Op::Remainder); break;
      case ExprOp::TruncDiv: args(Op::TruncQuotient); break;
      case ExprOp::TruncMod: args(Op::TruncRemainder); break;
      case ExprOp::Max:  // of 0 and another operand
        r.op = Op::Maximum;
        r.args.push_back(sum(e_.arg(e, 1)));
        break;
      default:
        throw Error(
            fmt::format("the matcher has no pattern for {}: leave out the rule's root and "
                        "let a procedure apply it, or extend Pattern (match.h)",
                        render(e_, e)));
    }
    return r;
  }

  const Exprs& e_;
};

std::uint32_t kinds_of(const Pattern& p) {
  std::uint32_t kinds = 0;
  for (const Pattern::Item& i : p.items) {
    if (i.op == Op::Maximum) kinds |= kind_bit(NodeKind::Max);
    if (i.op == Op::Product) kinds |= kind_bit(NodeKind::Product);
    if (i.op == Op::TruncQuotient) kinds |= kind_bit(NodeKind::TruncDiv);
    if (i.op == Op::TruncRemainder) kinds |= kind_bit(NodeKind::TruncMod);
  }
  return kinds;
}

/// The divisions that must occur: of any kind, or by a divisor that is no number.
std::uint32_t divisions_in(const Pattern& p) {
  std::uint32_t kinds = 0;
  for (const Pattern::Item& i : p.items) {
    if (i.op != Op::Quotient && i.op != Op::Remainder) continue;
    const std::vector<Pattern::Item>& by = i.args[1].items;
    const bool number = by.empty() || by[0].factor != 0 || is_constant_letter(by[0].letter);
    const NodeKind kind = i.op == Op::Quotient ? NodeKind::Div : NodeKind::Mod;
    kinds |= kind_bit(NodeKind::Digit) | (number ? 0 : kind_bit(kind));
  }
  return kinds;
}

/// The maximal number of terms that a sum can match; unlimited with a variable for expressions.
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

/// True if the sum is of two quotients with one divisor; in the table, such dividends differ by a
/// constant, unless the first is a negation.
bool twins(const Exprs& x, Expr sum) {
  const Expr a = x.arg(sum, 0), b = x.arg(sum, 1);
  return x.op(a) == ExprOp::Div && x.op(b) == ExprOp::Div && x.arg(a, 1) == x.arg(b, 1) &&
         x.op(x.arg(a, 0)) != ExprOp::Neg;
}

/// The divisions and maxima that must occur in a subject.
std::uint32_t kinds_in_text(const Rule& rule) {
  const auto has = [&](std::size_t at) { return at != std::string_view::npos; };
  const bool divides = rule.root == Root::Quotient || rule.root == Root::Remainder;
  return (!divides && has(rule.lhs.find_first_of("/%")) ? kind_bit(NodeKind::Digit) : 0) |
         (has(rule.lhs.find("max(")) ? kind_bit(NodeKind::Max) : 0) |
         (has(rule.lhs.find("tdiv(")) ? kind_bit(NodeKind::TruncDiv) : 0) |
         (has(rule.lhs.find("tmod(")) ? kind_bit(NodeKind::TruncMod) : 0);
}

void compile(const Rule& rule, CompiledRule::Patterns& r) {
  Exprs exprs;
  const Compiler compiler(exprs);
  const Expr lhs = parse_expr(exprs, rule.lhs);
  const auto put = [&](Pattern p) { r.parts.emplace_back().pattern = std::move(p); };
  if (rule.root == Root::Sum)
    for (const Pattern::Item& term : compiler.sum(lhs).items) put({0, {term}});
  else if (rule.root == Root::Below || rule.root == Root::Equal)
    put(compiler.compared(lhs).items[0].args[0]);
  else
    for (const Expr part : exprs.args(lhs))
      put(rule.root == Root::And ? compiler.compared(part) : compiler.sum(part));
  for (const Expr e : exprs.parts(lhs))
    if (exprs.op(e) == ExprOp::Variable) r.letters += exprs.name(e);
  for (CompiledRule::Part& part : r.parts) {
    const bool compared = rule.root == Root::And;
    const Pattern& p = compared ? part.pattern.items[0].args[0] : part.pattern;
    part.kinds = kinds_of(p) | divisions_in(p);
    part.most_terms = most_terms(p);
    r.kinds |= part.kinds;
    for (const Pattern::Item& i : p.items) r.scales |= i.factor != 0;
  }
  r.opposed = rule.root == Root::And && r.kinds == 0;
  r.twins = rule.root == Root::Sum && twins(exprs, lhs);
}

void read_outcome(const Rule& rule, CompiledRule::Outcome& r) {
  Exprs& x = r.exprs;
  r.rhs = parse_expr(x, rule.rhs);
  std::vector<Expr> list;
  if (!rule.when.empty()) list.push_back(parse_expr(x, rule.when));
  while (!list.empty()) {
    const Expr e = list.back();
    list.pop_back();
    if (x.op(e) == ExprOp::And)
      list.insert(list.end(), x.args(e).begin(), x.args(e).end());
    else
      r.conditions.push_back(e);
  }
  std::ranges::stable_partition(r.conditions, [&](Expr e) {
    return std::ranges::all_of(x.parts(e), [&](Expr part) {
      return x.op(part) != ExprOp::Variable || is_constant_letter(x.name(part)[0]);
    });
  });
}

/// The existing value, or a new one; if two threads race, both use the first.
template <class Part>
const Part& kept(std::atomic<const Part*>& place, const Rule& rule,
                 void (*make)(const Rule&, Part&)) {
  const Part* known = place.load();
  if (known) return *known;
  auto* const made = new Part;
  make(rule, *made);
  if (place.compare_exchange_strong(known, made)) return *made;
  delete made;
  return *known;
}

}  // namespace

CompiledRule::CompiledRule(const Rule& r, const CompiledRule* after)
    : rule(r), next(after), kinds(kinds_in_text(r)) {}

void check_matched(const Rule& rule) {
  try {
    CompiledRule::Patterns patterns;
    CompiledRule::Outcome outcome;
    compile(rule, patterns);
    read_outcome(rule, outcome);
    std::vector<Expr> sides = outcome.conditions;
    sides.push_back(outcome.rhs);
    for (const Expr side : sides)
      for (const Expr e : outcome.exprs.parts(side))
        if (outcome.exprs.op(e) == ExprOp::Variable &&
            patterns.letters.find(outcome.exprs.name(e)[0]) == std::string::npos)
          throw Error(fmt::format("the left side does not bind {}", outcome.exprs.name(e)));
  } catch (const Error& e) {
    throw Error(fmt::format("rule {}: {}", rule.name, e.what()));
  }
}

const CompiledRule::Patterns& CompiledRule::compiled_patterns() const {
  return kept(patterns_, rule, compile);
}

const CompiledRule::Outcome& CompiledRule::outcome() const {
  return kept(outcome_, rule, read_outcome);
}

const CompiledRule* compiled_rules(Root root) {
  using Groups = std::array<const CompiledRule*, 8>;
  static const Groups groups = [] {
    Groups made{};
    for (std::size_t i = rules().size(); i-- > 0;) {
      const Rule& rule = rules()[i];
      const CompiledRule*& first = made[static_cast<std::size_t>(rule.root)];
      // Never destroyed: contexts may outlive main.
      if (rule.root != Root::None) first = new CompiledRule(rule, first);
    }
    return made;
  }();
  return groups[static_cast<std::size_t>(root)];
}

}  // namespace touchstone::symbolic
