// Stacks of views with fast iteration.
#pragma once

#include "model.h"

namespace touchstone::model {

/// A view's numbers, for fast iteration.
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
  /// The address of an index, or -1 if masked; valid addresses are not negative.
  std::int64_t at(const Ints& index) const {
    std::int64_t address = offset;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < begin[i] || index[i] >= end[i]) return -1;
      address += index[i] * strides[i];
    }
    return address;
  }
};

/// True if `single` reads what the stack reads at every index. All are concrete.
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
