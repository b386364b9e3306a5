#include <atomic>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <histedit.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/cli/indices/repl_session.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define TOUCHSTONE_MAY_LEAK const __lsan::ScopedDisabler may_leak
#endif
#endif
#ifndef TOUCHSTONE_MAY_LEAK
#define TOUCHSTONE_MAY_LEAK
#endif

namespace touchstone::cli {
namespace {

constexpr int kRemembered = 1000;  // lines of history

/// Prints the answer to a line; false if it is an error.
bool respond(ReplSession& session, const std::string& line) {
  try {
    fmt::print("{}", session.answer(line));
    return true;
  } catch (const Interrupted&) {
    fmt::print("{}\n", yellow("interrupted"));
  } catch (const Error& e) {
    fmt::print("{} {}\n", red("error:"), e.what());
  } catch (const std::bad_alloc&) {
    fmt::print("{} out of memory\n", red("error:"));
  }
  return false;
}

int run_script() {
  ReplSession session;
  bool good = true;
  LineStream lines(
      [&](std::string_view line) {
        if (!session.ended()) good &= respond(session, std::string(line));
        return std::string();
      },
      [&](std::string_view text) {
        if (!is_error(text)) return;
        constexpr std::string_view kBegin = R"({"error":")", kEnd = "\"}\n";
        text = text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size());
        fmt::print("{} {}\n", red("error:"), text);
        good = false;
      });
  read_input("repl", [&](std::string_view piece) {
    lines.take(piece);
    if (std::fflush(stdout) != 0) throw SystemError("repl: cannot write");
    return !session.ended();
  });
  lines.finish();
  return good ? kExitOk : kExitBad;
}

/// The history file; empty if there is none, with the reason in `why` if the configured place is
/// unusable.
std::filesystem::path history_file(std::string& why) {
  constexpr std::uint64_t kMostHistory = std::uint64_t{1} << 20;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state && *state)
    folder = state;
  else if (home && *home)
    folder = std::filesystem::path(home) / ".local" / "state";
  else
    return {};
  folder /= "touchstone";
  try {
    make_own_folder(folder);
    const std::filesystem::path file = folder / "repl_history";
    if (std::error_code none;
        std::filesystem::symlink_status(file, none).type() != std::filesystem::file_type::not_found)
      read_file(file, kMostHistory);
    return file;
  } catch (const SystemError& e) {
    why = e.what();
    return {};
  }
}

std::atomic<bool> answering = false, pressed = false;

extern "C" void heed_interrupt(int signal) {
  pressed = true;  // a read in progress ends with EINTR
  if (!answering || !Interrupt::request()) return;
  ::signal(signal, SIG_DFL);  // second request, and nothing reacts
  ::raise(signal);
}

/// While one lives, Ctrl-C runs a handler on this thread; for other verbs, the signal thread ends
/// the process.
class OnInterrupt {
 public:
  OnInterrupt() {
    struct sigaction action {};
    action.sa_handler = heed_interrupt;
    ::sigaction(SIGINT, &action, &before_);
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_UNBLOCK, &interrupt, &mask_before_);
  }
  ~OnInterrupt() {
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    ::sigaction(SIGINT, &before_, nullptr);
  }
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;

 private:
  struct sigaction before_ {};
  sigset_t mask_before_{};
};

/// Prints the answer to a line unless Ctrl-C interrupts it. Each key press counts once: one that
/// comes too late does not end the next answer.
void respond_unless_interrupted(ReplSession& session, const std::string& line) {
  answering = true;
  if (pressed) Interrupt::request();
  respond(session, line);
  answering = false;
  Interrupt::clear();
}

class Editor {
 public:
  explicit Editor(ReplSession& session) : session_(session) {
    std::string why;
    file_ = history_file(why);
    if (!why.empty())
      fmt::print("{} lines are not stored in the history: {}\n", yellow("note:"), why);
    std::setlocale(LC_CTYPE, "");
    history_ = ::history_init();
    editor_ = ::el_init("touchstone", stdin, stdout, stderr);
    if (!history_ || !editor_) throw SystemError("repl: the line editor failed to start");
    HistEvent event;
    ::history(history_, &event, H_SETSIZE, kRemembered);
    ::history(history_, &event, H_SETUNIQUE, 1);
    if (!file_.empty()) ::history(history_, &event, H_LOAD, file_.c_str());
    ::el_set(editor_, EL_CLIENTDATA, this);
    ::el_set(editor_, EL_PROMPT, prompt);
    ::el_set(editor_, EL_EDITOR, "emacs");
    ::el_set(editor_, EL_HIST, ::history, history_);
    {
      TOUCHSTONE_MAY_LEAK;  // el_end leaks the name of an added function (libedit 3.1)
      ::el_set(editor_, EL_ADDFN, "complete", "Complete the word", complete);
    }
    ::el_set(editor_, EL_BIND, "^I", "complete", nullptr);
    ::el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    const char* const named = std::getenv("EDITRC");
    const char* const home = std::getenv("HOME");
    const std::filesystem::path bindings =
        named && *named ? named : std::filesystem::path(home ? home : "") / ".editrc";
    std::error_code none;
    if (std::filesystem::is_regular_file(bindings, none)) ::el_source(editor_, bindings.c_str());
  }
  ~Editor() {
    ::el_end(editor_);
    ::history_end(history_);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  enum class Read : std::uint8_t { Line, Interrupted, End };
  Read read(std::string& line) {
    pressed = false;
    int count = 0;
    errno = 0;
    const char* text = ::el_gets(editor_, &count);
    if (!text || count <= 0) {
      if (!(text == nullptr && errno == EINTR)) return Read::End;
      ::el_reset(editor_);
      return Read::Interrupted;
    }
    line.assign(text, static_cast<std::size_t>(count));
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    HistEvent event;
    if (line.find_first_not_of(" \t") != line.npos) {
      ::history(history_, &event, H_ENTER, line.c_str());
      if (!file_.empty()) ::history(history_, &event, H_SAVE, file_.c_str());
    }
    return Read::Line;
  }

 private:
  static char* prompt(EditLine*) {
    static char text[] = "> ";
    return text;
  }

  static unsigned char complete(EditLine* editor, int) {
    Editor* self = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &self);
    const LineInfo* line = ::el_line(editor);
    const std::string_view before(line->buffer,
                                  static_cast<std::size_t>(line->cursor - line->buffer));
    std::size_t from = before.size();
    while (from > 0 && (std::isalnum(static_cast<unsigned char>(before[from - 1])) ||
                        before[from - 1] == '_' || before[from - 1] == ':'))
      --from;
    const std::string word(before.substr(from));
    const std::vector<std::string> found = self->session_.completions(word);
    if (found.empty()) return CC_ERROR;
    std::string common = found[0];
    for (const std::string& f : found)
      while (!f.starts_with(common)) common.pop_back();
    if (found.size() == 1) common += ' ';
    if (common.size() > word.size()) {
      ::el_insertstr(editor, common.c_str() + word.size());
      return CC_REFRESH;
    }
    fmt::print("\n");
    for (const std::string& f : found) fmt::print("{}  ", f);
    fmt::print("\n");
    std::fflush(stdout);
    return CC_REDISPLAY;
  }

  ReplSession& session_;
  std::filesystem::path file_;
  History* history_ = nullptr;
  EditLine* editor_ = nullptr;
};

int run_interactive() {
  keep_terminal();
  ReplSession session;
  Editor editor(session);
  const OnInterrupt interrupts;
  fmt::print(
      "Index expressions; a = 0..10 gives a variable its bounds, :help lists the commands.\n");
  std::fflush(stdout);
  for (std::string line; !session.ended();) {
    switch (editor.read(line)) {
      case Editor::Read::Line: respond_unless_interrupted(session, line); break;
      case Editor::Read::Interrupted: fmt::print("^C\n"); break;
      case Editor::Read::End: fmt::print("\n"); return kExitOk;
    }
    std::fflush(stdout);
  }
  return kExitOk;
}

}  // namespace

int run_repl() { return ::isatty(STDIN_FILENO) ? run_interactive() : run_script(); }

}  // namespace touchstone::cli
