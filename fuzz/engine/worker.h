#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "touchstone/fuzz/engine/runner.h"
#include "touchstone/process/child.h"

namespace touchstone::fuzz {

/// A case that a worker is at.
struct CaseRecord {
  static constexpr std::size_t kMostText = std::size_t{4} << 20;

  std::int64_t place;    // in the shard's order
  Tally tally;           // of the batch before it
  std::uint64_t length;  // of the text
  char text[kMostText];  // a longer case is cut, and drawn again by its index
};

/// The state of a worker, in memory shared with the supervisor: the flight recorder. Whenever the
/// worker ends, its record is whole: the next one is written beside it, and takes its place at
/// once.
class FlightRecorder {
 public:
  enum class At : std::int32_t { Starting, Preparing, Checking, Between };

  std::atomic<At> at;
  std::atomic<std::uint64_t> beat;  // counts steps: one that stands still hangs
  std::atomic<bool> stop;           // wanted: end after this case
  std::int64_t batch;

  /// Of a worker that still runs, parts may be of the next case.
  CaseRecord& record() { return records_[current_.load(std::memory_order_acquire)]; }
  void take(std::int64_t place, const Tally& tally, std::string_view text);

 private:
  std::atomic<std::uint32_t> current_;
  CaseRecord records_[2];
};

/// The work of a worker: batches first, first + step, ..., the first from `place` on.
struct WorkOrder {
  const AreaPlan* plan = nullptr;
  const RunOptions* options = nullptr;
  int worker = 0;
  std::int64_t first = 0, step = 1, place = 0;
  Tally tally;          // of the batch that was begun
  bool prepare = true;  // false: of the first batch, cases are not prepared together
};

/// The exit code of a worker that has grown too large, between two batches: a new one goes on.
constexpr int kGrown = 75;

/// Starts a worker: lines of JSON come out of its channel, a finding each, and a line for each
/// batch. Throws SystemError.
process::Child start_worker(const WorkOrder& order, FlightRecorder& recorder);

/// Runs `work` in a child and returns what it returns; nothing where the child died, or took longer
/// than `seconds`, and then how it ended stands in `ended`. Throws SystemError, and Interrupted
/// (base/interrupt.h).
std::optional<std::string> in_child(const std::function<std::string()>& work, double seconds,
                                    std::uint64_t memory, std::string& ended);

/// One line of a log.
std::string line_of(const nlohmann::json& j);

/// Cases of the shard in a batch: [begin, end) as places of the shard's own order.
std::pair<std::int64_t, std::int64_t> batch_range(const AreaPlan& plan, const RunOptions& options,
                                                  std::int64_t batch);
std::int64_t batches_of(const AreaPlan& plan, const RunOptions& options);

}  // namespace touchstone::fuzz
