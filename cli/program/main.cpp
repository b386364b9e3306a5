#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/visible.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/installed.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/search_progress.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone::cli {
namespace {

constexpr char kEnvironment[] =
    "Environment variables, with defaults in parentheses.\nCompiled kernels: TOUCHSTONE_CC: the "
    "compiler. TOUCHSTONE_CACHE: the cache folder, which must be yours alone. "
    "TOUCHSTONE_CACHE_SIZE: its limit in MiB (1024); the least recently used kernels are deleted "
    "first. TOUCHSTONE_THREADS: threads for a large kernel. TOUCHSTONE_MARCH=x86-64-v3: use AVX2 "
    "at most. TOUCHSTONE_BEAM: search for the fastest layout of each kernel, with this many "
    "candidates kept per round (0: no search). "
    "TOUCHSTONE_KERNEL_SAN=1: undefined behaviour in a kernel ends the process.\nArithmetic: "
    "TOUCHSTONE_ORDER=source: sum term by term. TOUCHSTONE_FMA=0: round products before they are "
    "added to a sum, also within EXP2, LOG2 and SIN (1: fuse them, the default where the processor "
    "can); a kernel's profile declares the sums that it uses. TOUCHSTONE_MATH: accuracy of EXP2, "
    "LOG2 and SIN: 1ulp, correctly-rounded, fast or library.\nLimits of one run of the compiler, 0 "
    "for none: TOUCHSTONE_CC_SECONDS (120); TOUCHSTONE_CC_OUTPUT, MiB that it prints (16); "
    "TOUCHSTONE_CC_MEMORY, MiB of address space for each of its processes and of each file "
    "(8192).\nTOUCHSTONE_ROOM=off: run compilers and foreign backends without a sandbox "
    "(docs/backends.md). TOUCHSTONE_ROOM_READS: more folders that backends may read, separated by "
    "colons.";
constexpr char kFooter[] =
    "Exit codes: 0 done or PASS, 1 FAIL or a goal missed, 2 bad usage or input (also UNUSABLE), 3 "
    "WEAK, 4 nothing was checked, 5 SUSPECT; --help of a verb lists its own.\nThe file name - "
    "means standard output. Colour: on a terminal only; NO_COLOR, CLICOLOR_FORCE and --color are "
    "honoured.";

// The folders shown by --help.
std::string help_places() {
  std::string text;
  if (const auto docs = documentation_folder(); !docs.empty())
    text += fmt::format("Documentation: {}\n", docs.string());
  if (const auto adapters = adapter_folder(); !adapters.empty())
    text += fmt::format("Adapters of backends: {}\n", adapters.string());
  return text;
}

int run_command_line(int argc, char** argv) {
  CLI::App app(
      "Touchstone: a reference device, an index-arithmetic toolkit and a fuzzer for tensor "
      "backends",
      "touchstone");
  app.set_version_flag("--version", "touchstone " TOUCHSTONE_VERSION);
  app.footer([] { return help_places() + kFooter + "\n" + kEnvironment; });
  app.require_subcommand(1);
  std::string color = "auto";
  app.add_option("--color", color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  std::vector<Verb> verbs;
  for (const VerbGroup& group : verbs_of_program(app))
    for (const Verb& verb : group.verbs) {
      if (verb.app->get_group() == "Subcommands") verb.app->group(group.name);
      verbs.push_back(verb);
    }
  const std::vector<std::string> words = words_of(argc, argv);
  try {
    app.parse(std::vector<std::string>(words));
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    throw ParseError(usage_error(app, e, words));
  }
  set_color(color == "always"  ? ColorChoice::Always
            : color == "never" ? ColorChoice::Never
                               : ColorChoice::Auto);
  register_interpreted_device();
  register_clang_device();
  register_devices_of_program();
  install_search([](const BeamProgress& now) {
    static Progress progress("search", 0);
    show_search(progress, now);
    if (now.tried == now.of) progress.hide();
  });
  for (const Verb& verb : verbs)
    if (verb.app->parsed()) return verb.run();
  return kExitBad;
}

}  // namespace
}  // namespace touchstone::cli

namespace {

// A terminating signal must also remove the process's temporary directories. A separate thread
// waits for it and may call anything; all other threads block it.
void tidy_up_on_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      sigaddset(&ending, signal);  // signals that nohup and the like ignore stay ignored
  }
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  std::thread([ending] {
    int signal = 0;
    do {
      if (sigwait(&ending, &signal) != 0) return;
    } while (touchstone::cli::handed_over(signal));
    touchstone::cli::OrderlyEnd::take(signal);
    touchstone::cli::end_by(signal);
  }).detach();
}

// A signal arrived, and another thread ends the process. Results computed while it also ended
// backends and compilers do not count.
void leave_to_signal() {
  while (touchstone::cli::OrderlyEnd::wanted()) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);     // end silently when the reader leaves
  std::signal(SIGXFSZ, [](int) {});  // writing beyond `ulimit -f` fails and is reported
  std::string why;
  try {
    tidy_up_on_signals();
    const int code = touchstone::cli::run_command_line(argc, argv);
    leave_to_signal();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    why = fmt::format("cannot write to standard output: {}", std::strerror(errno));
  } catch (const touchstone::Interrupted& e) {
    why = e.what();
  } catch (const touchstone::Error& e) {
    why = e.what();
  } catch (const std::bad_alloc&) {
    why = "out of memory";
  } catch (const std::system_error& e) {  // fmt could not write
    why = e.what();
  } catch (const std::exception& e) {
    why = fmt::format("internal error: {}", e.what());
  }
  leave_to_signal();
  std::fputs(("touchstone: " + touchstone::visible_lines(why) + "\n").c_str(),
             stderr);  // unlike fmt it never throws
  return touchstone::cli::kExitBad;
}
