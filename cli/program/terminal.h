#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "touchstone/base/counted.h"

namespace touchstone::cli {

enum class ColorChoice : std::uint8_t { Auto, Always, Never };
void set_color(ColorChoice choice);

/// Wraps text for standard output in ANSI colour if enabled: on a terminal with NO_COLOR unset or
/// empty and TERM not dumb; CLICOLOR_FORCE enables it anyway, --color overrides everything.
std::string green(std::string_view text);
std::string red(std::string_view text);
std::string yellow(std::string_view text);
std::string dim(std::string_view text);
std::string bold(std::string_view text);

/// True if drawings on standard output may use Unicode: a UTF-8 locale and TERM not dumb.
bool draws_unicode();
/// Whether standard output is a terminal; and its columns, 80 if unknown.
bool is_on_terminal();
std::size_t output_columns();

/// A progress line on standard error, no wider than the terminal; silent elsewhere. Updated at most
/// ten times a second and removed at the end.
class Progress {
 public:
  Progress(std::string task, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::int64_t done, std::string_view note = {});
  void set_total(std::int64_t total) { total_ = std::max<std::int64_t>(total, 1); }
  /// Clears the line until the next update, to make room for a line of output.
  void hide();

 private:
  std::string task_;
  std::int64_t total_;
  bool shown_;
  bool there_ = false;
  std::chrono::steady_clock::time_point last_{};
};

/// The same for a task of unknown length: shows its seconds, from the second one on.
class Waiting {
 public:
  explicit Waiting(std::string task);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::jthread line_;
};

/// The progress line, in at most `columns` - 1 characters.
std::string progress_line(std::string_view task, std::int64_t done, std::int64_t total,
                          std::string_view note, std::size_t columns);

/// Columns as wide as their widest cell; cells of columns named in `right` are aligned right.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<bool> right);
  void add(std::vector<std::string> row);
  std::string str() const;
  /// For standard output: on a narrower terminal, cells of the widest columns are cut, and a last
  /// line reports it.
  std::string fitted() const;
  /// The same for this many columns; 0: unlimited.
  std::string fitted(std::size_t columns) const;

 private:
  std::vector<std::size_t> widths() const;
  std::string text(const std::vector<std::size_t>& widths) const;
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

/// Writes a text to a file, whole or not at all, or to standard output for "-". Throws SystemError.
void deliver(const std::string& file, std::string_view text);

/// Formats 1234567 as "1.23 M" and so on; seconds as "12.3 us".
std::string count_str(double n);
std::string seconds_str(double seconds);

}  // namespace touchstone::cli
