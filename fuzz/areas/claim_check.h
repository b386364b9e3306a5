#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/expression_case.h"
#include "touchstone/symbolic/node.h"

namespace touchstone::fuzz {

/// Claims in a certificate, by cases (symbolic/check), that an expression equals what is nearly
/// itself, or nearly the answer to it; the text of that where the checker accepts it.
std::optional<std::string> accepted_claim(const ExpressionCase& c, const std::string& written,
                                          const std::string& answer, std::uint64_t choice);

/// Whether a question refuses these assumptions, of one context, as never true together.
bool excluded(std::span<const symbolic::Node> assumptions);

}  // namespace touchstone::fuzz
