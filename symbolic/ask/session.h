#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

/// Answers questions one after the other and remembers the answers: a question that was asked
/// before, with the same variables, bounds, assumptions and text, is looked up. Each other one is
/// worked out in a context without nodes, so that no answer depends on what was asked before, but
/// for its time. Memory is bounded: past kMostKept bytes all answers are forgotten.
class Session {
 public:
  static constexpr std::size_t kMostKept = kLimits.session_bytes;

  /// As `answer` of question.h. The time of a question that is remembered is that of finding it,
  /// from the question as one string of bytes.
  Answer answer(const Question& question);

  /// Questions whose answers are remembered.
  std::size_t size() const { return kept_.size(); }

 private:
  struct Slot {
    std::uint32_t hash;
    std::uint32_t place;  // in kept_
  };
  struct Kept {
    std::string key;
    Answer answer;
  };
  Slot& find(std::uint64_t hash);
  void keep(std::uint64_t hash, const Answer& answer);

  std::optional<Context> scratch_{std::in_place};
  std::string key_;  // of the question asked
  std::vector<Kept> kept_;
  std::vector<Slot> table_;  // open addressing
  std::size_t bytes_ = 0;    // of what is kept
};

}  // namespace touchstone::symbolic
