#include "touchstone/cli/program/work_limits.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/foreign/plugin_host.h"
#include "touchstone/ops/flop_counter.h"

namespace touchstone::cli {
namespace {

using Time = std::chrono::steady_clock;

// Values per core and second, as an upper bound: over twice the speed of a 2023 core
// that rereads one element.
constexpr double kMostFloats = 5e8, kMostIntegers = 4e9;

std::int64_t now_in_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Time::now().time_since_epoch())
      .count();
}

// One thread watches the clock for all deadlines.
struct Clockwork {
  std::mutex mutex;
  std::int64_t end = 0;  // milliseconds; 0: none is set
  bool passed = false;
  std::once_flag started;

  void watch() {
    constexpr std::int64_t kPatience = 5000;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      const std::scoped_lock lock(mutex);
      const std::int64_t now = now_in_ms();
      if (end == 0 || now < end) continue;
      if (!std::exchange(passed, true)) Interrupt::request();
      if (now < end + kPatience || OrderlyEnd::wanted()) continue;
      std::fputs("touchstone: the time limit is over, and the work cannot be interrupted\n",
                 stderr);
      remove_temporary_directories();
      std::_Exit(kExitBad);
    }
  }
};
Clockwork& clockwork() {
  static auto* const only = new Clockwork;
  return *only;
}

// A nested deadline ends with the outer one at the latest.
class Deadline {
 public:
  explicit Deadline(double seconds) {
    Clockwork& clock = clockwork();
    if (seconds > 0) std::call_once(clock.started, [&] { start(clock); });
    const std::scoped_lock lock(clock.mutex);
    before_ = clock.end;
    end_ = seconds > 0 ? now_in_ms() + static_cast<std::int64_t>(seconds * 1000) + 1 : before_;
    if (before_ != 0) end_ = std::min(end_, before_);
    clock.end = end_;
  }
  // Work after the interrupted part is not interrupted.
  ~Deadline() {
    Clockwork& clock = clockwork();
    const std::scoped_lock lock(clock.mutex);
    clock.end = before_;
    if (!clock.passed) return;
    clock.passed = before_ != 0 && now_in_ms() >= before_;
    if (!OrderlyEnd::wanted()) Interrupt::clear();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  bool passed() const {
    const std::scoped_lock lock(clockwork().mutex);
    return clockwork().passed && now_in_ms() >= end_;
  }

 private:
  static void start(Clockwork& clock) {
    std::thread([&clock] { clock.watch(); }).detach();
  }
  std::int64_t before_ = 0, end_ = 0;
};

struct Cost {
  double values = 0, seconds = 0;
  double stored = 1;  // elements of the output
};

double least(const sint& count) {
  return static_cast<double>(std::max(count.min().value_or(0), std::int64_t{0}));
}

// A lower bound: a value that several elements share counts once. Where counting itself would take
// long, because of many reduces, only the stored elements count.
Cost cost_of(const LazyOpPtr& kernel) {
  constexpr std::size_t kMostCounted = 10'000'000;
  try {
    const double stored = least(elements(kernel->shape()));
    std::size_t nodes = 0, reduces = 0;
    for (const LazyOpPtr& node : toposort(kernel)) {
      ++nodes;
      if (is_reduce(node->op())) ++reduces;
    }
    if (nodes * reduces > kMostCounted) return {stored, stored / kMostIntegers, stored};
    const FlopCounter work = get_lazyop_info(kernel);
    const double all = least(work.flops) + stored, floats = std::min(least(work.float_flops), all);
    return {all, floats / kMostFloats + (all - floats) / kMostIntegers, stored};
  } catch (const OverflowError&) {  // a hostile kernel
    return {0x1p63, 0x1p63 / kMostIntegers};
  }
}

rlim_t memory_limit = 0;
std::atomic<bool> slack_given = false;

// Mapped data bytes of this process, as counted by RLIMIT_DATA.
rlim_t data_bytes() {
  std::ifstream in("/proc/self/statm");
  rlim_t pages = 0;
  for (int field = 0; field < 6; ++field) in >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

// Allows that many bytes beyond the current use.
void set_data_limit(rlim_t more) {
  rlimit now{};
  if (::getrlimit(RLIMIT_DATA, &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_max, data_bytes() + more);
  ::setrlimit(RLIMIT_DATA, &now);
}

// Unwinding may allocate: a destructor that fails to ends the process.
void out_of_memory() {
  constexpr rlim_t kSlack = rlim_t{512} << 20;
  rlimit now{};
  if (!slack_given.exchange(true) && ::getrlimit(RLIMIT_DATA, &now) == 0) {
    now.rlim_cur = std::min(now.rlim_max, now.rlim_cur + kSlack);
    ::setrlimit(RLIMIT_DATA, &now);
  }
  throw std::bad_alloc();
}

std::string duration_text(double seconds) {
  if (seconds < 2 * 3600) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 86400) return fmt::format("{:.0f} hours", seconds / 3600);
  return fmt::format("{:.3g} days", seconds / 86400);
}

}  // namespace

void require_feasible(const KernelFile& kernel, const WorkLimits& limits, const Sampling& sampling,
                      const std::string& options) {
  static const double cores = std::max(1U, std::thread::hardware_concurrency());
  const Cost cost = cost_of(kernel.ast);
  const double seconds = cost.seconds / cores;
  // A sample has at least 16 elements.
  const double part =
      cost.values > sampling.most ? std::min(16 / std::max(cost.stored, 1.0), 1.0) : 1;
  if (limits.seconds > 0 && part * seconds > limits.seconds)
    throw ParseError(
        fmt::format("the kernel computes at least {:.3g} values, which take at least {}; the limit "
                    "is {:g} s ({})",
                    cost.values, duration_text(seconds), limits.seconds, options));
  double bytes = 0;
  for (const BufferSpec& spec : kernel.buffers)
    bytes += static_cast<double>(spec.size) * static_cast<double>(itemsize(spec.dtype));
  const double mib = 2 * bytes / (1 << 20);  // as read, and in the oracle's copy
  if (limits.megabytes > 0 && mib > static_cast<double>(limits.megabytes))
    throw ParseError(
        fmt::format("the kernel's buffers take at least {:.0f} MiB; the limit is {} MiB ({})", mib,
                    limits.megabytes, options));
}

void limit_memory(const WorkLimits& limits) {
  if (limits.megabytes == 0 || foreign::has_shadow_memory()) return;
  memory_limit = static_cast<rlim_t>(limits.megabytes) << 20;
  set_data_limit(memory_limit);
  std::set_new_handler(out_of_memory);
}

bool restore_memory_limit() {
  if (!slack_given.exchange(false)) return false;
  ::malloc_trim(0);
  set_data_limit(memory_limit);
  return true;
}

std::string over_time(const WorkLimits& limits, const std::string& option) {
  return fmt::format("the verdict takes longer than {:g} s; set another limit with {}, 0 for none",
                     limits.seconds, option);
}

bool done_within(const WorkLimits& limits, const std::function<void()>& work) {
  const Deadline deadline(limits.seconds);
  try {
    work();
  } catch (const Error&) {  // an interruption, possibly rethrown as another error
    if (!deadline.passed()) throw;
  }
  return !deadline.passed();
}

Verdict judge_within(const WorkLimits& limits, const std::function<Verdict()>& judge,
                     const std::string& option) {
  Verdict verdict;
  if (done_within(limits, [&] { verdict = judge(); })) return verdict;
  return no_verdict(Outcome::Unusable, over_time(limits, option));
}

int run_within(const WorkLimits& limits, const std::function<int()>& run) {
  limit_memory(limits);
  const Deadline deadline(limits.seconds);
  try {
    const int code = run();
    std::fflush(stdout);
    if (code == kExitBad || !deadline.passed()) return code;
  } catch (const Error&) {
    if (!deadline.passed()) throw;
  } catch (const std::bad_alloc&) {
    if (limits.megabytes == 0) throw;
    throw SystemError(fmt::format(
        "it takes more than {} MiB of memory; set another limit with --memory, 0 for none",
        limits.megabytes));
  }
  throw SystemError(fmt::format(
      "it takes longer than {:g} s; set another limit with --timeout, 0 for none", limits.seconds));
}

}  // namespace touchstone::cli
