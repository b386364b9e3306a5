#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/device/config.h"
#include "touchstone/fuzz/judge/reproducer.h"

namespace touchstone::cli {

int run_check(const CheckOptions& options) {
  const ConfigScope scope(Config::from_environment());
  const std::optional<ChosenProfile> chosen = chosen_profile(options.profile);
  if (options.file.empty() == options.op.empty())
    throw ParseError("give a kernel.json, a reproducer, or a kernel as --op 'softmax(x[64,128])'");
  const std::string text = options.op.empty() ? read_file(options.file) : std::string();
  Verdict verdict;
  auto waiting = std::make_optional<Waiting>("judging");
  LazyOpPtr kernel;
  Judging judging;
  std::string note;
  std::optional<FoundOrder> order;
  if (options.op.empty() && fuzz::is_reproducer(text)) {
    if (!options.inputs.empty() || !options.output.empty())
      throw ParseError(fmt::format(
          "{} is a reproducer and contains its own arrays; omit --in and --out", options.file));
    const fuzz::Reproducer reproducer = parse_reproducer(options.file, text);
    kernel = reproducer.run.kernel;
    note = reproducer.note;
    judging = judging.under(chosen);
    if (options.all_elements) judging.sampling = Sampling::all();
    require_feasible(kernel_file(reproducer.run.concrete()), options.limits, judging.sampling);
    verdict = judge_within(
        options.limits, [&] { return fuzz::judge(reproducer, judging.profile, judging.sampling); });
  } else {
    const KernelToJudge whole = options.op.empty() ? parse_kernel(options.file, text)
                                                   : kernel_of_text(options.op, options.inputs);
    kernel = whole.ast;
    judging = whole.judging.under(chosen);
    if (options.all_elements) judging.sampling = Sampling::all();
    if (options.output.empty())
      throw ParseError("a kernel.json needs its arrays: --in A.npy ... --out Y.npy");
    const KernelToJudge file = with_values(whole, options.variables);
    require_feasible(file, options.limits, judging.sampling);
    verdict = judge_within(options.limits, [&] {
      const Verdict judged = judge_files(file, options.inputs, options.output, judging);
      if (options.find_order && judged.outcome != Outcome::Unusable)
        order = order_of_files(file, options.inputs, options.output, judging.profile);
      return judged;
    });
  }
  waiting.reset();
  if (options.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::parse(json_of(verdict, kernel, judging));
    if (order) out["order"] = {{"bits", order->bits}, {"declare", order->declare}};
    fmt::print("{}\n", out.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace));
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
