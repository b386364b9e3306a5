#include "touchstone/interp/oracle/radius.h"

#include <algorithm>
#include <array>

#include "touchstone/interp/oracle/excess.h"
#include "touchstone/ops/op_cases.h"

namespace touchstone::interp {
namespace {

const FunctionError* error_of(Op op, const Profile& p) {
  switch (op) {
    case Op::Exp2: return &p.exp2;
    case Op::Log2: return &p.log2;
    case Op::Sin: return &p.sin;
    case Op::Sqrt: return &p.sqrt;
    case Op::Recip: return &p.recip;
    case Op::Div: return &p.div;
    case Op::Noop:
    case Op::Cast:
    case Op::Neg:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Max:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  return nullptr;
}

// True if the consumer may see the result unrounded: it need not be near a number of the type.
bool stays_unrounded(const ProgramNode& node, const Profile& profile) {
  return node.contraction.may_be_unrounded() && profile.contracts;
}

Ball exact(const ProgramNode& node, const Profile& profile, std::span<const Ball> in) {
  switch (node.op) {
    case Op::Noop:
    case Op::Cast: return in[0];
    case Op::Neg: return ball::neg(in[0]);
    case Op::Add: return ball::add(in[0], in[1]);
    case Op::Sub: return ball::sub(in[0], in[1]);
    case Op::Mul:
      if (node.contraction.is_summed && profile.product_digits != 0 && node.dtype == DType::Float32)
        return ball::mul(ball::shortened(in[0], profile.product_digits),
                         ball::shortened(in[1], profile.product_digits));
      return ball::mul(in[0], in[1]);
    case Op::Div: return ball::div(in[0], in[1]);
    case Op::Recip: return ball::div({1, 0}, in[0]);
    case Op::Sqrt: return ball::sqrt(in[0]);
    case Op::Exp2: return ball::exp2(in[0]);
    case Op::Log2: return ball::log2(in[0]);
    case Op::Sin: {
      if (in[0].most() > profile.sin_domain) return Ball::unknown();
      const Ball x = ball::sin(in[0]);
      return ball::made(x.value, x.radius + profile.sin_absolute);
    }
    case Op::Max: return ball::max(in[0], in[1]);
    case Op::Where: return ball::either(in[1], in[2]);
    case Op::Mod:
    case Op::Xor:
    case Op::MulAcc:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return Ball::unknown();
}

template <class T>
void narrow(bool outwards, bool keeps, Form form, Ball& b, LegalBlock& out, std::int64_t i) {
  Legal<T> x = out.get<T>(i);
  if (!x.number || x.any) {
    b = Ball::unknown();
    return;
  }
  if (form == Form::Radius && b.known() && !x.is_point())
    x = Legal<T>::range(infinity<T>(true), infinity<T>(), x.nan);
  if (b.known()) {
    const double lo = ball::below(b.value - b.radius);
    const double hi = ball::above(b.value + b.radius);
    T low = outwards ? legal::not_above<T>(lo) : legal::not_below<T>(lo);
    T high = outwards ? legal::not_below<T>(hi) : legal::not_above<T>(hi);
    if (is_zero_value(low)) low = scalar::neg(T{});  // either zero
    if (is_zero_value(high)) high = T{};
    Legal<T> both = x;
    if (key_less(both.lo, low)) both.lo = low;
    if (key_less(high, both.hi)) both.hi = high;
    if (!key_less(both.hi, both.lo)) x = both;
  }
  out.set<T>(i, x);
  if (!keeps || outwards || x.has_infinity()) return;
  const auto lo = static_cast<double>(scalar::detail::computing(x.lo));
  const auto hi = static_cast<double>(scalar::detail::computing(x.hi));
  if (hi / 2 - lo / 2 < b.radius)
    b = lo == hi ? Ball{lo, 0} : ball::made(lo / 2 + hi / 2, hi / 2 - lo / 2);
}

// True if the radius form may be tighter than the interval. An interval has the exact ends of a
// correctly rounded, monotone result, so it is tighter if its operands are plain intervals. A
// radius helps for unrounded terms, which no interval of the type encloses closely, and for SIN,
// which is not monotone.
bool may_narrow(const ProgramNode& node, const Profile& profile,
                std::span<const LegalBlock* const> operands) {
  if (std::ranges::any_of(operands, [](const LegalBlock* b) { return !b->balls.empty(); }))
    return true;
  const bool spreads =
      std::ranges::any_of(operands, [](const LegalBlock* b) { return !b->determined; });
  const FunctionError* error = error_of(node.op, profile);
  return spreads && ((error != nullptr && *error != FunctionError{}) || node.op == Op::Sin ||
                     stays_unrounded(node, profile));
}

// True if a result is a number of its type: then the interval subsumes the radius.
bool is_rounded(const ProgramNode& node, const Profile& profile) {
  return !info(node.op).selects && !stays_unrounded(node, profile);
}

template <class T>
void apply_typed(const ProgramNode& node, const Profile& profile,
                 std::span<const LegalBlock* const> operands, Form form, const Done& done,
                 LegalBlock& out) {
  const std::size_t first = node.op == Op::Where ? 1 : 0;
  const auto operand = [&](std::size_t k, std::int64_t i) {
    return with_storage(node.src_dtypes[k], [&]<class S>(std::type_identity<S>) {
      if constexpr (is_float_storage<S>) {
        const LegalBlock& block = *operands[k];
        const Ball x = ball_of<S>(block, i);
        const bool widens = block.balls.empty() && block.unrounded(i) &&
                            node.contraction.reads_unrounded(k) && x.known();
        return widens ? ball::within_ulp(x, 1, ball::unit_of(dtype_v<S>)) : x;
      }
      return Ball::unknown();
    });
  };
  const auto result = [&](std::int64_t i) {
    std::array<Ball, 3> in{};
    for (std::size_t k = first; k < operands.size(); ++k) {
      in[k] = operand(k, i);
      if (!in[k].known()) return Ball::unknown();
    }
    if (node.op == Op::Where) {
      const auto chosen = operands[0]->get<bool>(i);
      if (chosen.is_point()) in[1] = in[2] = chosen.lo ? in[1] : in[2];
    }
    // If a number beats NaN, the smaller operand is the result if the larger is NaN.
    if (node.op == Op::Max && profile.max != MaxOfNan::NanWins &&
        (operands[0]->get<T>(i).nan || operands[1]->get<T>(i).nan))
      return ball::either(in[0], in[1]);
    return ball_of_result(node, profile, std::span(in).first(operands.size()),
                          declared_ulp(node.op, profile, in[0].most()));
  };
  const bool outwards = stays_unrounded(node, profile);
  const bool keeps = form == Form::Radius || !is_rounded(node, profile);
  if (keeps) out.balls.resize(static_cast<std::size_t>(out.count()));
  each_open(out, done, [&](std::int64_t i) {
    Ball ball = result(i);
    narrow<T>(outwards, keeps, form, ball, out, i);
    if (keeps) out.balls[static_cast<std::size_t>(i)] = ball;
  });
}

}  // namespace

double declared_ulp(Op op, const Profile& profile, double size) {
  const FunctionError* error = error_of(op, profile);
  if (error == nullptr) return 0;
  return std::ceil(error->ulp + (error->ulp_per_x == 0 ? 0 : error->ulp_per_x * size));
}

Ball ball_of_result(const ProgramNode& node, const Profile& profile, std::span<const Ball> operands,
                    double ulp) {
  const ball::Unit& unit = ball::unit_of(node.dtype);
  std::array<Ball, 3> in{};
  const bool arithmetic = node.op != Op::Where && node.op != Op::Neg &&
                          (node.op != Op::Noop || node.rounds_to.has_value());
  for (std::size_t k = 0; k < operands.size(); ++k)
    in[k] = profile.flushes_inputs && arithmetic
                ? ball::flushed(operands[k], ball::unit_of(node.src_dtypes[k]))
                : operands[k];
  if (node.op == Op::MulAcc)
    return ball::rounded(ball::add(ball::rounded(ball::mul(in[0], in[1]), unit), in[2]), unit);
  Ball x = exact(node, profile, std::span(in).first(operands.size()));
  if (!x.known() || !arithmetic || node.op == Op::Max) return x;
  // Possibly rounded to a type with more digits first, then to the kernel's.
  const auto round = [&](const ball::Unit& to) {
    x = ball::rounded(x, to);
    if (ulp > 0) x = ball::within_ulp(x, ulp, to);
    if (profile.flushes_outputs) x = ball::flushed(x, to);
  };
  if (const auto wide = excess_type(profile, node.dtype))
    x = ball::rounded(x, ball::unit_of(*wide));
  round(unit);
  if (node.rounds_to) round(ball::unit_of(*node.rounds_to));
  return x;
}

bool needs_radius(const ProgramNode& node, const Profile& profile,
                  std::span<const LegalBlock* const> operands, Form form) {
  return form != Form::Interval && is_float(node.dtype) && !node.bitcast && node.op != Op::Mod &&
         node.op != Op::Function && (form == Form::Radius || may_narrow(node, profile, operands));
}

void apply_radius(const ProgramNode& node, const Profile& profile,
                  std::span<const LegalBlock* const> operands, Form form, const Done& done,
                  LegalBlock& out) {
  if (!needs_radius(node, profile, operands, form)) return;
  with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>) apply_typed<T>(node, profile, operands, form, done, out);
  });
}

}  // namespace touchstone::interp
