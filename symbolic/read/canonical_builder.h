#pragma once

#include <map>
#include <string>

#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/read/tape.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

/// Builds simplified nodes while parsing. The caller holds the context's lock.
class CanonicalBuilder final : public ExpressionBuilder {
 public:
  CanonicalBuilder(const std::map<std::string, Node>& names, Context& context)
      : names_(names), c_(context), s_(context) {}

  Simplifier& simplifier() { return s_; }
  Context& context() { return c_; }

  /// The node of an expression parsed from `text`, whose names belong to this context. Throws
  /// ParseError at the operator of a division by 0 that leaves the whole undefined at every point.
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
    return c_[value].kind == NodeKind::Constant && c_[value].first.is_zero();
  }

  Value apply(ExprOp op, std::span<const Value> args) override;
  Value chain(std::span<const ExprOp> ops, std::span<const Value> values) override;

 private:
  class Player;

  const std::map<std::string, Node>& names_;
  Context& c_;
  Simplifier s_;
};

}  // namespace touchstone::symbolic
