// Operators on nodes, text and derivations build the same node.
#include <gtest/gtest.h>

#include <cstdlib>

#include <fmt/format.h>

#include "drawn.h"
#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/read/canonical_builder.h"

namespace touchstone::symbolic {
namespace {

Node operated(ExprOp op, const std::vector<Node>& a) {
  switch (op) {
    case ExprOp::Or: return logical_or(a[0], a[1]);
    case ExprOp::And: return logical_and(a[0], a[1]);
    case ExprOp::Not: return logical_not(a[0]);
    case ExprOp::Lt: return lt(a[0], a[1]);
    case ExprOp::Gt: return gt(a[0], a[1]);
    case ExprOp::Le: return le(a[0], a[1]);
    case ExprOp::Ge: return ge(a[0], a[1]);
    case ExprOp::Eq: return eq(a[0], a[1]);
    case ExprOp::Ne: return ne(a[0], a[1]);
    case ExprOp::Add: return a[0] + a[1];
    case ExprOp::Sub: return a[0] - a[1];
    case ExprOp::Mul: return a[0] * a[1];
    case ExprOp::Div: return floor_div(a[0], a[1]);
    case ExprOp::Mod: return floor_mod(a[0], a[1]);
    case ExprOp::Neg: return -a[0];
    case ExprOp::Min: return min(a[0], a[1]);
    case ExprOp::Max: return max(a[0], a[1]);
    default: return where(a[0], a[1], a[2]);
  }
}

/// Choices, extremes and comparisons in each other, which the fuzzer draws less often.
std::string nested(fuzz::RandomChooser& c, int depth) {
  if (depth == 0 || c.below(8) == 0)
    return c.below(3) == 0 ? std::to_string(c.below(9)) : std::string(1, "xyz"[c.below(3)]);
  const std::string p = nested(c, depth - 1), q = nested(c, depth - 1);
  const auto number = c.below(7) + 2;
  switch (c.below(10)) {
    case 0: return fmt::format("({} + {})", p, q);
    case 1: return fmt::format("({} - {})", p, q);
    case 2: return fmt::format("({})*{}", p, number);
    case 3: return fmt::format("({})//{}", p, number);
    case 4: return fmt::format("({})%{}", p, number);
    case 5: return fmt::format("min({}, {})", p, q);
    case 6: return fmt::format("max({}, {})", p, q);
    case 7: return fmt::format("({} < {})", p, q);
    case 8: return fmt::format("({})*({})", p, q);
    default: return fmt::format("where({}, {}, {})", p, q, nested(c, depth - 1));
  }
}

/// True if operators have a say: no truncating division, two operands in each extreme.
bool by_operators(const Exprs& exprs, Expr root) {
  return exprs.size(root) <= 60 && std::ranges::all_of(exprs.parts(root), [&](Expr e) {
           const ExprOp op = exprs.op(e);
           if (op == ExprOp::Constant) return exprs.value(e).is_small();
           if (op == ExprOp::Min || op == ExprOp::Max) return exprs.args(e).size() == 2;
           return op != ExprOp::TruncDiv && op != ExprOp::TruncMod;
         });
}

/// The node that a door leads to, or why it refuses.
template <class Door>
std::pair<std::optional<Node>, std::string> through(const Door& door) {
  try {
    return {door(), ""};
  } catch (const Error& e) {
    const bool by_zero = std::string_view(e.what()).find("by zero") != std::string_view::npos;
    return {std::nullopt, by_zero ? "division by zero" : e.what()};
  }
}

/// True if all doors lead to one node, or refuse a division by zero: text may do without it where
/// operators, which take part by part, may not.
bool same(const Drawn& drawn, int& built) {
  Exprs exprs;
  const Expr root = parse_expr(exprs, drawn.root);
  if (!by_operators(exprs, root)) return true;
  Context context;
  std::map<std::string, Node> names;
  for (const auto& [name, range] : drawn.ranges())
    names.emplace(name, context.variable(name, range));
  const auto operators = through([&] {
    std::map<Expr, Node> now;
    for (const Expr e : exprs.parts(root)) {
      std::vector<Node> args;
      for (const Expr a : exprs.args(e)) args.push_back(now.at(a));
      const ExprOp op = exprs.op(e);
      now.emplace(e, op == ExprOp::Constant   ? context.constant(*exprs.value(e).small())
                     : op == ExprOp::Variable ? names.at(std::string(exprs.name(e)))
                                              : operated(op, args));
    }
    return now.at(root);
  });
  const auto text = through([&] { return parse(drawn.root, names, context); });
  const auto derivation = through([&] {
    CanonicalBuilder builder(names, context);
    const std::lock_guard lock(context.mutex());
    return context.handle(read_expression(drawn.root, builder));
  });
  if (!operators.first)
    return operators.second == "division by zero" &&
           (text.first || text.second == operators.second);
  if (!text.first || !derivation.first) return false;
  ++built;
  return render(*operators.first) == render(*text.first) && operators.first == derivation.first;
}

TEST(Doors, LeadToTheSameNode) {
  const char* const asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
  const std::uint64_t count = asked ? std::strtoull(asked, nullptr, 10) : 4'000;
  int built = 0;
  for (std::uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const Drawn drawn(77, i);
    EXPECT_TRUE(same(drawn, built)) << drawn.text;
    fuzz::RandomChooser chooser(5, i);
    const Drawn deep("x=0.. y=.. z=0..31 | " + nested(chooser, 4));
    EXPECT_TRUE(i % 4 != 0 || same(deep, built)) << deep.text;
  }
  EXPECT_GT(built, static_cast<int>(count));
}

}  // namespace
}  // namespace touchstone::symbolic
