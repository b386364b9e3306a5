#include "touchstone/cli/fuzz/fuzz_shards.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "touchstone/base/error.h"

namespace touchstone::cli {
namespace {

std::optional<std::int64_t> number(std::string_view digits) {
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || rest != end || digits.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : number(value);
}

// Place and count; `first` is the number of the first member, because Slurm arrays may start
// anywhere.
struct Job {
  const char *place, *count, *first;
};
constexpr Job kJobs[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
                         {"PMI_RANK", "PMI_SIZE", nullptr},
                         {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},
                         {"SLURM_PROCID", "SLURM_NTASKS", nullptr}};

void take_shard_of_job(fuzz::RunOptions& run) {
  for (const Job& job : kJobs) {
    const auto place = variable(job.place), count = variable(job.count);
    if (!place || !count) continue;
    run.shard = *place - (job.first == nullptr ? 0 : variable(job.first).value_or(0));
    run.shards = *count;
    return;
  }
  throw ParseError(
      "--shard job: no job environment found; start under mpirun, srun or a Slurm array, or give "
      "the part, as 0/4");
}

void merge(fuzz::AreaResult& to, fuzz::AreaResult&& from) {
  to.tally.cases += from.tally.cases;
  to.tally.passed += from.tally.passed;
  to.tally.weak += from.tally.weak;
  to.tally.skipped += from.tally.skipped;
  to.tally.failed += from.tally.failed;
  to.seconds += from.seconds;
  for (const auto& [relation, times] : from.passed_over) to.passed_over[relation] += times;
  // Shrunk findings come first; the last `unshrunk` are not shrunk.
  const auto small_end = [](fuzz::AreaResult& r) { return r.findings.end() - r.unshrunk; };
  std::vector<fuzz::AreaFinding> small(to.findings.begin(), small_end(to));
  std::vector<fuzz::AreaFinding> rest(small_end(to), to.findings.end());
  for (auto f = from.findings.begin(); f != small_end(from); ++f) {
    const auto same = std::ranges::find_if(small, [&](const fuzz::AreaFinding& known) {
      return known.shrunk == f->shrunk && known.failure.relation == f->failure.relation;
    });
    if (same == small.end()) {
      small.push_back(std::move(*f));
      continue;
    }
    const std::int64_t times = same->times + f->times;
    if (f->index < same->index) *same = std::move(*f);
    same->times = times;
  }
  rest.insert(rest.end(), small_end(from), from.findings.end());
  std::ranges::sort(small, {}, &fuzz::AreaFinding::index);
  std::ranges::sort(rest, {}, &fuzz::AreaFinding::index);
  to.unshrunk += from.unshrunk;
  to.findings = std::move(small);
  to.findings.insert(to.findings.end(), rest.begin(), rest.end());
  if (to.coverage && from.coverage) to.coverage->add(*from.coverage);
}

}  // namespace

void take_shard(const std::string& text, fuzz::RunOptions& run) {
  if (text.empty()) return;
  if (text == "job") return take_shard_of_job(run);
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto shard = number(std::string_view(text).substr(0, slash));
  const auto shards = number(std::string_view(text).substr(std::min(slash + 1, text.size())));
  if (!shard || !shards || *shard < 0 || *shards < 1 || *shard >= *shards || *shards > 1'000'000)
    throw ParseError(fmt::format("--shard '{}': write W/N with 0 <= W < N, as 0/4, or job", text));
  run.shard = *shard;
  run.shards = *shards;
}

std::filesystem::path log_of_shard(const std::filesystem::path& log, std::int64_t shard,
                                   std::int64_t shards) {
  std::filesystem::path own = log;
  return own.replace_filename(
      fmt::format("{}-{}-of-{}{}", log.stem().string(), shard, shards, log.extension().string()));
}

fuzz::RunResult gather_shards(const std::vector<fuzz::AreaPlan>& plans,
                              const fuzz::RunOptions& options, std::int64_t shards,
                              const std::atomic<bool>& stop, const fuzz::RunProgress& progress) {
  fuzz::RunResult all;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    fuzz::RunOptions own = options;
    own.shard = shard;
    own.shards = shards;
    own.log = log_of_shard(options.log, shard, shards);
    own.resume = true;
    fuzz::RunResult one = run_areas(plans, own, stop, progress);
    for (fuzz::AreaResult& area : one.areas) {
      const auto known = std::ranges::find(all.areas, area.name, &fuzz::AreaResult::name);
      if (known == all.areas.end())
        all.areas.push_back(std::move(area));
      else
        merge(*known, std::move(area));
    }
    all.ended_early = one.ended_early;
    all.trouble = one.trouble;
    if (all.ended_early || !all.trouble.empty()) break;
  }
  return all;
}

}  // namespace touchstone::cli
