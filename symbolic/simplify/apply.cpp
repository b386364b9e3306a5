// Finds where rules of the table match. A rule is applied only if the result is simpler by the
// measure below, so every chain of applications ends.
#include <algorithm>
#include <tuple>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/match.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

std::uint32_t kinds_in(const Context& c, const Linear& s) {
  std::uint32_t kinds = 0;
  for (const Term& t : s.terms) {
    const auto bit = [](NodeKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); };
    const NodeKind kind = c.kind(t.atom);
    kinds |= bit(kind);
    if (kind == NodeKind::Div || kind == NodeKind::Mod) kinds |= bit(NodeKind::Digit);
  }
  return kinds;
}

bool scaled(const Linear& s) {
  return std::ranges::any_of(s.terms, [](const Term& t) { return !abs(t.coef).is_one(); });
}

/// The order in which rules must descend: comparisons and divisions, then choices, number of parts,
/// comparisons, magnitude of coefficients.
struct Measure {
  std::size_t flags = 0, divisions = 0, choices = 0, parts = 0;
  Int magnitude;

  void sum(const Int& constant, std::span<const Term> terms) {
    parts += terms.size() + (constant.is_zero() ? 0 : 1);
    for (const Term& t : terms) {
      if (!abs(t.coef).is_one()) ++parts;
      magnitude += abs(t.coef);
    }
  }
  void node(const NodeData& n) {
    switch (n.kind) {
      case NodeKind::Negative:
      case NodeKind::Zero: ++flags; break;
      case NodeKind::Digit: divisions += n.first.is_one() || n.second.is_zero() ? 1 : 2; break;
      case NodeKind::Div:
      case NodeKind::Mod: ++divisions; break;
      case NodeKind::TruncDiv:
      case NodeKind::TruncMod:
        divisions += 2;  // more than floor's
        break;
      case NodeKind::Max:
      case NodeKind::Select: ++choices; break;
      case NodeKind::Product: parts += n.args.size(); break;
      case NodeKind::Sum: sum(n.first, n.terms); break;
      default: break;
    }
  }
  auto key() const { return std::tuple(flags + divisions, choices, parts, flags, magnitude); }
};

}  // namespace

bool Simplifier::simpler(Rule::Root root, std::span<const Linear> after,
                         std::span<const Linear> before) const {
  using Root = Rule::Root;
  const auto measure = [&](std::span<const Linear> sums, Measure& m) {
    List<Id> seen;
    for (const Linear& s : sums) {
      m.sum(s.constant, s.terms);
      for (const Term& t : s.terms) {
        const auto below = reachable(c_, t.atom, kLimits.measured_nodes);
        if (below.empty()) return false;
        seen.insert(seen.end(), below.begin(), below.end());
      }
    }
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const Id id : seen) m.node(c_[id]);
    return true;
  };
  Measure a, b;
  b.flags = root == Root::Below || root == Root::Equal ? 1 : 0;  // the operation itself
  b.divisions = root == Root::Quotient || root == Root::Remainder ? 1 : 0;
  b.choices = root == Root::Product ? 1 : 0;  // the same choice twice
  if (root != Root::Sum && root != Root::And) {
    b.parts = 1;
    b.magnitude = 1;
  }
  return measure(after, a) && measure(before, b) && a.key() < b.key();
}

void Simplifier::applied(const CompiledRule& rule, const Bindings& bindings) const {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  law(rule.rule.name, [&](Instance& i) {
    for (const char letter : rule.patterns().letters)
      i.bind(kLetters.substr(static_cast<std::size_t>(letter - 'a'), 1), *bindings.find(letter));
  });
}

std::optional<Linear> Simplifier::apply(Rule::Root root, std::span<const Linear> subjects) {
  if (matching_ >= kLimits.rules_in_rules) return std::nullopt;
  // In a long sum, rules in rules would try each term against all others.
  if (subjects[0].terms.size() > kLimits.matched_terms) return std::nullopt;
  const std::uint32_t kinds = kinds_in(c_, subjects[0]);
  const bool factors = scaled(subjects[0]);
  const auto same = [&](const Linear& after) {  // unchanged equation
    if (root != Rule::Root::Equal || after.terms.size() != 1) return false;
    const NodeData& n = c_[after.terms[0].atom];
    return n.kind == NodeKind::Zero && (is(n.args[0], subjects[0]) || is(n.args[0], -subjects[0]));
  };
  for (const CompiledRule* at = compiled_rules(root); at; at = at->next) {
    const CompiledRule& rule = *at;
    if ((rule.kinds & ~kinds) != 0 || (rule.patterns().kinds & ~kinds) != 0) continue;
    if (rule.patterns().scales && subjects.size() == 1 && !factors) continue;
    if (!rule.patterns().fits(subjects)) continue;
    ++matching_;
    Matcher matcher(*this);
    const Trace::Mark start = mark();
    std::optional<Linear> after;
    const auto bindings = matcher.match(rule, subjects);
    if (bindings && !matcher.says_nothing(rule, *bindings, subjects[0])) {
      rewind(start);
      applied(rule, *bindings);
      after = matcher.result(rule, *bindings);
    }
    --matching_;
    if (after && !same(*after) && simpler(root, {&*after, 1}, subjects)) return after;
    rewind(start);
  }
  return std::nullopt;
}

bool Simplifier::apply_sum(Linear& s) {
  if (matching_ >= kLimits.rules_in_rules || s.terms.size() < 2 ||
      s.terms.size() > kLimits.matched_terms)
    return false;
  const std::uint32_t kinds = kinds_in(c_, s);
  const auto is_division = [&](const Term& t) {
    const NodeKind kind = c_.kind(t.atom);
    return kind == NodeKind::Digit || kind == NodeKind::Div || kind == NodeKind::Mod;
  };
  if (std::ranges::count_if(s.terms, is_division) < 2) return false;
  const auto fits = [&](const Pattern& p, const Term& t) {  // a remainder, or a quotient
    const NodeData& n = c_[t.atom];
    const bool remainder = n.kind == NodeKind::Mod || n.is_digit();
    return remainder == (p.items[0].op == Pattern::Op::Remainder);
  };
  const auto twins = [&](Id a, Id b) {
    const NodeData &x = c_[a], &y = c_[b];
    const auto terms = [&](const NodeData& n) {
      const NodeData& d = c_[n.args[0]];
      return d.kind == NodeKind::Sum ? d.terms : std::span<const Term>();
    };
    if (x.kind != y.kind || x.first != y.first || x.second != y.second) return false;
    if (x.kind != NodeKind::Digit && x.args[1] != y.args[1]) return false;
    if (x.args[0] == y.args[0]) return true;
    const auto s = terms(x), t = terms(y);
    const auto single = [](std::span<const Term> terms, Id atom) {
      return terms.size() == 1 && terms[0].coef.is_one() && terms[0].atom == atom;
    };
    if (s.empty() || t.empty()) return single(s, y.args[0]) || single(t, x.args[0]);
    return std::ranges::equal(s, t);
  };
  for (const CompiledRule* at = compiled_rules(Rule::Root::Sum); at; at = at->next) {
    const CompiledRule& rule = *at;
    const CompiledRule::Patterns& p = rule.patterns();
    if ((p.kinds & ~kinds) != 0 || p.parts.size() != 2) continue;
    const Pattern &one = p.parts[0].pattern, &two = p.parts[1].pattern;
    const Int &first = one.items[0].coef, &second = two.items[0].coef;
    // Take the pair with the cheapest result.
    std::optional<Linear> best;
    std::optional<Bindings> used;
    const std::size_t n = s.terms.size();
    for (std::size_t pair = 0; pair < 2 * n * n; ++pair) {
      const Term &t = s.terms[pair / n % n], &u = s.terms[pair % n];
      const int sign = pair < n * n ? 1 : -1;  // sign of the common factor: positive ones first
      if (t.coef.sign() * first.sign() != sign) continue;
      if (t.atom == u.atom || !is_division(t) || !is_division(u)) continue;
      if (!divides(first, t.coef)) continue;
      const Int factor = floor_div(t.coef, first);
      if (u.coef != factor * second) continue;
      if (p.twins ? !twins(t.atom, u.atom) : !fits(one, t) || !fits(two, u)) continue;
      const Linear subjects[] = {Linear{0, {Term{first, t.atom}}},
                                 Linear{0, {Term{second, u.atom}}}};
      ++matching_;
      Matcher matcher(*this);
      const Trace::Mark start = mark();
      Linear after = s;
      auto bindings = matcher.match(rule, subjects);
      if (bindings) {
        add(after, Linear{0, {t}}, -1);
        add(after, Linear{0, {u}}, -1);
        if (const auto result = matcher.result(rule, *bindings))
          add(after, *result, factor);
        else
          bindings.reset();
      }
      rewind(start);
      --matching_;
      if (!bindings) continue;
      if (!simpler(Rule::Root::Sum, {&after, 1}, {best ? &*best : &s, 1})) continue;
      best = std::move(after);
      used = std::move(bindings);
    }
    if (!used) continue;
    s = std::move(*best);
    applied(rule, *used);
    ++matching_;
    Matcher(*this).result(rule, *used);  // for the trace
    --matching_;
    return true;
  }
  return false;
}

bool Simplifier::apply_and(Ids& parts) {
  if (matching_ >= kLimits.rules_in_rules) return false;
  struct Subject {  // a part as a sum compared with 0, and the comparison
    Pattern::Op op;
    std::uint32_t kinds;
    Linear sum;
  };
  List<std::optional<Subject>> all;
  const auto put = [&](Pattern::Op op, Linear sum) {
    const std::uint32_t kinds = kinds_in(c_, sum);
    all.emplace_back(Subject{op, kinds, std::move(sum)});
  };
  for (const Id part : parts) {
    const Id flag = negated(part);
    if (auto below = comparison(part))
      put(Pattern::Op::Below, std::move(*below));
    else if (c_.kind(flag) == NodeKind::Zero)
      put(flag == part ? Pattern::Op::Equal : Pattern::Op::Apart, linear(c_[flag].args[0]));
    else if (c_.kind(flag) == NodeKind::Digit)  // a two-valued digit such as x % 2, or 1 minus it
      put(Pattern::Op::Equal, Linear{flag == part ? -1 : 0, {Term{1, flag}}});
    else
      all.emplace_back();
  }
  const auto opposite = [](const Terms& a, const Terms& b) {
    return std::ranges::equal(
        a, b, [](const Term& t, const Term& u) { return t.atom == u.atom && t.coef == -u.coef; });
  };
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = 0; j < parts.size(); ++j) {
      if (i == j || !all[i] || !all[j]) continue;
      const Subject &one = *all[i], &other = *all[j];
      const bool against = opposite(one.sum.terms, other.sum.terms);
      for (const CompiledRule* at = compiled_rules(Rule::Root::And); at; at = at->next) {
        const CompiledRule& rule = *at;
        if ((rule.kinds & ~(one.kinds | other.kinds)) != 0) continue;
        const CompiledRule::Patterns& p = rule.patterns();
        const auto fits = [&](std::size_t i, const Subject& s) {
          const CompiledRule::Part& part = p.parts[i];
          return part.pattern.items[0].op == s.op && (part.kinds & ~s.kinds) == 0 &&
                 s.sum.terms.size() <= part.most_terms;
        };
        if ((p.opposed && !against) || !fits(0, one) || !fits(1, other)) continue;
        if (p.scales && !scaled(one.sum) && !scaled(other.sum)) continue;
        const Linear subjects[] = {one.sum, other.sum};
        ++matching_;
        Matcher matcher(*this);
        const Trace::Mark start = mark();
        const auto bindings = matcher.match(rule, subjects);
        rewind(start);
        std::optional<Id> result;
        if (bindings) {
          applied(rule, *bindings);
          if (const auto flag = matcher.result(rule, *bindings)) result = build(*flag);
        }
        --matching_;
        if (result) {
          const Linear now[] = {linear(*result)}, before[] = {linear(parts[i]), linear(parts[j])};
          if (simpler(Rule::Root::And, now, before)) {
            parts[i] = *result;
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
            return true;
          }
        }
        rewind(start);
      }
    }
  return false;
}

}  // namespace touchstone::symbolic
