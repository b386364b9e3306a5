#include <array>

#include "backend.h"

namespace touchstone::power {
namespace {

using namespace detail;

constexpr int kLanes = 8;

// The elements that a row uses.
struct Walk {
  Bug bug;
  std::int64_t terms;

  // f(i, j): element i of the first operand and j of the second are the row's k-th.
  template <class F>
  void each(std::int64_t row, F f) const {
    if (bug == Bug::WrongRow && row == kRows - 1) --row;
    const std::int64_t base = row * terms, total = kRows * terms;
    const std::int64_t first = bug == Bug::DropFirst ? 1 : 0;
    std::int64_t last = terms;
    if (bug == Bug::DropLast) --last;
    if (bug == Bug::TailDropped) last = terms / kLanes * kLanes;
    if (bug == Bug::MaskOffByOne) ++last;
    for (std::int64_t k = first; k < last; ++k) {
      if (bug == Bug::DropMiddle && k == terms / 2) continue;
      const std::int64_t i = (base + k + (bug == Bug::Shift ? 1 : 0)) % total;
      const std::int64_t j = bug == Bug::Misaligned && (k ^ 1) < terms ? base + (k ^ 1) : i;
      f(i, j, k);
      if (bug == Bug::Duplicate && k == terms / 2) f(i, j, k);
    }
  }
};

// The accumulator type that a fault substitutes for A.
template <class A>
using Narrow = std::conditional_t<std::is_same_v<A, double>, float, float16>;

// Eight running sums in type A, then their sum; A is the accumulator, or the fault's substitute.
template <class A, class T>
A float_row(const Walk& walk, std::int64_t row, const T* x, const T* y, A start) {
  std::array<A, kLanes> lanes{};
  walk.each(row, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    A term = convert<A>(cut(x[i], walk.bug));
    if (y != nullptr) term = scalar::mul(term, convert<A>(cut(y[j], walk.bug)));
    if (walk.bug == Bug::SignOfOneTerm && k == walk.terms / 2) term = scalar::neg(term);
    A& lane = lanes[static_cast<std::size_t>(k % kLanes)];
    lane = scalar::add(lane, term);
  });
  if (walk.bug == Bug::LaneLost) lanes[3] = A{};
  if (walk.bug == Bug::LaneTwice) lanes[3] = scalar::add(lanes[3], lanes[3]);
  A sum = start;
  for (const A lane : lanes) sum = scalar::add(sum, lane);
  return sum;
}

template <class T>
T truncated_row(const Walk& walk, std::int64_t row, const T* x) {
  std::array<Wide<T>, kLanes> lanes{};
  walk.each(row, [&](std::int64_t i, std::int64_t, std::int64_t k) {
    lanes[static_cast<std::size_t>(k % kLanes)] += widen(x[i]);
  });
  Wide<T> sum = 0;
  for (const Wide<T> lane : lanes) sum += lane;
  return misrounded<T>(sum, Bug::Truncates);
}

template <class T>
T float_sum(const Walk& walk, std::int64_t row, const T* x, const T* y, T before) {
  using A = scalar::detail::Computing<T>;
  if (walk.bug == Bug::Truncates) return truncated_row(walk, row, x);
  if (walk.bug == Bug::NarrowAccumulator) {
    using N = std::conditional_t<is_narrow_float<T>, T, Narrow<A>>;
    return convert<T>(float_row<N>(walk, row, x, y, N{}));
  }
  A start{};
  if (walk.bug == Bug::StartsAtOne) start = A{1};
  if (walk.bug == Bug::StaleAccumulator) start = convert<A>(before);
  return convert<T>(float_row<A>(walk, row, x, y, start));
}

template <class T>
T integer_sum(const Walk& walk, std::int64_t row, const T* x, const T* y, T before) {
  std::array<std::uint64_t, kLanes> lanes{};
  T saturating{};
  walk.each(row, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    T term = y == nullptr ? x[i] : scalar::mul(x[i], y[j]);
    if (walk.bug == Bug::SignOfOneTerm && k == walk.terms / 2) term = scalar::neg(term);
    lanes[static_cast<std::size_t>(k % kLanes)] += static_cast<std::uint64_t>(term);
    saturating = clamped<T>(static_cast<Int128>(saturating) + static_cast<Int128>(term));
  });
  if (walk.bug == Bug::SaturatingSum) return saturating;
  if (walk.bug == Bug::LaneLost) lanes[3] = 0;
  if (walk.bug == Bug::LaneTwice) lanes[3] *= 2;
  std::uint64_t sum = 0;
  if (walk.bug == Bug::StartsAtOne) sum = 1;
  if (walk.bug == Bug::StaleAccumulator)
    sum = static_cast<std::uint64_t>(static_cast<std::int64_t>(before));
  for (const std::uint64_t lane : lanes) sum += lane;
  if (walk.bug == Bug::ShortSum) {
    constexpr int kDropped = 64 - 4 * static_cast<int>(sizeof(T));
    sum <<= kDropped;
    sum = std::is_signed_v<T>
              ? static_cast<std::uint64_t>(static_cast<std::int64_t>(sum) >> kDropped)
              : sum >> kDropped;
  }
  return static_cast<T>(sum);
}

bool bool_sum(const Walk& walk, std::int64_t row, const bool* x, const bool* y, bool before) {
  bool any = walk.bug == Bug::StartsAtOne || (walk.bug == Bug::StaleAccumulator && before);
  walk.each(row, [&](std::int64_t i, std::int64_t j, std::int64_t) {
    const bool term = x[i] && (y == nullptr || y[j]);
    any = walk.bug == Bug::ParitySum ? any != term : any || term;
  });
  return any;
}

template <class T>
T larger(T a, T b, Bug bug) {
  if constexpr (is_float_storage<T>) {
    if (bug == Bug::NanIgnored) return scalar::max_num(a, b);
    if (bug == Bug::NanOnOneSide) return scalar::cmplt(b, a) ? a : b;
  } else if constexpr (!std::is_same_v<T, bool>) {
    if (bug == Bug::OtherSign) return less_of_other_sign(a, b) ? b : a;
  }
  return scalar::max(a, b);
}

template <class T>
T maximum(const Walk& walk, std::int64_t row, const T* x, T before) {
  T start{};
  if constexpr (is_float_storage<T>)
    start = walk.bug == Bug::FiniteIdentity ? scalar::neg(largest<T>()) : interp::infinity<T>(true);
  else
    start = std::numeric_limits<T>::min();
  if (walk.bug == Bug::WrongIdentity) start = T{};
  if (walk.bug == Bug::StaleAccumulator && row > 0) start = before;
  walk.each(row, [&](std::int64_t i, std::int64_t, std::int64_t) {
    start = larger(start, x[i], walk.bug);
  });
  return start;
}

template <class T>
T one_row(const Subject& s, const Walk& walk, std::int64_t row, const T* x, const T* y, T before) {
  if (s.op == Op::ReduceMax) return maximum(walk, row, x, before);
  if constexpr (std::is_same_v<T, bool>)
    return bool_sum(walk, row, x, y, before);
  else if constexpr (is_float_storage<T>)
    return float_sum(walk, row, x, y, before);
  else
    return integer_sum(walk, row, x, y, before);
}

}  // namespace

Bytes run_reduce(const Subject& s, std::span<const HostArray> inputs, Bug bug) {
  Bytes out(static_cast<std::size_t>(kRows) * itemsize(s.to));
  const Walk walk{bug, s.size};
  with_storage(s.dtype, [&]<class T>(std::type_identity<T>) {
    const T* x = data<T>(inputs[0]);
    const T* y = s.dot ? data<T>(inputs[1]) : nullptr;
    T* to = reinterpret_cast<T*>(out.data());
    for (std::int64_t row = 0; row < kRows; ++row) {
      const T result = one_row(s, walk, row, x, y, row == 0 ? T{} : to[row - 1]);
      to[row] = bug == Bug::SignLost ? magnitude(result) : result;
    }
    if (bug == Bug::SwapResults)
      for (std::int64_t row = 0; row + 1 < kRows; row += 2) std::swap(to[row], to[row + 1]);
  });
  return out;
}

}  // namespace touchstone::power
