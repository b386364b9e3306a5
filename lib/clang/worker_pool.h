#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace touchstone::clang {

/// Threads that wait for work split into parts. They start at the first use. An idle thread polls
/// for 50 us before it sleeps, unless there are more threads than processors.
class WorkerPool {
 public:
  /// `threads` >= 1, including the caller's.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return threads_; }
  /// Calls work(part) for each part in [0, threads()) on its own thread, part 0 on the caller's,
  /// with default floating-point control; returns when all are done. `work` must not throw.
  /// Concurrent callers wait for each other. Throws std::system_error if a thread cannot be
  /// started; then no part has run.
  void run(const std::function<void(int part)>& work);

 private:
  void serve(int part, std::uint64_t seen);
  void wake(const std::atomic<int>& sleeping, std::condition_variable& condition);
  template <class Ready>
  void wait(std::atomic<int>& sleeping, std::condition_variable& condition, const Ready& ready);

  int threads_;
  bool spins_;
  std::mutex callers_;
  std::mutex mutex_;  // guards sleeping
  std::condition_variable start_, done_;
  const std::function<void(int)>* work_ = nullptr;  // published by round_
  std::atomic<std::uint64_t> round_ = 0;
  std::atomic<int> running_ = 0, sleeping_ = 0, caller_sleeps_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace touchstone::clang
