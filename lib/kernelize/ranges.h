#pragma once

#include "touchstone/kernelize/rules.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone::kernelize {

/// The scheduler `ranges`: what keeps its memory of what grouping gave memory, where a kernel may
/// hold any number of reduces. A node is computed in the kernel that reads it where that is no more
/// work: it is read by one kernel, there in the same loops by all that read it, and no loop along
/// which it stays the same lies outside of one along which it changes; and a reduce is not computed
/// term by term of another, where it would have no neighbours. What only counts is computed
/// wherever it is read, while that is cheap. What several kernels compute gets memory where fewer
/// bytes are then moved. `asked`: outputs and the like, which keep theirs, as does what reads a
/// buffer that is assigned to.
UOpSet without_needless(const UOp& sink, const UOpSet& memory, const UOpSet& asked);

}  // namespace touchstone::kernelize
