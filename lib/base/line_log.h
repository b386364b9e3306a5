#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/descriptor.h"

namespace touchstone {

/// A log file that is written line by line during a run. A killed process loses at most the line it
/// was writing; the next one to open the log removes that partial line. Only one process at a time
/// can hold it.
class LineLog {
 public:
  /// Creates the file or appends to it. The first line of an existing log must be `first`; a
  /// non-empty file is accepted only with `resume`. Throws SystemError or ParseError.
  LineLog(const std::filesystem::path& path, const std::string& first, bool resume);
  /// Writes to an open descriptor and leaves it open; `name` is for errors. Throws SystemError.
  LineLog(int file, const std::filesystem::path& name, const std::string& first);

  /// The lines after the first that the file held when it was opened, without line ends.
  const std::vector<std::string>& lines() const { return lines_; }
  /// Calls `take` with each of them, a line of JSON; ParseError names the line if that throws.
  void read_json(const std::function<void(const std::string&)>& take) const;
  /// Appends a line. Throws SystemError if it cannot be written, for example on a full disk.
  void add(std::string_view line);

 private:
  void take_up(const std::string& first, bool resume);

  std::filesystem::path path_;
  Descriptor file_;
  std::vector<std::string> lines_;
};

}  // namespace touchstone
