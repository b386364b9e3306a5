#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "touchstone/base/hash.h"

namespace touchstone::fuzz {

/// The source of a generator's decisions: a pseudo-random stream, a property tester's choices or a
/// fuzzer's bytes. Choice 0 is always the simplest, so a shorter or smaller source draws a simpler
/// case. Header-only, like its kinds; RapidCheck's is in rapidcheck_chooser.h.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// A number in [0, n); n > 0.
  virtual std::uint64_t below(std::uint64_t n) = 0;

  int index(std::size_t n) { return static_cast<int>(below(n)); }
  std::int64_t between(std::int64_t low, std::int64_t high) {  // inclusive
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// True in `times` of `of` cases; false is simpler.
  bool chance(std::uint64_t times, std::uint64_t of) { return below(of) >= of - times; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  /// A permutation of 0, 1, ..., n - 1.
  template <class T = std::int64_t>
  std::vector<T> order(std::size_t n) {
    std::vector<T> all(n);
    std::iota(all.begin(), all.end(), T{0});
    for (std::size_t i = n; i > 1; --i) std::swap(all[i - 1], all[i - 1 - below(i)]);
    return all;
  }
  /// Factors of a number above 0, some of them 1: `most` or one more.
  std::vector<std::int64_t> factors(std::int64_t number, std::size_t most) {
    std::vector<std::int64_t> all;
    while (number > 1 && all.size() < most) {
      std::vector<std::int64_t> divisors;
      for (std::int64_t d = number; d > 1; --d)
        if (number % d == 0) divisors.push_back(d);
      all.push_back(pick(divisors));
      number /= all.back();
      if (chance(1, 6)) all.push_back(1);
    }
    if (number > 1) all.back() *= number;
    return all;
  }
};

/// Choices from a given list; 0 once it is used up.
class ListChooser : public Chooser {
 public:
  explicit ListChooser(std::span<const std::uint32_t> choices) : choices_(choices) {}
  std::uint64_t below(std::uint64_t n) override {
    return next_ < choices_.size() ? choices_[next_++] % n : 0;
  }

 private:
  std::span<const std::uint32_t> choices_;
  std::size_t next_ = 0;
};

/// Choices from a fuzzer's bytes: each takes as many bytes as its range needs, 0 when they run out,
/// so a byte keeps its meaning when others change.
class BytesChooser : public Chooser {
 public:
  explicit BytesChooser(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t below(std::uint64_t n) override {
    std::uint64_t value = 0;
    for (std::uint64_t range = n - 1; range > 0; range >>= 8)
      value = value << 8 | (next_ < bytes_.size() ? bytes_[next_++] : 0U);
    return value % n;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

/// Case `index` of campaign `seed`: a counter-based stream, equal on every machine and for any
/// number of workers. The bits are Threefry-2x32's with 20 rounds (device/threefry.h).
class RandomChooser : public Chooser {
 public:
  RandomChooser(std::uint64_t seed, std::uint64_t index) : key_(hash_mix(seed, index)) {}

  std::uint64_t below(std::uint64_t n) override {
    if (next_ == kAhead) draw_ahead();
    return ahead_[next_++] % n;
  }

 private:
  static constexpr std::uint32_t kAhead = 8;  // draws made at once
  using Lanes [[gnu::vector_size(4 * kAhead)]] = std::uint32_t;

  template <std::uint32_t... kTurns>
  static void rounds(Lanes& x0, Lanes& x1) {
    ((x0 += x1, x1 = (x1 << kTurns | x1 >> (32 - kTurns)) ^ x0), ...);
  }

  void draw_ahead() {
    const auto low = static_cast<std::uint32_t>(key_),
               high = static_cast<std::uint32_t>(key_ >> 32);
    const std::uint32_t schedule[] = {low, high, 0x1BD11BDAU ^ low ^ high};
    Lanes x0 = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + (drawn_ + schedule[0]);
    Lanes x1 = Lanes{} + schedule[1];
    for (std::uint32_t turn = 1; turn <= 5; ++turn) {
      if (turn % 2 == 1)
        rounds<13, 15, 26, 6>(x0, x1);
      else
        rounds<17, 29, 16, 24>(x0, x1);
      x0 += schedule[turn % 3];
      x1 += schedule[(turn + 1) % 3] + turn;
    }
    for (std::uint32_t i = 0; i < kAhead; ++i)
      ahead_[i] = static_cast<std::uint64_t>(x1[i]) << 32 | x0[i];
    drawn_ += kAhead;
    next_ = 0;
  }

  std::uint64_t key_;
  std::uint32_t drawn_ = 0;
  std::uint32_t next_ = kAhead;
  std::uint64_t ahead_[kAhead];
};

}  // namespace touchstone::fuzz
