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

/// Values of a rule's variables, which are single letters.
class Bindings {
 public:
  const Linear* find(char letter) const {
    for (const Value& v : values_)
      if (v.letter == letter) return &v.value;
    return nullptr;
  }
  /// Binds an unbound letter.
  void bind(char letter, Linear value) { values_.emplace_back(letter, std::move(value)); }
  /// forget(n) unbinds all but the first n letters.
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

/// True for the letters that stand for constants in a rule.
inline bool is_constant_letter(char letter) {
  return letter == 'c' || letter == 'd' || letter == 'k' || letter == 'm';
}

/// One side of a rule, compiled: a sum of constants, variables and atoms. A term is coef * factor *
/// atom; the factor is a variable that stands for a constant, or 0.
struct Pattern {
  enum class Op : std::uint8_t {
    Variable,
    Quotient,
    Remainder,
    Below,
    Equal,
    Apart,
    TruncQuotient,
    TruncRemainder,
    Maximum,
    Product
  };
  struct Item {
    Int coef = 1;
    char factor = 0;
    Op op = Op::Variable;
    char letter = 0;              // Variable
    std::vector<Pattern> args{};  // for a comparison, the one sum compared with 0
  };
  Int constant;
  std::vector<Item> items;

  static bool is_comparison(Op op) { return op == Op::Below || op == Op::Equal || op == Op::Apart; }
};

/// A rule of the table that the matcher applies.
struct CompiledRule {
  /// A term of a Sum, a part of an And, else an argument.
  struct Part {
    Pattern pattern{};
    std::uint32_t kinds = 0;     // bit set of node kinds that must occur in it
    std::size_t most_terms = 0;  // maximal number of terms that it can match
  };
  /// The left side.
  struct Patterns {
    std::vector<Part> parts{};
    std::uint32_t kinds = 0;  // bit set of node kinds that must occur in the subjects
    bool opposed = false;     // And: a lower and an upper bound of one sum
    bool twins = false;   // Sum: two quotients with one divisor, their dividends a constant apart
    bool scales = false;  // a term has a factor: skipped if all coefficients are 1
    std::string letters{};

    /// True if no subject has more terms than its pattern can match.
    bool fits(std::span<const Linear> subjects) const {
      for (std::size_t i = 0; i < subjects.size(); ++i)
        if (subjects[i].terms.size() > parts[i].most_terms) return false;
      return true;
    }
  };
  /// What a match produces and requires.
  struct Outcome {
    Exprs exprs;
    Expr rhs = 0;
    std::vector<Expr> conditions{};  // conditions on constants first, the cheapest
  };

  CompiledRule(const Rule& rule, const CompiledRule* next);

  const Rule& rule;
  const CompiledRule* const next;  // next rule with the same root; null after the last
  const std::uint32_t kinds;  // kinds that must occur in the subjects, found in the rule's text
  /// Compiled on first use: most questions need few rules.
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

/// Throws Error with the reason if the matcher cannot apply the rule, whose root is given.
void check_matched(const Rule& rule);

/// The first rule that the matcher applies at a root.
const CompiledRule* compiled_rules(Rule::Root root);

/// Matches a compiled rule with canonical expressions. Sums and parts match in any order; the first
/// match in the order of terms wins, so the result depends only on the expression.
class Matcher {
 public:
  explicit Matcher(Simplifier& simplifier) : s_(simplifier) {}

  /// Bindings that match each pattern with its subject and satisfy the conditions.
  std::optional<Bindings> match(const CompiledRule& rule, std::span<const Linear> subjects);
  /// The right side with its variables bound; nullopt if a divisor in it is 0, as in a branch that
  /// no point takes.
  std::optional<Linear> result(const CompiledRule& rule, const Bindings& bindings);
  /// True if the right side is the same comparison of the subject with 0 as the left side, for
  /// example if a constant of the rule is 0.
  bool says_nothing(const CompiledRule& rule, const Bindings& bindings, const Linear& subject);

 private:
  struct Goal {  // a linked list that ends with null
    const Pattern* pattern;
    std::uint32_t done;  // bit set of the pattern's items already matched
    Linear subject;
    const Goal* next;
  };
  /// False if no bindings make the pattern equal to a sum of these terms. `unbound` means that its
  /// variables will still be unbound then: a bound one may match any of the terms.
  bool may_match(const Pattern& pattern, std::span<const Term> terms, bool unbound) const;
  bool may_match(const Pattern& pattern, Id node) const;
  bool parts_may_match(const Pattern::Item& item, Id atom) const;
  /// Solves all goals; on failure the caller removes the bindings made.
  bool solve(const Goal* goals, Bindings& bindings);
  /// Adds the parts of the rule from the i-th on to the goals and solves them all.
  bool match_from(std::size_t i, std::span<const Linear> subjects, const Goal* goals,
                  Bindings& bindings);
  /// True if the term's kind and coefficient are compatible with the item.
  bool may_stand(const Pattern::Item& item, const Term& term, const Bindings& bindings) const;
  static bool left_over(const Goal& goal);
  bool take_bound(Goal& goal, const Bindings& bindings);
  bool solve_atom(const Pattern::Item& item, const Term& term, const Goal& rest,
                  Bindings& bindings);
  bool holds(const Bindings& bindings);
  Linear evaluate(const Exprs& x, Expr e, const Bindings& bindings);
  /// True if the divisor is the number 0; then the evaluated expression is undefined.
  bool is_zero(const Linear& divisor);

  Simplifier& s_;
  const CompiledRule* rule_ = nullptr;
  bool undefined_ = false;
};

}  // namespace touchstone::symbolic
