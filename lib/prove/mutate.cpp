#include "touchstone/prove/mutate.h"

#include <functional>

#include <fmt/format.h>

namespace touchstone::prove {

namespace {

using symbolic::Path;

/// Paths to all parts of a tree, parents first.
std::vector<Path> paths_of(const Exprs& exprs, Expr root) {
  std::vector<Path> found{{}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Expr e = *exprs.at(root, found[i]);
    if (exprs.op(e) == ExprOp::Constant || exprs.op(e) == ExprOp::Variable) continue;
    for (std::uint32_t n = 0; n < exprs.args(e).size(); ++n) {
      Path deeper = found[i];
      deeper.push_back(n);
      found.push_back(std::move(deeper));
    }
  }
  return found;
}

// The operators that take the place of another.
constexpr std::pair<ExprOp, ExprOp> kConfused[] = {
    {ExprOp::Add, ExprOp::Sub},      {ExprOp::Sub, ExprOp::Add},
    {ExprOp::Div, ExprOp::Mod},      {ExprOp::Mod, ExprOp::Div},
    {ExprOp::Min, ExprOp::Max},      {ExprOp::Max, ExprOp::Min},
    {ExprOp::And, ExprOp::Or},       {ExprOp::Or, ExprOp::And},
    {ExprOp::Lt, ExprOp::Le},        {ExprOp::Lt, ExprOp::Ge},
    {ExprOp::Le, ExprOp::Lt},        {ExprOp::Le, ExprOp::Gt},
    {ExprOp::Gt, ExprOp::Ge},        {ExprOp::Gt, ExprOp::Le},
    {ExprOp::Ge, ExprOp::Gt},        {ExprOp::Ge, ExprOp::Lt},
    {ExprOp::Eq, ExprOp::Ne},        {ExprOp::Ne, ExprOp::Eq},
    {ExprOp::TruncDiv, ExprOp::Div}, {ExprOp::TruncDiv, ExprOp::TruncMod},
    {ExprOp::TruncMod, ExprOp::Mod}, {ExprOp::TruncMod, ExprOp::TruncDiv}};

/// All mutations of one part of a side.
std::vector<Expr> changes(Exprs& exprs, Expr part) {
  const std::vector<Expr> args = [&] {
    const ExprOp op = exprs.op(part);
    if (op == ExprOp::Constant || op == ExprOp::Variable) return std::vector<Expr>();
    return std::vector<Expr>(exprs.args(part).begin(), exprs.args(part).end());
  }();
  std::vector<Expr> found;
  for (const auto& [op, other] : kConfused)
    if (op == exprs.op(part)) found.push_back(exprs.apply(other, args));
  switch (exprs.op(part)) {
    case ExprOp::Not:
    case ExprOp::Neg: found.push_back(args[0]); break;
    case ExprOp::Where:
      found.push_back(exprs.apply(ExprOp::Where, {args[0], args[2], args[1]}));
      break;
    case ExprOp::Constant: {
      const Int more = exprs.value(part) + 1;
      found.push_back(exprs.constant(more));
      break;
    }
    default: break;
  }
  return found;
}

/// All mutations of one part of a condition: signs, and inequalities widened by one.
std::vector<Expr> wider(Exprs& exprs, Expr part) {
  const ExprOp op = exprs.op(part);
  if (op == ExprOp::Add || op == ExprOp::Sub) return changes(exprs, part);
  const auto with = [&](ExprOp to, int shift) {
    const Expr a = exprs.arg(part, 0), b = exprs.arg(part, 1);
    if (shift == 0) return exprs.apply(to, {a, b});
    return exprs.apply(to, {a, exprs.apply(ExprOp::Add, {b, exprs.constant(shift)})});
  };
  switch (op) {
    case ExprOp::Lt: return {with(ExprOp::Le, 0)};
    case ExprOp::Gt: return {with(ExprOp::Ge, 0)};
    case ExprOp::Le: return {with(ExprOp::Le, 1)};
    case ExprOp::Ge: return {with(ExprOp::Ge, -1)};
    default: return {};
  }
}

}  // namespace

std::vector<Mutant> without_conditions(const Claim& claim) {
  std::vector<Mutant> found;
  for (std::size_t i = 0; i < claim.when.size(); ++i) {
    Mutant m{"without " + render(claim.exprs, claim.when[i]), claim};
    m.claim.when.erase(m.claim.when.begin() + static_cast<std::ptrdiff_t>(i));
    found.push_back(std::move(m));
  }
  return found;
}

std::vector<Mutant> mutants(const Claim& claim) {
  std::vector<Mutant> found;
  Exprs work = claim.exprs;
  const auto change = [&](Expr root, std::vector<Expr> (*how)(Exprs&, Expr), const char* where,
                          const std::function<void(Claim&, Expr)>& put) {
    for (const Path& path : paths_of(work, root)) {
      const Expr part = *work.at(root, path);
      for (const Expr to : how(work, part)) {
        const Expr whole = work.replace(root, path, to);
        Mutant m{fmt::format("{}: {} instead of {}", where, render(work, to), render(work, part)),
                 claim};
        m.claim.exprs = work;
        put(m.claim, whole);
        found.push_back(std::move(m));
      }
    }
  };
  change(claim.lhs, changes, "lhs", [](Claim& c, Expr e) { c.lhs = e; });
  change(claim.rhs, changes, "rhs", [](Claim& c, Expr e) { c.rhs = e; });
  for (std::size_t i = 0; i < claim.when.size(); ++i)
    change(claim.when[i], wider, "when", [i](Claim& c, Expr e) { c.when[i] = e; });
  return found;
}

}  // namespace touchstone::prove
