#pragma once

#include <cstdint>
#include <string>

namespace touchstone {

/// What a candidate device declares about its arithmetic. The rest is IEEE 754: every other
/// operation is correctly rounded, every sum may be taken in any order in its accumulator's type.
struct Profile {
  std::string name = "ieee";
  // Units in the last place by which a result may differ from the correctly rounded one; the
  // defaults are glibc's documented bounds.
  std::int64_t exp2_ulp = 1;
  std::int64_t log2_ulp = 1;
  std::int64_t sin_ulp = 1;
};

}  // namespace touchstone
