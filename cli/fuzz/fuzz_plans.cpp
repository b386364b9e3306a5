#include "touchstone/cli/fuzz/fuzz_plans.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/suggest.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/cli/program/installed.h"
#include "touchstone/codegen/options_matter.h"
#include "touchstone/cuda/cuda_device.h"
#include "touchstone/foreign/plugin_host.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/prove/prover.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::cli {
namespace {

using fuzz::AreaPlan;

// A point where Z3, or a search, shows that two expressions differ.
std::optional<std::string> refuted(const std::string& a, const std::string& b,
                                   const std::string& when) {
  prove::Limits limits;
  limits.first_points = 300;
  limits.last_points = 0;
  limits.enumerated = 5000;
  limits.step_effort = limits.effort = 200'000;
  limits.step_seconds = limits.seconds = limits.elimination_seconds = 2;
  static prove::Prover prover(limits);
  const prove::Proof proof = prover.equal(a, b, when);
  if (proof.verdict != prove::Verdict::Refuted) return std::nullopt;
  std::string at;
  if (proof.counterexample) at = text_of(*proof.counterexample);
  return at;
}

void require_tcc() {
  if (!has_tcc())
    throw ParseError(
        "--backend tcc: this program was built without libtcc; install libtcc-dev, then configure "
        "and build again");
}

ClangOptions clang_options(const FuzzOptions& o, int opt_level) {
  ClangOptions clang = ClangOptions::from_environment();
  clang.fault = parse_fault(o.plant);
  clang.codegen.contract = false;  // a variant sets it
  clang.opt_level = opt_level;
  // A process per kernel would be slowest, and no kernel is repeated on purpose.
  clang.keep = false;
  clang.parallel_work = 0;
  clang.threads = 1;
  return clang;
}

std::unique_ptr<fuzz::KernelBackend> on_clang(const std::string& name,
                                              const ClangOptions& options) {
  return fuzz::make_device_backend(make_clang_device(name, options));
}

// The candidate is clang at this level; each case also runs with other options.
fuzz::KernelBackends optimized_backends(const FuzzOptions& o) {
  fuzz::KernelBackends b;
  const ClangOptions clang = clang_options(o, 2);
  b.candidate = on_clang("CLANG", clang);
  const auto variant = [&](const std::string& name, const auto& set) {
    ClangOptions options = clang;
    set(options);
    b.variants.push_back(on_clang("CLANG " + name, options));
  };
  variant("-O0", [](ClangOptions& c) { c.opt_level = 0; });
  variant("without merged axes", [](ClangOptions& c) { c.codegen.merge_axes = false; });
  variant("without lanes", [](ClangOptions& c) { c.codegen.lanes = false; });
  variant("in 3 threads", [](ClangOptions& c) { c.threads = 3; });
  variant("of a drawn layout", [](ClangOptions& c) { c.codegen.layout_seed = 1; });
  variant("of fused products", [](ClangOptions& c) { c.codegen.contract = true; });
  return b;
}

// Kernels compiled together by clang cost little at -O0; other options need a second run.
fuzz::KernelBackends unoptimized_backends(const FuzzOptions& o) {
  fuzz::KernelBackends b;
  ClangOptions clang = clang_options(o, 0);
  b.candidate = on_clang("CLANG -O0", clang);
  clang.codegen.merge_axes = clang.codegen.lanes = false;
  clang.threads = 3;
  b.variants.push_back(on_clang("CLANG -O0 without merged axes and lanes, in 3 threads", clang));
  ClangOptions drawn = clang_options(o, 0);
  drawn.codegen.layout_seed = 1;
  b.variants.push_back(on_clang("CLANG -O0 of a drawn layout", drawn));
  ClangOptions fused = clang_options(o, 0);
  fused.codegen.contract = true;
  b.variants.push_back(on_clang("CLANG -O0 of fused products", fused));
  b.vary_every = 16;
  b.slow = on_clang("CLANG -O2", clang_options(o, 2));
  return b;
}

// A GPU, or its grids of threads on the host; each case also runs in a random layout.
fuzz::KernelBackends grid_backends(const FuzzOptions& o) {
  const bool on_host = o.backend == "cuda-host";
  CudaOptions cuda = CudaOptions::from_environment();
  if (on_host) {  // host threads are slow, and small kernels should have several blocks
    cuda.threads = 8;
    cuda.opt_level = 0;
  } else if (const std::string why = no_cuda_reason(cuda.device); !why.empty()) {
    throw ParseError("--backend cuda: " + why);
  }
  const auto device = [&](const std::string& name, const CudaOptions& options) {
    return fuzz::make_device_backend(on_host ? make_cuda_on_host(name, options)
                                             : make_cuda_device(name, options));
  };
  fuzz::KernelBackends b;
  const std::string name = on_host ? "CUDA on the host" : "CUDA";
  b.candidate = device(name, cuda);
  cuda.layout_seed = 1;
  b.variants.push_back(device(name + " of a drawn layout", cuda));
  return b;
}

// Kernels per batch, which share the compiler's start-up cost.
std::int64_t kernels_together(const std::string& backend) {
  if (backend == "clang" || (backend == "tiers" && !has_tcc())) return 1024;
  if (backend == "clang-O2" || backend == "cuda" || backend == "cuda-host") return 256;
  return backend == "tiers" || backend == "tcc" ? 512 : 64;
}

}  // namespace

const std::shared_ptr<fuzz::SharedStarts>& backend_starts() {
  static const auto starts = std::make_shared<fuzz::SharedStarts>();
  return starts;
}

fuzz::KernelBackends tcc_backends(Fault fault) {
  fuzz::KernelBackends b;
  b.candidate = fuzz::make_device_backend(make_tcc_device("TCC", {}, fault));
  const auto vary = [&](const std::string& name, const CodegenOptions& options) {
    b.variants.push_back(fuzz::make_device_backend(
        make_tcc_device(name, options, fault),
        [options](const LazyOpPtr& kernel) { return options_matter(kernel, options); }));
  };
  vary("TCC without merged axes", {.merge_axes = false});
  vary("TCC without lanes", {.lanes = false});
  vary("TCC of tiny caches", {.sizes = kTinySizes});
  CodegenOptions drawn;
  drawn.layout_seed = 1;
  vary("TCC of a drawn layout", drawn);
  while (++drawn.layout_seed <= fuzz::kDrawnLayouts)
    b.layouts.push_back(
        fuzz::make_device_backend(make_tcc_device("TCC of a drawn layout", drawn, fault)));
  CodegenOptions fused;
  fused.contract = true;
  vary("TCC of fused products", fused);
  // Element counts that 3 does not divide, and counts below 3.
  b.variants.push_back(fuzz::make_device_backend(make_tcc_device("TCC in 3 parts", {}, fault, 3)));
  return b;
}

fuzz::KernelBackends kernel_backends(const FuzzOptions& o) {
  fuzz::KernelBackends b;
  if (o.backend == "cpu") {
    b.candidate = fuzz::make_device_backend(make_interpreted_device());
    b.judge_all = true;
  } else if (o.backend == "tcc" || (o.backend == "tiers" && has_tcc())) {
    require_tcc();
    b = tcc_backends(parse_fault(o.plant));
    if (o.backend == "tiers") b.slow = on_clang("CLANG", clang_options(o, 2));
  } else if (o.backend == "cuda" || o.backend == "cuda-host") {
    b = grid_backends(o);
  } else if (o.backend == "clang-O2") {
    b = optimized_backends(o);
  } else if (o.backend == "clang" || o.backend == "tiers") {
    b = unoptimized_backends(o);
  } else {
    foreign::Limits limits;
    if (o.megabytes) limits.memory = static_cast<std::uint64_t>(*o.megabytes) << 20;
    limits.answer = std::chrono::milliseconds(static_cast<std::int64_t>(o.case_seconds * 500));
    const Adapter known = adapter_named(o.backend);
    const std::string plugin = o.backend.ends_with(".so") ? o.backend : known.plugin;
    const std::string command = known.command.empty() ? o.backend : known.command;
    b.candidate = fuzz::make_process_backend(
        plugin.empty() ? foreign::BackendProcess::shell(command) : foreign::plugin_command(plugin),
        plugin.empty() ? limits : foreign::plugin_limits(limits), backend_starts());
    (void)b.candidate->name();  // starts it and validates its greeting
  }
  return b;
}

std::vector<AreaPlan> fuzz_plans(const FuzzOptions& o) {
  backend_starts();  // before forking workers
  std::vector<AreaPlan> known;
  known.push_back({"symbolic", [](int) { return fuzz::make_symbolic_area(refuted); }, 4096, 2000});
  known.push_back({"view", [](int) { return fuzz::make_view_area(); }, 4096, 2000});
  known.push_back({"kernel", [o](int) { return fuzz::make_kernel_area(kernel_backends(o)); },
                   kernels_together(o.backend), 1000, 3, o.backend == "cuda" ? 8 : 0});
  constexpr auto kAll = fuzz::Compilers::All;
  known.push_back({"lazy", [](int) { return fuzz::make_lazy_area(kAll); }, 128, 1000});
  known.push_back({"kernelize", [](int) { return fuzz::make_kernelize_area(kAll); }, 128, 1000});
  known.push_back({"far", [](int) { return fuzz::make_far_area(kAll); }, 256, 1000});
  known.push_back({"rewrite", [](int) { return fuzz::make_rewrite_area(); }, 1024, 2000});
  known.push_back({"tensor", [](int) { return fuzz::make_tensor_area(); }, 64, 1000});
  known.push_back({"files", [](int) { return fuzz::make_file_area(); }, 1024, 2000});
  known.push_back({"random", [](int) { return fuzz::make_random_area(); }, 1024, 2000});
  std::vector<std::string> names = o.areas.empty() ? std::vector<std::string>{"kernel"} : o.areas;
  std::vector<AreaPlan> plans;
  for (const std::string& name : names) {
    if (name == "all") {
      plans = known;
      break;
    }
    const auto plan = std::ranges::find(known, name, &AreaPlan::name);
    if (plan == known.end()) {
      std::vector<std::string_view> all{"all"};
      for (const AreaPlan& p : known) all.push_back(p.name);
      throw ParseError(fmt::format("there is no area '{}'{}; known: {}", name,
                                   did_you_mean(name, all), fmt::join(all, ", ")));
    }
    if (std::ranges::find(plans, name, &AreaPlan::name) == plans.end()) plans.push_back(*plan);
  }
  return plans;
}

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
