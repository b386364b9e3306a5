#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

/// Lines that are kept as a run goes on, each whole or not at all: a process that is killed loses
/// at most the line it was writing, which the next one cuts off. Only one process at a time has it.
class LineLog {
 public:
  /// Makes the file, or goes on at its end. Where it holds lines its first must be `first`; a file
  /// that is there and not empty is taken up only with `resume`. Throws SystemError or ParseError.
  LineLog(const std::filesystem::path& path, const std::string& first, bool resume);
  /// Writes to an open file, which stays open: `name` is for errors. Throws SystemError.
  LineLog(int file, const std::filesystem::path& name, const std::string& first);
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  /// The lines behind the first that it held when it was opened, without line ends.
  const std::vector<std::string>& lines() const { return lines_; }
  /// Throws SystemError where it cannot be written, as on a full disk.
  void add(std::string_view line);

 private:
  void take_up(const std::string& first, bool resume);

  std::filesystem::path path_;
  int file_ = -1;
  std::vector<std::string> lines_;
};

}  // namespace touchstone
