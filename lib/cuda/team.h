#pragma once

#include "touchstone/cuda/grid.h"

namespace touchstone::cuda {

/// Says which loops and arrays of the body the threads of a block share, and where they must meet;
/// nothing is shared where opts.team is not set. Throws AstError as map_to_grid does.
void share_in_teams(GridKernel& grid);

}  // namespace touchstone::cuda
