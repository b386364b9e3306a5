#include "touchstone/cli/program/orderly_end.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/process/child.h"

namespace touchstone::cli {
namespace {

// Never destroyed: the signal thread may outlive main.
struct EndState {
  std::mutex mutex;
  std::condition_variable gone;
  bool living = false;
  std::function<void()> last_words;  // empty after the call
  std::atomic<int> signal = 0;
  std::atomic<bool> has_terminal = false;  // `terminal` is set and final
  termios terminal{};
};
EndState& end_state() {
  static auto* const only = new EndState;
  return *only;
}

// Raises the signal with its default action; returns only if every thread blocks it.
// Async-signal-safe.
void raise_unhandled(int signal) {
  sigset_t only;
  if (end_state().has_terminal) {
    sigemptyset(&only);
    sigaddset(&only, SIGTTOU);  // in the background it would stop us
    ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &end_state().terminal);
  }
  sigemptyset(&only);
  sigaddset(&only, signal);
  std::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  std::raise(signal);
}

// A blocked reader of our output must not keep us from ending.
extern "C" void end_now(int) { raise_unhandled(end_state().signal); }

void end_at_latest_in(std::chrono::microseconds time) {
  std::signal(SIGALRM, end_now);
  const itimerval once{{0, 0}, {0, time.count()}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
}

}  // namespace

OrderlyEnd::OrderlyEnd(std::function<void()> last_words) {
  const std::scoped_lock lock(end_state().mutex);
  end_state().living = true;
  end_state().last_words = std::move(last_words);
}

OrderlyEnd::~OrderlyEnd() {
  const std::scoped_lock lock(end_state().mutex);
  end_state().living = false;
  end_state().last_words = {};
  end_state().gone.notify_all();
}

bool OrderlyEnd::wanted() { return end_state().signal != 0; }

void OrderlyEnd::change(const std::function<void()>& change) {
  const std::scoped_lock lock(end_state().mutex);
  change();
}

void OrderlyEnd::leave() {
  const std::scoped_lock lock(end_state().mutex);
  if (const auto say = std::exchange(end_state().last_words, {})) say();
  if (const int signal = end_state().signal; signal != 0) end_by(signal);
}

void OrderlyEnd::take(int signal) {
  EndState& e = end_state();
  e.signal = signal;
  end_at_latest_in(std::chrono::milliseconds(950));
  std::unique_lock lock(e.mutex);
  if (e.living) Interrupt::request();
  process::end_all_children();  // before removing the folders they write to
  if (!e.living) return;
  e.gone.wait_for(lock, std::chrono::milliseconds(700), [&] { return !e.living; });
  if (const auto say = std::exchange(e.last_words, {})) say();
}

namespace {

std::atomic<void (*)(int)> signal_handler = nullptr;

}  // namespace

void hand_signals_to(void (*handler)(int)) { signal_handler = handler; }

bool handed_over(int signal) {
  void (*const handler)(int) = signal_handler;
  if (handler != nullptr) handler(signal);
  return handler != nullptr;
}

void keep_terminal() {
  if (!end_state().has_terminal && ::tcgetattr(STDIN_FILENO, &end_state().terminal) == 0)
    end_state().has_terminal = true;
}

void end_by(int signal) {
  std::fflush(stdout);
  remove_temporary_directories();
  raise_unhandled(signal);
  std::_Exit(128 + signal);  // if the signal is blocked everywhere
}

}  // namespace touchstone::cli
