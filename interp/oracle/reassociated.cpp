#include "touchstone/interp/oracle/reassociated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "touchstone/ops/op_cases.h"

namespace touchstone::interp {
namespace {

using Terms = LegalBlock::Terms;

enum class Role : std::uint8_t { Leaf, PassedOn, Chosen, Rounded };

Role role_of(const ProgramNode& node) {
  if (!is_float(node.dtype)) return Role::Leaf;
  switch (node.op) {
    case Op::Neg:
    case Op::Noop: return Role::PassedOn;
    case Op::Where:
    case Op::Max: return Role::Chosen;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Recip:
    case Op::MulAcc: return Role::Rounded;
    case Op::Cast:
    case Op::Mod:
    case Op::Xor:
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
    case Op::Sqrt:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return Role::Leaf;
}

struct Magnitudes {
  double least, most;
};

template <class T>
Magnitudes magnitudes(const Legal<T>& x) {
  if (!x.number || x.any) return {0, std::numeric_limits<double>::infinity()};
  const double lo = std::abs(static_cast<double>(scalar::detail::computing(x.lo)));
  const double hi = std::abs(static_cast<double>(scalar::detail::computing(x.hi)));
  return {x.has_zero() ? 0 : std::min(lo, hi), std::max(lo, hi)};
}

template <class T>
Terms terms_of(const LegalBlock& block, std::int64_t i) {
  if (!block.terms.empty()) return block.terms[static_cast<std::size_t>(i)];
  const Magnitudes x = magnitudes(block.get<T>(i));
  return {x.most, std::max(x.most, 1.0), std::min(x.least, 1.0)};
}

template <class T>
Terms combined(Op op, const Terms& a, const Terms& b, const Legal<T>& divisor,
               const Legal<T>& result) {
  if (op == Op::Neg || op == Op::Noop) return a;
  if (op == Op::Where || op == Op::Max)
    return {std::max(a.sum, b.sum), std::max(a.most, b.most), std::min(a.least, b.least)};
  if (op == Op::Mul) return {a.sum * b.sum, a.most * b.most, a.least * b.least};
  if (op == Op::Div || op == Op::Recip)
    return {a.sum / magnitudes(divisor).least, a.most / b.least, a.least / b.most};
  return {a.sum + b.sum, a.most + b.most, std::min(magnitudes(result).least, 1.0)};  // ADD, SUB
}

// `type`: the narrowest to which a part of the expression is rounded.
template <class T>
void extend(Legal<T>& x, const Terms& terms, double roundings, DType type, const Profile& profile,
            Ball* ball) {
  const ball::Unit& unit = ball::unit_of(type);
  const double tiny = profile.flushes_outputs ? unit.least_normal : unit.absolute;
  const double error = 2 * roundings * (unit.relative * terms.sum + tiny * terms.most);
  if (!(std::max(terms.most, terms.sum) <= unit.largest) || !std::isfinite(error)) {
    x = Legal<T>::unknown();
    if (ball != nullptr) *ball = Ball::unknown();
    return;
  }
  if (ball != nullptr && ball->known()) *ball = ball::made(ball->value, ball->radius + error);
  if (!x.number || x.any) return;
  const auto lo = static_cast<double>(scalar::detail::computing(x.lo));
  const auto hi = static_cast<double>(scalar::detail::computing(x.hi));
  x.include(legal::not_above<T>(ball::below(lo - error)));
  x.include(legal::not_below<T>(ball::above(hi + error)));
  if (!x.has_zero()) return;
  x.include(T{});
  x.include(scalar::neg(T{}));
}

// A sum whose terms are expressions: the additions of all of them may be rearranged.
class RearrangedReducer : public LegalReducer {
 public:
  RearrangedReducer(const ProgramNode& node, const Profile& profile,
                    std::unique_ptr<LegalReducer> inner)
      : type_(std::min(node.rounds_to.value_or(node.dtype), node.accumulator,
                       [](DType a, DType b) { return info(a).digits < info(b).digits; })),
        profile_(profile),
        inner_(std::move(inner)) {}
  RearrangedReducer(const RearrangedReducer& other)
      : LegalReducer(other),
        type_(other.type_),
        profile_(other.profile_),
        terms_(other.terms_),
        roundings_(other.roundings_),
        inner_(other.inner_->clone()) {}

  void feed(const LegalBlock& in, std::int64_t first, std::int64_t count) override {
    inner_->feed(in, first, count);
    if (!in.adds) return;
    for (std::int64_t i = first; i < first + count; ++i) {
      terms_.sum += in.terms[static_cast<std::size_t>(i)].sum;
      terms_.most = std::max(terms_.most, in.terms[static_cast<std::size_t>(i)].most);
    }
    roundings_ += static_cast<double>(count) * (1 + in.roundings);
  }
  void skip(std::int64_t count) override { inner_->skip(count); }
  void finish(LegalBlock& out, std::int64_t at) override {
    inner_->finish(out, at);
    with_storage(out.dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (is_float_storage<T>) {
        Legal<T> x = out.get<T>(at);
        if (roundings_ > 0) extend(x, terms_, roundings_, type_, profile_, nullptr);
        out.set<T>(at, x);
      }
    });
    terms_ = kNone;
    roundings_ = 0;
  }
  std::unique_ptr<LegalReducer> clone() const override {
    return std::make_unique<RearrangedReducer>(*this);
  }

 private:
  static constexpr Terms kNone{0, 1, 1};
  DType type_;
  const Profile& profile_;
  Terms terms_ = kNone;
  double roundings_ = 0;
  std::unique_ptr<LegalReducer> inner_;
};

}  // namespace

int roundings_of(const ProgramNode& node, std::span<const LegalBlock* const> operands) {
  const Role role = role_of(node);
  if (role == Role::Leaf) return 1;
  int sum = node.op == Op::MulAcc ? 2 : role == Role::Rounded ? 1 : 0, most = 0;
  for (const LegalBlock* b : operands) {
    sum = std::min(sum + b->roundings, 1 << 29);  // shared parts may double it often
    most = std::max(most, b->roundings);
  }
  return role == Role::Chosen ? most : sum;
}

void extend_to_rearranged(const ProgramNode& node, const Profile& profile,
                          std::span<const LegalBlock* const> operands, LegalBlock& out) {
  out.roundings = roundings_of(node, operands);
  const Role role = role_of(node);
  if (role == Role::Leaf) return;
  out.adds = node.op == Op::Add || node.op == Op::Sub || node.op == Op::MulAcc ||
             std::ranges::any_of(operands, [](const LegalBlock* b) { return b->adds; });
  const std::span<const LegalBlock* const> in =
      operands.last(node.op == Op::Where ? 2 : operands.size());
  with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>) {
      std::vector<Terms> all(static_cast<std::size_t>(out.count()));
      for (std::int64_t i = 0; i < out.count(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const Terms one{1, 1, 1};
        const bool inverts = node.op == Op::Recip;
        const Terms a = inverts ? one : terms_of<T>(*in[0], i), b = terms_of<T>(*in.back(), i);
        Legal<T> x = out.get<T>(i);
        const auto join = [&](Op op, const Terms& first, const Terms& second) {
          return combined(op, first, second, in.back()->get<T>(i), x);
        };
        all[at] = node.op == Op::MulAcc ? join(Op::Add, join(Op::Mul, a, terms_of<T>(*in[1], i)), b)
                                        : join(node.op, a, b);
        if (role != Role::Rounded || out.roundings < 2) continue;
        extend(x, all[at], out.roundings, node.rounds_to.value_or(node.dtype), profile,
               out.balls.empty() ? nullptr : &out.balls[at]);
        out.set<T>(i, x);
      }
      out.terms = std::move(all);
    }
  });
}

std::unique_ptr<LegalReducer> rearranged_reducer(const ProgramNode& node, const Profile& profile,
                                                 std::unique_ptr<LegalReducer> inner) {
  return std::make_unique<RearrangedReducer>(node, profile, std::move(inner));
}

}  // namespace touchstone::interp
