#include "touchstone/symbolic/derive/arithmetic.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "touchstone/symbolic/derive/rewrite.h"

namespace touchstone::symbolic {

namespace {

bool is_ring(ExprOp op) {
  return op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::Mul || op == ExprOp::Neg;
}
bool is_comparison(ExprOp op) { return op >= ExprOp::Lt && op <= ExprOp::Ne; }
bool is_leaf(ExprOp op) { return op == ExprOp::Constant || op == ExprOp::Variable; }

/// The operands of nested uses of one operator, with their signs in a sum, unordered.
std::multiset<std::pair<bool, Expr>> operands(const Exprs& e, Expr root) {
  const auto group = [](ExprOp op) {
    return op == ExprOp::Sub || op == ExprOp::Neg ? ExprOp::Add : op;
  };
  const ExprOp op = group(e.op(root));
  std::multiset<std::pair<bool, Expr>> out;
  std::vector<std::pair<bool, Expr>> todo{{false, root}};
  while (!todo.empty()) {
    const auto [minus, part] = todo.back();
    todo.pop_back();
    if (group(e.op(part)) != op || is_leaf(op)) {
      out.emplace(minus, part);
      continue;
    }
    const auto args = e.args(part);
    for (std::size_t i = 0; i < args.size(); ++i) {
      const bool turns = e.op(part) == ExprOp::Neg || (e.op(part) == ExprOp::Sub && i == 1);
      todo.emplace_back(minus != turns, args[i]);
    }
  }
  return out;
}

Path below(const Path& path, std::uint32_t child) {
  Path longer = path;
  longer.push_back(child);
  return longer;
}

/// Visits the outermost parts for which `stop` holds; always descends into the root.
template <class Stop>
void outer_parts(const Exprs& e, Expr root, const Path& at, const Stop& stop) {
  std::vector<std::pair<Path, Expr>> todo{{at, root}};
  while (!todo.empty()) {
    const auto [path, part] = std::move(todo.back());
    todo.pop_back();
    if (part != root && stop(path, part)) continue;
    for (std::uint32_t i = 0; i < e.args(part).size(); ++i)
      todo.emplace_back(below(path, i), e.arg(part, i));
  }
}

}  // namespace

std::vector<DerivationStep> ArithmeticSteps::between(Expr before, Expr after) {
  whole_ = before;
  steps_.clear();
  todo_ = {{{}, after, false}};
  while (!todo_.empty()) {
    const Task task = std::move(todo_.back());
    todo_.pop_back();
    bridge(task);
  }
  if (whole_ != after) put({}, after, law(whole_, after));
  return std::move(steps_);
}

void ArithmeticSteps::put(const Path& path, Expr after, std::string_view law) {
  DerivationStep step;
  step.rule = law;
  step.path = path;
  step.before = *e_.at(whole_, path);
  step.after = after;
  whole_ = step.whole = e_.replace(whole_, path, after);
  step.context = e_.variable("_");
  if (step.after != step.before) steps_.push_back(std::move(step));
}

void ArithmeticSteps::bridge(const Task& task) {
  const auto& [path, after, parts_done] = task;
  const std::optional<Expr> there = e_.at(whole_, path);
  if (!there || *there == after) return;  // removed: its negation was folded into a number
  const Expr before = *there;
  if (parts_done) return put(path, after, law(before, after));
  const std::size_t count = e_.args(before).size();
  bool pairs = e_.op(before) == e_.op(after) && count == e_.args(after).size() && count > 0;
  for (std::size_t i = 0; pairs && i < count; ++i)
    pairs = ring_.normal(e_.arg(before, i)) == ring_.normal(e_.arg(after, i));
  if (pairs) {
    for (std::size_t i = count; i-- > 0;)
      todo_.push_back({below(path, static_cast<std::uint32_t>(i)), e_.arg(after, i), false});
    return;
  }
  const Expr folded = fold_identities(e_, before);
  if (e_.size(folded) < e_.size(before) && ring_.normal(folded) == ring_.normal(before)) {
    put(path, folded, "arithmetic.numbers");
    todo_.push_back(task);
    return;
  }
  if (const auto side = smaller_side(path, before)) {
    todo_.push_back(task);
    todo_.push_back(*side);
    return;
  }
  todo_.push_back({path, after, true});
  push_shared(path, before, after);
}

/// An operand that is a sum and shrinks when like terms are combined.
std::optional<ArithmeticSteps::Task> ArithmeticSteps::smaller_side(const Path& path, Expr before) {
  const ExprOp op = e_.op(before);
  if (is_ring(op) || is_leaf(op)) return std::nullopt;
  for (std::uint32_t i = 0; i < e_.args(before).size(); ++i) {
    const Expr side = e_.arg(before, i);
    if (!is_ring(e_.op(side))) continue;
    const Expr small = fold_identities(e_, text_.of(ring_.normal(side)));
    if (e_.size(small) < e_.size(side)) return Task{below(path, i), small, false};
  }
  return std::nullopt;
}

/// Rewrites the largest parts that have the normal form of a part of `after` to that part.
void ArithmeticSteps::push_shared(const Path& path, Expr before, Expr after) {
  std::unordered_map<PolyId, Expr> there;
  for (const Expr part : e_.parts(after))
    if (part != after && !is_leaf(e_.op(part))) there.emplace(ring_.normal(part), part);
  outer_parts(e_, before, path, [&](const Path& at, Expr part) {
    const auto found = there.find(ring_.normal(part));
    if (found == there.end()) return false;
    if (found->second != part) todo_.push_back({at, found->second, false});
    return true;
  });
}

bool ArithmeticSteps::only_order(Expr before, Expr after) const {
  return operands(e_, before) == operands(e_, after);
}

std::string_view ArithmeticSteps::law(Expr before, Expr after) {
  if (only_order(before, after)) return "arithmetic.order";
  std::unordered_set<PolyId> mine, others;
  const auto proper_parts = [&](Expr root, std::unordered_set<PolyId>& out) {
    for (const Expr part : e_.parts(root))
      if (part != root) out.insert(ring_.normal(part));
  };
  proper_parts(before, mine);
  proper_parts(after, others);
  std::set<ExprOp> ops;  // above the shared parts
  bool variables = false;
  const auto look = [&](Expr side, const std::unordered_set<PolyId>& other) {
    if (other.contains(ring_.normal(side))) return;  // a part of the other side
    ops.insert(e_.op(side));
    outer_parts(e_, side, {}, [&](const Path&, Expr part) {
      const ExprOp op = e_.op(part);
      const bool shared = other.contains(ring_.normal(part));
      // A quotient in a sum is an ordinary term.
      const bool term = (op == ExprOp::Div || op == ExprOp::Mod) && is_ring(e_.op(side));
      variables = variables || op == ExprOp::Variable || term || (shared && !e_.is_constant(part));
      if (!shared && !term) ops.insert(op);
      return shared || term;
    });
  };
  look(before, others);
  look(after, mine);
  const auto any = [&](const auto& test) { return std::ranges::any_of(ops, test); };
  const auto has = [&](ExprOp op) { return ops.contains(op); };
  if (!variables && e_.is_constant(after)) return "arithmetic.numbers";
  if (has(ExprOp::TruncDiv) || has(ExprOp::TruncMod)) return "arithmetic.signs";
  if (has(ExprOp::Where)) return "arithmetic.choice";
  if (has(ExprOp::Min) || has(ExprOp::Max)) return "arithmetic.extremes";
  if (has(ExprOp::And) || has(ExprOp::Or)) return "arithmetic.logic";
  if (has(ExprOp::Not) || any(is_comparison)) return "arithmetic.comparison";
  if (any(is_ring) && !has(ExprOp::Div) && !has(ExprOp::Mod)) return "arithmetic.terms";
  return kArithmetic;
}

}  // namespace touchstone::symbolic
