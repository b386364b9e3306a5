#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace touchstone::interp {

/// Kernels of fewer elements, counting the terms of their reduces, are not worth a second thread.
inline constexpr std::int64_t kWorthThreads = std::int64_t{16} * 4096;

/// Threads of oneTBB, made when first needed.
class Threads {
 public:
  /// 0: one for each core.
  explicit Threads(int count = 0);
  ~Threads();
  /// 1 in a process that was forked after the first use of any: its threads are in the other one.
  int count() const;

  /// task(i) for every i in [0, count), in any order and several at once, each with the
  /// floating-point environment of the reference. Returns when all are done. What a task throws is
  /// thrown here.
  void each(std::int64_t count, const std::function<void(std::int64_t)>& task);

 private:
  struct Arena;
  int count_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace touchstone::interp
