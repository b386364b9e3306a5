#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

#include "touchstone/dtype/rounding.h"
#include "touchstone/dtype/scalar.h"

namespace touchstone {

namespace {

[[noreturn]] void fail(DType dtype, std::string_view text, std::string_view why) {
  throw ParseError(fmt::format("cannot read '{}' as {}: {}", text.substr(0, 80), name(dtype), why));
}

// A number's text without its sign.
struct Unsigned {
  bool negative = false;
  bool hexadecimal = false;
  std::string_view digits;  // after the sign and "0x"
};

Unsigned strip_sign(std::string_view text) {
  Unsigned r{false, false, text};
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    r.negative = text[0] == '-';
    r.digits.remove_prefix(1);
  }
  if (r.digits.size() > 2 && r.digits[0] == '0' && (r.digits[1] == 'x' || r.digits[1] == 'X')) {
    r.hexadecimal = true;
    r.digits.remove_prefix(2);
  }
  return r;
}

template <class T>
T parse_integer(DType dtype, std::string_view text) {
  const Unsigned u = strip_sign(text);
  std::uint64_t magnitude = 0;
  const char* end = u.digits.data() + u.digits.size();
  const auto [p, ec] = std::from_chars(u.digits.data(), end, magnitude, u.hexadecimal ? 16 : 10);
  if (ec == std::errc::invalid_argument || p != end)
    fail(dtype, text, "write digits only, as in 42, -7 or 0x1f");
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  const std::uint64_t limit = !u.negative ? most : std::is_signed_v<T> ? most + 1 : 0;
  if (ec == std::errc::result_out_of_range || magnitude > limit)
    fail(dtype, text,
         fmt::format("the range is {} to {}", std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max()));
  return static_cast<T>(u.negative ? 0 - magnitude : magnitude);
}

// A normalized decimal number: 0.d1d2d3... * 10^exponent with nonzero first and last digits; no
// digits for zero. `ok` is false for other text.
struct Decimal {
  std::string digits;
  std::int64_t exponent = 0;
  bool ok = false;
};

constexpr std::int64_t kExponentLimit = 1'000'000'000'000;  // beyond this: infinity or zero

// Parses the digits of an exponent with an optional sign, clamped; nullopt for other text.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  const Unsigned u = strip_sign(text);
  if (u.hexadecimal || u.digits.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : u.digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = std::min(value * 10 + (c - '0'), kExponentLimit);
  }
  return u.negative ? -value : value;
}

Decimal parse_decimal(std::string_view text) {
  Decimal r;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) {
    const auto exponent = parse_exponent(text.substr(e + 1));
    if (!exponent) return r;
    r.exponent = *exponent;
  }
  bool point = false;
  bool any = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return r;
    any = true;
    if (r.digits.empty() && c == '0') {  // a leading zero
      if (point) --r.exponent;
      continue;
    }
    r.digits += c;
    if (!point) ++r.exponent;
  }
  while (!r.digits.empty() && r.digits.back() == '0') r.digits.pop_back();
  r.ok = any;
  return r;
}

// Returns the sign of a - b.
int compare(const Decimal& a, const Decimal& b) {
  if (a.digits.empty() || b.digits.empty())
    return static_cast<int>(b.digits.empty()) - static_cast<int>(a.digits.empty());
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
  return a.digits.compare(b.digits);
}

template <class T>
T nearest(const Decimal& d, std::string_view digits) {
  const T infinity = std::numeric_limits<T>::infinity();
  if (d.digits.empty() || d.exponent < -400) return T{0};
  if (d.exponent > 400) return infinity;
  T value{};
  const auto [p, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (ec == std::errc::result_out_of_range) return d.exponent > 0 ? infinity : T{0};
  return value;
}

// Rounds a decimal to a 16-bit float. Its nearest double rounds to the same value unless it is
// within one double of a tie: then the side of that double on which the decimal lies becomes the
// double's last bit ("round to odd"), found by comparing all digits.
template <class T>
T nearest_narrow(const Decimal& d, std::string_view digits) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double value = nearest<double>(d, digits);
  const double less = std::nextafter(value, 0.0);
  const double more = std::nextafter(value, kInfinity);
  if (touchstone::convert<T>(less) == touchstone::convert<T>(more))
    return touchstone::convert<T>(value);
  // A double has at most 767 significant digits.
  const std::string exact = fmt::format("{:.800e}", value);
  const int side = compare(d, parse_decimal(exact));
  if (side == 0 || (std::bit_cast<std::uint64_t>(value) & 1) != 0)
    return touchstone::convert<T>(value);
  return touchstone::convert<T>(side < 0 ? less : more);
}

// Parses hexadecimal digits with an optional point and 'p' exponent.
std::optional<UnpackedReal> parse_hexadecimal(std::string_view text) {
  UnpackedReal r;
  const std::size_t p = std::min(text.find_first_of("pP"), text.size());
  if (p < text.size()) {
    const auto exponent = parse_exponent(text.substr(p + 1));
    if (!exponent) return std::nullopt;
    r.exponent = *exponent;
  }
  bool point = false;
  bool any = false;
  for (const char c : text.substr(0, p)) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    unsigned digit = 0;
    if (std::from_chars(&c, &c + 1, digit, 16).ec != std::errc{}) return std::nullopt;
    any = true;
    if (point) r.exponent -= 4;
    if ((r.mantissa >> 60) == 0) {
      r.mantissa = r.mantissa * 16 + digit;
    } else {
      r.sticky = r.sticky || digit != 0;
      r.exponent += 4;
    }
  }
  if (!any) return std::nullopt;
  return r;
}

template <class T>
T parse_float(DType dtype, std::string_view text) {
  const Unsigned u = strip_sign(text);
  const auto signed_value = [&](T magnitude) {
    const std::uint64_t sign = u.negative ? std::uint64_t{1} << (sizeof(T) * 8 - 1) : 0;
    return Scalar::from_bits(dtype, Scalar::of(magnitude).bits() | sign).template as<T>();
  };
  if (u.digits == "nan")
    return signed_value(touchstone::convert<T>(std::numeric_limits<float>::quiet_NaN()));
  if (u.digits == "inf")
    return signed_value(touchstone::convert<T>(std::numeric_limits<float>::infinity()));
  constexpr std::string_view kHow = "write it as 1.5, -2e-3, 0x1.8p3, nan, inf or -inf";
  if (u.hexadecimal) {
    auto real = parse_hexadecimal(u.digits);
    if (!real) fail(dtype, text, kHow);
    real->negative = u.negative;
    return round_once<T>(*real);
  }
  const Decimal d = parse_decimal(u.digits);
  if (!d.ok) fail(dtype, text, kHow);
  if constexpr (is_narrow_float<T>)
    return signed_value(nearest_narrow<T>(d, u.digits));
  else
    return signed_value(nearest<T>(d, u.digits));
}

// The fewest digits that read back as x, finite, in the shorter of positional and scientific form,
// laid out like std::to_chars; uses fmt, whose tables are a tenth the size.
template <class T>
std::string shortest(T x) {
  const std::string_view sign = std::signbit(x) ? "-" : "";
  const Decimal d = parse_decimal(fmt::format("{}", std::abs(x)));
  if (d.digits.empty()) return fmt::format("{}0.0", sign);
  const auto exponent = static_cast<int>(d.exponent) - 1;  // of the first digit
  const auto count = static_cast<int>(d.digits.size());
  const std::string scientific =
      fmt::format("{}{}{}e{}{:02}", d.digits[0], count > 1 ? "." : "", d.digits.substr(1),
                  exponent < 0 ? '-' : '+', std::abs(exponent));
  std::string positional;
  if (count <= d.exponent)
    positional = fmt::format("{:.0f}", std::abs(x));  // exact digits, not zeros
  else if (d.exponent > 0)
    positional = fmt::format("{}.{}", d.digits.substr(0, static_cast<std::size_t>(d.exponent)),
                             d.digits.substr(static_cast<std::size_t>(d.exponent)));
  else
    positional = fmt::format("0.{:0>{}}", d.digits, count - d.exponent);
  std::string text =
      fmt::format("{}{}", sign, positional.size() <= scientific.size() ? positional : scientific);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// True if x becomes T only by saturation, which other parsers may not apply: 500 becomes 448 in
// float8_e4m3 instead of NaN.
template <class T>
bool is_too_large(double x) {
  if constexpr (sizeof(T) == 1 && !has_infinities<T>)
    return std::isnan(to_float(convert_to_float8<T>(x, Overflow::Infinity)));
  return false;
}

// Five digits distinguish all float16, four all bfloat16; fewer often suffice. For each digit count
// this tries the nearest decimal and the next one away from zero, since above a power of two more
// numbers round to it than below.
template <class T>
requires is_narrow_float<T> std::string shortest(T x) {
  const float value = to_float(x);
  for (int digits = 1; digits <= 5; ++digits) {
    const std::string near = fmt::format("{:.{}e}", std::abs(value), digits - 1);
    const std::size_t e = near.find('e');
    std::string mantissa = near.substr(0, e);
    std::erase(mantissa, '.');
    const int exponent = std::stoi(near.substr(e + 1)) - digits + 1;
    for (const int up : {0, 1}) {
      const std::string text = fmt::format("{}{}e{}", std::signbit(value) ? "-" : "",
                                           std::stoi(mantissa) + up, exponent);
      const auto written = parse_float<double>(DType::Float64, text);
      if (parse_float<T>(dtype_v<T>, text) == x && !is_too_large<T>(written))
        return shortest(written);
    }
  }
  return shortest(value);  // not reached: five digits suffice
}

}  // namespace

Scalar Scalar::parse(DType dtype, std::string_view text) {
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      if (text == "true" || text == "1") return Scalar::of(true);
      if (text == "false" || text == "0") return Scalar::of(false);
      fail(dtype, text, "write true, false, 1 or 0");
    } else if constexpr (is_integer_storage<T>) {
      return Scalar::of(parse_integer<T>(dtype, text));
    } else {
      return Scalar::of(parse_float<T>(dtype, text));
    }
  });
}

std::string Scalar::str() const {
  return with_storage(dtype_, [&]<class T>(std::type_identity<T>) -> std::string {
    const T x = as<T>();
    if constexpr (std::is_same_v<T, bool>) {
      return x ? "true" : "false";
    } else if constexpr (is_float_storage<T>) {
      if (is_nan()) return "nan";
      if (std::isinf(to_double())) return to_double() < 0 ? "-inf" : "inf";
      return shortest(x);
    } else {
      return fmt::format("{}", x);
    }
  });
}

}  // namespace touchstone
