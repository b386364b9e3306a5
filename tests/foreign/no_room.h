#pragma once

#include <cstdlib>

namespace touchstone::foreign {

/// While one lives, backends run without a room.
struct NoRoom {
  NoRoom() { ::setenv("TOUCHSTONE_ROOM", "off", 1); }
  ~NoRoom() { ::unsetenv("TOUCHSTONE_ROOM"); }
};

}  // namespace touchstone::foreign
