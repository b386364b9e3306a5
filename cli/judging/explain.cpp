#include "touchstone/interp/oracle/explain.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/json_line.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

std::vector<std::int64_t> parse_index(const std::string& text) {
  std::vector<std::int64_t> at;
  const char* from = text.data();
  const char* const end = from + text.size();
  while (from != end) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(from, end, value);
    const bool more = stop != end && *stop == ',' && stop + 1 != end;
    if (error != std::errc() || (stop != end && !more))
      throw ParseError(fmt::format(
          "'{}' is not an element of the output; write an index per axis, as --at 3,7", text));
    at.push_back(value);
    from = more ? stop + 1 : stop;
  }
  return at;
}

std::string sum_of(const std::vector<ExplainedNode::Term>& terms) {
  std::vector<std::string> parts;
  for (const ExplainedNode::Term& t : terms)
    parts.push_back(fmt::format("{:.3g} {}", t.amount, t.what));
  return fmt::format("{}", fmt::join(parts, " + "));
}

nlohmann::ordered_json node_json(const ExplainedNode& node) {
  nlohmann::ordered_json out{{"text", node.text},
                             {"dtype", name(node.reference.dtype())},
                             {"reference", hex_bits(node.reference)},
                             {"value", node.reference.str()}};
  if (!node.exact.empty()) out["exact"] = node.exact;
  if (node.legal.number) out["legal"] = {hex_bits(node.legal.low), hex_bits(node.legal.high)};
  out["nan_is_legal"] = node.legal.nan || node.legal.any;
  if (node.legal.any) out["anything_is_legal"] = true;
  if (node.radius) {
    out["radius"] = *node.radius;
    for (const ExplainedNode::Term& t : node.terms)
      out["terms"].push_back({{"what", t.what}, {"amount", t.amount}});
  }
  return out;
}

void print_nodes(const std::vector<ExplainedNode>& nodes) {
  for (const ExplainedNode& node : nodes) {
    fmt::print("{}\n  reference  0x{} ({})\n", node.text, hex_bits(node.reference),
               node.reference.str());
    if (!node.exact.empty()) fmt::print("  exact      {}\n", node.exact);
    fmt::print("  legal      {}\n", node.legal.str());
    if (node.radius) fmt::print("  radius     {:.3g} = {}\n", *node.radius, sum_of(node.terms));
  }
}

// A kernel without variables, with the arrays of the options or the reproducer.
struct ExplainedRun {
  LazyOpPtr kernel;
  Judging judging;
  std::vector<HostArray> inputs;
  std::optional<HostArray> output;
};

ExplainedRun run_of(const ExplainOptions& options) {
  const KernelOrRun given = kernel_or_run(options, &options.output);
  if (given.run) return {given.run->run.concrete(), {}, given.run->run.inputs, given.run->output};
  const KernelToJudge file = with_values(given.kernel, options.variables);
  ExplainedRun run{file.ast, file.judging, read_arrays(file, options.inputs, 1), std::nullopt};
  if (!options.output.empty()) run.output = read_arrays(file, {options.output}, 0)[0];
  return run;
}

// The candidate's value there; nothing without an output.
std::optional<Scalar> candidate_of(const ExplainedRun& run, std::int64_t element) {
  if (!run.output) return std::nullopt;
  return Scalar::from_bits(run.output->dtype,
                           fuzz::bits_at(*run.output, static_cast<std::size_t>(element)));
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const std::optional<ChosenProfile> chosen = chosen_profile(options.profile);
  const ExplainedRun run = run_of(options);
  const Judging judging = run.judging.under(chosen);
  const RunBuffers buffers(nullptr, run.inputs);
  const std::vector<std::int64_t> at = parse_index(options.at);
  const std::int64_t element = element_at(run.kernel, at, judging);
  auto waiting = std::make_optional<Waiting>("explaining");
  const std::vector<ExplainedNode> nodes = explain(run.kernel, buffers.raw, at, judging);
  waiting.reset();
  const std::optional<Scalar> got = candidate_of(run, element);
  const bool legal = !got || nodes.back().legal.accepts(*got);
  if (options.json) {
    nlohmann::ordered_json out{
        {"at", at}, {"profile", judging.profile.name}, {"profile_from", judging.from}};
    for (const ExplainedNode& node : nodes) out["nodes"].push_back(node_json(node));
    if (got) out.update({{"candidate", hex_bits(*got)}, {"is_legal", legal}});
    fmt::print("{}\n", json_line(out));
  } else {
    print_nodes(nodes);
    if (got)
      fmt::print("candidate    0x{} ({}): {} {}\n", hex_bits(*got), got->str(),
                 legal ? "legal" : "not legal", judging.str());
  }
  return legal ? kExitOk : kExitNo;
}

}  // namespace touchstone::cli
