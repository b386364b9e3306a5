#pragma once

#include "touchstone/kernelize/rules.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone::kernelize {

/// The scheduler `ranges`: returns the nodes from grouping's set that stay realized if a kernel may
/// hold any number of reduces. A node is computed in the kernel that reads it if that adds no work:
/// exactly one kernel reads it, always in the same loops; no loop along which it is constant
/// encloses one along which it varies; and it is not a reduce repeated for each term of another,
/// where vectorization would fail. Counting reduces are inlined wherever they are read, if cheap. A
/// value computed by several kernels is realized if that moves fewer bytes. `asked`: outputs and
/// similar, which stay realized, as do readers of a buffer that is assigned to.
UOpSet without_needless(const UOp& sink, const UOpSet& memory, const UOpSet& asked);

}  // namespace touchstone::kernelize
