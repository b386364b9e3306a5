#include "touchstone/interp/device/threads.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "touchstone/base/forks.h"
#include "touchstone/base/fp_guard.h"

namespace touchstone::interp {

namespace {

std::atomic<int> used_at = -1;  // forks_deep() at the first use of any Threads

}  // namespace

struct Threads::Arena {
  std::once_flag made;
  std::optional<tbb::global_control> more;  // allows more threads than cores
  tbb::task_arena arena;
};

Threads::Threads(int count)
    : count_(count != 0 ? count
                        : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
      arena_(std::make_unique<Arena>()) {}
Threads::~Threads() = default;

int Threads::count() const {
  const int at = used_at;
  return at < 0 || at == forks_deep() ? count_ : 1;
}

void Threads::each(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  int never = -1;
  used_at.compare_exchange_strong(never, forks_deep());
  std::call_once(arena_->made, [this] {
    if (count_ > tbb::info::default_concurrency())
      arena_->more.emplace(tbb::global_control::max_allowed_parallelism,
                           static_cast<std::size_t>(count_));
    arena_->arena.initialize(count_);
  });
  arena_->arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count),
                      [&](const tbb::blocked_range<std::int64_t>& range) {
                        const FpGuard guard;
                        for (std::int64_t i = range.begin(); i != range.end(); ++i) task(i);
                      });
  });
}

}  // namespace touchstone::interp
