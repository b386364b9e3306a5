#include "families.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "touchstone/base/hash.h"
#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone::bench {
namespace {

using Ints = std::vector<std::int64_t>;
using Stack = std::vector<View>;

/// A counter-based stream of numbers.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : seed_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(hash_mix(seed_, ++drawn_) % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::uint64_t seed_, drawn_ = 0;
};

Shape shape_of(const Ints& sizes) { return {sizes.begin(), sizes.end()}; }

// ---- chains --------------------------------------------------------------------------------

enum class Move : std::uint8_t { Permute, Reshape, Expand, Shrink, Flip, Stride, Pad };

struct ChainKind {
  const char* name;
  std::vector<Move> moves;  // drawn from; repeated entries are more frequent
  std::int64_t most;        // elements
};

const ChainKind kEveryday{
    "everyday", {Move::Permute, Move::Reshape, Move::Expand, Move::Shrink, Move::Flip}, 4096};
const ChainKind kReshapes{
    "reshape-heavy",
    {Move::Permute, Move::Reshape, Move::Reshape, Move::Reshape, Move::Shrink},
    4096};
const ChainKind kMasked{
    "padded",
    {Move::Pad, Move::Pad, Move::Reshape, Move::Reshape, Move::Permute, Move::Shrink, Move::Stride},
    4096};
const ChainKind kLarge{
    "up to 10^9 elements",
    {Move::Permute, Move::Reshape, Move::Reshape, Move::Shrink, Move::Pad, Move::Flip},
    1'000'000'000};

Ints any_sizes(Numbers& numbers, std::int64_t most) {
  Ints sizes;
  const std::int64_t rank = numbers.between(1, 4), largest = most > 4096 ? 400 : 8;
  for (std::int64_t i = 0, n = 1; i < rank; ++i) {
    sizes.push_back(numbers.between(1, std::max<std::int64_t>(1, std::min(largest, most / n / 4))));
    n *= sizes.back();
  }
  return sizes;
}

// The prime factors of the element count, distributed over some axes.
Ints any_reshape(Numbers& numbers, std::int64_t elements) {
  Ints sizes(static_cast<std::size_t>(numbers.between(1, 4)), 1);
  for (std::int64_t prime = 2; elements > 1; ++prime) {
    if (prime * prime > elements) prime = elements;
    for (; elements % prime == 0; elements /= prime)
      sizes[static_cast<std::size_t>(numbers.below(std::ssize(sizes)))] *= prime;
  }
  return sizes;
}

ShapeTracker step(Numbers& numbers, Move move, std::int64_t most, const ShapeTracker& st) {
  const Ints sizes = concrete(st.shape());
  const auto n = sizes.size();
  std::vector<std::pair<sint, sint>> pairs;
  Ints steps(n, 1);
  switch (move) {
    case Move::Permute: {
      std::vector<int> order(n);
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = n; i > 1; --i)
        std::swap(order[i - 1],
                  order[static_cast<std::size_t>(numbers.below(static_cast<std::int64_t>(i)))]);
      return st.permute(order);
    }
    case Move::Reshape: return st.reshape(shape_of(any_reshape(numbers, st.size().as_int())));
    case Move::Expand: {
      Ints wanted = sizes;
      for (auto& size : wanted)
        if (size == 1 && st.size().as_int() * 4 <= most) size = numbers.between(1, 3);
      return st.expand(shape_of(wanted));
    }
    case Move::Shrink:
      for (const std::int64_t size : sizes) {
        const std::int64_t begin = numbers.one_in(3) ? numbers.below(size) : 0;
        pairs.emplace_back(begin, numbers.one_in(3) ? numbers.between(begin + 1, size) : size);
      }
      return st.shrink(pairs);
    case Move::Flip:
    case Move::Stride:
      for (auto& s : steps)
        s = move == Move::Flip ? (numbers.one_in(2) ? -1 : 1) : numbers.between(1, 2);
      return st.stride(steps);
    case Move::Pad:
      for (std::size_t i = 0; i < n; ++i)
        pairs.emplace_back(numbers.one_in(3) ? numbers.between(1, 2) : 0,
                           numbers.one_in(3) ? numbers.between(1, 2) : 0);
      return st.pad(pairs);
  }
  return st;
}

Stack any_chain(Numbers& numbers, const ChainKind& kind) {
  ShapeTracker st = ShapeTracker::contiguous(shape_of(any_sizes(numbers, kind.most)));
  for (std::int64_t left = numbers.between(2, 8); left > 0; --left) {
    const auto which = static_cast<std::size_t>(numbers.below(std::ssize(kind.moves)));
    const ShapeTracker next = step(numbers, kind.moves[which], kind.most, st);
    if (next.size().as_int() <= kind.most) st = next;
  }
  return st.views();
}

// ---- pairs made for a feature --------------------------------------------------------------

View strided(const Ints& sizes, const Ints& strides, std::int64_t offset = 0,
             std::optional<Mask> mask = std::nullopt) {
  return View::strided(shape_of(sizes), Strides(strides.begin(), strides.end()), offset,
                       std::move(mask));
}

// A view of up to three axes with strides among `weights` that stays within `size` elements.
View outer_within(Numbers& numbers, std::int64_t size, const Ints& weights) {
  Ints sizes, strides;
  std::int64_t low = 0, high = 0;
  for (std::int64_t rank = numbers.between(1, 3); rank > 0; --rank) {
    const auto which = static_cast<std::size_t>(numbers.below(std::ssize(weights)));
    const std::int64_t stride = weights[which] * numbers.between(-1, 2);
    std::int64_t extent = numbers.between(2, 4);
    while (high - low + std::abs(stride) * (extent - 1) >= size) --extent;
    (stride < 0 ? low : high) += stride * (extent - 1);
    sizes.push_back(extent);
    strides.push_back(stride);
  }
  return strided(sizes, strides, numbers.between(0, size - 1 - (high - low)) - low);
}

Stack random_strides(Numbers& numbers) {
  Ints sizes, strides, weights;
  std::int64_t size = 1;
  Mask mask;
  for (std::int64_t rank = numbers.between(2, 4); rank > 0; --rank) {
    weights.push_back(size);
    sizes.insert(sizes.begin(), numbers.between(2, 4));
    strides.push_back(numbers.between(-8, 8));
    size *= sizes.front();
  }
  for (const std::int64_t s : sizes) {
    const bool cut = numbers.one_in(3);
    mask.emplace_back(cut ? numbers.below(2) : 0, cut ? s - numbers.below(2) : s);
  }
  return {strided(sizes, strides, 100, mask), outer_within(numbers, size, weights)};
}

// Jumps of 1 and -1: neither floor is affine, but the pair may still be one view.
Stack cancelling_carries(Numbers& numbers) {
  const std::int64_t s = numbers.between(3, 6), w = numbers.between(3, 6);
  const View inner = strided({2, s, w}, {1 - s, -1, 0}, 2 * s);
  return {inner, outer_within(numbers, 2 * s * w, {1, 2, w, w + 1})};
}

// One element of a long axis, searched for by an outer view whose axes are the parts: deciding it
// decides whether some parts have the sum.
Stack subset_sum(Numbers& numbers) {
  Ints parts;
  for (int i = 0; i < 12; ++i) parts.push_back(numbers.between(50, 400));
  const std::int64_t total = std::accumulate(parts.begin(), parts.end(), std::int64_t{1});
  const std::int64_t only = numbers.between(total / 4, total / 2) + total;
  Ints sizes(parts.size() + 2, 2), strides = parts;
  strides.insert(strides.end(), {total, total});
  return {strided({3 * total}, {1}, 0, Mask{{only, only + 1}}), strided(sizes, strides)};
}

Family make(const std::string& name, int count, const std::function<Stack(Numbers&)>& draw,
            std::size_t at_least) {
  Family family{name, {}};
  for (std::uint64_t seed = 1; std::ssize(family.stacks) < count; ++seed) {
    Numbers numbers(hash_mix(seed, name.size()));
    Stack stack = draw(numbers);
    if (stack.size() >= at_least) family.stacks.push_back(std::move(stack));
  }
  return family;
}

}  // namespace

std::vector<Family> pair_families(int count) {
  std::vector<Family> families;
  for (const ChainKind* kind : {&kEveryday, &kReshapes, &kMasked, &kLarge})
    families.push_back(make(
        kind->name, count,
        [&](Numbers& numbers) {
          Stack stack = any_chain(numbers, *kind);
          if (stack.size() > 2) stack.resize(2);
          return stack;
        },
        2));
  families.push_back(make("random strides, masks", count, random_strides, 2));
  families.push_back(make("carries cancel", count, cancelling_carries, 2));
  families.push_back(make("subset sums of 12", std::max(1, count / 20), subset_sum, 2));
  return families;
}

std::vector<Family> chain_families(int count) {
  std::vector<Family> families;
  for (const ChainKind* kind : {&kEveryday, &kReshapes, &kMasked, &kLarge})
    families.push_back(make(
        kind->name, count, [&](Numbers& numbers) { return any_chain(numbers, *kind); }, 2));
  return families;
}

}  // namespace touchstone::bench
