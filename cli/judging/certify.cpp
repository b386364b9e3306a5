#include "touchstone/interp/certify/certify.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cli/judging/certify_backend.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t number(std::string_view text, int base, std::string_view what) {
  std::uint64_t n = 0;
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  const auto [p, ec] = std::from_chars(text.data(), end, n, base);
  if (ec != std::errc() || p != end || text.empty())
    throw ParseError(fmt::format("certify: {}, not '{}'", what, text.substr(0, 40)));
  return n;
}

// Inputs [from, to) in whole blocks, then this shard's blocks of those.
std::vector<std::uint64_t> wanted_blocks(const Certificate& c, const CertifyOptions& o) {
  const auto block_of = [&](const std::string& text, const char* option, std::uint64_t otherwise) {
    if (text.empty()) return otherwise;
    const std::uint64_t input =
        number(text, 16, fmt::format("{} must be the bits of an input in hexadecimal", option));
    if (input > c.inputs() || input % c.block_inputs() != 0)
      throw ParseError(
          fmt::format("certify: {} {} is not at the start of a block: a block has {:x} inputs, and "
                      "there are {:x}",
                      option, text, c.block_inputs(), c.inputs()));
    return input / c.block_inputs();
  };
  const std::uint64_t from = block_of(o.from, "--from", 0);
  const std::uint64_t to = block_of(o.to, "--to", c.blocks.size());
  std::uint64_t which = 0, of = 1;
  if (!o.shard.empty()) {
    constexpr std::string_view kForm = "--shard must be W/N with 0 <= W < N, as 0/4";
    const std::size_t slash = std::min(o.shard.find('/'), o.shard.size() - 1);
    which = number(std::string_view(o.shard).substr(0, slash), 10, kForm);
    of = number(std::string_view(o.shard).substr(slash + 1), 10, kForm);
    if (which >= of) throw ParseError(fmt::format("certify: {}, not '{}'", kForm, o.shard));
  }
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t b = from; b < to; ++b)
    if (b % of == which) blocks.push_back(b);
  return blocks;
}

int threads_of(const CertifyOptions& options) {
  return options.threads != 0 ? options.threads
                              : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int run_certify_outputs(const CertifyOptions& o) {
  constexpr std::uint64_t kInputs = std::uint64_t{1} << 32;
  const auto input = [&](const std::string& text, const char* option, std::uint64_t otherwise) {
    const std::uint64_t bits =
        text.empty()
            ? otherwise
            : number(text, 16,
                     fmt::format("{} must be the bits of an input in hexadecimal", option));
    if (bits > kInputs)
      throw ParseError(fmt::format("certify: {} {} is not a float32", option, text));
    return bits;
  };
  const std::uint64_t from = input(o.from, "--from", 0), to = input(o.to, "--to", kInputs);
  if (from >= to) throw ParseError("certify: --to must be greater than --from");
  return certify_outputs(o, from, to - from, threads_of(o));
}

}  // namespace

int run_certify(const CertifyOptions& options) {
  const bool backend = !options.backend.command.empty() || !options.backend.plugin.empty();
  const bool documented = !options.limits.empty() || options.flush;
  if (documented && options.outputs.empty() && !backend)
    throw ParseError("certify: --limit and --flush need --outputs or a backend");
  if (options.ulp >= 0 && (documented || (options.device.empty() && !backend)))
    throw ParseError(
        "certify: --ulp needs --device or a backend, and excludes --limit and --flush");
  if (!options.outputs.empty() || (backend && documented)) return run_certify_outputs(options);
  const Certified of = parse_certified(options.op);
  const bool other = !options.device.empty() || backend;
  if (!of.op && !other)
    throw ParseError(fmt::format(
        "certify: the outputs of {} come from a device, a backend or a file: add --device CLANG, "
        "--backend COMMAND or --outputs FILE",
        of.name()));
  Certificate c = empty_certificate(of.op.value_or(CertifiedOp::Exp2), parse_dtype(options.dtype),
                                    TOUCHSTONE_VERSION);
  const int threads = threads_of(options);
  if (other) return certify_device(options, c, of, wanted_blocks(c, options), threads);
  const bool to_output = options.output == "-";
  const std::unique_ptr<DataOutput> data = data_output_if(to_output);
  const std::filesystem::path file = options.output.empty()
                                         ? fmt::format("{}-{}.json", name(c.op), name(c.dtype))
                                         : options.output;
  const auto take = [&](const std::filesystem::path& path) {
    try {
      merge(c, certificate_from_json(read_file(path)));
    } catch (const SystemError&) {
      throw;
    } catch (const Error& e) {
      throw Error(fmt::format("{}: {}", path.string(), e.what()));
    }
  };
  const auto save = [&](const Certificate& now) {
    if (!to_output) write_file_atomically(file, to_json(now));
  };
  if (!options.fresh && !to_output && std::filesystem::exists(file)) take(file);
  for (const std::string& part : options.parts) take(part);
  const std::vector<std::uint64_t> blocks = wanted_blocks(c, options);
  const auto left = [&] {
    return std::ranges::count_if(blocks, [&](std::uint64_t b) { return c.blocks[b].hash == 0; });
  };
  const std::int64_t before = left();
  const auto say_interrupted = [&] {
    if (!to_output) fmt::print("interrupted; the same command continues from here\n");
  };
  OrderlyEnd end(say_interrupted);
  save(c);  // fails early if unwritable
  const Clock::time_point start = Clock::now();
  Clock::time_point saved = start;
  bool too_many = false;
  {
    const auto in_millions = [&](std::int64_t n) {
      return n * static_cast<std::int64_t>(c.block_inputs()) / 1'000'000;
    };
    Progress progress(fmt::format("{} {}, millions", name(c.op), name(c.dtype)),
                      in_millions(before));
    certify(c, blocks, threads, [&](const Certificate& now) {
      const std::int64_t done = before - left();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      progress.update(in_millions(done),
                      done == 0 ? ""
                                : fmt::format("{:.0f} s left", seconds / static_cast<double>(done) *
                                                                   static_cast<double>(left())));
      if (Clock::now() - saved > std::chrono::seconds(10)) {
        save(now);
        saved = Clock::now();
      }
      too_many = now.wrong() > 10'000;
      return !too_many;
    });
  }
  save(c);
  if (data) data->write(to_json(c));
  std::uint64_t undecided = 0, disputed = 0;
  for (const BlockRecord& b : c.blocks) {
    undecided += b.undecided.size();
    disputed += b.disputed.size();
  }
  fmt::print("{} of {}: {} of {} inputs checked, {} left to MPFR, {} disputed, {} wrong; {}\n",
             name(c.op), name(c.dtype), c.done() * c.block_inputs(), c.inputs(), undecided,
             disputed, c.wrong(), file.string());
  if (c.complete()) fmt::print("all outputs: {}\n", c.outputs());
  if (too_many) fmt::print("stopped: too many wrong outputs\n");
  if (left() != 0 && OrderlyEnd::wanted()) end.leave();
  return c.wrong() != 0 || disputed != 0 ? kExitNo : kExitOk;
}

}  // namespace touchstone::cli
