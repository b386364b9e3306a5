// interp/device/threads.h for a single thread.
#include "touchstone/interp/device/threads.h"

namespace touchstone::interp {

struct Threads::Arena {};

Threads::Threads(int) : count_(1) {}
Threads::~Threads() = default;
int Threads::count() const { return count_; }

void Threads::each(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  for (std::int64_t i = 0; i < count; ++i) task(i);
}

}  // namespace touchstone::interp
