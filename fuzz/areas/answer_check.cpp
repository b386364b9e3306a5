#include "touchstone/fuzz/areas/answer_check.h"

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::fuzz {

AnswerReply wrong_answer(const symbolic::Question& question, PointValues& values,
                         const Column& right, std::span<const std::size_t> points) {
  static thread_local symbolic::Context scratch;
  symbolic::Answer answer;
  try {
    answer = symbolic::answer(question, scratch);
  } catch (const ParseError& e) {
    return {fmt::format(" is refused: {}", e.what()), {}, true};
  }
  const Column& now = values.evaluate(answer.text);
  for (const std::size_t p : points) {
    const symbolic::Int value = right.at(p);
    if (!now.defined(p)) return {answer.text + ", which has no value,", p};
    if (now.at(p) != value) return {answer.text + ", " + now.at(p).str(), p};
    const symbolic::Interval& bounds = answer.bounds;
    if ((bounds.lo && *bounds.lo > value) || (bounds.hi && *bounds.hi < value))
      return {range_and_size(answer), p};
  }
  symbolic::Exprs exprs;
  const std::size_t size = exprs.size(parse_expr(exprs, answer.text));
  const std::size_t most = exprs.size(parse_expr(exprs, question.text));
  if (answer.size == size && size <= most) return {};
  return {fmt::format(" has {} parts and is answered by {}, which has {}, and not {}", most,
                      answer.text, size, answer.size),
          {}};
}

}  // namespace touchstone::fuzz
