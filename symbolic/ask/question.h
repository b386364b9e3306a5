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

/// A simplification asked for in words: an expression over named variables, under assumptions.
struct Question {
  std::vector<std::pair<std::string, Interval>> variables;
  std::vector<std::string> assumptions;  // in the syntax of `parse`, as the expression
  std::string text;
};

struct Answer {
  std::string text;      // in the syntax of `parse`
  std::size_t size = 0;  // operators, variables and constants; and/or of k parts count k - 1
  Interval bounds;       // under the assumptions
  std::int64_t ns = 0;   // from the tape of the expression to the smallest form: a Solution
};

/// "in [0, 9], size 3"; an open end is -inf or inf.
std::string range_and_size(const Answer& answer);

/// A question that was read, and nothing simplified of it but its assumptions. Clears the context.
/// Throws ParseError that names the part of the question at fault ("vars", "assume[0]", "in") and
/// points at the column.
struct Reading {
  Reading(const Question& question, Context& context);
  std::map<std::string, Node> names;
  Ids conditions;
  Tape tape;
};

/// Of quotients and remainders that truncate: as choices between others alone, or also as they are.
enum class Truncations : bool { Opened, Kept };

/// A question worked out: the canonical node, the same under the assumptions, and the smallest form
/// of that, or the form it was written in, tidied, where that is smaller, or one in which
/// truncating quotients and remainders stay.
class Solution {
 public:
  /// reading is of the question, in this context. Throws as Reading.
  Solution(const Reading& reading, const Question& question, Context& context,
           Truncations truncations = Truncations::Kept);
  Id id() const { return id_; }
  std::size_t size() const { return size_; }
  const Interval& bounds() const { return bounds_; }
  std::string text() const;

 private:
  /// Takes the form as written, tidied, where it is smaller and divides by no 0.
  void write(std::string_view text, const std::map<std::string, Node>& names);

  Id id_ = 0;
  Interval bounds_;
  std::optional<Extractor> extractor_;
  int form_ = 0;
  std::size_t size_ = 0;
  std::string written_;  // empty where the form is not the one that was written
};

/// Simplifies in `scratch`, which is cleared first, so that no answer depends on an earlier one.
/// Throws ParseError that names the part of the question at fault
/// ("vars", "assume[0]", "in") and points at the column.
Answer answer(const Question& question, Context& scratch);

}  // namespace touchstone::symbolic
