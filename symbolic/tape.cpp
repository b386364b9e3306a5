#include "touchstone/symbolic/tape.h"

#include <algorithm>
#include <limits>

#include "touchstone/base/hash.h"

namespace touchstone::symbolic {

namespace {

constexpr std::uint32_t kNoPart = 0xffffffff;

bool is_division(ExprOp op) {
  return op == ExprOp::Div || op == ExprOp::Mod || op == ExprOp::TruncDiv || op == ExprOp::TruncMod;
}

std::uint64_t hash_words(std::span<const std::uint32_t> words) {
  return hash_bytes({reinterpret_cast<const char*>(words.data()), words.size_bytes()});
}

}  // namespace

/// Writes down what the grammar reads.
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
    const Id id = n.id();
    return t_.keep(ExprOp::Variable, {&id, 1}, 1);
  }

  std::string known_names() const override {
    return names_.empty() ? "a number, since no names were given"
                          : fmt::format("one of the {} names given, as \"{}\"", names_.size(),
                                        names_.begin()->first);
  }

  bool is_zero(Value value) const override {
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
    if (t_.parts() > before && is_division(op)) t_.places_.push_back({part, place_});
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
  Short<std::uint32_t, 16> operands_;
  std::size_t place_ = 0;
};

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
  root_ = read_expression(text, builder);
  words_.push_back(root_);
  hash_ = hash_words(words_);
}

std::size_t Tape::place(Part division) const {
  return std::ranges::lower_bound(places_, division, {}, &Place::part)->at;
}

Tape::Part Tape::keep(ExprOp op, std::span<const std::uint32_t> operands, std::size_t size) {
  if (2 * (starts_.size() + 1) > table_.size()) grow_table();
  const auto hash =
      static_cast<std::uint32_t>(hash_mix(static_cast<std::uint64_t>(op), hash_words(operands)));
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  for (; table_[at].part != kNoPart; at = (at + 1) & mask) {
    if (table_[at].hash != hash) continue;
    const Step s = step(table_[at].part);
    if (s.op == op && std::ranges::equal(s.operands, operands)) return table_[at].part;
  }
  const auto part = static_cast<Part>(starts_.size());
  if (part >> 31 != 0 || words_.size() > kNoPart)
    throw Error("an expression has more than 2^31 parts");
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
