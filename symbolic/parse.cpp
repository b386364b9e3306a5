#include "touchstone/symbolic/grammar.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

/// Simplifies while it reads.
class CanonicalBuilder final : public ExpressionBuilder {
 public:
  CanonicalBuilder(const std::map<std::string, Node>& names, Context& context)
      : names_(names), c_(context), s_(context) {}

  Value constant(const Int& value) override { return c_.make_constant(value); }

  std::optional<Value> name(std::string_view name) override {
    const auto known = names_.find(std::string(name));
    if (known == names_.end()) return std::nullopt;
    const Node n = known->second;
    return n.context() == &c_ ? n.id() : c_.make_constant((*n.context())[n.id()].first);
  }

  std::string known_names() const override {
    return names_.empty() ? "a number, since no names were given"
                          : fmt::format("one of the {} names given, as \"{}\"", names_.size(),
                                        names_.begin()->first);
  }

  bool is_zero(Value value) const override {
    return c_[value].kind == Kind::Constant && c_[value].first.is_zero();
  }

  Value apply(ExprOp op, std::span<const Value> args) override;
  Value chain(std::span<const ExprOp> ops, std::span<const Value> values) override;

 private:
  Id compare(ExprOp op, Id a, Id b);
  Id truncated(Id a, Id b, bool remainder);

  const std::map<std::string, Node>& names_;
  Context& c_;
  Simplifier s_;
};

ExpressionBuilder::Value CanonicalBuilder::chain(std::span<const ExprOp> ops,
                                                 std::span<const Value> values) {
  if (ops[0] == ExprOp::And) return s_.both(values);
  if (ops[0] == ExprOp::Or) return s_.either(values);
  Terms terms{{1, values[0]}};  // one sort for the sum instead of one a term
  for (std::size_t i = 0; i < ops.size(); ++i)
    terms.push_back({ops[i] == ExprOp::Sub ? -1 : 1, values[i + 1]});
  return s_.add_all(terms);
}

ExpressionBuilder::Value CanonicalBuilder::apply(ExprOp op, std::span<const Value> args) {
  const auto part = [&](std::size_t i) { return s_.linear(args[i]); };
  switch (op) {
    case ExprOp::Neg:
      return s_.build(-part(0));
    case ExprOp::Not:
      return s_.negate(s_.truth(args[0]));
    case ExprOp::Mul:
      return s_.product(args[0], args[1]);
    case ExprOp::Div:
      return s_.build(s_.divide(part(0), part(1)));
    case ExprOp::Mod:
      return s_.build(s_.modulo(part(0), part(1)));
    case ExprOp::TruncDiv:
    case ExprOp::TruncMod:
      return truncated(args[0], args[1], op == ExprOp::TruncMod);
    case ExprOp::Where:
      return s_.build(s_.where(s_.truth(args[0]), part(1), part(2)));
    case ExprOp::Min:
    case ExprOp::Max: {
      const bool max = op == ExprOp::Max;
      std::vector<Linear> members;
      for (const Id id : args) members.push_back(max ? s_.linear(id) : -s_.linear(id));
      const Linear most = s_.maximum(members);
      return s_.build(max ? most : -most);
    }
    default:
      return compare(op, args[0], args[1]);
  }
}

Id CanonicalBuilder::compare(ExprOp op, Id a, Id b) {
  if (op == ExprOp::Gt || op == ExprOp::Ge) std::swap(a, b);
  Linear gap = s_.linear(a);
  s_.add(gap, b, -1);
  if (op == ExprOp::Eq) return s_.zero(std::move(gap));
  if (op == ExprOp::Ne) return s_.negate(s_.zero(std::move(gap)));
  if (op == ExprOp::Le || op == ExprOp::Ge) gap.constant -= 1;
  return s_.negative(std::move(gap));
}

Id CanonicalBuilder::truncated(Id a, Id b, bool remainder) {
  const auto sign_of = [&](const Linear& s, const Linear& minus, const Linear& plus) {
    return s_.where(s_.negative(s), minus, plus);
  };
  const Linear x = s_.linear(a), y = s_.linear(b);
  const auto over = [&](const Linear& d) { return sign_of(x, -s_.divide(-x, d), s_.divide(x, d)); };
  const Linear q = sign_of(y, -over(-y), over(y));
  if (!remainder) return s_.build(q);
  Linear r = x;
  s_.add(r, s_.multiply(y, q), -1);
  return s_.build(r);
}

}  // namespace

Node parse(const std::string& text, const std::map<std::string, Node>& names) {
  Context* context = &Context::shared();
  for (const auto& [name, node] : names)
    if (!node.is_constant()) context = node.context();
  for (const auto& [name, node] : names)
    if (!node.is_constant() && node.context() != context)
      throw Error(fmt::format("parse: \"{}\" is of another context than the other names", name));
  return parse(text, names, *context);
}

Node parse(const std::string& text, const std::map<std::string, Node>& names, Context& context) {
  const std::lock_guard lock(context.mutex());
  CanonicalBuilder builder(names, context);
  return context.handle(read_expression(text, builder));
}

}  // namespace touchstone::symbolic
