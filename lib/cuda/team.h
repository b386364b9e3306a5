#pragma once

#include "touchstone/cuda/grid.h"

namespace touchstone::cuda {

/// Marks the loops and arrays of the body that the threads of a block share, and where they must
/// synchronize; does nothing unless opts.team is set. Throws AstError as map_to_grid.
void share_in_teams(GridKernel& grid);

}  // namespace touchstone::cuda
