#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "touchstone/base/line_log.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::cli {

/// The result of judge on one kernel.
struct JudgedLine {
  std::string name;
  std::optional<Outcome> outcome;  // none: the backend refused the kernel
  std::string text;                // the verdict in words, or the reason for refusal
  std::string json;                // the same as an object, if requested
  std::string kernel;              // its hash; empty if it could not be read
  std::string profile;             // empty: the backend refused the kernel
  bool suspect = false;            // each element legal, the errors together suspicious
};

/// The log of a judge run, as JSON lines: first the run's identity, then one line per kernel once
/// judged. An interrupted run resumes from it.
class JudgeLog {
 public:
  JudgeLog() = default;  // none
  /// `run`: JSON that identifies the run. Throws as LineLog, and ParseError if a line is damaged.
  JudgeLog(const std::string& file, const std::string& run, bool resume);
  /// Writes to an open file.
  JudgeLog(int file, const std::string& run) : log_(std::make_unique<LineLog>(file, "-", run)) {}

  explicit operator bool() const { return log_ != nullptr; }
  /// The line of a kernel judged before, if `stamp` shows it unchanged.
  const JudgedLine* find(const std::string& name, const std::string& stamp) const;
  void add(const std::string& stamp, const JudgedLine& line);

 private:
  std::unique_ptr<LineLog> log_;
  std::map<std::pair<std::string, std::string>, JudgedLine> known_;
};

}  // namespace touchstone::cli
