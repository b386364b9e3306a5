#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "touchstone/fuzz/engine/runner.h"

namespace touchstone::cli {

/// Which part of a campaign this process has: "W/N", or "job", of the job that started it: mpirun
/// (Open MPI, MPICH), srun, or an array of Slurm's. Empty: all. Throws ParseError where it is none
/// of these, or there is no job.
void take_shard(const std::string& text, fuzz::RunOptions& run);

/// The log of a shard, which stands beside those of the others: "night.jsonl" is
/// "night-2-of-4.jsonl".
std::filesystem::path log_of_shard(const std::filesystem::path& log, std::int64_t shard,
                                   std::int64_t shards);

/// Every shard of a campaign, one after the other, from where its log ends, and all of them as one
/// result: what a shard's own machine has done is read, what it has left is done here.
fuzz::RunResult gather_shards(const std::vector<fuzz::AreaPlan>& plans,
                              const fuzz::RunOptions& options, std::int64_t shards,
                              const std::atomic<bool>& stop, const fuzz::RunProgress& progress);

}  // namespace touchstone::cli
