#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::fuzz {

/// The certificate checker's verdict (symbolic/check) on a made-up claim about an expression.
/// ask_claim claims, with a proof by cases, that the expression equals one near itself or near its
/// answer; ask_forged uses a forged step (index/forge.h).
struct ClaimReply {
  bool accepted = false;
  std::string wrong;  // the accepted claim and the point where it fails
};
ClaimReply ask_claim(const ExpressionCase& c, const std::string& answer, std::uint64_t choice);
ClaimReply ask_forged(const ExpressionCase& c, std::uint64_t choice);

/// True if a question refuses these assumptions, all of one context, as contradictory.
bool excluded(std::span<const symbolic::Node> assumptions);

}  // namespace touchstone::fuzz
