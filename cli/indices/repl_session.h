#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/decide/decide.h"
#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/check/derivation.h"

namespace touchstone::cli {

/// A session's definitions and the answers to typed lines. Names are stored as text, so each line
/// is answered independently of earlier ones.
class ReplSession {
 public:
  /// The text to show for a line. Throws touchstone::Error and then changes nothing.
  std::string answer(std::string_view line);
  bool ended() const { return ended_; }
  /// Completions of the last word, from `word` on; sorted.
  std::vector<std::string> completions(std::string_view word) const;

 private:
  struct Definition {
    std::string name;
    std::string text;  // as typed
    bool variable = false;
    symbolic::Interval range;  // of a variable
  };
  struct Command {
    std::string_view name, arguments, what;
    std::string (ReplSession::*run)(std::string_view argument);
  };
  static const Command kCommands[];

  std::string define(std::string_view line, std::size_t equals);
  std::string assume(std::string_view condition);
  std::string forget(std::string_view what);
  std::string simplify(std::string_view text);
  std::string steps(std::string_view text);
  std::string table(std::string_view text);
  std::string plot(std::string_view text);
  std::string view(std::string_view words);
  std::string equal(std::string_view pair);
  std::string read(std::string_view words);
  std::string write(std::string_view words);
  std::string names(std::string_view nothing);
  std::string load(std::string_view path);
  std::string save(std::string_view path);
  std::string help(std::string_view nothing);
  std::string quit(std::string_view nothing);

  /// The text with definitions expanded, so that only variables remain. Throws ParseError for an
  /// unknown name, unless `open`.
  std::string expanded(std::string_view text, bool open = false) const;
  symbolic::Question question(std::string_view text) const;
  symbolic::Answer ask(const symbolic::Question& question);
  const Definition* find(std::string_view name) const;
  /// Bounds and assumptions as one condition.
  std::string conditions() const;

  std::vector<Definition> definitions_;
  std::vector<std::string> assumptions_;
  symbolic::Context scratch_;
  decide::Decider decider_;
  bool ended_ = false;
  int loading_ = 0;  // nesting depth of files
};

}  // namespace touchstone::cli
