// Expressions drawn by the fuzzer, and their values by the operators' definitions.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/base/hash.h"
#include "touchstone/fuzz/index/expression_case.h"
#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {

using Point = std::map<std::string, Int, std::less<>>;

/// The exact values of an expression as written.
class Definition {
 public:
  /// When a division by zero makes the value undefined: only if it matters (a `where` evaluates one
  /// arm, and a part may decide an `and` or `or`), or anywhere.
  enum class Zero { IfItMatters, Anywhere };

  Definition(const Exprs& exprs, Expr root, Zero zero = Zero::IfItMatters)
      : exprs_(exprs), parts_(exprs.parts(root)), values_(root + 1), zero_(zero) {}

  std::optional<Int> at(const Point& point) {
    for (const Expr e : parts_) {
      values_[e] = value(e, point);
      if (!values_[e] && zero_ == Zero::Anywhere) return std::nullopt;
    }
    return values_.back();
  }

 private:
  using Value = std::optional<Int>;

  Value value(Expr e, const Point& point) const {
    const ExprOp op = exprs_.op(e);
    if (op == ExprOp::Constant) return exprs_.value(e);
    if (op == ExprOp::Variable) return point.find(exprs_.name(e))->second;
    const auto arg = [&](std::size_t i) -> const Value& { return values_[exprs_.arg(e, i)]; };
    if (op == ExprOp::Where) return arg(0) ? arg(arg(0)->is_zero() ? 2 : 1) : std::nullopt;
    if (op == ExprOp::And || op == ExprOp::Or) {
      const bool decides = op == ExprOp::Or;
      for (const std::size_t i : {0U, 1U})
        if (arg(i) && arg(i)->is_zero() != decides) return Int(decides ? 1 : 0);
      return arg(0) && arg(1) ? Value(Int(decides ? 0 : 1)) : std::nullopt;
    }
    for (const Expr a : exprs_.args(e))
      if (!values_[a]) return std::nullopt;
    const Int& a = *arg(0);
    if (op == ExprOp::Min || op == ExprOp::Max) {
      Int most = a;
      for (const Expr other : exprs_.args(e))
        most = op == ExprOp::Min ? smaller(most, *values_[other]) : larger(most, *values_[other]);
      return most;
    }
    if (op == ExprOp::Not) return Int(a.is_zero() ? 1 : 0);
    if (op == ExprOp::Neg) return -a;
    return of_two(op, a, *arg(1));
  }

  static Value of_two(ExprOp op, const Int& a, const Int& b) {
    const auto flag = [](bool holds) { return Int(holds ? 1 : 0); };
    switch (op) {
      case ExprOp::Lt: return flag(a < b);
      case ExprOp::Gt: return flag(b < a);
      case ExprOp::Le: return flag(!(b < a));
      case ExprOp::Ge: return flag(!(a < b));
      case ExprOp::Eq: return flag(a == b);
      case ExprOp::Ne: return flag(!(a == b));
      case ExprOp::Add: return a + b;
      case ExprOp::Sub: return a - b;
      case ExprOp::Mul: return a * b;
      default: break;
    }
    if (b.is_zero()) return std::nullopt;
    if (op == ExprOp::Div) return floor_div(a, b);
    if (op == ExprOp::Mod) return floor_mod(a, b);
    const Int q = floor_div(abs(a), abs(b)), truncated = a.sign() * b.sign() < 0 ? -q : q;
    return op == ExprOp::TruncDiv ? truncated : a - b * truncated;
  }

  const Exprs& exprs_;
  std::vector<Expr> parts_;
  std::vector<Value> values_;  // by the index of a part; the root's is the last
  Zero zero_;
};

/// True if an extreme has more members, nested ones included, than canonicalisation handles: its
/// text may then read back as another node.
inline bool has_many_members(const Exprs& exprs, Expr root) {
  std::map<Expr, std::size_t> members;
  for (const Expr e : exprs.parts(root)) {
    const bool extreme = exprs.op(e) == ExprOp::Min || exprs.op(e) == ExprOp::Max;
    std::size_t count = extreme ? 0 : 1;
    for (const Expr a : exprs.args(e))
      count = extreme ? count + members.at(a) : std::max(count, members.at(a));
    if (count > 8) return true;
    members[e] = count;
  }
  return false;
}

/// A case of the fuzzer's area `symbolic`.
struct Drawn {
  explicit Drawn(const std::string& all) : text(all), asked(fuzz::ExpressionCase::parse(text)) {
    const fuzz::ExpressionCase::Parts parts = fuzz::ExpressionCase::split(text);
    root = std::string(parts.root);
    for (const std::string_view a : parts.assumptions) assumptions.emplace_back(a);
  }
  /// Case `index` of a seed.
  Drawn(std::uint64_t seed, std::uint64_t index) : Drawn(draw(seed, index)) {}

  static std::string draw(std::uint64_t seed, std::uint64_t index) {
    fuzz::RandomChooser chooser(hash_mix(seed, 0), index);
    return fuzz::draw_expression(chooser);
  }

  /// Variables and their ranges.
  std::vector<std::pair<std::string, Interval>> ranges() const {
    const auto end = [](const std::optional<Int>& i) { return i ? End(*i) : End(); };
    std::vector<std::pair<std::string, Interval>> all;
    for (const auto& v : asked.variables)
      all.emplace_back(v.name, Interval{end(v.low), end(v.high)});
    return all;
  }

  /// Points within the ranges: all if there are at most `most`.
  std::vector<Point> points(std::size_t most) const {
    fuzz::PointValues values;
    fuzz::take_points(values, asked.variables, asked.root, most);
    std::vector<Point> all(values.points());
    for (std::size_t v = 0; v < asked.variables.size(); ++v)
      for (std::size_t p = 0; p < all.size(); ++p)
        all[p].emplace(asked.variables[v].name, values.variable(v).at(p));
    return all;
  }
  /// The number of points; nullopt if it overflows.
  std::optional<std::int64_t> all_points() const {
    Int all = 1;
    for (const auto& v : asked.variables) {
      if (!v.low || !v.high) return std::nullopt;
      all = all * (*v.high - *v.low + 1);
    }
    return all.small();
  }

  std::string text, root;
  std::vector<std::string> assumptions;
  fuzz::ExpressionCase asked;
};

}  // namespace touchstone::symbolic
