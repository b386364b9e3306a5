#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::fuzz {

/// The verdict of the checker of certificates (symbolic/check) on a made-up claim about an
/// expression: ask_claim claims by cases that it equals an expression near itself or near its
/// answer, ask_forged takes a forged step (index/forge.h).
struct ClaimReply {
  bool accepted = false;
  std::string wrong;  // where an accepted claim fails at a point: the claim and the point
};
ClaimReply ask_claim(const ExpressionCase& c, const std::string& answer, std::uint64_t choice);
ClaimReply ask_forged(const ExpressionCase& c, std::uint64_t choice);

/// Whether a question refuses these assumptions, of one context, as never true together.
bool excluded(std::span<const symbolic::Node> assumptions);

}  // namespace touchstone::fuzz
