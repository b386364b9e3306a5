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

/// One area of a campaign. `make` is called in each worker process, with the worker's number.
struct AreaPlan {
  std::string name;
  std::function<std::unique_ptr<Area>(int worker)> make;
  std::int64_t batch = 64;  // cases that are prepared together, and logged together
  int most_shrink_runs = 2000;
  int most_shrunk = 16;  // findings that are shrunk; the rest are kept as drawn
};

struct RunOptions {
  std::uint64_t seed = 0;
  std::int64_t cases = 1000;           // of each area, over all shards
  double seconds = 0;                  // for all areas, which share it evenly; 0: no limit
  int jobs = 1;                        // worker processes
  std::int64_t shard = 0, shards = 1;  // this run has the cases i with i % shards == shard
  double case_seconds = 60;            // a case that takes longer hangs
  std::uint64_t memory = 0;            // bytes of address space a worker may take; 0: no limit
  std::uint64_t growth = 512 << 20;    // bytes a worker may grow by before a new one goes on
  std::filesystem::path log{};         // JSON lines; empty: none
  int log_file = -1;                   // or an open file for them, which cannot be resumed
  bool resume = false;                 // go on where the log ends
  bool coverage = false;
  int most_shrunk = 16;  // the same, for all areas
};

/// A case that failed, ended its worker, or hung.
struct AreaFinding {
  std::int64_t index = 0;
  std::string text;        // as drawn
  Failure failure;         // of the shrunk case; relation "crash" or "hang" where it ended a worker
  std::string shrunk;      // no smaller one fails in the same way; as drawn where not shrunk
  int runs = 0;            // to get there
  std::int64_t times = 1;  // findings that shrank to this
  /// Checked as it was drawn the case fails, and not as its text reads: what writes or reads texts
  /// may be at fault. `drawn_case` names it.
  bool only_drawn = false;
  /// Checked again it passes either way: what is tested does not always answer alike.
  bool unsteady = false;
};

/// The case that a seed draws as number `index`, without its text: "#SEED:INDEX", which
/// `checked_again` and a replay take in the place of one.
std::string drawn_case(std::uint64_t seed, std::int64_t index);
/// Draws such a case, else gives the text as it is. The area checks what it drew itself as it was
/// drawn. Throws ParseError where the text begins as one and is none.
std::string text_of_case(Area& area, const std::string& text);

/// How often relations that were asked for said nothing (Checked::passed_over).
using PassedOver = std::map<std::string, std::int64_t>;

struct Tally {
  std::int64_t cases = 0, passed = 0, weak = 0, skipped = 0, failed = 0;

  void count(Ending ending);
  Tally& operator+=(const Tally& other);
};

struct AreaResult {
  std::string name;
  Tally tally;
  std::vector<AreaFinding> findings;  // by index; equal shrunk ones are one
  double seconds = 0;
  std::unique_ptr<Coverage> coverage;  // where asked for
  std::int64_t unshrunk = 0;           // findings beyond most_shrunk
  PassedOver passed_over;
};

struct RunResult {
  std::vector<AreaResult> areas;
  bool ended_early = false;  // asked to by `stop`
  std::string trouble;       // why it could not go on: a full disk, a worker that does not start
};

/// Told what goes on, at most some times a second.
using RunProgress =
    std::function<void(const std::string& area, const Tally& tally, double seconds)>;

/// Runs a campaign in worker processes. Case i of an area is a function of (seed, area, i) alone,
/// so equal seeds give equal findings for any number of jobs, and N shards together what one run
/// gives. What a worker is about to check stands in memory that is shared with this process: where
/// the worker dies or hangs, the case is a finding, and another worker goes on behind it. Setting
/// `stop` ends the campaign in order. A log holds each batch of cases that is done, in order, and
/// each finding at once; where it cannot be written any more, the campaign ends and `trouble` says
/// so. Throws SystemError where the log cannot be opened, ParseError where it is damaged, or is to
/// be resumed and is of another campaign. The calling process must not have begun to use threads of
/// its own that the areas use.
RunResult run_areas(const std::vector<AreaPlan>& plans, const RunOptions& options,
                    const std::atomic<bool>& stop, const RunProgress& progress = {});

/// The number under which RandomChooser draws case `index` of an area.
std::uint64_t case_key(std::string_view area, std::int64_t index);

}  // namespace touchstone::fuzz
