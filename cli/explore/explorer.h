#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace touchstone::explore {

/// Answers the questions of pages: a JSON object per line, whose "ask" names the question.
/// answers.h describes each form. Caches earlier work, but no answer depends on it.
class Explorer {
 public:
  Explorer();
  ~Explorer();

  /// Never throws because of a line's content: {"error":"..."} holds the command line's message.
  std::string answer(std::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace touchstone::explore
