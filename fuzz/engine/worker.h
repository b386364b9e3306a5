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

/// The case that a worker is processing.
struct CaseRecord {
  static constexpr std::size_t kMostText = std::size_t{4} << 20;

  std::int64_t place;    // in the shard's order
  Tally tally;           // of the batch before it
  std::uint64_t length;  // of the text
  char text[kMostText];  // a longer case is truncated, and redrawn by its index
};

/// A worker's state in memory shared with the supervisor: the flight recorder. The record is whole
/// whenever the worker ends: the next one is written beside it and then switched to atomically.
class FlightRecorder {
 public:
  enum class At : std::int32_t { Starting, Preparing, Checking, Between };

  std::atomic<At> at;
  std::atomic<std::uint64_t> beat;  // counts steps: no change means a hang
  std::atomic<bool> stop;           // request to end after this case
  std::int64_t batch;

  /// While the worker runs, parts may belong to the next case.
  CaseRecord& record() { return records_[current_.load(std::memory_order_acquire)]; }
  void take(std::int64_t place, const Tally& tally, std::string_view text);

 private:
  std::atomic<std::uint32_t> current_;
  CaseRecord records_[2];
};

/// The work of a worker: batches first, first + step, ..., the first one from `place` on.
struct WorkOrder {
  const AreaPlan* plan = nullptr;
  const RunOptions* options = nullptr;
  int worker = 0;
  std::int64_t first = 0, step = 1, place = 0;
  Tally tally;          // of the batch in progress
  bool prepare = true;  // false: do not prepare the first batch's cases together
};

/// The exit code of a worker that has grown too large between two batches; it is replaced.
constexpr int kGrown = 75;

/// Starts a worker, which writes JSON lines to its channel: one per finding and one per batch.
/// Throws SystemError.
process::Child start_worker(const WorkOrder& order, FlightRecorder& recorder);

/// Runs `work` in a child and returns its result; nothing if the child died or took longer than
/// `seconds`, with the reason in `ended`. Throws SystemError, and Interrupted (base/interrupt.h).
std::optional<std::string> in_child(const std::function<std::string()>& work, double seconds,
                                    std::uint64_t memory, std::string& ended);

/// The result of `check` in a child; a Fail by "hang" or "crash", with the reason, of a child that
/// gives none. Throws as in_child, and ParseError if `check` does.
Checked checked_in_child(const std::function<Checked()>& check, double seconds,
                         std::uint64_t memory);

/// One line of a log.
std::string line_of(const nlohmann::json& j);

/// The shard's cases in a batch: [begin, end) as places in the shard's order.
std::pair<std::int64_t, std::int64_t> batch_range(const AreaPlan& plan, const RunOptions& options,
                                                  std::int64_t batch);
std::int64_t batches_of(const AreaPlan& plan, const RunOptions& options);

}  // namespace touchstone::fuzz
