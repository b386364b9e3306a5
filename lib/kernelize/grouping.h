#pragma once

#include "touchstone/kernelize/kernelize.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone::kernelize {

/// Returns the nodes of a graph that are realized, in an order determined by the graph alone:
/// outputs; ASSIGN, CONTIGUOUS, COPY and its source; tables; nodes that a view expands; for each
/// reduce not marked as fused, either the reduce or the one node after it in its kernel; and what
/// else the policy's rules (`Grouping::kRules`) say. `also`: further nodes to realize.
UOpSet what_gets_memory(const UOp& sink, const Config& config, Policy policy,
                        const UOpSet& also = {});

/// Returns the nodes that one kernel would see through more than `most` views: repeating their work
/// costs more than a buffer, and the work of a chain of such nodes doubles with every link.
UOpSet seen_too_often(const UOp& sink, const UOpSet& memory, std::size_t most);

/// FUSE_ARANGE: applies FUSE to values that are computed from constants alone through a reduce and
/// are read by work under another reduce.
RewriteMap fuse_aranges(const UOp& sink, const RewriteMap& before);

/// Rewrites `view` of `reduce` as a fused reduce of the same source, seen through equally many more
/// axes.
UOp reduce_through(const UOp& view, const UOp& reduce);

}  // namespace touchstone::kernelize
