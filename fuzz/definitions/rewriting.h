#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/fuzz/cases/rewrite_case.h"

namespace touchstone::fuzz {

/// The definition exceeds a limit on patterns tried, matches or depth; the case is not judged.
struct TooMuch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A rewrite that does not end: rules of which one is to blame, and nodes of which one recurs; no
/// nodes if the budget ran out.
struct Endless {
  std::set<std::size_t> rules;
  std::set<std::string> lines;
};

/// A call of a rule's function with these nodes; null for an unbound name.
struct RuleCall {
  std::size_t rule = 0;
  std::vector<UOp> named;
  bool operator==(const RuleCall&) const = default;
};
/// A use of a rule: its result replaced a node.
struct RuleUse {
  std::size_t rule = 0;
  UOp before, after;
  bool operator==(const RuleUse&) const = default;
};

/// The reason why a rule can never match or be called, so that a matcher refuses it; empty if it
/// can.
std::string refusal_of(const RewriteCase::Rule& rule);

/// Matching and rewriting by definition: lists every way of matching every pattern and visits every
/// source by its own call. Patterns are the case's; only nodes come from lib/uop.
class PlainRewriting {
 public:
  explicit PlainRewriting(const std::vector<RewriteCase::Rule>& rules);

  /// The first rule's result, or null if no rule gives one. Records calls, and the use if there is
  /// a result.
  UOp matched(const UOp& node);
  std::vector<RuleCall> calls;
  std::vector<RuleUse> uses;

  /// The graph rewritten, sources first or outer nodes first, by `in_place` instead of the rules if
  /// given. Throws Endless beyond `budget` results, or on reaching a node that is being rewritten.
  /// Results are kept, as in one map call.
  UOp rewritten(const UOp& root, bool bottom_up, std::int64_t budget,
                const std::unordered_map<UOp, UOp>* in_place = nullptr);

 private:
  using Names = std::vector<UOp>;  // indexed as names_[rule]
  std::vector<Names> ways(const RewriteCase::Pattern& p, const UOp& node, const Names& bound,
                          std::size_t rule) const;
  std::vector<Names> ways_of_sources(const RewriteCase::Pattern& p, const UOp& node,
                                     const Names& bound, std::size_t rule) const;
  UOp step(const UOp& node);
  UOp top_down(const UOp& node);
  UOp bottom_up(const UOp& node);
  void enter(const UOp& node);
  UOp with_sources(const UOp& node, UOp (PlainRewriting::*visit)(const UOp&));

  std::vector<RewriteCase::Rule> rules_;
  std::vector<std::vector<std::string>> names_;
  const std::unordered_map<UOp, UOp>* in_place_ = nullptr;
  std::int64_t left_ = 0;
  mutable std::size_t work_ = 0;
  std::unordered_map<UOp, UOp> done_;
  struct Visit {
    UOp node;
    std::vector<std::size_t> rules;
  };
  std::vector<Visit> path_;
  std::unordered_map<UOp, std::size_t> on_path_;
};

}  // namespace touchstone::fuzz
