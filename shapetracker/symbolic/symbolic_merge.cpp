#include "touchstone/shapetracker/symbolic/symbolic_merge.h"

#include <algorithm>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/symbolic/symbolic_samples.h"
#include "touchstone/shapetracker/view/sint_bounds.h"

namespace touchstone::shapetracker {
namespace {

View nothing_of(const Shape& shape) {
  return View::trusted(shape, Strides(shape.size(), 0), 0, Mask(shape.size(), Range{0, 0}));
}

/// A box of indices of the outermost view, [low, low + extents).
struct IndexBox {
  std::vector<Polynomial> low, extents;
};

/// One end of the valid range of an axis: the maximum of some polynomials for the lower end, else
/// the minimum; which one it is depends on the values.
struct ValidEnd {
  std::vector<Polynomial> candidates;
  std::size_t chosen = 0;

  void add(Polynomial p) {
    if (std::ranges::find(candidates, p) == candidates.end()) candidates.push_back(std::move(p));
  }
  const Polynomial& polynomial() const { return candidates[chosen]; }
};

/// The valid ranges of all axes.
struct ValidEnds {
  std::vector<ValidEnd> low, high;

  /// The number of choices of candidates; each holds for some of the values.
  std::size_t choices() const {
    std::size_t count = 1;
    for (const auto& ends : {low, high})
      for (const ValidEnd& end : ends) count *= end.candidates.size();
    return count;
  }
  void choose(std::size_t number) {
    for (auto* ends : {&low, &high})
      for (ValidEnd& end : *ends) {
        end.chosen = number % end.candidates.size();
        number /= end.candidates.size();
      }
  }
  /// Polynomials that are >= 0 where the choice is correct; for all values some choice is.
  std::vector<Polynomial> conditions() const {
    std::vector<Polynomial> conditions;
    const auto add = [&](const ValidEnd& end, int sign) {
      for (std::size_t i = 0; i < end.candidates.size(); ++i)
        if (i != end.chosen)
          conditions.push_back(Polynomial(sign) * (end.polynomial() - end.candidates[i]));
    };
    for (const ValidEnd& end : low) add(end, 1);
    for (const ValidEnd& end : high) add(end, -1);
    return conditions;
  }
};

/// Strides and offset of the merged view.
struct Address {
  std::vector<Polynomial> strides;
  Polynomial offset;
  bool operator==(const Address&) const = default;
};

class Merger {
 public:
  Merger(const SymbolicSamples& samples, int boxes)
      : samples_(samples), prover_(samples.table().box(), boxes), outer_(samples.views().back()) {
    const auto& views = samples.views();
    for (std::size_t i = views.size() - 1; i-- > 0;) inner_.emplace_back(views[i]);
    for (const auto& [begin, end] : outer_.mask) {
      all_.low.push_back(begin);
      all_.extents.push_back(end - begin);
    }
  }

  bool proves_empty() {
    given_ = given_everywhere();
    return nothing_valid(all_, samples_.any_grid());
  }

  /// The view with the valid ranges `ends`, proved; nullopt if not proved, failure() says why.
  std::optional<View> view_with(ValidEnds ends, const Shape& shape) {
    std::optional<Address> address;
    for (std::size_t number = 0; number < ends.choices(); ++number) {
      ends.choose(number);
      given_ = given_everywhere();
      conditions_ = ends.conditions();
      given_.insert(given_.end(), conditions_.begin(), conditions_.end());
      const std::optional<Address> found = prove_choice(ends, grid_for(conditions_));
      if (!found) return std::nullopt;
      if (address && *address != *found) {
        failure_ = "its strides depend on the values of the variables";
        return std::nullopt;
      }
      address = found;
    }
    return assemble(ends, *address, shape);
  }

  /// Where an end may exceed the outer view's range, adds that range's end as a candidate.
  void add_limits(ValidEnds& ends) const {
    for (std::size_t axis = 0; axis < all_.low.size(); ++axis) {
      const auto& [begin, end] = outer_.mask[axis];
      const auto outside = [&](const Polynomial& rest) {
        return !prover_.proves_nonnegative(rest);
      };
      if (outside(ends.low[axis].candidates[0] - begin)) ends.low[axis].add(begin);
      if (outside(end - ends.high[axis].candidates[0])) ends.high[axis].add(end);
    }
  }

  const std::string& failure() const { return failure_; }

 private:
  // The outer view has a valid index.
  std::vector<Polynomial> given_everywhere() const {
    std::vector<Polynomial> given;
    for (const Polynomial& extent : all_.extents)
      if (!prover_.proves_nonnegative(extent - 1)) given.push_back(extent - 1);
    return given;
  }

  // A grid where the conditions hold, if there is one.
  const Grid& grid_for(std::span<const Polynomial> conditions) const {
    for (const SymbolicSamples::Look& look : samples_.looks()) {
      bool holds = true;
      for (std::size_t p = 0; p < look.grid.size() && holds; ++p) {
        const std::vector<std::int64_t> point = look.grid.point(p);
        holds =
            std::ranges::all_of(conditions, [&](const Polynomial& c) { return c.at(point) >= 0; });
      }
      if (holds) return look.grid;
    }
    return samples_.looks().front().grid;
  }

  std::optional<Address> prove_choice(const ValidEnds& ends, const Grid& grid) {
    IndexBox valid;
    for (std::size_t axis = 0; axis < all_.low.size(); ++axis) {
      const Polynomial &low = ends.low[axis].polynomial(), &high = ends.high[axis].polynomial();
      const auto& [begin, end] = outer_.mask[axis];
      if (!prover_.proves_nonnegative(low - begin, conditions_) ||
          !prover_.proves_nonnegative(end - high, conditions_)) {
        failure_ = fmt::format("the valid range of axis {} was not found", axis);
        return std::nullopt;
      }
      valid.low.push_back(low);
      valid.extents.push_back(high - low);
    }
    AffineProof proof(prover_, grid, valid.extents, given_);
    PolynomialForm form = flat_index(valid);
    for (const PolynomialDigits& view : inner_) {
      std::optional<PolynomialForm> address = proof.address(view, form);
      if (!address) {
        failure_ = text(proof.failure());
        return std::nullopt;
      }
      form = std::move(*address);
    }
    if (const std::optional<std::size_t> axis = valid_outside(valid, grid)) {
      failure_ = fmt::format("not proved that nothing is valid beyond [{}, {}) of axis {}",
                             write(valid.low[*axis]), write(ends.high[*axis].polynomial()), *axis);
      return std::nullopt;
    }
    Address address{form.slopes, form.base};
    for (std::size_t axis = 0; axis < valid.low.size(); ++axis)
      address.offset = address.offset - form.slopes[axis] * valid.low[axis];
    return address;
  }

  // An axis beyond whose valid range something may be valid. The rest of the box is cut into slabs:
  // below and above the range of one axis, within those of the previous axes.
  std::optional<std::size_t> valid_outside(const IndexBox& valid, const Grid& grid) const {
    IndexBox slab = all_;
    for (std::size_t axis = 0; axis < all_.low.size(); ++axis) {
      const Polynomial begin = all_.low[axis], end = begin + all_.extents[axis];
      const Polynomial &low = valid.low[axis], high = low + valid.extents[axis];
      slab.extents[axis] = low - begin;
      if (!slab.extents[axis].is_zero() && !nothing_valid(slab, grid)) return axis;
      slab.low[axis] = high;
      slab.extents[axis] = end - high;
      if (!slab.extents[axis].is_zero() && !nothing_valid(slab, grid)) return axis;
      slab.low[axis] = low;
      slab.extents[axis] = valid.extents[axis];
    }
    return std::nullopt;
  }

  bool nothing_valid(const IndexBox& box, const Grid& grid) const {
    return AffineProof(prover_, grid, box.extents, given_).nothing_valid(inner_, flat_index(box));
  }

  PolynomialForm flat_index(const IndexBox& box) const {
    PolynomialForm k{outer_.offset, outer_.strides};
    for (std::size_t i = 0; i < box.low.size(); ++i)
      k.base = k.base + outer_.strides[i] * box.low[i];
    return k;
  }

  View assemble(const ValidEnds& ends, const Address& address, const Shape& shape) const {
    const VariableTable& table = samples_.table();
    Strides strides;
    Mask mask;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      strides.push_back(table.write(address.strides[axis]));
      sint low = table.write(ends.low[axis].candidates[0]),
           high = table.write(ends.high[axis].candidates[0]);
      for (const Polynomial& p : ends.low[axis].candidates) low = larger(low, table.write(p));
      for (const Polynomial& p : ends.high[axis].candidates) high = smaller(high, table.write(p));
      mask.emplace_back(std::move(low), std::move(high));
    }
    return View::trusted(shape, std::move(strides), table.write(address.offset), std::move(mask));
  }

  std::string write(const Polynomial& p) const { return samples_.table().write(p).str(); }

  std::string text(const AffineProof::Failure& failure) const {
    switch (failure.kind) {
      case AffineProof::Failure::Kind::Range:
        return fmt::format("not proved that the flat index stays within [0, {})",
                           write(failure.value));
      case AffineProof::Failure::Kind::Mask:
        return fmt::format("not proved that a digit stays within its mask [{}, {})",
                           write(failure.value), write(failure.end));
      case AffineProof::Failure::Kind::Floor:
        return fmt::format("not proved that k // ({}) of the flat index k is affine",
                           write(failure.value));
    }
    return "";
  }

  const SymbolicSamples& samples_;
  BoxProver prover_;
  const PolynomialView& outer_;
  std::vector<PolynomialDigits> inner_;  // outer to inner
  IndexBox all_;
  std::vector<Polynomial> conditions_, given_;
  std::string failure_;
};

// One end of an axis' valid range in all merged views of a look.
std::vector<Wide> ends_of(const SymbolicSamples::Look& look, std::size_t axis, bool upper) {
  std::vector<Wide> values;
  for (const View& view : look.merged) {
    const auto [begin, end] = view.range(axis);
    values.push_back((upper ? end : begin).as_int());
  }
  return values;
}

// The end as a polynomial; `usual` if it fits.
std::optional<Polynomial> fit_end(const SymbolicSamples::Look& look, std::size_t axis, bool upper,
                                  const Polynomial& usual) {
  std::vector<Wide> values = ends_of(look, axis, upper);
  bool as_usual = true;
  for (std::size_t p = 0; p < values.size(); ++p)
    as_usual = as_usual && usual.at(look.grid.point(p)) == values[p];
  return as_usual ? usual : interpolate(look.grid, std::move(values));
}

// True if the polynomial never cuts off part of the valid range.
bool is_limit(const Polynomial& p, const SymbolicSamples::Look& look, std::size_t axis,
              bool upper) {
  const std::vector<Wide> values = ends_of(look, axis, upper);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Wide value = p.at(look.grid.point(i));
    if (upper ? value < values[i] : value > values[i]) return false;
  }
  return true;
}

// Fits the ends to the looks.
std::optional<ValidEnds> fit_ends(const SymbolicSamples& samples) {
  ValidEnds ends;
  const auto& mask = samples.views().back().mask;
  ends.low.resize(mask.size());
  ends.high.resize(mask.size());
  for (std::size_t axis = 0; axis < mask.size(); ++axis)
    for (const bool upper : {false, true}) {
      ValidEnd& end = upper ? ends.high[axis] : ends.low[axis];
      const Polynomial& usual = upper ? mask[axis].second : mask[axis].first;
      for (const SymbolicSamples::Look& look : samples.looks())
        if (std::optional<Polynomial> p = fit_end(look, axis, upper, usual))
          if (std::ranges::all_of(samples.looks(), [&](const SymbolicSamples::Look& other) {
                return is_limit(*p, other, axis, upper);
              }))
            end.add(std::move(*p));
      if (end.candidates.empty()) return std::nullopt;
    }
  return ends;
}

SymbolicResult merge(std::span<const View> views, const SymbolicBudget& budget) {
  const Shape& shape = views.back().shape();
  SymbolicSamples samples(views, budget.concrete);
  if (std::optional<SymbolicResult> refused = samples.read()) return *refused;
  if (std::optional<SymbolicResult> refused = samples.ask_corners()) return *refused;
  if (std::optional<SymbolicResult> refused = samples.look_once()) return *refused;
  Merger merger(samples, budget.boxes);
  if (samples.all_empty()) {
    if (merger.proves_empty()) return {MergeAnswer::Merged, nothing_of(shape)};
    return undecided("not proved that nothing is ever valid");
  }
  if (!samples.looks().empty())
    if (const std::optional<ValidEnds> ends = fit_ends(samples))
      if (std::optional<View> view = merger.view_with(*ends, shape))
        return {MergeAnswer::Merged, std::move(view)};
  if (std::optional<SymbolicResult> refused = samples.look_everywhere()) return *refused;
  if (samples.looks().empty())
    return undecided("for some values nothing is valid, and no sample grid avoids them");
  std::optional<ValidEnds> ends = fit_ends(samples);
  if (ends) merger.add_limits(*ends);
  if (!ends || ends->choices() > Limits::kChoices)
    return undecided(
        "the valid ranges are neither polynomials nor minima or maxima of polynomials");
  if (std::optional<View> view = merger.view_with(*ends, shape))
    return {MergeAnswer::Merged, std::move(view)};
  return undecided(merger.failure());
}

}  // namespace

SymbolicResult symbolic_merge(std::span<const View> views, const SymbolicBudget& budget) {
  if (views.empty()) throw ShapeError("merge: no views; give at least one");
  const View& outer = views.back();
  if (views.size() == 1 || outer.nothing_valid()) return {MergeAnswer::Merged, outer};
  if (views.size() == 2 && outer.is_contiguous() && outer.shape() == views[0].shape())
    return {MergeAnswer::Merged, views[0]};
  if (outer.rank() > 0 &&
      std::ranges::any_of(views, [](const View& view) { return view.nothing_valid(); }))
    return {MergeAnswer::Merged, nothing_of(outer.shape())};
  try {
    return merge(views, budget);
  } catch (const OverflowError& error) {
    return undecided(error.what());
  }
}

std::string str(const symbolic::Values& values) {
  std::string text;
  for (const auto& [name, value] : values)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

std::string SymbolicResult::str() const {
  switch (answer) {
    case MergeAnswer::Merged: return "merged: " + view->str();
    case MergeAnswer::NoSuchView:
      return fmt::format("no single view: with {}, {}", shapetracker::str(values), witness->str());
    case MergeAnswer::OverBudget: break;
  }
  return "not decided: " + why;
}

}  // namespace touchstone::shapetracker
