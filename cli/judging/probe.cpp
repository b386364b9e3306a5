#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/fuzz/judge/probe_power.h"

namespace touchstone::cli {
namespace {

std::string size_words(const fuzz::FaultPower& power, std::size_t probe) {
  const std::optional<std::int64_t>& least = power.least[probe];
  if (!least) return "?";
  if (*least == 0) return "-";
  return power.fault.has_size ? fmt::format("{}", *least) : "yes";
}

// Describes which probes show a fault, and if none does, what would.
std::string in_words(const fuzz::FaultPower& power, const std::vector<fuzz::Probe>& probes,
                     const ChosenProfile& under) {
  const fuzz::PlannedFault& fault = power.fault;
  if (const auto best = power.best()) {
    const std::string_view family = fuzz::name(probes[*best].family);
    return fault.has_size
               ? fmt::format("off by {} ULP or more: shown by {}", *power.least[*best], family)
               : fmt::format("shown by {}", family);
  }
  if (std::ranges::any_of(power.least, [](const auto& x) { return !x; }))
    return "not determined within the time limit; raise --seconds or use smaller sizes";
  if (!power.differs) return "all of its results are correct on these inputs";
  const std::string alone =
      is_elementwise(fault.op) || is_reduce(fault.op)
          ? fmt::format("; touchstone judge --ops {} shows it of the operation alone",
                        lower_name(fault.op))
          : "";
  const std::string size =
      fault.has_size ? fmt::format("not even off by {} ULP: ", fault.most) : std::string();
  return fmt::format("{}this kernel cannot show it on any of these inputs {}{}", size, under.str(),
                     alone);
}

void print_power(const std::vector<fuzz::FaultPower>& powers,
                 const std::vector<fuzz::Probe>& probes, const ChosenProfile& under) {
  for (const fuzz::FaultPower& power : powers) {
    fmt::print("{}: {}\n", bold(power.fault.where), in_words(power, probes, under));
    std::vector<std::string> each;
    for (std::size_t i = 0; i < probes.size(); ++i)
      each.push_back(fmt::format("{} {}", fuzz::name(probes[i].family), size_words(power, i)));
    fmt::print("    {}\n", dim(fmt::format("{}", fmt::join(each, ", "))));
  }
}

void print_json(const KernelFile& file, const std::vector<fuzz::FaultPower>& powers,
                const std::vector<fuzz::Probe>& probes, const ChosenProfile& under) {
  nlohmann::ordered_json out = {
      {"kernel", kernel_hash(file)}, {"profile", under.profile.name}, {"profile_from", under.from}};
  for (const fuzz::Probe& probe : probes)
    out["families"].push_back(
        {{"name", fuzz::name(probe.family)}, {"shows", fuzz::shows(probe.family)}});
  out["faults"] = nlohmann::ordered_json::array();
  for (const fuzz::FaultPower& power : powers) {
    nlohmann::ordered_json row = {{"fault", power.fault.where}, {"ulp", nlohmann::ordered_json()}};
    for (std::size_t i = 0; i < probes.size(); ++i) {
      nlohmann::ordered_json least;  // null: not computed
      if (power.least[i]) least = *power.least[i];
      row["ulp"][std::string(fuzz::name(probes[i].family))] = least;
    }
    row["words"] = in_words(power, probes, under);
    out["faults"].push_back(std::move(row));
  }
  fmt::print("{}\n", out.dump());
}

// Holds the inputs of all families in memory, ten times one family's.
void require_small(const KernelFile& file) {
  constexpr double kMostMebibytes = 100;
  double bytes = 0;
  for (const BufferSpec& spec : file.buffers)
    bytes += static_cast<double>(spec.size) * static_cast<double>(itemsize(spec.dtype));
  if (bytes / (1 << 20) > kMostMebibytes)
    throw ParseError(fmt::format(
        "the kernel's buffers take {:.0f} MiB; the limit of probe is {:.0f} MiB: use smaller sizes",
        bytes / (1 << 20), kMostMebibytes));
}

std::vector<fuzz::SuiteCase> cases_of(const LazyOpPtr& kernel, std::vector<fuzz::Probe>& probes) {
  std::vector<fuzz::SuiteCase> cases;
  for (fuzz::Probe& probe : probes)
    cases.push_back({std::string(fuzz::name(probe.family)), {kernel, std::move(probe.inputs)}});
  return cases;
}

}  // namespace

std::vector<fuzz::SuiteCase> probe_cases(const LazyOpPtr& kernel, std::uint64_t seed) {
  require_small(kernel_file(kernel));
  std::vector<fuzz::Probe> probes = fuzz::draw_probes(kernel, seed);
  return cases_of(kernel, probes);
}

int run_probe(const ProbeOptions& options) {
  if (options.folder == "-")
    throw ParseError("probe writes a folder, not standard output; give the name of a new one");
  const std::optional<ChosenProfile> chosen = chosen_profile(options.profile);
  const KernelToJudge file =
      with_values(kernel_named(options.file, options.op, options.inputs), options.variables);
  const Judging judging = file.judging.under(chosen);
  require_small(file);
  std::vector<fuzz::Probe> probes = fuzz::draw_probes(file.ast, options.seed);
  if (!options.folder.empty()) {
    std::vector<fuzz::SuiteCase> cases = cases_of(file.ast, probes);
    write_cases(options.folder, cases, "npy", judging);
    for (std::size_t i = 0; i < cases.size(); ++i)
      probes[i].inputs = std::move(cases[i].run.inputs);
    if (!options.json)
      fmt::print(
          "{} in {}: each folder contains kernel.json, in1.npy, in2.npy, ...\nwrite each output "
          "into the same folder as out.npy, then: touchstone judge {}\n",
          counted(probes.size(), "family"), options.folder, options.folder);
  }
  std::vector<fuzz::FaultPower> powers;
  if (options.seconds > 0) {
    const Waiting waiting("predicting which faults they show");
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
    const auto go_on = [&] { return std::chrono::steady_clock::now() < end; };
    judge_within({options.seconds, 0}, [&] {
      powers = fuzz::probe_power(file.ast, probes, judging.profile, go_on);
      return Verdict();
    });
  }
  if (options.json) {
    print_json(file, powers, probes, judging);
    return kExitOk;
  }
  for (const fuzz::Probe& probe : probes)
    fmt::print("{:9} {}\n", fuzz::name(probe.family), fuzz::shows(probe.family));
  if (options.seconds == 0) return kExitOk;
  const LazyOpPtr part = fuzz::part_of(file.ast);
  const std::string where = same(part, file.ast) ? ""
                                                 : fmt::format(", worked out on {} of {} outputs",
                                                               elements(part->shape()).str(),
                                                               elements(file.ast->shape()).str());
  fmt::print("\nThe smallest error, in ULP of the node, that each would show {}{}:\n",
             judging.str(), where);
  print_power(powers, probes, judging);
  return kExitOk;
}

}  // namespace touchstone::cli
