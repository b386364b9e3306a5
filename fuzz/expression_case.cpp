#include "touchstone/fuzz/expression_case.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;
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
    bad(word, "an end of a range is a number, or nothing where it is open, as x=0..7");
  return Int::from_digits(digits);
}

ExpressionCase::Variable variable_of(std::string_view word) {
  const std::size_t equals = word.find('='), dots = word.find("..");
  if (equals == std::string_view::npos || dots == std::string_view::npos || dots < equals)
    bad(word, "a variable is written with its range, as x=0..7");
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

std::string str(const std::optional<Int>& end) { return end ? end->str() : ""; }

}  // namespace

ExpressionCase ExpressionCase::parse(std::string_view text) {
  ExpressionCase c;
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t bar = std::min(text.find('|', from), text.size());
    parts.push_back(trimmed(text.substr(from, bar - from)));
    from = bar + 1;
  }
  if (parts.size() < 2)
    throw ParseError(
        "a case of 'symbolic' is written 'x=0..7 y=-3.. | EXPRESSION | ASSUMPTION | ...'");
  for (std::string_view rest = parts[0]; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    c.variables.push_back(variable_of(rest.substr(0, space)));
    for (std::size_t i = 0; i + 1 < c.variables.size(); ++i)
      if (c.variables[i].name == c.variables.back().name) bad(rest, "a name that is there twice");
    rest = trimmed(rest.substr(space));
  }
  c.root = parse_expr(c.exprs, parts[1]);
  for (std::size_t i = 2; i < parts.size(); ++i)
    c.assumptions.push_back(parse_expr(c.exprs, parts[i]));
  for (Expr e = 0; e < c.exprs.count(); ++e)
    if (c.exprs.op(e) == ExprOp::Variable &&
        std::ranges::none_of(c.variables,
                             [&](const Variable& v) { return v.name == c.exprs.name(e); }))
      throw ParseError(fmt::format("'{}' has no range; write it as {}=0..7 before the first |",
                                   c.exprs.name(e), c.exprs.name(e)));
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
      text += fmt::format("{}={}..{} ", v.name, fuzz::str(v.low), fuzz::str(v.high));
  text += "| " + render(exprs, root);
  for (const Expr a : assumptions) text += " | " + render(exprs, a);
  return text;
}

std::vector<std::vector<Int>> points_of(const ExpressionCase& c, std::uint64_t hash,
                                        std::size_t most) {
  // Where an end is open, values on either side of 0 and far away stand for the rest.
  struct Span {
    Int low;
    std::uint64_t count;  // of values beside each other; 0: more than 64 bits tell
    bool open_low, open_high;
  };
  std::vector<Span> spans;
  std::size_t all = 1;
  for (const ExpressionCase::Variable& v : c.variables) {
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
  std::vector<std::vector<Int>> points;
  if (all <= most) {
    for (std::size_t i = 0; i < all; ++i) {
      std::vector<Int> point;
      std::size_t rest = i;
      for (const Span& s : spans) {
        point.push_back(s.low + static_cast<std::int64_t>(rest % s.count));
        rest /= s.count;
      }
      points.push_back(std::move(point));
    }
    return points;
  }
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<Int> point;
    for (std::size_t k = 0; k < spans.size(); ++k) {
      const Span& s = spans[k];
      const ExpressionCase::Variable& v = c.variables[k];
      const std::uint64_t bits = hash_mix(hash_mix(hash, i), k);
      if (v.low && (i == 0 || (i < 8 && (bits & 3) == 0))) {
        point.push_back(*v.low);
      } else if (v.high && (i == 1 || (i < 8 && (bits & 3) == 1))) {
        point.push_back(*v.high);
      } else if (s.open_high && bits % 11 == 0) {
        point.push_back(s.low + static_cast<std::int64_t>(bits >> 2));
      } else if (s.open_low && bits % 11 == 1) {
        point.push_back(s.low - static_cast<std::int64_t>(bits >> 2));
      } else {
        const std::uint64_t count = s.count == 0 ? std::uint64_t{1} << 40 : s.count;
        point.push_back(s.low + static_cast<std::int64_t>((bits >> 8) % count));
      }
    }
    points.push_back(std::move(point));
  }
  return points;
}

ExpressionValues::ExpressionValues(const Exprs& exprs,
                                   const std::vector<ExpressionCase::Variable>& variables,
                                   const std::vector<std::vector<Int>>& points)
    : points_(points.size()),
      values_(exprs.count() * points.size()),
      defined_(exprs.count() * points.size(), 1) {
  for (Expr e = 0; e < exprs.count(); ++e) {
    if (exprs.op(e) != ExprOp::Variable) {
      fill(exprs, e);
      continue;
    }
    const auto v = std::ranges::find(variables, exprs.name(e), &ExpressionCase::Variable::name);
    const auto slot = static_cast<std::size_t>(v - variables.begin());
    for (std::size_t p = 0; p < points_; ++p) {
      defined_[e * points_ + p] = slot < variables.size();
      if (slot < variables.size()) values_[e * points_ + p] = points[p][slot];
    }
  }
}

namespace {

Int truncated(const Int& a, const Int& b) {
  const Int q = floor_div(abs(a), abs(b));
  return (a.sign() < 0) == (b.sign() < 0) ? q : -q;
}

Int result(ExprOp op, const Int& a, const Int& b) {
  switch (op) {
    case ExprOp::Lt:
      return a < b ? 1 : 0;
    case ExprOp::Gt:
      return a > b ? 1 : 0;
    case ExprOp::Le:
      return a <= b ? 1 : 0;
    case ExprOp::Ge:
      return a >= b ? 1 : 0;
    case ExprOp::Eq:
      return a == b ? 1 : 0;
    case ExprOp::Ne:
      return a == b ? 0 : 1;
    case ExprOp::Add:
      return a + b;
    case ExprOp::Sub:
      return a - b;
    case ExprOp::Mul:
      return a * b;
    case ExprOp::Div:
      return floor_div(a, b);
    case ExprOp::Mod:
      return floor_mod(a, b);
    case ExprOp::TruncDiv:
      return truncated(a, b);
    case ExprOp::TruncMod:
      return a - b * truncated(a, b);
    case ExprOp::Min:
      return a < b ? a : b;
    default:
      return a < b ? b : a;
  }
}

}  // namespace

void ExpressionValues::fill(const Exprs& exprs, Expr e) {
  const ExprOp op = exprs.op(e);
  const std::span<const Expr> args = exprs.args(e);
  const auto slot = [&](std::size_t arg, std::size_t p) { return args[arg] * points_ + p; };
  const bool divides =
      op == ExprOp::Div || op == ExprOp::Mod || op == ExprOp::TruncDiv || op == ExprOp::TruncMod;
  for (std::size_t p = 0; p < points_; ++p) {
    Int& value = values_[e * points_ + p];
    unsigned char& defined = defined_[e * points_ + p];
    if (op == ExprOp::Constant) {
      value = exprs.value(e);
    } else if (op == ExprOp::And || op == ExprOp::Or) {
      const bool decisive = op == ExprOp::Or;
      bool decided = false;
      for (std::size_t i = 0; i < args.size(); ++i) {
        if (defined_[slot(i, p)] == 0)
          defined = 0;
        else if (values_[slot(i, p)].is_zero() != decisive)
          decided = true;
      }
      if (decided) defined = 1;
      value = decided == decisive ? 1 : 0;
    } else if (op == ExprOp::Where) {
      defined = defined_[slot(0, p)];
      if (defined == 0) continue;
      const std::size_t arm = slot(values_[slot(0, p)].is_zero() ? 2 : 1, p);
      defined = defined_[arm];
      value = values_[arm];
    } else {
      for (std::size_t i = 0; i < args.size(); ++i) defined &= defined_[slot(i, p)];
      if (divides && values_[slot(1, p)].is_zero()) defined = 0;
      if (defined == 0) continue;
      value = values_[slot(0, p)];
      if (op == ExprOp::Not) value = value.is_zero() ? 1 : 0;
      if (op == ExprOp::Neg) value = -value;
      for (std::size_t i = 1; i < args.size(); ++i) value = result(op, value, values_[slot(i, p)]);
    }
  }
}

}  // namespace touchstone::fuzz
