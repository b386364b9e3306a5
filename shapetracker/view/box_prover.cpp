#include "touchstone/shapetracker/view/box_prover.h"

#include <algorithm>
#include <numeric>

#include "touchstone/shapetracker/view/limits.h"

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

namespace {

__extension__ using UWide = unsigned __int128;

int bits(Wide value) {
  const UWide size = value < 0 ? -static_cast<UWide>(value) : static_cast<UWide>(value);
  const auto high = static_cast<std::uint64_t>(size >> 64), low = static_cast<std::uint64_t>(size);
  return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

[[noreturn]] void too_large() {
  throw OverflowError(
      "a polynomial of the variables has a value beyond 127 bits; narrow their bounds");
}

int power(std::uint64_t powers, int variable) {
  return static_cast<int>(powers >> (8 * variable) & 0xff);
}

}  // namespace

Wide wide_add(Wide a, Wide b) {
  Wide sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) too_large();
  return sum;
}

Wide wide_mul(Wide a, Wide b) {
  if (bits(a) + bits(b) > 126) too_large();
  return a * b;
}

std::int64_t narrow(Wide value) {
  if (value < INT64_MIN || value > INT64_MAX)
    throw OverflowError(
        "a number of the view does not fit in 64 bits; narrow the bounds of its variables");
  return static_cast<std::int64_t>(value);
}

Polynomial Polynomial::variable(int number) {
  Polynomial p;
  p.terms_.push_back({std::uint64_t{1} << (8 * number), 1});
  return p;
}

int Polynomial::degree(int variable) const {
  int most = 0;
  for (const Term& term : terms_) most = std::max(most, power(term.powers, variable));
  return most;
}

Wide Polynomial::at(std::span<const std::int64_t> values) const {
  Wide sum = 0;
  for (const Term& term : terms_) {
    Wide product = term.factor;
    std::uint64_t powers = term.powers;
    for (std::size_t i = 0; powers != 0; ++i, powers >>= 8)
      for (std::uint64_t left = powers & 0xff; left > 0; --left)
        product = wide_mul(product, values[i]);
    sum = wide_add(sum, product);
  }
  return sum;
}

Polynomial Polynomial::combine(const Polynomial& a, const Polynomial& b, int sign) {
  Polynomial result;
  result.terms_.reserve(a.terms_.size() + b.terms_.size());
  auto i = a.terms_.begin();
  auto j = b.terms_.begin();
  while (i != a.terms_.end() || j != b.terms_.end()) {
    if (j == b.terms_.end() || (i != a.terms_.end() && i->powers < j->powers)) {
      result.terms_.push_back(*i++);
    } else if (i == a.terms_.end() || j->powers < i->powers) {
      result.terms_.push_back({j->powers, sign * j->factor});
      ++j;
    } else {
      const Wide factor = wide_add(i->factor, sign * j->factor);
      if (factor != 0) result.terms_.push_back({i->powers, factor});
      ++i;
      ++j;
    }
  }
  return result;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const Polynomial::Term& left : a.terms_) {
    Polynomial row;
    for (const Polynomial::Term& right : b.terms_) {
      for (int v = 0; v < ViewLimits::kPolynomialVariables; ++v)
        if (power(left.powers, v) + power(right.powers, v) > 0xff) too_large();
      row.terms_.push_back({left.powers + right.powers, wide_mul(left.factor, right.factor)});
    }
    result = result + row;
  }
  return result;
}

std::size_t Grid::size() const {
  std::size_t size = 1;
  for (const auto& list : values) size *= list.size();
  return size;
}

std::vector<std::int64_t> Grid::point(std::size_t number) const {
  std::vector<std::int64_t> point(values.size());
  for (std::size_t i = values.size(); i-- > 0; number /= values[i].size())
    point[i] = values[i][number % values[i].size()];
  return point;
}

SubGrid present_part(const Grid& grid, const std::vector<bool>& present) {
  SubGrid part{grid, {}};
  for (std::size_t p = 0; p < present.size(); ++p) part.points.push_back(p);
  for (;;) {
    std::size_t variable = 0, most = 0;
    std::int64_t worst = 0;
    for (std::size_t v = 0; v < part.grid.values.size(); ++v)
      for (const std::int64_t value : part.grid.values[v]) {
        const auto count = static_cast<std::size_t>(std::ranges::count_if(
            part.points, [&](std::size_t p) { return !present[p] && grid.point(p)[v] == value; }));
        // Prefer the variable with more values.
        const std::size_t weight = count * part.grid.values[v].size();
        if (weight <= most) continue;
        most = weight;
        variable = v;
        worst = value;
      }
    if (most == 0) break;
    std::erase_if(part.points, [&](std::size_t p) { return grid.point(p)[variable] == worst; });
    std::erase(part.grid.values[variable], worst);
  }
  if (std::ranges::any_of(part.points, [&](std::size_t p) { return !present[p]; }))
    part.points.clear();  // there are no variables
  return part;
}

// Newton's divided differences, one variable at a time. For a polynomial with integer coefficients,
// those at integers are integers.
std::optional<Polynomial> interpolate(const Grid& grid, std::vector<Wide> values) {
  if (std::ranges::all_of(values, [&](Wide value) { return value == values[0]; }))
    return Polynomial(values[0]);
  std::size_t step = 1;
  for (std::size_t v = grid.values.size(); v-- > 0; step *= grid.values[v].size()) {
    const auto& nodes = grid.values[v];
    for (std::size_t first = 0; first < values.size(); ++first) {
      if (first / step % nodes.size() != 0) continue;
      for (std::size_t order = 1; order < nodes.size(); ++order)
        for (std::size_t i = nodes.size(); i-- > order;) {
          Wide& value = values[first + i * step];
          const Wide rise = wide_add(value, -values[first + (i - 1) * step]);
          const Wide run = static_cast<Wide>(nodes[i]) - nodes[i - order];
          if (rise % run != 0) return std::nullopt;
          value = rise / run;
        }
    }
  }
  Polynomial result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    Polynomial term = values[i];
    std::size_t rest = i;
    for (std::size_t v = grid.values.size(); v-- > 0; rest /= grid.values[v].size())
      for (std::size_t n = 0; n < rest % grid.values[v].size(); ++n)
        term = term * (Polynomial::variable(static_cast<int>(v)) - Wide{grid.values[v][n]});
    result = result + term;
  }
  return result;
}

}  // namespace touchstone::shapetracker
