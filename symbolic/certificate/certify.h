#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::symbolic {

/// Simplifies an expression and records every step. Throws as derive.h says.
Derivation derive(const Question& question);

/// A derivation that the checker accepts, or the reason why there is none.
struct Certified {
  Derivation derivation;
  std::string missing;  // empty if the checker accepts it
};

/// Simplifies an expression and searches for a derivation that the checker accepts, also after it
/// was written as JSON. Throws as `derive`.
Certified certify(const Question& question);

/// "start = result where x in [0, 9]".
std::string claim_of(const Derivation& d);

/// The checker's answer on a certificate, or on an answer of `simplify --jsonl --certify`.
struct CertificateCheck {
  enum class Outcome : std::uint8_t {
    Right,
    Wrong,
    Missing,  // an answer without a certificate
    Error,    // the question had no answer
  };
  Outcome outcome = Outcome::Right;
  std::string claim;  // as `claim_of`; of Right and Wrong
  std::string why;    // on one line; empty if Right
};

/// Throws ParseError if the text holds no certificate.
CertificateCheck check_certificate(std::string_view json);

}  // namespace touchstone::symbolic
