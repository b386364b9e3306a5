#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "touchstone/fuzz/engine/runner.h"

namespace touchstone::fuzz {

/// The result of one batch.
struct BatchRecord {
  Tally tally;
  std::vector<std::uint64_t> coverage;
  PassedOver passed_over{};
};

/// The log of one area: batches 0, 1, ... in order, and findings in them.
struct AreaRecord {
  std::vector<BatchRecord> batches;
  std::vector<AreaFinding> findings;
};

/// The log of a campaign: JSON lines that are only ever added to, each with one call, so that what
/// is there is whole but for the last line of a process that was killed. A line that a full disk
/// cuts short is taken back.
class RunLog {
 public:
  /// Begins a log, or takes up an old one. Throws SystemError, ParseError.
  RunLog(const std::vector<AreaPlan>& plans, const RunOptions& options);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  /// The old log of an area, cut to batches that are as long as this run has them.
  AreaRecord record(const AreaPlan& plan, const RunOptions& options) const;

  void batch(const std::string& area, std::int64_t number, const BatchRecord& record);
  void finding(const std::string& area, std::int64_t batch, const AreaFinding& finding);
  void shrunk(const std::string& area, const AreaFinding& finding);

 private:
  void read(const std::vector<AreaPlan>& plans, const RunOptions& options);
  void write(const std::string& line);

  std::filesystem::path path_;
  int file_ = -1;
  std::map<std::string, AreaRecord> old_;
  std::map<std::string, std::map<std::int64_t, std::int64_t>> batch_of_;  // of old findings
};

}  // namespace touchstone::fuzz
