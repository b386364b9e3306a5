#pragma once

#include "touchstone/kernelize/rules.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone::kernelize {

/// The nodes of a simplified graph that get memory, in an order that the graph alone decides.
///
/// Outputs, and what must have memory: ASSIGN, CONTIGUOUS, COPY and what it copies. What a masked
/// view sees, where padding would become f(0) on the way to what has memory. What a view makes
/// larger. Of each reduce that is not marked either it, or the one node that follows it in its
/// kernel. `also`: further nodes that get memory.
UOpSet what_gets_memory(const UOp& sink, const Config& config, const UOpSet& also = {});

/// The nodes that one kernel would see through more than `most` views: repeating their work that
/// often costs more than a buffer, and chains of such nodes double with every link.
UOpSet seen_too_often(const UOp& sink, const UOpSet& memory, std::size_t most);
inline constexpr std::size_t kMostViews = 64;

/// FUSE_ARANGE: what is made of constants alone with a reduce among it, and is read by work that a
/// reduce of something else computes, is FUSEd there.
RewriteMap fuse_aranges(const UOp& sink, const RewriteMap& before);

/// `view` of `reduce` as a marked reduce of what it reduces, FUSEd, seen through as many more axes.
UOp reduce_through(const UOp& view, const UOp& reduce);

}  // namespace touchstone::kernelize
