#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "judging.h"
#include "kernel_io.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/interpreted.h"
#include "verbs.h"

// How several backends do on the same kernels, as the tables of docs/league.md.

namespace touchstone::cli {
namespace {

// What is said of one operation on one type.
struct Score {
  std::int64_t elements = 0;    // floats that can be compared with the right answer
  std::int64_t misrounded = 0;  // of those
  std::uint64_t ulp = 0;        // the largest distance, in units in the last place
  std::int64_t judged = 0;      // elements
  std::int64_t illegal = 0;     // of those
  int kernels = 0, broken = 0, unusable = 0;
  std::string unsupported;  // why, where no kernel ran
  std::string example;      // the first illegal result
};

struct Contestant {
  foreign::Capabilities capabilities;
  Profile profile;
  std::map<std::string, std::map<std::string, Score>> scores;  // by operation, by type
};

// Order-preserving image of a float's bits, both zeros alike; nullopt for NaN.
std::optional<std::int64_t> order_of(DType dtype, std::uint64_t bits) {
  if (std::isnan(Scalar::from_bits(dtype, bits).to_double())) return std::nullopt;
  const std::uint64_t sign = std::uint64_t{1} << (8 * itemsize(dtype) - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

std::uint64_t bits_at(const HostArray& array, std::size_t i) {
  std::uint64_t bits = 0;
  const std::size_t width = itemsize(array.dtype);
  std::copy_n(array.bytes.begin() + static_cast<std::ptrdiff_t>(i * width), width,
              reinterpret_cast<char*>(&bits));
  return bits;
}

void compare(const HostArray& got, const HostArray& right, Score& score) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(right.size()); ++i) {
    const std::uint64_t x = bits_at(got, i), y = bits_at(right, i);
    const auto a = order_of(right.dtype, x), b = order_of(right.dtype, y);
    ++score.elements;
    if (x == y || (!a && !b)) continue;
    ++score.misrounded;
    if (!a || !b) continue;
    // Of opposite signs the difference may need all 64 bits.
    const auto apart =
        static_cast<std::uint64_t>(std::max(*a, *b)) - static_cast<std::uint64_t>(std::min(*a, *b));
    score.ulp = std::max(score.ulp, apart);
  }
}

HostArray right_answer(const KernelFile& kernel, const std::vector<HostArray>& inputs) {
  Device& reference = Device::get("CPU");
  HostArray output{kernel.ast->dtype(), {}, {}};
  for (const sint& size : kernel.ast->shape()) output.shape.push_back(size.as_int());
  std::vector<BufferPtr> buffers{std::make_shared<Buffer>(reference, output.dtype, output.size())};
  for (const HostArray& input : inputs) buffers.push_back(to_buffer(reference, input));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  run_kernel(reference, kernel.ast, raw);
  output.bytes.resize(buffers[0]->bytes());
  buffers[0]->copy_out(std::as_writable_bytes(std::span(output.bytes)));
  return output;
}

void play(foreign::BackendProcess& backend, const fuzz::SuiteCase& c, const KernelFile& kernel,
          const HostArray& right, Contestant& contestant, Score& score) {
  const foreign::Answer answer = backend.run(kernel, c.run.inputs);
  if (answer.kind == foreign::Answer::Kind::Unsupported) {
    if (score.kernels == 0) score.unsupported = answer.why;
    return;
  }
  ++score.kernels;
  const Verdict verdict = judge_answer(kernel.ast, c.run.inputs, answer, contestant.profile);
  if (answer.kind == foreign::Answer::Kind::Output) {
    if (is_float(right.dtype)) compare(answer.output, right, score);
    score.judged += verdict.checked;
    score.illegal += verdict.wrong;
  } else if (answer.kind == foreign::Answer::Kind::Broken) {
    ++score.broken;
  } else {
    ++score.unusable;
  }
  const bool bad = verdict.outcome == Outcome::Fail || verdict.outcome == Outcome::Unusable;
  if (bad && score.example.empty()) score.example = fmt::format("{}: {}", c.name, verdict.str());
}

std::string cell(const Score& s) {
  if (s.kernels == 0) return "–";
  std::string text;
  if (s.elements > 0)
    text = s.misrounded == 0 ? "exact"
                             : fmt::format("{} ULP, {:.2g} %", s.ulp,
                                           100.0 * static_cast<double>(s.misrounded) /
                                               static_cast<double>(s.elements));
  else if (s.illegal == 0 && s.broken == 0 && s.unusable == 0)
    text = "legal";
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format("{}**{} {}**", text.empty() ? "" : ", ", count, what);
  };
  add(s.illegal, "illegal");
  add(s.broken, "broken");
  add(s.unusable, "unusable");
  return text;
}

// The operation and the type of a case: "cast-float32-int8-edges" is cast of float32.
std::pair<std::string, std::string> place_of(const fuzz::SuiteCase& c) {
  std::pair<std::string, std::string> place{c.name, ""};
  for (const DTypeInfo& row : dtype_table) {
    const std::size_t at = c.name.find(fmt::format("-{}-", row.name));
    if (at < place.first.size()) place = {c.name.substr(0, at), std::string(row.name)};
  }
  return place;
}

// Types of one kind that any kernel ran with.
std::vector<std::string> types_of(const Contestant& contestant, bool floats) {
  std::vector<std::string> types;
  for (const DTypeInfo& row : dtype_table) {
    const bool played = std::ranges::any_of(contestant.scores, [&](const auto& op) {
      const auto at = op.second.find(std::string(row.name));
      return at != op.second.end() && at->second.kernels > 0;
    });
    if (played && is_float(row.dtype) == floats) types.emplace_back(row.name);
  }
  return types;
}

// Integers and bool in one cell: how many types are as they must be, and those that are not.
std::string summary(const std::map<std::string, Score>& scores,
                    const std::vector<std::string>& types) {
  int good = 0;
  std::string text;
  for (const std::string& type : types) {
    const auto at = scores.find(type);
    if (at == scores.end() || at->second.kernels == 0) continue;
    const Score& s = at->second;
    if (s.illegal == 0 && s.broken == 0 && s.unusable == 0 && s.misrounded == 0)
      ++good;
    else
      text += fmt::format("; {}: {}", type, cell(s));
  }
  if (good > 0) return fmt::format("{} types right{}", good, text);
  return text.empty() ? "–" : text.substr(2);
}

void print_table(const Contestant& contestant) {
  const std::vector<std::string> floats = types_of(contestant, true);
  const std::vector<std::string> others = types_of(contestant, false);
  fmt::print("| |{}{}\n|---|", floats.empty() ? "" : fmt::format(" {} |", fmt::join(floats, " | ")),
             " integers, bool |");
  for (std::size_t i = 0; i <= floats.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const auto& [op, scores] : contestant.scores) {
    std::string line = fmt::format("| {} |", op);
    for (const std::string& type : floats) {
      const auto at = scores.find(type);
      line += fmt::format(" {} |", at == scores.end() ? "" : cell(at->second));
    }
    fmt::print("{} {} |\n", line, summary(scores, others));
  }
  fmt::print("\n");
}

void print(const Contestant& contestant) {
  const foreign::Capabilities& c = contestant.capabilities;
  fmt::print("## {}{}\n\nProfile {}.\n\n", c.name, c.version.empty() ? "" : ", " + c.version,
             contestant.profile.name);
  print_table(contestant);
  bool first = true;
  for (const auto& [op, scores] : contestant.scores)
    for (const auto& [type, score] : scores) {
      if (score.example.empty()) continue;
      if (std::exchange(first, false)) fmt::print("The first of each:\n\n```\n");
      fmt::print("{}\n", score.example);
    }
  if (!first) fmt::print("```\n\n");
}

}  // namespace

int run_league(const LeagueOptions& options) {
  register_interpreted_device();
  std::vector<BackendOptions> all;
  for (const std::string& command : options.commands) {
    all.push_back(options.limits);
    all.back().command = command;
  }
  for (const std::string& plugin : options.plugins) {
    all.push_back(options.limits);
    all.back().plugin = plugin;
  }
  if (all.empty()) throw ParseError("nobody plays: name backends with --backend or --plugin");
  std::vector<std::unique_ptr<foreign::BackendProcess>> backends;
  std::vector<Contestant> contestants;
  for (const BackendOptions& one : all) {
    backends.push_back(start_backend(one));
    const foreign::Capabilities& c = backends.back()->capabilities();
    contestants.push_back({c, profile_of(c, {}), {}});
  }
  const std::vector<fuzz::SuiteCase> cases = draw_suite(options.suite);
  Progress progress("playing", static_cast<std::int64_t>(cases.size()));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const KernelFile kernel = kernel_file(cases[i].run.kernel);
    const HostArray right = right_answer(kernel, cases[i].run.inputs);
    const auto [op, type] = place_of(cases[i]);
    for (std::size_t k = 0; k < contestants.size(); ++k)
      play(*backends[k], cases[i], kernel, right, contestants[k], contestants[k].scores[op][type]);
    progress.update(static_cast<std::int64_t>(i + 1));
  }
  for (const Contestant& contestant : contestants) print(contestant);
  return kExitOk;
}

}  // namespace touchstone::cli
