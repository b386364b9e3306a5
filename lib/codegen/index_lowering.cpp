#include "touchstone/codegen/index_lowering.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace touchstone::codegen {

namespace {

using symbolic::ExprOp;
using symbolic::LoweredStep;

struct Term {
  int step;
  bool negative;
};

bool is_sum(ExprOp op) { return op == ExprOp::Add || op == ExprOp::Sub; }

IndexOp index_op(ExprOp op) {
  return std::ranges::find(index_op_table, op, &IndexOpInfo::step)->op;
}

class Lowering {
 public:
  Lowering(BlockBuilder& builder, symbolic::Node node, const std::map<std::string, int>& names)
      : builder_(builder),
        names_(names),
        steps_(symbolic::lower(node)),
        value_(steps_.size(), -1),
        terms_(steps_.size()),
        inside_sum_(steps_.size(), false) {
    find_inner_sums();
  }

  int run() {
    for (std::size_t i = 0; i < steps_.size(); ++i) emit(i);
    return value_.back();
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // A sum used only by another sum is merged into it.
  void find_inner_sums() {
    std::vector<int> uses(steps_.size(), 0), in_sums(steps_.size(), 0);
    for (const LoweredStep& step : steps_)
      for (const int a : step.args) {
        ++uses[at(a)];
        if (is_sum(step.op)) ++in_sums[at(a)];
      }
    for (std::size_t i = 0; i < steps_.size(); ++i)
      inside_sum_[i] = is_sum(steps_[i].op) && uses[i] == 1 && in_sums[i] == 1;
  }

  void emit(std::size_t i) {
    const LoweredStep& step = steps_[i];
    switch (step.op) {
      case ExprOp::Constant: value_[i] = builder_.int_const(step.value); return;
      case ExprOp::Variable: {
        const auto found = names_.find(step.name);
        if (found == names_.end())
          throw AstError(fmt::format(
              "an index uses '{}', which is not an axis or variable of the kernel", step.name));
        value_[i] = found->second;
        return;
      }
      case ExprOp::Add:
      case ExprOp::Sub: return emit_sum(i);
      case ExprOp::Div:
      case ExprOp::Mod: value_[i] = division(step); return;
      case ExprOp::Where:
        value_[i] = builder_.index(IndexOp::Where, {arg(step, 0), arg(step, 1), arg(step, 2)});
        return;
      case ExprOp::Not: value_[i] = builder_.index(IndexOp::Not, {arg(step, 0)}); return;
      default:
        value_[i] = arg(step, 0);
        for (std::size_t k = 1; k < step.args.size(); ++k)
          value_[i] = builder_.index(index_op(step.op), {value_[i], arg(step, k)});
    }
  }

  int arg(const LoweredStep& step, std::size_t k) const { return value_[at(step.args[k])]; }

  int division(const LoweredStep& step) {
    const LoweredStep& a = steps_[at(step.args[0])];
    const LoweredStep& b = steps_[at(step.args[1])];
    const bool plain = a.min.value_or(-1) >= 0 && b.min.value_or(0) > 0;
    const bool div = step.op == ExprOp::Div;
    const IndexOp op = plain ? (div ? IndexOp::Div : IndexOp::Mod) : index_op(step.op);
    return builder_.index(op, {arg(step, 0), arg(step, 1)});
  }

  void emit_sum(std::size_t i) {
    const LoweredStep& step = steps_[i];
    std::vector<Term>& terms = terms_[i];
    for (std::size_t k = 0; k < step.args.size(); ++k) {
      const bool minus = step.op == ExprOp::Sub && k > 0;
      const int a = step.args[k];
      if (!inside_sum_[at(a)]) {
        terms.push_back({a, minus});
        continue;
      }
      for (const Term& t : terms_[at(a)]) terms.push_back({t.step, t.negative != minus});
    }
    if (inside_sum_[i]) return;
    // Reordering could overflow 64 bits only if the terms are huge.
    if (any_order_fits(terms))
      std::ranges::sort(terms, {}, [&](const Term& t) {
        return std::tuple(builder_.depth(value_[at(t.step)]), t.negative, t.step);
      });
    value_[i] = add_up(terms);
  }

  bool any_order_fits(const std::vector<Term>& terms) const {
    constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 4;
    std::int64_t total = 0;
    for (const Term& t : terms) {
      const LoweredStep& s = steps_[at(t.step)];
      const std::int64_t low = s.min.value_or(-kLimit), high = s.max.value_or(kLimit);
      if (low <= -kLimit || high >= kLimit) return false;
      total += std::max(low < 0 ? -low : low, high < 0 ? -high : high);
      if (total >= kLimit) return false;
    }
    return true;
  }

  int add_up(const std::vector<Term>& terms) {
    int sum = -1;
    for (const Term& t : terms) {
      const LoweredStep& step = steps_[at(t.step)];
      const int v = value_[at(t.step)];
      if (sum != -1)
        sum = builder_.index(t.negative ? IndexOp::Sub : IndexOp::Add, {sum, v});
      else if (!t.negative)
        sum = v;
      else if (step.op == ExprOp::Constant &&
               step.value != std::numeric_limits<std::int64_t>::min())
        sum = builder_.int_const(-step.value);
      else
        sum = builder_.index(IndexOp::Sub, {builder_.int_const(0), v});
    }
    return sum;
  }

  BlockBuilder& builder_;
  const std::map<std::string, int>& names_;
  std::vector<LoweredStep> steps_;
  std::vector<int> value_;                // by step: the value, -1 inside a sum
  std::vector<std::vector<Term>> terms_;  // by sum
  std::vector<bool> inside_sum_;
};

}  // namespace

int lower_index(BlockBuilder& builder, symbolic::Node node,
                const std::map<std::string, int>& names) {
  return Lowering(builder, node, names).run();
}

}  // namespace touchstone::codegen
