#include "touchstone/symbolic/integer.h"

#include <atomic>
#include <limits>
#include <numeric>

#include <boost/multiprecision/cpp_int.hpp>

#include "touchstone/base/checked.h"
#include "touchstone/base/hash.h"

namespace touchstone::symbolic {

using boost::multiprecision::cpp_int;

struct BigInteger {
  std::atomic<std::uint32_t> owners{1};
  cpp_int value;

  static cpp_int widen(const Int& a) { return a.big_ ? a.big_->value : cpp_int(a.value_); }
  static Int narrow(cpp_int value) {
    if (value >= std::numeric_limits<std::int64_t>::min() &&
        value <= std::numeric_limits<std::int64_t>::max())
      return Int(static_cast<std::int64_t>(value));
    return Int(new BigInteger{{1}, std::move(value)});
  }
};

void Int::retain() const { big_->owners.fetch_add(1, std::memory_order_relaxed); }

void Int::release() {
  if (big_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete big_;
}

int Int::big_sign() const { return big_->value.sign(); }

Int Int::add_big(const Int& a, const Int& b) {
  return BigInteger::narrow(BigInteger::widen(a) + BigInteger::widen(b));
}
Int Int::sub_big(const Int& a, const Int& b) {
  return BigInteger::narrow(BigInteger::widen(a) - BigInteger::widen(b));
}
Int Int::mul_big(const Int& a, const Int& b) {
  return BigInteger::narrow(BigInteger::widen(a) * BigInteger::widen(b));
}
int Int::compare_big(const Int& a, const Int& b) {
  return BigInteger::widen(a).compare(BigInteger::widen(b));
}

Int Int::from_digits(const std::string& digits) { return BigInteger::narrow(cpp_int(digits)); }

std::string Int::str() const { return big_ ? big_->value.str() : std::to_string(value_); }

std::uint64_t Int::hash() const {
  if (!big_) return hash_mix(0x51, static_cast<std::uint64_t>(value_));
  return hash_bytes(big_->value.str());
}

Int floor_div(const Int& a, const Int& b) {
  // The least int64 divided by -1 is the one quotient of two int64 that is not an int64.
  if (!a.big_ && !b.big_ && b.value_ != -1) return touchstone::floor_div(a.value_, b.value_);
  const cpp_int x = BigInteger::widen(a), y = BigInteger::widen(b);
  cpp_int q, r;
  divide_qr(x, y, q, r);
  if (r != 0 && (r.sign() < 0) != (y.sign() < 0)) --q;
  return BigInteger::narrow(std::move(q));
}

Int floor_mod(const Int& a, const Int& b) {
  if (!a.big_ && !b.big_)
    return b.value_ == -1 ? Int(0) : Int(touchstone::floor_mod(a.value_, b.value_));
  return a - floor_div(a, b) * b;
}

Int gcd(const Int& a, const Int& b) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  if (!a.big_ && !b.big_ && a.value_ != least && b.value_ != least)
    return std::gcd(a.value_, b.value_);
  return BigInteger::narrow(boost::multiprecision::gcd(BigInteger::widen(a), BigInteger::widen(b)));
}

}  // namespace touchstone::symbolic
