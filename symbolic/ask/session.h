#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

/// Answers questions one at a time and caches the answers, keyed by variables, bounds, assumptions
/// and text. A cache miss is solved in an empty context, so only the time of an answer depends on
/// earlier questions. Memory is bounded: past kMostKept bytes the cache is emptied.
class Session {
 public:
  static constexpr std::size_t kMostKept = kLimits.session_bytes;

  /// Like `answer` in question.h. `ns` of a cached answer is the look-up time, measured from the
  /// serialized key.
  Answer answer(const Question& question);

  /// Number of cached answers.
  std::size_t size() const { return kept_.size(); }

 private:
  struct Slot {
    std::uint32_t hash;
    std::uint32_t place;  // index in kept_
  };
  struct Kept {
    std::string key;
    Answer answer;
  };
  Slot& find(std::uint64_t hash);
  void keep(std::uint64_t hash, const Answer& answer);

  std::optional<Context> scratch_{std::in_place};
  std::string key_;  // of the current question
  std::vector<Kept> kept_;
  std::vector<Slot> table_;  // open addressing
  std::size_t bytes_ = 0;    // held by kept_
};

}  // namespace touchstone::symbolic
