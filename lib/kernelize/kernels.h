#pragma once

#include "touchstone/uop/rewrite.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone::kernelize {

/// Turns barriers and assigns into kernels over stored values; see KERNEL in uop.h.
PatternMatcher create_kernels();

/// Makes the kernels of these nodes in one walk, without barriers between.
RewriteMap kernels_at(const UOp& sink, const UOpSet& memory);

/// Makes each kernel that writes a buffer wait for all readers of the previous contents, through
/// further sources of its ASSIGN. Throws AstError if such a reader waits for the kernel itself, or
/// if two kernels write one buffer and neither waits for the other.
RewriteMap order_assigns(const UOp& sink, const RewriteMap& before);

}  // namespace touchstone::kernelize
