#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "touchstone/process/descriptor.h"

namespace touchstone::cli {

/// Standard output for data: while one lives, text that is printed for people goes to standard
/// error. One at a time.
class DataOutput {
 public:
  /// Throws SystemError.
  DataOutput();
  ~DataOutput();
  DataOutput(const DataOutput&) = delete;
  DataOutput& operator=(const DataOutput&) = delete;

  int fd() const { return kept_.get(); }
  /// Throws SystemError where it cannot be written.
  void write(std::string_view text) const;

 private:
  process::Descriptor kept_;
};

/// One where that is wanted.
inline std::unique_ptr<DataOutput> data_output_if(bool wanted) {
  return wanted ? std::make_unique<DataOutput>() : nullptr;
}

/// Where a log is to be standard output, which objects of --json may not share. Throws ParseError.
std::unique_ptr<DataOutput> log_output(const std::string& log, bool json);
/// Throws ParseError where a run is to be resumed from no file.
void require_log_file(bool resume, const std::string& log);

}  // namespace touchstone::cli
