#include "touchstone/interp/oracle/blame.h"

#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/checked.h"
#include "touchstone/base/counted.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/files/array_file.h"
#include "touchstone/fuzz/judge/reproducer.h"

namespace touchstone::cli {
namespace {

struct Case {
  LazyOpPtr kernel;
  Judging judging;
  std::vector<HostArray> inputs;
};

Case read_case(const BlameOptions& options) {
  if (options.file.empty() == options.op.empty())
    throw ParseError("give a kernel.json, a reproducer, or a kernel as --op 'softmax(x[64,128])'");
  const auto require = [&](const KernelFile& kernel) {
    require_feasible(kernel, options.verdict, Sampling(), "--verdict-timeout, --verdict-memory");
  };
  const std::string text = options.op.empty() ? read_file(options.file) : std::string();
  if (options.op.empty() && fuzz::is_reproducer(text)) {
    if (!options.inputs.empty())
      throw ParseError(
          fmt::format("{} is a reproducer and contains its own inputs; omit --in", options.file));
    fuzz::Reproducer reproducer = parse_reproducer(options.file, text);
    require(kernel_file(reproducer.run.concrete()));
    return {reproducer.run.kernel, {}, std::move(reproducer.run.inputs)};
  }
  const KernelToJudge file =
      with_values(options.op.empty() ? parse_kernel(options.file, text)
                                     : kernel_of_text(options.op, options.inputs),
                  options.variables);
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

// A prefix may use only some inputs; those are numbered from 1.
BufferPtr answered(foreign::BackendProcess& backend, const LazyOpPtr& prefix,
                   const std::vector<HostArray>& inputs, Device& host) {
  std::vector<HostArray> read;
  std::map<int, int> numbers;
  for (const BufferSpec& spec : buffers_of(prefix))
    if (spec.idx > 0) {
      read.push_back(inputs.at(static_cast<std::size_t>(spec.idx) - 1));
      numbers[spec.idx] = static_cast<int>(read.size());
    }
  const LazyOpPtr asked =
      rebuild(prefix, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
        if (!is_load(node->op())) return with_src(node, src);
        MemBuffer b = node->buffer();
        b.idx = numbers.at(b.idx);
        return LazyOp::make(node->op(), src, std::move(b));
      });
  const foreign::Answer answer = backend.run(kernel_file(asked), read);
  if (answer.kind != foreign::Answer::Kind::Output)
    throw BufferError(
        fmt::format("the backend returned no output for the kernel that ends in {} {}: {}",
                    name(prefix->src()[0]->op()), name(prefix->dtype()), visible(answer.why)));
  return to_buffer(host, answer.output);
}

int search(const BlameOptions& options) {
  Device& host = Device::get("CPU");
  const Case c = read_case(options);
  const Numbered nodes(c.kernel);
  if (options.nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const nlohmann::ordered_json row{{"node", i}, {"text", nodes.text(nodes[i])}};
      fmt::print("{}\n", options.json ? row.dump() : nodes.text(nodes[i]));
    }
    return kExitOk;
  }
  const bool foreign = !options.backend.command.empty() || !options.backend.plugin.empty();
  if (foreign == !options.held.empty())
    throw ParseError(
        "no backend given: name one with --backend or --plugin, or give its values at nodes with "
        "--held");
  std::vector<BufferPtr> buffers{nullptr};
  for (const HostArray& input : c.inputs) buffers.push_back(to_buffer(host, input));
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());

  Blame found;
  Judging judging;
  auto waiting = std::make_optional<Waiting>("searching for the node");
  if (foreign) {
    const std::unique_ptr<foreign::BackendProcess> backend = start_backend(options.backend);
    judging = c.judging.under(chosen_profile(options.profile, &backend->capabilities()));
    found = blame_by_prefixes(
        c.kernel, raw,
        [&](const LazyOpPtr& prefix) { return answered(*backend, prefix, c.inputs, host); },
        judging.profile);
  } else {
    judging = c.judging.under(chosen_profile(options.profile));
    const std::map<const LazyOp*, BufferPtr> held = read_held(options.held, nodes, host);
    found = blame(
        c.kernel, raw,
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
    fmt::print("{}\n", out.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace));
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
  if (done_within(options.verdict, [&] { code = search(options); })) return code;
  throw SystemError(over_time(options.verdict, "--verdict-timeout"));
}

}  // namespace touchstone::cli
