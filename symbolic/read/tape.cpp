#include "touchstone/symbolic/read/tape.h"

#include <algorithm>
#include <limits>

#include "touchstone/base/hash.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/write/form_tree.h"

namespace touchstone::symbolic {

namespace {

constexpr std::uint32_t kNoPart = 0xffffffff;

std::uint64_t hash_words(std::span<const std::uint32_t> words) {
  return hash_bytes({reinterpret_cast<const char*>(words.data()), words.size_bytes()});
}

}  // namespace

/// Records the parsed expression.
class TapeBuilder final : public ExpressionBuilder {
 public:
  TapeBuilder(Tape& tape, const std::map<std::string, Node>& names) : t_(tape), names_(names) {}

  Value constant(const Int& value) override {
    const auto small = value.small();
    if (!small) {
      const auto at = static_cast<std::uint32_t>(t_.large_.size());
      t_.large_.push_back(value);
      return t_.keep(ExprOp::Constant, {&at, 1}, 1);
    }
    const auto bits = static_cast<std::uint64_t>(*small);
    const std::uint32_t halves[] = {static_cast<std::uint32_t>(bits),
                                    static_cast<std::uint32_t>(bits >> 32)};
    return t_.keep(ExprOp::Constant, halves, 1);
  }

  std::optional<Value> name(std::string_view name) override {
    const auto known = names_.find(std::string(name));
    if (known == names_.end()) return std::nullopt;
    const Node n = known->second;
    if (n.is_constant()) return constant((*n.context())[n.id()].first);
    return variable(n.id());
  }

  Value variable(Id id) { return t_.keep(ExprOp::Variable, {&id, 1}, 1); }

  std::string known_names() const override { return declared_names(names_); }

  // A division by 0 in a branch not taken is harmless: building the node decides.
  bool is_zero(Value) const override { return false; }
  bool is_number_zero(Value value) const {
    const Tape::Step s = t_.step(value);
    return s.op == ExprOp::Constant && t_.value(s).is_zero();
  }

  void at(std::size_t place) override { place_ = place; }

  Value apply(ExprOp op, std::span<const Value> args) override {
    if (op == ExprOp::Neg)
      if (const Tape::Step s = t_.step(args[0]); s.op == ExprOp::Constant)
        return constant(-t_.value(s));
    operands_.clear();
    std::size_t size = op == ExprOp::Min || op == ExprOp::Max ? args.size() - 1 : 1;
    for (const Value v : args) operand(v, false, size);
    const std::size_t before = t_.parts();
    const Value part = t_.keep(op, operands_, size);
    if (t_.parts() > before && divides(op)) t_.places_.push_back({part, place_});
    return part;
  }

  Value chain(std::span<const ExprOp> ops, std::span<const Value> values) override {
    operands_.clear();
    std::size_t size = ops.size();
    operand(values[0], false, size);
    for (std::size_t i = 0; i < ops.size(); ++i)
      operand(values[i + 1], ops[i] == ExprOp::Sub, size);
    return t_.keep(ops[0] == ExprOp::Sub ? ExprOp::Add : ops[0], operands_, size);
  }

 private:
  void operand(Value part, bool minus, std::size_t& size) {
    operands_.push_back(part << 1 | (minus ? 1U : 0U));
    const std::size_t more = t_.sizes_[part], most = std::numeric_limits<std::size_t>::max();
    size = size > most - more ? most : size + more;
  }

  Tape& t_;
  const std::map<std::string, Node>& names_;
  SmallVector<std::uint32_t, 16> operands_;
  std::size_t place_ = 0;
};

namespace {

/// Records a form as if its text were parsed.
class FormReader {
 public:
  FormReader(TapeBuilder& builder, const List<Form>& forms, const Context& context,
             std::span<const Id> variables)
      : b_(builder), t_(forms), c_(context), variables_(variables), known_(forms.size(), kNoPart) {}

  std::uint32_t part(int form) {
    std::uint32_t& known = known_[static_cast<std::size_t>(form)];
    if (known == kNoPart) {
      const std::uint32_t found = read(form);
      known = found;
    }
    return known;
  }
  bool refused() const { return refused_; }

 private:
  /// + and - form one chain, as when written without parentheses; so do `and` and `or`.
  bool continues(int inner, int outer) const {
    const auto is_sum = [](ExprOp op) { return op == ExprOp::Add || op == ExprOp::Sub; };
    return is_sum(t_.op(outer)) ? is_sum(t_.op(inner)) : t_.op(inner) == t_.op(outer);
  }

  std::uint32_t read(int form) {
    const ExprOp op = t_.op(form);
    switch (op) {
      case ExprOp::Constant: return b_.constant(t_.value(form));
      case ExprOp::Variable:
        for (const Id id : variables_)
          if (c_.kind(id) == NodeKind::Variable && c_[id].name == &t_.name(form))
            return b_.variable(id);
        refused_ = true;
        return b_.constant(0);
      case ExprOp::Add:
      case ExprOp::Sub:
      case ExprOp::And:
      case ExprOp::Or: return chain(form);
      default: break;
    }
    SmallVector<std::uint32_t, 4> parts;
    for (const int a : t_.args(form)) parts.push_back(part(a));
    refused_ |= divides(op) && b_.is_number_zero(parts.back());
    return b_.apply(op, parts);
  }
  std::uint32_t chain(int last) {
    SmallVector<int, 8> links{last};
    while (continues(t_.args(links.back())[0], links.back()))
      links.push_back(t_.args(links.back())[0]);
    SmallVector<ExprOp, 16> ops;
    SmallVector<std::uint32_t, 16> parts;
    parts.push_back(part(t_.args(links.back())[0]));
    for (std::size_t i = links.size(); i-- > 0;) {
      ops.push_back(t_.op(links[i]));
      parts.push_back(part(t_.args(links[i])[1]));
    }
    return b_.chain(ops, parts);
  }

  TapeBuilder& b_;
  FormTree t_;
  const Context& c_;
  std::span<const Id> variables_;
  List<std::uint32_t> known_;
  bool refused_ = false;
};

}  // namespace

bool Tape::take(const List<Form>& forms, int root, const Context& context,
                std::span<const Id> variables) {
  static const std::map<std::string, Node> kNoNames;
  clear();
  TapeBuilder builder(*this, kNoNames);
  FormReader reader(builder, forms, context, variables);
  close(reader.part(root));
  return !reader.refused();
}

std::optional<Int> Tape::divisor(const Place& division) const {
  const Step divisor = step(step(division.part).operands[1] >> 1);
  return divisor.op == ExprOp::Constant ? std::optional(value(divisor)) : std::nullopt;
}

bool Tape::divides_by_zero() const {
  return std::ranges::any_of(places_, [&](const Place& division) {
    const std::optional<Int> number = divisor(division);
    return number && number->is_zero();
  });
}

bool Tape::may_divide_by_zero() const {
  return std::ranges::any_of(places_, [&](const Place& division) {
    const std::optional<Int> number = divisor(division);
    return !number || number->is_zero();
  });
}

Expr Tape::tree(Exprs& exprs, const Context& context) const {
  std::vector<Expr> trees, args;
  for (Part i = 0; i < parts(); ++i) {
    const Step s = step(i);
    if (s.op == ExprOp::Constant) {
      trees.push_back(exprs.constant(value(s)));
      continue;
    }
    if (s.op == ExprOp::Variable) {
      trees.push_back(exprs.variable(context.name(s.operands[0])));
      continue;
    }
    args.clear();
    for (const std::uint32_t operand : s.operands) args.push_back(trees[operand >> 1]);
    const bool chained = s.op == ExprOp::Add || s.op == ExprOp::And || s.op == ExprOp::Or;
    Expr tree = chained ? args[0] : exprs.apply(s.op, args);
    for (std::size_t k = 1; chained && k < args.size(); ++k)
      tree = exprs.apply((s.operands[k] & 1) != 0 ? ExprOp::Sub : s.op, {tree, args[k]});
    trees.push_back(tree);
  }
  return trees[root_];
}

void Tape::clear() {
  words_.clear();
  starts_.clear();
  sizes_.clear();
  places_.clear();
  large_.clear();
  std::ranges::fill(table_, Slot{0, kNoPart});
}

void Tape::read(std::string_view text, const std::map<std::string, Node>& names) {
  clear();
  TapeBuilder builder(*this, names);
  close(read_expression(text, builder));
}

void Tape::close(Part root) {
  root_ = root;
  words_.push_back(root_);
  hash_ = hash_words(words_);
}

std::size_t Tape::place(Part division) const {
  return std::ranges::lower_bound(places_, division, {}, &Place::part)->at;
}

Tape::Part Tape::keep(ExprOp op, std::span<const std::uint32_t> operands, std::size_t size) {
  if (2 * (starts_.size() + 1) > table_.size()) grow_table();
  auto mixed = static_cast<std::uint64_t>(op);
  for (const std::uint32_t word : operands) mixed = hash_mix(mixed, word);
  const auto hash = static_cast<std::uint32_t>(mixed);
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  for (; table_[at].part != kNoPart; at = (at + 1) & mask) {
    if (table_[at].hash != hash) continue;
    const Step s = step(table_[at].part);
    if (s.op == op && std::ranges::equal(s.operands, operands)) return table_[at].part;
  }
  const auto part = static_cast<Part>(starts_.size());
  if (part >> 31 != 0 || words_.size() > kNoPart)
    throw Error("the expression has more than 2^31 parts");
  table_[at] = {hash, part};
  starts_.push_back(static_cast<std::uint32_t>(words_.size()));
  sizes_.push_back(size);
  words_.push_back(static_cast<std::uint32_t>(op));
  words_.push_back(static_cast<std::uint32_t>(operands.size()));
  words_.insert(words_.end(), operands.begin(), operands.end());
  return part;
}

void Tape::grow_table() {
  List<Slot> old(std::max<std::size_t>(64, 2 * table_.size()), Slot{0, kNoPart});
  old.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.part == kNoPart) continue;
    std::size_t at = slot.hash & mask;
    while (table_[at].part != kNoPart) at = (at + 1) & mask;
    table_[at] = slot;
  }
}

}  // namespace touchstone::symbolic
