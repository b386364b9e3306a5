#pragma once

#include <string>
#include <string_view>

#include "touchstone/symbolic/notation/notation.h"

namespace touchstone::symbolic {

/// The words of a text in another language: numbers, names and symbols, without its comments.
class Scanner {
 public:
  enum class Kind : std::uint8_t { Number, Name, Symbol, Text, End };
  struct Token {
    Kind kind = Kind::End;
    std::string_view text;
    std::size_t at = 0;
    Int value{};           // of a Number
    bool is_long = false;  // in C: of 64 bits, by its suffix or size
    bool is_unsigned =
        false;  // in C: by its suffix, or hexadecimal and too large for the signed type
    bool is(std::string_view word) const {
      return (kind == Kind::Name || kind == Kind::Symbol) && text == word;
    }
  };

  /// Reads [from, to) of the text.
  Scanner(std::string_view text, Language language, std::size_t from, std::size_t to);

  const Token& now() const { return now_; }
  Token take();
  bool take(std::string_view word);    // false if another word is next
  void expect(std::string_view word);  // throws ParseError if another word is next
  Token expect(Kind kind, std::string_view what);
  /// To read again from a token taken before.
  void back_to(const Token& token);
  std::string_view text() const { return text_; }
  std::size_t end() const { return end_; }  // of the last token taken
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail(std::size_t at, const std::string& what) const;

 private:
  Token read();
  Token read_number(std::size_t at);
  void skip_space();

  std::string_view text_;
  Language language_;
  std::size_t to_, position_, end_ = 0;
  Token now_;
};

}  // namespace touchstone::symbolic
