#include <optional>

#include <fmt/format.h>

#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/device/config.h"
#include "touchstone/files/array_file.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/lazy/execution_log.h"

namespace touchstone::cli {
namespace {

// The given inputs, or small integers drawn from the seed.
std::vector<HostArray> inputs_of(const KernelToJudge& kernel, const EvalOptions& options) {
  if (!options.inputs.empty()) return read_arrays(kernel, options.inputs, 1);
  fuzz::RandomChooser chooser(options.seed, 0);
  return fuzz::draw_inputs(chooser, fuzz::ValueFamily::Integers, kernel.ast);
}

void print_values(const HostArray& output) {
  const std::int64_t shown = std::min<std::int64_t>(output.size(), 64);
  for (std::int64_t i = 0; i < shown; ++i) {
    const std::uint64_t bits = fuzz::bits_at(output, static_cast<std::size_t>(i));
    fmt::print("{}{}", i == 0 ? "" : " ", Scalar::from_bits(output.dtype, bits).str());
  }
  fmt::print("{}\n", shown < output.size() ? fmt::format(" ... ({} elements)", output.size()) : "");
}

}  // namespace

int run_eval(const EvalOptions& options) {
  const ConfigScope scope(Config::from_environment());
  const KernelToJudge kernel =
      with_values(kernel_named(options.file, options.op, options.inputs), options.variables);
  const LazyOpPtr& concrete = kernel.ast;
  Device& device = Device::get(options.device);
  // A compiled device rereads elements much faster than the reference.
  require_feasible(kernel,
                   {device.name() == "CPU" ? options.limits.seconds : 0, options.limits.megabytes},
                   Sampling::all());
  HostArray output{concrete->dtype(), output_shape(kernel.judging, concrete), {}};
  output.bytes.resize(static_cast<std::size_t>(output.size()) * itemsize(output.dtype));
  const RunBuffers run(&output, inputs_of(kernel, options), device);
  const lazy::ExecutionTimer timer;
  auto waiting = std::make_optional<Waiting>("running");
  const double seconds = run_kernel(device, concrete, run.raw);
  waiting.reset();
  lazy::log_run({Op::Store, concrete, {}, device, run.raw[0], run.raw.size()}, seconds, timer);
  lazy::flush_log();
  run.raw[0]->copy_out(std::as_writable_bytes(std::span(output.bytes)));
  if (options.show_source)  // for people, if standard output carries the array
    fmt::print(options.output == "-" ? stderr : stdout, "{}", device.runner(concrete)->source());
  if (options.output.empty())
    print_values(output);
  else if (options.output == "-")
    deliver("-", npy_bytes(output));
  else
    write_array_file(options.output, std::vector<NamedArray>{{"out", output}});
  fmt::print(stderr, "{} on {}: {}\n", kernel_name(concrete), device.name(), seconds_str(seconds));
  return kExitOk;
}

}  // namespace touchstone::cli
