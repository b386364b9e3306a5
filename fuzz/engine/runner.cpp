#include "touchstone/fuzz/engine/runner.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <new>

#include <poll.h>
#include <sys/mman.h>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/fuzz/engine/run_log.h"
#include "touchstone/fuzz/engine/shrink_findings.h"
#include "touchstone/fuzz/engine/worker.h"

namespace touchstone::fuzz {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using At = FlightRecorder::At;

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

/// Memory shared with one worker.
class Shared {
 public:
  Shared() {
    void* const at = ::mmap(nullptr, sizeof(FlightRecorder), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      throw SystemError(fmt::format("cannot share memory with a worker: {}", std::strerror(errno)));
    recorder_ = new (at) FlightRecorder;
  }
  ~Shared() {
    if (recorder_ != nullptr) ::munmap(recorder_, sizeof(FlightRecorder));
  }
  Shared(Shared&& other) noexcept : recorder_(std::exchange(other.recorder_, nullptr)) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  Shared& operator=(Shared&&) = delete;
  FlightRecorder& operator*() const { return *recorder_; }
  FlightRecorder* operator->() const { return recorder_; }

 private:
  FlightRecorder* recorder_;
};

/// The workers of one area, until its cases are done or a stop is requested.
class Crew {
 public:
  Crew(const AreaPlan& plan, const RunOptions& options, RunLog& log, AreaResult& result)
      : plan_(plan), options_(options), log_(log), result_(result) {
    const AreaRecord old = log.record(plan, options);
    for (const BatchRecord& b : old.batches) take(b);
    next_ = static_cast<std::int64_t>(old.batches.size());
    for (const AreaFinding& f : old.findings) findings_.emplace(f.index, f);
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// True if a stop was requested. Findings are in the result even if this throws.
  bool run(const std::atomic<bool>& stop, const RunProgress& progress) {
    const Clock::time_point start = Clock::now();
    stop_ = &stop;
    const auto leave = [&] {
      result_.tally += partial_;
      result_.seconds = seconds_since(start);
      for (auto& [index, finding] : findings_) result_.findings.push_back(std::move(finding));
    };
    try {
      const bool early = work(start, stop, progress);
      leave();
      return early || stop.load();
    } catch (...) {
      leave();
      throw;
    }
  }

 private:
  bool work(Clock::time_point start, const std::atomic<bool>& stop, const RunProgress& progress) {
    const std::int64_t first = next_, left = batches_of(plan_, options_) - first;
    for (int j = 0; j < options_.jobs && j < left && !stop.load(); ++j) {
      members_.emplace_back();
      members_.back().number = j;
      restart(members_.back(), first + j, 0, {}, true);
    }
    std::optional<Clock::time_point> asked;
    bool early = false;
    while (std::ranges::any_of(members_, [](const Member& m) { return m.worker.has_value(); })) {
      wait();
      const bool late = options_.seconds > 0 && seconds_since(start) > options_.seconds;
      if (!asked && (late || stop.load())) {
        asked = Clock::now();
        early = stop.load();
        for (Member& m : members_) m.shared->stop.store(true);
      }
      if (asked && early && seconds_since(*asked) > 0.5)
        for (Member& m : members_) dismiss(m);
      watch();
      if (progress) progress(plan_.name, now(), seconds_since(start));
    }
    return early;
  }

  struct Member {
    int number = 0;
    Shared shared;
    std::optional<process::Child> worker;
    std::string heard;  // an incomplete line
    std::string error;  // its message before it ended
    std::string lost;   // why it lost its device
    std::uint64_t beat = 0;
    Clock::time_point since;
    bool hung = false;
    std::int64_t unprepared = -1;  // the batch not to prepare together
  };

  Tally now() const {
    Tally t = result_.tally;
    t += partial_;
    for (const auto& [number, record] : done_) t += record.tally;
    for (const Member& m : members_)  // of running workers: a snapshot, possibly of two moments
      if (m.worker && !is_reported(m.shared->batch)) t += m.shared->record().tally;
    return t;
  }

  void restart(Member& m, std::int64_t batch, std::int64_t place, const Tally& tally,
               bool prepare) {
    WorkOrder order{&plan_, &options_, m.number, batch, options_.jobs, place, tally, prepare};
    m.heard.clear();
    m.lost.clear();
    m.hung = false;
    m.beat = m.shared->beat.load();
    m.since = Clock::now();
    m.worker = start_worker(order, *m.shared);
  }

  void wait() {
    std::vector<pollfd> fds;
    std::vector<Member*> of;
    for (Member& m : members_)
      if (m.worker) {
        fds.push_back({m.worker->channel(), POLLIN, 0});
        of.push_back(&m);
      }
    if (::poll(fds.data(), fds.size(), 200) <= 0) return;
    for (std::size_t i = 0; i < fds.size(); ++i)
      if (fds[i].revents != 0 && !hear(*of[i])) ended(*of[i]);
  }

  // Reads a worker's output; false at its end.
  bool hear(Member& m) {
    char bytes[65536];
    const ssize_t n = ::read(m.worker->channel(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    m.heard.append(bytes, static_cast<std::size_t>(n));
    std::size_t from = 0;
    for (std::size_t line = m.heard.find('\n'); line != m.heard.npos;
         line = m.heard.find('\n', from)) {
      understand(m, json::parse(m.heard.substr(from, line - from)));
      from = line + 1;
    }
    m.heard.erase(0, from);
    return true;
  }

  // Ends a worker and keeps the output received so far.
  void dismiss(Member& m) {
    if (!m.worker) return;
    constexpr int kMostWait = 100;  // milliseconds: its own child may hold the channel
    m.worker->kill();
    for (pollfd fd{m.worker->channel(), POLLIN, 0}; ::poll(&fd, 1, kMostWait) > 0;)
      if (!hear(m)) break;
    m.worker.reset();
    leave_off(m);
  }

  // Counts the completed part of a finished worker's batch.
  void leave_off(Member& m) {
    const At at = m.shared->at.load();
    if (at == At::Checking || at == At::Preparing) partial_ += m.shared->record().tally;
  }

  bool is_reported(std::int64_t batch) const { return batch < next_ || done_.contains(batch); }

  void understand(Member& m, const json& line) {
    if (line.contains("error")) {
      m.error = line["error"];
    } else if (line.contains("lost")) {
      m.lost = line["lost"];
    } else if (line.contains("finding")) {
      keep(finding_in(line), line["batch"]);
    } else {
      BatchRecord record = batch_in(line);
      if (line["whole"])
        done_[line["batch"]] = std::move(record);
      else
        take_part(record);
      for (auto it = done_.find(next_); it != done_.end(); it = done_.find(++next_)) {
        log_.batch(plan_.name, next_, it->second);
        take(it->second);
        done_.erase(it);
      }
    }
  }

  void keep(AreaFinding finding, std::int64_t batch) {
    const auto [place, fresh] = findings_.emplace(finding.index, finding);
    if (fresh) log_.finding(plan_.name, batch, finding);
  }

  void take_part(const BatchRecord& record) {
    partial_ += record.tally;
    for (const auto& [relation, times] : record.passed_over) result_.passed_over[relation] += times;
  }

  void take(const BatchRecord& record) {
    result_.tally += record.tally;
    for (const auto& [relation, times] : record.passed_over) result_.passed_over[relation] += times;
    if (result_.coverage) result_.coverage->add(record.coverage);
  }

  // True if the system may have ended the worker, by a limit on processor time (ulimit -t) or
  // memory, or a user killed it, whatever its case.
  static bool is_from_outside(const process::Ending& ending) {
    if (!ending.is_signal()) return false;
    constexpr int kSignals[] = {SIGKILL, SIGXCPU, SIGINT, SIGTERM, SIGHUP};
    return std::ranges::find(kSignals, ending.signal()) != std::end(kSignals);
  }

  // The case by itself in a fresh process.
  Checked look_again(const AreaFinding& f) const {
    const auto check = [&] {
      const std::unique_ptr<Area> area = plan_.make(0);
      try {
        return area->check(text_of_case(*area, f.text), Effort::Sampled);
      } catch (const std::exception& e) {
        return Checked::fail("exception", e.what());
      }
    };
    Checked c = checked_in_child(check, options_.case_seconds, options_.memory);
    std::string& why = c.failure.detail;
    if (c.failure.relation == "hang") why = f.failure.detail;
    if (c.failure.relation == "crash")
      why = fmt::format("{}, and alone by {}", f.failure.detail, why);
    return c;
  }

  void ended(Member& m) {
    m.worker->ends_before(Clock::time_point::max());  // its channel is closed
    const process::Ending ending = m.worker->end();
    m.worker.reset();
    if (!m.error.empty()) throw SystemError(m.error);
    if (ending.exit_code() == 0 && !m.hung) return;
    FlightRecorder& r = *m.shared;
    if (r.stop.load() && r.at.load() != At::Checking && r.at.load() != At::Starting)
      return leave_off(m);
    const bool grown = ending.exit_code() == kGrown && !m.hung;
    if (r.at.load() == At::Between && (grown || is_reported(r.batch))) {
      const std::int64_t next = r.batch + options_.jobs;
      if (next < batches_of(plan_, options_)) restart(m, next, 0, {}, true);
      return;
    }
    const std::string how = m.hung ? "hang" : "crash";
    const std::string why = m.hung ? fmt::format("no answer in {} seconds", options_.case_seconds)
                            : !m.lost.empty()
                                ? m.lost
                                : fmt::format("the worker was killed by {}", ending.text());
    switch (r.at.load()) {
      case At::Starting:
        throw SystemError(fmt::format("a worker of '{}' reached no case: {}", plan_.name, why));
      case At::Preparing:
        if (m.unprepared == r.batch)
          throw SystemError(
              fmt::format("drawing a case of batch {} of '{}': {}", r.batch, plan_.name, why));
        m.unprepared = r.batch;
        restart(m, r.batch, 0, {}, false);
        return;
      case At::Between:
        restart(m, r.batch, 0, {}, true);  // repeats unreported work
        return;
      case At::Checking: break;
    }
    AreaFinding f;
    const CaseRecord& at = m.shared->record();
    f.index = options_.shard + options_.shards * at.place;
    f.text = at.length <= CaseRecord::kMostText ? std::string(at.text, at.length)
                                                : drawn_case(options_.seed, f.index);
    f.shrunk = f.text;
    f.failure = {how, why};
    Checked alone = Checked::fail(how, why);
    if (!m.hung && is_from_outside(ending)) {
      try {
        if (stop_->load()) throw Interrupted();
        alone = look_again(f);
      } catch (const Interrupted&) {  // an interrupted check proves nothing
        partial_ += at.tally;
        return;
      }
    }
    Tally tally = at.tally;
    tally.count(alone.ending);
    if (alone.ending == Ending::Fail) {
      f.failure = alone.failure;
      keep(std::move(f), r.batch);
    }
    if (r.stop.load()) {
      partial_ += tally;
      return;
    }
    const std::int64_t begin = batch_range(plan_, options_, r.batch).first;
    restart(m, r.batch, at.place - begin + 1, tally, m.unprepared != r.batch);
  }

  void watch() {
    for (Member& m : members_) {
      if (!m.worker) continue;
      const std::uint64_t beat = m.shared->beat.load();
      const At at = m.shared->at.load();
      if (beat != m.beat) {
        m.beat = beat;
        m.since = Clock::now();
      }
      const double limit = options_.case_seconds * (at == At::Checking ? 1 : 10);
      if (seconds_since(m.since) <= limit || m.hung) continue;
      m.hung = true;
      m.worker->kill();  // the end of its output is handled elsewhere
    }
  }

  const AreaPlan& plan_;
  const RunOptions& options_;
  RunLog& log_;
  AreaResult& result_;
  const std::atomic<bool>* stop_ = nullptr;
  std::vector<Member> members_;
  std::map<std::int64_t, BatchRecord> done_;  // not yet in order
  std::int64_t next_ = 0;
  std::map<std::int64_t, AreaFinding> findings_;
  Tally partial_;  // of unfinished batches
};

}  // namespace

void Tally::count(Ending ending) {
  ++cases;
  (ending == Ending::Pass      ? passed
   : ending == Ending::Weak    ? weak
   : ending == Ending::Skipped ? skipped
                               : failed) += 1;
}

Tally& Tally::operator+=(const Tally& other) {
  cases += other.cases;
  passed += other.passed;
  weak += other.weak;
  skipped += other.skipped;
  failed += other.failed;
  return *this;
}

std::uint64_t case_key(std::string_view area, std::int64_t index) {
  return hash_mix(hash_bytes(area), static_cast<std::uint64_t>(index));
}

RunResult run_areas(const std::vector<AreaPlan>& plans, const RunOptions& options,
                    const std::atomic<bool>& stop, const RunProgress& progress) {
  RunLog log(plans, options);
  RunResult result;
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const AreaPlan& plan = plans[i];
    RunOptions own = options;  // an even share of the remaining time
    if (options.seconds > 0)
      own.seconds = std::max(options.seconds - seconds_since(start), 1e-3) /
                    static_cast<double>(plans.size() - i);
    AreaResult& area = result.areas.emplace_back();
    area.name = plan.name;
    try {
      if (options.coverage) {
        std::shared_ptr<Area> of = plan.make(0);
        area.coverage = std::make_unique<Coverage>(
            of->dimensions(), [of](std::span<const int> row) { return of->feasible(row); });
      }
      {
        Crew crew(plan, own, log, area);
        result.ended_early = crew.run(stop, progress);
      }
      shrink_findings(plan, options, stop, log, area);
    } catch (const SystemError& e) {
      result.trouble = e.what();
    }
    if (result.ended_early || !result.trouble.empty()) break;
  }
  return result;
}

}  // namespace touchstone::fuzz
