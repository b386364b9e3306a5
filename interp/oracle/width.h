#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "touchstone/interp/oracle/legal.h"

// How wide the legal results of an element are: errors that a verdict could not detect.

namespace touchstone::interp {

/// An element is weak if its legal numbers span a larger share of their larger end: fewer than four
/// significant bits are claimed.
inline constexpr double kWeakWidth = 1.0 / 16;

/// The largest relative width of a sharp element: eight significant bits are claimed, or half of
/// the type's digits if fewer. 2^-8 for float32 and float64, 2^-5 for float16, 2^-4 for bfloat16
/// and narrower types.
inline double sharp_width(DType dtype) {
  if (!is_float(dtype)) return kWeakWidth;
  return std::min(kWeakWidth, std::ldexp(1.0, -std::min(8, info(dtype).digits / 2)));
}

/// The span of the legal numbers relative to their larger end: 0 for one result, at least 1 if not
/// even the sign is claimed. Infinite if unbounded: an infinite end, NaN beside numbers, either
/// bool, or no claim at all.
template <class T>
double relative_width(const Legal<T>& x) {
  constexpr double kOpen = std::numeric_limits<double>::infinity();
  if (x.any) return kOpen;
  if (!x.number) return 0;
  if (x.nan) return kOpen;
  if (x.is_point()) return 0;
  if constexpr (std::is_same_v<T, bool>) {
    return kOpen;
  } else {
    if (x.apart) return 0;
    if (x.has_infinity()) return kOpen;
    double lo = 0, hi = 0;
    if constexpr (is_float_storage<T>) {
      lo = static_cast<double>(scalar::detail::computing(x.lo));
      hi = static_cast<double>(scalar::detail::computing(x.hi));
    } else {
      lo = static_cast<double>(x.lo);
      hi = static_cast<double>(x.hi);
    }
    const double most = std::max(std::abs(lo), std::abs(hi));
    return most == 0 ? 0 : hi / most - lo / most;  // zeros of both signs: either
  }
}

/// A histogram of widths, an eighth of a binade to a bin, with the largest width of each bin:
/// quantiles of any number of widths in a few kilobytes. A quantile is a width that occurred, off
/// by less than an eighth.
class WidthCounts {
 public:
  void add(double width, std::int64_t count = 1) {
    if (count == 0) return;
    total_ += count;
    if (width == 0) return;  // zeros are the rest of the total
    if (places_.empty()) places_.resize(kPlaces);
    Place& place = places_[place_of(width)];
    place.count += count;
    place.largest = std::max(place.largest, width);
  }
  void add(const WidthCounts& other) {
    total_ += other.total_;
    if (other.places_.empty()) return;
    if (places_.empty()) places_.resize(kPlaces);
    for (std::size_t i = 0; i < kPlaces; ++i) {
      places_[i].count += other.places_[i].count;
      places_[i].largest = std::max(places_[i].largest, other.places_[i].largest);
    }
  }

  /// The least recorded width not exceeded by all but a share `rest` (0: the largest); 0 if empty.
  double all_but(double rest) const {
    const auto above = static_cast<std::int64_t>(std::floor(rest * static_cast<double>(total_)));
    std::int64_t seen = 0;
    for (std::size_t i = places_.size(); i-- > 0;) {
      seen += places_[i].count;
      if (seen > above) return places_[i].largest;
    }
    return 0;
  }

 private:
  // Bins for widths from 2^-64 to 2^64, and one beyond each end.
  static constexpr int kPerBinade = 8, kLeastExponent = -64, kMostExponent = 64;
  static constexpr std::size_t kPlaces = (kMostExponent - kLeastExponent) * kPerBinade + 2;
  static std::size_t place_of(double width) {
    if (std::isinf(width)) return kPlaces - 1;
    if (width < std::ldexp(1.0, kLeastExponent)) return 0;
    if (width >= std::ldexp(1.0, kMostExponent)) return kPlaces - 2;
    // The exponent and three bits below it.
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(width) >> 49);
    return static_cast<std::size_t>(bits - (std::int64_t{1023 + kLeastExponent} << 3));
  }

  struct Place {
    std::int64_t count = 0;
    double largest = 0;
  };
  std::int64_t total_ = 0;
  std::vector<Place> places_;
};

}  // namespace touchstone::interp
