#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/index/point_values.h"
#include "touchstone/symbolic/ask/question.h"

namespace touchstone::fuzz {

struct AnswerReply {
  std::string what;               // is wrong; empty: nothing
  std::optional<std::size_t> at;  // the point at which it is
  bool refused = false;
};

/// What is wrong with the answer to a question whose expression has the values `right` at `points`,
/// where its assumptions hold: a value, or one outside the bounds; a size that is not that of the
/// text, or above that of the question's.
AnswerReply wrong_answer(const symbolic::Question& question, PointValues& values,
                         const Column& right, std::span<const std::size_t> points);

}  // namespace touchstone::fuzz
