#include "judging.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernel_io.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

std::string hex_bits(const Scalar& s) {
  return fmt::format("{:0{}x}", s.bits(), 2 * itemsize(s.dtype()));
}

}  // namespace

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
  if (v.outcome == Outcome::Unusable) out["why"] = v.why;
  if (v.outcome == Outcome::Fail) {
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
  Device& host = Device::get("CPU");
  std::vector<BufferPtr> buffers{to_buffer(host, read_arrays(kernel, {output}, 0)[0])};
  for (const HostArray& input : read_arrays(kernel, inputs, 1))
    buffers.push_back(to_buffer(host, input));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  return judge(kernel.ast, raw, *buffers[0], profile);
}

}  // namespace touchstone::cli
