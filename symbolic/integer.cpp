#include "touchstone/symbolic/integer.h"

#include <atomic>
#include <limits>

#include <boost/multiprecision/cpp_int.hpp>

#include "touchstone/base/hash.h"
#include "touchstone/symbolic/pool.h"

namespace touchstone::symbolic {

using boost::multiprecision::cpp_int;

struct BigInteger {
  std::atomic<std::uint32_t> owners{1};
  cpp_int value;

  static void* operator new(std::size_t bytes) { return pool_take(bytes); }
  static void operator delete(void* block, std::size_t bytes) { pool_give(block, bytes); }
  static BigInteger* at(std::int64_t word) {
    return reinterpret_cast<BigInteger*>(static_cast<std::uintptr_t>(word - 1));
  }
  static bool in_place(std::int64_t word) { return (word & 1) == 0; }
  static cpp_int widen(std::int64_t word) {
    return in_place(word) ? cpp_int(word / 2) : at(word)->value;
  }
  static std::int64_t keep(cpp_int value) {
    auto* const big = new BigInteger{{1}, std::move(value)};
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(big)) + 1;
  }
  static std::int64_t narrow(cpp_int value) {
    if (value >= -Int::kLimit && value < Int::kLimit) return static_cast<std::int64_t>(value) * 2;
    return keep(std::move(value));
  }
};

std::int64_t Int::widened(std::int64_t value) { return BigInteger::keep(value); }

void Int::retain_big(std::int64_t a) {
  BigInteger::at(a)->owners.fetch_add(1, std::memory_order_relaxed);
}

void Int::release_big(std::int64_t a) {
  BigInteger* const big = BigInteger::at(a);
  if (big->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete big;
}

int Int::big_sign() const { return BigInteger::at(word_)->value.sign(); }

std::uint64_t Int::big_hash() const { return hash_bytes(BigInteger::at(word_)->value.str()); }

std::optional<std::int64_t> Int::narrowed() const {
  const cpp_int& value = BigInteger::at(word_)->value;
  if (value < std::numeric_limits<std::int64_t>::min() ||
      value > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::int64_t Int::add_big(std::int64_t a, std::int64_t b) {
  return BigInteger::narrow(BigInteger::widen(a) + BigInteger::widen(b));
}
std::int64_t Int::sub_big(std::int64_t a, std::int64_t b) {
  return BigInteger::narrow(BigInteger::widen(a) - BigInteger::widen(b));
}
std::int64_t Int::mul_big(std::int64_t a, std::int64_t b) {
  return BigInteger::narrow(BigInteger::widen(a) * BigInteger::widen(b));
}
std::int64_t Int::gcd_big(std::int64_t a, std::int64_t b) {
  return BigInteger::narrow(boost::multiprecision::gcd(BigInteger::widen(a), BigInteger::widen(b)));
}
int Int::compare_big(std::int64_t a, std::int64_t b) {
  return BigInteger::widen(a).compare(BigInteger::widen(b));
}

std::int64_t Int::div_big(std::int64_t a, std::int64_t b) {
  const cpp_int x = BigInteger::widen(a), y = BigInteger::widen(b);
  cpp_int q, r;
  divide_qr(x, y, q, r);
  if (r != 0 && (r.sign() < 0) != (y.sign() < 0)) --q;
  return BigInteger::narrow(std::move(q));
}

std::int64_t Int::mod_big(std::int64_t a, std::int64_t b) {
  const cpp_int y = BigInteger::widen(b);
  cpp_int r = BigInteger::widen(a) % y;
  if (r != 0 && (r.sign() < 0) != (y.sign() < 0)) r += y;
  return BigInteger::narrow(std::move(r));
}

Int Int::from_digits(std::string_view digits) {
  constexpr std::size_t kSurelySmall = 18;
  if (digits.size() > kSurelySmall) return adopt(BigInteger::narrow(cpp_int(std::string(digits))));
  const bool minus = digits.starts_with('-');
  std::int64_t value = 0;
  for (const char c : digits.substr(minus ? 1 : 0)) value = value * 10 + (c - '0');
  return minus ? -value : value;
}

std::string Int::str() const {
  return in_place() ? std::to_string(word_ / 2) : BigInteger::at(word_)->value.str();
}

}  // namespace touchstone::symbolic
