#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/node/linear.h"
#include "touchstone/symbolic/number/pool.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::symbolic {

class Simplifier;

/// The values of a rule's variables, which are single letters.
class Bindings {
 public:
  const Linear* find(char letter) const {
    for (const Value& v : values_)
      if (v.letter == letter) return &v.value;
    return nullptr;
  }
  /// Of a letter that is not bound yet.
  void bind(char letter, Linear value) { values_.emplace_back(letter, std::move(value)); }
  /// All that were bound after the first n are free again.
  std::size_t size() const { return values_.size(); }
  void forget(std::size_t n) {
    while (values_.size() > n) values_.pop_back();
  }

 private:
  struct Value {
    char letter;
    Linear value;
  };
  SmallVector<Value, 3> values_;
};

/// Letters of a rule that stand for numbers.
inline bool is_constant_letter(char letter) {
  return letter == 'c' || letter == 'd' || letter == 'k' || letter == 'm';
}

/// One side of a rule, compiled: a sum of constants, variables and atoms. A term is
/// coef * factor * atom, the factor a variable that stands for a constant, or none.
struct Pattern {
  enum class Op : std::uint8_t {
    Variable,
    Quotient,
    Remainder,
    Below,
    Equal,
    Apart,
    Maximum,
    Product
  };
  struct Item {
    Int coef = 1;
    char factor = 0;
    Op op = Op::Variable;
    char letter = 0;              // Variable
    std::vector<Pattern> args{};  // of a comparison one: what is compared with 0
  };
  Int constant;
  std::vector<Item> items;

  static bool is_comparison(Op op) { return op == Op::Below || op == Op::Equal || op == Op::Apart; }
};

/// A rule of the table that the matcher applies.
struct CompiledRule {
  /// Of a sum a term, of an And a part, else an argument.
  struct Part {
    Pattern pattern{};
    std::uint32_t kinds = 0;     // as bits, that must stand in it
    std::size_t most_terms = 0;  // that it can take
  };
  /// The left side.
  struct Patterns {
    std::vector<Part> parts{};
    std::uint32_t kinds = 0;  // that must stand in what is matched
    bool opposed = false;     // And: two limits of a sum, from below and from above
    bool twins = false;   // Sum: two quotients with one divisor, their dividends a constant apart
    bool scales = false;  // a term has a factor: of use only where some coefficient is not 1
    std::string letters{};

    /// Whether no subject has more terms than its pattern can take.
    bool fits(std::span<const Linear> subjects) const {
      for (std::size_t i = 0; i < subjects.size(); ++i)
        if (subjects[i].terms.size() > parts[i].most_terms) return false;
      return true;
    }
  };
  /// What a match is for.
  struct Outcome {
    Exprs exprs;
    Expr rhs = 0;
    std::vector<Expr> conditions{};  // first those on constants, which take least time
  };

  CompiledRule(const Rule& rule, const CompiledRule* next);

  const Rule& rule;
  const CompiledRule* const next;  // of the same root; null after the last
  const std::uint32_t kinds;  // of those that must stand in what is matched, what the text tells
  /// Each is compiled when it is first asked for: most questions need few rules.
  const Patterns& patterns() const {
    const Patterns* const known = patterns_.load();
    return known ? *known : compiled_patterns();
  }
  const Outcome& outcome() const;

 private:
  const Patterns& compiled_patterns() const;
  mutable std::atomic<const Patterns*> patterns_ = nullptr;
  mutable std::atomic<const Outcome*> outcome_ = nullptr;
};

/// The first of the rules of the table that the matcher applies at a root.
const CompiledRule* compiled_rules(Rule::Root root);

/// Matches a compiled rule with canonical expressions. Sums and parts match in any order; the first
/// match in the order of terms is taken, so that the result depends on the expression alone.
class Matcher {
 public:
  explicit Matcher(Simplifier& simplifier) : s_(simplifier) {}

  /// Each pattern with its expression, all with the same bindings, that meet the conditions.
  std::optional<Bindings> match(const CompiledRule& rule, std::span<const Linear> subjects);
  /// The right side with its variables bound; nullopt where a divisor in it is 0, as in an arm that
  /// no point takes.
  std::optional<Linear> result(const CompiledRule& rule, const Bindings& bindings);
  /// Whether the right side is the same comparison of the subject with 0 as the left side, as where
  /// a constant of the rule is 0.
  bool says_nothing(const CompiledRule& rule, const Bindings& bindings, const Linear& subject);

 private:
  struct Goal {  // in a list that ends with null
    const Pattern* pattern;
    std::uint32_t done;  // items of the pattern, as bits, that are taken out of the subject
    Linear subject;
    const Goal* next;
  };
  /// False where no bindings make the pattern a sum of these terms. `unbound` says that none of its
  /// variables will be bound when it is met: a bound one may stand for any of the terms.
  bool may_match(const Pattern& pattern, std::span<const Term> terms, bool unbound) const;
  bool may_match(const Pattern& pattern, Id node) const;
  bool parts_may_match(const Pattern::Item& item, Id atom) const;
  /// Meets all goals; what it has bound where it cannot is for the caller to forget.
  bool solve(const Goal* goals, Bindings& bindings);
  /// Adds the parts of the rule from the i-th on to the goals, and meets them all.
  bool match_from(std::size_t i, std::span<const Linear> subjects, const Goal* goals,
                  Bindings& bindings);
  /// Whether the term's kind and coefficient let it be the item.
  bool may_stand(const Pattern::Item& item, const Term& term, const Bindings& bindings) const;
  static bool left_over(const Goal& goal);
  bool take_bound(Goal& goal, const Bindings& bindings);
  bool solve_atom(const Pattern::Item& item, const Term& term, const Goal& rest,
                  Bindings& bindings);
  bool holds(const Bindings& bindings);
  Linear evaluate(const Exprs& x, Expr e, const Bindings& bindings);
  /// Whether the divisor is the number 0; then what is evaluated has no value.
  bool is_zero(const Linear& divisor);

  Simplifier& s_;
  const CompiledRule* rule_ = nullptr;
  bool undefined_ = false;
};

}  // namespace touchstone::symbolic
