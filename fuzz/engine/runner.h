#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/fuzz/engine/area.h"
#include "touchstone/fuzz/engine/coverage.h"

namespace touchstone::fuzz {

/// An area of a campaign. `make` is called in each worker process with the worker's number.
struct AreaPlan {
  std::string name;
  std::function<std::unique_ptr<Area>(int worker)> make;
  std::int64_t batch = 64;  // cases prepared and logged together
  int most_shrink_runs = 2000;
  int most_shrunk = 16;  // shrunk findings; the rest are kept as drawn
  int most_batches = 0;  // a worker is replaced after so many, which frees driver memory; 0: never
};

struct RunOptions {
  std::uint64_t seed = 0;
  std::int64_t cases = 1000;           // of each area, over all shards
  double seconds = 0;                  // for all areas, shared evenly; 0: no limit
  int jobs = 1;                        // worker processes
  std::int64_t shard = 0, shards = 1;  // this run has the cases i with i % shards == shard
  double case_seconds = 60;            // a case that takes longer counts as hanging
  std::uint64_t memory = 0;            // bytes of address space of a worker; 0: no limit
  std::uint64_t growth = 512 << 20;    // bytes a worker may grow by before it is replaced
  std::filesystem::path log{};         // JSON lines; empty: none
  int log_file = -1;                   // or an open file for it, which cannot be resumed
  bool resume = false;                 // continue at the end of the log
  bool coverage = false;
  int most_shrunk = 16;  // the same, for all areas
};

/// A case that failed, ended its worker or hung.
struct AreaFinding {
  std::int64_t index = 0;
  std::string text;        // as drawn
  Failure failure;         // of the shrunk case; "crash" or "hang" if it ended a worker
  std::string shrunk{};    // no smaller case fails in the same way; as drawn if not shrunk
  int runs = 0;            // of shrinking
  std::int64_t times = 1;  // findings that shrank to this
  /// The case fails as drawn but not when read from its text: writing or reading texts may be at
  /// fault. `drawn_case` names it.
  bool only_drawn = false;
  /// The case passes when checked again: the subject is not deterministic.
  bool unsteady = false;
};

/// The case that a seed draws as number `index`, as "#SEED:INDEX"; `checked_again` and replays
/// accept it instead of a text.
std::string drawn_case(std::uint64_t seed, std::int64_t index);
/// Draws such a case, otherwise returns the text. The area checks a case that it drew itself as
/// drawn. Throws ParseError if the text begins like "#SEED:INDEX" but is malformed.
std::string text_of_case(Area& area, const std::string& text);

/// How often each relation did not apply (Checked::passed_over).
using PassedOver = std::map<std::string, std::int64_t>;

struct Tally {
  std::int64_t cases = 0, passed = 0, weak = 0, skipped = 0, failed = 0;

  void count(Ending ending);
  Tally& operator+=(const Tally& other);
};

struct AreaResult {
  std::string name;
  Tally tally;
  std::vector<AreaFinding> findings;  // by index; equal shrunk cases are merged
  double seconds = 0;
  std::unique_ptr<Coverage> coverage;  // if requested
  std::int64_t unshrunk = 0;           // findings beyond most_shrunk
  PassedOver passed_over;
};

struct RunResult {
  std::vector<AreaResult> areas;
  bool ended_early = false;  // by `stop`
  std::string trouble;       // why it could not continue: a full disk, a worker that does not start
};

/// Reports progress, a few times a second at most.
using RunProgress =
    std::function<void(const std::string& area, const Tally& tally, double seconds)>;

/// Runs a campaign in worker processes. Case i of an area depends only on (seed, area, i), so equal
/// seeds give equal findings for any number of jobs, and N shards together equal one whole run. The
/// case that a worker is about to check is in memory shared with this process: if the worker dies
/// or hangs, that case is a finding and a new worker continues after it. Setting `stop` ends the
/// campaign in order. A log receives each completed batch, in order, and each finding at once; if
/// it can no longer be written, the campaign ends and `trouble` gives the reason. Throws
/// SystemError if the log cannot be opened, ParseError if it is damaged or to be resumed but of
/// another campaign. The calling process must not have started threads that the areas use.
RunResult run_areas(const std::vector<AreaPlan>& plans, const RunOptions& options,
                    const std::atomic<bool>& stop, const RunProgress& progress = {});

/// The number under which RandomChooser draws case `index` of an area.
std::uint64_t case_key(std::string_view area, std::int64_t index);

}  // namespace touchstone::fuzz
