#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/symbolic/read/tape.h"
#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

class CanonicalBuilder;

/// An expression over named variables to simplify under assumptions, as text.
struct Question {
  std::vector<std::pair<std::string, Interval>> variables;
  std::vector<std::string> assumptions;  // in the syntax of `parse`, like the expression
  std::string text;
};

/// A part of a text, with the conditions under which it is computed.
struct GuardedPart {
  std::string text;
  std::vector<std::string> when;
  int bits = 0;  // of the type that the text declares for it; 0: none
  bool is_signed = true;
};

struct Answer {
  std::string text;      // in the syntax of `parse`
  std::size_t size = 0;  // operators, variables and constants; and/or of k parts count k - 1
  Interval bounds;       // under the assumptions
  std::int64_t ns = 0;   // from the expression's tape to the smallest form (Solution)
};

/// "in [0, 9], size 3"; an open end prints as -inf or inf.
std::string range_and_size(const Answer& answer);

/// A parsed question; only its assumptions are simplified. Clears the context.
/// Throws ParseError naming the faulty part of the question ("vars", "assume[0]", "in") and its
/// column.
struct Reading {
  Reading(const Question& question, Context& context);
  std::map<std::string, Node> names;
  Ids conditions;
  Tape tape;
};

/// A solved question: its canonical node under the assumptions and the smallest form found. The
/// candidates are the rendered node and the text as written, simplified inside.
class Solution {
 public:
  /// `reading` must be of this question in this context. Throws like Reading.
  Solution(const Reading& reading, const Question& question, Context& context);
  Id id() const { return id_; }
  std::size_t size() const { return size_; }
  const Interval& bounds() const { return bounds_; }
  std::string text() const;

 private:
  /// Takes the input text, simplified inside, if it is smaller and cannot divide by 0.
  void write(std::string_view text, const std::map<std::string, Node>& names,
             CanonicalBuilder& builder);

  Id id_ = 0;
  Interval bounds_;
  std::optional<Extractor> extractor_;
  int form_ = 0;
  std::size_t size_ = 0;
  std::string written_;  // empty unless it is the input, simplified inside
};

/// Simplifies in `scratch`, which it clears first, so answers are independent.
/// Throws ParseError naming the faulty part of the question ("vars", "assume[0]", "in") and its
/// column.
Answer answer(const Question& question, Context& scratch);

}  // namespace touchstone::symbolic
