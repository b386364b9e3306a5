#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <span>
#include <string>

#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::fuzz {
namespace {

class ExpressionDraw {
 public:
  explicit ExpressionDraw(Chooser& chooser) : chooser_(chooser) {
    left_out_ = chooser.below(std::uint64_t{1} << (2 * kKinds));
    for (std::int64_t& c : constants_) {
      constexpr std::int64_t kUsual[] = {2, 3, 4, 8, 6, 5, 12, 7, 16, 10, 1, 9, 15, 64, 100, 224};
      c = kUsual[chooser.below(16)];
    }
    constants_[2] = chooser.chance(1, 2) ? constants_[0] * constants_[1] : constants_[2];
    huge_ = chooser.chance(1, 8);
    deep_ = 1 + static_cast<int>(chooser.below(4));
  }

  std::string draw() {
    const bool many = chooser_.chance(1, 16);  // sums of many terms
    std::uint64_t count = 1 + chooser_.below(3);
    if (many) count += 5 + chooser_.below(5);
    std::string text;
    text.reserve(256);
    for (std::uint64_t i = 0; i < count; ++i) declare(text, i);
    text += "| ";
    if (chooser_.chance(1, 128))
      wide(text);
    else if (chooser_.chance(1, 768))  // each is a hundred times as slow as others
      choices(text);
    else
      grow(text, deep_);
    for (std::uint64_t more = chooser_.below(4); more > 1; --more) {
      text += " | ";
      assume(text);
    }
    if (chooser_.chance(1, 24)) assume_window(text);
    return text;
  }

 private:
  enum Kind : std::uint8_t {
    Linear,
    Div,
    Mod,
    Scale,
    Sum,
    Digit,  // of a sum: div, then mod
    Undo,   // (x//c)*c + x%c
    Compare,
    Choice,
    Extreme,
    Logic,
    Product,
    Truncating,
    Law,  // a side of a rule, or nearly
    kKinds
  };
  bool has(Kind kind) const { return (left_out_ >> (2 * kind) & 3) != 3; }

  void declare(std::string& out, std::uint64_t i) {
    static constexpr std::array<std::string_view, 12> kNames = {"x", "y", "n", "a", "b", "c",
                                                                "d", "e", "f", "g", "h", "i"};
    names_.push_back(kNames[i]);
    out += kNames[i];
    const auto range = [&](std::int64_t low, std::int64_t high) {
      out += fmt::format("={}..{} ", low, high);
    };
    const std::int64_t c = constants_[chooser_.below(3)];
    switch (chooser_.below(8)) {
      case 0:
      case 1: return range(0, c - 1);
      case 2: return range(0, c);
      case 3: {
        const auto high = static_cast<std::int64_t>(chooser_.below(12));
        return range(-static_cast<std::int64_t>(chooser_.below(9)), high);
      }
      case 4: return range(1, 1 + static_cast<std::int64_t>(chooser_.below(12)));
      case 5: {
        const std::int64_t low = chooser_.between(-4, 9);
        return range(low, low + chooser_.between(0, 2));
      }
      case 6:
        out += chooser_.chance(1, 2) ? "=.. " : fmt::format("={}.. ", chooser_.below(3));
        return;
      default: return huge_ ? huge_range(range) : range(-c, c * 3);
    }
  }

  template <class Range>
  void huge_range(const Range& range) {
    using Limits = std::numeric_limits<std::int64_t>;
    constexpr std::int64_t kFar = std::int64_t{1} << 62;
    const std::int64_t one = chooser_.between(-9, 9), off = chooser_.between(0, 9);
    switch (chooser_.below(3)) {
      case 0: return range(Limits::min(), Limits::max());
      case 1: return range(one, kFar - off);
      default: return range(-kFar + off, one);
    }
  }

  // The form with drawn parts: @ an expression, ? a condition, $ a variable, & a linear form, ; one
  // of these, # a constant of the case, ~ any, : any but 0, ^ a divisor, _ something small. Depths
  // are one less.
  void write(std::string& out, std::string_view form, int depth = 0) {
    for (const char c : form) switch (c) {
        case '@': grow(out, depth - 1); break;
        case '?': condition(out, depth - 1); break;
        case '$': out += names_[chooser_.below(names_.size())]; break;
        case '&': linear(out); break;
        case ';': write(out, chooser_.chance(1, 2) ? "&" : "$"); break;
        case '#': out += std::to_string(usual()); break;
        case '~': constant(out); break;
        case ':': constant_not_zero(out); break;
        case '^': divisor(out, depth); break;
        case '_': small(out); break;
        default: out += c;
      }
  }
  std::string_view either(std::string_view usually, std::string_view sometimes,
                          std::uint64_t one_in = 2) {
    return chooser_.chance(1, one_in) ? sometimes : usually;
  }

  // One operator with up to 200 operands, all small.
  void wide(std::string& out) {
    static constexpr std::string_view kOpens[] = {"max(", "min(", "(", "(", "(", "max(", "min("};
    static constexpr std::string_view kBetween[] = {", ", ", ", " and ", " or ", " + ", ", ", ", "};
    const std::uint64_t which = chooser_.below(std::size(kOpens));
    const bool flags = which == 2 || which == 3, nested = which >= 5;
    std::string form(either("_", "_ + _", 3));
    if (nested) form = (which == 5 ? "min(" : "max(") + form + ", _)";
    const std::uint64_t most = chooser_.chance(1, 4) ? 199 : chooser_.chance(1, 2) ? 40 : 12;
    out += kOpens[which];
    for (std::uint64_t left = 2 + chooser_.below(most); left > 0; --left) {
      write(out, form);
      if (flags) out += either(" != ", " < ");
      if (flags) out += std::to_string(chooser_.between(-6, 13));
      if (left > 1) out += kBetween[which];
    }
    out += ')';
  }

  // A sum of choices on two or three conditions, some shared.
  void choices(std::string& out) {
    std::array<std::string, 3> conditions;
    for (std::string& condition : conditions) {
      small(condition);
      condition += either(" != ", " < ");
      condition += std::to_string(chooser_.between(-2, 9));
    }
    const std::uint64_t few = 2 + chooser_.below(2);
    for (std::uint64_t left = 3 + chooser_.below(3); left > 0; --left) {
      out += "where(" + conditions[chooser_.below(few)];
      write(out, either(", _, 0)", ", _, _)"));
      if (left > 1) out += either(" + ", " - ", 4);
    }
  }

  // c*x + d, with c mostly 1 and d mostly 0.
  void small(std::string& out) {
    write(out, "$");
    if (chooser_.chance(1, 3)) out += fmt::format("*{}", chooser_.between(-3, 5));
    if (chooser_.chance(1, 2)) out += fmt::format(" + {}", chooser_.between(0, 20));
  }

  std::int64_t usual() {
    const std::int64_t c = constants_[chooser_.below(3)];
    return chooser_.chance(1, 4) ? c * constants_[0] : c;
  }

  void constant(std::string& out) {
    static constexpr std::string_view kHuge[] = {"9223372036854775807",
                                                 "-9223372036854775808",
                                                 "9223372036854775808",
                                                 "4611686018427387904",
                                                 "1000000000000000000000000000000",
                                                 "-18446744073709551616",
                                                 "2147483648",
                                                 "4294967295"};
    if (huge_ && chooser_.chance(1, 3)) {
      const std::string_view huge = kHuge[chooser_.below(std::size(kHuge))];
      if (chooser_.chance(1, 2))
        out += (symbolic::Int::from_digits(huge) + chooser_.between(-2, 2)).str();
      else
        out += huge;
    } else if (chooser_.chance(1, 2)) {
      out += std::to_string(usual());
    } else {
      out += std::to_string(chooser_.between(-6, 13));
    }
  }

  // Mostly a positive constant of the case; sometimes negative, huge, a variable or an expression.
  void divisor(std::string& out, int depth) {
    switch (chooser_.below(8)) {
      default: return write(out, "#");
      case 5: return write(out, "-#");
      case 6: return write(out, either(":", "$"));
      case 7: return write(out, depth <= 1 ? "$" : "(@ + 1)", depth - 1);
    }
  }

  void constant_not_zero(std::string& out) {
    const std::size_t from = out.size();
    constant(out);
    if (out.compare(from, std::string::npos, "0") == 0) out += "1";
  }

  void linear(std::string& out) {
    write(out, "($");
    const std::uint64_t most = names_.size() > 3 && chooser_.chance(1, 2) ? 16 : 3;
    for (std::uint64_t more = 1 + chooser_.below(most); more > 0; --more) {
      out += either(" + ", " - ", 5);
      write(out, chooser_.chance(1, 4) ? "~" : either("$*#", "$", 4));
    }
    out += ")";
  }

  void both(std::string& out, int depth, std::string_view op) {
    write(out, "(@", depth);
    out += op;
    write(out, either("@)", "~)", 3), depth);
  }

  void grow(std::string& out, int depth) {
    if (depth <= 0) return write(out, either("$", "~", 5));
    Kind kind = kKindOf[chooser_.below(std::size(kKindOf))];
    if (!has(kind)) kind = Sum;
    switch (kind) {
      case Linear: return linear(out);
      case Div: return write(out, either("(@//^)", "(&//^)", 3), depth);
      case Mod: return write(out, either("(@%^)", "(&%^)", 3), depth);
      case Scale:
        return write(out, chooser_.chance(1, 6) ? "(-(@))" : either("(@*#)", "(@*-#)", 4), depth);
      case Digit: return write(out, "((@//#)%#)", depth);
      case Undo: {
        std::string x;
        grow(x, depth - 1);
        const std::int64_t a = usual(), b = chooser_.chance(1, 3) ? usual() : a;
        out += fmt::format("({0}//{1}*{2} + {0}%{1})", x, a, b);
        return;
      }
      case Compare: return both(out, depth, kComparisons[chooser_.below(6)]);
      case Choice: return write(out, "where(?, @, @)", depth);
      case Extreme:
        write(out, either("max(@, ", "min(@, "), depth);
        return write(out, either("@)", "~)"), depth);
      case Logic: return condition(out, depth);
      case Product: return write(out, "($*@)", depth);
      case Law: return law(out, depth);
      case Truncating: return truncating(out, depth);
      default: return both(out, depth, either(" + ", " - ", 4));
    }
  }

  // A quotient or remainder, alone, in one arm of a choice, or both of the same operands.
  void truncating(std::string& out, int depth) {
    std::string operands, by;
    divisor(by, depth);
    write(operands, "@, ", depth);
    operands += by + ")";
    const std::string one(either("tmod(", "tdiv("));
    switch (chooser_.below(8)) {
      case 0: out += fmt::format("(tdiv({0}*{1} + tmod({0})", operands, by); return;
      case 1:
        out += fmt::format("where({0}{1} < 0, {0}{1} + {2}, {0}{1})", one, operands, by);
        return;
      case 2:
        out += fmt::format("where({} != 0, {}{}", by, one, operands);
        return write(out, ", $)");
      default: out += one + operands;
    }
  }

  // A rule's subject where its conditions hold or barely fail: one side of it with numbers for most
  // coefficients, sometimes variables, one of which may differ at its second occurrence.
  void law(std::string& out, int depth) {
    const std::span<const symbolic::Rule> rules = symbolic::rules();
    const symbolic::Rule& rule = rules[chooser_.below(rules.size())];
    const std::string_view side = chooser_.chance(3, 4) ? rule.lhs : rule.rhs;
    std::map<std::string_view, std::string> bound;
    const bool numbers = !chooser_.chance(1, 6);
    out += '(';
    for (std::size_t i = 0; i < side.size();) {
      std::size_t end = i;
      while (end < side.size() && std::isalnum(static_cast<unsigned char>(side[end])) != 0) ++end;
      const std::string_view word = side.substr(i, end - i);
      const bool is_name = !word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) != 0;
      const bool is_operator =
          word == "and" || word == "or" || word == "not" || (end < side.size() && side[end] == '(');
      if (!is_name || is_operator) {
        out += side.substr(i, std::max<std::size_t>(end - i, 1));
        i = std::max(end, i + 1);
        continue;
      }
      if (const auto [at, made] = bound.try_emplace(word); made)
        at->second = operand(word, depth, numbers);
      if (chooser_.chance(1, 32))
        constant_not_zero(out);
      else
        out += bound[word];
      i = end;
    }
    out += ')';
  }

  std::string operand(std::string_view name, int depth, bool numbers) {
    std::string text = "(";
    const bool is_coefficient = std::string_view("abcdkm").find(name[0]) != std::string_view::npos;
    const bool named = is_coefficient && !numbers && chooser_.chance(3, 4);
    if (!named && is_coefficient && chooser_.chance(4, 5))
      write(text, either(":", "#"));
    else
      write(text, named || chooser_.chance(1, 2) ? "$" : either("@", "&"), depth);
    // Avoids division by the number zero, however written.
    const auto says = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0 || ('1' <= c && c <= '9');
    };
    return std::ranges::any_of(text, says) ? text + ")" : "(1)";
  }

  void condition(std::string& out, int depth) {
    if (depth > 1 && has(Logic) && chooser_.chance(1, 2)) {
      write(out, either("((?", "(not (?", 4), depth);
      return write(out, either(" or ?))", " and ?))"), depth);
    }
    const std::string_view op = kComparisons[chooser_.below(6)];
    if (!chooser_.chance(1, 24)) return both(out, depth, op);
    out += '(';
    power(out);
    out += fmt::format("{}{})", op, chooser_.between(-9, 9));
  }

  // Assumes that a variable or a sum lies within a few numbers, perhaps one.
  void assume_window(std::string& out) {
    std::string side;
    write(side, ";");
    const std::int64_t low = chooser_.between(-2, 9);
    out += fmt::format(" | {} >= {} | {} < {}", side, low, side, low + chooser_.between(1, 3));
  }

  // The same factor two or three times.
  void power(std::string& out) {
    std::string side;
    write(side, either("$", "&", 3));
    out += fmt::format("({0})*({0})", side);
    if (chooser_.chance(1, 2)) out += fmt::format("*({})", side);
  }

  void assume(std::string& out) {
    if (chooser_.chance(1, 24)) {
      power(out);
      constexpr std::int64_t kPowers[] = {4, 1, 9, 8, 16, 27, 0, -1, -8, -27};
      out += either(" == ", " <= ", 3);
      out += std::to_string(kPowers[chooser_.below(std::size(kPowers))]);
      return;
    }
    static constexpr std::string_view kForms[] = {"$ < $",  "$ < ~",  ";%# == 0", ";%# == 1",
                                                  "; <= ~", "; >= ~", "; != ~",   "; == ~"};
    write(out, kForms[chooser_.below(8)]);
  }

  static constexpr std::string_view kComparisons[] = {" < ", " >= ", " == ", " != ", " <= ", " > "};
  static constexpr Kind kKindOf[] = {Sum,     Linear, Div,     Mod,        Scale,  Digit, Undo,
                                     Div,     Mod,    Linear,  Compare,    Choice, Logic, Sum,
                                     Extreme, Digit,  Product, Truncating, Law};

  Chooser& chooser_;
  std::uint64_t left_out_;  // two bits per kind; both set: this case omits it
  std::array<std::int64_t, 3> constants_{};
  bool huge_ = false;
  int deep_ = 1;
  std::vector<std::string_view> names_;
};

}  // namespace

std::string draw_expression(Chooser& chooser) { return ExpressionDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
