// Pairs of views with two variables, and what they say at one choice of values.
#pragma once

#include "draws.h"
#include "model.h"

namespace touchstone::model {

/// Values of the two variables, inclusive.
struct Ranges {
  std::int64_t v_low = 2, v_high = 9, w_low = 2, w_high = 7;
};
inline Ranges ranges;

/// v in 2..9 and w in 2..7, unless `ranges` says otherwise.
inline sint v() { return symbolic::variable("v", ranges.v_low, ranges.v_high); }
inline sint w() { return symbolic::variable("w", ranges.w_low, ranges.w_high); }

template <typename Visit>
void each_value(const Visit& visit) {
  for (std::int64_t a = ranges.v_low; a <= ranges.v_high; ++a)
    for (std::int64_t b = ranges.w_low; b <= ranges.w_high; ++b)
      visit(symbolic::Values{{"v", a}, {"w", b}});
}

inline sint any_size(Draws& draws) {
  switch (draws.below(6)) {
    case 0:
      return v();
    case 1:
      return w();
    case 2:
      return v() * 2;
    default:
      return draws.between(2, 4);
  }
}

inline sint any_amount(Draws& draws) {
  const std::int64_t kind = draws.below(6);
  return kind == 0 ? v() : kind == 1 ? w() : sint(draws.between(0, 2));
}

/// Movement of one axis. Operations that the bounds do not allow leave the view as it is.
inline View moved(Draws& draws, const View& view, bool masks) {
  const auto rank = static_cast<std::size_t>(view.rank());
  if (rank == 0) return view;
  const auto axis = static_cast<std::size_t>(draws.below(view.rank()));
  Mask keep;
  for (const sint& size : view.shape()) keep.emplace_back(0, size);
  try {
    switch (draws.below(masks ? 5 : 4)) {
      case 0: {
        std::vector<int> order;
        for (int i = 0; i < view.rank(); ++i) order.push_back(i);
        std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(axis), order.end());
        return view.permute(order);
      }
      case 1: {
        Ints steps(rank, 1);
        steps[axis] = -1;
        return view.stride(steps);
      }
      case 2:
        keep[axis].first = any_amount(draws);
        return view.shrink(keep);
      case 3:
        keep[axis].second = keep[axis].second - any_amount(draws);
        return view.shrink(keep);
      default: {
        Padding padding(rank, {0, 0});
        padding[axis] = {any_amount(draws), any_amount(draws)};
        return view.pad(padding);
      }
    }
  } catch (const ShapeError&) {
    return view;
  }
}

inline View any_symbolic_inner(Draws& draws, bool masks) {
  Shape shape;
  for (std::int64_t rank = draws.between(1, 3); rank > 0; --rank) shape.push_back(any_size(draws));
  View view = View::contiguous(shape);
  if (draws.one_in(6)) {  // any strides, and an axis that is repeated
    Strides strides;
    for (std::size_t i = 0; i < shape.size(); ++i)
      strides.push_back(draws.one_in(3) ? sint(0) : any_size(draws));
    view = View::strided(shape, strides);
  }
  for (std::int64_t ops = draws.between(0, 3); ops > 0; --ops) view = moved(draws, view, masks);
  return view;
}

/// The axes of a shape joined and split as bounds allow.
inline Shape regrouped(Draws& draws, const Shape& from) {
  Shape shape;
  for (const sint& size : from) {
    if (!shape.empty() && draws.one_in(2)) {
      shape.back() = shape.back() * size;
    } else if (size == v() * 2 && draws.one_in(2)) {
      const bool first = draws.one_in(2);
      shape.push_back(first ? sint(2) : v());
      shape.push_back(first ? v() : sint(2));
    } else if (size == sint(4) && draws.one_in(2)) {
      shape.push_back(2);
      shape.push_back(2);
    } else {
      shape.push_back(size);
    }
  }
  return shape;
}

inline std::vector<View> any_symbolic_pair(Draws& draws) {
  const bool masks = draws.one_in(2);
  const View inner = any_symbolic_inner(draws, masks);
  View outer = View::contiguous(regrouped(draws, inner.shape()));
  for (std::int64_t ops = draws.between(0, 3); ops > 0; --ops) outer = moved(draws, outer, masks);
  return {inner, outer};
}

/// A view's numbers, to walk over it fast.
struct Numbers {
  Ints shape, strides, begin, end;
  std::int64_t offset;

  explicit Numbers(const View& view)
      : shape(concrete(view.shape())),
        strides(concrete(view.strides())),
        offset(view.offset().as_int()) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      begin.push_back(view.mask() ? (*view.mask())[i].first.as_int() : 0);
      end.push_back(view.mask() ? (*view.mask())[i].second.as_int() : shape[i]);
    }
  }
  /// Address of an index, or -1 where it is masked out; addresses of valid points are not negative.
  std::int64_t at(const Ints& index) const {
    std::int64_t address = offset;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < begin[i] || index[i] >= end[i]) return -1;
      address += index[i] * strides[i];
    }
    return address;
  }
};

/// Whether the one view `single` reads what the stack reads, at every index. All are concrete.
inline bool same_everywhere(const std::vector<View>& stack, const View& single) {
  const Numbers one(single), outer(stack.back());
  if (one.shape != outer.shape) return false;
  std::vector<Numbers> inner;
  for (std::size_t i = stack.size() - 1; i-- > 0;) inner.emplace_back(stack[i]);
  const std::int64_t size = count(outer.shape);
  Ints index(outer.shape.size(), 0), digits;
  for (std::int64_t n = 0; n < size; ++n) {
    std::int64_t k = outer.at(index);
    for (std::size_t i = 0; i < inner.size() && k >= 0; ++i) {
      digits.assign(inner[i].shape.size(), 0);
      for (std::size_t axis = digits.size(); axis-- > 0; k /= inner[i].shape[axis])
        digits[axis] = k % inner[i].shape[axis];
      k = inner[i].at(digits);
    }
    if (one.at(index) != k) return false;
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < outer.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return true;
}

inline std::vector<View> bound(const std::vector<View>& stack, const symbolic::Values& values) {
  std::vector<View> numbers;
  for (const View& view : stack) numbers.push_back(view.bind(values));
  return numbers;
}

}  // namespace touchstone::model
