#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "touchstone/uop/pattern_matcher.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone {

/// The order of a rewrite. In either, nodes made by rules are rewritten too, and equal nodes once.
enum class RewriteOrder : std::uint8_t {
  /// Sources first. A node with changed sources is rebuilt and visited again; otherwise the matcher
  /// is applied once and its result visited.
  TopDown,
  /// Applies the matcher to a node until nothing changes, then to the result's sources; if one
  /// changed, the rebuilt node is visited again.
  BottomUp
};

struct RewriteOptions {
  RewriteOrder order = RewriteOrder::TopDown;
  std::string_view pass = "rewrite";  // for recorders and errors
  /// Rewrites after which it counts as endless; default 100,000 plus 1,000 per node.
  std::optional<std::int64_t> budget{};
};

/// Rewrites the graph below `sink`. Iterative; takes time linear in the nodes visited. Throws
/// AstError naming rule and node if a node recurs on its own path (a -> b, b -> a; a -> f(a)) or
/// the budget is exhausted.
UOp graph_rewrite(const UOp& sink, const PatternMatcher& rules, const RewriteContext& context = {},
                  const RewriteOptions& options = {});

/// The changed nodes of a graph with their results.
using RewriteMap = UOpMap<UOp>;
/// The result of `node`, or itself if unchanged.
UOp result_of(const RewriteMap& map, const UOp& node);

/// Rewrites every node below `sink`, with one memo and one context. A changed node's metadata is
/// appended to its result's, each origin once. `before`: the map of an earlier pass; its keys are
/// mapped to this pass's results, so that passes compose.
RewriteMap graph_rewrite_map(const UOp& sink, const PatternMatcher& rules,
                             const RewriteContext& context = {}, const RewriteOptions& options = {},
                             const RewriteMap* before = nullptr);

/// Replaces nodes of `map` with their values, recursively: a bottom-up rewrite. Throws AstError if
/// that does not end.
UOp substitute(const UOp& sink, const RewriteMap& map);

/// As graph_rewrite_map, with one function for all nodes instead of rules; null leaves a node.
/// Recorders see a rule named after the pass.
RewriteMap rewrite_map_by(const UOp& sink, const std::function<UOp(const UOp&)>& step,
                          const RewriteOptions& options = {}, const RewriteMap* before = nullptr);

}  // namespace touchstone
