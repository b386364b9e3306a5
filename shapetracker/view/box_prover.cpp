#include "touchstone/shapetracker/view/box_prover.h"

#include <algorithm>
#include <numeric>

namespace touchstone::shapetracker {
namespace {

using Place = std::vector<std::int64_t>;

Wide choose(int n, int k) {
  Wide result = 1;
  for (int i = 1; i <= k; ++i) result = wide_mul(result, n - k + i) / i;
  return result;
}

Wide gcd(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

/// A variable as an axis of the dense array of a polynomial's coefficients.
struct PowerAxis {
  int variable;
  int degree;
  std::size_t step = 1;
};

// Calls `visit` with the index of the first coefficient of every line along the axis.
template <typename Visit>
void each_line(std::size_t size, const PowerAxis& axis, const Visit& visit) {
  const auto length = static_cast<std::size_t>(axis.degree) + 1;
  for (std::size_t first = 0; first < size; ++first)
    if (first / axis.step % length == 0) visit(first);
}

// Substitutes x = low + width * u along a line, then converts to the scaled Bernstein basis.
class LineMap {
 public:
  LineMap(int degree, std::int64_t low, Wide width) : degree_(degree), low_(low) {
    powers_.push_back(1);
    scale_ = 1;
    for (int j = 1; j <= degree; ++j) {
      powers_.push_back(wide_mul(powers_.back(), width));
      const Wide c = choose(degree, j);
      scale_ = wide_mul(scale_ / gcd(scale_, c), c);
    }
  }

  void apply(Wide* line, std::size_t step) const {
    const auto at = [&](int i) -> Wide& { return line[static_cast<std::size_t>(i) * step]; };
    for (int round = 0; low_ != 0 && round < degree_; ++round)  // Horner, once for every power
      for (int i = degree_ - 1; i >= round; --i) at(i) = wide_add(at(i), wide_mul(low_, at(i + 1)));
    for (int i = 0; i <= degree_; ++i)
      at(i) = wide_mul(wide_mul(at(i), powers_[static_cast<std::size_t>(i)]),
                       scale_ / choose(degree_, i));
    for (int k = degree_; k > 0; --k) {
      Wide sum = 0;
      for (int j = 0; j <= k; ++j) sum = wide_add(sum, wide_mul(choose(k, j), at(j)));
      at(k) = sum;
    }
  }

 private:
  int degree_;
  std::int64_t low_;
  Wide scale_;
  Small<Wide> powers_;  // of the width
};

bool all_nonnegative(const Polynomial& value, const VariableBox& box) {
  if (value.is_constant()) return value.is_zero() || value.terms()[0].factor > 0;
  return std::ranges::all_of(bernstein_coefficients(value, box), [](Wide c) { return c >= 0; });
}

// A corner where the value is negative and all assumptions hold.
std::optional<Place> bad_corner(const Polynomial& value, std::span<const Polynomial> assumptions,
                                const VariableBox& box) {
  const std::size_t corners = std::size_t{1} << box.low.size();
  for (std::size_t number = 0; number < corners; ++number) {
    Place corner = box.low;
    bool twice = false;  // the corner has another number too
    for (std::size_t i = 0; i < corner.size(); ++i)
      if ((number >> i & 1) != 0) {
        twice = twice || box.low[i] == box.high[i];
        corner[i] = box.high[i];
      }
    if (twice || value.at(corner) >= 0) continue;
    if (std::ranges::all_of(assumptions, [&](const Polynomial& g) { return g.at(corner) >= 0; }))
      return corner;
  }
  return std::nullopt;
}

bool occurs(int variable, const Polynomial& value, std::span<const Polynomial> assumptions) {
  return value.degree(variable) > 0 || std::ranges::any_of(assumptions, [&](const Polynomial& g) {
           return g.degree(variable) > 0;
         });
}

}  // namespace

std::vector<Wide> bernstein_coefficients(const Polynomial& value, const VariableBox& box) {
  Small<PowerAxis> axes;
  std::size_t size = 1;
  for (std::size_t v = box.low.size(); v-- > 0;)
    if (const int degree = value.degree(static_cast<int>(v)); degree > 0) {
      axes.push_back({static_cast<int>(v), degree, size});
      size *= static_cast<std::size_t>(degree) + 1;
    }
  std::vector<Wide> coefficients(size, 0);
  for (const Polynomial::Term& term : value.terms()) {
    std::size_t at = 0;
    for (const PowerAxis& axis : axes)
      at += axis.step * (term.powers >> (8 * axis.variable) & 0xff);
    coefficients[at] = term.factor;
  }
  for (const PowerAxis& axis : axes) {
    const auto v = static_cast<std::size_t>(axis.variable);
    const LineMap map(axis.degree, box.low[v], static_cast<Wide>(box.high[v]) - box.low[v]);
    each_line(size, axis, [&](std::size_t first) { map.apply(&coefficients[first], axis.step); });
  }
  return coefficients;
}

Proof BoxProver::nonnegative(const Polynomial& value,
                             std::span<const Polynomial> assumptions) const {
  if (all_nonnegative(value, box_)) return {Proof::Answer::Proved, {}};
  std::vector<Polynomial> never;  // the value does not matter where one of them is >= 0
  for (const Polynomial& g : assumptions) never.push_back(Polynomial(-1) - g);
  std::vector<VariableBox> left = {box_};
  for (int looked = 0; !left.empty(); ++looked) {
    if (looked >= boxes_) return {Proof::Answer::Unknown, {}};
    VariableBox box = std::move(left.back());
    left.pop_back();
    if (all_nonnegative(value, box)) continue;
    if (std::optional<Place> corner = bad_corner(value, assumptions, box))
      return {Proof::Answer::Refuted, std::move(*corner)};
    if (std::ranges::any_of(never, [&](const Polynomial& n) { return all_nonnegative(n, box); }))
      continue;
    Wide widest = 0;
    std::size_t cut = 0;
    for (std::size_t i = 0; i < box.low.size(); ++i) {
      const Wide width = static_cast<Wide>(box.high[i]) - box.low[i];
      if (width <= widest || !occurs(static_cast<int>(i), value, assumptions)) continue;
      widest = width;
      cut = i;
    }
    if (widest == 0) continue;  // a point where an assumption is negative
    VariableBox upper = box;
    box.high[cut] = static_cast<std::int64_t>(box.low[cut] + widest / 2);
    upper.low[cut] = box.high[cut] + 1;
    left.push_back(std::move(box));
    left.push_back(std::move(upper));
  }
  return {Proof::Answer::Proved, {}};
}

}  // namespace touchstone::shapetracker
