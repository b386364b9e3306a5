#include <charconv>

#include <fmt/format.h>

#include "answer_lines.h"
#include "derivation_view.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/symbolic/derive.h"
#include "touchstone/symbolic/jsonl.h"
#include "touchstone/symbolic/node.h"
#include "touchstone/symbolic/question.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

using Bound = std::optional<std::int64_t>;

Bound parse_bound(std::string_view text, const std::string& word) {
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw ParseError(
        fmt::format("--var {}: '{}' is not a number that fits in 64 bits; write a=0..10, an end "
                    "left out is open",
                    word, text));
  return value;
}

struct Variable {
  std::string name;
  Bound min, max;
};

// "a=0..10", both ends inclusive and each of them optional.
Variable parse_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos) return {name, {}, {}};
  const std::string range = word.substr(equals + 1);
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) {
    const Bound value = parse_bound(range, word);
    return {name, value, value};
  }
  return {name, parse_bound(std::string_view(range).substr(0, dots), word),
          parse_bound(std::string_view(range).substr(dots + 2), word)};
}

std::string bound_str(const Bound& bound, std::string_view open) {
  return bound ? fmt::format("{}", *bound) : std::string(open);
}

int run_jsonl() {
  symbolic::Session session;
  answer_lines("simplify",
               [&](std::string_view line) { return symbolic::answer_json(line, session); });
  return kExitOk;
}

int show_steps(const SimplifyOptions& options, const std::vector<Variable>& variables) {
  std::vector<symbolic::Derivation::Variable> bounded;
  const auto end = [](const Bound& b) {
    return b ? std::optional<symbolic::Int>(*b) : std::nullopt;
  };
  for (const Variable& v : variables) bounded.push_back({v.name, end(v.min), end(v.max)});
  symbolic::Derivation d = symbolic::derive(options.expression, bounded, options.assumptions);
  const auto flaw = symbolic::find_flaw(d);
  const std::string& format = options.format;
  fmt::print("{}", format == "json"    ? derivation_json(d)
                   : format == "html"  ? derivation_html(d, flaw)
                   : format == "latex" ? derivation_latex(d)
                                       : derivation_text(d, flaw));
  return kExitOk;
}

int run_replay(const std::string& path) {
  symbolic::Derivation d = derivation_of_json(read_file(path));
  const auto flaw = symbolic::find_flaw(d);
  for (const std::string& b : bounds_words(d)) fmt::print("{}\n", dim(b));
  for (const symbolic::Chain& a : d.assumptions)
    fmt::print("{}\n", dim("given " + render(d.exprs, a.start)));
  fmt::print("{} = {}\n", render(d.exprs, d.main.start), render(d.exprs, d.main.result));
  fmt::print("{}\n", flaw ? red(verdict(d, flaw)) : green(verdict(d, flaw)));
  return flaw ? kExitNo : kExitOk;
}

}  // namespace

int run_simplify(const SimplifyOptions& options) {
  const bool question = !options.expression.empty();
  if (question + options.jsonl + options.replay.has_value() != 1)
    throw ParseError("simplify: give an expression, or --replay, or --jsonl");
  if (!question && (!options.variables.empty() || !options.assumptions.empty() || options.steps ||
                    !options.format.empty()))
    throw ParseError("simplify: --var, --assume, --steps and --format go with an expression");
  if (options.jsonl) return run_jsonl();
  if (options.replay) return run_replay(*options.replay);
  std::vector<Variable> variables;
  std::map<std::string, symbolic::Node> names;
  for (const std::string& word : options.variables) {
    const Variable v = parse_variable(word);
    if (!names.emplace(v.name, symbolic::variable(v.name, v.min, v.max)).second)
      throw ParseError(fmt::format("--var {}: the variable is there twice", word));
    variables.push_back(v);
  }
  if (options.steps || !options.format.empty()) return show_steps(options, variables);
  std::vector<symbolic::Node> assumptions;
  for (const std::string& text : options.assumptions) {
    assumptions.push_back(symbolic::parse(text, names));
    if (assumptions.back() == symbolic::Node(0))
      throw ParseError(fmt::format("--assume {}: never holds; leave it out or mend it", text));
  }
  const symbolic::Node node =
      symbolic::given(symbolic::parse(options.expression, names), assumptions);
  std::size_t size = symbolic::size(node);
  fmt::print("{}\n",
             symbolic::shorter(options.expression, size, [&] { return symbolic::render(node); }));
  fmt::print("{}\n", dim(fmt::format("in [{}, {}], size {}", bound_str(node.min(), "-inf"),
                                     bound_str(node.max(), "inf"), size)));
  return kExitOk;
}

}  // namespace touchstone::cli
