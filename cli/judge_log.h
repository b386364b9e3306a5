#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "touchstone/base/line_log.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::cli {

/// The report of judge on one kernel.
struct JudgedLine {
  std::string name;
  std::optional<Outcome> outcome;  // none: the backend did not take the kernel
  std::string text;                // the verdict in words, or why it was not taken
  std::string json;                // the same as an object, where that is asked for
  std::string kernel;              // its hash; empty where it could not be read
  bool suspect = false;            // each element legal, the errors together suspicious
};

/// The lines of a run of judge, a file of JSON lines: first one that says which run, then one a
/// kernel as soon as it is judged. A run that was ended goes on from it.
class JudgeLog {
 public:
  JudgeLog() = default;  // none
  /// `run`: the JSON that tells this run from others. Throws as LineLog, and ParseError where a
  /// line is damaged.
  JudgeLog(const std::string& file, const std::string& run, bool resume);
  /// The lines go to an open file.
  JudgeLog(int file, const std::string& run) : log_(std::make_unique<LineLog>(file, "-", run)) {}

  explicit operator bool() const { return log_ != nullptr; }
  /// The line of a kernel that was judged before; `stamp` tells whether it is still the same.
  const JudgedLine* find(const std::string& name, const std::string& stamp) const;
  void add(const std::string& stamp, const JudgedLine& line);

 private:
  std::unique_ptr<LineLog> log_;
  std::map<std::pair<std::string, std::string>, JudgedLine> known_;
};

}  // namespace touchstone::cli
