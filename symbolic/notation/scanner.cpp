#include "touchstone/symbolic/notation/scanner.h"

#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/number/power.h"

namespace touchstone::symbolic {

namespace {

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool digit(char c) { return c >= '0' && c <= '9'; }

// Longest first.
constexpr std::string_view kSymbols[] = {">>>", "<<", ">>", "&&", "||", "==", "!=", "<=",
                                         ">=",  "//", "**", "->", "::", "+=", "-=", "*="};

constexpr std::string_view kSuffixes[] = {"u",   "l",   "ul",  "lu",  "ll",    "ull",  "llu",
                                          "z",   "uz",  "zu",  "i8",  "u8",    "i16",  "u16",
                                          "i32", "u32", "i64", "u64", "usize", "isize"};

bool is_c(Language l) { return l == Language::C || l == Language::Halide || l == Language::Cute; }

}  // namespace

Scanner::Scanner(std::string_view text, Language language, std::size_t from, std::size_t to)
    : text_(text),
      language_(language),
      to_(std::min(to, text.size())),
      position_(from),
      end_(from),
      now_(read()) {}

void Scanner::fail(std::size_t at, const std::string& what) const { fail_at(text_, at, what); }
void Scanner::fail(const std::string& what) const { fail(now_.at, what); }

Scanner::Token Scanner::take() {
  Token taken = now_;
  end_ = taken.at + taken.text.size();
  now_ = read();
  return taken;
}
bool Scanner::take(std::string_view word) {
  if (!now_.is(word)) return false;
  take();
  return true;
}
void Scanner::expect(std::string_view word) {
  if (!take(word))
    fail(fmt::format("expected \"{}\", found {}", word,
                     now_.kind == Kind::End ? "the end" : fmt::format("\"{}\"", now_.text)));
}
Scanner::Token Scanner::expect(Kind kind, std::string_view what) {
  if (now_.kind != kind) fail(fmt::format("expected {}", what));
  return take();
}
void Scanner::back_to(const Token& token) {
  position_ = token.at;
  now_ = read();
}

void Scanner::skip_space() {
  const bool c = is_c(language_);
  for (;;) {
    while (position_ < to_ && static_cast<unsigned char>(text_[position_]) <= ' ') ++position_;
    const std::string_view rest = text_.substr(position_, to_ - position_);
    const bool line = ((c || language_ == Language::Mlir) && rest.starts_with("//")) ||
                      (language_ == Language::Python && rest.starts_with("#"));
    const bool block = c && rest.starts_with("/*");
    if (!line && !block) return;
    const std::size_t end = block ? rest.find("*/", 2) : rest.find('\n');
    if (block && end == rest.npos) fail(position_, "the comment has no end; write */");
    position_ = end == rest.npos ? to_ : position_ + end + (block ? 2 : 0);
  }
}

Scanner::Token Scanner::read() {
  skip_space();
  const std::size_t at = position_;
  if (at >= to_) return {Kind::End, "", at, {}};
  const std::string_view rest = text_.substr(at, to_ - at);
  const auto word = [&](std::size_t from) {
    std::size_t n = from;
    while (n < rest.size() && (letter(rest[n]) || digit(rest[n]))) ++n;
    position_ = at + n;
    return rest.substr(0, n);
  };
  if (digit(rest[0])) return read_number(at);
  const bool is_value = language_ == Language::Mlir && rest[0] == '%' && rest.size() > 1 &&
                        (letter(rest[1]) || digit(rest[1]));
  if (letter(rest[0]) || is_value) {
    const std::string_view name = word(1);
    // CuTe's static integers.
    if (language_ == Language::Cute && name.size() > 1 && name[0] == '_' &&
        std::ranges::all_of(name.substr(1), digit))
      return {Kind::Number, name, at, Int::from_digits(name.substr(1))};
    return {Kind::Name, name, at, {}};
  }
  if (rest[0] == '"' || rest[0] == '\'') {
    const std::size_t end = rest.find(rest[0], 1);
    if (end == rest.npos) fail(at, "the text has no end");
    position_ = at + end + 1;
    return {Kind::Text, rest.substr(1, end - 1), at, {}};
  }
  if (is_c(language_) && (rest.starts_with("++") || rest.starts_with("--")))
    fail(at, "++ and -- change a variable; write i + 1");
  for (const std::string_view symbol : kSymbols)
    if (rest.starts_with(symbol)) {
      position_ = at + symbol.size();
      return {Kind::Symbol, rest.substr(0, symbol.size()), at, {}};
    }
  if (static_cast<unsigned char>(rest[0]) > 126)
    fail(at, "a character that is not ASCII; write operators as +, -, *, /, <=");
  position_ = at + 1;
  return {Kind::Symbol, rest.substr(0, 1), at, {}};
}

Scanner::Token Scanner::read_number(std::size_t at) {
  std::size_t i = at;
  int base = 10;
  if (text_[at] == '0' && at + 1 < to_) {
    const char kind = text_[at + 1];
    base = kind == 'x' || kind == 'X'   ? 16
           : kind == 'b' || kind == 'B' ? 2
           : kind == 'o' || kind == 'O' ? 8
                                        : 10;
    if (base != 10) i += 2;
  }
  const auto place = [](char c) {
    return digit(c)               ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
  };
  Int value = 0;
  std::string digits;
  const std::size_t first = i;
  for (; i < to_; ++i) {
    const char c = text_[i];
    const bool between =
        (c == '\'' || c == '_') && i > first && i + 1 < to_ && place(text_[i + 1]) < base;
    if (between) continue;
    if (place(c) >= base) break;
    digits += c;
    if (digits.size() > kLimits.digits)
      fail(at, fmt::format("a number of more than {} digits", kLimits.digits));
    if (base != 10) value = value * base + place(c);
  }
  if (digits.empty()) fail(at, "a number without digits");
  if (base == 10 && digits[0] == '0' && digits.find_first_not_of('0') != digits.npos)
    fail(at, "a number that begins with 0, octal in C; write 0o17 or the decimal number");
  if (base == 10) {
    const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    value = Int::from_digits(std::string_view(digits).substr(zeros));
  }
  if (i < to_ && text_[i] == '.' && i + 1 < to_ && digit(text_[i + 1]))
    fail(at, "a number with a point; indices are integers");
  std::size_t end = i;
  while (end < to_ && (letter(text_[end]) || digit(text_[end]))) ++end;
  const std::string_view suffix = text_.substr(i, end - i);
  std::string lower;
  for (const char c : suffix) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const bool of_c = is_c(language_) && std::ranges::find(kSuffixes, lower) != std::end(kSuffixes);
  if (!suffix.empty() && !of_c && language_ != Language::Isl)
    fail(at, fmt::format("\"{}\" is no number; a name must not begin with a digit",
                         text_.substr(at, end - at)));
  position_ = of_c ? end : i;
  const bool suffixed = of_c && lower.find('u') != lower.npos;
  const bool may_be_unsigned = base != 10 || suffixed;
  const bool is_long =
      (of_c && lower.find('l') != lower.npos) || value >= power_of_two(may_be_unsigned ? 32 : 31);
  return {Kind::Number, text_.substr(at, i - at),
          at,           value,
          is_long,      suffixed || (base != 10 && value >= power_of_two(is_long ? 63 : 31))};
}

}  // namespace touchstone::symbolic
