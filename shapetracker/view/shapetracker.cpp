#include "touchstone/shapetracker/view/shapetracker.h"

#include <algorithm>

#include "touchstone/base/hash.h"
#include "touchstone/shapetracker/view/reach.h"
#include "touchstone/shapetracker/view/sint_bounds.h"

namespace touchstone {
namespace {

using shapetracker::decide_le;
using shapetracker::decide_lt;

// True if 0 <= low and high < size wherever the view has an element; nothing is read where a size
// or a mask range may be empty.
bool within_where_any(const View& view, const sint& low, const sint& high, const sint& size) {
  std::vector<symbolic::Node> some;
  for (std::size_t i = 0; i < view.shape().size(); ++i) {
    const auto [begin, end] = view.range(i);
    const sint count = end - begin;
    if (!certainly_le(1, count)) some.push_back(symbolic::le(1, count.node()));
  }
  if (some.empty()) return false;
  const symbolic::Node holds =
      symbolic::logical_and(symbolic::le(0, low.node()), symbolic::lt(high.node(), size.node()));
  return symbolic::simplify_under(holds, some).min() == 1;
}

// True if, at each of a few values, no valid point of `outer` lies outside [0, size).
bool within_at_all_values(const View& outer, const sint& size) {
  std::vector<sint> numbers{size};
  outer.each([&](const sint& value) { numbers.push_back(value); });
  const std::optional<std::vector<symbolic::Values>> all = shapetracker::few_values(numbers);
  return all && std::ranges::all_of(*all, [&](const symbolic::Values& values) {
           const View bound = outer.bind(values);
           if (bound.nothing_valid()) return true;
           const auto [low, high] = address_range(bound);
           return low.as_int() >= 0 && high.as_int() < size.evaluate(values);
         });
}

// Throws ShapeError if a valid point of `outer` lies outside [0, size).
template <typename What>
void require_within(const View& outer, const sint& size, const What& what) {
  if (outer.nothing_valid()) return;
  const auto [low, high] = address_range(outer);
  const auto decided = [&, &low = low, &high = high] {
    try {
      return decide_le(0, low, what) && decide_lt(high, size, what);
    } catch (const ShapeError&) {
      if (within_where_any(outer, low, high, size) || within_at_all_values(outer, size))
        return true;
      throw;
    }
  };
  if (!decided())
    throw ShapeError(
        fmt::format("{}: reads addresses {} to {}, but the view below has [0, {}); shrink or mask "
                    "the outer view",
                    what(), low.str(), high.str(), size.str()));
}

}  // namespace

ShapeTracker ShapeTracker::contiguous(Shape shape) {
  return trusted({View::contiguous(std::move(shape))});
}

ShapeTracker ShapeTracker::from_shape(Shape shape, Strides strides) {
  return ShapeTracker({View::strided(std::move(shape), std::move(strides))});
}

ShapeTracker::ShapeTracker(std::vector<View> views) : views_(std::move(views)) {
  if (views_.empty())
    throw ShapeError("shape tracker: no views; give at least one (View() is the scalar)");
  const View& base = views_.front();
  const auto what = [&] { return "shape tracker: view 0, " + base.str(); };
  if (!base.nothing_valid() && !decide_le(0, address_range(base).first, what))
    throw ShapeError(
        fmt::format("{}: reads address {}, below the buffer; mask it or increase the offset",
                    what(), address_range(base).first.str()));
  for (std::size_t i = 1; i < views_.size(); ++i)
    require_within(views_[i], views_[i - 1].size(), [&] {
      return fmt::format("shape tracker: view {}, {}, on view {}, {}", i, views_[i].str(), i - 1,
                         views_[i - 1].str());
    });
}

ShapeTracker ShapeTracker::trusted(std::vector<View> views) {
  ShapeTracker result;
  result.views_ = std::move(views);
  return result;
}

bool ShapeTracker::masked() const {
  return std::ranges::any_of(views_, [](const View& v) { return v.mask().has_value(); });
}

bool ShapeTracker::nothing_valid() const {
  if (std::ranges::any_of(views_, [](const View& view) { return view.nothing_valid(); }))
    return true;
  if (!std::ranges::all_of(views_, &View::is_concrete)) return false;
  const shapetracker::Highest found = shapetracker::highest_address(views_);
  return found.decided && !found.address;
}

std::int64_t ShapeTracker::real_size() const {
  if (std::ranges::all_of(views_, &View::is_concrete)) {
    const shapetracker::Highest found = shapetracker::highest_address(views_);
    if (found.decided) return found.address ? checked_add(*found.address, 1) : 0;
  }
  if (nothing_valid()) return 0;
  const std::optional<std::int64_t> last = address_range(views_.front()).second.max();
  if (!last)
    throw ShapeError(fmt::format(
        "real_size: {} has no largest address; give its variables upper bounds", str()));
  return checked_add(std::max<std::int64_t>(*last, -1), 1);
}

ShapeTracker ShapeTracker::with_top(View top) const {
  ShapeTracker result = *this;
  result.views_.back() = std::move(top);
  return result;
}

ShapeTracker ShapeTracker::reshape(const Shape& shape) const {
  if (std::optional<View> view = views_.back().reshape(shape)) return with_top(std::move(*view));
  return pushed(View::contiguous(shape));
}

ShapeTracker ShapeTracker::pushed(View top) const {
  // Below another view, a contiguous one is the identity.
  if (views_.back().is_contiguous() && !top.nothing_valid()) return with_top(std::move(top));
  ShapeTracker result = *this;
  result.views_.push_back(std::move(top));
  return result;
}

ShapeTracker ShapeTracker::permute(std::span<const int> order) const {
  return with_top(views_.back().permute(order));
}

ShapeTracker ShapeTracker::expand(const Shape& shape) const {
  return with_top(views_.back().expand(shape));
}

ShapeTracker ShapeTracker::pad(const Padding& padding) const {
  return with_top(views_.back().pad(padding));
}

ShapeTracker ShapeTracker::shrink(const Mask& keep) const {
  return with_top(views_.back().shrink(keep));
}

ShapeTracker ShapeTracker::stride(std::span<const std::int64_t> steps) const {
  return with_top(views_.back().stride(steps));
}

ShapeTracker ShapeTracker::flip(std::span<const int> axes) const {
  return with_top(views_.back().flip(axes));
}

ShapeTracker ShapeTracker::as_strided(const Shape& shape, const Strides& strides,
                                      const sint& offset) const {
  View view = View::strided(shape, strides, offset);
  require_within(view, size(), [&] { return "as_strided: " + view.str(); });
  return pushed(std::move(view));
}

ShapeTracker operator+(const ShapeTracker& inner, const ShapeTracker& outer) {
  require_within(outer.views_.front(), inner.size(),
                 [&] { return fmt::format("compose: {} on {}", outer.str(), inner.str()); });
  ShapeTracker result = inner;
  for (const View& view : outer.views_) result = result.pushed(view);
  return result;
}

std::optional<std::int64_t> ShapeTracker::at(std::span<const std::int64_t> index) const {
  std::optional<std::int64_t> address = views_.back().at(index);
  for (std::size_t v = views_.size() - 1; address && v-- > 0;) {
    const Shape& shape = views_[v].shape();
    std::vector<std::int64_t> inner(shape.size());
    std::int64_t rest = *address;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const std::int64_t size = shape[i].as_int();
      inner[i] = rest % size;
      rest /= size;
    }
    address = views_[v].at(inner);
  }
  return address;
}

std::vector<symbolic::Node> ShapeTracker::vars() const {
  std::map<std::string, symbolic::Node> found;
  const auto add = [&](const sint& value) {
    if (value.is_int()) return;
    for (const symbolic::Node& variable : symbolic::variables(value.node()))
      found.emplace(symbolic::variable_name(variable), variable);
  };
  for (const View& view : views_) view.each(add);
  std::vector<symbolic::Node> result;
  for (const auto& [name, variable] : found) result.push_back(variable);
  return result;
}

ShapeTracker ShapeTracker::bind(const symbolic::Values& values) const {
  std::vector<View> bound;
  for (const View& view : views_) bound.push_back(view.bind(values));
  return ShapeTracker(std::move(bound));
}

ShapeTracker ShapeTracker::substitute(
    const std::map<std::string, symbolic::Node>& replacements) const {
  std::vector<View> views;
  for (const View& view : views_) views.push_back(view.substitute(replacements));
  return trusted(std::move(views));
}

std::string ShapeTracker::str() const {
  std::string text = "ShapeTracker(";
  for (const View& view : views_) text += (&view == views_.data() ? "" : ", ") + view.str();
  return text + ")";
}

std::uint64_t ShapeTracker::hash() const {
  std::uint64_t seed = hash_mix(0x54726163, views_.size());
  for (const View& view : views_) seed = hash_mix(seed, view.hash());
  return seed;
}

}  // namespace touchstone
