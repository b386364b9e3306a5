#include "touchstone/shapetracker/symbolic/symbolic_samples.h"

#include <algorithm>

#include "touchstone/shapetracker/limits.h"
#include "touchstone/shapetracker/view/limits.h"

namespace touchstone::shapetracker {
namespace {

View concrete_at(const PolynomialView& view, const std::vector<std::int64_t>& values) {
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

}  // namespace

SymbolicResult undecided(std::string why) {
  return {MergeAnswer::OverBudget, std::nullopt, {}, std::nullopt, std::move(why)};
}

std::optional<SymbolicResult> SymbolicSamples::read() {
  for (const View& view : views_) {
    PolynomialView poly;
    bool polynomial = true;
    const auto read = [&](const sint& entry) {
      std::optional<Polynomial> found = table_.read(entry);
      polynomial = polynomial && found;
      return found.value_or(Polynomial());
    };
    for (std::size_t i = 0; i < view.shape().size(); ++i) {
      poly.shape.push_back(read(view.shape()[i]));
      poly.strides.push_back(read(view.strides()[i]));
      const auto [begin, end] = view.range(i);
      poly.mask.emplace_back(read(begin), read(end));
    }
    poly.offset = read(view.offset());
    if (!polynomial)
      return undecided(
          fmt::format("{} has an entry that is not a polynomial in at most {} bounded variables",
                      view.str(), ViewLimits::kPolynomialVariables));
    polynomials_.push_back(std::move(poly));
  }
  if (table_.has_empty_range()) return undecided("the bounds of a variable are empty");
  if (table_.size() > Limits::kVariables)
    return undecided(
        fmt::format("{} variables; the limit is {}", table_.size(), Limits::kVariables));
  return std::nullopt;
}

// The merge for these values, or the refutation.
std::optional<SymbolicResult> SymbolicSamples::ask(const Values& values,
                                                   std::optional<View>& merged) {
  const auto with = [&] { return "with " + str(table_.values(values)); };
  std::vector<View> stack;
  try {
    for (const PolynomialView& view : polynomials_) stack.push_back(concrete_at(view, values));
    MergeResult result = merge_stack(stack, budget_);
    if (result.answer == MergeAnswer::Merged) {
      merged = std::move(result.view);
      all_empty_ = all_empty_ && merged->nothing_valid();
      return std::nullopt;
    }
    if (result.answer == MergeAnswer::OverBudget)
      return undecided(with() + " it is not decided within the budget");
    return SymbolicResult{MergeAnswer::NoSuchView, std::nullopt, table_.values(values),
                          explain_merge(stack, budget_).witness};
  } catch (const OverflowError& error) {
    return undecided(fmt::format("{}: {}", with(), error.what()));
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}: {}", with(), error.what()));
  }
}

std::optional<SymbolicResult> SymbolicSamples::ask_corners() {
  const VariableBox& box = table_.box();
  for (std::size_t number = 0; number < std::size_t{1} << box.low.size(); ++number) {
    Values corner = box.low;
    bool twice = false;
    for (std::size_t i = 0; i < corner.size(); ++i)
      if ((number >> i & 1) != 0) {
        twice = twice || box.low[i] == box.high[i];
        corner[i] = box.high[i];
      }
    std::optional<View> merged;
    if (!twice)
      if (std::optional<SymbolicResult> refused = ask(corner, merged)) return refused;
  }
  return std::nullopt;
}

// Samples some values of each variable near one end of its range or spread over its first few,
// which are typical and small enough to multiply.
std::optional<SymbolicResult> SymbolicSamples::look(const std::vector<End>& ends,
                                                    std::int64_t nodes) {
  const VariableBox& box = table_.box();
  Grid grid;
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const std::int64_t low = box.low[i];
    const auto width = static_cast<std::int64_t>(
        std::min<Wide>(static_cast<Wide>(box.high[i]) - low, Limits::kGridReach));
    Values& values = grid.values.emplace_back();
    for (std::int64_t n = 0; n < nodes && n <= width; ++n)
      values.push_back(low + (ends[i] == End::Upper   ? width - n
                              : ends[i] == End::Lower ? n
                                                      : width * n / (nodes - 1)));
    std::ranges::sort(values);
    const auto same = std::ranges::unique(values);
    values.erase(same.begin(), same.end());
  }
  std::vector<View> merged;
  std::vector<bool> present;
  for (std::size_t p = 0; p < grid.size(); ++p) {
    std::optional<View> view;
    if (std::optional<SymbolicResult> refused = ask(grid.point(p), view)) return refused;
    present.push_back(!view->nothing_valid());
    merged.push_back(std::move(*view));
  }
  SubGrid part = present_part(grid, present);
  if (looks_.empty()) grid_ = std::move(grid);
  if (part.points.empty()) return std::nullopt;
  Look look{std::move(part.grid), {}};
  for (const std::size_t p : part.points) look.merged.push_back(std::move(merged[p]));
  looks_.push_back(std::move(look));
  return std::nullopt;
}

std::optional<SymbolicResult> SymbolicSamples::look_once() {
  const std::int64_t nodes = table_.size() <= 4 ? 3 : 2;
  for (const End end : {End::Upper, End::Lower, End::Spread}) {
    if (std::optional<SymbolicResult> refused = look(std::vector<End>(table_.size(), end), nodes))
      return refused;
    if (!looks_.empty() || all_empty_) break;
  }
  return std::nullopt;
}

std::optional<SymbolicResult> SymbolicSamples::look_everywhere() {
  const std::size_t n = table_.size();
  if (n > 3) return std::nullopt;
  looks_.clear();
  for (std::size_t number = 0; number < std::size_t{1} << n; ++number) {
    std::vector<End> ends;
    for (std::size_t i = 0; i < n; ++i)
      ends.push_back((number >> i & 1) != 0 ? End::Lower : End::Upper);
    if (std::optional<SymbolicResult> refused = look(ends, n <= 2 ? 4 : 3)) return refused;
  }
  return std::nullopt;
}

}  // namespace touchstone::shapetracker
