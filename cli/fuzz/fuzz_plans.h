#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/cli/program/verbs.h"
#include "touchstone/codegen/fault.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/engine/runner.h"

namespace touchstone::cli {

/// The areas that the options name, in order. Throws ParseError for an unknown area or a missing
/// backend.
std::vector<fuzz::AreaPlan> fuzz_plans(const FuzzOptions& options);

/// Starts of kernel_backends' process backends.
const std::shared_ptr<fuzz::SharedStarts>& backend_starts();

/// TinyCC, and the same with other options of our code generator.
fuzz::KernelBackends tcc_backends(Fault fault);

/// The backends of the area kernel; throws as above.
fuzz::KernelBackends kernel_backends(const FuzzOptions& options);

/// Sets this process's part of a campaign: "W/N", or "job" for the place in the job that started
/// it: mpirun (Open MPI, MPICH), srun, or a Slurm array. Empty: the whole. Throws ParseError for
/// other text, or if there is no job.
void take_shard(const std::string& text, fuzz::RunOptions& run);

/// The log of a shard, beside the others: "night.jsonl" becomes "night-2-of-4.jsonl".
std::filesystem::path log_of_shard(const std::filesystem::path& log, std::int64_t shard,
                                   std::int64_t shards);

/// Runs every shard of a campaign from the end of its log and merges the results: work that another
/// machine has logged is read, the rest is done here.
fuzz::RunResult gather_shards(const std::vector<fuzz::AreaPlan>& plans,
                              const fuzz::RunOptions& options, std::int64_t shards,
                              const std::atomic<bool>& stop, const fuzz::RunProgress& progress);

}  // namespace touchstone::cli
