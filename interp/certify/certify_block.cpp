#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <mpfr.h>

#include "touchstone/base/fp_guard.h"
#include "touchstone/base/hash.h"
#include "touchstone/interp/certify/certify.h"
#include "touchstone/interp/certify/second_path.h"
#include "touchstone/interp/device/scalar_ops.h"

// Decides if an output is correctly rounded from the output: the true value must lie between the
// midpoints to its neighbours. Nothing is rounded here.

namespace touchstone {
namespace {

using interp::DoubleDouble;

template <class T>
struct Format {
  static constexpr DTypeInfo kInfo = info(dtype_v<T>);
  static constexpr int kFraction = kInfo.digits - 1;
  static constexpr std::uint32_t kInfinity = static_cast<std::uint32_t>(2 * kInfo.max_exponent + 1)
                                             << kFraction;
  static constexpr std::uint32_t kSign = 1u << (8 * sizeof(T) - 1);

  /// m * 2^e for the bits of a nonnegative number; infinity counts as the successor of the largest
  /// number.
  struct Pieces {
    std::uint64_t m;
    int e;
  };
  static Pieces pieces(std::uint32_t bits) {
    const std::uint32_t exponent = bits >> kFraction;
    const std::uint32_t fraction = bits & ((1u << kFraction) - 1);
    const int least = kInfo.min_exponent - kFraction;
    if (exponent == 0) return {fraction, least};
    return {fraction | 1u << kFraction, least + static_cast<int>(exponent) - 1};
  }
  static double value(std::uint32_t bits) {
    const Pieces p = pieces(bits);
    return static_cast<double>(p.m) *
           std::bit_cast<double>(static_cast<std::uint64_t>(p.e + 1023) << 52);
  }
};

// Judges `output` against the true value `v`, known to a relative error of kSecondPathError.
template <class T>
Finding held_to(DoubleDouble v, std::uint32_t output) {
  using F = Format<T>;
  const std::uint32_t size = output & (F::kSign - 1);
  if (size > F::kInfinity) return Finding::Wrong;  // NaN
  const bool negative = (output & F::kSign) != 0;
  if (negative != std::signbit(v.hi)) return Finding::Wrong;
  if (negative) v = -v;
  const double error = v.hi * interp::kSecondPathError;
  const double here = F::value(size);
  // Each difference is exact when it matters: then v is near the midpoint.
  if (size != 0) {
    const double margin = v.hi - (F::value(size - 1) + here) / 2 + v.lo;
    if (margin < -error) return Finding::Wrong;
    if (!(margin > error)) return Finding::Undecided;
  }
  if (size != F::kInfinity) {
    const double margin = (here + F::value(size + 1)) / 2 - v.hi - v.lo;
    if (margin < -error) return Finding::Wrong;
    if (!(margin > error)) return Finding::Undecided;
  }
  return Finding::Right;
}

// The midpoints around the number `size`, in quarters of its unit in the last place.
template <class T>
struct Midpoints {
  std::int64_t below, above;
  int e;      // exponent of the quarter
  bool last;  // infinity: no number above
};
template <class T>
Midpoints<T> midpoints(std::uint32_t size) {
  using F = Format<T>;
  const auto p = F::pieces(size);
  const bool narrow_below =
      p.m == 1ULL << F::kFraction && p.e > F::kInfo.min_exponent - F::kFraction;
  const auto m = static_cast<std::int64_t>(p.m) * 4;
  return {m - (narrow_below ? 1 : 2), m + 2, p.e - 2, size == F::kInfinity};
}

// Compares a with m * 2^shift, for nonnegative a and m.
int compare(std::uint64_t a, std::uint64_t m, int shift) {
  if (m == 0 || shift < 0) return a == 0 ? 0 : 1;  // a correct output never has shift < 0
  if (shift + static_cast<int>(std::bit_width(m)) > 64) return -1;
  const std::uint64_t b = m << shift;
  return a < b ? -1 : a > b ? 1 : 0;
}

Finding between(int below, int above) {
  if (below > 0 || above < 0) return Finding::Wrong;
  return below == 0 || above == 0 ? Finding::Undecided : Finding::Right;
}

// sqrt of the positive finite `x`, by the squares of the midpoints.
template <class T>
Finding sqrt_residual(std::uint32_t x, std::uint32_t output) {
  using F = Format<T>;
  if (output >= F::kInfinity) return Finding::Wrong;  // negative, NaN or infinite
  const auto p = F::pieces(x);
  const auto mid = midpoints<T>(output);
  const int shift = p.e - 2 * mid.e;
  const auto square = [](std::int64_t n) { return static_cast<std::uint64_t>(n * n); };
  return between(mid.below < 0 ? -1 : compare(square(mid.below), p.m, shift),
                 compare(square(mid.above), p.m, shift));
}

// 1 / x for finite nonzero x, by products of the midpoints with x.
template <class T>
Finding recip_residual(std::uint32_t x, std::uint32_t output) {
  using F = Format<T>;
  if (((x ^ output) & F::kSign) != 0) return Finding::Wrong;
  const std::uint32_t size = output & (F::kSign - 1);
  if (size > F::kInfinity) return Finding::Wrong;
  const auto p = F::pieces(x & (F::kSign - 1));
  const auto mid = midpoints<T>(size);
  const int shift = -p.e - mid.e;
  const auto product = [&](std::int64_t n) { return static_cast<std::uint64_t>(n) * p.m; };
  return between(mid.below < 0 ? -1 : compare(product(mid.below), 1, shift),
                 mid.last ? 1 : compare(product(mid.above), 1, shift));
}

// ---- MPFR, in exactly the format of T

class Number {
 public:
  explicit Number(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

int apply(CertifiedOp op, mpfr_ptr y, mpfr_srcptr x) {
  switch (op) {
    case CertifiedOp::Exp2: return mpfr_exp2(y, x, MPFR_RNDN);
    case CertifiedOp::Log2: return mpfr_log2(y, x, MPFR_RNDN);
    case CertifiedOp::Sin: return mpfr_sin(y, x, MPFR_RNDN);
    case CertifiedOp::Sqrt: return mpfr_sqrt(y, x, MPFR_RNDN);
    case CertifiedOp::Recip: break;
  }
  return mpfr_ui_div(y, 1, x, MPFR_RNDN);
}

// Sets the exponent range of a format as mpfr_subnormalize's manual requires; restores the thread's
// range afterwards.
class ExponentRange {
 public:
  explicit ExponentRange(const DTypeInfo& format) {
    mpfr_set_emin(format.min_exponent - format.digits + 2);
    mpfr_set_emax(format.max_exponent + 1);
  }
  ~ExponentRange() {
    mpfr_set_emin(emin_);
    mpfr_set_emax(emax_);
  }
  ExponentRange(const ExponentRange&) = delete;
  ExponentRange& operator=(const ExponentRange&) = delete;

 private:
  mpfr_exp_t emin_ = mpfr_get_emin(), emax_ = mpfr_get_emax();
};

// True if MPFR gives `output` for `x`: equal with the same sign, or both NaN.
template <class T>
bool mpfr_agrees(CertifiedOp op, double x, double output) {
  constexpr const DTypeInfo& kInfo = Format<T>::kInfo;
  struct Cache {
    ~Cache() { mpfr_free_cache(); }
  };
  thread_local const Cache cache;
  Number argument(53);
  Number result(kInfo.digits);
  mpfr_set_d(argument.get(), x, MPFR_RNDN);
  {
    const ExponentRange range(kInfo);
    mpfr_subnormalize(result.get(), apply(op, result.get(), argument.get()), MPFR_RNDN);
  }
  const double want = mpfr_get_d(result.get(), MPFR_RNDN);  // exact
  if (std::isnan(want)) return std::isnan(output);
  return want == output && std::signbit(want) == std::signbit(output);
}

// ---- one input

template <class T>
T output_of(CertifiedOp op, T x) {
  switch (op) {
    case CertifiedOp::Exp2: return scalar::exp2(x);
    case CertifiedOp::Log2: return scalar::log2(x);
    case CertifiedOp::Sin: return scalar::sin(x);
    case CertifiedOp::Sqrt: return scalar::sqrt(x);
    case CertifiedOp::Recip: break;
  }
  return scalar::recip(x);
}

// Handles zeros, infinities, NaN and negative numbers by definition; `bits` is an input of T.
template <class T, CertifiedOp Op>
Finding finding(std::uint32_t bits, std::uint32_t output) {
  using F = Format<T>;
  constexpr std::uint32_t kMinusInfinity = F::kSign | F::kInfinity;
  const std::uint32_t size = bits & (F::kSign - 1);
  const bool negative = (bits & F::kSign) != 0;
  const auto must_be = [&](std::uint32_t want) {
    return output == want ? Finding::Right : Finding::Wrong;
  };
  const auto must_be_nan = [&] {
    return (output & (F::kSign - 1)) > F::kInfinity ? Finding::Right : Finding::Wrong;
  };
  if (size > F::kInfinity) return must_be_nan();
  const double x = negative ? -F::value(size) : F::value(size);
  if constexpr (Op == CertifiedOp::Exp2) {
    if (x >= F::kInfo.max_exponent + 1) return must_be(F::kInfinity);
    if (x <= F::kInfo.min_exponent - F::kInfo.digits) return must_be(0);
    return held_to<T>(interp::second_exp2(x), output);
  } else if constexpr (Op == CertifiedOp::Log2) {
    if (size == 0) return must_be(kMinusInfinity);
    if (negative) return must_be_nan();
    if (size == F::kInfinity) return must_be(F::kInfinity);
    if (x == 1) return must_be(0);
    return held_to<T>(interp::second_log2(x), output);
  } else if constexpr (Op == CertifiedOp::Sin) {
    if (size == 0) return must_be(bits);
    if (size == F::kInfinity) return must_be_nan();
    return held_to<T>(interp::second_sin(x), output);
  } else if constexpr (Op == CertifiedOp::Sqrt) {
    if (size == 0) return must_be(bits);
    if (negative) return must_be_nan();
    if (size == F::kInfinity) return must_be(F::kInfinity);
    return sqrt_residual<T>(bits, output);
  } else {
    if (size == 0) return must_be(negative ? kMinusInfinity : F::kInfinity);
    if (size == F::kInfinity) return must_be(negative ? F::kSign : 0);
    return recip_residual<T>(bits, output);
  }
}

// The input of a stride that MPFR checks.
std::uint64_t sampled(std::uint64_t stride) {
  return hash_mix(0x746f756368, stride) % Certificate::kSampleStride;
}

template <class T, CertifiedOp Op>
BlockRecord checked(std::uint64_t block) {
  using F = Format<T>;
  constexpr std::uint64_t kInputs = 1ULL << (8 * sizeof(T));
  constexpr std::uint64_t kCount = std::min(kInputs, Certificate::kBlockInputs);
  constexpr bool kMpfrForAll = kInputs <= Certificate::kBlockInputs;
  const FpGuard guard;
  const std::uint64_t first = block * kCount;
  std::vector<BitsOf<T>> outputs(kCount);
  const auto input = [&](std::uint64_t i) {
    return std::bit_cast<T>(static_cast<BitsOf<T>>(first + i));
  };
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto y = std::bit_cast<BitsOf<T>>(output_of(Op, input(i)));
    // One pattern for all NaNs.
    outputs[i] = (y & (F::kSign - 1)) > F::kInfinity
                     ? static_cast<BitsOf<T>>(F::kInfinity | 1u << (F::kFraction - 1))
                     : y;
  }
  BlockRecord record;
  std::uint64_t sample = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    if (i % Certificate::kSampleStride == 0)
      sample = i + sampled((first + i) / Certificate::kSampleStride);
    const auto bits = static_cast<std::uint32_t>(first + i);
    const Finding found = finding<T, Op>(bits, outputs[i]);
    if (found == Finding::Right && !kMpfrForAll && i != sample) continue;
    const bool right = mpfr_agrees<T>(Op, convert<double>(input(i)),
                                      convert<double>(std::bit_cast<T>(outputs[i])));
    if (!right) record.wrong.push_back(bits);
    if (found == Finding::Undecided) record.undecided.push_back(bits);
    if (found == Finding::Wrong && right) record.disputed.push_back(bits);
  }
  if constexpr (std::endian::native == std::endian::big)
    for (auto& y : outputs) {
      BitsOf<T> swapped = 0;
      for (std::size_t k = 0; k < sizeof y; ++k)
        swapped = static_cast<BitsOf<T>>(swapped << 8 | ((y >> (8 * k)) & 0xff));
      y = swapped;
    }
  record.hash = hash_bytes({reinterpret_cast<const char*>(outputs.data()), kCount * sizeof(T)});
  return record;
}

// Calls f.template operator()<T, Op>() for the storage type of `dtype` and the op.
template <CertifiedOp Op, class F>
auto with_type(DType dtype, F f) {
  if (dtype == DType::Float16) return f.template operator()<float16, Op>();
  if (dtype == DType::BFloat16) return f.template operator()<bfloat16, Op>();
  return f.template operator()<float, Op>();
}

template <class F>
auto with_op(CertifiedOp op, DType dtype, F f) {
  switch (op) {
    case CertifiedOp::Exp2: return with_type<CertifiedOp::Exp2>(dtype, f);
    case CertifiedOp::Log2: return with_type<CertifiedOp::Log2>(dtype, f);
    case CertifiedOp::Sin: return with_type<CertifiedOp::Sin>(dtype, f);
    case CertifiedOp::Sqrt: return with_type<CertifiedOp::Sqrt>(dtype, f);
    case CertifiedOp::Recip: break;
  }
  return with_type<CertifiedOp::Recip>(dtype, f);
}

}  // namespace

Finding second_opinion(CertifiedOp op, DType dtype, std::uint32_t input, std::uint32_t output) {
  const FpGuard guard;
  return with_op(op, dtype,
                 [&]<class T, CertifiedOp Op>() { return finding<T, Op>(input, output); });
}

BlockRecord certify_block(CertifiedOp op, DType dtype, std::uint64_t block) {
  return with_op(op, dtype, [&]<class T, CertifiedOp Op>() { return checked<T, Op>(block); });
}

}  // namespace touchstone
