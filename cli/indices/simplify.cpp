#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_line.h"
#include "touchstone/cli/indices/derivation_view.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/decide/decide.h"
#include "touchstone/symbolic/ask/jsonl.h"
#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/node/node.h"

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

decide::Decider decider_of(const SimplifyOptions& options) {
  return decide::Decider(options.effort ? decide::Work::of_effort(*options.effort)
                                        : decide::Work());
}

/// The additional members of the answer to a claim.
std::string decision_members(const prove::Proof& p) {
  using Json = nlohmann::ordered_json;
  Json j{
      {"decided", p.verdict == prove::Verdict::Unknown ? Json(nullptr)
                                                       : Json(p.verdict == prove::Verdict::Proved)},
      {"by", name_of(p.method)}};
  if (p.counterexample)
    for (const auto& [name, value] : p.counterexample->point) j["point"][name] = value.str();
  if (!p.certificate.empty()) j["certificate"] = p.certificate;
  if (!p.confirmed.empty()) j["confirmed"] = p.confirmed;
  if (p.verdict == prove::Verdict::Unknown) j["tried"] = p.tried;
  return "," + json_line(j).substr(1);
}

/// The answer with what the service decides.
std::string decided(std::string answer, std::string_view line, decide::Decider& decider) {
  try {
    const symbolic::Question question = symbolic::read_question(line);
    if (!decide::is_claim(question.text)) return symbolic::answer_json(decider.simplify(question));
    const prove::Proof proof = decider.decide(question);
    if (proof.verdict == prove::Verdict::Proved)
      answer = symbolic::answer_json({"1", 1, symbolic::Interval::point(1), 0});
    answer.pop_back();
    return answer + decision_members(proof);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& e) {
    return json_line(nlohmann::json{{"error", e.what()}});
  }
}

int run_jsonl(const SimplifyOptions& options) {
  symbolic::Session session;
  decide::Decider decider = decider_of(options);
  return answer_lines("simplify", [&](std::string_view line) {
    std::string answer = symbolic::answer_json(line, session);
    if (!answer.starts_with("{\"out\"")) return answer;
    if (options.decide) return decided(std::move(answer), line, decider);
    if (options.certify) answer.insert(answer.size() - 1, certificate_members(line));
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
  if (!asked && (!options.variables.empty() || !options.assumptions.empty() || options.steps ||
                 !options.format.empty() || !options.html.empty()))
    throw ParseError("simplify: --var, --assume, --steps, --format and --html need an expression");
  if (options.jsonl) return run_jsonl(options);
  if (options.replay) return run_replay(*options.replay);
  const symbolic::Question question = question_of(options);
  if (options.certify) return show_certificate(question);
  if (options.steps || !options.format.empty() || !options.html.empty())
    return show_steps(options, question);
  symbolic::Context scratch;
  symbolic::Answer a = symbolic::answer(question, scratch);
  if (options.decide) {
    decide::Decider decider = decider_of(options);
    if (decide::is_claim(question.text)) {
      const prove::Proof proof = decider.decide(question);
      fmt::print("{}\n", decide::words_of(proof));
      return proof.verdict == prove::Verdict::Proved    ? kExitOk
             : proof.verdict == prove::Verdict::Refuted ? kExitNo
                                                        : kExitWeak;
    }
    a = decider.simplify(question);
  }
  fmt::print("{}\n{}\n", a.text, dim(symbolic::range_and_size(a)));
  return kExitOk;
}

}  // namespace touchstone::cli
