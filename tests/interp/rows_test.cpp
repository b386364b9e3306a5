#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "scalar_reference.h"

// Every row of the Interpreted device's table, for every type, on awkward lengths and through
// views, against the definition: MPFR for floats, 128-bit integers for integers.

namespace touchstone {
namespace {

__extension__ using Wide = __int128;
__extension__ using Unsigned = unsigned __int128;
using test::Real;
using Scalars = std::vector<Scalar>;

Wide integer(const Scalar& x) {
  return x.dtype() == DType::UInt64 ? Wide{x.bits()} : Wide{x.to_int64()};
}
Wide least(DType d) { return info(d).kind == DTypeKind::Signed ? -(Wide{1} << info(d).digits) : 0; }
Wide most(DType d) { return (Wide{1} << info(d).digits) - 1; }

Scalar wrapped(DType d, Wide x) {
  const int bits = info(d).itemsize * 8;
  const auto low = static_cast<std::uint64_t>(x);
  return Scalar::from_bits(d, bits == 64 ? low : low & ((std::uint64_t{1} << bits) - 1));
}
Scalar truth(bool x) { return Scalar::of(x); }

// A float result that f computes in MPFR's format for the type.
Scalar rounded(DType d, const std::function<int(mpfr_ptr, mpfr_rnd_t)>& f) {
  return with_storage(d, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>)
      return Scalar::of(test::in_format<T>(f));
    else
      return Scalar::of(T{});
  });
}

Scalar of_floats(Op op, const Scalars& in) {
  const DType d = in.back().dtype();
  const double x = in[0].to_double(), y = in.size() > 1 ? in[1].to_double() : 0;
  Real a(x), b(y), one(1);
  const auto as = [&](auto f, auto&... reals) {
    return rounded(d, [&](mpfr_ptr to, mpfr_rnd_t mode) { return f(to, reals.get()..., mode); });
  };
  switch (op) {
    case Op::Exp2: return as(mpfr_exp2, a);
    case Op::Log2: return as(mpfr_log2, a);
    case Op::Sin: return as(mpfr_sin, a);
    case Op::Sqrt: return as(mpfr_sqrt, a);
    case Op::Recip: return as(mpfr_div, one, a);
    case Op::Neg:
      return Scalar::from_bits(d, in[0].bits() ^ (std::uint64_t{1} << (itemsize(d) * 8 - 1)));
    case Op::Add: return as(mpfr_add, a, b);
    case Op::Sub: return as(mpfr_sub, a, b);
    case Op::Mul: return as(mpfr_mul, a, b);
    case Op::Div: return as(mpfr_div, a, b);
    case Op::Mod: return as(mpfr_fmod, a, b);
    case Op::Max:
      if (std::isnan(x)) return in[0];
      if (std::isnan(y)) return in[1];
      if (x == y) return std::signbit(x) ? in[1] : in[0];
      return x > y ? in[0] : in[1];
    case Op::CmpLt: return truth(x < y);
    case Op::CmpEq: return truth(x == y);
    case Op::MulAcc: return of_floats(Op::Add, {of_floats(Op::Mul, {in[0], in[1]}), in[2]});
    default: ADD_FAILURE() << name(op) << " of floats has no definition here"; return in[0];
  }
}

Scalar of_integers(Op op, const Scalars& in) {
  const DType d = in.back().dtype();
  const Wide a = integer(in[0]), b = in.size() > 1 ? integer(in[1]) : 0;
  switch (op) {
    case Op::Neg: return wrapped(d, -a);
    case Op::Add: return wrapped(d, a + b);
    case Op::Sub: return wrapped(d, a - b);
    case Op::Mul:
      return wrapped(d, static_cast<Wide>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b)));
    case Op::Div: return wrapped(d, b == 0 ? 0 : a / b);
    case Op::Mod: return wrapped(d, b == 0 ? 0 : a % b);
    case Op::Max: return a > b ? in[0] : in[1];
    case Op::CmpLt: return truth(a < b);
    case Op::CmpEq: return truth(a == b);
    case Op::Xor: return Scalar::from_bits(d, in[0].bits() ^ in[1].bits());
    case Op::MulAcc: return of_integers(Op::Add, {of_integers(Op::Mul, {in[0], in[1]}), in[2]});
    default: ADD_FAILURE() << name(op) << " of integers has no definition here"; return in[0];
  }
}

Scalar of_bools(Op op, const Scalars& in) {
  const bool a = in[0].bits() != 0, b = in.size() > 1 && in[1].bits() != 0;
  switch (op) {
    case Op::Neg: return truth(!a);
    case Op::Add:
    case Op::Max: return truth(a || b);
    case Op::Mul: return truth(a && b);
    case Op::Sub:
    case Op::Xor: return truth(a != b);
    case Op::CmpLt: return truth(!a && b);
    case Op::CmpEq: return truth(a == b);
    case Op::MulAcc: return truth((a && b) || in[2].bits() != 0);
    default: ADD_FAILURE() << name(op) << " of bools has no definition here"; return in[0];
  }
}

Scalar defined(Op op, const Scalars& in) {
  if (op == Op::Noop) return in[0];
  if (op == Op::Where) return in[0].bits() != 0 ? in[1] : in[2];
  const DType d = in.back().dtype();
  return is_float(d) ? of_floats(op, in) : is_bool(d) ? of_bools(op, in) : of_integers(op, in);
}

Scalar cast_defined(const Scalar& x, DType to) {
  const DType from = x.dtype();
  if (is_float(to))
    return rounded(to, [&](mpfr_ptr out, mpfr_rnd_t mode) {
      if (is_float(from)) return mpfr_set_d(out, x.to_double(), mode);
      return from == DType::UInt64 ? mpfr_set_ui(out, x.bits(), mode)
                                   : mpfr_set_si(out, x.to_int64(), mode);
    });
  if (!is_float(from)) return is_bool(to) ? truth(integer(x) != 0) : wrapped(to, integer(x));
  const double v = x.to_double();
  if (is_bool(to)) return truth(v != 0);
  if (std::isnan(v)) return wrapped(to, 0);
  if (v >= std::ldexp(1.0, info(to).digits)) return wrapped(to, most(to));
  if (v <= static_cast<double>(least(to))) return wrapped(to, least(to));
  return wrapped(to, static_cast<Wide>(v));
}

// ---- values

// For floats the ends, the neighbours of zero, halves and NaNs, then random bits; for integers the
// ends and powers of two.
Scalars values(DType d, std::size_t n, test::Draws& random) {
  const int bits = info(d).itemsize * 8;
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  std::vector<std::uint64_t> special{0, 1, all, all >> 1, (all >> 1) + 1, (all >> 1) - 1, 2};
  if (is_bool(d)) special = {0, 1};
  if (is_float(d)) {
    const std::uint64_t hidden = std::uint64_t{1} << (info(d).digits - 1);  // least normal
    const std::uint64_t one = Scalar::from_double(d, 1).bits();
    const std::uint64_t infinity = Scalar::from_double(d, HUGE_VAL).bits();
    for (const std::uint64_t x : {hidden, hidden - 1, one, one + 1, one - 1, infinity, infinity - 1,
                                  one + hidden / 2, Scalar::from_double(d, NAN).bits()})
      for (const std::uint64_t sign : {std::uint64_t{0}, (all >> 1) + 1})
        special.push_back(x | sign);
  }
  Scalars out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t drawn =
        random.chance(2, 3) ? special[random.below(special.size())] : random.bits() & all;
    out.push_back(Scalar::from_bits(d, is_bool(d) ? drawn & 1 : drawn));
  }
  return out;
}

BufferPtr buffer_of(DType d, const Scalars& x) {
  const BufferPtr b = test::buffer(d, static_cast<std::int64_t>(x.size()));
  auto* memory = static_cast<std::byte*>(b->memory());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t bits = x[i].bits();
    std::memcpy(memory + i * itemsize(d), &bits, itemsize(d));
  }
  return b;
}

Scalars elements_of(const Buffer& b) {
  Scalars out;
  const auto* memory = static_cast<const std::byte*>(b.memory());
  for (std::size_t i = 0; i < static_cast<std::size_t>(b.size()); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, memory + i * itemsize(b.dtype()), itemsize(b.dtype()));
    out.push_back(Scalar::from_bits(b.dtype(), bits));
  }
  return out;
}

// ---- views of n elements

struct Way {
  const char* name;
  ShapeTracker (*view)(std::int64_t n);
};
const Way kWays[] = {
    {"as they lie", [](std::int64_t n) { return ShapeTracker::contiguous({n}); }},
    {"from behind",
     [](std::int64_t n) {
       return ShapeTracker::contiguous({n}).stride(std::vector<std::int64_t>{-1});
     }},
    {"every third",
     [](std::int64_t n) {
       return ShapeTracker::contiguous({3 * n}).stride(std::vector<std::int64_t>{3});
     }},
    {"every second from behind",
     [](std::int64_t n) {
       return ShapeTracker::contiguous({2 * n}).stride(std::vector<std::int64_t>{-2});
     }},
    {"one for all", [](std::int64_t n) { return ShapeTracker::contiguous({1}).expand({n}); }},
    {"masked at both ends",
     [](std::int64_t n) {
       const std::int64_t left = n / 4, right = n / 3;
       return ShapeTracker::contiguous({n - left - right}).pad({{left, right}});
     }},
    {"turned, and two views",
     [](std::int64_t n) {
       return ShapeTracker::contiguous({3, n})
           .permute(std::vector<int>{1, 0})
           .reshape({3 * n})
           .shrink({{1, n + 1}});
     }},
};

Scalars seen(const Scalars& memory, const ShapeTracker& st, DType d, std::int64_t n) {
  Scalars out;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = st.at(std::vector<std::int64_t>{i});
    out.push_back(at ? memory[static_cast<std::size_t>(*at)] : Scalar::from_bits(d, 0));
  }
  return out;
}

// ---- the checks

using Make = std::function<LazyOpPtr(const std::vector<LazyOpPtr>&)>;
using Define = std::function<Scalar(const Scalars&)>;

void check(const std::vector<DType>& operands, std::int64_t n, std::size_t first_way,
           test::Draws& random, const Make& make, const Define& define, const std::string& what) {
  std::vector<LazyOpPtr> loads;
  std::vector<BufferPtr> buffers{nullptr};
  std::vector<Scalars> in;
  std::string ways;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Way& way = kWays[(first_way + (first_way == 0 ? 0 : k)) % std::size(kWays)];
    ways += std::string(" ") + way.name;
    const ShapeTracker st = way.view(n);
    const Scalars memory = values(operands[k], static_cast<std::size_t>(st.real_size()), random);
    buffers.push_back(buffer_of(operands[k], memory));
    in.push_back(seen(memory, st, operands[k], n));
    loads.push_back(LazyOp::load(static_cast<int>(k) + 1, operands[k], st));
  }
  const LazyOpPtr value = make(loads);
  buffers[0] = test::buffer(value->dtype(), n);
  run_kernel(test::reference(), test::store(value), test::raw(buffers));
  const Scalars got = elements_of(*buffers[0]);
  for (std::size_t i = 0; i < got.size(); ++i) {
    Scalars at;
    for (const Scalars& x : in) at.push_back(x[i]);
    const Scalar want = define(at);
    ASSERT_TRUE(got[i] == want || (got[i].is_nan() && want.is_nan()))
        << what << " of " << at[0].str() << (at.size() > 1 ? ", " + at[1].str() : "")
        << (at.size() > 2 ? ", " + at[2].str() : "") << " is " << got[i].str() << ", not "
        << want.str() << "; element " << i << " of " << n << ", read" << ways;
  }
}

// Awkward lengths contiguously, three of them in every other layout.
void check_all(const std::vector<DType>& operands, const Make& make, const Define& define,
               const std::string& what) {
  test::TracedDraws random(hash_bytes(what));
  for (const std::int64_t n : {0, 1, 3, 7, 8, 9, 17, 1000})
    check(operands, n, 0, random, make, define, what);
  for (std::size_t way = 1; way < std::size(kWays); ++way)
    for (const std::int64_t n : {4, 9, 33}) check(operands, n, way, random, make, define, what);
}

class Row : public testing::TestWithParam<DType> {};

TEST_P(Row, IsTheDefinition) {
  const DType d = GetParam();
  for (const OpInfo& row : op_table) {
    if (!is_elementwise(row.op) || row.op == Op::Cast || !takes(row.op, d)) continue;
    std::vector<DType> operands(static_cast<std::size_t>(row.arity), d);
    if (row.op == Op::Where) operands[0] = DType::Bool;
    check_all(
        operands,
        [&](const std::vector<LazyOpPtr>& in) {
          return LazyOp::make(row.op, in, std::monostate());
        },
        [&](const Scalars& in) { return defined(row.op, in); },
        std::string(row.name) + " " + std::string(name(d)));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Row, CastIsTheDefinition) {
  const DType from = GetParam();
  for (const DTypeInfo& to : dtype_table) {
    check_all(
        {from}, [&](const auto& in) { return LazyOp::cast(in[0], to.dtype); },
        [&](const Scalars& in) { return cast_defined(in[0], to.dtype); },
        "CAST " + std::string(name(from)) + " to " + std::string(to.name));
    if (HasFatalFailure()) return;
    if (to.itemsize != info(from).itemsize || is_bool(to.dtype) != is_bool(from)) continue;
    check_all(
        {from}, [&](const auto& in) { return LazyOp::cast(in[0], to.dtype, true); },
        [&](const Scalars& in) { return Scalar::from_bits(to.dtype, in[0].bits()); },
        "bitcast " + std::string(name(from)) + " to " + std::string(to.name));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Row, CrossesBlocks) {
  const DType d = GetParam();
  test::TracedDraws random(5);
  for (const Op op : {Op::Add, Op::MulAcc, Op::CmpLt})
    check(
        std::vector<DType>(static_cast<std::size_t>(info(op).arity), d), 4096 + 515, 0, random,
        [&](const auto& in) { return LazyOp::make(op, in, std::monostate()); },
        [&](const Scalars& in) { return defined(op, in); }, std::string(name(op)));
}

std::vector<DType> all_types() {
  std::vector<DType> all;
  for (const DTypeInfo& row : dtype_table) all.push_back(row.dtype);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Every, Row, testing::ValuesIn(all_types()),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace touchstone
