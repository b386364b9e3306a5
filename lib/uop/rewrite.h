#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "touchstone/uop/pattern_matcher.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone {

/// In which order a graph is rewritten. Either way every node that a rule makes is rewritten, too,
/// and equal nodes are rewritten once.
enum class RewriteOrder : std::uint8_t {
  /// Sources first. A node whose sources changed is rebuilt and visited anew; else the matcher is
  /// applied to it once, and what it gives is visited in turn.
  TopDown,
  /// The matcher is applied to a node until nothing changes, then to the sources of the result; if
  /// one changed, the rebuilt node is visited anew.
  BottomUp
};

struct RewriteOptions {
  RewriteOrder order = RewriteOrder::TopDown;
  std::string_view pass = "rewrite";  // for recorders and errors
  /// Rewrites after which it is said not to end; where not given, 100,000 and 1,000 a node.
  std::optional<std::int64_t> budget{};
};

/// The graph below `sink` rewritten by the rules. Iterative, linear in the nodes that are visited.
/// Throws AstError naming the rule and the node where a node comes back on its own path (a -> b,
/// b -> a; a -> f(a)) or the budget is used up.
UOp graph_rewrite(const UOp& sink, const PatternMatcher& rules, const RewriteContext& context = {},
                  const RewriteOptions& options = {});

/// The nodes of a graph that changed, each with its result.
using RewriteMap = UOpMap<UOp>;
/// The result of `node`, itself where it did not change.
UOp result_of(const RewriteMap& map, const UOp& node);

/// Every node below `sink` rewritten, with one memo and one context. The metadata of a node that
/// changed is appended to that of its result, each origin once. `before`: what an earlier pass
/// gave, whose keys are then mapped to what this one makes of their results: passes compose.
RewriteMap graph_rewrite_map(const UOp& sink, const PatternMatcher& rules,
                             const RewriteContext& context = {}, const RewriteOptions& options = {},
                             const RewriteMap* before = nullptr);

/// The graph with nodes of `map` replaced by their values, in which nodes of `map` are replaced in
/// turn: a bottom-up rewrite. Throws AstError where that does not end.
UOp substitute(const UOp& sink, const RewriteMap& map);

/// One function for every node, in place of rules: null leaves it. As graph_rewrite_map; a recorder
/// hears of it as of a rule with the name of the pass.
RewriteMap rewrite_map_by(const UOp& sink, const std::function<UOp(const UOp&)>& step,
                          const RewriteOptions& options = {}, const RewriteMap* before = nullptr);

}  // namespace touchstone
