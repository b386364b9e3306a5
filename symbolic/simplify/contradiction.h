#pragma once

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

/// Whether conditions, 0/1 expressions, are seen to hold together at no point: by elimination of
/// their atoms as linear inequalities over the integers (Fourier and Motzkin), then as one `and`.
/// False says nothing. The caller holds the context's lock.
bool contradict(Context& context, std::span<const Id> conditions);

}  // namespace touchstone::symbolic
