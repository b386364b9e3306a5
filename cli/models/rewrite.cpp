// Every rewrite of a graph on its way to kernels, as text or a page.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "touchstone/base/file.h"
#include "touchstone/cli/models/model_graph.h"
#include "touchstone/cli/models/program_kernels.h"
#include "touchstone/cli/models/rewrite_record.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/cases/uop_program.h"
#include "touchstone/kernelize/kernelize.h"

namespace touchstone::cli {
namespace {

// A recording with its title.
struct Recorded {
  std::string title;
  RewriteRecord record;
};

std::string origin_of(const UOp& assign) {
  std::string text;
  for (const UOpOrigin& o : assign.src(1).arg_as<UOpKernelPtr>()->metadata)
    text += (text.empty() ? "" : ", ") + o.name + " " + o.caller;
  return text;
}

// Statements become the nodes' origins.
void record_program(Recorded& out, const std::string& text) {
  const fuzz::UOpProgram program = fuzz::UOpProgram::parse(text);
  const std::vector<std::string_view> statements = fuzz::split(text, ';');
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    const std::string_view statement = statements[i];
    const std::size_t begin = std::min(statement.find_first_not_of(" \n"), statement.size());
    const std::string_view word = statement.substr(begin, statement.find(' ', begin) - begin);
    const UOpOrigin origin{std::string(word), fmt::format("%{}", i)};
    program.values[i].add_metadata(std::vector{origin});
  }
  out.title = text.size() < 90 ? text : text.substr(0, 87) + "...";
  const RecorderScope scope(out.record);
  const RewriteMap map = kernelize_graph(program.sink);
  for (const UOp& assign : order_of_kernels(result_of(map, program.sink))) {
    if (assign.src(1).arg_as<UOpKernelPtr>()->ast.op() != GraphOp::Sink) continue;
    out.record.kernels.push_back({lower_kernel(assign).ast, origin_of(assign)});
  }
}

void record_model(Recorded& out, const models::Model& model, bool backward) {
  const models::ModelGraph graph = model.build("CLANG", backward);
  realize(graph.leaves());
  out.title = fmt::format("{}{}: {}", model.name, backward ? " with gradients" : "", model.what);
  const std::vector<LazyBufferPtr> outputs = graph.results(backward);
  const RecorderScope scope(out.record);
  const std::vector<ScheduleItem> items = schedule(outputs);
  if (out.record.passes.empty()) return;  // nothing to compute
  // Items are the kernels in order, then copies of outputs that are views.
  const std::vector<UOp> nodes = out.record.nodes();
  const std::vector<UOp> kernels = order_of_kernels(nodes[out.record.passes.back().end]);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].kind == Op::Store)
      out.record.kernels.push_back({items[i].ast, i < kernels.size() ? origin_of(kernels[i]) : ""});
}

std::size_t nodes_below(const UOp& root) { return root.toposort().size(); }

void print(const Recorded& recorded) {
  const RewriteRecord& record = recorded.record;
  const std::vector<UOp> nodes = record.nodes();
  std::size_t all = 0;
  fmt::print("{}\n", bold(recorded.title));
  for (const RewriteRecord::Pass& pass : record.passes) {
    fmt::print("\n{}: {}, {} nodes become {}\n", bold(pass.name),
               counted(pass.matches.size(), "match"), nodes_below(nodes[pass.start]),
               nodes_below(nodes[pass.end]));
    std::map<std::size_t, std::size_t> uses;
    std::size_t wide = 0;
    for (const RewriteRecord::Match& m : pass.matches) {
      wide = std::max(wide, record.rules[m.rule].name.size());
      ++uses[m.rule];
    }
    for (const RewriteRecord::Match& m : pass.matches) {
      const std::string origin = record.origin(m.before);
      fmt::print("  {:<{}}  {} -> {}{}\n", record.rules[m.rule].name, wide, nodes[m.before].line(),
                 nodes[m.after].line(), origin.empty() ? "" : dim("  of " + origin));
    }
    for (const auto& [rule, count] : uses)
      fmt::print("  {:>5} {}\n", count, record.rules[rule].name);
    all += pass.matches.size();
  }
  fmt::print("\n{}, {}, {}\n", counted(record.passes.size(), "pass"), counted(all, "match"),
             counted(record.kernels.size(), "kernel"));
}

}  // namespace

int run_rewrite(const RewritingOptions& options) {
  if (options.model.empty() == options.program.empty())
    throw ParseError("give a model, or a program with --program");
  Config config = Config::from_environment();
  config.scheduler = scheduler_named(options.scheduler.empty() ? "kernelize" : options.scheduler);
  const ConfigScope scope(config);
  Recorded recorded;
  if (options.model.empty())
    record_program(recorded, program_text(options.program));
  else
    record_model(recorded, models::model(options.model), options.backward);
  if (options.html.empty()) {
    print(recorded);
    return kExitOk;
  }
  const std::string page =
      rewrite_html(recorded.title, recorded.record, static_cast<std::size_t>(options.graphs));
  deliver(options.html, page);
  if (options.html != "-")
    fmt::print("{}: {}, {}, {} bytes\n", options.html,
               counted(recorded.record.passes.size(), "pass"),
               counted(recorded.record.kernels.size(), "kernel"), page.size());
  return kExitOk;
}

std::size_t RewriteRecord::add(const UOp& node) {
  if (const std::size_t* known = numbers_.find(node)) return *known;
  for (const UOp& u : node.toposort([&](const UOp& u) { return !numbers_.has(u); })) {
    numbers_.set(u, numbers_.size());
    const auto metadata = u.metadata();
    origins_.push_back(metadata == nullptr ? UOpMetadata() : *metadata);
  }
  return *numbers_.find(node);
}

// A replacement and the new nodes below it inherit the node's origin.
void RewriteRecord::follow(const UOp& before, const UOp& after) {
  const UOpMetadata from = origins_[add(before)];
  const std::size_t known = origins_.size(), number = add(after);
  for (std::size_t i = known; i < origins_.size(); ++i)
    if (origins_[i].empty()) origins_[i] = from;
  UOpMetadata& to = origins_[number];
  for (const UOpOrigin& o : from)
    if (std::ranges::find(to, o) == to.end()) to.push_back(o);
}

void RewriteRecord::begins(std::string_view pass, const UOp& sink) {
  open_.push_back(passes.size());
  const std::size_t root = add(sink);
  passes.push_back({std::string(pass), root, root, {}});
}

void RewriteRecord::ends(std::string_view /*pass*/, const UOp& sink) {
  passes[open_.back()].end = add(sink);
  open_.pop_back();
}

void RewriteRecord::rewrote(const RewriteRule& rule, const UOp& before, const UOp& after) {
  if (open_.empty()) return;
  const auto known = std::ranges::find_if(
      rules, [&](const UsedRule& r) { return r.name == rule.name && r.why == rule.why; });
  const auto number = static_cast<std::size_t>(known - rules.begin());
  if (known == rules.end()) rules.push_back({rule.name, rule.why});
  follow(before, after);
  passes[open_.back()].matches.push_back({number, add(before), add(after)});
}

void RewriteRecord::rebuilt(const UOp& before, const UOp& after) { follow(before, after); }

std::vector<UOp> RewriteRecord::nodes() const {
  std::vector<UOp> all;
  for (const auto& entry : numbers_) all.push_back(entry.first);
  return all;
}

std::string RewriteRecord::origin(std::size_t node) const {
  constexpr std::size_t kMost = 4;
  const UOpMetadata& of = origins_[node];
  std::string text;
  for (std::size_t i = 0; i < std::min(of.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + of[i].name + (of[i].caller.empty() ? "" : " " + of[i].caller);
  if (of.size() > kMost) text += fmt::format(" and {} more", of.size() - kMost);
  return text;
}

}  // namespace touchstone::cli
