#include "touchstone/shapetracker/merge/affine_proof.h"

#include <algorithm>

#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

PolynomialForm scaled_sum(const PolynomialForm& a, const Polynomial& factor,
                          const PolynomialForm& b) {
  PolynomialForm sum = a;
  sum.base = sum.base + factor * b.base;
  for (std::size_t i = 0; i < sum.slopes.size(); ++i)
    if (!b.slopes[i].is_zero()) sum.slopes[i] = sum.slopes[i] + factor * b.slopes[i];
  return sum;
}

PolynomialForm negative(const PolynomialForm& form) {
  return scaled_sum({0, std::vector<Polynomial>(form.slopes.size())}, -1, form);
}

Wide floor_quotient(Wide a, Wide b) {  // b > 0
  const Wide q = a / b;
  return a % b < 0 ? q - 1 : q;
}

}  // namespace

PolynomialDigits::PolynomialDigits(const PolynomialView& view) : offset(view.offset), size(1) {
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    // Size 1 matters only if variables decide whether its index is valid.
    if (view.shape[i].is(1) && view.mask[i].first.is(0) && view.mask[i].second.is(1)) continue;
    Digit digit{size,
                view.shape[i],
                size * view.shape[i],
                view.strides[i],
                view.strides[i],
                view.mask[i].first,
                view.mask[i].second};
    if (!digits.empty()) digit.jump = digit.stride - digits.back().size * digits.back().stride;
    size = digit.span;
    digits.push_back(std::move(digit));
  }
}

AffineProof::AffineProof(const BoxProver& prover, const Grid& grid,
                         const std::vector<Polynomial>& extents, std::vector<Polynomial> given)
    : prover_(prover), grid_(grid), given_(std::move(given)) {
  for (const Polynomial& extent : extents) {
    last_.push_back(extent - 1);
    if (!prover.proves_nonnegative(last_.back())) given_.push_back(last_.back());
  }
}

// The least value of a form is at the corner chosen by the signs of its slopes; if a sign depends
// on the variables, both ends of that axis are tested.
bool AffineProof::at_least(const PolynomialForm& form, const Polynomial& low) {
  std::vector<Polynomial> corners = {form.base - low};
  for (std::size_t i = 0; i < form.slopes.size(); ++i) {
    const Polynomial& slope = form.slopes[i];
    if (slope.is_zero() || last_[i].is_zero() || nonnegative(slope)) continue;
    const Polynomial reach = slope * last_[i];
    const std::size_t count = corners.size();
    if (!nonnegative(Polynomial(0) - slope)) {
      if (2 * count > Limits::kCorners) return false;
      corners.reserve(2 * count);  // push_back must not reallocate while copying
      for (std::size_t c = 0; c < count; ++c) corners.push_back(corners[c]);
    }
    for (std::size_t c = 0; c < count; ++c) corners[c] = corners[c] + reach;
  }
  for (const Polynomial& corner : corners)
    if (!nonnegative(corner)) return false;
  return true;
}

bool AffineProof::at_most(const PolynomialForm& form, const Polynomial& high) {
  return at_least(negative(form), Polynomial(0) - high);
}

std::optional<Polynomial> AffineProof::fit(const std::vector<Wide>& values,
                                           const std::vector<bool>& present) const {
  if (std::ranges::find(present, false) == present.end()) return interpolate(grid_, values);
  const SubGrid part = present_part(grid_, present);
  if (part.points.empty()) return Polynomial(0);  // any polynomial fits
  std::vector<Wide> seen;
  for (const std::size_t p : part.points) seen.push_back(values[p]);
  return interpolate(part.grid, std::move(seen));
}

// floor(k / weight): affine iff k - weight * candidate stays in [0, weight). The only candidate has
// the floors at the low corner and one step from it.
std::optional<PolynomialForm> AffineProof::quotient(const PolynomialForm& k,
                                                    const Polynomial& weight) {
  const std::size_t count = grid_.size();
  std::vector<Wide> weights, bases, first;
  std::vector<bool> present;
  for (std::size_t p = 0; p < count; ++p) {
    const std::vector<std::int64_t> point = grid_.point(p);
    weights.push_back(weight.at(point));
    present.push_back(weights.back() > 0);  // else the view is empty for these values
    bases.push_back(k.base.at(point));
    first.push_back(present.back() ? floor_quotient(bases.back(), weights.back()) : 0);
  }
  std::optional<Polynomial> found = fit(first, present);
  if (!found) return std::nullopt;
  PolynomialForm result{std::move(*found), std::vector<Polynomial>(k.slopes.size())};
  for (std::size_t i = 0; i < k.slopes.size(); ++i) {
    if (k.slopes[i].is_zero() || last_[i].is_zero()) continue;
    std::vector<Wide> values;
    std::vector<bool> observed = present;  // the axis has a step
    for (std::size_t p = 0; p < count; ++p) {
      const std::vector<std::int64_t> point = grid_.point(p);
      observed[p] = observed[p] && last_[i].at(point) > 0;
      values.push_back(observed[p]
                           ? floor_quotient(wide_add(bases[p], k.slopes[i].at(point)), weights[p]) -
                                 first[p]
                           : 0);
    }
    found = fit(values, observed);
    if (!found) return std::nullopt;
    result.slopes[i] = std::move(*found);
  }
  const PolynomialForm residual = scaled_sum(k, Polynomial(0) - weight, result);
  if (!at_least(residual, 0) || !at_most(residual, weight - 1)) return std::nullopt;
  return result;
}

// k mod span, which the digit's mask limits.
std::optional<PolynomialForm> AffineProof::rest(const PolynomialDigits& view, std::size_t digit,
                                                const PolynomialForm& k) {
  if (digit + 1 == view.digits.size()) return k;
  const std::optional<PolynomialForm> q = quotient(k, view.digits[digit].span);
  if (!q) return std::nullopt;
  return scaled_sum(k, Polynomial(0) - view.digits[digit].span, *q);
}

std::optional<PolynomialForm> AffineProof::affine(const PolynomialDigits& view,
                                                  const PolynomialForm& k) {
  PolynomialForm result{view.offset, std::vector<Polynomial>(k.slopes.size())};
  for (std::size_t i = 0; i < view.digits.size(); ++i) {
    const PolynomialDigits::Digit& digit = view.digits[i];
    if (digit.jump.is_zero()) continue;
    const std::optional<PolynomialForm> floor = i == 0 ? k : quotient(k, digit.weight);
    if (!floor) {
      failure_ = {Failure::Kind::Floor, digit.weight, {}};
      return std::nullopt;
    }
    result = scaled_sum(result, digit.jump, *floor);
  }
  return result;
}

std::optional<PolynomialForm> AffineProof::address(const PolynomialDigits& view,
                                                   const PolynomialForm& k) {
  if (!at_least(k, 0) || !at_most(k, view.size - 1)) {
    failure_ = {Failure::Kind::Range, view.size, {}};
    return std::nullopt;
  }
  for (std::size_t i = 0; i < view.digits.size(); ++i) {
    const PolynomialDigits::Digit& digit = view.digits[i];
    const bool from = !digit.begin.is_zero(), to = digit.end != digit.size;
    if (!from && !to) continue;
    const std::optional<PolynomialForm> r = rest(view, i, k);
    if (!r || (from && !at_least(*r, digit.begin * digit.weight)) ||
        (to && !at_most(*r, digit.end * digit.weight - 1))) {
      failure_ = {Failure::Kind::Mask, digit.begin, digit.end};
      return std::nullopt;
    }
  }
  return affine(view, k);
}

bool AffineProof::nothing_valid(std::span<const PolynomialDigits> views, PolynomialForm k) {
  for (std::size_t v = 0; v < views.size(); ++v) {
    const PolynomialDigits& view = views[v];
    for (std::size_t i = 0; i < view.digits.size(); ++i) {
      const PolynomialDigits::Digit& digit = view.digits[i];
      const bool from = !digit.begin.is_zero(), to = digit.end != digit.size;
      if (!from && !to) continue;
      const std::optional<PolynomialForm> r = rest(view, i, k);
      if (r && ((from && at_most(*r, digit.begin * digit.weight - 1)) ||
                (to && at_least(*r, digit.end * digit.weight))))
        return true;
    }
    if (v + 1 == views.size()) break;
    std::optional<PolynomialForm> deeper = affine(view, k);
    if (!deeper) return false;
    k = std::move(*deeper);
  }
  return false;
}

}  // namespace touchstone::shapetracker
