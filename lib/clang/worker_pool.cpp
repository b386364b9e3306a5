#include "touchstone/clang/worker_pool.h"

#include "touchstone/base/fp_guard.h"

namespace touchstone::clang {

WorkerPool::~WorkerPool() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& w : workers_) w.join();
}

void WorkerPool::run(const std::function<void(int)>& work) {
  const std::scoped_lock one_caller(callers_);
  const FpGuard guard;
  {
    const std::scoped_lock lock(mutex_);
    work_ = &work;
    running_ = threads_ - 1;
    ++round_;
  }
  for (int part = static_cast<int>(workers_.size()) + 1; part < threads_; ++part)
    workers_.emplace_back([this, part] { serve(part); });
  start_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
}

void WorkerPool::serve(int part) {
  const FpGuard guard;
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const std::function<void(int)>* const work = work_;
    lock.unlock();
    (*work)(part);
    lock.lock();
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace touchstone::clang
