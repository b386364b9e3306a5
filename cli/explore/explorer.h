#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace touchstone::explore {

/// What pages ask, each question and each answer a JSON object on a line of its own; "ask" names
/// the question. The form of each stands at its function in answers.h. It keeps what was asked
/// before, but no answer depends on that.
class Explorer {
 public:
  Explorer();
  ~Explorer();

  /// Never throws for what a line holds: {"error":"..."} has the message that the command line
  /// gives.
  std::string answer(std::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace touchstone::explore
