#include "touchstone/fuzz/areas.h"
#include "touchstone/fuzz/hunt.h"
#include "verbs.h"

namespace touchstone::cli {

std::vector<fuzz::HuntArea> hunt_areas() {
  return {{[] { return fuzz::make_symbolic_area(); }, 128},
          {[] { return fuzz::make_view_area(); }, 128}};
}

}  // namespace touchstone::cli
