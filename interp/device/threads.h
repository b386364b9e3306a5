#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace touchstone::interp {

/// Kernels with fewer elements, counting the terms of reduces, run in one thread.
inline constexpr std::int64_t kWorthThreads = std::int64_t{16} * 4096;

/// Threads of oneTBB, created on first use.
class Threads {
 public:
  /// 0: one for each core.
  explicit Threads(int count = 0);
  ~Threads();
  /// 1 in a process forked after the first use of any Threads: the threads belong to the parent.
  int count() const;

  /// Runs task(i) for every i in [0, count), in any order and concurrently, each in the reference's
  /// floating-point environment. Returns when all are done. Rethrows what a task throws.
  void each(std::int64_t count, const std::function<void(std::int64_t)>& task);

 private:
  struct Arena;
  int count_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace touchstone::interp
