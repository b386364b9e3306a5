#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <span>
#include <string>

#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/fuzz/index/put_number.h"
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
    const std::uint64_t count = 1 + chooser_.below(3) + (many ? 5 + chooser_.below(5) : 0);
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
    out += '=';
    const auto range = [&](std::int64_t low, std::int64_t high) {
      put_number(out, low);
      out += "..";
      put_number(out, high);
      out += ' ';
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
        if (!chooser_.chance(1, 2)) put_number(out, static_cast<std::int64_t>(chooser_.below(3)));
        out += ".. ";
        return;
      default: return huge_ ? huge_range(range) : range(-c, c * 3);
    }
  }

  template <class Range>
  void huge_range(const Range& range) {
    using Limits = std::numeric_limits<std::int64_t>;
    constexpr std::int64_t kFar = std::int64_t{1} << 62;
    switch (chooser_.below(3)) {
      case 0: return range(Limits::min(), Limits::max());
      case 1: return range(chooser_.between(-9, 9), kFar - chooser_.between(0, 9));
      default: return range(-kFar + chooser_.between(0, 9), chooser_.between(-9, 9));
    }
  }

  // One operator with up to 200 operands, all small.
  void wide(std::string& out) {
    static constexpr std::string_view kOpens[] = {"max(", "min(", "(", "(", "(", "max(", "min("};
    static constexpr std::string_view kBetween[] = {", ", ", ", " and ", " or ", " + ", ", ", ", "};
    const std::uint64_t which = chooser_.below(std::size(kOpens));
    const bool flags = which == 2 || which == 3, nested = which >= 5;
    const bool sums = chooser_.chance(1, 3);
    const std::uint64_t most = chooser_.chance(1, 4) ? 199 : chooser_.chance(1, 2) ? 40 : 12;
    out += kOpens[which];
    for (std::uint64_t left = 2 + chooser_.below(most); left > 0; --left) {
      if (nested) out += which == 5 ? "min(" : "max(";
      small(out);
      if (sums) out += " + ";
      if (sums) small(out);
      if (nested) out += ", ";
      if (nested) small(out);
      if (nested) out += ')';
      if (flags) out += chooser_.chance(1, 2) ? " < " : " != ";
      if (flags) put_number(out, chooser_.between(-6, 13));
      if (left > 1) out += kBetween[which];
    }
    out += ')';
  }

  // A sum of choices on two or three conditions, some shared.
  void choices(std::string& out) {
    std::array<std::string, 3> conditions;
    for (std::string& condition : conditions) {
      small(condition);
      condition += chooser_.chance(1, 2) ? " < " : " != ";
      put_number(condition, chooser_.between(-2, 9));
    }
    const std::uint64_t few = 2 + chooser_.below(2);
    for (std::uint64_t left = 3 + chooser_.below(3); left > 0; --left) {
      out += "where(";
      out += conditions[chooser_.below(few)];
      out += ", ";
      small(out);
      out += ", ";
      if (chooser_.chance(1, 2))
        small(out);
      else
        out += '0';
      out += ')';
      if (left > 1) out += chooser_.chance(1, 4) ? " - " : " + ";
    }
  }

  // c*x + d, with c mostly 1 and d mostly 0.
  void small(std::string& out) {
    variable(out);
    if (chooser_.chance(1, 3)) {
      out += '*';
      put_number(out, chooser_.between(-3, 5));
    }
    if (!chooser_.chance(1, 2)) return;
    out += " + ";
    put_number(out, chooser_.between(0, 20));
  }

  void variable(std::string& out) { out += names_[chooser_.below(names_.size())]; }

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
      put_number(out, usual());
    } else {
      put_number(out, chooser_.between(-6, 13));
    }
  }

  // Mostly a positive constant of the case; sometimes negative, huge, a variable or an expression.
  void divisor(std::string& out, int depth) {
    switch (chooser_.below(8)) {
      default: put_number(out, usual()); return;
      case 5: put_number(out, -usual()); return;
      case 6: chooser_.chance(1, 2) ? variable(out) : constant_not_zero(out); return;
      case 7:
        if (depth <= 1) {
          variable(out);
          return;
        }
        out += "(";
        grow(out, depth - 2);
        out += " + 1)";
        return;
    }
  }

  void constant_not_zero(std::string& out) {
    const std::size_t from = out.size();
    constant(out);
    if (out.compare(from, std::string::npos, "0") == 0) out += "1";
  }

  void linear(std::string& out) {
    out += "(";
    variable(out);
    const std::uint64_t most = names_.size() > 3 && chooser_.chance(1, 2) ? 16 : 3;
    for (std::uint64_t more = 1 + chooser_.below(most); more > 0; --more) {
      out += chooser_.chance(1, 5) ? " - " : " + ";
      if (chooser_.chance(1, 4)) {
        constant(out);
        continue;
      }
      variable(out);
      if (!chooser_.chance(3, 4)) continue;
      out += '*';
      put_number(out, usual());
    }
    out += ")";
  }

  void both(std::string& out, int depth, std::string_view op) {
    out += "(";
    grow(out, depth - 1);
    out += op;
    chooser_.chance(1, 3) ? constant(out) : grow(out, depth - 1);
    out += ")";
  }

  void grow(std::string& out, int depth) {
    if (depth <= 0) {
      chooser_.chance(1, 5) ? constant(out) : variable(out);
      return;
    }
    Kind kind = kKindOf[chooser_.below(std::size(kKindOf))];
    if (!has(kind)) kind = Sum;
    switch (kind) {
      case Linear: linear(out); return;
      case Div:
      case Mod:
        out += "(";
        chooser_.chance(1, 3) ? linear(out) : grow(out, depth - 1);
        out += kind == Div ? "//" : "%";
        divisor(out, depth);
        out += ")";
        return;
      case Scale:
        if (chooser_.chance(1, 6)) {
          out += "(-(";
          grow(out, depth - 1);
          out += "))";
          return;
        }
        out += "(";
        grow(out, depth - 1);
        out += '*';
        put_number(out, chooser_.chance(1, 4) ? -usual() : usual());
        out += ')';
        return;
      case Digit: {
        const std::int64_t a = usual(), b = usual();
        out += "((";
        grow(out, depth - 1);
        out += "//";
        put_number(out, a);
        out += ")%";
        put_number(out, b);
        out += ')';
        return;
      }
      case Undo: {
        std::string x;
        grow(x, depth - 1);
        const std::int64_t a = usual(), b = chooser_.chance(1, 3) ? usual() : a;
        out += '(';
        out += x;
        out += "//";
        put_number(out, a);
        out += '*';
        put_number(out, b);
        out += " + ";
        out += x;
        out += '%';
        put_number(out, a);
        out += ')';
        return;
      }
      case Compare: {
        static constexpr std::string_view kOps[] = {" < ", " <= ", " == ", " != ", " > ", " >= "};
        both(out, depth, kOps[chooser_.below(6)]);
        return;
      }
      case Choice:
        out += "where(";
        condition(out, depth - 1);
        out += ", ";
        grow(out, depth - 1);
        out += ", ";
        grow(out, depth - 1);
        out += ")";
        return;
      case Extreme:
        out += chooser_.chance(1, 2) ? "min(" : "max(";
        grow(out, depth - 1);
        out += ", ";
        chooser_.chance(1, 2) ? constant(out) : grow(out, depth - 1);
        out += ")";
        return;
      case Logic: condition(out, depth); return;
      case Product:
        out += "(";
        variable(out);
        out += "*";
        grow(out, depth - 1);
        out += ")";
        return;
      case Law: law(out, depth); return;
      case Truncating: return truncating(out, depth);
      default: both(out, depth, chooser_.chance(1, 4) ? " - " : " + "); return;
    }
  }

  // A quotient or remainder, alone, in one arm of a choice, or both of the same operands.
  void truncating(std::string& out, int depth) {
    std::string operands;
    grow(operands, depth - 1);
    operands += ", ";
    std::string by;
    divisor(by, depth);
    operands += by + ")";
    const std::string one = chooser_.chance(1, 2) ? "tdiv(" : "tmod(";
    switch (chooser_.below(8)) {
      case 0: out += fmt::format("(tdiv({0}*{1} + tmod({0})", operands, by); return;
      case 1:
        out += fmt::format("where({0}{1} < 0, {0}{1} + {2}, {0}{1})", one, operands, by);
        return;
      case 2:
        out += fmt::format("where({} != 0, {}{}, ", by, one, operands);
        variable(out);
        out += ")";
        return;
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
      chooser_.chance(1, 2) ? put_number(text, usual()) : constant_not_zero(text);
    else if (named || chooser_.chance(1, 2))
      variable(text);
    else if (chooser_.chance(1, 2))
      linear(text);
    else
      grow(text, depth - 1);
    // Avoids division by the number zero, however written.
    const auto says = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0 || ('1' <= c && c <= '9');
    };
    return std::ranges::any_of(text, says) ? text + ")" : "(1)";
  }

  void condition(std::string& out, int depth) {
    if (depth > 1 && has(Logic) && chooser_.chance(1, 2)) {
      out += chooser_.chance(1, 4) ? "(not (" : "((";
      condition(out, depth - 1);
      out += chooser_.chance(1, 2) ? " and " : " or ";
      condition(out, depth - 1);
      out += "))";
      return;
    }
    static constexpr std::string_view kOps[] = {" < ", " >= ", " == ", " != ", " <= ", " > "};
    const std::string_view op = kOps[chooser_.below(6)];
    if (!chooser_.chance(1, 24)) return both(out, depth, op);
    out += '(';
    power(out);
    out += op;
    put_number(out, chooser_.between(-9, 9));
    out += ')';
  }

  // Assumes that a variable or a sum lies within a few numbers, perhaps one.
  void assume_window(std::string& out) {
    std::string side;
    chooser_.chance(1, 2) ? linear(side) : variable(side);
    const std::int64_t low = chooser_.between(-2, 9);
    out += fmt::format(" | {} >= {} | {} < {}", side, low, side, low + chooser_.between(1, 3));
  }

  // The same factor two or three times.
  void power(std::string& out) {
    std::string side;
    chooser_.chance(2, 3) ? variable(side) : linear(side);
    out += fmt::format("({0})*({0})", side);
    if (chooser_.chance(1, 2)) out += fmt::format("*({})", side);
  }

  void assume(std::string& out) {
    const auto side = [&] { chooser_.chance(1, 2) ? linear(out) : variable(out); };
    if (chooser_.chance(1, 24)) {
      power(out);
      out += chooser_.chance(2, 3) ? " == " : " <= ";
      constexpr std::int64_t kPowers[] = {4, 1, 9, 8, 16, 27, 0, -1, -8, -27};
      put_number(out, kPowers[chooser_.below(std::size(kPowers))]);
      return;
    }
    switch (chooser_.below(4)) {
      case 0:
        variable(out);
        out += " < ";
        chooser_.chance(1, 2) ? variable(out) : constant(out);
        return;
      case 1: {
        side();
        const auto rest = static_cast<std::int64_t>(chooser_.below(2));
        out += '%';
        put_number(out, usual());
        out += " == ";
        put_number(out, rest);
        return;
      }
      case 2:
        side();
        out += chooser_.chance(1, 2) ? " <= " : " >= ";
        constant(out);
        return;
      default:
        side();
        out += chooser_.chance(1, 2) ? " != " : " == ";
        constant(out);
        return;
    }
  }

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
