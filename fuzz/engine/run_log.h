#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/base/descriptor.h"
#include "touchstone/fuzz/engine/runner.h"

namespace touchstone::fuzz {

/// The result of one batch.
struct BatchRecord {
  Tally tally;
  std::vector<std::uint64_t> coverage;
  PassedOver passed_over{};
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failure, relation, detail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tally, cases, passed, weak, skipped, failed)

/// A batch and a finding as lines of a log, and back.
nlohmann::json told(std::int64_t batch, const BatchRecord& record);
nlohmann::json told(std::int64_t batch, const AreaFinding& finding);
BatchRecord batch_in(const nlohmann::json& line);
AreaFinding finding_in(const nlohmann::json& line);

/// The log of one area: batches 0, 1, ... in order, and its findings.
struct AreaRecord {
  std::vector<BatchRecord> batches;
  std::vector<AreaFinding> findings;
};

/// The log of a campaign: JSON lines, append-only, one call per line, so that only the last line of
/// a killed process can be incomplete. A line cut short by a full disk is removed.
class RunLog {
 public:
  /// Starts a log or continues an old one. Throws SystemError, ParseError.
  RunLog(const std::vector<AreaPlan>& plans, const RunOptions& options);

  /// The old log of an area, up to the first batch whose length differs from this run's.
  AreaRecord record(const AreaPlan& plan, const RunOptions& options) const;

  void batch(const std::string& area, std::int64_t number, const BatchRecord& record);
  void finding(const std::string& area, std::int64_t batch, const AreaFinding& finding);
  void shrunk(const std::string& area, const AreaFinding& finding);

 private:
  void read(const std::vector<AreaPlan>& plans, const RunOptions& options);
  void write(const std::string& line);
  void write_of(const std::string& area, nlohmann::json line);

  std::filesystem::path path_;
  Descriptor file_;
  std::map<std::string, AreaRecord> old_;
  std::map<std::string, std::map<std::int64_t, std::int64_t>> batch_of_;  // of old findings
};

}  // namespace touchstone::fuzz
