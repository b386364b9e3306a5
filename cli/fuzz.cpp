#include <fmt/format.h>

#include "index_stats.h"
#include "terminal.h"
#include "touchstone/base/file.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/campaign.h"
#include "touchstone/fuzz/kernel_case.h"
#include "touchstone/fuzz/reproducer.h"
#include "touchstone/interp/interpreted.h"
#include "verbs.h"

namespace touchstone::cli {

int run_fuzz(const FuzzOptions& options) {
  register_interpreted_device();
  if (options.index_stats) {
    print_index_stats([&] {
      std::vector<LazyOpPtr> kernels;
      for (std::int64_t i = 0; i < options.cases; ++i) {
        fuzz::RandomChooser chooser(options.seed, static_cast<std::uint64_t>(i));
        kernels.push_back(fuzz::draw_kernel_case(chooser).kernel);
      }
      return kernels;
    });
    return kExitOk;
  }
  ClangOptions clang = ClangOptions::from_environment();
  clang.codegen.fault = parse_fault(options.plant);
  const TemporaryDirectory cache("touchstone-fuzz");  // nobody asks for these kernels again
  clang.cache_dir = cache.path();
  register_clang_device(clang);
  Device& candidate = Device::get("CLANG");
  Progress progress("fuzzing", options.cases);
  const fuzz::CampaignResult result =
      fuzz::run_campaign(candidate, {options.seed, 0, options.cases},
                         [&](std::int64_t done) { progress.update(done); });
  fmt::print("{} kernels on {}: {} PASS, {} WEAK, {} FAIL, {} UNUSABLE (seed {})\n", result.cases,
             candidate.name(), result.passed, result.weak, result.findings.size(), result.unusable,
             options.seed);
  if (result.findings.empty()) return result.unusable == 0 ? kExitOk : kExitBad;
  const fuzz::Finding& first = result.findings[0];
  fmt::print("case {}, shrunk in {} runs to\n{}{}\n", first.index, first.shrink_runs,
             str(first.shrunk.run), first.verdict.str());
  write_file_atomically(options.reproducer, to_json(first.shrunk));
  fmt::print("reproducer: {}   judge it again with: touchstone check {}\n", options.reproducer,
             options.reproducer);
  return kExitNo;
}

}  // namespace touchstone::cli
