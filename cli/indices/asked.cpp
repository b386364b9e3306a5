#include "touchstone/cli/indices/asked.h"

#include <fmt/format.h>

#include "touchstone/base/error.h"

namespace touchstone::cli {
namespace {

symbolic::End parse_bound(std::string_view text, const std::string& word) {
  if (text.empty()) return {};
  const bool minus = text.front() == '-';
  const std::string_view digits = text.substr(minus ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    throw ParseError(fmt::format(
        "--var {}: '{}' is not a whole number; write a=0..10, omit a bound to leave it open", word,
        text));
  return symbolic::Int::from_digits(text);
}

// "a=0..10": both ends inclusive and optional.
std::pair<std::string, symbolic::Interval> parse_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos) return {name, {}};
  const std::string range = word.substr(equals + 1);
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) {
    const symbolic::End value = parse_bound(range, word);
    return {name, {value, value}};
  }
  return {name,
          {parse_bound(std::string_view(range).substr(0, dots), word),
           parse_bound(std::string_view(range).substr(dots + 2), word)}};
}

}  // namespace

symbolic::Question asked_variables(const std::vector<std::string>& variables,
                                   const std::vector<std::string>& assumptions) {
  symbolic::Question question{{}, assumptions, ""};
  for (const std::string& word : variables) question.variables.push_back(parse_variable(word));
  return question;
}

symbolic::Translation asked_as_text(const std::string& expression, const std::string& from,
                                    const std::vector<std::string>& variables,
                                    const std::vector<std::string>& assumptions) {
  symbolic::Question question = asked_variables(variables, assumptions);
  question.text = expression;
  std::optional<symbolic::Language> language;
  if (!from.empty())
    language = symbolic::parse_language(from);
  else if ((language = symbolic::guess_language(expression)))
    fmt::print(stderr, "touchstone: read as {}; --from says another language\n",
               info(*language).name);
  if (!language) return translate(question, symbolic::Language::Touchstone);
  symbolic::Translation r = translate(question, *language);
  for (const std::string& note : r.notes) fmt::print(stderr, "touchstone: {}\n", note);
  return r;
}

}  // namespace touchstone::cli
