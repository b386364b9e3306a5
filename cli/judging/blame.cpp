#include "touchstone/interp/oracle/blame.h"

#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/checked.h"
#include "touchstone/base/counted.h"
#include "touchstone/base/error.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/files/array_file.h"

namespace touchstone::cli {
namespace {

struct Case {
  LazyOpPtr kernel;
  Judging judging;
  std::vector<HostArray> inputs;
};

Case read_case(const BlameOptions& options) {
  const auto require = [&](const KernelFile& kernel) {
    require_feasible(kernel, options.limits, Sampling(), "--verdict-timeout, --verdict-memory");
  };
  const KernelOrRun given = kernel_or_run(options);
  if (given.run) {
    require(kernel_file(given.run->run.concrete()));
    return {given.run->run.kernel, {}, given.run->run.inputs};
  }
  const KernelToJudge file = with_values(given.kernel, options.variables);
  if (options.nodes) return {file.ast, {}, {}};
  require(file);
  return {file.ast, file.judging, read_arrays(file, options.inputs, 1)};
}

// Numbers a kernel's nodes as kernel.json does; the STORE has none.
class Numbered {
 public:
  explicit Numbered(const LazyOpPtr& kernel) : nodes_(toposort(kernel)) {
    nodes_.pop_back();
    for (std::size_t i = 0; i < nodes_.size(); ++i) numbers_[nodes_[i].get()] = i;
  }
  std::size_t size() const { return nodes_.size(); }
  const LazyOpPtr& operator[](std::size_t i) const { return nodes_[i]; }
  std::size_t number(const LazyOpPtr& node) const { return numbers_.at(node.get()); }

  // "%2 = MUL(%0, %1) float32 (3, 4)"
  std::string text(const LazyOpPtr& node) const {
    std::vector<std::string> operands, sizes;
    for (const LazyOpPtr& s : node->src()) operands.push_back(fmt::format("%{}", number(s)));
    if (const auto* b = std::get_if<MemBuffer>(&node->arg()))
      operands.push_back(fmt::format("buffer {}", b->idx));
    if (const auto* c = std::get_if<ConstBuffer>(&node->arg())) operands.push_back(c->value.str());
    for (const sint& s : node->shape()) sizes.push_back(std::to_string(s.as_int()));
    return fmt::format("%{} = {}({}) {} ({})", number(node), name(node->op()),
                       fmt::join(operands, ", "), name(node->dtype()), fmt::join(sizes, ", "));
  }

 private:
  std::vector<LazyOpPtr> nodes_;
  std::map<const LazyOp*, std::size_t> numbers_;
};

// "4=exp.npy": the candidate's value of node 4.
std::map<const LazyOp*, BufferPtr> read_held(const std::vector<std::string>& words,
                                             const Numbered& nodes, Device& host) {
  std::map<const LazyOp*, BufferPtr> held;
  for (const std::string& word : words) {
    std::size_t number = 0;
    const char* from = word.data() + (word.starts_with('%') ? 1 : 0);
    const auto [stop, error] = std::from_chars(from, word.data() + word.size(), number);
    if (error != std::errc() || *stop != '=' || stop[1] == '\0')
      throw ParseError(
          fmt::format("'{}' is incomplete; write NODE=FILE.npy, as --held 4=exp.npy", word));
    if (number >= nodes.size())
      throw ParseError(fmt::format("'{}': the kernel has nodes %0 to %{}; --nodes lists them", word,
                                   nodes.size() - 1));
    const LazyOpPtr& node = nodes[number];
    const std::string path = stop + 1;
    const HostArray array = read_array(path, [&](const ArrayLayout& at) {
      std::int64_t size = 1;
      for (const sint& s : node->shape()) size = checked_mul(size, s.as_int());
      if (at.dtype != node->dtype() || at.size() != size)
        throw ParseError(fmt::format("{} contains {} of {}, node {}", path,
                                     counted(at.size(), "element"), name(at.dtype),
                                     nodes.text(node)));
      return size;
    });
    held[node.get()] = to_buffer(host, array);
  }
  return held;
}

BufferPtr answered(foreign::BackendProcess& backend, const LazyOpPtr& prefix,
                   const std::vector<HostArray>& inputs, Device& host) {
  const auto [asked, numbers] = renumbered(prefix);
  std::vector<HostArray> read;
  for (const int number : numbers) read.push_back(inputs.at(static_cast<std::size_t>(number) - 1));
  const foreign::Answer answer = backend.run(kernel_file(asked), read);
  if (answer.kind != foreign::Answer::Kind::Output)
    throw BufferError(
        fmt::format("the backend returned no output for the kernel that ends in {} {}: {}",
                    name(prefix->src()[0]->op()), name(prefix->dtype()), visible(answer.why)));
  return to_buffer(host, answer.output);
}

int search(const BlameOptions& options) {
  Device& host = Device::get("CPU");
  Case c = read_case(options);
  const bool foreign = !options.backend.command.empty() || !options.backend.plugin.empty();
  const auto backend = foreign && !options.nodes ? start_backend(options.backend) : nullptr;
  const Judging judging = c.judging.under(
      chosen_profile(options.profile, backend ? &backend->capabilities() : nullptr));
  c.kernel = in_stages(c.kernel, judging);
  const Numbered nodes(c.kernel);
  if (options.nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const nlohmann::ordered_json row{{"node", i}, {"text", nodes.text(nodes[i])}};
      fmt::print("{}\n", options.json ? row.dump() : nodes.text(nodes[i]));
    }
    return kExitOk;
  }
  if (foreign == !options.held.empty())
    throw ParseError(
        "no backend given: name one with --backend or --plugin, or give its values at nodes with "
        "--held");
  const RunBuffers buffers(nullptr, c.inputs);
  Blame found;
  auto waiting = std::make_optional<Waiting>("searching for the node");
  if (foreign) {
    found = blame_by_prefixes(
        c.kernel, buffers.raw,
        [&](const LazyOpPtr& prefix) { return answered(*backend, prefix, c.inputs, host); },
        judging.profile);
  } else {
    const std::map<const LazyOp*, BufferPtr> held = read_held(options.held, nodes, host);
    found = blame(
        c.kernel, buffers.raw,
        [&](const LazyOpPtr& node) {
          const auto at = held.find(node.get());
          return at == held.end() ? nullptr : at->second.get();
        },
        judging.profile);
  }
  waiting.reset();
  if (options.json) {
    nlohmann::ordered_json out{{"node", nullptr}, {"runs", found.runs}};
    if (found.node != nullptr) {
      out["node"] = nodes.number(found.node);
      out["text"] = nodes.text(found.node);
      out["verdict"] = nlohmann::ordered_json::parse(json_of(found.verdict, c.kernel, judging));
    }
    fmt::print("{}\n", ascii_json_line(out));
  } else if (found.node == nullptr) {
    fmt::print("no node is wrong {}\n", visible(judging.str()));
  } else {
    fmt::print("{}\n{}\n", nodes.text(found.node), visible(judging.str(found.verdict)));
    if (found.runs > 0)
      fmt::print("its operands are legal; found in {} of the backend\n",
                 counted(found.runs, "run"));
  }
  return found.node == nullptr ? kExitOk : kExitNo;
}

}  // namespace

int run_blame(const BlameOptions& options) {
  int code = kExitBad;
  if (done_within(options.limits, [&] { code = search(options); })) return code;
  throw SystemError(over_time(options.limits, "--verdict-timeout"));
}

}  // namespace touchstone::cli
