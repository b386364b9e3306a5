#include "touchstone/interp/oracle/legal_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "touchstone/interp/oracle/excess.h"
#include "touchstone/interp/oracle/legal_function.h"
#include "touchstone/interp/oracle/unrounded_products.h"
#include "touchstone/ops/op_cases.h"

namespace touchstone::interp {
namespace {

// The results that a profile allows besides the reference's, for one storage type.
template <class T>
class Allowance {
 public:
  explicit Allowance(const Profile& profile) : profile_(profile) {}

  /// An operand as the device may see it.
  Legal<T> operand(const Legal<T>& a) const {
    if constexpr (is_float_storage<T>)
      if (profile_.flushes_inputs) return legal::flushed(a);
    return a;
  }
  /// A result as the device may return it.
  template <class R>
  Legal<R> result(Legal<R> a) const {
    if constexpr (is_float_storage<R>) {
      if (profile_.flushes_outputs) a = legal::flushed(a);
      if (profile_.finite_only && (a.nan || a.has_infinity())) return Legal<R>::anything();
      if (profile_.zeros_alike && a.has_zero()) {
        if (is_zero_value(a.lo)) a.lo = scalar::neg(R{});
        if (is_zero_value(a.hi)) a.hi = R{};
      }
    }
    return a;
  }

  /// `error` in representable values, for arguments of magnitude up to `size`.
  static std::int64_t ulp(const FunctionError& error, double size = 0) {
    const double all = error.ulp + (error.ulp_per_x == 0 ? 0 : error.ulp_per_x * size);
    return static_cast<std::int64_t>(std::ceil(std::min(all, 0x1p62)));
  }
  static double magnitude(const Legal<T>& a) {
    if constexpr (is_float_storage<T>)
      return !a.number ? 0
                       : std::max(std::abs(static_cast<double>(scalar::detail::computing(a.lo))),
                                  std::abs(static_cast<double>(scalar::detail::computing(a.hi))));
    else
      return 0;
  }

  const Profile& profile() const { return profile_; }

 private:
  const Profile& profile_;
};

template <class T, class R, class F>
void map1(const Allowance<T>& allow, const LegalBlock& a, LegalBlock& out, const Done& done, F f) {
  each_open(out, done,
            [&](std::int64_t i) { out.set<R>(i, allow.result(f(allow.operand(a.get<T>(i))))); });
}

template <class T, class R, class F>
void map2(const Allowance<T>& allow, const LegalBlock& a, const LegalBlock& b, LegalBlock& out,
          const Done& done, F f) {
  each_open(out, done, [&](std::int64_t i) {
    const Legal<T> x = allow.operand(a.get<T>(i)), y = allow.operand(b.get<T>(i));
    const bool finite = !allow.profile().finite_only ||
                        !(x.any || x.nan || x.has_infinity() || y.any || y.nan || y.has_infinity());
    out.set<R>(i, finite ? allow.result(f(x, y)) : Legal<R>::anything());
  });
}

template <class T, class F>
void add_terms(const ProgramNode& node, const Allowance<T>& allow, const LegalBlock& a,
               const LegalBlock& b, LegalBlock& out, const Done& done, F f) {
  const bool doubles = allow.profile().contracts && doubles_unrounded(node);
  each_open(out, done, [&](std::int64_t i) {
    const Legal<T> x = allow.operand(addend<T>(a, i)), y = allow.operand(addend<T>(b, i));
    Legal<T> sum = f(x, y);
    if constexpr (is_float_storage<T>)  // x * 2 is rounded only if it overflows
      if (doubles && (sum.has_infinity() || is_saturated(sum)) && !x.is_infinity())
        sum = not_rounded(sum);
    out.set<T>(i, allow.result(sum));
  });
}

template <class T>
void multiply(const ProgramNode& node, const Allowance<T>& allow, const LegalBlock& a,
              const LegalBlock& b, LegalBlock& out, const Done& done) {
  const Profile& profile = allow.profile();
  const bool unrounded = profile.contracts && node.contraction.may_be_unrounded();
  each_open(out, done, [&](std::int64_t i) {
    Legal<T> x = allow.operand(operand<T>(node, 0, a, i));
    Legal<T> y = allow.operand(operand<T>(node, 1, b, i));
    if constexpr (is_float_storage<T>) {
      if (node.contraction.is_summed && std::is_same_v<T, float>) {
        x = legal::shortened(x, profile.product_digits);
        y = legal::shortened(y, profile.product_digits);
      }
      const Legal<T> product = legal::mul(x, y);
      const bool exact = is_one(x) || is_one(y) || legal::is_special(x) || legal::is_special(y) ||
                         (x.is_point() && y.is_point() && product.is_point() &&
                          legal::is_exact_product(x.lo, y.lo, product.lo));
      Legal<T> legal = unrounded && !exact ? not_rounded(product) : product;
      if (&a == &b) legal = legal::not_negative(legal);
      out.set<T>(i, allow.result(legal));
    } else {
      out.set<T>(i, allow.result(legal::mul(x, y)));
    }
  });
}

template <class T>
void divide(const ProgramNode& node, const Allowance<T>& allow, const LegalBlock& a,
            const LegalBlock& b, LegalBlock& out, const Done& done) {
  // Division by a power of two is a product.
  const bool unrounded = allow.profile().contracts && node.contraction.may_be_unrounded();
  each_open(out, done, [&](std::int64_t i) {
    const Legal<T> x = allow.operand(operand<T>(node, 0, a, i));
    const Legal<T> y = allow.operand(operand<T>(node, 1, b, i));
    Legal<T> quotient = legal::div(x, y);
    if constexpr (is_float_storage<T>) {
      const std::int64_t ulp = allow.ulp(allow.profile().div);
      if (ulp > 0 && !legal::is_special(x) && !legal::is_special(y))
        quotient = legal::widened(quotient, ulp);
      if (unrounded && !is_one(y) && !legal::is_special(x) && !legal::is_special(y))
        quotient = not_rounded(quotient);
      if (x.number && y.number && !scalar::cmplt(x.lo, T{}) && scalar::cmplt(T{}, y.lo))
        quotient = legal::not_negative(quotient);
    }
    out.set<T>(i, allow.result(quotient));
  });
}

template <class T>
void multiply_add(const ProgramNode& node, const Allowance<T>& allow,
                  std::span<const LegalBlock* const> in, LegalBlock& out) {
  // With a zero addend it is a product.
  const bool unrounded = allow.profile().contracts && node.contraction.may_be_unrounded();
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::array<Legal<T>, 3> x{allow.operand(operand<T>(node, 0, *in[0], i)),
                                    allow.operand(operand<T>(node, 1, *in[1], i)),
                                    allow.operand(operand<T>(node, 2, *in[2], i))};
    Legal<T> sum = legal::mulacc(x[0], x[1], x[2]);
    if constexpr (is_float_storage<T>)
      if (unrounded && std::ranges::none_of(x, &Legal<T>::is_infinity)) sum = not_rounded(sum);
    out.set<T>(i, allow.result(sum));
  }
}

template <class T>
void maximum(const ProgramNode& node, const Allowance<T>& allow, const LegalBlock& a,
             const LegalBlock& b, LegalBlock& out, const Done& done) {
  each_open(out, done, [&](std::int64_t i) {
    const Legal<T> x = allow.operand(operand<T>(node, 0, a, i));
    const Legal<T> y = allow.operand(operand<T>(node, 1, b, i));
    Legal<T> most = legal::max(x, y);
    if constexpr (is_float_storage<T>)
      if (allow.profile().max != MaxOfNan::NanWins)
        most = legal::max_of_nan(x, y, allow.profile().max == MaxOfNan::NumberWins);
    out.set<T>(i, allow.result(most));
  });
}

// Float functions, each with the error that the profile declares.
template <class T>
void apply_function(Op op, const Allowance<T>& allow, const LegalBlock& in, const Done& done,
                    LegalBlock& out) {
  const Profile& p = allow.profile();
  const auto exact_at_special = [&](auto f, const FunctionError& error) {
    return [&allow, f, &error](const Legal<T>& a) {
      const std::int64_t ulp = allow.ulp(error);
      return ulp == 0 || legal::is_special(a) ? f(a) : legal::widened(f(a), ulp);
    };
  };
  switch (op) {
    case Op::Sqrt:
      return map1<T, T>(allow, in, out, done, exact_at_special(legal::sqrt<T>, p.sqrt));
    case Op::Recip:
      return map1<T, T>(allow, in, out, done, exact_at_special(legal::recip<T>, p.recip));
    case Op::Exp2:
      return map1<T, T>(allow, in, out, done, [&](const Legal<T>& a) {
        // Far beyond the range the result is 0 or infinity: clamp the argument's magnitude for the
        // error.
        const auto ulp_at = [&](const T& x) {
          constexpr double kMost = 4.0 * info(dtype_v<T>).max_exponent;
          return allow.ulp(p.exp2, std::min(allow.magnitude(Legal<T>::point(x)), kMost));
        };
        return legal::exp2(a, ulp_at(a.lo), ulp_at(a.hi));
      });
    case Op::Log2:
      return map1<T, T>(allow, in, out, done, [&](const Legal<T>& a) {
        return legal::log2(a, allow.ulp(p.log2, allow.magnitude(a)));
      });
    case Op::Sin:
      return map1<T, T>(allow, in, out, done, [&](const Legal<T>& a) {
        return legal::sin(a, allow.ulp(p.sin, allow.magnitude(a)), p.sin_absolute, p.sin_domain);
      });
    TOUCHSTONE_CASES_ARITHMETIC:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  throw AstError(fmt::format("{} is not a function of {}", name(op), name(dtype_v<T>)));
}

template <class T>
void apply_typed(const ProgramNode& node, const Profile& profile,
                 std::span<const LegalBlock* const> in, const Done& done, LegalBlock& out) {
  const Allowance<T> allow(profile);
  switch (node.op) {
    case Op::Noop:
      for (std::int64_t i = 0; i < out.count(); ++i) out.set<T>(i, operand<T>(node, 0, *in[0], i));
      return;
    case Op::Neg:
      return each_open(out, done, [&](std::int64_t i) {
        out.set<T>(i, legal::neg(operand<T>(node, 0, *in[0], i)));
      });
    case Op::Add: return add_terms<T>(node, allow, *in[0], *in[1], out, done, legal::add<T>);
    case Op::Sub: return add_terms<T>(node, allow, *in[0], *in[1], out, done, legal::sub<T>);
    case Op::Mul: return multiply<T>(node, allow, *in[0], *in[1], out, done);
    case Op::Max: return maximum<T>(node, allow, *in[0], *in[1], out, done);
    case Op::CmpLt: return map2<T, bool>(allow, *in[0], *in[1], out, {}, legal::cmplt<T>);
    case Op::CmpEq: return map2<T, bool>(allow, *in[0], *in[1], out, {}, legal::cmpeq<T>);
    case Op::MulAcc: return multiply_add<T>(node, allow, in, out);
    case Op::Where:
      for (std::int64_t i = 0; i < out.count(); ++i)
        out.set<T>(i, legal::where(in[0]->get<bool>(i), operand<T>(node, 1, *in[1], i),
                                   operand<T>(node, 2, *in[2], i)));
      return;
    case Op::Cast:
    case Op::Div:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  if constexpr (!std::is_same_v<T, bool>) {
    if (node.op == Op::Div) return divide<T>(node, allow, *in[0], *in[1], out, done);
    if (node.op == Op::Mod) return map2<T, T>(allow, *in[0], *in[1], out, {}, legal::mod<T>);
  }
  if constexpr (is_float_storage<T>) {
    return apply_function<T>(node.op, allow, *in[0], done, out);
  } else {
    if (node.op == Op::Xor) return map2<T, T>(allow, *in[0], *in[1], out, {}, legal::xor_<T>);
    throw AstError(fmt::format("{} has no legal form for {}", name(node.op), name(dtype_v<T>)));
  }
}

// A float that the integer type cannot represent may become anything.
template <class To, class From>
Legal<To> cast_unless_out_of_range(const Legal<From>& a) {
  if constexpr (is_float_storage<From> && is_integer_storage<To>) {
    const auto fits = [](From x) {
      const double v = std::trunc(static_cast<double>(scalar::detail::computing(x)));
      return v >= static_cast<double>(std::numeric_limits<To>::min()) &&
             v < std::ldexp(1.0, std::numeric_limits<To>::digits);
    };
    if (a.nan || (a.number && !(fits(a.lo) && fits(a.hi)))) return Legal<To>::anything();
  }
  return legal::cast<To>(a);
}

template <class To, class From>
Legal<To> cast_of(const ProgramNode& node, const Profile& profile, const Legal<From>& a) {
  Legal<To> out = profile.casts_saturate ? legal::cast<To>(a) : cast_unless_out_of_range<To>(a);
  if constexpr (is_float_storage<To>)
    if (casts_openly(node, profile)) out = open_cast<To>(profile, a);
  if constexpr (is_float_storage<From> && is_float_storage<To>) {
    const auto exact = [](From from, To to) {
      return static_cast<double>(scalar::detail::computing(from)) ==
             static_cast<double>(scalar::detail::computing(to));
    };
    // A number of the narrower type in a wider one, cast back, may never have been rounded.
    if (profile.contracts && node.contraction.may_be_unrounded() && out.number &&
        !(exact(a.lo, out.lo) && exact(a.hi, out.hi)))
      return not_rounded(out);
  }
  return out;
}

// A NaN's bits are free, so their bitcast is open; bits that form a NaN stand for any NaN.
template <class From>
void apply_bitcast(const ProgramNode& node, const LegalBlock& in, LegalBlock& out) {
  std::vector<std::optional<std::uint64_t>> bits;
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const Legal<From> a = operand<From>(node, 0, in, i);
    bits.emplace_back();
    if (a.is_point()) bits.back() = std::bit_cast<BitsOf<From>>(a.lo);
  }
  with_storage(node.dtype, [&]<class To>(std::type_identity<To>) {
    std::int64_t i = 0;
    for (const auto& b : bits)
      out.set<To>(i++, b ? Legal<To>::point(std::bit_cast<To>(static_cast<BitsOf<To>>(*b)))
                         : Legal<To>::anything());
  });
}

// A type that represents every number of From and casts to the same results: three types cover all.
template <class From>
using Widest = std::conditional_t<
    is_float_storage<From>, double,
    std::conditional_t<std::is_same_v<From, std::uint64_t>, std::uint64_t, std::int64_t>>;

// cos and tan by the profile's rules for SIN.
template <class T>
Legal<T> beyond_sine(NamedFunction f, const Profile& profile, double size, const Legal<T>& x) {
  if (f != NamedFunction::Cos && f != NamedFunction::Tan) return x;
  if (size > profile.sin_domain) return Legal<T>::unknown();
  if (profile.sin_absolute == 0 || !x.number) return x;
  if (f == NamedFunction::Tan) return Legal<T>::unknown();
  const auto moved = [&](T end, double by) {
    return static_cast<double>(scalar::detail::computing(end)) + by;
  };
  return Legal<T>::range(legal::not_above<T>(moved(x.lo, -profile.sin_absolute)),
                         legal::not_below<T>(moved(x.hi, profile.sin_absolute)), x.nan);
}

}  // namespace

void apply_legal(const ProgramNode& node, const Profile& profile,
                 std::span<const LegalBlock* const> in, const Done& done, LegalBlock& out) {
  with_storage(node.src_dtypes.back(), [&]<class T>(std::type_identity<T>) {
    apply_typed<T>(node, profile, in, done, out);
  });
}

void apply_legal_cast(const ProgramNode& node, const Profile& profile, const LegalBlock& in,
                      const Done& done, LegalBlock& out) {
  with_storage(node.src_dtypes[0], [&]<class From>(std::type_identity<From>) {
    if (node.bitcast) return apply_bitcast<From>(node, in, out);
    using Wide = Widest<From>;
    const Allowance<From> allow(profile);
    const Allowance<Wide> wide(profile);
    std::vector<std::pair<std::int64_t, Legal<Wide>>> all;
    each_open(out, done, [&](std::int64_t i) {
      const Legal<From> a = operand<From>(node, 0, in, i);
      if (node.dtype == dtype_v<From>) return out.set<From>(i, a);
      const Legal<From> seen = allow.operand(a);
      all.push_back({i,
                     {convert<Wide>(seen.lo), convert<Wide>(seen.hi), seen.number, seen.nan,
                      seen.any, seen.apart}});
    });
    with_storage(node.dtype, [&]<class To>(std::type_identity<To>) {
      for (const auto& [i, a] : all) {
        const Legal<To> to = cast_of<To>(node, profile, a);
        // Extended, a zero keeps its sign.
        constexpr bool keeps =
            is_float_storage<From> && is_float_storage<To> && sizeof(To) > sizeof(From);
        out.set<To>(
            i, keeps && !profile.flushes_outputs && !profile.finite_only ? to : wide.result(to));
      }
    });
  });
}

void apply_legal_function(const ProgramNode& node, const Profile& profile,
                          std::span<const LegalBlock* const> in, const Done& done,
                          LegalBlock& out) {
  const FunctionArg& arg = node.function;
  const FunctionError& error = profile.error_of(arg.function);
  const auto two = static_cast<std::size_t>(info(arg.function).arity - 1);
  const DType stored = node.rounds_to.value_or(node.dtype);
  with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>) {
      const Allowance<T> allow(profile);
      each_open(out, done, [&](std::int64_t i) {
        const Legal<T> x = allow.operand(in[0]->get<T>(i)), y = allow.operand(in[two]->get<T>(i));
        const double ulp =
            error.ulp + (error.ulp_per_x == 0 ? 0 : error.ulp_per_x * allow.magnitude(x));
        Legal<T> result;
        if (itemsize(stored) >= 4 || ulp == 0)
          result = legal::function(arg.function, x, y, {ulp, ulp == 0 ? node.dtype : stored});
        else if constexpr (sizeof(T) >= 4)  // narrow floats are computed in float32
          result = legal::function(arg.function, x, y, {ulp, DType::Float32});
        else
          result = legal::cast<T>(legal::function(arg.function, legal::cast<float>(x),
                                                  legal::cast<float>(y), {ulp, DType::Float32}));
        if (arg.or_last && !result.apart)
          if (const auto formula = legal::formula_beside(
                  arg.function, result, operand<T>(node, in.size() - 1, *in.back(), i)))
            result = Legal<T>::one_of({result, *formula});
        result = beyond_sine(arg.function, profile, allow.magnitude(x), result);
        out.set<T>(i, allow.result(result));
      });
    }
  });
}

}  // namespace touchstone::interp
