#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/fuzz/cases/rewrite_case.h"

namespace touchstone::fuzz {

/// The definition needs more than it has: patterns tried, matches, depth. Nothing is said of the
/// case then.
struct TooMuch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A rewrite that does not end: rules of which one is to blame, and nodes of which one comes back;
/// no nodes where the budget is used up.
struct Endless {
  std::set<std::size_t> rules;
  std::set<std::string> lines;
};

/// A function of a rule was called with these nodes, null where a name has none.
struct RuleCall {
  std::size_t rule = 0;
  std::vector<UOp> named;
  bool operator==(const RuleCall&) const = default;
};
/// A rule's result took the place of a node.
struct RuleUse {
  std::size_t rule = 0;
  UOp before, after;
  bool operator==(const RuleUse&) const = default;
};

/// Why a rule can never match or be called, so that a matcher refuses it; empty where it can.
std::string refusal_of(const RewriteCase::Rule& rule);

/// Matching and rewriting as they are defined: every way of every pattern is listed, every source
/// is visited by a call of its own. Patterns are those of the case; lib/uop gives nodes alone.
class PlainRewriting {
 public:
  explicit PlainRewriting(const std::vector<RewriteCase::Rule>& rules);

  /// The first rule's result; null where none has one. Notes calls and, where there is a result,
  /// its use.
  UOp matched(const UOp& node);
  std::vector<RuleCall> calls;
  std::vector<RuleUse> uses;

  /// The graph rewritten, sources first or outer nodes first; `step` in place of rules where there
  /// is one. Throws Endless past `budget` results, or where a node is reached that is being
  /// rewritten. What was done stays known, as in one call of a map.
  UOp rewritten(const UOp& root, bool bottom_up, std::int64_t budget,
                const std::unordered_map<UOp, UOp>* in_place = nullptr);

 private:
  using Names = std::vector<UOp>;  // by place in names_[rule]
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
