#include "touchstone/symbolic/read/canonical_builder.h"

#include <algorithm>

#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

template <class Build>
Id CanonicalBuilder::remembered(ExprOp op, std::span<const Id> args, const Build& build) {
  if (s_.traced()) return build();  // the steps must be traced
  if (const auto known = c_.recall(op, args)) return *known;
  const Id result = build();
  c_.remember(op, args, result);
  return result;
}

ExpressionBuilder::Value CanonicalBuilder::chain(std::span<const ExprOp> ops,
                                                 std::span<const Value> values) {
  const bool alike = std::ranges::all_of(ops, [&](ExprOp op) { return op == ops[0]; });
  if (alike && (ops[0] != ExprOp::Sub || ops.size() == 1))
    return remembered(ops[0], values, [&] { return built_chain(ops[0], values); });
  Terms terms{{1, values[0]}};
  for (std::size_t i = 0; i < ops.size(); ++i)
    terms.push_back({ops[i] == ExprOp::Sub ? -1 : 1, values[i + 1]});
  return s_.add_all(terms);
}

Id CanonicalBuilder::built_chain(ExprOp op, std::span<const Id> values) {
  if (op == ExprOp::And) return s_.both(values);
  if (op == ExprOp::Or) return s_.either(values);
  Terms terms;  // one sort for the sum instead of one a term
  for (const Id id : values) terms.push_back({1, id});
  if (op == ExprOp::Sub) terms.back().coef = -1;
  return s_.add_all(terms);
}

ExpressionBuilder::Value CanonicalBuilder::apply(ExprOp op, std::span<const Value> args) {
  return remembered(op, args, [&] { return built(op, args); });
}

Id CanonicalBuilder::built(ExprOp op, std::span<const Id> args) {
  if (op == ExprOp::Mul) return s_.product(args[0], args[1]);
  if (op == ExprOp::Not) return s_.negate(s_.truth(args[0]));
  if (op == ExprOp::Where)
    return s_.build(s_.where(s_.truth(args[0]), s_.linear(args[1]), s_.linear(args[2])));
  List<Linear> sums;
  for (const Id id : args) sums.push_back(s_.linear(id));
  return s_.build(operated(op, sums));
}

Linear CanonicalBuilder::operated(ExprOp op, const Linear& a, const Linear& b) {
  switch (op) {
    case ExprOp::Div:
      return s_.divide(a, b);
    case ExprOp::Mod:
      return s_.modulo(a, b);
    case ExprOp::TruncDiv:
    case ExprOp::TruncMod:
      return truncated(a, b, op == ExprOp::TruncMod);
    default:
      return s_.linear(compared(op, a, b));
  }
}

Linear CanonicalBuilder::operated(ExprOp op, std::span<const Linear> args) {
  switch (op) {
    case ExprOp::Neg:
      return -args[0];
    case ExprOp::Max:
      return s_.maximum(args);
    case ExprOp::Min: {
      List<Linear> members;
      for (const Linear& a : args) members.push_back(-a);
      return -s_.maximum(members);
    }
    default:
      return operated(op, args[0], args[1]);
  }
}

Id CanonicalBuilder::compared(ExprOp op, const Linear& a, const Linear& b) {
  const bool swap = op == ExprOp::Gt || op == ExprOp::Ge;
  Linear gap = swap ? b : a;
  s_.add(gap, swap ? a : b, -1);
  if (op == ExprOp::Eq) return s_.zero(std::move(gap));
  if (op == ExprOp::Ne) return s_.negate(s_.zero(std::move(gap)));
  if (op == ExprOp::Le || op == ExprOp::Ge) gap.constant -= 1;
  return s_.negative(std::move(gap));
}

Linear CanonicalBuilder::truncated(const Linear& x, const Linear& y, bool remainder) {
  const auto sign_of = [&](const Linear& s, const Linear& minus, const Linear& plus) {
    return s_.where(s_.negative(s), minus, plus);
  };
  // The quotient has the sign of x*y, the remainder that of x; both have the magnitude of |x| over
  // |y|. In sequence: each traces its steps, and argument evaluation order is unspecified.
  const auto over = [&](const Linear& d) {
    const Linear plus = remainder ? s_.modulo(x, d) : s_.divide(x, d);
    const Linear minus = remainder ? -s_.modulo(-x, d) : -s_.divide(-x, d);
    return sign_of(x, minus, plus);
  };
  const Linear plus = over(y), negative = over(-y);
  return sign_of(y, remainder ? negative : -negative, plus);
}

/// Builds the parts of a tape. A sum that is already canonical becomes a node only when needed:
/// most are only the dividend or a side of something. A sum nested in a sum is not built
/// separately, so that joins do not depend on bracketing.
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
    std::uint32_t sum;   // in sums_, if there is no node yet; for kNowhere, the division
    bool loose = false;  // building may join its terms
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
  /// The value, built as far as required for use outside a sum.
  const Value& settled(const Tape::Step& step, std::size_t i) {
    Value& v = values_[part(step, i)];
    if (!v.loose) return v;
    v.loose = false;
    if (!s_.stands(sums_[v.sum])) v.id = s_.build(sums_[v.sum]);
    return v;
  }
  Linear sum(const Tape::Step& step, std::size_t i) {
    const Value& v = settled(step, i);
    return v.id == kNone ? sums_[v.sum] : s_.linear(v.id);
  }
  /// The same without a copy if there is no node; valid until the next `put`.
  const Linear& sum(const Tape::Step& step, std::size_t i, Linear& room) {
    const Value& v = settled(step, i);
    if (v.id == kNone) return sums_[v.sum];
    return room = s_.linear(v.id);
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
      return n.kind == Kind::Constant ? std::optional(!n.first.is_zero()) : std::nullopt;
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
  void put_loose(Linear&& sum) {
    const bool loose = sum.terms.size() <= kLimits.choice_terms;
    if (!loose && !s_.stands(sum)) return put(s_.build(sum));
    values_.push_back({kNone, static_cast<std::uint32_t>(sums_.size()), loose});
    sums_.push_back(std::move(sum));
  }
  void add(Linear& to, Tape::Part part, int sign) {
    const Value& v = values_[part];
    if (v.id == kNone)
      s_.add(to, sums_[v.sum], sign);
    else
      s_.add(to, v.id, sign);
  }

  void step_of(const Tape::Step& step) {
    switch (step.op) {
      case ExprOp::Variable:
        return put(step.operands[0]);
      case ExprOp::Constant:
        values_.push_back({kNone, static_cast<std::uint32_t>(sums_.size())});
        sums_.emplace_back().constant = t_.value(step);
        return;
      case ExprOp::Add:
        return added(step);
      case ExprOp::And:
      case ExprOp::Or: {
        Ids ids;
        for (std::size_t i = 0; i < step.operands.size(); ++i) ids.push_back(node(step, i));
        if (!s_.traced()) std::ranges::sort(ids);  // order does not matter
        return put(b_.remembered(step.op, ids, [&] { return b_.built_chain(step.op, ids); }));
      }
      case ExprOp::Not:
        return put(s_.negate(s_.truth(node(step, 0))));
      case ExprOp::Where: {  // in order: the parts are traced
        const Id condition = s_.truth(node(step, 0));
        const Id arms[] = {condition, node(step, 1), node(step, 2)};
        return put(b_.apply(step.op, arms));
      }
      case ExprOp::Mul: {
        for (const std::size_t i : {0U, 1U}) {
          const Value &factor = values_[part(step, i)], &other = values_[part(step, 1 - i)];
          if (factor.id != kNone || !other.loose || !sums_[factor.sum].is_constant()) continue;
          Linear r;
          s_.add(r, sums_[other.sum], sums_[factor.sum].constant);
          return put_loose(std::move(r));
        }
        Linear left, right;
        const Linear &a = sum(step, 0, left), &b = sum(step, 1, right);
        if (!a.is_constant() && !b.is_constant()) {
          const Id x = node(step, 0), y = node(step, 1);
          return put(s_.product(x, y));
        }
        return put(s_.multiply(a, b));
      }
      default: {
        if (remembers_) {
          Ids ids;
          for (std::size_t i = 0; i < step.operands.size(); ++i) ids.push_back(node(step, i));
          return put(b_.apply(step.op, ids));
        }
        const std::size_t count = step.operands.size();
        if (count == 2 && step.op != ExprOp::Max && step.op != ExprOp::Min) {
          Linear a, b;
          const Linear &left = sum(step, 0, a), &right = sum(step, 1, b);
          return put(b_.operated(step.op, left, right));
        }
        SmallVector<Linear, 2> args;
        args.reserve(count);
        for (std::size_t i = 0; i < count; ++i) args.push_back(sum(step, i));
        return put(b_.operated(step.op, args));
      }
    }
  }

  void added(const Tape::Step& step) {
    constexpr std::size_t kFew = 8;  // up to this many are added one by one
    const auto sign = [&](std::size_t i) { return (step.operands[i] & 1) != 0 ? -1 : 1; };
    if (step.operands.size() <= kFew) {
      Linear r;
      for (std::size_t i = 0; i < step.operands.size(); ++i) add(r, part(step, i), sign(i));
      return put_loose(std::move(r));
    }
    Terms terms;
    for (std::size_t i = 0; i < step.operands.size(); ++i)
      terms.push_back({sign(i), node(step, i)});
    put(s_.add_all(terms));
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
