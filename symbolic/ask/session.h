#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "touchstone/base/hash.h"
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
  struct Hash {
    std::size_t operator()(const std::string& key) const { return hash_bytes(key); }
  };
  void keep(const Answer& answer);

  std::optional<Context> scratch_{std::in_place};
  std::string key_;  // of the current question
  std::unordered_map<std::string, Answer, Hash> kept_;
  std::size_t bytes_ = 0;  // held by kept_
};

}  // namespace touchstone::symbolic
