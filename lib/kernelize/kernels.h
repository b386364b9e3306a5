#pragma once

#include "touchstone/uop/rewrite.h"

namespace touchstone::kernelize {

/// Barriers and assigns become kernels over what is stored; see KERNEL in uop.h.
PatternMatcher create_kernels();

/// Makes each kernel that writes a buffer wait for all that read what was in it before, by further
/// sources of its ASSIGN. Throws AstError where one of those waits for the kernel itself, or where
/// two kernels write one buffer and neither waits for the other.
RewriteMap order_assigns(const UOp& sink, const RewriteMap& before);

}  // namespace touchstone::kernelize
