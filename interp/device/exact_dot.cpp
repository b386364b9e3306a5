#include "touchstone/interp/device/exact_dot.h"

namespace touchstone::detail {

void DoubleProducts::add_special(double product) {
  if (product != product)
    specials_.nan = true;
  else
    (product > 0 ? specials_.positive_infinity : specials_.negative_infinity) = true;
  empty_ = false;
}

void DoubleProducts::merge(const DoubleProducts& other) {
  DoubleProducts carried = other;
  carry_digits(carried.digits_.data(), kDigits);
  carry_digits(digits_.data(), kDigits);
  for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += carried.digits_[i];
  carry_digits(digits_.data(), kDigits);
  room_ = kTermsPerCarry;
  empty_ = empty_ && other.empty_;
  all_negative_zeros_ = all_negative_zeros_ && other.all_negative_zeros_;
  specials_.nan |= other.specials_.nan;
  specials_.positive_infinity |= other.specials_.positive_infinity;
  specials_.negative_infinity |= other.specials_.negative_infinity;
}

}  // namespace touchstone::detail
