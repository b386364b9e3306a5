#include "touchstone/fuzz/engine/worker.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include <unistd.h>

#include "touchstone/base/device_lost.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/fuzz/engine/run_log.h"
#include "touchstone/process/run.h"

namespace touchstone::fuzz {
namespace {

using nlohmann::json;

void send(int out, const std::string& text) {
  if (!process::send_all(out, text)) ::_exit(0);  // the supervisor is gone
}

// Resident memory; 0 if unknown.
std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Relations that also break if a process of the case, a backend or compiler, is killed.
bool may_be_cut_off(std::string_view relation) {
  return relation == "broken" || relation == "unusable" || relation == "refused" ||
         relation == "exception";
}

class Work {
 public:
  Work(const WorkOrder& order, FlightRecorder& recorder, int out)
      : order_(order), recorder_(recorder), out_(out) {}

  /// The exit code: 0 when done, or kGrown.
  int run() {
    const std::unique_ptr<Area> area = order_.plan->make(order_.worker);
    if (order_.options->coverage) coverage_ = std::make_unique<Coverage>(area->dimensions());
    const std::int64_t batches = batches_of(*order_.plan, *order_.options);
    const std::uint64_t before = resident_bytes();
    int done = 0;
    for (std::int64_t b = order_.first; b < batches; b += order_.step) {
      if (!batch(*area, b)) return 0;
      if (resident_bytes() >= before + order_.options->growth ||
          ++done == order_.plan->most_batches)
        return kGrown;
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
    tally_ = begun ? order_.tally : Tally{};
    if (begun) begin += order_.place;
    recorder_.take(begin, tally_, {});
    std::vector<std::string> texts;
    enter(FlightRecorder::At::Preparing);
    for (std::int64_t place = begin; place < end; ++place) {
      RandomChooser chooser(order_.options->seed, case_key(order_.plan->name, index(place)));
      texts.push_back(area.draw(chooser));
    }
    if (!begun || order_.prepare) {
      try {
        area.prepare(texts);
      } catch (const std::exception&) {
        // One of them cannot be prepared; its own check reports it.
      }
    }
    for (std::int64_t place = begin; place < end; ++place) {
      if (!one(area, b, place, texts[static_cast<std::size_t>(place - begin)])) return partial(b);
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
    enter(FlightRecorder::At::Between);
    report(b, false);
    return false;
  }

  // False if the case was interrupted.
  bool one(Area& area, std::int64_t b, std::int64_t place, const std::string& text) {
    recorder_.take(place, tally_, text);
    const Checked c = checked(area, text);
    if (c.ending == Ending::Fail && was_cut_off(area, text, c)) return false;
    if (coverage_) coverage_->count(area.coverage(text, c.ending));
    for (const std::string_view relation : c.passed_over) ++passed_over_[std::string(relation)];
    tally_.count(c.ending);
    if (c.ending == Ending::Fail)
      send(out_, line_of(told(b, AreaFinding{index(place), text, c.failure})));
    return true;
  }

  Checked checked(Area& area, const std::string& text) {
    enter(FlightRecorder::At::Checking);
    try {
      return area.check(text, Effort::Sampled);
    } catch (const DeviceLost& e) {
      send(out_, line_of({{"lost", e.what()}}));
      ::_exit(1);
    } catch (const std::exception& e) {
      return Checked::fail("exception", e.what());
    }
  }

  // Ending a campaign may kill the processes of a case before us, or before our supervisor tells us
  // to stop: a failure that does not repeat waits for that.
  bool was_cut_off(Area& area, const std::string& text, const Checked& c) {
    try {
      Interrupt::poll();  // lets interrupted work report it
    } catch (const Interrupted&) {
      return true;
    }
    if (!may_be_cut_off(c.failure.relation)) return false;
    if (checked(area, text).ending == Ending::Fail) return false;
    constexpr std::chrono::milliseconds kWait{500}, kStep{10};
    for (auto waited = kStep; waited < kWait && !recorder_.stop.load(); waited += kStep)
      std::this_thread::sleep_for(kStep);
    return recorder_.stop.load();
  }

  void report(std::int64_t b, bool whole) {
    BatchRecord record{tally_, {}, std::exchange(passed_over_, {})};
    if (coverage_) record.coverage = coverage_->take_news();
    json line = told(b, record);
    line["whole"] = whole;
    send(out_, line_of(line));
  }

  WorkOrder order_;
  FlightRecorder& recorder_;
  int out_;
  Tally tally_;  // of the batch
  std::unique_ptr<Coverage> coverage_;
  PassedOver passed_over_;  // of the batch
};

}  // namespace

std::string line_of(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
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

void FlightRecorder::take(std::int64_t place, const Tally& tally, std::string_view text) {
  const std::uint32_t next = 1 - current_.load(std::memory_order_relaxed);
  CaseRecord& r = records_[next];
  r.place = place;
  r.tally = tally;
  r.length = text.size();
  std::copy_n(text.data(), std::min(text.size(), CaseRecord::kMostText), r.text);
  current_.store(next, std::memory_order_release);
}

process::Child start_worker(const WorkOrder& order, FlightRecorder& recorder) {
  recorder.at.store(FlightRecorder::At::Starting);
  return process::Child::of_function(
      [&](int out) {
        try {
          return Work(order, recorder, out).run();
        } catch (const std::exception& e) {
          send(out, line_of({{"error", e.what()}}));
          return 1;
        }
      },
      {.memory = order.options->memory, .file = 0, .processor = std::chrono::seconds(0)});
}

std::optional<std::string> in_child(const std::function<std::string()>& work, double seconds,
                                    std::uint64_t memory, std::string& ended) {
  process::Limits limits;
  limits.time = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  limits.refused.memory = memory;
  constexpr std::string_view kLost = "lost: ";
  const auto said = [&] {
    try {
      return work();
    } catch (const DeviceLost& e) {
      return fmt::format("{}{}", kLost, e.what());
    }
  };
  const process::Finished child = process::run_function(said, limits);
  if (child.output.starts_with(kLost)) {
    ended = child.output.substr(kLost.size());
    return std::nullopt;
  }
  if (child.ending.status == 0 && child.exceeded == process::Exceeded::Nothing) return child.output;
  ended = child.exceeded == process::Exceeded::Time ? "hang"
          : !child.errors.empty()                   ? "exception: " + child.errors
                                                    : child.ending.text();
  return std::nullopt;
}

Checked checked_in_child(const std::function<Checked()>& check, double seconds,
                         std::uint64_t memory) {
  const auto work = [&] {
    try {
      const Checked c = check();
      json j = c.failure;
      j["ending"] = c.ending;
      return line_of(j);
    } catch (const ParseError& e) {
      return line_of({{"no case", e.what()}});
    }
  };
  std::string ended;
  const auto told = in_child(work, seconds, memory, ended);
  if (!told) return Checked::fail(ended == "hang" ? "hang" : "crash", ended);
  const json j = json::parse(*told);
  if (j.contains("no case")) throw ParseError(j["no case"].get<std::string>());
  return {j["ending"], j, {}};
}

}  // namespace touchstone::fuzz
