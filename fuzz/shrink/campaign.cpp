#include "touchstone/fuzz/campaign.h"

#include <algorithm>

#include "touchstone/fuzz/draw_kernel.h"
#include "touchstone/fuzz/shrink.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kBatch = 64;  // kernels compiled at once

Finding make_finding(Device& candidate, std::int64_t index, const Reproducer& failing,
                     bool shrinking) {
  ShrunkRun small{failing, 0};
  if (shrinking) small = shrink_failure(failing, candidate);
  Finding finding{index, failing.run, std::move(small.smallest), {}, small.runs};
  finding.shrunk.note = fmt::format("fuzz case {} on {}", index, candidate.name());
  finding.verdict = judge(finding.shrunk);
  return finding;
}

}  // namespace

CampaignResult run_campaign(Device& candidate, const CampaignOptions& options,
                            const std::function<void(std::int64_t)>& progress) {
  CampaignResult result;
  for (std::int64_t at = 0; at < options.cases; at += kBatch) {
    std::vector<KernelCase> batch;
    std::vector<LazyOpPtr> kernels;
    for (std::int64_t i = at; i < std::min(at + kBatch, options.cases); ++i) {
      RandomChooser chooser(options.seed, static_cast<std::uint64_t>(options.first + i));
      batch.push_back(draw_kernel_case(chooser));
      kernels.push_back(batch.back().kernel);
    }
    candidate.prepare(kernels);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ++result.cases;
      const Reproducer run = record(batch[i], candidate);
      switch (judge(run).outcome) {
        case Outcome::Pass:
          ++result.passed;
          break;
        case Outcome::Weak:
          ++result.weak;
          break;
        case Outcome::Unusable:
          ++result.unusable;
          break;
        case Outcome::Fail:
          result.findings.push_back(make_finding(candidate,
                                                 options.first + at + static_cast<std::int64_t>(i),
                                                 run, result.findings.empty()));
          break;
      }
    }
    candidate.forget_runners();  // no kernel is drawn twice on purpose
    if (progress) progress(std::min(at + kBatch, options.cases));
  }
  return result;
}

}  // namespace touchstone::fuzz
