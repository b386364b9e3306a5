#include "touchstone/symbolic/certificate/certify.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/certificate/certificate_json.h"
#include "touchstone/symbolic/certificate/step_words.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/derive/derive.h"

namespace touchstone::symbolic {
namespace {

using Json = nlohmann::ordered_json;

std::string unexplained(const Flaw& flaw, const Derivation& d) {
  return "no law explains " +
         (flaw.chain < d.assumptions.size()
              ? "a step of an assumption"
              : fmt::format("step {} of {}", flaw.step + 1, d.main.steps.size()));
}

/// Retries the refused step with all facts that hold there, then by testing all points; false after
/// both.
bool show_otherwise(Derivation& d, const Flaw& flaw) {
  const std::size_t known = std::min(flaw.chain, d.assumptions.size());
  Chain& chain = known < d.assumptions.size() ? d.assumptions[known] : d.main;
  if (flaw.step >= chain.steps.size()) return false;
  DerivationStep& step = chain.steps[flaw.step];
  if (step.rule == kUnexplained) return false;
  const Expr whole = flaw.step == 0 ? chain.start : chain.steps[flaw.step - 1].whole;
  std::vector<Expr> all = facts_at(d, known, whole, step.path);
  if (step.facts == all) {
    if (step.rule != kCases) return false;
    step.rule = kPoints;
  }
  step.facts = std::move(all);
  return true;
}

std::string text_member(const Json& j, const char* name) {
  if (!j.contains(name) || !j[name].is_string())
    throw ParseError(fmt::format("not a certificate: \"{}\" must be a string", name));
  std::string words = j[name];
  for (char& c : words)  // keep a message on one line
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return words;
}

}  // namespace

Derivation derive(const Question& question) {
  return derive(question.text, question.variables, question.assumptions);
}

Certified certify(const Question& question) {
  Certified c{derive(question), ""};
  // A step that passes alone may fail in the whole, where the checker visits other parts first and
  // may exhaust its budget on them.
  for (;;) {
    auto flaw = find_flaw(c.derivation);
    if (!flaw) {
      Derivation read = derivation_of_json(certificate_line(c.derivation));
      flaw = find_flaw(read);
    }
    if (!flaw) return c;
    if (show_otherwise(c.derivation, *flaw)) continue;
    c.missing = unexplained(*flaw, c.derivation);
    return c;
  }
}

std::string claim_of(const Derivation& d) {
  std::string claim =
      fmt::format("{} = {}", render(d.exprs, d.main.start), render(d.exprs, d.main.result));
  std::vector<std::string> where = bounds_words(d);
  for (const Chain& a : d.assumptions) where.push_back(render(d.exprs, a.start));
  if (!where.empty()) claim += fmt::format(" where {}", fmt::join(where, ", "));
  return claim;
}

CertificateCheck check_certificate(std::string_view json) {
  using Outcome = CertificateCheck::Outcome;
  const Json j = certificate_json(json);
  if (j.contains("error")) return {Outcome::Error, "", text_member(j, "error")};
  const bool answer = j.contains("certificate");
  if (answer && j["certificate"].is_null())
    return {Outcome::Missing, "", text_member(j, "uncertified")};
  Derivation d = derivation_of_json(answer ? j["certificate"] : j);
  const auto flaw = find_flaw(d);
  std::string wrong = flaw ? derivation_verdict(d, flaw) : "";
  const std::string out = answer ? text_member(j, "out") : "";
  if (answer && wrong.empty() && parse_expr(d.exprs, out) != d.main.result)
    wrong = fmt::format("the answer is {}", out);
  return {wrong.empty() ? Outcome::Right : Outcome::Wrong, claim_of(d), wrong};
}

}  // namespace touchstone::symbolic
