#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "touchstone/interp/device/exact_sum.h"
#include "touchstone/interp/device/fxn_for_op.h"
#include "touchstone/interp/device/long_vectors.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/unrounded_products.h"

namespace touchstone::interp {
namespace {

// Exponent of the lowest set bit of a finite nonzero value: it is an odd multiple of 2^this.
int lowest_bit(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kHidden = std::uint64_t{1} << 52;
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t digits = (bits & (kHidden - 1)) | (exponent != 0 ? kHidden : 0);
  return std::max(exponent, 1) - 1075 + std::countr_zero(digits);
}

// Quantities that bound the partial sums of one sum.
struct SumSizes {
  double count;      // number of nonzero terms
  double height;     // additions on the longest path from a term to the result
  double magnitude;  // sum|v|
  double most;       // of any partial sum: the larger of the positive terms' sum and the others'
  double largest;    // largest term
  double lanes;      // number of running sums; 0: not declared
  double per_lane;   // terms in each
};

// An upper bound on the sum of |partial sum| over the additions of any tree. With the n - 1
// additions ordered by the number of terms below them, the k-th has at most k + 1, so its sum is at
// most k + 1 times the largest term; likewise for each lane, and all lanes together have at most
// sum|v|.
double sum_of_partials(const SumSizes& s) {
  const auto ramp = [](double steps, double slope, double cap) {  // sum over m of min(m slope, cap)
    const double rising = std::clamp(std::floor(cap / slope), 1.0, std::max(steps, 1.0));
    return slope * (rising * (rising + 1) / 2 - 1) + (steps - rising) * cap;
  };
  if (!(s.largest > 0) || s.count < 2) return 0;
  double all = std::min(ramp(s.count, s.largest, s.most), s.height * s.magnitude);
  if (s.lanes > 0)
    all =
        std::min(all, ramp(s.per_lane, s.lanes * s.largest, s.magnitude) + (s.lanes - 1) * s.most);
  return std::max(all, 0.0);
}

// |computed - exact| for n terms by a tree of height h, u = 2^-p, is at most each of
//  - h u/(1 - h u) sum|v| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 4.2);
//  - (n - 1) u sum|v|, with no condition on n (Jeannerod and Rump, "Improved error bounds for inner
//    products in floating-point arithmetic", SIAM J. Matrix Anal. Appl. 34, 2013);
//  - u times the sum of |computed partial sums|, each of which is the exact one plus the first
//    bound for the terms below it, in total h times that bound.
double any_order_bound(const SumSizes& s, double u, bool any_order) {
  const double hu = s.height * u;
  const double classic = hu / (1 - hu) * s.magnitude;
  double bound = std::min(classic, u * sum_of_partials(s) + hu * classic);
  if (any_order) bound = std::min(bound, hu * s.magnitude);
  return bound * (1 + 0x1p-40);
}

// Relative to sum|v|, how much rounding can add to a partial sum of any tree of height h, however
// large h u is: (1 + u)^h - 1, and at most (n - 1) u if every addition rounds to nearest.
double growth(const SumSizes& s, double u, bool truncates) {
  const double by_height = std::expm1(s.height * std::log1p(u));
  const double by_count = truncates ? by_height : std::max(s.count - 1, 0.0) * u;
  return std::min(by_height, by_count) * (1 + 0x1p-40);
}

// Of terms between ends: the sums of their largest magnitudes and of the parts of either sign, in
// any order, the largest magnitude, and how many may be nonzero, positive and negative.
struct EndSizes {
  double magnitude = 0, largest = 0, up = 0, down = 0;
  std::int64_t nonzero = 0, above = 0, below = 0;
  bool finite = true, points = true;
};
// kSame: both ends are the same.
template <bool kSame, class T>
EndSizes sizes_of(const T* lows, const T* highs, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
  typedef std::int64_t Longs __attribute__((vector_size(kLanes * sizeof(double))));
  EndSizes all;
  in_longest_vectors([&all, lows, highs, n] {
    Doubles magnitude{}, largest{}, up{}, down{}, none{}, apart{};
    Longs above{}, below{}, nonzero{};
    const Doubles zero{};
    const auto read = [](const T* from, Doubles& to) {
      if constexpr (std::is_same_v<T, double>)
        std::memcpy(&to, from, sizeof to);
      else
        for (std::size_t k = 0; k < kLanes; ++k)
          to[k] = static_cast<double>(scalar::detail::computing(from[k]));
    };
    const auto look = [&](const T* from, const T* to) {
      Doubles low, high;
      read(from, low);
      const Doubles minus = -low, a = low < zero ? minus : low;
      Doubles most = a;
      if constexpr (kSame) {
        high = low;
      } else {
        read(to, high);
        const Doubles other = -high, b = high < zero ? other : high;
        most = a > b ? a : b;
        none += high - high;
        apart += high - low;  // at least 0
        nonzero -= most > zero;
      }
      none += low - low;  // 0 of finite numbers, else NaN
      magnitude += most;
      largest = most > largest ? most : largest;
      up += high > zero ? high : zero;
      down += low < zero ? minus : zero;
      above -= high > zero;
      below -= low < zero;
    };
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) look(lows + i, highs + i);
    if (i < n) {
      T low[kLanes] = {}, high[kLanes] = {};
      for (std::size_t k = 0; k < n - i; ++k) low[k] = lows[i + k], high[k] = highs[i + k];
      look(low, high);
    }
    double open = 0, gap = 0;
    for (std::size_t k = 0; k < kLanes; ++k) {
      all.magnitude += magnitude[k];
      all.largest = std::max(all.largest, largest[k]);
      all.up += up[k];
      all.down += down[k];
      all.above += above[k];
      all.below += below[k];
      all.nonzero += kSame ? above[k] + below[k] : nonzero[k];
      open += none[k];
      gap += apart[k];
    }
    all.finite = open == 0;
    all.points = gap == 0;
  });
  return all;
}

// The terms of one sign.
struct Side {
  double sum = 0;          // of absolute values
  std::int64_t terms = 0;  // that may be nonzero
};

// True if a partial sum may exceed the accumulator's largest number on the side of `own`: it is at
// most the sum of these terms plus the rounding of all. A single term of this sign is itself the
// bound: subtracting from a number of the accumulator cannot round beyond it. `changed`: relative
// amount by which a term may be larger than stated.
bool can_overflow(const Side& own, const Side& other, const SumSizes& s, double largest_number,
                  int digits, double changed, bool truncates) {
  if (own.terms == 0) return false;
  if (own.terms == 1 && changed == 0) return own.sum > largest_number;
  const double more = growth(s, std::ldexp(truncates ? 2 : 1, -digits), truncates);
  const double up = (1 + changed) * (1 + (s.count + 4) * 0x1p-52);
  double most = own.sum * up * (1 + more);
  if (more > 1) most += other.sum * up * (more - 1);
  return !(most < largest_number);
}

/// A sum in the orders that the profile declares, with each partial sum rounded to the
/// accumulator's type. The bound on |computed - exact| is any_order_bound. One legal result if
/// every order is exact or rounds once: fewer than three nonzero terms, or all of them multiples of
/// one power of two with a small enough sum.
template <class T>
class LegalFloatSum : public LegalReducer {
 public:
  LegalFloatSum(const ProgramNode& node, const Profile& profile)
      : node_(&node), accumulator_(node.accumulator), profile_(&profile) {
    // An accumulator wider than the kernel's stays within the kernel's bound.
    if (profile.accumulator && info(*profile.accumulator).digits < info(accumulator_).digits)
      accumulator_ = *profile.accumulator;
    // NumPy adds a row of float16 in float32, and the sums of rows in float16.
    const bool in_one_part =
        node.row == node.terms && node.terms <= static_cast<std::int64_t>(kNumpyBuffer);
    if (profile.order == SumOrder::Numpy && node.row == 0) replayed_ = false;  // order unknown
    if (profile.order == SumOrder::Numpy && node.rounds_to.value_or(dtype_v<T>) == DType::Float16 &&
        (std::is_same_v<T, float16> || !in_one_part)) {
      accumulator_ = DType::Float16;
      replayed_ = replayed_ && std::is_same_v<T, float16>;
    }
    narrows_ = info(accumulator_).digits < info(dtype_v<T>).digits ||
               info(accumulator_).min_exponent > info(dtype_v<T>).min_exponent;
  }

  void feed(const LegalBlock& in, std::int64_t first, std::int64_t count) override {
    const std::int64_t before = nonzero_;
    if (in.determined && !profile_->flushes_inputs && !has_running_sums() && count > 0 &&
        add_numbers({in.lo.begin<T>() + first, static_cast<std::size_t>(count)})) {
      if (in.unrounded()) mark_unrounded(in, first, count, nonzero_ - before == count);
      last_ = in.get<T>(first + count - 1);
      total_ += count;
      return;
    }
    if (count > 0 && add_intervals(in, first, count)) return;
    for (std::int64_t i = first; i < first + count; ++i) {
      unrounded_ = unrounded_ || in.unrounded(i);
      Legal<T> term = in.get<T>(i);
      // An unrounded product may exceed the largest number without being infinite.
      if (in.unrounded(i) && term.number &&
          (term.lo == infinity<T>(true) || term.hi == infinity<T>())) {
        if constexpr (has_infinities<T>)
          term = not_rounded(term);
        else
          any_ = true;
      }
      if (profile_->flushes_inputs) term = legal::flushed(term);
      last_ = term;
      add(term, in.unrounded(i));
    }
    total_ += count;
  }
  void skip(std::int64_t count) override {
    total_ += count;
    replayed_ = replayed_ && !(is_tree() && count > 0);
    lane_ = static_cast<std::size_t>((static_cast<std::int64_t>(lane_) + count) % profile_->block);
    if (count > 0) last_ = {};
  }
  std::unique_ptr<LegalReducer> clone() const override {
    return std::make_unique<LegalFloatSum>(*this);
  }
  void finish(LegalBlock& out, std::int64_t at) override {
    if (!points_ && !same_.empty()) {
      lows_.merge(same_);
      highs_.merge(same_);
    }
    Legal<T> sum = with_storage(accumulator_, [&]<class A>(std::type_identity<A>) -> Legal<T> {
      if constexpr (!is_float_storage<A>)
        return Legal<T>::unknown();
      else {
        const Legal<T> narrow = result<A>();
        // Terms held in a wider type may be added in it, without an overflow.
        const bool may_be_wide = profile_->excess && !profile_->excess_each_op &&
                                 !profile_->accumulator &&
                                 info(dtype_v<A>).digits < info(dtype_v<T>).digits;
        return may_be_wide && narrow.has_infinity() ? Legal<T>::one_of({narrow, result<T>()})
                                                    : narrow;
      }
    });
    if (negative_.terms == 0 && maybe_negative_infinity_ == 0 && !below_)
      sum = legal::not_negative(sum);
    if (profile_->flushes_outputs) sum = legal::flushed(sum);
    if (profile_->finite_only && (sum.nan || sum.has_infinity())) sum = Legal<T>::anything();
    out.set<T>(at, sum);
    auto room = std::move(running_);
    auto terms = std::move(terms_);
    room.clear();
    terms.clear();
    *this = LegalFloatSum(*node_, *profile_);
    running_ = std::move(room);
    terms_ = std::move(terms);
  }

 private:
  static double value(T x) { return static_cast<double>(scalar::detail::computing(x)); }

  // Notes the unrounded products among determined terms; `none_is_zero`: as rounded.
  void mark_unrounded(const LegalBlock& in, std::int64_t first, std::int64_t count,
                      bool none_is_zero) {
    const T* terms = in.lo.begin<T>();
    for (std::int64_t i = first; i < first + count && !(unrounded_ && none_is_zero); ++i)
      if (in.unrounded(i)) {
        unrounded_ = true;
        if (is_zero_value(terms[i])) underflows(terms[i]);
      }
  }
  // A product that rounds to this zero and may be added unrounded is not zero.
  void underflows(T zero) {
    ++underflowed_;
    below_ = below_ || std::signbit(value(zero));
  }

  // Adds determined terms as `add` does, but faster; false if one is not finite.
  bool add_numbers(std::span<const T> terms) {
    const EndSizes sizes = sizes_of<true>(terms.data(), terms.data(), terms.size());
    if (sizes.finite) add_numbers(terms, sizes);
    return sizes.finite;
  }
  void add_numbers(std::span<const T> terms, const EndSizes& sizes) {
    count_sizes(sizes);
    // Once no grid has all terms, lower bits do not matter.
    constexpr std::size_t kFew = 16;
    const auto is_open = [&] {
      return profile_->flushes_outputs ||
             !(std::ldexp(largest_, -lowest_bit_ - info(accumulator_).digits) > 1);
    };
    for (std::span<const T> rest = terms; !rest.empty() && is_open();) {
      const auto few = rest.first(std::min(rest.size(), kFew));
      for (const T x : few)
        if (!is_zero_value(x)) lowest_bit_ = std::min(lowest_bit_, lowest_bit(value(x)));
      rest = rest.subspan(few.size());
    }
    same_.add(terms);
  }

  // Adds terms that are finite numbers, not all known, as `add` does, but faster; false if they are
  // not.
  bool add_intervals(const LegalBlock& in, std::int64_t first, std::int64_t count) {
    if (in.determined || in.unrounded() || profile_->flushes_inputs || has_running_sums())
      return false;
    const auto n = static_cast<std::size_t>(count);
    const std::span<const T> lows{in.lo.begin<T>() + first, n}, highs{in.hi.begin<T>() + first, n};
    const auto flags = std::span(in.flags).subspan(static_cast<std::size_t>(first), n);
    int others = 0;
    for (const std::uint8_t flag : flags) others |= flag ^ LegalBlock::kNumber;
    const EndSizes sizes = others == 0 ? sizes_of<false>(lows.data(), highs.data(), n) : EndSizes();
    if (others != 0 || !sizes.finite) return false;
    if (sizes.points) {
      add_numbers(lows, sizes);
    } else {
      count_sizes(sizes);
      lows_.add(lows);
      highs_.add(highs);
      points_ = false;  // then the lowest bit does not matter
    }
    last_ = in.get<T>(first + count - 1);
    total_ += count;
    return true;
  }

  void count_sizes(const EndSizes& sizes) {
    nonzero_ += sizes.nonzero;
    magnitude_ += sizes.magnitude;
    largest_ = std::max(largest_, sizes.largest);
    positive_ = {positive_.sum + sizes.up, positive_.terms + sizes.above};
    negative_ = {negative_.sum + sizes.down, negative_.terms + sizes.below};
  }

  void add(const Legal<T>& term, bool unrounded) {
    if (has_running_sums()) replay(term, unrounded);
    any_ = any_ || term.any;
    nan_ = nan_ || term.nan;
    only_nan_ = only_nan_ || term.is_nan_only();
    if (term.any || !term.number) return;
    const double low = value(term.lo), high = value(term.hi);
    if (std::isinf(low) || std::isinf(high)) {
      is_infinite_ = is_infinite_ || term.is_infinity();
      add_infinite(low, high);
      if (std::isinf(low) && std::isinf(high)) return;
      // Rounded additions are monotone, so the finite end bounds the sum on its side.
      const T end = std::isinf(low) ? term.hi : term.lo;
      return add(Legal<T>::point(end), false);
    }
    if (low == 0 && high == 0) {
      if (unrounded) underflows(term.lo);
      return;
    }
    if (low == high) {
      same_.add(term.lo);
      lowest_bit_ = std::min(lowest_bit_, lowest_bit(low));
    } else {
      points_ = false;
      lows_.add(term.lo);
      highs_.add(term.hi);
    }
    const double most = std::max(std::abs(low), std::abs(high));
    count_sizes({most, most, std::max(high, 0.0), std::max(-low, 0.0), 1, high > 0 ? 1 : 0,
                 low < 0 ? 1 : 0});
  }

  void add_infinite(double low, double high) {
    const bool up = std::isinf(high) && high > 0, down = std::isinf(low) && low < 0;
    maybe_positive_infinity_ += up ? 1 : 0;
    maybe_negative_infinity_ += down ? 1 : 0;
    maybe_either_infinity_ += up && down ? 1 : 0;
    if (low == high)
      (low > 0 ? must_be_positive_infinity_ : must_be_negative_infinity_) = true;
    else
      unbounded_ = true;  // an end is infinite
  }

  bool has_running_sums() const {
    return profile_->order == SumOrder::Sequential || profile_->order == SumOrder::Folded ||
           profile_->order == SumOrder::Lanes || is_tree();
  }
  bool is_tree() const {
    return profile_->order == SumOrder::Halves || profile_->order == SumOrder::Numpy;
  }

  // Replays the running sums of such a device. Each rounded addition is monotone in the sum and in
  // the term, so the ends of both give the ends of the next sum.
  void replay(const Legal<T>& term, bool unrounded) {
    replayed_ = replayed_ && term.number && !term.nan && !term.any && !term.has_infinity() &&
                !(unrounded && narrows_);
    if (!replayed_) return;
    if (is_tree()) return terms_.push_back({term.lo, term.hi, unrounded});
    if (running_.empty()) running_.resize(static_cast<std::size_t>(profile_->block));
    with_storage(accumulator_, [&]<class A>(std::type_identity<A>) {
      if constexpr (is_float_storage<A>) {
        auto& [low, high] = running_[lane_];
        const bool one = low == high && term.is_point() && !unrounded;
        low = step<A>(low, term.lo, unrounded ? -1 : 0);
        high = one ? low : step<A>(high, term.hi, unrounded ? 1 : 0);
      }
    });
    if (++lane_ == running_.size()) lane_ = 0;
  }

  // The sum with a term, or with a number up to half a unit in its last place to one side.
  template <class A>
  static double step(double sum, T term, int side) {
    if (side == 0) return convert<double>(scalar::add(convert<A>(sum), convert<A>(term)));
    constexpr DTypeInfo kTerm = info(dtype_v<T>);
    const double x = value(term), beyond = side * HUGE_VAL;
    const double end =
        std::nextafter(x + side * (std::ldexp(std::abs(x), -kTerm.digits) +
                                   std::ldexp(1.0, kTerm.min_exponent - kTerm.digits)),
                       beyond);
    // The addition in double rounds once more, unless that is the accumulator.
    return convert<double>(
        convert<A>(dtype_v<A> == DType::Float64 ? sum + end : std::nextafter(sum + end, beyond)));
  }

  // NumPy adds the sums of this many terms in turn.
  static constexpr std::size_t kNumpyBuffer = 8192;

  // One end of the sum of n terms from `first` on: by halves; NumPy's are multiples of 8, down to
  // 128 terms in 8 lanes.
  template <class A>
  double tree(bool high, std::size_t first, std::size_t n) const {
    const bool numpy = profile_->order == SumOrder::Numpy;
    const auto plus = [&](double sum, std::size_t i) {
      const Term& x = terms_[first + i];
      return step<A>(sum, high ? x.high : x.low, !x.unrounded ? 0 : high ? 1 : -1);
    };
    const auto both = [](double a, double b) {
      return convert<double>(scalar::add(convert<A>(a), convert<A>(b)));
    };
    if (n > static_cast<std::size_t>(profile_->block) && n > 1) {
      const std::size_t half = n / 2 - (numpy ? n / 2 % 8 : 0);
      return both(tree<A>(high, first, half), tree<A>(high, first + half, n - half));
    }
    double sum = 0;
    const std::size_t whole = numpy ? n - n % 8 : 0;
    if (whole > 0) {
      std::array<double, 8> lanes{};
      for (std::size_t i = 0; i < whole; ++i) lanes[i % 8] = plus(lanes[i % 8], i);
      for (std::size_t k = 1; k < 8; k *= 2)
        for (std::size_t i = 0; i < 8; i += 2 * k) lanes[i] = both(lanes[i], lanes[i + k]);
      sum = lanes[0];
    }
    for (std::size_t i = whole; i < n; ++i) sum = plus(sum, i);
    return sum;
  }

  // NumPy adds the sums of parts of rows in turn, each rounded to A; here by Wide.
  template <class A, class Wide>
  double rows(bool high) const {
    const auto row = static_cast<std::size_t>(node_->row);
    double sum = 0;
    for (std::size_t i = 0, count = 0; i < terms_.size(); i += count) {
      count = std::min(row - i % row, kNumpyBuffer);
      sum = convert<double>(
          convert<A>(scalar::add(convert<Wide>(sum), convert<Wide>(tree<Wide>(high, i, count)))));
    }
    return sum;
  }

  // The running sums of Lanes in any order; those of other orders folded.
  template <class A>
  std::pair<double, double> replayed() const {
    constexpr bool kHalf = std::is_same_v<A, float16> && std::is_same_v<T, float16>;
    using Wide = std::conditional_t<kHalf, float, A>;
    if (profile_->order == SumOrder::Halves)
      return {tree<A>(false, 0, terms_.size()), tree<A>(true, 0, terms_.size())};
    if (is_tree()) return {rows<A, Wide>(false), rows<A, Wide>(true)};
    if (profile_->order != SumOrder::Lanes) {
      const auto folded = [&](auto end) {
        std::vector<double> sums;
        for (const auto& ends : running_) sums.push_back(ends.*end);
        for (; sums.size() > 1; sums.resize(sums.size() / 2))
          for (std::size_t i = 0, half = sums.size() / 2; i < half; ++i)
            sums[i] = convert<double>(scalar::add(convert<A>(sums[i]), convert<A>(sums[half + i])));
        return sums[0];
      };
      using Ends = std::pair<double, double>;
      return {folded(&Ends::first), folded(&Ends::second)};
    }
    ExactSum<double> lows, highs;
    Side up, down;
    double magnitude = 0, most = 0, count = 0;
    for (const auto& [low, high] : running_) {
      if (!std::isfinite(low) || !std::isfinite(high)) return {-HUGE_VAL, HUGE_VAL};
      lows.add(low);
      highs.add(high);
      up.sum += std::max(high, 0.0);
      down.sum += std::max(-low, 0.0);
      const double size = std::max(std::abs(low), std::abs(high));
      magnitude += size;
      most = std::max(most, size);
      count += size != 0 ? 1 : 0;
    }
    const double unit = std::ldexp(1.0, -info(dtype_v<A>).digits);
    if (count * unit >= 0.5) return {-HUGE_VAL, HUGE_VAL};  // no bound on that many roundings
    const double more = 1 + (count + 4) * 0x1p-52;
    const SumSizes all{count,
                       std::max(count - 1, 0.0),
                       magnitude * more,
                       std::max(up.sum, down.sum) * more,
                       most,
                       0,
                       0};
    const double bound = any_order_bound(all, unit, true);
    return {std::nextafter(lows.round_down() - bound, -HUGE_VAL),
            std::nextafter(highs.round_up() + bound, HUGE_VAL)};
  }

  template <class A>
  Legal<T> result() const {
    if (only_nan_) return Legal<T>::only_nan();
    if (any_) return Legal<T>::anything();
    constexpr DTypeInfo kInfo = info(dtype_v<A>);
    constexpr int kTermDigits = info(dtype_v<T>).digits;
    const int digits = this->digits<A>();
    if (total_ == 1 && !unrounded_ && !narrowed<A>() &&
        kInfo.max_exponent >= info(dtype_v<T>).max_exponent)
      return with_free_zero(last_);
    // At least sum|v|. A single term is kept as is: the largest number must not become infinite.
    const double sum =
        nonzero_ < 2 ? magnitude_ : magnitude_ * (1 + static_cast<double>(nonzero_) * 0x1p-52);
    const double changed = digits < kTermDigits ? std::ldexp(1.0, 1 - digits)
                           : unrounded_         ? std::ldexp(1.0, 1 - kTermDigits)
                                                : 0;
    const auto passes = [&](const Side& own, const Side& other) {
      return can_overflow(own, other, sizes(sum, static_cast<double>(height())),
                          static_cast<double>(scalar::detail::computing(largest<A>())), digits,
                          changed, profile_->truncates_sums);
    };
    const bool up = passes(positive_, negative_), down = passes(negative_, positive_);
    // Truncation may stop at the largest number instead; subtracting from it is then arbitrarily
    // wrong.
    const bool saturates = profile_->truncates_sums && (up || down);
    const bool overflows_up = up || (saturates && positive_.terms > 0);
    const bool overflows_down = down || (saturates && negative_.terms > 0);
    const bool to_positive = maybe_positive_infinity_ > 0 || overflows_up;
    const bool to_negative = maybe_negative_infinity_ > 0 || overflows_down;
    // Infinities of both signs do not meet if one term alone gives them, of a sign that is not
    // known.
    const bool one_alone = maybe_either_infinity_ == 1 && maybe_positive_infinity_ == 1 &&
                           maybe_negative_infinity_ == 1 && !overflows_up && !overflows_down;
    const bool nan = nan_ || (to_positive && to_negative && !one_alone);
    if (must_be_positive_infinity_ && must_be_negative_infinity_) return Legal<T>::only_nan();
    if (must_be_positive_infinity_) return Legal<T>::range(infinity<T>(), infinity<T>(), nan);
    if (must_be_negative_infinity_)
      return Legal<T>::range(infinity<T>(true), infinity<T>(true), nan);
    if (is_infinite_) return Legal<T>::range(infinity<T>(true), infinity<T>(), nan).only_infinity();
    if (saturates) return Legal<T>::range(infinity<T>(true), infinity<T>(), nan);
    if (unbounded_ || up || down) return overflowing<A>(sum, to_positive, to_negative, nan);
    Legal<T> out = finite<A>(sum);
    out.nan = nan;
    return out;
  }

  // Of the accumulator.
  template <class A>
  int digits() const {
    const int declared = profile_->accumulator_digits;
    return declared > 0 ? std::min(declared, info(dtype_v<A>).digits) : info(dtype_v<A>).digits;
  }
  // True if the accumulator rounds each term: it has fewer digits or less range for small numbers.
  template <class A>
  bool narrowed() const {
    return digits<A>() < info(dtype_v<T>).digits ||
           info(dtype_v<A>).min_exponent > info(dtype_v<T>).min_exponent;
  }

  template <class A>
  Legal<T> finite(double sum) const {
    constexpr DTypeInfo kInfo = info(dtype_v<A>);
    const bool has_all_digits = digits<A>() == kInfo.digits;
    const bool on_a_grid = std::ldexp(sum, -lowest_bit_ - digits<A>()) <= 1 &&
                           lowest_bit_ > kInfo.min_exponent - digits<A>();
    // A flushing device turns a subnormal partial sum into zero, when it is stored or read again.
    const bool flushes = profile_->flushes_outputs || profile_->flushes_inputs;
    const bool never_flushed = !flushes || lowest_bit_ >= kInfo.min_exponent;
    const bool one_answer = points_ && !unrounded_ && never_flushed;
    // Two terms round once, unless the accumulator rounds them before.
    const bool rounds = !profile_->truncates_sums;
    const bool once = on_a_grid || (nonzero_ <= 2 && !narrowed<A>() && rounds && has_all_digits) ||
                      (profile_->order == SumOrder::Exact && has_all_digits);
    if (one_answer && once) return point_of(same_.template result<A>());
    const bool replays = replayed_ && has_all_digits && rounds &&
                         !(running_.empty() && terms_.empty()) && (one_answer || !flushes);
    const auto [first, last] = replays ? replayed<A>() : std::pair(-HUGE_VAL, HUGE_VAL);
    if (first == last) return point_of(convert<A>(first));
    if (!std::isfinite(sum))  // of doubles: the effect of rounding is unknown
      return Legal<T>::range(scalar::neg(largest<T>()), largest<T>());
    const double bound = rounding_bound<A>(sum);
    const double low_end =
        std::max(std::nextafter((points_ ? same_ : lows_).round_down() - bound, -HUGE_VAL),
                 std::isnan(first) ? -HUGE_VAL : first);
    const double high_end =
        std::min(std::nextafter((points_ ? same_ : highs_).round_up() + bound, HUGE_VAL),
                 std::isnan(last) ? HUGE_VAL : last);
    Legal<T> out = Legal<T>::range(convert<T>(legal::not_below<A>(low_end)),
                                   convert<T>(legal::not_above<A>(high_end)));
    return with_free_zero(out);
  }

  static Legal<T> with_free_zero(Legal<T> out) {
    if (out.has_zero()) {
      if (is_zero_value(out.lo)) out.lo = scalar::neg(T{});
      if (is_zero_value(out.hi)) out.hi = T{};
    }
    return out;
  }

  template <class A>
  static Legal<T> point_of(A sum) {
    const T value = convert<T>(sum);
    if (!is_zero_value(value)) return Legal<T>::point(value);
    return Legal<T>::range(scalar::neg(T{}), T{});  // the sign of the zero is free
  }

  // Some partial sum may exceed the largest number: no claim on the sides that can overflow.
  template <class A>
  Legal<T> overflowing(double sum, bool to_positive, bool to_negative, bool nan) const {
    if (unbounded_ && to_positive && to_negative)
      return Legal<T>::range(infinity<T>(true), infinity<T>(), true);
    Legal<T> out = finite<A>(sum);
    if (to_positive) out.hi = infinity<T>();
    if (to_negative) out.lo = infinity<T>(true);
    out.nan = nan;
    return out;
  }

  // Additions on the longest path from a term to the result.
  std::int64_t height() const {
    const std::int64_t runs = (total_ + profile_->block - 1) / profile_->block;
    const std::int64_t others = nonzero_ + underflowed_ - 1;
    std::int64_t declared = others;
    if (profile_->order == SumOrder::Pairwise || is_tree())
      declared = static_cast<std::int64_t>(std::bit_width(
                     static_cast<std::uint64_t>(std::max<std::int64_t>(runs, 1) - 1))) +
                 profile_->block - 1;
    if (profile_->order == SumOrder::Numpy)
      declared =
          node_->row == 0
              ? others
              : declared + (total_ + node_->row - 1) / node_->row *
                               (1 + (node_->row - 1) / static_cast<std::int64_t>(kNumpyBuffer));
    if (profile_->order == SumOrder::Lanes) declared = runs - 1 + profile_->block - 1;
    if (profile_->order == SumOrder::Folded)
      declared = runs + std::countr_zero(static_cast<std::uint64_t>(profile_->block)) - 1;
    return std::max<std::int64_t>(std::min(declared, others), 0);
  }

  SumSizes sizes(double sum, double height) const {
    const auto count = static_cast<double>(nonzero_ + underflowed_);
    const double up = 1 + (count + 4) * 0x1p-52;  // error of sums in double
    const bool lanes = profile_->order == SumOrder::Lanes || profile_->order == SumOrder::Folded;
    const std::int64_t blocks = (total_ + profile_->block - 1) / profile_->block;
    return {count,
            height,
            sum,
            std::max(positive_.sum, negative_.sum) * up,
            largest_,
            lanes ? static_cast<double>(profile_->block) : 0,
            static_cast<double>(blocks)};
  }

  template <class A>
  double rounding_bound(double sum) const {
    constexpr DTypeInfo kInfo = info(dtype_v<A>);
    const bool narrowed = this->narrowed<A>();
    // Truncation loses less than one unit in the last place, rounding at most half.
    const bool truncates = profile_->truncates_sums;
    const double u = std::ldexp(truncates ? 2 : 1, -digits<A>());
    const auto h = static_cast<double>(height() + (narrowed ? 1 : 0));
    if (h * u >= 0.5) return HUGE_VAL;
    const auto count = static_cast<double>(nonzero_ + underflowed_);
    double bound = any_order_bound(sizes(sum, h), u,
                                   profile_->order == SumOrder::Any && !narrowed && !truncates);
    // A unit that adds k >= 4 terms and the running sum at once, all cut to a multiple of the last
    // digit of the largest, loses at most k + 1 such digits in place of k.
    if (truncates && digits<A>() < kInfo.digits) bound *= 1.25;
    if (narrowed) bound = std::min(bound * (1 + 2 * u) + u * sum, h * u / (1 - h * u) * sum);
    if (unrounded_) {  // products are unrounded
      constexpr DTypeInfo kTerm = info(dtype_v<T>);
      bound = (bound + std::ldexp(sum, -kTerm.digits)) * (1 + std::ldexp(1.0, 1 - kTerm.digits)) +
              count * std::ldexp(1.0, kTerm.min_exponent - kTerm.digits + 1);
    }
    if (narrowed) bound += 2 * count * std::ldexp(1.0, kInfo.min_exponent - digits<A>() + 1);
    if (profile_->flushes_outputs || profile_->flushes_inputs)
      bound += 2 * count * std::ldexp(1.0, kInfo.min_exponent);
    return bound * (1 + 0x1p-50);
  }

  template <class A>
  static A largest() {
    return from_order_key<A>(order_key(infinity<A>()) - 1);
  }

  struct Term {
    T low, high;
    bool unrounded;
  };
  const ProgramNode* node_;
  DType accumulator_;
  const Profile* profile_;
  bool narrows_ = false;          // the accumulator rounds terms
  std::int64_t total_ = 0;        // terms including zeros
  Legal<T> last_{};               // the last term; the sum if it is the only one
  bool unrounded_ = false;        // a term may be an unrounded product
  std::int64_t underflowed_ = 0;  // of these, products that round to 0
  bool below_ = false;            // one of them is negative
  bool replayed_ = true;          // running_ has every term, in the declared order
  std::vector<std::pair<double, double>> running_;  // ends of running sums, filled round-robin
  std::vector<Term> terms_;                         // of a tree, to replay
  std::size_t lane_ = 0;                            // index of the next one
  ExactSum<T> same_;                                // of the terms with equal ends
  ExactSum<T> lows_, highs_;                        // of the ends of others; when finished, of all
  std::int64_t nonzero_ = 0;
  double magnitude_ = 0;  // sum of the larger magnitudes
  double largest_ = 0;    // largest term
  Side positive_, negative_;
  int lowest_bit_ = std::numeric_limits<int>::max() / 2;
  bool points_ = true;
  bool any_ = false, nan_ = false, only_nan_ = false, unbounded_ = false;
  bool is_infinite_ = false;  // some term is, of either sign
  std::int64_t maybe_positive_infinity_ = 0, maybe_negative_infinity_ = 0;
  std::int64_t maybe_either_infinity_ = 0;  // terms that may be both
  bool must_be_positive_infinity_ = false, must_be_negative_infinity_ = false;
};

// Integers and bool: the reference's sum if every term is determined, else no claim.
template <class T>
class LegalIntegerSum : public LegalReducer {
 public:
  explicit LegalIntegerSum(DType accumulator)
      : plain_(reducer_for_op(Op::ReduceSum, dtype_v<T>, accumulator)) {}
  LegalIntegerSum(const LegalIntegerSum& other)
      : plain_(other.plain_->clone()), determined_(other.determined_) {}

  std::unique_ptr<LegalReducer> clone() const override {
    return std::make_unique<LegalIntegerSum>(*this);
  }

  void feed(const LegalBlock& in, std::int64_t first, std::int64_t count) override {
    if (!in.determined)
      for (std::int64_t i = first; i < first + count; ++i)
        determined_ = determined_ && in.get<T>(i).is_point();
    if (determined_) plain_->feed(in.lo, first, count);
  }
  void finish(LegalBlock& out, std::int64_t at) override {
    plain_->finish(out.lo, at);
    const T sum = out.lo.begin<T>()[at];
    Legal<T> result = determined_ ? Legal<T>::point(sum) : Legal<T>::anything();
    if constexpr (std::is_same_v<T, bool>)
      if (!determined_) result = Legal<bool>::range(false, true);
    out.set<T>(at, result);
    determined_ = true;
  }

 private:
  std::unique_ptr<Reducer> plain_;
  bool determined_ = true;
};

template <class T>
class LegalMaximum : public LegalReducer {
 public:
  explicit LegalMaximum(const Profile& profile) : profile_(profile) {}

  std::unique_ptr<LegalReducer> clone() const override {
    return std::make_unique<LegalMaximum>(*this);
  }

  void feed(const LegalBlock& in, std::int64_t first, std::int64_t count) override {
    if constexpr (std::is_floating_point_v<T>)
      if (profile_.max == MaxOfNan::NanWins && !profile_.flushes_inputs &&
          feed_numbers(in, first, count))
        return;
    for (std::int64_t i = first; i < first + count; ++i) {
      if constexpr (is_float_storage<T>) {
        Legal<T> term = in.get<T>(i);
        if (profile_.flushes_inputs) term = legal::flushed(term);
        all_nan_ = all_nan_ && term.nan;
        max_ = profile_.max == MaxOfNan::NanWins
                   ? legal::max(max_, term)
                   : legal::max_of_nan(max_, term, profile_.max == MaxOfNan::NumberWins);
      } else {
        max_ = legal::max(max_, in.get<T>(i));
      }
    }
  }
  void finish(LegalBlock& out, std::int64_t at) override {
    // If no term is a number, the initial value or the first term may remain.
    if (profile_.max == MaxOfNan::NumberWins) max_.nan = max_.nan || all_nan_;
    all_nan_ = is_float_storage<T>;
    if constexpr (is_float_storage<T>) {
      if (profile_.finite_only && (max_.nan || max_.has_infinity())) max_ = Legal<T>::anything();
      if (profile_.zeros_alike && max_.has_zero()) {
        if (is_zero_value(max_.lo)) max_.lo = scalar::neg(T{});
        if (is_zero_value(max_.hi)) max_.hi = T{};
      }
    }
    out.set<T>(at, max_);
    max_ = Legal<T>::point(least());
  }

 private:
  // Adds terms that are numbers as `feed` does, but faster; false if they are not.
  bool feed_numbers(const LegalBlock& in, std::int64_t first, std::int64_t count) {
    const T* lo = in.lo.begin<T>() + first;
    const T* hi = (in.determined ? in.lo : in.hi).begin<T>() + first;
    bool numbers = true;
    for (std::int64_t i = 0; i < count; ++i)
      numbers &= in.determined
                     ? lo[i] == lo[i]
                     : in.flags[static_cast<std::size_t>(first + i)] == LegalBlock::kNumber;
    if (!numbers || count == 0) return false;
    std::int64_t low = order_key(lo[0]), high = order_key(hi[0]);
    for (std::int64_t i = 1; i < count; ++i) {
      low = std::max(low, order_key(lo[i]));
      high = std::max(high, order_key(hi[i]));
    }
    all_nan_ = false;
    max_ = legal::max(max_, Legal<T>::range(from_order_key<T>(low), from_order_key<T>(high)));
    return true;
  }

  static T least() {
    if constexpr (is_float_storage<T>)
      return infinity<T>(true);
    else
      return std::numeric_limits<T>::min();
  }
  const Profile& profile_;
  bool all_nan_ = is_float_storage<T>;
  Legal<T> max_ = Legal<T>::point(least());
};

}  // namespace

std::unique_ptr<LegalReducer> legal_reducer(const ProgramNode& node, const Profile& profile) {
  using Made = std::unique_ptr<LegalReducer>;
  return with_storage(node.dtype, [&]<class T>(std::type_identity<T>) -> Made {
    if (node.op == Op::ReduceMax) return std::make_unique<LegalMaximum<T>>(profile);
    if constexpr (is_float_storage<T>)
      return std::make_unique<LegalFloatSum<T>>(node, profile);
    else
      return std::make_unique<LegalIntegerSum<T>>(node.accumulator);
  });
}

}  // namespace touchstone::interp
