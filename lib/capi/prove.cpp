#include <memory>

#include "touchstone/capi/guard.h"
#include "touchstone/prove/prover.h"

using touchstone::capi::guarded;
using touchstone::capi::require;
using touchstone::capi::text_argument;

struct touchstone_proof {
  int verdict = TOUCHSTONE_UNKNOWN;
  std::string text;
};

namespace {

constexpr std::size_t kMostRule = std::size_t{1} << 20;

int c_verdict(touchstone::prove::Verdict verdict) {
  switch (verdict) {
    case touchstone::prove::Verdict::Proved:
      return TOUCHSTONE_PROVED;
    case touchstone::prove::Verdict::Refuted:
      return TOUCHSTONE_REFUTED;
    case touchstone::prove::Verdict::Unknown:
      break;
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
    *proof = new touchstone_proof{c_verdict(found.verdict), words_of(found)};
  });
}

void touchstone_proof_free(touchstone_proof* proof) { delete proof; }

int touchstone_proof_verdict(const touchstone_proof* proof) {
  return proof == nullptr ? TOUCHSTONE_UNKNOWN : proof->verdict;
}

const char* touchstone_proof_text(const touchstone_proof* proof) {
  return proof == nullptr ? nullptr : proof->text.c_str();
}
