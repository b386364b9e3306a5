#include "judging.h"

#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernel_io.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/foreign/plugin_host.h"
#include "verbs.h"

namespace touchstone::cli {
std::string hex_bits(const Scalar& s) {
  return fmt::format("{:0{}x}", s.bits(), 2 * itemsize(s.dtype()));
}

int exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::Pass:
      return kExitOk;
    case Outcome::Fail:
      return kExitNo;
    case Outcome::Unusable:
      return kExitBad;
    case Outcome::Weak:
      return kExitWeak;
  }
  return kExitBad;
}

std::string json_of(const Verdict& v, const LazyOpPtr& kernel, const Profile& profile,
                    const std::string& folder) {
  nlohmann::ordered_json out;
  if (!folder.empty()) out["case"] = folder;
  out["verdict"] = name(v.outcome);
  if (kernel) {
    out["kernel"] = kernel_hash(kernel_file(kernel));
    out["name"] = kernel_name(kernel);
  }
  out["profile"] = profile.name;
  out["checked"] = v.checked;
  out["determined"] = v.determined;
  out["weak"] = v.weak;
  out["wrong"] = v.wrong;
  out["power_ulp"] = v.power_ulp;
  if (v.errors > 0) {
    out["errors"] = v.errors;
    out["mean_error"] = v.mean_error;
    out["variance"] = v.variance;
  }
  if (!v.why.empty()) {
    out["why"] = v.why;
  } else if (v.outcome == Outcome::Fail) {
    out["op"] = name(v.op);
    out["dtype"] = name(v.dtype);
    out["at"] = v.at;
    out["candidate"] = hex_bits(v.candidate);
    if (v.number) out["legal"] = {hex_bits(v.low), hex_bits(v.high)};
    out["nan_is_legal"] = v.nan;
  }
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Profile read_profile(const std::string& wanted) {
  if (wanted.empty()) return {};
  if (!wanted.ends_with(".json")) return Profile::named(wanted);
  const std::string text = read_file(wanted);
  try {
    return Profile::from_json(text);
  } catch (const Error& e) {
    throw ParseError(fmt::format("{}: {}", wanted, e.what()));
  }
}

Verdict judge_files(const KernelFile& kernel, const std::vector<std::string>& inputs,
                    const std::string& output, const Profile& profile) {
  return judge_arrays(kernel.ast, read_arrays(kernel, inputs, 1),
                      read_arrays(kernel, {output}, 0)[0], profile);
}

Verdict judge_arrays(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const HostArray& output, const Profile& profile) {
  Device& host = Device::get("CPU");
  std::vector<BufferPtr> buffers{to_buffer(host, output)};
  for (const HostArray& input : inputs) buffers.push_back(to_buffer(host, input));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  return judge(kernel, raw, *buffers[0], profile);
}

Verdict no_verdict(Outcome outcome, const std::string& why) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.why = why;
  return verdict;
}

Verdict judge_answer(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const foreign::Answer& answer, const Profile& profile) {
  switch (answer.kind) {
    case foreign::Answer::Kind::Output:
      return judge_arrays(kernel, inputs, answer.output, profile);
    case foreign::Answer::Kind::Broken:
      return no_verdict(Outcome::Fail, answer.why);
    case foreign::Answer::Kind::Unsupported:
    case foreign::Answer::Kind::Unusable:
      break;
  }
  return no_verdict(Outcome::Unusable, answer.why);
}

std::unique_ptr<foreign::BackendProcess> start_backend(const BackendOptions& options) {
  foreign::Limits limits;
  limits.answer = std::chrono::milliseconds(std::llround(options.seconds * 1000));
  limits.memory = static_cast<std::uint64_t>(options.megabytes) << 20;
  const bool plugin = !options.plugin.empty();
  if (plugin) limits = foreign::plugin_limits(limits);
  auto backend = std::make_unique<foreign::BackendProcess>(
      plugin ? foreign::plugin_command(options.plugin)
             : foreign::BackendProcess::shell(options.command),
      limits);
  backend->capabilities();
  return backend;
}

Profile profile_of(const foreign::Capabilities& backend, const std::string& wanted) {
  if (!wanted.empty()) return read_profile(wanted);
  if (backend.profile.empty()) return {};
  return backend.profile.starts_with('{') ? Profile::from_json(backend.profile)
                                          : Profile::named(backend.profile);
}

}  // namespace touchstone::cli
