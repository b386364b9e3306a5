// The operations of suites and kernels, as a table.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/suggest.h"
#include "touchstone/cli/judging/definition_text.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/interp/oracle/semantics.h"

namespace touchstone::cli {
namespace {

// The results of an operation for some types.
struct OpResult {
  std::string types;
  std::string_view rule, examples;
};

// Types with the same rule are merged unless examples matter.
std::vector<OpResult> results_of(Op op, bool merged = false) {
  std::vector<OpResult> results;
  if (op == Op::Cast) {
    for (const CastCell& c : cast_table())
      results.push_back(
          {fmt::format("{} to {}", classes_text(c.from), classes_text(c.to)), c.rule, c.examples});
    return results;
  }
  TypeClasses classes = 0;
  for (const SemanticsCell& c : semantics_table()) {
    if (c.op != op) continue;
    const bool joins = merged && !results.empty() && results.back().rule == c.rule;
    if (joins) results.pop_back();
    classes = joins ? static_cast<TypeClasses>(classes | c.classes) : c.classes;
    results.push_back({classes_text(classes), c.rule, c.examples});
  }
  return results;
}

void print_op_table(const std::vector<Op>& ops) {
  Table table({"op", "operands", "types", "result"}, {false, true, false, false});
  for (const Op op : ops) {
    bool first = true;
    for (const OpResult& r : results_of(op, true)) {
      table.add({first ? lower_name(op) : "", first ? fmt::format("{}", info(op).arity) : "",
                 r.types, std::string(r.rule)});
      first = false;
    }
  }
  fmt::print("{}", table.fitted());
  std::vector<std::string> others;
  for (const OpInfo& row : op_table)
    if (!is_elementwise(row.op) && !is_reduce(row.op)) others.push_back(lower_name(row.op));
  fmt::print(
      "Reduces take the terms of their axes as operands. These compute nothing: {}\n\n"
      "Functions and composites, which formulas name:\n{}"
      "`touchstone ops NAME` shows examples, signatures and forms.\n",
      fmt::join(others, " "), definition_names());
}

void print_op_json(Op op) {
  nlohmann::ordered_json row = {{"op", lower_name(op)},
                                {"operands", info(op).arity},
                                {"commutes", info(op).commutes},
                                {"results", nlohmann::ordered_json::array()}};
  for (const OpResult& r : results_of(op))
    row["results"].push_back({{"types", r.types}, {"rule", r.rule}, {"examples", r.examples}});
  fmt::print("{}\n", row.dump());
}

void print_one_op(Op op) {
  fmt::print("{}, {}{}\n", bold(lower_name(op)),
             is_reduce(op) ? "a reduce" : counted(info(op).arity, "operand"),
             info(op).commutes ? ", commutes" : "");
  for (const OpResult& r : results_of(op))
    fmt::print("  {}: {}\n      {}\n", r.types, r.rule, dim(r.examples));
}

}  // namespace

std::string lower_name(Op op) {
  std::string text(name(op));
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::vector<Op> computing_ops() {
  std::vector<Op> ops;
  for (const OpInfo& row : op_table)
    if (is_elementwise(row.op) || is_reduce(row.op)) ops.push_back(row.op);
  return ops;
}

Op computing_op(const std::string& word) {
  const std::vector<Op> all = computing_ops();
  const auto op = op_from_name(word);
  if (op && std::ranges::find(all, *op) != all.end()) return *op;
  std::vector<std::string> names;
  for (const Op known : all) names.push_back(lower_name(known));
  throw ParseError(
      fmt::format("{} '{}'{}; known: {}; `touchstone ops` describes them",
                  op ? "nothing is computed by the op" : "there is no operation", word,
                  did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end())),
                  fmt::join(names, " ")));
}

int run_ops(const OpsOptions& options) {
  std::vector<Op> ops;
  std::vector<const define::Definition*> definitions;
  for (const std::string& word : options.names) {
    const auto named = std::ranges::find(define::definitions(), word, &define::Definition::name);
    if (named != define::definitions().end()) definitions.push_back(&*named);
    const auto op = op_from_name(word);
    const std::vector<Op> known = computing_ops();
    if (op && std::ranges::find(known, *op) != known.end())
      ops.push_back(*op);
    else if (op)
      computing_op(word);  // throws
    else if (named == define::definitions().end())
      definitions.push_back(&define::definition(word));  // throws, or finds what libraries call it
  }
  const bool all = options.names.empty();
  if (all) ops = computing_ops();
  if (options.json) {
    for (const Op op : ops) print_op_json(op);
    for (const define::Definition* d : definitions) fmt::print("{}\n", definition_json(*d).dump());
  } else if (all) {
    print_op_table(ops);
  } else {
    for (const Op op : ops) print_one_op(op);
    for (const define::Definition* d : definitions) fmt::print("{}", definition_text(*d));
  }
  return kExitOk;
}

}  // namespace touchstone::cli
