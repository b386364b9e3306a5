#include "touchstone/shapetracker/symbolic_merge.h"

#include <algorithm>

#include "touchstone/shapetracker/affine_proof.h"
#include "touchstone/shapetracker/variable_table.h"

namespace touchstone::shapetracker {
namespace {

using Values = std::vector<std::int64_t>;  // one a variable

std::string str(const symbolic::Values& values) {
  std::string text;
  for (const auto& [name, value] : values)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

View nothing_of(const Shape& shape) {
  return View::trusted(shape, Strides(shape.size(), 0), 0, Mask(shape.size(), Range{0, 0}));
}

View concrete_at(const PolynomialView& view, const Values& values) {
  const auto number = [&](const Polynomial& p) { return sint(narrow(p.at(values))); };
  Shape shape;
  Strides strides;
  Mask mask;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    shape.push_back(number(view.shape[i]));
    strides.push_back(number(view.strides[i]));
    mask.emplace_back(number(view.mask[i].first), number(view.mask[i].second));
  }
  return View::trusted(std::move(shape), std::move(strides), number(view.offset), std::move(mask));
}

/// A box of indices of the outermost view, [low, low + extents).
struct IndexBox {
  std::vector<Polynomial> low, extents;
};

class Merger {
 public:
  Merger(std::span<const View> views, const SymbolicBudget& budget)
      : views_(views), budget_(budget) {}

  SymbolicResult run() {
    if (const std::optional<SymbolicResult> refused = read()) return *refused;
    if (const std::optional<SymbolicResult> refused = ask_corners()) return *refused;
    if (const std::optional<SymbolicResult> refused = choose_grid()) return *refused;
    const BoxProver prover(table_.box(), budget_.boxes);
    prover_ = &prover;
    SymbolicResult result = all_empty_ ? prove_empty() : prove_candidate();
    prover_ = nullptr;
    return result;
  }

 private:
  SymbolicResult undecided(std::string why) const {
    return {MergeAnswer::OverBudget, std::nullopt, {}, std::nullopt, std::move(why)};
  }

  std::optional<SymbolicResult> read() {
    for (const View& view : views_) {
      PolynomialView poly;
      bool polynomial = true;
      const auto read = [&](const sint& entry) {
        std::optional<Polynomial> found = table_.read(entry);
        polynomial = polynomial && found;
        return found.value_or(Polynomial());
      };
      for (int axis = 0; axis < view.rank(); ++axis) {
        const auto i = static_cast<std::size_t>(axis);
        poly.shape.push_back(read(view.shape()[i]));
        poly.strides.push_back(read(view.strides()[i]));
        if (view.mask())
          poly.mask.emplace_back(read((*view.mask())[i].first), read((*view.mask())[i].second));
        else
          poly.mask.emplace_back(0, poly.shape.back());
      }
      poly.offset = read(view.offset());
      if (!polynomial)
        return undecided(view.str() + " has an entry that is no polynomial in at most " +
                         fmt::format("{} variables with bounds", kMostVariables));
      polynomials_.push_back(std::move(poly));
    }
    if (table_.has_empty_range()) return undecided("the bounds of a variable leave it no value");
    constexpr std::size_t kMost = 6;
    if (table_.size() > kMost)
      return undecided(fmt::format("{} variables; at most {} are tried", table_.size(), kMost));
    return std::nullopt;
  }

  // The merge with these values, or the refutation.
  std::optional<SymbolicResult> ask(const Values& values, std::optional<View>& merged) {
    const symbolic::Values named = table_.values(values);
    std::vector<View> stack;
    try {
      for (const PolynomialView& view : polynomials_) stack.push_back(concrete_at(view, values));
      MergeResult result = merge_stack(stack, budget_.concrete);
      if (result.answer == MergeAnswer::Merged) {
        merged = std::move(result.view);
        return std::nullopt;
      }
      if (result.answer == MergeAnswer::OverBudget)
        return undecided(fmt::format("with {} it is not decided within the budget", str(named)));
      Explanation explained = explain_merge(stack, budget_.concrete);
      return SymbolicResult{MergeAnswer::NoSuchView, std::nullopt, named,
                            std::move(explained.witness)};
    } catch (const OverflowError& error) {
      return undecided(fmt::format("with {}: {}", str(named), error.what()));
    } catch (const ShapeError& error) {
      throw ShapeError(fmt::format("with {}: {}", str(named), error.what()));
    }
  }

  std::optional<SymbolicResult> ask_corners() {
    const VariableBox& box = table_.box();
    for (std::size_t number = 0; number < std::size_t{1} << box.low.size(); ++number) {
      Values corner = box.low;
      bool twice = false;
      for (std::size_t i = 0; i < corner.size(); ++i)
        if ((number >> i & 1) != 0) {
          twice = twice || box.low[i] == box.high[i];
          corner[i] = box.high[i];
        }
      if (twice) continue;
      std::optional<View> merged;
      if (std::optional<SymbolicResult> refused = ask(corner, merged)) return refused;
      all_empty_ = all_empty_ && merged->nothing_valid();
    }
    return std::nullopt;
  }

  // A grid of values at all of which something is valid; where there is none, the first one.
  std::optional<SymbolicResult> choose_grid() {
    constexpr std::int64_t kReach = 8;  // large enough to be typical, small enough to multiply
    const VariableBox& box = table_.box();
    const std::size_t nodes = table_.size() <= 4 ? 3 : 2;
    for (const int kind : {0, 1, 2}) {
      Grid grid;
      for (std::size_t i = 0; i < table_.size(); ++i) {
        const std::int64_t low = box.low[i];
        const auto width = std::min<Wide>(static_cast<Wide>(box.high[i]) - low, kReach);
        const auto high = static_cast<std::int64_t>(low + width);
        Values& values = grid.values.emplace_back();
        for (std::int64_t n = 0; n < static_cast<std::int64_t>(nodes) && n <= width; ++n)
          values.push_back(kind == 0   ? high - n
                           : kind == 1 ? low + n
                                       : static_cast<std::int64_t>(high - width * n / 2));
        std::ranges::sort(values);
        const auto same = std::ranges::unique(values);
        values.erase(same.begin(), same.end());
      }
      bool empty = false;
      std::vector<View> merged;
      for (std::size_t p = 0; p < grid.size(); ++p) {
        std::optional<View> view;
        if (std::optional<SymbolicResult> refused = ask(grid.point(p), view)) return refused;
        empty = empty || view->nothing_valid();
        all_empty_ = all_empty_ && view->nothing_valid();
        merged.push_back(std::move(*view));
      }
      grid_ = std::move(grid);
      samples_ = std::move(merged);
      if (!empty || all_empty_) return std::nullopt;
    }
    return undecided("for some values nothing is valid, and no grid avoids them");
  }

  SymbolicResult prove_empty() const {
    if (!nothing_valid(whole())) return undecided("that nothing is ever valid is not proved");
    return {MergeAnswer::Merged, nothing_of(views_.back().shape())};
  }

  IndexBox whole() const {
    IndexBox box;
    for (const auto& [begin, end] : polynomials_.back().mask) {
      box.low.push_back(begin);
      box.extents.push_back(end - begin);
    }
    return box;
  }

  PolynomialForm flat_index(const IndexBox& box) const {
    const PolynomialView& outer = polynomials_.back();
    PolynomialForm k{outer.offset, outer.strides};
    for (std::size_t i = 0; i < box.low.size(); ++i)
      k.base = k.base + outer.strides[i] * box.low[i];
    return k;
  }

  bool nothing_valid(const IndexBox& box) const {
    return AffineProof(*prover_, grid_, box.extents).nothing_valid(inner(), flat_index(box));
  }

  // The views below the outermost, from the outer to the inner.
  const std::vector<PolynomialDigits>& inner() const {
    if (inner_.empty())
      for (std::size_t i = polynomials_.size() - 1; i-- > 0;) inner_.emplace_back(polynomials_[i]);
    return inner_;
  }

  // One end of the valid range of an axis, from the merged samples.
  std::optional<Polynomial> fit_end(std::size_t axis, bool upper, const Polynomial& usual) const {
    std::vector<Wide> values;
    bool as_usual = true;
    for (std::size_t p = 0; p < samples_.size(); ++p) {
      const View& view = samples_[p];
      const sint end = view.mask()
                           ? upper ? (*view.mask())[axis].second : (*view.mask())[axis].first
                       : upper ? view.shape()[axis]
                               : sint(0);
      values.push_back(end.as_int());
      as_usual = as_usual && usual.at(grid_.point(p)) == values.back();
    }
    return as_usual ? usual : interpolate(grid_, std::move(values));
  }

  SymbolicResult prove_candidate() const {
    const IndexBox all = whole();
    IndexBox valid;
    for (std::size_t axis = 0; axis < all.low.size(); ++axis) {
      const auto& [begin, end] = polynomials_.back().mask[axis];
      const std::optional<Polynomial> low = fit_end(axis, false, begin),
                                      high = fit_end(axis, true, end);
      if (!low || !high || !prover_->proves_nonnegative(*low - begin) ||
          !prover_->proves_nonnegative(end - *high))
        return undecided(fmt::format("the valid range of axis {} is no polynomial", axis));
      valid.low.push_back(*low);
      valid.extents.push_back(*high - *low);
    }
    AffineProof proof(*prover_, grid_, valid.extents);
    PolynomialForm form = flat_index(valid);
    for (const PolynomialDigits& view : inner()) {
      std::optional<PolynomialForm> address = proof.address(view, form);
      if (!address) return undecided(text(proof.failure()));
      form = std::move(*address);
    }
    if (const std::optional<std::size_t> axis = valid_outside(all, valid))
      return undecided(fmt::format("nothing valid outside the valid range of axis {}", *axis));
    return {MergeAnswer::Merged, assemble(valid, form)};
  }

  // An axis beyond whose valid range something may be valid. The rest of the box is cut into slabs:
  // below and above the range of one axis, within those of the axes before it.
  std::optional<std::size_t> valid_outside(const IndexBox& all, const IndexBox& valid) const {
    IndexBox slab = all;
    for (std::size_t axis = 0; axis < all.low.size(); ++axis) {
      const Polynomial begin = all.low[axis], end = begin + all.extents[axis];
      const Polynomial &low = valid.low[axis], high = low + valid.extents[axis];
      slab.extents[axis] = low - begin;
      if (!slab.extents[axis].is_zero() && !nothing_valid(slab)) return axis;
      slab.low[axis] = high;
      slab.extents[axis] = end - high;
      if (!slab.extents[axis].is_zero() && !nothing_valid(slab)) return axis;
      slab.low[axis] = low;
      slab.extents[axis] = valid.extents[axis];
    }
    return std::nullopt;
  }

  View assemble(const IndexBox& valid, const PolynomialForm& form) const {
    Polynomial offset = form.base;
    Strides strides;
    Mask mask;
    for (std::size_t i = 0; i < valid.low.size(); ++i) {
      offset = offset - form.slopes[i] * valid.low[i];
      strides.push_back(table_.write(form.slopes[i]));
      mask.emplace_back(table_.write(valid.low[i]), table_.write(valid.low[i] + valid.extents[i]));
    }
    return View::trusted(views_.back().shape(), std::move(strides), table_.write(offset),
                         std::move(mask));
  }

  std::string text(const AffineProof::Failure& failure) const {
    const std::string value = table_.write(failure.value).str();
    switch (failure.kind) {
      case AffineProof::Failure::Kind::Range:
        return fmt::format("that the flat index stays within [0, {}) is not proved", value);
      case AffineProof::Failure::Kind::Mask:
        return fmt::format("that a digit stays within its mask [{}, {}) is not proved", value,
                           table_.write(failure.end).str());
      case AffineProof::Failure::Kind::Floor:
        return fmt::format("that k // ({}) of the flat index k is affine is not proved", value);
    }
    return "";
  }

  std::span<const View> views_;
  const SymbolicBudget& budget_;
  VariableTable table_;
  std::vector<PolynomialView> polynomials_;  // innermost first
  mutable std::vector<PolynomialDigits> inner_;
  bool all_empty_ = true;  // at every sample so far
  Grid grid_;
  std::vector<View> samples_;  // merged, at the points of the grid
  const BoxProver* prover_ = nullptr;
};

}  // namespace

SymbolicResult symbolic_merge(std::span<const View> views, const SymbolicBudget& budget) {
  if (views.empty()) throw ShapeError("merge: no views; give at least one");
  const Shape& shape = views.back().shape();
  if (views.size() == 1 || views.back().nothing_valid()) return {MergeAnswer::Merged, views.back()};
  if (!shape.empty() &&
      std::ranges::any_of(views, [](const View& view) { return view.nothing_valid(); }))
    return {MergeAnswer::Merged, nothing_of(shape)};
  try {
    return Merger(views, budget).run();
  } catch (const OverflowError& error) {
    return {MergeAnswer::OverBudget, std::nullopt, {}, std::nullopt, error.what()};
  }
}

std::string SymbolicResult::str() const {
  switch (answer) {
    case MergeAnswer::Merged:
      return "merged: " + view->str();
    case MergeAnswer::NoSuchView:
      return fmt::format("no single view: with {}, {}", shapetracker::str(values), witness->str());
    case MergeAnswer::OverBudget:
      break;
  }
  return "not decided: " + why;
}

}  // namespace touchstone::shapetracker
