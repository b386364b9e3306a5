#pragma once

#include <functional>

namespace touchstone::cli {

/// While one lives, Ctrl-C and termination signals let its verb finish: backends are ended,
/// `Interrupt::poll` throws, and `wanted` is true. A verb that does not react within 0.7 s is ended
/// anyway, after its last words. Belongs to one thread, one at a time.
class OrderlyEnd {
 public:
  /// `last_words` reports what was done so far. `leave` calls it once, or another thread if the
  /// verb is stuck; only `change` may modify the data it reads.
  explicit OrderlyEnd(std::function<void()> last_words);
  ~OrderlyEnd();
  OrderlyEnd(const OrderlyEnd&) = delete;
  OrderlyEnd& operator=(const OrderlyEnd&) = delete;

  /// Whether a termination signal arrived.
  static bool wanted();
  void change(const std::function<void()>& change);
  /// Calls the last words, then ends the process by the signal if one arrived; otherwise returns.
  void leave();

  /// Called by the signal thread: returns when the process must end.
  static void take(int signal);
};

/// From now on the signal thread passes each signal to `handler`, one at a time, and does nothing
/// else. A sigaction handler instead would run on any thread that does not block the signal,
/// including that one.
void hand_signals_to(void (*handler)(int signal));
/// Called by that thread: false without a handler.
bool handed_over(int signal);

/// From now on, ending by a signal restores the current settings of the terminal at standard input,
/// for a verb that changes them.
void keep_terminal();

/// Ends the process by a signal after flushing output and removing temporary directories.
[[noreturn]] void end_by(int signal);

}  // namespace touchstone::cli
