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

template <class Result, class Make>
Result Simplifier::remembered(Recent<Result>& recent, const Linear& s, const Int& lo, const Int& hi,
                              const Make& make) {
  const std::uint64_t hash = c_.hash_sum(s.constant, s.terms) + lo.hash() * 3 + hi.hash() * 5;
  Mode now = mode();
  for (const Known<Result>& k : recent.list)
    if (k.hash == hash && k.lo == lo && k.hi == hi && k.sum == s && same_mode(k.mode, now)) {
      deepest_ = std::max(deepest_, depth_ + k.mode.levels);
      return k.result;
    }
  Linear sum = s;
  const Int from = lo, to = hi;
  const int outer = std::exchange(deepest_, depth_);
  Result result = make();
  now.levels = deepest_ - depth_;
  deepest_ = std::max(deepest_, outer);
  // The entry replaces the oldest.
  List<Known<Result>>& list = recent.list;
  if (list.empty()) list.reserve(kKept);
  Known<Result>& k = list.size() == kKept ? list[recent.next++ % kKept] : list.emplace_back();
  k = {hash, now, std::move(sum), from, to, result};
  return result;
}

Linear Simplifier::digit(Linear s, const Int& lo, const Int& hi) {
  if (trace_ || s.terms.size() < kLeastTerms) return new_digit(std::move(s), lo, hi);
  return remembered(digits_, s, lo, hi, [&] { return new_digit(std::move(s), lo, hi); });
}

Id Simplifier::flag(Linear s, bool equation) {
  return remembered(flags_, s, equation ? 1 : 0, 0,
                    [&] { return equation ? new_zero(std::move(s)) : new_negative(std::move(s)); });
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
