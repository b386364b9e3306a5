#include "touchstone/symbolic/match.h"

#include <algorithm>
#include <string>

#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

using Op = Pattern::Op;
using Root = CompiledRule::Root;

bool is_constant_letter(char letter) {
  return letter == 'c' || letter == 'd' || letter == 'k' || letter == 'm';
}

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
  /// What is below 0, or 0, where the comparison holds; nothing for what is no comparison.
  std::optional<Pattern> compared(Expr e) const {
    Pattern p;
    Pattern::Item item;
    const ExprOp op = e_.op(e);
    if (op != ExprOp::Lt && op != ExprOp::Gt && op != ExprOp::Le && op != ExprOp::Ge &&
        op != ExprOp::Eq)
      return std::nullopt;
    const bool swap = op == ExprOp::Gt || op == ExprOp::Ge;
    Pattern gap;
    add(gap, e_.arg(e, swap ? 1 : 0), 1);
    add(gap, e_.arg(e, swap ? 0 : 1), -1);
    if (op == ExprOp::Le || op == ExprOp::Ge) gap.constant -= 1;
    item.op = op == ExprOp::Eq ? Op::Equal : Op::Below;
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
    if (i.op == Op::Below || i.op == Op::Equal || (i.op == Op::Variable && !constant))
      return static_cast<std::size_t>(-1);
    most += i.op != Op::Variable;
  }
  return most;
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

/// value * ratio == s for one number; nullopt where there is none.
std::optional<Int> ratio(const Linear& s, const Linear& value) {
  if (value.terms.empty()) {
    if (!s.terms.empty() || value.constant.is_zero() || !divides(value.constant, s.constant))
      return std::nullopt;
    return floor_div(s.constant, value.constant);
  }
  if (s.terms.size() != value.terms.size()) return std::nullopt;
  if (!divides(value.terms[0].coef, s.terms[0].coef)) return std::nullopt;
  const Int r = floor_div(s.terms[0].coef, value.terms[0].coef);
  for (std::size_t i = 0; i < s.terms.size(); ++i)
    if (s.terms[i].atom != value.terms[i].atom || s.terms[i].coef != value.terms[i].coef * r)
      return std::nullopt;
  return s.constant == value.constant * r ? std::optional(r) : std::nullopt;
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

std::optional<Bindings> Matcher::match(const CompiledRule& rule, std::span<const Linear> subjects) {
  rule_ = &rule;
  Bindings bindings;
  const bool found = match_from(0, subjects, nullptr, bindings);
  return found ? std::optional(std::move(bindings)) : std::nullopt;
}

bool Matcher::match_from(std::size_t i, std::span<const Linear> subjects, const Goal* goals,
                         Bindings& bindings) {
  const std::size_t n = rule_->parts.size();
  if (i == n) return solve(goals, bindings);
  // The last is met first: of a quotient its divisor, which says more than its dividend.
  const bool divides = rule_->root == Root::Quotient || rule_->root == Root::Remainder;
  const std::size_t at = divides ? i : n - 1 - i;
  const Goal goal{&rule_->parts[at], 0, subjects[at], goals};
  return match_from(i + 1, subjects, &goal, bindings);
}

bool Matcher::take_bound(Goal& goal, const Bindings& bindings) {
  const Pattern& p = *goal.pattern;
  for (std::size_t i = 0; i < p.items.size(); ++i) {
    const Pattern::Item& item = p.items[i];
    if ((goal.done >> i & 1) || item.op != Op::Variable) continue;
    const Linear* value = bindings.find(item.letter);
    const Linear* factor = item.factor ? bindings.find(item.factor) : nullptr;
    if (!value || (item.factor && !factor)) continue;
    s_.add(goal.subject, *value, -(factor ? item.coef * factor->constant : item.coef));
    goal.done |= std::uint32_t{1} << i;
  }
  return true;
}

bool Matcher::solve_atom(const Pattern::Item& item, const Term& term, const Goal& rest,
                         Bindings& bindings) {
  const NodeData& n = s_.context()[term.atom];
  const std::size_t before = bindings.size();
  if (item.factor && !bindings.find(item.factor)) {
    if (!divides(item.coef, term.coef)) return false;
    bindings.bind(item.factor, Linear{floor_div(term.coef, item.coef), {}});
  } else {
    const Int factor = item.factor ? bindings.find(item.factor)->constant : Int(1);
    if (term.coef != item.coef * factor) return false;
  }
  const auto unless = [&](bool found) {
    if (!found) bindings.forget(before);
    return found;
  };
  const auto want = [&](const Pattern& p, Linear value, const Goal* goals) {
    return Goal{&p, 0, std::move(value), goals};
  };
  switch (item.op) {
    case Op::Variable:
      bindings.bind(item.letter, Linear{0, {Term{1, term.atom}}});
      return unless(solve(&rest, bindings));
    case Op::Quotient:
    case Op::Remainder: {
      const bool quotient = item.op == Op::Quotient;
      if (n.kind == (quotient ? Kind::Div : Kind::Mod)) {
        const Goal divisor = want(item.args[1], s_.linear(n.args[1]), &rest);
        const Goal dividend = want(item.args[0], s_.linear(n.args[0]), &divisor);
        return unless(solve(&dividend, bindings));
      }
      if (n.kind != Kind::Digit || n.second.is_zero() != quotient) return unless(false);
      if (quotient || n.first.is_one()) {
        const Goal divisor = want(item.args[1], Linear{quotient ? n.first : n.second, {}}, &rest);
        const Goal dividend = want(item.args[0], s_.linear(n.args[0]), &divisor);
        return unless(solve(&dividend, bindings));
      }
      // x // a % d is one digit
      const Pattern& inner = item.args[0];
      if (inner.items.size() != 1 || inner.items[0].op != Op::Quotient ||
          !inner.constant.is_zero() || !inner.items[0].coef.is_one())
        return unless(false);
      const Goal turns = want(item.args[1], Linear{floor_div(n.second, n.first), {}}, &rest);
      const Goal divisor = want(inner.items[0].args[1], Linear{n.first, {}}, &turns);
      const Goal dividend = want(inner.items[0].args[0], s_.linear(n.args[0]), &divisor);
      return unless(solve(&dividend, bindings));
    }
    case Op::Maximum: {
      if (n.kind != Kind::Max || n.args.size() != 1) return unless(false);
      const Goal member = want(item.args[0], s_.linear(n.args[0]), &rest);
      return unless(solve(&member, bindings));
    }
    case Op::Product: {
      if (n.kind != Kind::Product || n.args.size() != 2) return unless(false);
      for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
        const Goal second = want(item.args[1], s_.linear(n.args[1 - first]), &rest);
        const Goal one = want(item.args[0], s_.linear(n.args[first]), &second);
        const std::size_t bound = bindings.size();
        if (solve(&one, bindings)) return true;
        bindings.forget(bound);
      }
      return unless(false);
    }
    default:
      return unless(false);
  }
}

bool Matcher::may_stand(const Pattern::Item& item, const Term& term,
                        const Bindings& bindings) const {
  const Linear* const factor = item.factor ? bindings.find(item.factor) : nullptr;
  if (item.factor && !factor) {
    if (!divides(item.coef, term.coef)) return false;
  } else if (term.coef != (factor ? item.coef * factor->constant : item.coef)) {
    return false;
  }
  const NodeData& n = s_.context()[term.atom];
  switch (item.op) {
    case Op::Quotient:
      return n.kind == Kind::Div || (n.kind == Kind::Digit && n.second.is_zero());
    case Op::Remainder:
      return n.kind == Kind::Mod || (n.kind == Kind::Digit && !n.second.is_zero());
    case Op::Maximum:
      return n.kind == Kind::Max && n.args.size() == 1;
    case Op::Product:
      return n.kind == Kind::Product && n.args.size() == 2;
    default:
      return true;
  }
}

/// Whether a subject has more terms than the items of the pattern that are left can take.
bool Matcher::too_long(const Goal& goal) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < goal.pattern->items.size(); ++i) {
    if (goal.done >> i & 1) continue;
    const Pattern::Item& item = goal.pattern->items[i];
    if (item.op == Op::Below || item.op == Op::Equal) return false;
    if (item.op == Op::Variable && (item.factor != 0 || !is_constant_letter(item.letter)))
      return false;
    most += item.op != Op::Variable;
  }
  return goal.subject.terms.size() > most;
}

bool Matcher::solve(const Goal* goals, Bindings& bindings) {
  if (!goals) return holds(bindings);
  Goal goal = *goals;
  const Pattern& p = *goal.pattern;
  if (goal.done == 0) goal.subject.constant -= p.constant;
  take_bound(goal, bindings);
  if (too_long(goal)) return false;
  // An atom, or a variable with a factor, is any of the terms.
  const Pattern::Item *constant = nullptr, *rest = nullptr;
  for (std::size_t i = 0; i < p.items.size(); ++i) {
    if (goal.done >> i & 1) continue;
    const Pattern::Item& item = p.items[i];
    if (item.op == Op::Variable && item.factor == 0) {
      (is_constant_letter(item.letter) ? constant : rest) = &item;
      continue;
    }
    if (item.op == Op::Below || item.op == Op::Equal) {
      // Of a flag: what is compared with 0.
      const Goal compared{&item.args[0], 0, std::move(goal.subject), goal.next};
      return solve(&compared, bindings);
    }
    if (item.op == Op::Variable && bindings.find(item.letter)) {  // with a factor to be found
      const auto times = ratio(goal.subject, *bindings.find(item.letter));
      if (!times || !divides(item.coef, *times)) return false;
      bindings.bind(item.factor, Linear{floor_div(*times, item.coef), {}});
      goal.subject = Linear();
      goal.done |= std::uint32_t{1} << i;
      return solve(&goal, bindings);
    }
    const std::uint32_t done = goal.done | std::uint32_t{1} << i;
    if (done == goal.done) return false;
    for (std::size_t at = 0; at < goal.subject.terms.size(); ++at) {
      const Term& t = goal.subject.terms[at];
      if (!may_stand(item, t, bindings)) continue;
      Goal left{goal.pattern, done, goal.subject, goal.next};
      left.subject.terms.erase(left.subject.terms.begin() + at);
      const std::size_t before = bindings.size();
      if (solve_atom(item, t, left, bindings)) return true;
      bindings.forget(before);
    }
    return false;
  }
  if (rest) {
    Linear value = goal.subject;
    if (constant) value.constant = 0;
    if (!constant || !value.terms.empty()) {
      for (const Term& t : value.terms)
        if (!divides(rest->coef, t.coef)) return false;
      if (!divides(rest->coef, value.constant)) return false;
      for (Term& t : value.terms) t.coef = floor_div(t.coef, rest->coef);
      value.constant = floor_div(value.constant, rest->coef);
    }
    s_.add(goal.subject, value, -rest->coef);
    bindings.bind(rest->letter, std::move(value));
  }
  if (constant) {
    if (!goal.subject.is_constant() || !divides(constant->coef, goal.subject.constant))
      return false;
    bindings.bind(constant->letter, Linear{floor_div(goal.subject.constant, constant->coef), {}});
    goal.subject = Linear();
  }
  if (!goal.subject.is_constant() || !goal.subject.constant.is_zero()) return false;
  return solve(goal.next, bindings);
}

namespace {

/// The value of an expression whose variables stand for constants; nullopt where some do not.
std::optional<Int> number(const Exprs& x, Expr e, const Bindings& bindings) {
  const ExprOp op = x.op(e);
  if (op == ExprOp::Constant) return x.value(e);
  if (op == ExprOp::Variable) {
    const Linear* const value = bindings.find(x.name(e)[0]);
    return value->is_constant() ? std::optional(value->constant) : std::nullopt;
  }
  if (x.args(e).size() != 2) return std::nullopt;
  const auto a = number(x, x.arg(e, 0), bindings);
  const auto b = a ? number(x, x.arg(e, 1), bindings) : std::nullopt;
  if (!b) return std::nullopt;
  switch (op) {
    case ExprOp::Add:
      return *a + *b;
    case ExprOp::Sub:
      return *a - *b;
    case ExprOp::Mul:
      return *a * *b;
    case ExprOp::Mod:
      return b->is_zero() ? std::nullopt : std::optional(floor_mod(*a, *b));
    case ExprOp::Lt:
      return Int(*a < *b ? 1 : 0);
    case ExprOp::Le:
      return Int(*a <= *b ? 1 : 0);
    case ExprOp::Gt:
      return Int(*b < *a ? 1 : 0);
    case ExprOp::Ge:
      return Int(*b <= *a ? 1 : 0);
    case ExprOp::Eq:
      return Int(*a == *b ? 1 : 0);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool Matcher::holds(const Bindings& bindings) {
  for (const char letter : rule_->letters)
    if (!bindings.find(letter)) return false;
  return std::ranges::all_of(rule_->conditions, [&](Expr condition) {
    if (const auto known = number(RuleSet::instance().exprs(), condition, bindings))
      return known->is_one();
    return evaluate(condition, bindings) == Linear{1, {}};
  });
}

Linear Matcher::result(const CompiledRule& rule, const Bindings& bindings) {
  return evaluate(rule.rhs, bindings);
}

Linear Matcher::evaluate(Expr e, const Bindings& bindings) {
  const Exprs& x = RuleSet::instance().exprs();
  const auto arg = [&](std::size_t i) { return evaluate(x.arg(e, i), bindings); };
  const auto gap = [&](std::size_t i, std::size_t j, int constant) {
    Linear r = arg(i);
    s_.add(r, arg(j), -1);
    r.constant += constant;
    return r;
  };
  const auto flag = [&](Id id) { return s_.linear(id); };
  switch (x.op(e)) {
    case ExprOp::Constant:
      return Linear{x.value(e), {}};
    case ExprOp::Variable:
      return *bindings.find(x.name(e)[0]);
    case ExprOp::Add: {
      Linear r = arg(0);
      s_.add(r, arg(1));
      return r;
    }
    case ExprOp::Sub:
      return gap(0, 1, 0);
    case ExprOp::Neg:
      return -arg(0);
    case ExprOp::Mul:
      return s_.multiply(arg(0), arg(1));
    case ExprOp::Div:
      return s_.divide(arg(0), arg(1));
    case ExprOp::Mod:
      return s_.modulo(arg(0), arg(1));
    case ExprOp::Lt:
      return flag(s_.negative(gap(0, 1, 0)));
    case ExprOp::Le:
      return flag(s_.negative(gap(0, 1, -1)));
    case ExprOp::Gt:
      return flag(s_.negative(gap(1, 0, 0)));
    case ExprOp::Ge:
      return flag(s_.negative(gap(1, 0, -1)));
    case ExprOp::Eq:
      return flag(s_.zero(gap(0, 1, 0)));
    case ExprOp::Ne:
      return flag(s_.negate(s_.zero(gap(0, 1, 0))));
    case ExprOp::And:
    case ExprOp::Or: {
      Ids parts;
      for (std::size_t i = 0; i < x.args(e).size(); ++i) parts.push_back(s_.build(arg(i)));
      return flag(x.op(e) == ExprOp::And ? s_.both(parts) : s_.either(parts));
    }
    case ExprOp::Max: {
      const Linear members[] = {arg(0), arg(1)};
      return s_.maximum(members);
    }
    case ExprOp::Min: {
      const Linear members[] = {-arg(0), -arg(1)};
      return -s_.maximum(members);
    }
    default:
      throw Error("rules: the matcher cannot build " + render(x, e));
  }
}

}  // namespace touchstone::symbolic
