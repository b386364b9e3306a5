#include "touchstone/clang/worker_pool.h"

#include <chrono>

#include "touchstone/base/fp_guard.h"

namespace touchstone::clang {

namespace {

void pause_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls for about as long as a wake-up takes, yielding the processor; true if `ready` in time.
template <class Ready>
bool soon(bool spins, const Ready& ready) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kMost{50};
  constexpr int kTurns = 64;  // between two clock reads
  if (ready()) return true;
  if (!spins) return false;
  for (const auto end = Clock::now() + kMost; Clock::now() < end; std::this_thread::yield())
    for (int turn = 0; turn < kTurns; ++turn) {
      if (ready()) return true;
      pause_a_moment();
    }
  return ready();
}

}  // namespace

WorkerPool::WorkerPool(int threads)
    : threads_(threads), spins_(threads <= static_cast<int>(std::thread::hardware_concurrency())) {}

WorkerPool::~WorkerPool() {
  stop_ = true;
  wake(sleeping_, start_);
  for (std::thread& w : workers_) w.join();
}

// A sleeper increments `sleeping` before its last check and releases the lock only when it waits.
void WorkerPool::wake(const std::atomic<int>& sleeping, std::condition_variable& condition) {
  if (sleeping == 0) return;
  { const std::scoped_lock lock(mutex_); }
  condition.notify_all();
}

template <class Ready>
void WorkerPool::wait(std::atomic<int>& sleeping, std::condition_variable& condition,
                      const Ready& ready) {
  if (soon(spins_, ready)) return;
  std::unique_lock lock(mutex_);
  ++sleeping;
  condition.wait(lock, ready);
  --sleeping;
}

void WorkerPool::run(const std::function<void(int)>& work) {
  const std::scoped_lock one_caller(callers_);
  const FpGuard guard;
  for (int part = static_cast<int>(workers_.size()) + 1; part < threads_; ++part)
    workers_.emplace_back([this, part, seen = round_.load()] { serve(part, seen); });
  work_ = &work;
  running_ = threads_ - 1;
  ++round_;
  wake(sleeping_, start_);
  work(0);
  wait(caller_sleeps_, done_, [this] { return running_ == 0; });
}

void WorkerPool::serve(int part, std::uint64_t seen) {
  const FpGuard guard;
  for (;;) {
    wait(sleeping_, start_, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    (*work_)(part);
    if (--running_ == 0) wake(caller_sleeps_, done_);
  }
}

}  // namespace touchstone::clang
