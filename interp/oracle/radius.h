#pragma once

#include <span>

#include "touchstone/interp/oracle/ball.h"
#include "touchstone/interp/oracle/envelope.h"

namespace touchstone::interp {

/// The ball of element i of a block of floats in radius form: its own, else that of its interval.
/// It covers only the numbers among the legal results.
template <class T>
Ball ball_of(const LegalBlock& block, std::int64_t i) {
  if (!block.balls.empty()) return block.balls[static_cast<std::size_t>(i)];
  const Legal<T> x = block.get<T>(i);
  if (!x.number || x.any || x.has_infinity()) return Ball::unknown();
  const auto lo = static_cast<double>(scalar::detail::computing(x.lo));
  const auto hi = static_cast<double>(scalar::detail::computing(x.hi));
  return lo == hi ? Ball{lo, 0} : ball::made(lo / 2 + hi / 2, hi / 2 - lo / 2);
}

/// The ULP that the profile allows `op` at arguments of magnitude up to `size`.
double declared_ulp(Op op, const Profile& profile, double size);

/// The radius of an elementwise result, from those of its operands, by the rules of docs/oracle.md.
/// Unknown if there is no rule.
Ball ball_of_result(const ProgramNode& node, const Profile& profile, std::span<const Ball> operands,
                    double ulp);

/// True if the radius form may narrow the results of the node.
bool needs_radius(const ProgramNode& node, const Profile& profile,
                  std::span<const LegalBlock* const> operands, Form form);
/// Intersects the intervals of a float node that are not `done` with its radius form, if that may
/// narrow them, and keeps the narrower as the radius.
void apply_radius(const ProgramNode& node, const Profile& profile,
                  std::span<const LegalBlock* const> operands, Form form, const Done& done,
                  LegalBlock& out);

}  // namespace touchstone::interp
