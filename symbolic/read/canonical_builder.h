#pragma once

#include <map>
#include <string>

#include "touchstone/symbolic/grammar.h"
#include "touchstone/symbolic/simplifier.h"
#include "touchstone/symbolic/tape.h"

namespace touchstone::symbolic {

/// Simplifies while it reads. The caller holds the context's lock.
class CanonicalBuilder final : public ExpressionBuilder {
 public:
  CanonicalBuilder(const std::map<std::string, Node>& names, Context& context)
      : names_(names), c_(context), s_(context) {}

  Simplifier& simplifier() { return s_; }

  /// The node of an expression that was read from `text` with names of this context. Throws
  /// ParseError that points at a division by what turns out to be 0, where that leaves the whole
  /// without a value at every point.
  Id build(const Tape& tape, std::string_view text);

  Value constant(const Int& value) override { return c_.make_constant(value); }

  std::optional<Value> name(std::string_view name) override {
    const auto known = names_.find(std::string(name));
    if (known == names_.end()) return std::nullopt;
    const Node n = known->second;
    return n.context() == &c_ ? n.id() : c_.make_constant((*n.context())[n.id()].first);
  }

  std::string known_names() const override { return declared_names(names_); }

  bool is_zero(Value value) const override {
    return c_[value].kind == Kind::Constant && c_[value].first.is_zero();
  }

  Value apply(ExprOp op, std::span<const Value> args) override;
  Value chain(std::span<const ExprOp> ops, std::span<const Value> values) override;

 private:
  /// The result of `build`, or the one remembered of the same arguments.
  template <class Build>
  Id remembered(ExprOp op, std::span<const Id> args, const Build& build);
  Id built(ExprOp op, std::span<const Id> args);
  /// Add, And, Or of any number of nodes, Sub of two.
  Id built_chain(ExprOp op, std::span<const Id> values);
  /// An operation on sums, not Mul, Not, Where or one that `chain` is for.
  Linear operated(ExprOp op, std::span<const Linear> args);
  Linear operated(ExprOp op, const Linear& a, const Linear& b);
  Id compared(ExprOp op, const Linear& a, const Linear& b);
  Linear truncated(const Linear& x, const Linear& y, bool remainder);
  class Player;

  const std::map<std::string, Node>& names_;
  Context& c_;
  Simplifier s_;
};

}  // namespace touchstone::symbolic
