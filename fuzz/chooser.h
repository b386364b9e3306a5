#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace touchstone::fuzz {

/// Where a generator's decisions come from: a pseudo-random stream, a property tester's choices, a
/// fuzzer's bytes. Choice 0 is always the simplest, so a shorter or smaller source draws a simpler
/// case.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// A number in [0, n); n > 0.
  virtual std::uint64_t below(std::uint64_t n) = 0;

  int index(std::size_t n) { return static_cast<int>(below(n)); }
  std::int64_t between(std::int64_t low, std::int64_t high) {  // inclusive
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// True in `times` of `of` cases; false is the simpler.
  bool chance(std::uint64_t times, std::uint64_t of) { return below(of) >= of - times; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
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

/// Case `index` of campaign `seed`: a counter-based stream, the same on every machine and for any
/// number of workers.
class RandomChooser : public Chooser {
 public:
  RandomChooser(std::uint64_t seed, std::uint64_t index) : seed_(seed), index_(index) {}
  std::uint64_t below(std::uint64_t n) override;

 private:
  std::uint64_t seed_, index_;
  std::uint32_t drawn_ = 0;
};

}  // namespace touchstone::fuzz
