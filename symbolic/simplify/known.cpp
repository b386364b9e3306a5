// Memos of recent digits and flags: opening and joining sums, trying rules and reading text back
// request the same ones repeatedly.
#include <algorithm>
#include <utility>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

constexpr std::size_t kKept = 16;  // few enough for a linear search
// Smaller ones are recomputed as fast as found.
constexpr std::size_t kLeastTerms = 3;

/// The entry for the next result, replacing the oldest.
template <class Known>
Known& place(List<Known>& list, std::size_t& next) {
  if (list.size() == kKept) return list[next++ % kKept];
  if (list.empty()) list.reserve(kKept);
  return list.emplace_back();
}

}  // namespace

Simplifier::Mode Simplifier::mode() const {
  const bool facts = !facts_.empty() || !residues_.empty();
  return {facts ? facts_in_force_ : 0,
          static_cast<std::uint32_t>(matching_) << 2 | (assuming_ ? 2U : 0U) | (halving_ ? 1U : 0U),
          depth_, 0};
}

bool Simplifier::same_mode(const Mode& there, const Mode& here) const {
  const auto within_limit = [&](int depth) { return depth + there.levels <= kLimits.joined_depth; };
  return there.facts == here.facts && there.within == here.within &&
         (there.depth == here.depth || (within_limit(there.depth) && within_limit(here.depth)));
}

Linear Simplifier::digit(Linear s, const Int& lo, const Int& hi) {
  if (trace_ || s.terms.size() < kLeastTerms) return new_digit(std::move(s), lo, hi);
  const std::uint64_t hash = c_.hash_sum(s.constant, s.terms) + lo.hash() * 3 + hi.hash() * 5;
  Mode now = mode();
  for (const KnownDigit& k : digits_)
    if (k.hash == hash && k.lo == lo && k.hi == hi && k.dividend == s && same_mode(k.mode, now)) {
      deepest_ = std::max(deepest_, depth_ + k.mode.levels);
      return k.result;
    }
  Linear dividend = s;
  const Int from = lo, to = hi;
  const int outer = std::exchange(deepest_, depth_);
  Linear result = new_digit(std::move(s), lo, hi);
  now.levels = deepest_ - depth_;
  deepest_ = std::max(deepest_, outer);
  KnownDigit& k = place(digits_, next_digit_);
  k.hash = hash;
  k.mode = now;
  k.dividend = std::move(dividend);
  k.lo = from;
  k.hi = to;
  k.result = result;
  return result;
}

Id Simplifier::flag(Linear s, bool equation) {
  const std::uint64_t hash = c_.hash_sum(s.constant, s.terms) + (equation ? 1 : 0);
  Mode now = mode();
  for (const KnownFlag& k : flags_)
    if (k.hash == hash && k.equation == equation && k.sum == s && same_mode(k.mode, now)) {
      deepest_ = std::max(deepest_, depth_ + k.mode.levels);
      return k.flag;
    }
  Linear sum = s;
  const int outer = std::exchange(deepest_, depth_);
  const Id flag = equation ? new_zero(std::move(s)) : new_negative(std::move(s));
  now.levels = deepest_ - depth_;
  deepest_ = std::max(deepest_, outer);
  KnownFlag& k = place(flags_, next_flag_);
  k.hash = hash;
  k.mode = now;
  k.equation = equation;
  k.flag = flag;
  k.sum = std::move(sum);
  return flag;
}

Id Simplifier::negative(Linear s) {
  if (trace_ || s.terms.size() < kLeastTerms) return new_negative(std::move(s));
  return flag(std::move(s), false);
}

Id Simplifier::zero(Linear s) {
  if (trace_ || s.terms.size() < kLeastTerms) return new_zero(std::move(s));
  return flag(std::move(s), true);
}

}  // namespace touchstone::symbolic
