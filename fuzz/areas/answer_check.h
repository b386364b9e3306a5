#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/index/point_values.h"
#include "touchstone/symbolic/ask/question.h"

namespace touchstone::fuzz {

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
