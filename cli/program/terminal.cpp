#include "touchstone/cli/program/terminal.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "touchstone/base/file.h"
#include "touchstone/base/visible.h"

namespace touchstone::cli {
namespace {

ColorChoice color_choice = ColorChoice::Auto;

bool set_and_not(const char* variable, std::string_view not_this) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && value != not_this;
}

bool use_color() {
  static const bool automatic = [] {
    if (set_and_not("NO_COLOR", "")) return false;
    if (set_and_not("CLICOLOR_FORCE", "0")) return true;
    const char* term = std::getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  }();
  if (color_choice == ColorChoice::Auto) return automatic;
  return color_choice == ColorChoice::Always;
}

std::string paint(std::string_view code, std::string_view text) {
  return use_color() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

// Display width: ignores escape sequences and UTF-8 continuation bytes.
std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

// The columns of a terminal; nothing if it is none or does not report them.
std::size_t columns_of(int file) {
  winsize size{};
  return ::ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t terminal_width() {
  const std::size_t columns = columns_of(STDERR_FILENO);
  return columns > 0 ? columns : 80;
}

// Cuts a cell to `columns`; "…" marks the cut.
std::string cut_to(const std::string& cell, std::size_t columns) {
  if (width(cell) <= columns) return cell;
  std::string kept;
  std::size_t shown = 0;
  bool painted = false;
  for (std::size_t i = 0; i < cell.size();) {
    std::size_t end = i + 1;
    if (cell[i] == '\x1b') {
      end = std::min(cell.find('m', i), cell.size() - 1) + 1;
      painted = true;
    } else {
      while (end < cell.size() && (static_cast<unsigned char>(cell[end]) & 0xc0U) == 0x80U) ++end;
      if (++shown == columns) break;
    }
    kept += cell.substr(i, end - i);
    i = end;
  }
  return kept + "…" + (painted ? "\x1b[0m" : "");
}

}  // namespace

void set_color(ColorChoice choice) { color_choice = choice; }

bool draws_unicode() {
  const char* const term = std::getenv("TERM");
  if (term != nullptr && std::string_view(term) == "dumb") return false;
  const locale_t locale = ::newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr) return false;
  const std::string_view code = ::nl_langinfo_l(CODESET, locale);
  const bool is_utf8 = code == "UTF-8" || code == "utf8";
  ::freelocale(locale);
  return is_utf8;
}

bool is_on_terminal() { return ::isatty(STDOUT_FILENO) != 0; }

std::size_t output_columns() {
  const std::size_t columns = columns_of(STDOUT_FILENO);
  return columns > 0 ? columns : 80;
}

std::string green(std::string_view text) { return paint("32", text); }
std::string red(std::string_view text) { return paint("1;31", text); }
std::string yellow(std::string_view text) { return paint("33", text); }
std::string dim(std::string_view text) { return paint("2", text); }
std::string bold(std::string_view text) { return paint("1", text); }

Progress::Progress(std::string task, std::int64_t total)
    : task_(std::move(task)),
      total_(std::max<std::int64_t>(total, 1)),
      shown_(isatty(STDERR_FILENO) != 0) {
  update(0);
}

Progress::~Progress() { hide(); }

void Progress::hide() {
  if (std::exchange(there_, false)) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(std::int64_t done, std::string_view note) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (last_ != decltype(last_){} && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  there_ = true;
  const std::string line = progress_line(task_, done, total_, note, terminal_width());
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
}

Waiting::Waiting(std::string task) {
  if (isatty(STDERR_FILENO) == 0) return;
  line_ = std::jthread([task = std::move(task)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    int seconds = 0;
    while (!wake.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) &&
           !stop.stop_requested()) {
      const std::string text = fmt::format("{}: {} s", task, ++seconds);
      std::fputs(("\r\x1b[K" + text.substr(0, terminal_width() - 1)).c_str(), stderr);
    }
    if (seconds > 0) std::fputs("\r\x1b[K", stderr);
  });
}

Waiting::~Waiting() = default;  // ends and joins the thread

std::string progress_line(std::string_view task, std::int64_t done, std::int64_t total,
                          std::string_view note, std::size_t columns) {
  // Leaves the last column free: some terminals wrap when it is written.
  const std::size_t most = columns > 1 ? columns - 1 : 1;
  const std::string count = fmt::format("{}/{}", done, total);
  std::string line = fmt::format("{} {}", task, count);
  constexpr std::size_t kBar = 30, kLeast = 5;
  if (const std::size_t needed = task.size() + count.size() + 4; needed + kLeast <= most) {
    const std::size_t bar = std::min(kBar, most - needed);
    const auto filled = static_cast<std::size_t>(std::clamp<std::int64_t>(done, 0, total) *
                                                 static_cast<std::int64_t>(bar) / total);
    line = fmt::format("{} [{}{}] {}", task, std::string(filled, '#'),
                       std::string(bar - filled, '.'), count);
  }
  if (!note.empty()) line += " " + visible(note);
  std::size_t end = 0, shown = 0;  // whole characters
  for (; end < line.size(); ++end)
    if ((static_cast<unsigned char>(line[end]) & 0xc0U) != 0x80U && ++shown > most) break;
  return line.substr(0, end);
}

Table::Table(std::vector<std::string> header, std::vector<bool> right) : right_(std::move(right)) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  return widths;
}

std::string Table::str() const { return text(widths()); }

std::string Table::fitted() const { return fitted(columns_of(STDOUT_FILENO)); }

std::string Table::fitted(std::size_t columns) const {
  constexpr std::size_t kLeast = 8, kGap = 2;
  const std::vector<std::size_t> whole = widths();
  std::vector<std::size_t> wide = whole;
  const auto taken = [&] {
    std::size_t all = 0;
    for (const std::size_t w : wide) all += w == 0 ? 0 : w + kGap;
    return all - kGap;
  };
  if (columns == 0 || taken() <= columns) return text(wide);
  while (taken() > columns) {  // text first, because a cut number misleads
    std::size_t at = wide.size();
    for (std::size_t i = 0; i < wide.size(); ++i)
      if (!right_[i] && wide[i] > kLeast && (at == wide.size() || wide[i] > wide[at])) at = i;
    if (at == wide.size()) break;
    --wide[at];
  }
  for (std::size_t i = wide.size(); i-- > 1 && taken() > columns;) wide[i] = 0;
  std::vector<std::string> cut, left_out;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const std::string column = rows_[0][i].empty() ? "description" : rows_[0][i];
    if (wide[i] == 0 && whole[i] > 0)
      left_out.push_back(column);
    else if (wide[i] < whole[i])
      cut.push_back(column);
  }
  std::vector<std::string> notes;
  if (!cut.empty()) notes.push_back(fmt::format("cut: {}", fmt::join(cut, ", ")));
  if (!left_out.empty()) notes.push_back(fmt::format("left out: {}", fmt::join(left_out, ", ")));
  return text(wide) +
         dim(fmt::format("{} columns: {}; redirect to a pipe to see all", columns,
                         fmt::join(notes, "; "))) +
         "\n";
}

// A width of 0 omits the column.
std::string Table::text(const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string cell = cut_to(rows_[r][i], widths[i]);
      const std::string gap(widths[i] - width(cell), ' ');
      line += (line.empty() ? "" : "  ") + (right_[i] ? gap + cell : cell + gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (r == 0 ? bold(line) : line) + "\n";
  }
  return text;
}

void deliver(const std::string& file, std::string_view text) {
  if (file == "-")
    fmt::print("{}", text);
  else
    write_file_atomically(file, text);
}

std::string count_str(double n) {
  for (const std::string_view unit : {"", " k", " M", " G", " T"}) {
    if (std::abs(n) < 1000 || unit == " T")
      return fmt::format("{:.{}f}{}", n, unit.empty() || n >= 100 ? 0 : n >= 10 ? 1 : 2, unit);
    n /= 1000;
  }
  return {};
}

std::string seconds_str(double s) {
  if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
  if (s < 1) return fmt::format("{:.1f} ms", s * 1e3);
  return fmt::format("{:.2f} s", s);
}

}  // namespace touchstone::cli
