#pragma once

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

/// True if the conditions, 0/1 expressions, are proved never to hold together: first by eliminating
/// their atoms as integer linear inequalities (Fourier-Motzkin), then as one `and`. False means
/// unknown. The caller holds the context's lock.
bool contradict(Context& context, std::span<const Id> conditions);

}  // namespace touchstone::symbolic
