#include "touchstone/fuzz/worker.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {
namespace {

using nlohmann::json;

void send(int out, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::write(out, text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(0);  // nobody listens any more
    sent += static_cast<std::size_t>(n);
  }
}

// A child of its own process group, which ends with its parent and is left alone by Ctrl-C.
void settle(pid_t parent, std::uint64_t memory) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (memory == 0) return;
  const rlimit limit{memory, memory};
  ::setrlimit(RLIMIT_AS, &limit);
}

// Memory that is in use, 0 where the system does not say.
std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class Work {
 public:
  Work(const WorkOrder& order, FlightRecorder& recorder, int out)
      : order_(order), recorder_(recorder), out_(out) {}

  /// The exit code: 0 where all is done, or kGrown.
  int run() {
    const std::unique_ptr<Area> area = order_.plan->make(order_.worker);
    if (order_.options->coverage) coverage_ = std::make_unique<Coverage>(area->dimensions());
    const std::int64_t batches = batches_of(*order_.plan, *order_.options);
    const std::uint64_t before = resident_bytes();
    for (std::int64_t b = order_.first; b < batches; b += order_.step) {
      if (!batch(*area, b)) return 0;
      if (resident_bytes() >= before + order_.options->growth) return kGrown;
    }
    return 0;
  }

 private:
  std::int64_t index(std::int64_t place) const {
    return order_.options->shard + order_.options->shards * place;
  }

  void enter(FlightRecorder::At at) {
    recorder_.at.store(at);
    recorder_.beat.fetch_add(1);
  }

  bool batch(Area& area, std::int64_t b) {
    const bool begun = b == order_.first;
    auto [begin, end] = batch_range(*order_.plan, *order_.options, b);
    recorder_.batch = b;
    recorder_.tally = begun ? order_.tally : Tally{};
    recorder_.length = 0;
    if (begun) begin += order_.place;
    std::vector<std::string> texts;
    enter(FlightRecorder::At::Preparing);
    for (std::int64_t place = begin; place < end; ++place) {
      recorder_.place = place;
      RandomChooser chooser(order_.options->seed, case_key(order_.plan->name, index(place)));
      texts.push_back(area.draw(chooser));
    }
    std::string unprepared;
    if (!begun || order_.prepare) {
      try {
        area.prepare(texts);
      } catch (const std::exception&) {
        // One of them cannot be prepared: it says so when it is checked alone.
      }
    }
    for (std::int64_t place = begin; place < end; ++place) {
      one(area, b, place, texts[static_cast<std::size_t>(place - begin)]);
      if (recorder_.stop.load()) {
        if (place + 1 < end) return partial(b);
        break;
      }
    }
    enter(FlightRecorder::At::Between);
    report(b, true);
    return !recorder_.stop.load();
  }

  bool partial(std::int64_t b) {
    report(b, false);
    return false;
  }

  void one(Area& area, std::int64_t b, std::int64_t place, const std::string& text) {
    recorder_.place = place;
    recorder_.length = text.size();
    std::memcpy(recorder_.text, text.data(), std::min(text.size(), FlightRecorder::kMostText));
    enter(FlightRecorder::At::Checking);
    Checked c;
    try {
      c = area.check(text, Effort::Sampled);
      if (coverage_) coverage_->count(area.coverage(text, c.ending));
    } catch (const std::exception& e) {
      c = Checked::fail("exception", e.what());
    }
    Tally& t = recorder_.tally;
    ++t.cases;
    (c.ending == Ending::Pass      ? t.passed
     : c.ending == Ending::Weak    ? t.weak
     : c.ending == Ending::Skipped ? t.skipped
                                   : t.failed) += 1;
    if (c.ending == Ending::Fail)
      send(out_, line_of({{"finding", index(place)},
                          {"batch", b},
                          {"text", text},
                          {"relation", c.failure.relation},
                          {"detail", c.failure.detail}}));
  }

  void report(std::int64_t b, bool whole) {
    const Tally& t = recorder_.tally;
    json line = {{"batch", b},         {"whole", whole}, {"cases", t.cases},
                 {"passed", t.passed}, {"weak", t.weak}, {"skipped", t.skipped},
                 {"failed", t.failed}};
    if (coverage_) line["coverage"] = coverage_->take_news();
    send(out_, line_of(line));
  }

  WorkOrder order_;
  FlightRecorder& recorder_;
  int out_;
  std::unique_ptr<Coverage> coverage_;
};

struct Forked {
  pid_t pid;
  int out;  // the end that reads, in the parent; that writes, in the child
};

Forked fork_with_pipe(std::uint64_t memory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw SystemError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw SystemError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    ::close(ends[0]);
    settle(parent, memory);
    return {0, ends[1]};
  }
  ::setpgid(pid, pid);  // whoever comes first
  ::close(ends[1]);
  return {pid, ends[0]};
}

}  // namespace

std::string line_of(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

std::int64_t batches_of(const AreaPlan& plan, const RunOptions& o) {
  const std::int64_t mine = (o.cases - o.shard + o.shards - 1) / o.shards;
  return mine <= 0 ? 0 : (mine + plan.batch - 1) / plan.batch;
}

std::pair<std::int64_t, std::int64_t> batch_range(const AreaPlan& plan, const RunOptions& o,
                                                  std::int64_t batch) {
  const std::int64_t mine = (o.cases - o.shard + o.shards - 1) / o.shards;
  return {batch * plan.batch, std::min((batch + 1) * plan.batch, mine)};
}

Worker start_worker(const WorkOrder& order, FlightRecorder& recorder) {
  recorder.at.store(FlightRecorder::At::Starting);
  const Forked forked = fork_with_pipe(order.options->memory);
  if (forked.pid != 0) return {forked.pid, forked.out};
  int code = 0;
  try {
    code = Work(order, recorder, forked.out).run();
  } catch (const std::exception& e) {
    send(forked.out, line_of({{"error", e.what()}}));
    code = 1;
  }
  ::_exit(code);
}

std::optional<std::string> in_child(const std::function<std::string()>& work, double seconds,
                                    std::uint64_t memory, std::string& ended) {
  const Forked forked = fork_with_pipe(memory);
  if (forked.pid == 0) {
    try {
      send(forked.out, "ok" + work());
    } catch (const std::exception& e) {
      send(forked.out, std::string("no") + e.what());
    }
    ::_exit(0);
  }
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds));
  std::string text;
  bool late = false;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{forked.out, POLLIN, 0};
    const int ready =
        left <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > 60'000) continue;
    if (ready <= 0) {
      late = true;
      break;
    }
    char bytes[65536];
    const ssize_t n = ::read(forked.out, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(bytes, static_cast<std::size_t>(n));
  }
  ::close(forked.out);
  ::kill(-forked.pid, SIGKILL);
  int status = 0;
  while (::waitpid(forked.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (text.starts_with("ok")) return text.substr(2);
  ended = late                     ? "hang"
          : text.starts_with("no") ? "exception: " + text.substr(2)
                                   : ending_of(status);
  return std::nullopt;
}

}  // namespace touchstone::fuzz
