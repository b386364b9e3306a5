#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace touchstone::clang {

/// Threads that wait for work shared out in parts. They start at the first use.
class WorkerPool {
 public:
  /// `threads` >= 1, the caller's own included.
  explicit WorkerPool(int threads) : threads_(threads) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return threads_; }
  /// Calls work(part) for each part in [0, threads()), each on its own thread, part 0 on this one,
  /// with the floating-point control at its default; returns when all are done. `work` must not
  /// throw. One caller at a time; others wait.
  void run(const std::function<void(int part)>& work);

 private:
  void serve(int part);

  int threads_;
  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(int)>* work_ = nullptr;
  std::uint64_t round_ = 0;
  int running_ = 0;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace touchstone::clang
