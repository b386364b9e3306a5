#include "touchstone/symbolic/simplify/trace.h"

#include <algorithm>

namespace touchstone::symbolic {

Instance& Instance::bind(std::string_view variable, const Linear& value) {
  bindings.emplace_back(variable, value);
  return *this;
}

Instance& Instance::bind(std::string_view variable, const Int& value) {
  return bind(variable, Linear{value, {}});
}

void Trace::reverse(Mark mark) {
  const auto from = uses_.begin() + static_cast<std::ptrdiff_t>(mark);
  std::reverse(from, uses_.end());
  std::for_each(from, uses_.end(), [](Instance& i) { i.backwards = !i.backwards; });
}

}  // namespace touchstone::symbolic
