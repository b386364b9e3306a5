#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "touchstone/fuzz/index/expression_case.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;
using symbolic::Int;
using symbolic::Path;

/// Smaller cases; shrinks roots and assumptions alike.
class SmallerExpression {
 public:
  explicit SmallerExpression(ExpressionCase c) : case_(std::move(c)), exprs_(case_.exprs) {
    roots_.push_back(case_.root);
    roots_.insert(roots_.end(), case_.assumptions.begin(), case_.assumptions.end());
  }

  std::vector<std::string> all() {
    for (std::size_t i = 1; i < roots_.size(); ++i) {
      std::vector<Expr> fewer = roots_;
      drop(fewer, i);
      emit(fewer, case_.variables);
    }
    for (std::size_t i = 0; i < roots_.size(); ++i) trees(i);
    for (std::size_t i = 0; i < case_.variables.size(); ++i) ranges(i);
    constants();
    parts();
    return std::move(out_);
  }

 private:
  void emit(const std::vector<Expr>& roots,
            const std::vector<ExpressionCase::Variable>& variables) {
    ExpressionCase c;
    c.exprs = exprs_;
    c.variables = variables;
    c.root = roots[0];
    c.assumptions.assign(roots.begin() + 1, roots.end());
    out_.push_back(c.str());
  }

  void with(std::size_t i, const Path& path, Expr part) {
    std::vector<Expr> roots = roots_;
    roots[i] = exprs_.replace(roots[i], path, part);
    emit(roots, case_.variables);
  }

  void trees(std::size_t i) {
    std::vector<Path> paths{{}};  // larger parts first
    for (std::size_t at = 0; at < paths.size() && paths.size() < 400; ++at) {
      const Expr e = *exprs_.at(roots_[i], paths[at]);
      for (std::uint32_t a = 0; a < exprs_.args(e).size(); ++a) {
        paths.push_back(paths[at]);
        paths.back().push_back(a);
      }
    }
    for (const Path& path : paths) {
      const Expr e = *exprs_.at(roots_[i], path);
      const std::vector<Expr> args(exprs_.args(e).begin(), exprs_.args(e).end());
      for (const Expr a : args) with(i, path, a);
      like_terms(i, path, e);
      for (const int k : {0, 1})
        if (!exprs_.is_constant(e)) with(i, path, exprs_.constant(k));
      if (exprs_.op(e) == ExprOp::Variable) {
        for (const ExpressionCase::Variable& v : case_.variables)
          if (v.name < exprs_.name(e)) with(i, path, exprs_.variable(v.name));
      } else if (args.size() > 1 && !case_.variables.empty()) {
        for (const ExpressionCase::Variable& v : case_.variables)
          with(i, path, exprs_.variable(v.name));
      }
      if (!exprs_.is_constant(e)) continue;
      const Int value = exprs_.value(e);
      for (const Int& k :
           {Int(0), Int(1), Int(2), -value, floor_div(value, 2), value - value.sign()})
        if (k != value) with(i, path, exprs_.constant(k));
    }
  }

  struct Term {
    Int factor;
    Expr of;
  };
  // The terms of nested sums, each with its factor; constants are multiples of 1.
  void flatten(Expr e, const Int& factor, std::vector<Term>& terms) {
    const std::vector<Expr> args(exprs_.args(e).begin(), exprs_.args(e).end());
    switch (exprs_.op(e)) {
      case ExprOp::Neg: return flatten(args[0], -factor, terms);
      case ExprOp::Add:
      case ExprOp::Sub:
        flatten(args[0], factor, terms);
        return flatten(args[1], exprs_.op(e) == ExprOp::Sub ? -factor : factor, terms);
      case ExprOp::Mul:
        if (!exprs_.is_constant(args[1])) break;
        return flatten(args[0], factor * exprs_.value(args[1]), terms);
      default: break;
    }
    if (exprs_.is_constant(e))
      terms.push_back({factor * exprs_.value(e), exprs_.constant(1)});
    else
      terms.push_back({factor, e});
  }

  Expr sum_of(const std::vector<Term>& terms) {
    std::optional<Expr> sum;
    for (const auto& [factor, of] : terms) {
      if (factor.is_zero()) continue;
      const bool less = sum && factor.sign() < 0;
      const Int times = less ? -factor : factor;
      const Expr term = exprs_.is_constant(of) ? exprs_.constant(times)
                        : times == Int(1)      ? of
                                          : exprs_.apply(ExprOp::Mul, {of, exprs_.constant(times)});
      sum = sum ? exprs_.apply(less ? ExprOp::Sub : ExprOp::Add, {*sum, term}) : term;
    }
    return sum ? *sum : exprs_.constant(0);
  }

  // Merges two terms of a sum that are multiples of the same part.
  void like_terms(std::size_t i, const Path& path, Expr e) {
    if (exprs_.op(e) != ExprOp::Add && exprs_.op(e) != ExprOp::Sub) return;
    std::vector<Term> terms;
    flatten(e, 1, terms);
    for (std::size_t a = 0; a < terms.size(); ++a)
      for (std::size_t b = a + 1; b < terms.size(); ++b) {
        if (terms[a].of != terms[b].of) continue;
        std::vector<Term> fewer = terms;
        fewer[a].factor = fewer[a].factor + fewer[b].factor;
        drop(fewer, b);
        with(i, path, sum_of(fewer));
      }
  }

  /// The tree with every `from` replaced by `to`.
  Expr everywhere(Expr root, Expr from, Expr to) {
    std::map<Expr, Expr> now;
    for (const Expr e : exprs_.parts(root)) {
      std::vector<Expr> args;
      if (e != from)
        for (const Expr a : exprs_.args(e)) args.push_back(now.at(a));
      now[e] = e == from ? to : args.empty() ? e : exprs_.apply(exprs_.op(e), args);
    }
    return now.at(root);
  }

  void with_everywhere(Expr from, Expr to, const std::vector<ExpressionCase::Variable>& variables) {
    std::vector<Expr> roots;
    for (const Expr root : roots_) roots.push_back(everywhere(root, from, to));
    emit(roots, variables);
  }

  // Decreases a number in all its places at once, including range ends.
  void constants() {
    for (const Expr e : all_parts()) {
      if (!exprs_.is_constant(e)) continue;
      const Int value = exprs_.value(e);
      for (const Int& k : {Int(2), Int(3), floor_div(value, 2), value - 1}) {
        if (k < Int(2) || !(k < value)) continue;
        std::vector<ExpressionCase::Variable> variables = case_.variables;
        for (ExpressionCase::Variable& v : variables)
          for (std::optional<Int>* end : {&v.low, &v.high})
            if (*end && (**end == value || **end == value - 1)) **end = **end - value + k;
        const bool fits = std::ranges::none_of(
            variables, [](const auto& v) { return v.low && v.high && *v.high < *v.low; });
        if (fits) with_everywhere(e, exprs_.constant(k), std::move(variables));
      }
    }
  }

  // Replaces a part by a variable with the part's range.
  void parts() {
    constexpr std::size_t kPoints = 64;
    std::string name;
    for (const char* const free : {"x", "y", "n", "a", "b", "c", "d", "e"})
      if (name.empty() &&
          std::ranges::find(case_.variables, free, &ExpressionCase::Variable::name) ==
              case_.variables.end())
        name = free;
    if (name.empty()) return;
    PointValues values;
    take_points(values, case_.variables, 0, kPoints);
    std::vector<Expr> parts = all_parts();
    std::ranges::reverse(parts);  // large ones first
    for (const Expr e : parts) {
      if (exprs_.args(e).empty() || std::ranges::find(roots_, e) != roots_.end()) continue;
      const Column& column = values.evaluate(render(exprs_, e));
      std::optional<Int> low, high;
      for (std::size_t p = 0; p < values.points(); ++p) {
        if (!column.defined(p)) continue;
        const Int v = column.at(p);
        if (!low || v < *low) low = v;
        if (!high || *high < v) high = v;
      }
      if (!low) continue;
      std::vector<ExpressionCase::Variable> variables = case_.variables;
      variables.push_back({name, low, high});
      with_everywhere(e, exprs_.variable(name), std::move(variables));
    }
  }

  /// Of all roots, parents after their parts.
  std::vector<Expr> all_parts() const {
    std::set<Expr> all;
    for (const Expr root : roots_) {
      const std::vector<Expr> some = exprs_.parts(root);
      all.insert(some.begin(), some.end());
    }
    return {all.begin(), all.end()};
  }

  void ranges(std::size_t i) {
    const ExpressionCase::Variable& v = case_.variables[i];
    const auto to = [&](const std::optional<Int>& low, const std::optional<Int>& high) {
      if (low && high && *high < *low) return;
      std::vector<ExpressionCase::Variable> variables = case_.variables;
      variables[i].low = low;
      variables[i].high = high;
      emit(roots_, variables);
    };
    to(Int(0), Int(1));
    if (v.low && v.high) {
      const Int middle = floor_div(*v.low + *v.high, 2);
      to(v.low, v.low);
      to(v.high, v.high);
      to(v.low, middle);
      to(middle, v.high);
      to(*v.low + 1, v.high);
      to(v.low, *v.high - 1);
      to(Int(0), *v.high - *v.low);
    } else {
      to(v.low ? v.low : Int(0), v.low ? *v.low + 1 : Int(7));
      to(v.low ? v.low : Int(-8), v.high ? v.high : Int(8));
    }
  }

  ExpressionCase case_;
  Exprs exprs_;
  std::vector<Expr> roots_;
  std::vector<std::string> out_;
};

std::int64_t weight(const Int& value) {
  const std::optional<std::int64_t> small = value.small();
  if (!small) return 200 + static_cast<std::int64_t>(value.str().size());
  const auto magnitude = static_cast<std::uint64_t>(*small < 0 ? -(*small + 1) : *small);
  return 2 * static_cast<std::int64_t>(std::min<std::uint64_t>(magnitude, 40)) +
         static_cast<std::int64_t>(std::bit_width(magnitude)) + (*small < 0 ? 1 : 0);
}

}  // namespace

std::vector<std::string> smaller_expressions(const ExpressionCase& c) {
  return SmallerExpression(c).all();
}

Measure measure_of(const ExpressionCase& c, std::size_t characters) {
  Measure m{};
  std::vector<Expr> roots{c.root};
  roots.insert(roots.end(), c.assumptions.begin(), c.assumptions.end());
  for (const Expr root : roots) m[0] += static_cast<std::int64_t>(c.exprs.size(root));
  for (Expr e = 0; e < c.exprs.count(); ++e)
    if (c.exprs.is_constant(e)) m[1] += 1 + weight(c.exprs.value(e));
  for (const ExpressionCase::Variable& v : c.variables) {
    m[2] += 1;
    if (v.low && v.high)
      m[2] += weight(*v.high - *v.low) + weight(*v.low);
    else
      m[2] += 1000 + (v.low ? weight(*v.low) : 0) + (v.high ? weight(*v.high) : 500);
  }
  m[3] = static_cast<std::int64_t>(characters);
  return m;
}

}  // namespace touchstone::fuzz
