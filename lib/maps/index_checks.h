#pragma once

#include <string>
#include <vector>

namespace touchstone::maps {

/// What check-index asks of an index besides its text.
struct IndexChecks {
  std::vector<std::string> assumptions;  // as in the text
  std::string type = "int32";
  std::string size;          // of the array: the index must be in [0, size)
  std::string same;          // another index
  bool image = false;        // distinct indices, permutation
  std::string vector, lane;  // variables
  int lanes = 32, bytes = 4, segment = 32, banks = 32;
  bool remedy = false;  // of bank conflicts
};

}  // namespace touchstone::maps
