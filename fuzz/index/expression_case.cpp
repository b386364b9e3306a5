#include "touchstone/fuzz/index/expression_case.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Int;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

[[noreturn]] void bad(std::string_view word, const std::string& why) {
  throw ParseError(fmt::format("'{}': {}", word.substr(0, 60), why));
}

std::optional<Int> end_of(std::string_view digits, std::string_view word) {
  if (digits.empty()) return std::nullopt;
  const std::string_view plain = digits.substr(digits[0] == '-' ? 1 : 0);
  if (plain.empty() || plain.size() > 1000 ||
      !std::ranges::all_of(plain, [](char c) { return c >= '0' && c <= '9'; }))
    bad(word, "the end of a range must be a number, or nothing if it is open, as x=0..7");
  return Int::from_digits(digits);
}

ExpressionCase::Variable variable_of(std::string_view word) {
  const std::size_t equals = word.find('='), dots = word.find("..");
  if (equals == std::string_view::npos || dots == std::string_view::npos || dots < equals)
    bad(word, "a variable must be written with its range, as x=0..7");
  ExpressionCase::Variable v{std::string(word.substr(0, equals)), {}, {}};
  const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (v.name.empty() || std::isdigit(static_cast<unsigned char>(v.name[0])) != 0 ||
      !std::ranges::all_of(v.name, letter))
    bad(word, "the name is not an identifier");
  v.low = end_of(word.substr(equals + 1, dots - equals - 1), word);
  v.high = end_of(word.substr(dots + 2), word);
  if (v.low && v.high && *v.high < *v.low) bad(word, "the range is empty");
  return v;
}

std::string end_text(const std::optional<Int>& end) { return end ? end->str() : ""; }

}  // namespace

ExpressionCase::Parts ExpressionCase::split(std::string_view text) {
  Parts c;
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t bar = std::min(text.find('|', from), text.size());
    parts.push_back(trimmed(text.substr(from, bar - from)));
    from = bar + 1;
  }
  if (parts.size() < 2)
    throw ParseError(
        "a case of 'symbolic' must be 'x=0..7 y=-3.. | EXPRESSION | ASSUMPTION | ...'");
  for (std::string_view rest = parts[0]; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    c.variables.push_back(variable_of(rest.substr(0, space)));
    for (std::size_t i = 0; i + 1 < c.variables.size(); ++i)
      if (c.variables[i].name == c.variables.back().name) bad(rest, "a name is given twice");
    rest = trimmed(rest.substr(space));
  }
  c.root = parts[1];
  c.assumptions.assign(parts.begin() + 2, parts.end());
  return c;
}

void ExpressionCase::refuse_unknown(const std::string& name) {
  throw ParseError(
      fmt::format("'{}' has no range; write it as {}=0..7 before the first |", name, name));
}

ExpressionCase ExpressionCase::parse(std::string_view text) {
  Parts parts = split(text);
  ExpressionCase c;
  c.variables = std::move(parts.variables);
  c.root = parse_expr(c.exprs, parts.root);
  for (const std::string_view a : parts.assumptions)
    c.assumptions.push_back(parse_expr(c.exprs, a));
  for (Expr e = 0; e < c.exprs.count(); ++e)
    if (c.exprs.op(e) == ExprOp::Variable &&
        std::ranges::none_of(c.variables,
                             [&](const Variable& v) { return v.name == c.exprs.name(e); }))
      refuse_unknown(c.exprs.name(e));
  return c;
}

std::string ExpressionCase::str() const {
  std::set<std::string, std::less<>> used;
  const auto collect = [&](Expr e) {
    for (const Expr part : exprs.parts(e))
      if (exprs.op(part) == ExprOp::Variable) used.insert(exprs.name(part));
  };
  collect(root);
  for (const Expr a : assumptions) collect(a);
  std::string text;
  for (const Variable& v : variables)
    if (used.contains(v.name))
      text += fmt::format("{}={}..{} ", v.name, end_text(v.low), end_text(v.high));
  text += "| " + render(exprs, root);
  for (const Expr a : assumptions) text += " | " + render(exprs, a);
  return text;
}

void take_points(PointValues& values, const std::vector<ExpressionCase::Variable>& variables,
                 std::uint64_t hash, std::size_t most) {
  // An open end is represented by values on either side of 0 and far away.
  struct Span {
    Int low;
    std::uint64_t count;  // adjacent values; 0: more than 64 bits hold
    bool open_low, open_high;
  };
  std::vector<Span> spans;
  spans.reserve(variables.size());
  std::size_t all = 1;
  for (const ExpressionCase::Variable& v : variables) {
    Span s{v.low ? *v.low : v.high ? *v.high - 9 : Int(-5), 10, !v.low, !v.high};
    if (v.low && v.high) {
      const std::optional<std::int64_t> width = (*v.high - *v.low).small();
      s.count =
          width && *width < (std::int64_t{1} << 40) ? static_cast<std::uint64_t>(*width) + 1 : 0;
    }
    const bool few = v.low && v.high && s.count > 0 && s.count <= most;
    all = few && all <= most ? all * s.count : most + 1;
    spans.push_back(std::move(s));
  }
  values.begin(std::min(all, most));
  std::size_t before = 1;  // combinations of the variables before this one
  for (std::size_t k = 0; k < spans.size(); ++k) {
    const Span& s = spans[k];
    const ExpressionCase::Variable& v = variables[k];
    Column& column = values.add_variable(v.name);
    if (all <= most) {
      for (std::size_t i = 0; i < all; ++i)
        column.set(i, s.low + static_cast<std::int64_t>(i / before % s.count));
      before *= s.count;
      continue;
    }
    for (std::size_t i = 0; i < most; ++i) {
      const std::uint64_t bits = hash_mix(hash_mix(hash, i), k);
      if (v.low && (i == 0 || (i < 8 && (bits & 3) == 0))) {
        column.set(i, *v.low);
      } else if (v.high && (i == 1 || (i < 8 && (bits & 3) == 1))) {
        column.set(i, *v.high);
      } else if (s.open_high && bits % 11 == 0) {
        column.set(i, s.low + static_cast<std::int64_t>(bits >> 2));
      } else if (s.open_low && bits % 11 == 1) {
        column.set(i, s.low - static_cast<std::int64_t>(bits >> 2));
      } else {
        const std::uint64_t count = s.count == 0 ? std::uint64_t{1} << 40 : s.count;
        column.set(i, s.low + static_cast<std::int64_t>((bits >> 8) % count));
      }
    }
  }
}

}  // namespace touchstone::fuzz
