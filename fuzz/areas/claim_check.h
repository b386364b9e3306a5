#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/fuzz/index/point_values.h"
#include "touchstone/symbolic/ask/question.h"
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

struct AnswerReply {
  std::string what;               // the mistake; empty: none
  std::optional<std::size_t> at;  // the point where it shows
  bool refused = false;
};

/// Returns the mistake in the answer to a question whose expression has the values `right` at
/// `points`, where its assumptions hold: a wrong value, a value outside the bounds, a size other
/// than the text's, or a size above the question's.
AnswerReply wrong_answer(const symbolic::Question& question, PointValues& values,
                         const Column& right, std::span<const std::size_t> points);

}  // namespace touchstone::fuzz
