#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/json_line.h"
#include "touchstone/cli/indices/asked.h"
#include "touchstone/cli/indices/derivation_view.h"
#include "touchstone/cli/program/answer_lines.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/decide/decide.h"
#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/node/node.h"
#include "touchstone/symbolic/notation/jsonl.h"
#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::cli {
namespace {

/// The additional members of a certified answer.
std::string certificate_members(const symbolic::Question& question) {
  const auto none = [](std::string_view why) {
    return fmt::format(",\"certificate\":null,\"uncertified\":{}", nlohmann::json(why).dump());
  };
  try {
    const symbolic::Certified c = symbolic::certify(question);
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
  const std::string members = json_line(j);
  return "," + members.substr(1, members.size() - 2);
}

int run_jsonl(const SimplifyOptions& options) {
  symbolic::Session session;
  decide::Decider decider = decider_of(options);
  const auto answered = [&](const symbolic::Question& question) -> symbolic::Answered {
    symbolic::Answer a = session.answer(question);
    if (options.certify) return {std::move(a), certificate_members(question)};
    if (!options.decide) return {std::move(a), ""};
    if (!decide::is_claim(question.text)) return {decider.simplify(question), ""};
    const prove::Proof proof = decider.decide(question);
    if (proof.verdict == prove::Verdict::Proved) a = {"1", 1, symbolic::Interval::point(1), a.ns};
    return {std::move(a), decision_members(proof)};
  };
  return answer_lines("simplify",
                      [&](std::string_view line) { return symbolic::answer_json(line, answered); });
}

// Names as the text has them, if the answer is in its language.
std::string in_language(const std::string& text, const symbolic::Question& question,
                        const symbolic::Translation& translation, const std::string& name) {
  const symbolic::Language to = symbolic::parse_language(name);
  return symbolic::written(
      text, question, to,
      to == translation.language ? translation.spelled : std::map<std::string, std::string>());
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
  if (options.jsonl) return run_jsonl(options);
  if (options.replay) return run_replay(*options.replay);
  const symbolic::Translation translation =
      asked_as_text(options.expression, options.from, options.variables, options.assumptions);
  if (options.certify || options.steps || !options.format.empty() || !options.html.empty()) {
    if (translation.questions.size() > 1)
      throw ParseError("simplify: --certify and --steps take one result; the text has several");
    return options.certify ? show_certificate(translation.questions[0])
                           : show_steps(options, translation.questions[0]);
  }
  int code = kExitOk;
  for (const symbolic::Question& question : translation.questions) {
    symbolic::Context scratch;
    symbolic::Answer a = symbolic::answer(question, scratch);
    if (options.decide) {
      decide::Decider decider = decider_of(options);
      if (decide::is_claim(question.text)) {
        const prove::Proof proof = decider.decide(question);
        fmt::print("{}\n", decide::words_of(proof));
        code = std::max(code, proof.verdict == prove::Verdict::Proved    ? kExitOk
                              : proof.verdict == prove::Verdict::Refuted ? kExitNo
                                                                         : kExitWeak);
        continue;
      }
      a = decider.simplify(question);
    }
    const std::string text =
        options.to.empty() ? a.text : in_language(a.text, question, translation, options.to);
    fmt::print("{}\n{}\n", text, dim(symbolic::range_and_size(a)));
  }
  return code;
}

}  // namespace touchstone::cli
