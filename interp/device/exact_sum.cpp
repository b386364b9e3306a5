#include "touchstone/interp/device/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "touchstone/base/error.h"
#include "touchstone/interp/device/sum_in_parts.h"

namespace touchstone {

namespace detail {

void carry_digits(std::int64_t* digits, int count) {
  std::int64_t carry = 0;
  for (int i = 0; i + 1 < count; ++i) {
    const std::int64_t v = digits[i] + carry;
    carry = v >> 32;  // floors
    digits[i] = v & 0xffffffff;
  }
  digits[count - 1] += carry;
}

UnpackedReal unpack_digits(const std::int64_t* digits, int count, std::int64_t least_exponent) {
  std::array<std::int64_t, kMostDigits> d;
  std::copy(digits, digits + count, d.begin());
  carry_digits(d.data(), count);
  UnpackedReal r;
  r.negative = d[static_cast<std::size_t>(count - 1)] < 0;
  if (r.negative) {
    for (int i = 0; i < count; ++i) d[static_cast<std::size_t>(i)] *= -1;
    carry_digits(d.data(), count);
  }
  int top = count - 1;
  while (top >= 0 && d[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 0) return r;
  const auto at = [&](int i) {
    return i < 0 ? 0 : static_cast<std::uint64_t>(d[static_cast<std::size_t>(i)]);
  };
  // The three leading digits have 65 to 96 significant bits: keep 64, the rest is sticky.
  const std::uint64_t leading = (at(top) << 32) | at(top - 1);
  const int lead = std::countl_zero(leading);  // below 32
  const std::uint64_t below = at(top - 2) << lead;
  r.mantissa = (leading << lead) | (below >> 32);
  r.sticky = (below & 0xffffffff) != 0;
  for (int i = 0; i <= top - 3 && !r.sticky; ++i) r.sticky = at(i) != 0;
  r.exponent = least_exponent + 32 * (std::int64_t{top} - 1) - lead;
  return r;
}

}  // namespace detail

template <class T>
requires is_float_storage<T>
void ExactSum<T>::carry() {
  detail::carry_digits(digits_.data(), Layout::kDigits);
  room_ = kTermsPerCarry - 1;
}

template <class T>
requires is_float_storage<T>
void ExactSum<T>::add_special(U x) {
  if (x != x)
    specials_.nan = true;
  else
    (x > 0 ? specials_.positive_infinity : specials_.negative_infinity) = true;
  empty_ = false;
}

// x is a multiple of the least subnormal of U, and far below the end of the topmost digit.
template <class T>
requires is_float_storage<T>
void ExactSum<T>::add_part(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // in [1/2, 1)
  auto mantissa = static_cast<std::uint64_t>(std::abs(std::ldexp(fraction, 53)));
  int position = exponent - 53 - Layout::kLeastExponent;
  if (position < 0) {  // the bits shifted out are 0
    mantissa >>= -position;
    position = 0;
  }
  const int shift = position % 32;
  const std::int64_t sign = x < 0 ? -1 : 1;
  const std::uint64_t low = (mantissa & 0xffffffff) << shift, high = (mantissa >> 32) << shift;
  std::int64_t* digit = digits_.data() + position / 32;
  digit[0] += sign * static_cast<std::int64_t>(low & 0xffffffff);
  digit[1] += sign * static_cast<std::int64_t>((low >> 32) + (high & 0xffffffff));
  digit[2] += sign * static_cast<std::int64_t>(high >> 32);
  if (--room_ == 0) carry();
}

template <class T>
requires is_float_storage<T>
bool ExactSum<T>::add_in_parts(std::span<const T> terms) {
  detail::SumParts parts;
  if constexpr (std::is_same_v<T, double>) {
    parts = detail::sum_in_parts(terms.data(), terms.size());
  } else if constexpr (std::is_same_v<T, float>) {
    parts = detail::sum_in_parts(terms.data(), terms.size(), Layout::kInfo.digits);
  } else {
    std::array<float, detail::kMostInParts> wide;
    std::ranges::transform(terms, wide.begin(), detail::widened<float, T>);
    parts = detail::sum_in_parts(wide.data(), terms.size(), info(dtype_v<T>).digits);
  }
  if (parts.count == 0) return false;
  for (int i = 0; i < parts.count; ++i) {
    double& part = parts.part[static_cast<std::size_t>(i)];
    if (apart_ == 0) std::swap(apart_, part);
    if (part != 0) add_part(part);
  }
  empty_ = false;
  not_negative_zero_ = 1;
  return true;
}

template <class T>
requires is_float_storage<T>
void ExactSum<T>::add(std::span<const T> terms) {
  constexpr std::size_t kFew = 12;  // below this, adding one by one is faster
  while (!terms.empty()) {
    const std::span<const T> run = terms.first(std::min(terms.size(), detail::kMostInParts));
    terms = terms.subspan(run.size());
    if (run.size() >= kFew && add_in_parts(run)) continue;
    for (const T x : run) add(x);
  }
}

template <class T>
requires is_float_storage<T> UnpackedReal ExactSum<T>::unpacked()
const {
  if (apart_ == 0)
    return detail::unpack_digits(digits_.data(), Layout::kDigits, Layout::kLeastExponent);
  ExactSum whole = *this;
  whole.add_part(std::exchange(whole.apart_, 0));
  return whole.unpacked();
}

template <class T>
requires is_float_storage<T>
void ExactSum<T>::merge(const ExactSum& other) {
  ExactSum carried = other;
  carried.carry();
  carry();
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += carried.digits_[i];
  carry();
  if (other.apart_ != 0) add_part(other.apart_);
  empty_ = empty_ && other.empty_;
  not_negative_zero_ |= other.not_negative_zero_;
  specials_.nan |= other.specials_.nan;
  specials_.positive_infinity |= other.specials_.positive_infinity;
  specials_.negative_infinity |= other.specials_.negative_infinity;
}

template <class T>
requires is_float_storage<T> Scalar ExactSum<T>::round_to(DType dtype)
const {
  return with_storage(dtype, [&]<class R>(std::type_identity<R>) -> Scalar {
    if constexpr (is_float_storage<R>)
      return Scalar::of(result<R>());
    else
      throw DTypeError(
          fmt::format("an exact sum of floats must be rounded to a float type, not to {}; convert "
                      "the rounded sum",
                      name(dtype)));
  });
}

template class ExactSum<float8_e4m3>;
template class ExactSum<float8_e5m2>;
template class ExactSum<float16>;
template class ExactSum<bfloat16>;
template class ExactSum<float>;
template class ExactSum<double>;

}  // namespace touchstone
