#include "touchstone/interp/oracle/real.h"

#ifdef TOUCHSTONE_WITHOUT_MPFR

#include <fmt/format.h>

namespace touchstone::interp {

// Boost's conversion uses streams, a fifth of a small program's size.
std::string digits_of(const Real& x) {
  constexpr int kDigits = 25;
  if (isnan(x)) return "nan";
  if (isinf(x)) return x < 0 ? "-inf" : "inf";
  if (x == 0) return "0";
  const Dyadic at = dyadic(x);
  cpp_int top = abs(at.mantissa), bottom = 1;
  if (at.exponent >= 0)
    top <<= at.exponent;
  else
    bottom <<= -at.exponent;
  // x = 0.d1 d2 .. * 10^place: estimate from the bits, then correct by one digit.
  auto place =
      static_cast<int>((static_cast<int>(msb(top)) - static_cast<int>(msb(bottom))) * 0.30103);
  std::string digits;
  for (;; ++place) {
    const int shift = kDigits - place;
    const cpp_int power = pow(cpp_int(10), static_cast<unsigned>(shift < 0 ? -shift : shift));
    const cpp_int a = shift < 0 ? top : cpp_int(top * power),
                  b = shift < 0 ? cpp_int(bottom * power) : bottom;
    cpp_int q, r;
    divide_qr(a, b, q, r);
    r *= 2;
    if (r > b || (r == b && bit_test(q, 0))) ++q;
    digits = q.str();
    if (digits.size() <= kDigits) break;
  }
  place += static_cast<int>(digits.size()) - kDigits;
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  const int exponent = place - 1;
  const std::string sign = x < 0 ? "-" : "";
  if (exponent < -4 || exponent >= kDigits)
    return fmt::format("{}{}{}{}e{}{:02}", sign, digits[0], digits.size() > 1 ? "." : "",
                       digits.substr(1), exponent < 0 ? '-' : '+',
                       exponent < 0 ? -exponent : exponent);
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace touchstone::interp

#endif
