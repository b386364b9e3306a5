#include <charconv>

#include <fmt/format.h>

#include "answer_lines.h"
#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/symbolic/jsonl.h"
#include "touchstone/symbolic/node.h"
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

// "a=0..10", both ends inclusive and each of them optional.
std::pair<std::string, symbolic::Node> parse_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos) return {name, symbolic::variable(name, Bound(), Bound())};
  const std::string range = word.substr(equals + 1);
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) {
    const Bound value = parse_bound(range, word);
    return {name, symbolic::variable(name, value, value)};
  }
  return {name, symbolic::variable(name, parse_bound(std::string_view(range).substr(0, dots), word),
                                   parse_bound(std::string_view(range).substr(dots + 2), word))};
}

std::string bound_str(const Bound& bound, std::string_view open) {
  return bound ? fmt::format("{}", *bound) : std::string(open);
}

int run_jsonl() {
  constexpr std::size_t kKept = std::size_t{64} << 20;  // bytes
  std::optional<symbolic::Context> scratch(std::in_place);
  answer_lines("simplify", [&](std::string_view line) {
    if (scratch->bytes() > kKept) scratch.emplace();
    return symbolic::answer_json(line, *scratch);
  });
  return kExitOk;
}

}  // namespace

int run_simplify(const SimplifyOptions& options) {
  if (options.jsonl != options.expression.empty() || (options.jsonl && !options.variables.empty()))
    throw ParseError("simplify: give an expression, or --jsonl and nothing else");
  if (options.jsonl) return run_jsonl();
  std::map<std::string, symbolic::Node> names;
  for (const std::string& word : options.variables) names.insert(parse_variable(word));
  const symbolic::Node node = symbolic::parse(options.expression, names);
  fmt::print("{}\n", symbolic::render(node));
  fmt::print("{}\n", dim(fmt::format("in [{}, {}], size {}", bound_str(node.min(), "-inf"),
                                     bound_str(node.max(), "inf"), symbolic::size(node))));
  return kExitOk;
}

}  // namespace touchstone::cli
