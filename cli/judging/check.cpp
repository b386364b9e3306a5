#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/device/config.h"

namespace touchstone::cli {

int run_check(const CheckOptions& options) {
  const ConfigScope scope(Config::from_environment());
  const std::optional<ChosenProfile> chosen = chosen_profile(options.profile);
  const KernelOrRun given = kernel_or_run(options, &options.output);
  Verdict verdict;
  auto waiting = std::make_optional<Waiting>("judging");
  LazyOpPtr kernel;
  Judging judging;
  std::string note;
  std::optional<FoundOrder> order;
  judging = given.kernel.judging.under(chosen);
  if (options.all_elements) judging.sampling = Sampling::all();
  if (given.run) {
    kernel = given.run->run.kernel;
    note = given.run->note;
    require_feasible(kernel_file(given.run->run.concrete()), options.limits, judging.sampling);
    verdict = judge_within(
        options.limits, [&] { return fuzz::judge(*given.run, judging.profile, judging.sampling); });
  } else {
    kernel = given.kernel.ast;
    if (options.output.empty())
      throw ParseError("a kernel.json needs its arrays: --in A.npy ... --out Y.npy");
    const KernelToJudge file = with_values(given.kernel, options.variables);
    require_feasible(file, options.limits, judging.sampling);
    verdict = judge_within(options.limits, [&] {
      const Verdict judged = judge_files(file, options.inputs, options.output, judging);
      if (options.find_order && judged.outcome != Outcome::Unusable)
        order = order_of_files(file, options.inputs, options.output, judging);
      return judged;
    });
  }
  waiting.reset();
  if (options.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::parse(json_of(verdict, kernel, judging));
    if (order) out["order"] = {{"bits", order->bits}, {"declare", order->declare}};
    fmt::print("{}\n", ascii_json_line(out));
  } else {
    if (!note.empty()) fmt::print("{}\n", dim(visible(note)));
    fmt::print("{}\n", visible(judging.str(verdict)));
    if (verdict.evidence) fmt::print("{}\n", dim(verdict.evidence->str()));
    if (options.find_order)
      fmt::print(
          "{}\n",
          order
              ? order->str()
              : "--find-order needs a kernel that is a single sum of floats or of their products");
  }
  return exit_code(verdict);
}

}  // namespace touchstone::cli
