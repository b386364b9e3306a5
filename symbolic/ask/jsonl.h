#pragma once

#include <string>
#include <string_view>

#include "touchstone/symbolic/ask/session.h"

namespace touchstone::symbolic {

/// The machine interface: one question, one answer, each a JSON object on a line of its own.
///   {"vars":{"a":[0,8]},"assume":["a < 3"],"in":"a//2*2"}
///   {"out":"a//2*2","size":5,"min":0,"max":2,"ns":1850}     or {"error":"in: column 3: ..."}
/// An end of null is open, in a question and in an answer; integers have any length; "vars" and
/// "assume" may be left out, members of other names are ignored. Never throws for what a line
/// holds. Answers are remembered in `session`, but no answer depends on an earlier one.
std::string answer_json(std::string_view question, Session& session);

/// The question of such a line. Throws ParseError.
Question read_question(std::string_view line);

}  // namespace touchstone::symbolic
