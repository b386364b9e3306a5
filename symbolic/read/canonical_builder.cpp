#include "touchstone/symbolic/read/canonical_builder.h"

#include <algorithm>

#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

ExpressionBuilder::Value CanonicalBuilder::chain(std::span<const ExprOp> ops,
                                                 std::span<const Value> values) {
  if (ops[0] == ExprOp::And || ops[0] == ExprOp::Or) return apply(ops[0], values);
  Terms terms{{1, values[0]}};
  for (std::size_t i = 0; i < ops.size(); ++i)
    terms.push_back({ops[i] == ExprOp::Sub ? -1 : 1, values[i + 1]});
  return s_.chain(terms);
}

ExpressionBuilder::Value CanonicalBuilder::apply(ExprOp op, std::span<const Value> args) {
  if (s_.traced()) return s_.operate(op, args);  // the steps must be traced
  if (const auto known = c_.recall(op, args)) return *known;
  const Id result = s_.operate(op, args);
  c_.remember(op, args, result);
  return result;
}

/// Builds the parts of a tape, as operators on nodes would, one after the other. A sum that is
/// already canonical becomes a node only when needed: most are only the dividend or a side of
/// something.
class CanonicalBuilder::Player {
 public:
  Player(CanonicalBuilder& builder, const Tape& tape)
      : b_(builder), s_(builder.s_), t_(tape), remembers_(tape.parts() > kShort) {
    values_.reserve(tape.parts());
    sums_.reserve(std::min(tape.parts(), kShort));
  }

  Id play(std::string_view text) {
    for (Tape::Part part = 0; part < t_.parts(); ++part) {
      const Tape::Step step = t_.step(part);
      if (!nowhere_.empty() && without_value(step)) continue;
      if (divides(step.op)) {
        Linear room;
        const Linear& divisor = sum(step, 1, room);
        if (divisor.is_constant() && divisor.constant.is_zero()) {
          put_nowhere(part);
          continue;
        }
      }
      step_of(step);
    }
    if (const Value& root = values_[t_.root()]; root.id == kNowhere)
      fail_division(text, t_.place(root.sum));
    return node(t_.root());
  }

 private:
  struct Value {
    Id id;
    std::uint32_t sum;  // in sums_, if there is no node yet; for kNowhere, the division
  };
  static constexpr Id kNone = 0xffffffff;
  static constexpr Id kNowhere = 0xfffffffe;  // divides by zero everywhere
  static constexpr std::size_t kShort = 256;  // parts; longer tapes often repeat nodes

  static Tape::Part part(const Tape::Step& step, std::size_t i) { return step.operands[i] >> 1; }

  Id node(Tape::Part part) {
    Value& v = values_[part];
    if (v.id == kNone) v.id = s_.build(sums_[v.sum]);
    return v.id;
  }
  Id node(const Tape::Step& step, std::size_t i) { return node(part(step, i)); }
  /// The operand as a sum; valid until the next `put`. A node's sum is built in `room`.
  const Linear& sum(const Tape::Step& step, std::size_t i, Linear& room) {
    const Value& v = values_[part(step, i)];
    return v.id == kNone ? sums_[v.sum] : room = s_.linear(v.id);
  }

  void put_nowhere(Tape::Part division) {
    nowhere_.push_back(static_cast<Tape::Part>(values_.size()));
    values_.push_back({kNowhere, division});
  }
  /// Handles a step with undefined parts: it is undefined too, except an `and` or `or` that another
  /// part decides wherever it is defined, and a `where` with an undefined branch.
  bool without_value(const Tape::Step& step) {
    if (step.op == ExprOp::Variable || step.op == ExprOp::Constant) return false;
    std::size_t count = 0, first = 0;
    for (std::size_t i = step.operands.size(); i-- > 0;) {
      if (values_[part(step, i)].id != kNowhere) continue;
      ++count;
      first = i;
    }
    if (count == 0) return false;
    const Tape::Part cause = values_[part(step, first)].sum;
    const auto number = [&](std::size_t i) -> std::optional<bool> {  // true if nonzero
      if (values_[part(step, i)].id == kNowhere) return std::nullopt;
      const NodeData& n = b_.c_[node(step, i)];
      return n.kind == NodeKind::Constant ? std::optional(!n.first.is_zero()) : std::nullopt;
    };
    const bool decisive = step.op == ExprOp::Or;
    bool open = false;  // another part may decide
    for (std::size_t i = 0; i < step.operands.size(); ++i)
      open |= values_[part(step, i)].id != kNowhere && number(i).value_or(decisive) == decisive;
    if ((step.op == ExprOp::And || step.op == ExprOp::Or) && open)
      put(b_.c_.make_constant(decisive ? 1 : 0));
    else if (step.op == ExprOp::Where && count == 1 && first > 0 &&
             number(0).value_or(first == 2) == (first == 2))
      values_.push_back(Value(values_[part(step, 3 - first)]));
    else
      put_nowhere(cause);
    return true;
  }

  void put(Id id) { values_.push_back({id, 0}); }
  void put(Linear sum) {
    if (!s_.stands(sum)) return put(s_.build(sum));
    values_.push_back({kNone, static_cast<std::uint32_t>(sums_.size())});
    sums_.push_back(std::move(sum));
  }
  void step_of(const Tape::Step& step) {
    const std::size_t count = step.operands.size();
    switch (step.op) {
      case ExprOp::Variable: return put(step.operands[0]);
      case ExprOp::Constant:
        values_.push_back({kNone, static_cast<std::uint32_t>(sums_.size())});
        sums_.emplace_back().constant = t_.value(step);
        return;
      case ExprOp::Add: {
        const auto sign = [&](std::size_t i) { return (step.operands[i] & 1) != 0 ? -1 : 1; };
        if (count <= kLimits.chain_terms) {
          Linear r;
          for (std::size_t i = 0; i < count; ++i) {
            if (const Value& v = values_[part(step, i)]; v.id == kNone)
              s_.add(r, sums_[v.sum], sign(i));
            else
              s_.add(r, v.id, sign(i));
            if (i > 0 && i + 1 < count) s_.settle(r);
          }
          return put(std::move(r));
        }
        Terms terms;
        for (std::size_t i = 0; i < count; ++i) terms.push_back({sign(i), node(step, i)});
        return put(s_.chain(terms));
      }
      default: break;
    }
    const bool logic = step.op == ExprOp::And || step.op == ExprOp::Or || step.op == ExprOp::Where;
    if (remembers_ || logic) {
      Ids ids;
      for (std::size_t i = 0; i < count; ++i) ids.push_back(node(step, i));
      if (!s_.traced() && (step.op == ExprOp::And || step.op == ExprOp::Or))
        std::ranges::sort(ids);  // order does not matter
      return put(b_.apply(step.op, ids));
    }
    SmallVector<Linear, 2> args;
    args.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      if (const Value& v = values_[part(step, i)]; v.id == kNone)
        args.push_back(sums_[v.sum]);
      else
        args.push_back(s_.linear(v.id));
    put(s_.operate(step.op, args));
  }

  CanonicalBuilder& b_;
  Simplifier& s_;
  const Tape& t_;
  const bool remembers_;
  List<Value> values_;
  List<Linear> sums_;
  List<Tape::Part> nowhere_;  // parts that are undefined everywhere
};

Id CanonicalBuilder::build(const Tape& tape, std::string_view text) {
  return Player(*this, tape).play(text);
}

}  // namespace touchstone::symbolic
