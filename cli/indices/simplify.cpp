#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/cli/indices/derivation_view.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/node/node.h"
#include "touchstone/symbolic/notation/jsonl.h"
#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::cli {
namespace {

using symbolic::Int;

symbolic::End parse_bound(std::string_view text, const std::string& word) {
  if (text.empty()) return {};
  const bool minus = text.front() == '-';
  const std::string_view digits = text.substr(minus ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    throw ParseError(fmt::format(
        "--var {}: '{}' is not a whole number; write a=0..10, omit a bound to leave it open", word,
        text));
  return Int::from_digits(text);
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

symbolic::Question question_of(const SimplifyOptions& options) {
  symbolic::Question question{{}, options.assumptions, options.expression};
  for (const std::string& word : options.variables)
    question.variables.push_back(parse_variable(word));
  return question;
}

symbolic::Translation translation_of(const SimplifyOptions& options) {
  const symbolic::Question question = question_of(options);
  if (!options.from.empty()) return translate(question, symbolic::parse_language(options.from));
  const auto guess = symbolic::guess_language(question.text);
  if (!guess) return {{question}, {}, {}};
  fmt::print(stderr, "touchstone: read as {}; --from says another language\n", info(*guess).name);
  return translate(question, *guess);
}

/// The additional members of a certified answer.
std::string certificate_members(std::string_view line) {
  const auto none = [](std::string_view why) {
    return fmt::format(",\"certificate\":null,\"uncertified\":{}", nlohmann::json(why).dump());
  };
  try {
    const symbolic::Certified c = symbolic::certify(symbolic::read_question(line));
    if (!c.missing.empty()) return none(c.missing);
    return ",\"certificate\":" + certificate_line(c.derivation);
  } catch (const Error& e) {
    return none(e.what());
  }
}

int run_jsonl(bool certify) {
  symbolic::Session session;
  return answer_lines("simplify", [&](std::string_view line) {
    std::string answer = symbolic::answer_json(line, session);
    if (certify && answer.starts_with("{\"out\""))
      answer.insert(answer.size() - 1, certificate_members(line));
    return answer;
  });
}

int show_certificate(const symbolic::Question& question) {
  const symbolic::Certified c = symbolic::certify(question);
  if (c.missing.empty()) {
    fmt::print("{}\n", certificate_line(c.derivation));
    return kExitOk;
  }
  fmt::print(stderr, "no certificate: {}; --steps shows it\n", c.missing);
  return kExitNo;
}

int show_steps(const SimplifyOptions& options, const symbolic::Question& question) {
  symbolic::Derivation d = symbolic::derive(question);
  const auto flaw = symbolic::find_flaw(d);
  const std::string& format = options.format;
  if (!options.html.empty()) {
    deliver(options.html, derivation_html(d, flaw));
    if (options.html != "-") fmt::print("{} {}\n", dim("page"), options.html);
    return kExitOk;
  }
  fmt::print("{}", format == "json"    ? derivation_json(d)
                   : format == "html"  ? derivation_html(d, flaw)
                   : format == "latex" ? derivation_latex(d)
                                       : derivation_text(d, flaw));
  return kExitOk;
}

int run_replay(const std::string& path) {
  symbolic::Derivation d;
  try {
    d = derivation_of_json(read_file(path));
  } catch (const ParseError& e) {
    throw ParseError(fmt::format("{}: {}", path, e.what()));
  }
  const auto flaw = symbolic::find_flaw(d);
  for (const std::string& b : bounds_words(d)) fmt::print("{}\n", dim(b));
  for (const symbolic::Chain& a : d.assumptions)
    fmt::print("{}\n", dim("given " + render(d.exprs, a.start)));
  fmt::print("{} = {}\n", render(d.exprs, d.main.start), render(d.exprs, d.main.result));
  fmt::print("{}\n", flaw ? red(derivation_verdict(d, flaw)) : green(derivation_verdict(d, flaw)));
  return flaw ? kExitNo : kExitOk;
}

}  // namespace

int run_simplify(const SimplifyOptions& options) {
  const bool asked = !options.expression.empty();
  if (asked + options.jsonl + options.replay.has_value() != 1)
    throw ParseError("simplify: no expression given; give one, or --replay, or --jsonl");
  if (options.certify && options.replay)
    throw ParseError("simplify: --certify cannot be used with --replay");
  if (!asked && (!options.from.empty() || !options.to.empty() || !options.variables.empty() ||
                 !options.assumptions.empty() || options.steps || !options.format.empty() ||
                 !options.html.empty()))
    throw ParseError(
        "simplify: --var, --assume, --from, --to, --steps, --format and --html need an expression");
  if (options.jsonl) return run_jsonl(options.certify);
  if (options.replay) return run_replay(*options.replay);
  const symbolic::Translation translation = translation_of(options);
  for (const std::string& note : translation.notes) fmt::print(stderr, "touchstone: {}\n", note);
  if (options.certify || options.steps || !options.format.empty() || !options.html.empty()) {
    if (translation.questions.size() > 1)
      throw ParseError("simplify: --certify and --steps take one result; the text has several");
    return options.certify ? show_certificate(translation.questions[0])
                           : show_steps(options, translation.questions[0]);
  }
  for (const symbolic::Question& question : translation.questions) {
    symbolic::Context scratch;
    const symbolic::Answer a = symbolic::answer(question, scratch);
    const std::string text =
        options.to.empty()
            ? a.text
            : symbolic::written(a.text, question, symbolic::parse_language(options.to),
                                translation.spelled);
    fmt::print("{}\n{}\n", text, dim(symbolic::range_and_size(a)));
  }
  return kExitOk;
}

}  // namespace touchstone::cli
