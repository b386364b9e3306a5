#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernel_io.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/fuzz/reproducer.h"
#include "touchstone/interp/interpreted.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

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

std::string hex_bits(const Scalar& s) {
  return fmt::format("{:0{}x}", s.bits(), 2 * itemsize(s.dtype()));
}

std::string json_of(const Verdict& v, const LazyOpPtr& kernel, const Profile& profile) {
  nlohmann::ordered_json out = {{"verdict", name(v.outcome)},
                                {"kernel", kernel_hash(kernel_file(kernel))},
                                {"name", kernel_name(kernel)},
                                {"profile", profile.name},
                                {"checked", v.checked},
                                {"determined", v.determined},
                                {"weak", v.weak},
                                {"wrong", v.wrong},
                                {"power_ulp", v.power_ulp}};
  if (v.outcome == Outcome::Unusable) out["why"] = v.why;
  if (v.outcome == Outcome::Fail) {
    out["op"] = name(v.op);
    out["dtype"] = name(v.dtype);
    out["at"] = v.at;
    out["candidate"] = hex_bits(v.candidate);
    if (v.number) out["legal"] = {hex_bits(v.low), hex_bits(v.high)};
    out["nan_is_legal"] = v.nan;
  }
  return out.dump();
}

// A built-in profile, or the one in a file.
Profile read_profile(const std::string& wanted) {
  if (!wanted.ends_with(".json")) return Profile::named(wanted);
  const std::string text = read_file(wanted);
  try {
    return Profile::from_json(text);
  } catch (const Error& e) {
    throw ParseError(fmt::format("{}: {}", wanted, e.what()));
  }
}

}  // namespace

int run_check(const CheckOptions& options) {
  register_interpreted_device();
  const Profile profile = read_profile(options.profile);
  const std::string text = read_file(options.file);
  Verdict verdict;
  LazyOpPtr kernel;
  std::string note;
  if (fuzz::is_reproducer(text)) {
    if (!options.inputs.empty() || !options.output.empty())
      throw ParseError(fmt::format(
          "{} is a reproducer and holds its own arrays; leave out --in and --out", options.file));
    const fuzz::Reproducer reproducer = fuzz::reproducer_from_json(text);
    kernel = reproducer.run.kernel;
    note = reproducer.note;
    verdict = fuzz::judge(reproducer, profile);
  } else {
    const KernelFile whole = parse_kernel(options.file, text);
    kernel = whole.ast;
    if (options.output.empty())
      throw ParseError("a kernel.json is checked with --in A.npy ... --out Y.npy");
    const KernelFile file = with_values(whole, options.variables);
    Device& host = Device::get("CPU");
    std::vector<BufferPtr> buffers{to_buffer(host, read_arrays(file, {options.output}, 0)[0])};
    for (const HostArray& input : read_arrays(file, options.inputs, 1))
      buffers.push_back(to_buffer(host, input));
    std::vector<Buffer*> raw;
    for (const BufferPtr& b : buffers) raw.push_back(b.get());
    verdict = judge(file.ast, raw, *buffers[0], profile);
  }
  if (options.json) {
    fmt::print("{}\n", json_of(verdict, kernel, profile));
  } else {
    if (!note.empty()) fmt::print("{}\n", dim(note));
    fmt::print("{}\n", verdict.str());
  }
  return exit_code(verdict.outcome);
}

}  // namespace touchstone::cli
