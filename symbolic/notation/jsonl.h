#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "touchstone/symbolic/ask/session.h"

namespace touchstone::symbolic {

/// The JSON Lines interface: one question and one answer, each a JSON object on its own line.
///   {"vars":{"a":[0,8]},"assume":["a < 3"],"in":"a//2*2"}
///   {"out":"a//2*2","size":5,"min":0,"max":2,"ns":1850}     or {"error":"in: column 3: ..."}
/// "from" and "to" name languages (notation.h); a text with several results, as an affine_map,
/// gives {"results":[..]}, an answer for each. "notes" lists what the translation takes for
/// granted. A null end is open, in questions and answers; integers have any length; "vars" and
/// "assume" are optional; unknown members are ignored. Bad input gives an error object, never an
/// exception. `session` caches answers; no answer depends on an earlier one.
std::string answer_json(std::string_view question, Session& session);

/// An answer and further members of its object, as `,"a":1`.
using Answered = std::pair<Answer, std::string>;
using Answering = std::function<Answered(const Question&)>;
/// The same with answers by `answering`.
std::string answer_json(std::string_view question, const Answering& answering);

/// Parses one such line, with one result. Throws ParseError.
Question read_question(std::string_view line);

}  // namespace touchstone::symbolic
