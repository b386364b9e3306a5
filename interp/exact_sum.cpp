#include "touchstone/interp/exact_sum.h"

#include <algorithm>

#include "touchstone/base/error.h"

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
  // The three leading digits hold 65 to 96 significant bits: 64 are kept, the rest is sticky.
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
  room_ = kTermsPerCarry;
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

template <class T>
requires is_float_storage<T>
void ExactSum<T>::merge(const ExactSum& other) {
  ExactSum carried = other;
  carried.carry();
  carry();
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += carried.digits_[i];
  carry();
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
          fmt::format("an exact sum of floats rounds to a float type, not to {}; "
                      "convert the rounded sum",
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
