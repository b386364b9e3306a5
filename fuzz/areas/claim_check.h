#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/expression_case.h"
#include "touchstone/symbolic/node.h"

namespace touchstone::fuzz {

/// What the checker of certificates (symbolic/check) says of one made up about an expression: that
/// it equals, by cases, something near itself or near the answer to it, or a forged step
/// (index/forge.h).
struct ClaimReply {
  bool accepted = false;
  std::string wrong;  // where an accepted claim fails at a point: the claim and the point
};
ClaimReply ask_claim(const ExpressionCase& c, const std::string& answer, std::uint64_t choice);
ClaimReply ask_forged(const ExpressionCase& c, std::uint64_t choice);

/// Whether a question refuses these assumptions, of one context, as never true together.
bool excluded(std::span<const symbolic::Node> assumptions);

}  // namespace touchstone::fuzz
