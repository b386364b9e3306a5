#pragma once

#include <string>
#include <vector>

namespace touchstone::process {

struct Place {
  std::string path;
  bool is_folder;  // with everything below it
};

/// The places that a backend may read: all except home folders and what only root reads, plus the
/// parts of those that its command `words` needs: the working folder, the folders of the files that
/// the words name, of PATH and of similar variables, and those in TOUCHSTONE_ROOM_READS.
/// Empty if `/` cannot be listed, as in a room.
std::vector<Place> readable_places(const std::vector<std::string>& words);

}  // namespace touchstone::process
