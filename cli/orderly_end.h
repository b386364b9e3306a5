#pragma once

#include <functional>

namespace touchstone::cli {

/// While one lives, Ctrl-C and the signals by which a process is asked to end let its verb come to
/// an end by itself: backends are ended, `Interrupt::poll` throws, and `wanted` is true. A verb
/// that does not see it within 0.7 s is ended all the same, its last words said. Lives in one
/// thread, one at a time.
class OrderlyEnd {
 public:
  /// `last_words` says what was done so far. It is called once, by `leave`, or by another thread
  /// where the verb is stuck; whatever it reads is changed by `change` alone.
  explicit OrderlyEnd(std::function<void()> last_words);
  ~OrderlyEnd();
  OrderlyEnd(const OrderlyEnd&) = delete;
  OrderlyEnd& operator=(const OrderlyEnd&) = delete;

  /// Whether such a signal came.
  static bool wanted();
  void change(const std::function<void()>& change);
  /// Says the last words, then ends the process by the signal where one came, as whoever sent it
  /// expects; else returns.
  void leave();

  /// Called by the thread that waits for signals: returns when the process is to be ended by it.
  static void take(int signal);
};

/// From now on the thread that waits for signals hands each to `handler`, one after the other, and
/// does nothing else about them. A handler installed by sigaction would be called by whichever
/// thread does not block the signal just then, that one among them.
void hand_signals_to(void (*handler)(int signal));
/// Called by that thread: false where there is no handler.
bool handed_over(int signal);

/// From now on an end by a signal brings back the settings that the terminal at standard input has
/// now, for a verb that changes them.
void keep_terminal();

/// Ends the process by a signal: output is written, temporary directories go.
[[noreturn]] void end_by(int signal);

}  // namespace touchstone::cli
