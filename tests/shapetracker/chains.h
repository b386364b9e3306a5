// Random chains of movement operations beside the arrays of addresses they must mean.
#pragma once

#include <algorithm>

#include "draws.h"
#include "model.h"
#include "touchstone/shapetracker/simplify.h"

namespace touchstone::model {

inline constexpr std::int64_t kMostElements = 400;

/// The views of a chain: merged after each operation, as the scheduler does, or all of them.
enum class Keep { Fewest, All };

/// A tracker and what it must say.
struct Chain {
  ShapeTracker tracker;
  Array array;
  std::string story;
  Keep keep = Keep::Fewest;

  void tell(const std::string& op, const std::string& args) {
    if (keep == Keep::Fewest) tracker = merge_outermost(tracker);
    story += fmt::format(" -> {} {} = {}", op, args, tracker.str());
  }
};

inline Ints any_shape(Draws& draws) {
  const std::int64_t rank = draws.one_in(8) ? 8 : draws.between(0, 4);
  Ints shape;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t size = draws.one_in(30) ? 0 : draws.between(1, 6);
    while (size > 1 && count(shape) * size > kMostElements / 4) --size;
    shape.push_back(size);
  }
  return shape;
}

// Spreads the prime factors of the number of elements over some axes, ones among them.
inline Ints any_reshape(Draws& draws, const Ints& shape) {
  std::int64_t rest = count(shape);
  Ints wanted(static_cast<std::size_t>(draws.between(rest == 1 ? 0 : 1, 5)), 1);
  if (rest == 0) {
    for (auto& size : wanted) size = draws.between(0, 3);
    wanted[static_cast<std::size_t>(draws.below(std::ssize(wanted)))] = 0;
    return wanted;
  }
  for (std::int64_t prime = 2; rest > 1; ++prime)
    for (; rest % prime == 0; rest /= prime)
      wanted[static_cast<std::size_t>(draws.below(std::ssize(wanted)))] *= prime;
  return wanted;
}

inline void reshape(Chain& chain, Draws& draws) {
  const Ints wanted = any_reshape(draws, chain.array.shape);
  chain.tracker = chain.tracker.reshape(to_shape(wanted));
  chain.array.shape = wanted;
  chain.tell("reshape", str(to_shape(wanted)));
}

inline void permute(Chain& chain, Draws& draws) {
  std::vector<int> order(chain.array.shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(draws.below(static_cast<int>(i)))]);
  Ints wanted;
  for (const int axis : order) wanted.push_back(chain.array.shape[static_cast<std::size_t>(axis)]);
  chain.tracker = chain.tracker.permute(order);
  chain.array = chain.array.remap(wanted, [&](const Ints& index) {
    Ints source(index.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      source[static_cast<std::size_t>(order[i])] = index[i];
    return source;
  });
  chain.tell("permute", fmt::format("({})", fmt::join(order, ", ")));
}

inline void expand(Chain& chain, Draws& draws) {
  Ints wanted = chain.array.shape;
  for (auto& size : wanted)
    if (size == 1 && count(wanted) * 3 <= kMostElements)
      size = draws.one_in(20) ? 0 : draws.between(1, 3);
  chain.tracker = chain.tracker.expand(to_shape(wanted));
  const Ints from = chain.array.shape;
  chain.array = chain.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i)
      if (from[i] == 1) index[i] = 0;
    return index;
  });
  chain.tell("expand", str(to_shape(wanted)));
}

inline void pad(Chain& chain, Draws& draws) {
  Ints wanted = chain.array.shape, before;
  Padding padding;
  for (auto& size : wanted) {
    std::int64_t left = draws.one_in(3) ? draws.between(0, 3) : 0;
    std::int64_t right = draws.one_in(3) ? draws.between(0, 3) : 0;
    if (count(wanted) * (size + left + right) > kMostElements * size) left = right = 0;
    before.push_back(left);
    padding.emplace_back(left, right);
    size += left + right;
  }
  chain.tracker = chain.tracker.pad(padding);
  chain.array = chain.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] -= before[i];
    return index;
  });
  chain.tell("pad to", str(to_shape(wanted)));
}

inline void shrink(Chain& chain, Draws& draws) {
  Ints wanted, begins;
  Mask keep;
  for (const std::int64_t size : chain.array.shape) {
    std::int64_t begin = draws.one_in(2) ? draws.between(0, std::min<std::int64_t>(size, 3)) : 0;
    std::int64_t end = draws.one_in(2) ? draws.between(std::max(begin, size - 3), size) : size;
    if (begin == end && !draws.one_in(10)) begin = 0, end = size;
    keep.emplace_back(begin, end);
    begins.push_back(begin);
    wanted.push_back(end - begin);
  }
  chain.tracker = chain.tracker.shrink(keep);
  chain.array = chain.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] += begins[i];
    return index;
  });
  chain.tell("shrink to", str(to_shape(wanted)));
}

inline void stride(Chain& chain, Draws& draws) {
  Ints wanted, steps;
  for (const std::int64_t size : chain.array.shape) {
    const std::int64_t step = draws.between(1, 3) * (draws.one_in(2) ? -1 : 1);
    steps.push_back(draws.one_in(3) ? step : (step < 0 ? -1 : 1));
    wanted.push_back(ceil_div(size, std::abs(steps.back())));
  }
  const Ints from = chain.array.shape;
  chain.tracker = chain.tracker.stride(steps);
  chain.array = chain.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i)
      index[i] = steps[i] > 0 ? index[i] * steps[i] : from[i] - 1 + index[i] * steps[i];
    return index;
  });
  chain.tell("stride", fmt::format("({})", fmt::join(steps, ", ")));
}

inline void as_strided(Chain& chain, Draws& draws) {
  const std::int64_t size = count(chain.array.shape);
  if (size == 0) return;
  Ints wanted, strides;
  std::int64_t low = 0, high = 0;
  for (std::int64_t i = draws.between(0, 3); i > 0; --i) {
    const std::int64_t stride = draws.between(-4, 8);
    std::int64_t extent = draws.between(1, 4);
    while (high - low + std::abs(stride) * (extent - 1) >= size) --extent;
    (stride < 0 ? low : high) += stride * (extent - 1);
    wanted.push_back(extent);
    strides.push_back(stride);
  }
  const std::int64_t offset = draws.between(0, size - 1 - (high - low)) - low;
  chain.tracker =
      chain.tracker.as_strided(to_shape(wanted), Strides(strides.begin(), strides.end()), offset);
  Array flat{{size}, chain.array.address};
  chain.array = flat.remap(wanted, [&](const Ints& index) {
    std::int64_t k = offset;
    for (std::size_t i = 0; i < index.size(); ++i) k += index[i] * strides[i];
    return Ints{k};
  });
  chain.tell("as_strided", str(to_shape(wanted)));
}

using Op = void (*)(Chain&, Draws&);

/// Every operation, reshape most often.
inline constexpr Op kAnyOp[] = {permute, reshape, pad,     reshape,   shrink,
                                expand,  stride,  reshape, as_strided};
/// The movement operations alike.
inline constexpr Op kEverydayOp[] = {permute, reshape, pad, shrink, expand, stride};
/// Two in three a reshape.
inline constexpr Op kReshapeOp[] = {reshape, permute, reshape, pad,     reshape, stride,
                                    reshape, reshape, shrink,  reshape, expand,  reshape};

/// Reshapes and permutes, and nothing padded: this leaves most views.
inline constexpr Op kPermuteOp[] = {reshape, permute, reshape, shrink, reshape, permute};

inline Chain chain_from(const Ints& shape, Draws& draws, std::span<const Op> ops,
                        std::int64_t least, std::int64_t most, Keep keep = Keep::Fewest) {
  Chain chain{ShapeTracker::contiguous(to_shape(shape)), Array::contiguous(shape), "", keep};
  chain.tell("start", "");
  for (std::int64_t length = draws.between(least, most); length > 0; --length)
    ops[static_cast<std::size_t>(draws.below(std::ssize(ops)))](chain, draws);
  return chain;
}

inline Chain any_chain(Draws& draws, std::span<const Op> ops, std::int64_t least, std::int64_t most,
                       Keep keep = Keep::Fewest) {
  const Ints shape = any_shape(draws);
  return chain_from(shape, draws, ops, least, most, keep);
}

/// From 2 to 4 axes of sizes 2 to 6.
inline Chain dense_chain(Draws& draws, std::span<const Op> ops, std::int64_t least,
                         std::int64_t most, Keep keep = Keep::Fewest) {
  Ints shape;
  for (std::int64_t rank = draws.between(2, 4); rank > 0; --rank)
    shape.push_back(draws.between(2, 6));
  return chain_from(shape, draws, ops, least, most, keep);
}

inline Chain any_chain(Draws& draws) { return any_chain(draws, kAnyOp, 0, 7); }

}  // namespace touchstone::model
