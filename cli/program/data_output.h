#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "touchstone/base/descriptor.h"

namespace touchstone::cli {

/// Standard output reserved for data: while one lives, text for people goes to standard error. One
/// at a time.
class DataOutput {
 public:
  /// Throws SystemError.
  DataOutput();
  ~DataOutput();
  DataOutput(const DataOutput&) = delete;
  DataOutput& operator=(const DataOutput&) = delete;

  int fd() const { return kept_.get(); }
  /// Throws SystemError if it cannot be written.
  void write(std::string_view text) const;

 private:
  Descriptor kept_;
};

/// A DataOutput if wanted, else null.
inline std::unique_ptr<DataOutput> data_output_if(bool wanted) {
  return wanted ? std::make_unique<DataOutput>() : nullptr;
}

/// Reserves standard output for a log named "-", which --json may not share. Throws ParseError.
std::unique_ptr<DataOutput> log_output(const std::string& log, bool json);
/// Throws ParseError if a run is to be resumed without a file.
void require_log_file(bool resume, const std::string& log);

}  // namespace touchstone::cli
