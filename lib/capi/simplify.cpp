#include <algorithm>
#include <cstring>
#include <memory>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/capi/guard.h"
#include "touchstone/decide/decide.h"
#include "touchstone/maps/check.h"
#include "touchstone/symbolic/ask/session.h"
#include "touchstone/symbolic/certificate/certificate_json.h"
#include "touchstone/symbolic/certificate/certify.h"

using touchstone::capi::guarded;
using touchstone::capi::require;
using touchstone::capi::text_argument;

struct touchstone_scope {
  std::vector<std::pair<std::string, touchstone::symbolic::Interval>> variables;
  std::vector<std::string> assumptions;
  touchstone::symbolic::Session session;
};

struct touchstone_simplified {
  std::string text, low, high;
  bool has_low = false, has_high = false;
  std::size_t size = 0;
};

struct touchstone_certificate {
  bool right = false;
  std::string reason, claim, json;
};

namespace {

constexpr std::size_t kMostDigits = 4932;  // as in simplify --jsonl
constexpr std::size_t kMostExpression = std::size_t{1} << 24;

touchstone::symbolic::End end_of(const char* digits, const char* which) {
  if (digits == nullptr) return {};
  const std::string_view text = text_argument(digits, which, kMostDigits + 1);
  const std::string_view number = text.substr(text.starts_with('-') ? 1 : 0);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
    throw touchstone::ParseError(
        fmt::format("{}: '{}' is not a whole number; NULL leaves a bound open", which, text));
  return touchstone::symbolic::Int::from_digits(text);
}

}  // namespace

touchstone_status touchstone_scope_new(touchstone_scope** scope) {
  return guarded([&] {
    require(scope, "scope");
    *scope = new touchstone_scope;
  });
}

void touchstone_scope_free(touchstone_scope* scope) { delete scope; }

touchstone_status touchstone_scope_variable(touchstone_scope* scope, const char* name,
                                            const char* low, const char* high) {
  return guarded([&] {
    require(scope, "scope");
    std::string called(text_argument(name, "name", kMostExpression));
    touchstone::symbolic::Interval range{end_of(low, "low"), end_of(high, "high")};
    if (range.lo && range.hi && *range.hi < *range.lo)
      throw touchstone::ParseError(
          fmt::format("{}: the range [{}, {}] is empty", called, low, high));
    const auto there =
        std::ranges::find(scope->variables, called, [](const auto& v) { return v.first; });
    if (there == scope->variables.end())
      scope->variables.emplace_back(std::move(called), std::move(range));
    else
      there->second = std::move(range);
  });
}

touchstone_status touchstone_scope_assume(touchstone_scope* scope, const char* condition) {
  return guarded([&] {
    require(scope, "scope");
    scope->assumptions.emplace_back(text_argument(condition, "condition", kMostExpression));
  });
}

touchstone_status touchstone_simplify(touchstone_scope* scope, const char* expression,
                                      touchstone_simplified** simplified) {
  return guarded([&] {
    require(scope, "scope");
    require(simplified, "simplified");
    const touchstone::symbolic::Answer answer = scope->session.answer(
        {scope->variables, scope->assumptions,
         std::string(text_argument(expression, "expression", kMostExpression))});
    auto made = std::make_unique<touchstone_simplified>();
    made->text = answer.text;
    made->size = answer.size;
    made->has_low = answer.bounds.lo.has_value();
    made->has_high = answer.bounds.hi.has_value();
    if (made->has_low) made->low = answer.bounds.lo->str();
    if (made->has_high) made->high = answer.bounds.hi->str();
    *simplified = made.release();
  });
}

void touchstone_simplified_free(touchstone_simplified* simplified) { delete simplified; }

const char* touchstone_simplified_text(const touchstone_simplified* simplified) {
  return simplified == nullptr ? nullptr : simplified->text.c_str();
}

const char* touchstone_simplified_low(const touchstone_simplified* simplified) {
  return simplified != nullptr && simplified->has_low ? simplified->low.c_str() : nullptr;
}

const char* touchstone_simplified_high(const touchstone_simplified* simplified) {
  return simplified != nullptr && simplified->has_high ? simplified->high.c_str() : nullptr;
}

size_t touchstone_simplified_size(const touchstone_simplified* simplified) {
  return simplified == nullptr ? 0 : simplified->size;
}

touchstone_status touchstone_certify(const touchstone_scope* scope, const char* expression,
                                     touchstone_certificate** certificate) {
  return guarded([&] {
    require(scope, "scope");
    require(certificate, "certificate");
    const touchstone::symbolic::Certified c = touchstone::symbolic::certify(
        {scope->variables, scope->assumptions,
         std::string(text_argument(expression, "expression", kMostExpression))});
    *certificate = new touchstone_certificate{c.missing.empty(), c.missing, claim_of(c.derivation),
                                              touchstone::symbolic::certificate_line(c.derivation)};
  });
}

touchstone_status touchstone_verify(const char* json, touchstone_certificate** certificate) {
  return guarded([&] {
    using Outcome = touchstone::symbolic::CertificateCheck::Outcome;
    constexpr std::size_t kMostJson = std::size_t{1} << 30;
    require(certificate, "certificate");
    const std::string text(text_argument(json, "json", kMostJson));
    const touchstone::symbolic::CertificateCheck check =
        touchstone::symbolic::check_certificate(text);
    *certificate =
        new touchstone_certificate{check.outcome == Outcome::Right, check.why, check.claim, text};
  });
}

void touchstone_certificate_free(touchstone_certificate* certificate) { delete certificate; }

int touchstone_certificate_right(const touchstone_certificate* certificate) {
  return certificate != nullptr && certificate->right ? 1 : 0;
}

const char* touchstone_certificate_reason(const touchstone_certificate* certificate) {
  return certificate == nullptr ? nullptr : certificate->reason.c_str();
}

const char* touchstone_certificate_claim(const touchstone_certificate* certificate) {
  return certificate == nullptr ? nullptr : certificate->claim.c_str();
}

const char* touchstone_certificate_json(const touchstone_certificate* certificate) {
  return certificate == nullptr ? nullptr : certificate->json.c_str();
}

struct touchstone_map_answer {
  std::string json;
};

struct touchstone_proof {
  int verdict = TOUCHSTONE_UNKNOWN;
  std::string text, certificate;
};

namespace {

constexpr std::size_t kMostRule = std::size_t{1} << 20;

int c_verdict(touchstone::prove::Verdict verdict) {
  switch (verdict) {
    case touchstone::prove::Verdict::Proved: return TOUCHSTONE_PROVED;
    case touchstone::prove::Verdict::Refuted: return TOUCHSTONE_REFUTED;
    case touchstone::prove::Verdict::Unknown: break;
  }
  return TOUCHSTONE_UNKNOWN;
}

std::string words_of(const touchstone::prove::Proof& proof) {
  using touchstone::prove::Method;
  if (proof.counterexample) return text_of(*proof.counterexample);
  if (proof.verdict == touchstone::prove::Verdict::Unknown) return proof.reason;
  std::string text;
  // Steps of an attempt that failed are not a proof.
  if (proof.method == Method::Elimination)
    for (const std::string& step : proof.steps) text += step + "\n";
  return text + fmt::format("by {}", name_of(proof.method));
}

}  // namespace

touchstone_status touchstone_prove(const char* rule, const char* witness,
                                   touchstone_proof** proof) {
  return guarded([&] {
    require(proof, "proof");
    const touchstone::prove::Claim claim = touchstone::prove::read_claim(
        text_argument(rule, "rule", kMostRule),
        witness == nullptr ? std::string_view() : text_argument(witness, "witness", kMostRule));
    touchstone::prove::Prover prover;
    const touchstone::prove::Proof found = prover.prove(claim);
    *proof = new touchstone_proof{c_verdict(found.verdict), words_of(found), ""};
  });
}

touchstone_status touchstone_decide(const touchstone_scope* scope, const char* claim,
                                    unsigned effort, touchstone_proof** proof) {
  return guarded([&] {
    require(scope, "scope");
    require(proof, "proof");
    const touchstone::prove::Proof found = touchstone::decide::Decider::of_thread(
        {scope->variables, scope->assumptions,
         std::string(text_argument(claim, "claim", kMostRule))},
        effort);
    *proof = new touchstone_proof{c_verdict(found.verdict), touchstone::decide::words_of(found),
                                  found.certificate};
  });
}

void touchstone_proof_free(touchstone_proof* proof) { delete proof; }

int touchstone_proof_verdict(const touchstone_proof* proof) {
  return proof == nullptr ? TOUCHSTONE_UNKNOWN : proof->verdict;
}

const char* touchstone_proof_text(const touchstone_proof* proof) {
  return proof == nullptr ? nullptr : proof->text.c_str();
}

const char* touchstone_proof_certificate(const touchstone_proof* proof) {
  return proof == nullptr ? nullptr : proof->certificate.c_str();
}

touchstone_status touchstone_map_ask(const char* question, touchstone_map_answer** answer) {
  return guarded([&] {
    require(answer, "answer");
    *answer = new touchstone_map_answer{
        touchstone::maps::answer_question(text_argument(question, "question", kMostRule))};
  });
}

void touchstone_map_answer_free(touchstone_map_answer* answer) { delete answer; }

const char* touchstone_map_answer_json(const touchstone_map_answer* answer) {
  return answer == nullptr ? nullptr : answer->json.c_str();
}
