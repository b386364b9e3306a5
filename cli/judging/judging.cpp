#include "touchstone/cli/judging/judging.h"

#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/json_line.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/installed.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/foreign/plugin_host.h"
#include "touchstone/interp/oracle/declared_profile.h"

namespace touchstone::cli {
std::string hex_bits(const Scalar& s) {
  return fmt::format("{:0{}x}", s.bits(), 2 * itemsize(s.dtype()));
}

int exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::Pass: return kExitOk;
    case Outcome::Fail: return kExitNo;
    case Outcome::Unusable: return kExitBad;
    case Outcome::Weak: return kExitWeak;
  }
  return kExitBad;
}

std::optional<Outcome> outcome_named(std::string_view word) {
  for (const Outcome outcome : kOutcomes)
    if (name(outcome) == word) return outcome;
  return std::nullopt;
}

std::string coloured(Outcome outcome) {
  const std::string text(name(outcome));
  return outcome == Outcome::Pass   ? green(text)
         : outcome == Outcome::Fail ? red(text)
                                    : yellow(text);
}

int exit_code(const Verdict& verdict) {
  return verdict.suspect() ? kExitSuspect : exit_code(verdict.outcome);
}

namespace {

// p as a decimal logarithm, which JSON can hold.
nlohmann::ordered_json evidence_json(const ErrorEvidence& e) {
  if (!e.none.empty()) return {{"none", e.none}};
  nlohmann::ordered_json out{{"elements", e.elements}, {"tests", e.tests}};
  if (e.lambda) {
    out["lambda"] = *e.lambda;
    out["lambda_log10_p"] = e.log_lambda_p / std::log(10.0);
  }
  if (!e.suspicion) return out;
  out["suspicion"] = {{"test", e.suspicion->test},
                      {"explanation", e.suspicion->explanation},
                      {"log10_p", e.suspicion->log_p / std::log(10.0)},
                      {"agree", e.suspicion->agree},
                      {"of", e.suspicion->of}};
  return out;
}

}  // namespace

std::string json_of(const Verdict& v, const LazyOpPtr& kernel, const ChosenProfile& under,
                    const std::string& folder) {
  nlohmann::ordered_json out;
  if (!folder.empty()) out["case"] = folder;
  out["verdict"] = v.word();
  if (kernel) {
    out["kernel"] = kernel_hash(kernel_file(kernel));
    out["name"] = kernel_name(kernel);
  }
  out["profile"] = under.profile.name;
  out["profile_from"] = under.from;
  out["checked"] = v.checked;
  if (v.sampled)
    out["sampled"] = {
        {"judged", v.sampled->judged},
        {"of", v.sampled->of},
        {"missed",
         {{"element", v.sampled->element}, {"row", v.sampled->row}, {"tile", v.sampled->tile}}}};
  out["determined"] = v.determined;
  out["weak"] = v.weak;
  out["blunt"] = v.blunt;
  out["wrong"] = v.wrong;
  out["power_ulp"] = v.power_ulp;
  const auto widths = [](const Widths& w) {  // an infinity becomes null
    return nlohmann::ordered_json{
        {"median", w.median}, {"nine_in_ten", w.most}, {"largest", w.largest}};
  };
  out["width"] = {{"relative", widths(v.relative)}, {"ulp", widths(v.ulp)}};
  out["unseen"] = v.unseen();
  if (!v.form.empty()) out["form"] = v.form;
  if (!v.cause.empty()) out["cause"] = v.cause;
  out["inputs"] = v.inputs;
  out["sharp_inputs"] = v.sharp_inputs;
  if (v.errors > 0) {
    out["errors"] = v.errors;
    out["mean_error"] = v.mean_error;
    out["variance"] = v.variance;
  }
  if (v.evidence) out["evidence"] = evidence_json(*v.evidence);
  if (!v.why.empty()) {
    out["why"] = v.why;
  } else if (v.outcome == Outcome::Fail) {
    out["op"] = name(v.op);
    out["dtype"] = name(v.dtype);
    out["at"] = v.at;
    out["candidate"] = hex_bits(v.candidate);
    if (v.number) out["legal"] = {hex_bits(v.low), hex_bits(v.high)};
    out["nan_is_legal"] = v.nan;
    if (!v.subject.empty()) out["subject"] = v.subject;
    if (!v.operands.empty()) out["operands"] = v.operands;
  }
  return ascii_json_line(out);
}

Profile read_profile(const std::string& wanted) {
  if (wanted.empty()) return {};
  if (!wanted.ends_with(".json")) return Profile::named(wanted);
  const std::string text = read_file(wanted, kMostProfileText);
  try {
    return own_profile(text);
  } catch (const Error& e) {
    throw ParseError(fmt::format("{}: {}", wanted, e.what()));
  }
}

std::optional<ChosenProfile> chosen_profile(const std::string& wanted,
                                            const foreign::Capabilities* backend) {
  if (!wanted.empty()) return ChosenProfile{read_profile(wanted), "named by --profile"};
  if (backend == nullptr || backend->profile.empty()) return std::nullopt;
  return ChosenProfile{declared_profile(backend->profile), "declared by the backend"};
}

Verdict judge_files(const KernelToJudge& kernel, const std::vector<std::string>& inputs,
                    const std::string& output, const Judging& judging) {
  return judge_arrays(kernel.ast, read_arrays(kernel, inputs, 1),
                      read_arrays(kernel, {output}, 0)[0], judging);
}

std::optional<FoundOrder> order_of_files(const KernelToJudge& kernel,
                                         const std::vector<std::string>& inputs,
                                         const std::string& output, const Judging& judging) {
  const HostArray candidate = read_arrays(kernel, {output}, 0)[0];
  const RunBuffers run(&candidate, read_arrays(kernel, inputs, 1));
  return find_order(in_stages(kernel.ast, judging), run.raw, *run.raw[0], judging.profile);
}

namespace {

// The error in an output's shape; empty: none. Axes of size 1 carry no order, so a scalar may be
// [], [1] or [1, 1].
std::string unfit_shape(const LazyOpPtr& kernel, const HostArray& output, const Judging& judging) {
  if (!std::ranges::all_of(kernel->shape(), &sint::is_int)) return {};
  std::vector<std::int64_t> wanted, given = output.shape;
  for (const sint& size : kernel->shape()) wanted.push_back(size.as_int());
  std::erase(wanted, 1);
  std::erase(given, 1);
  if (wanted == given) return {};
  return fmt::format("the output has shape ({}), expected ({})", fmt::join(output.shape, ", "),
                     fmt::join(output_shape(judging, kernel), ", "));
}

}  // namespace

Verdict judge_arrays(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const HostArray& output, const Judging& judging) {
  if (const std::string why = unfit_shape(kernel, output, judging); !why.empty())
    return no_verdict(Outcome::Unusable, why);
  const RunBuffers run(&output, inputs);
  return judge(kernel, run.raw, *run.raw[0], judging);
}

Verdict no_verdict(Outcome outcome, const std::string& why) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.why = why;
  return verdict;
}

Verdict judge_answer(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const foreign::Answer& answer, const Judging& judging) {
  switch (answer.kind) {
    case foreign::Answer::Kind::Output: return judge_arrays(kernel, inputs, answer.output, judging);
    case foreign::Answer::Kind::Broken: return no_verdict(Outcome::Fail, answer.why);
    case foreign::Answer::Kind::Unsupported:
    case foreign::Answer::Kind::Unusable: break;
  }
  return no_verdict(Outcome::Unusable, answer.why);
}

std::unique_ptr<foreign::BackendProcess> start_backend(const BackendOptions& options) {
  foreign::Limits limits;
  limits.answer = std::chrono::milliseconds(std::llround(options.seconds * 1000));
  limits.memory = static_cast<std::uint64_t>(options.megabytes) << 20;
  const Adapter known = adapter_named(options.command);
  const std::string& plugin = options.plugin.empty() ? known.plugin : options.plugin;
  if (!plugin.empty()) limits = foreign::plugin_limits(limits);
  auto backend = std::make_unique<foreign::BackendProcess>(
      !plugin.empty()
          ? foreign::plugin_command(plugin)
          : foreign::BackendProcess::shell(known.command.empty() ? options.command : known.command),
      limits);
  backend->capabilities();
  return backend;
}

void print_starts(const foreign::BackendProcess& backend, std::FILE* to) {
  constexpr double kSlow = 5;  // seconds
  const foreign::Starts& starts = backend.starts();
  if (starts.times < 2 && starts.seconds < kSlow) return;
  fmt::print(to, "backend: {}{}\n", starts.str(),
             starts.times > 1 && starts.seconds > 2 * kSlow
                 ? "; emit and judge with files need one start"
                 : "");
}

}  // namespace touchstone::cli
