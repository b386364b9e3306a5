#include "touchstone/symbolic/number/integer.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>
#ifndef TOUCHSTONE_WITHOUT_GMP
#include <gmp.h>
#endif

#include "touchstone/base/hash.h"
#include "touchstone/symbolic/number/pool.h"

namespace touchstone::symbolic {

using boost::multiprecision::cpp_int;

namespace {

// Boost converts digits in slow quadratic time, and its gcd shifts bit by bit, so long numbers go
// through GMP limb by limb. Without GMP, texts are split in halves, and the gcd starts with a
// division.
constexpr std::size_t kManyDigits = 1000;
constexpr unsigned kBitsOfMany = 3300;

#ifdef TOUCHSTONE_WITHOUT_GMP

cpp_int read_many(std::string_view digits) {
  if (digits.size() <= kManyDigits) {
    const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    return cpp_int(std::string(digits.substr(zeros)));  // a leading 0 would select octal
  }
  const std::size_t low = digits.size() / 2;
  return read_many(digits.substr(0, digits.size() - low)) *
             pow(cpp_int(10), static_cast<unsigned>(low)) +
         read_many(digits.substr(digits.size() - low));
}

/// Both numbers are nonnegative.
cpp_int common_divisor(const cpp_int& a, const cpp_int& b) {
  const bool less = a < b;
  if (a.is_zero() || b.is_zero()) return less ? b : a;
  return gcd(less ? a : b, cpp_int(less ? b % a : a % b));
}

/// The digits of a nonnegative number.
std::string write_many(const cpp_int& value) {
  if (value.is_zero() || msb(value) < kBitsOfMany) return value.str();
  const auto low = static_cast<unsigned>(msb(value) * 0.15);  // half the digits: log10(2) / 2
  cpp_int q, r;
  divide_qr(value, cpp_int(pow(cpp_int(10), low)), q, r);
  const std::string rest = write_many(r);
  return write_many(q) + std::string(low - rest.size(), '0') + rest;
}

#else

cpp_int taken(mpz_srcptr z) {
  cpp_int value;
  const mp_limb_t* limbs = mpz_limbs_read(z);
  import_bits(value, limbs, limbs + mpz_size(z), GMP_NUMB_BITS, false);
  return value;
}

/// Both numbers are nonnegative.
cpp_int common_divisor(const cpp_int& a, const cpp_int& b) {
  using Limb = boost::multiprecision::limb_type;
  static_assert(sizeof(Limb) == sizeof(mp_limb_t) && GMP_NAIL_BITS == 0);
  const auto seen = [](mpz_ptr z, const cpp_int& x) {
    const auto* limbs = reinterpret_cast<const mp_limb_t*>(x.backend().limbs());
    return mpz_roinit_n(z, limbs, static_cast<mp_size_t>(x.backend().size()));
  };
  mpz_t x, y, z;
  mpz_init(z);
  mpz_gcd(z, seen(x, a), seen(y, b));
  cpp_int value = taken(z);
  mpz_clear(z);
  return value;
}

cpp_int read_many(const std::string& digits) {
  if (digits.size() <= kManyDigits) {
    const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    return cpp_int(digits.substr(zeros));  // a leading 0 would select octal
  }
  mpz_t z;
  mpz_init_set_str(z, digits.c_str(), 10);
  cpp_int value = taken(z);
  mpz_clear(z);
  return value;
}

std::string write_many(const cpp_int& value) {
  if (value.is_zero() || msb(value) < kBitsOfMany) return value.str();
  std::vector<unsigned char> bytes;
  export_bits(value, std::back_inserter(bytes), 8, false);
  mpz_t z;
  mpz_init(z);
  mpz_import(z, bytes.size(), -1, 1, 0, 0, bytes.data());
  std::string text(mpz_sizeinbase(z, 10) + 2, '\0');
  mpz_get_str(text.data(), 10, z);
  mpz_clear(z);
  text.resize(text.find('\0'));
  return text;
}

#endif

}  // namespace

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

std::uint64_t Int::big_hash() const {
  const auto& number = BigInteger::at(word_)->value.backend();
  const std::string_view limbs(reinterpret_cast<const char*>(number.limbs()),
                               number.size() * sizeof(boost::multiprecision::limb_type));
  return hash_mix(hash_bytes(limbs), number.sign() ? 1 : 0);
}

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
  cpp_int x = BigInteger::widen(a), y = BigInteger::widen(b);
  for (cpp_int* n : {&x, &y})
    if (n->sign() < 0) n->backend().negate();
  return BigInteger::narrow(common_divisor(x, y));
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
  const bool minus = digits.starts_with('-');
  if (digits.size() > kSurelySmall) {
    cpp_int large = read_many(std::string(digits.substr(minus ? 1 : 0)));
    return adopt(BigInteger::narrow(minus ? cpp_int(-large) : std::move(large)));
  }
  std::int64_t value = 0;
  for (const char c : digits.substr(minus ? 1 : 0)) value = value * 10 + (c - '0');
  return minus ? -value : value;
}

std::string Int::str() const {
  if (in_place()) return std::to_string(word_ / 2);
  const cpp_int& value = BigInteger::at(word_)->value;
  return value.sign() < 0 ? "-" + write_many(-value) : write_many(value);
}

}  // namespace touchstone::symbolic
