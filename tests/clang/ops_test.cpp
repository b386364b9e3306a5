// Every op, cast and reduce on every element type, over values where backends fail, against the
// scalar functions that define the truth.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone {
namespace {

template <class T>
std::vector<T> edge_values() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (is_integer_storage<T>) {
    using L = std::numeric_limits<T>;
    const auto at = [](auto v) { return static_cast<T>(v); };
    return {at(0),
            at(1),
            at(2),
            at(3),
            at(5),
            at(7),
            at(100),
            at(-1),
            at(-2),
            at(-7),
            at(-100),
            L::min(),
            L::max(),
            at(L::min() + 1),
            at(L::max() - 1),
            at(L::max() / 2),
            at(L::max() / 2 + 1),
            at(0x0102030405060708)};
  } else if constexpr (sizeof(T) == 1) {  // all of them
    std::vector<T> values;
    for (unsigned bits = 0; bits < 256; ++bits)
      values.push_back(T{static_cast<std::uint8_t>(bits)});
    return values;
  } else {
    constexpr DTypeInfo kInfo = info(dtype_v<T>);
    const double least = std::ldexp(1.0, kInfo.min_exponent - kInfo.digits + 1);
    const double normal = std::ldexp(1.0, kInfo.min_exponent);
    const double most = std::ldexp(2.0 - std::ldexp(1.0, 1 - kInfo.digits), kInfo.max_exponent);
    const double inf = std::numeric_limits<double>::infinity();
    std::vector<T> values;
    for (const double v : {0.0,          1.0,     1.5,      2.0,       3.0,          0.1,
                           0.5,          7.7,     127.5,    128.0,     255.9,        300.7,
                           32768.0,      65504.0, 65519.0,  1e9,       2147483648.0, 4294967296.0,
                           9.2e18,       1.9e19,  least,    3 * least, normal,       normal - least,
                           normal * 1.5, most,    most / 2, 1 / most,  inf,          1e-3,
                           12.34})
      for (const double sign : {1.0, -1.0}) values.push_back(convert<T>(sign * v));
    values.push_back(convert<T>(std::nan("")));
    return values;
  }
}

template <class T>
std::vector<T> few_values() {
  if constexpr (is_float_storage<T>) {
    std::vector<T> few;
    for (const double v : {0.0, -0.0, 1.0, -1.5, 3.3, 1e-7, 60000.0,
                           -std::numeric_limits<double>::infinity(), std::nan("")})
      few.push_back(convert<T>(v));
    return few;
  } else if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else {
    using L = std::numeric_limits<T>;
    return {T{0}, T{1}, static_cast<T>(-1), static_cast<T>(77), L::min(), L::max()};
  }
}

struct Case {
  std::string name;
  LazyOpPtr kernel;
  std::vector<std::vector<Scalar>> inputs;
  std::vector<Scalar> expected;
  std::int64_t ulps = 0;
};

template <class T>
std::vector<Scalar> scalars(const std::vector<T>& values) {
  std::vector<Scalar> out;
  for (const T v : values) out.push_back(Scalar::of<T>(v));
  return out;
}

ShapeTracker flat(std::size_t size) {
  return ShapeTracker::contiguous({static_cast<std::int64_t>(size)});
}

LazyOpPtr load(int idx, const std::vector<Scalar>& values) {
  return LazyOp::load(idx, values.front().dtype(), flat(values.size()));
}

LazyOpPtr stored_kernel(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

// All pairs of values, as two columns.
template <class T>
std::array<std::vector<T>, 2> pairs(const std::vector<T>& values) {
  std::array<std::vector<T>, 2> out;
  for (const T a : values)
    for (const T b : values) {
      out[0].push_back(a);
      out[1].push_back(b);
    }
  return out;
}

template <class T>
bool takes(Op op) {
  switch (info(op).types) {
    case OpTypes::All: return true;
    case OpTypes::Floats: return is_float_storage<T>;
    case OpTypes::Numbers: return !std::is_same_v<T, bool>;
    case OpTypes::IntsAndBool: return !is_float_storage<T>;
    case OpTypes::None: break;
  }
  return false;
}

template <class T>
Scalar unary(Op op, T x) {
  if constexpr (is_float_storage<T>) {
    if (op == Op::Exp2) return Scalar::of<T>(scalar::exp2(x));
    if (op == Op::Log2) return Scalar::of<T>(scalar::log2(x));
    if (op == Op::Sin) return Scalar::of<T>(scalar::sin(x));
    if (op == Op::Sqrt) return Scalar::of<T>(scalar::sqrt(x));
    if (op == Op::Recip) return Scalar::of<T>(scalar::recip(x));
  }
  return op == Op::Neg ? Scalar::of<T>(scalar::neg(x)) : Scalar::of<T>(x);
}

template <class T>
Scalar binary(Op op, T a, T b) {
  switch (op) {
    case Op::Add: return Scalar::of<T>(scalar::add(a, b));
    case Op::Sub: return Scalar::of<T>(scalar::sub(a, b));
    case Op::Mul: return Scalar::of<T>(scalar::mul(a, b));
    case Op::Div: return Scalar::of<T>(scalar::div(a, b));
    case Op::Max: return Scalar::of<T>(scalar::max(a, b));
    case Op::Mod: return Scalar::of<T>(scalar::mod(a, b));
    case Op::CmpLt: return Scalar::of<bool>(scalar::cmplt(a, b));
    case Op::CmpEq: return Scalar::of<bool>(scalar::cmpeq(a, b));
    default: break;
  }
  if constexpr (!is_float_storage<T>) return Scalar::of<T>(scalar::xor_(a, b));
  return {};
}

std::string title(Op op, DType d) { return fmt::format("{} {}", name(op), name(d)); }

template <class T>
void add_unary(std::vector<Case>& cases) {
  const std::vector<T> values = edge_values<T>();
  for (const Op op : {Op::Noop, Op::Exp2, Op::Log2, Op::Sin, Op::Sqrt, Op::Recip, Op::Neg}) {
    if (!takes<T>(op)) continue;
    Case c{title(op, dtype_v<T>), nullptr, {scalars(values)}, {}};
    c.kernel = stored_kernel(LazyOp::unary(op, load(1, c.inputs[0])));
    for (const T v : values) c.expected.push_back(unary(op, v));
    c.ulps = op == Op::Exp2 || op == Op::Log2 || op == Op::Sin ? 1 : 0;
    cases.push_back(std::move(c));
  }
}

template <class T>
void add_binary(std::vector<Case>& cases) {
  const auto [a, b] = pairs(edge_values<T>());
  for (const Op op :
       {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Mod, Op::CmpLt, Op::CmpEq, Op::Xor}) {
    if (!takes<T>(op)) continue;
    Case c{title(op, dtype_v<T>), nullptr, {scalars(a), scalars(b)}, {}};
    c.kernel = stored_kernel(LazyOp::binary(op, load(1, c.inputs[0]), load(2, c.inputs[1])));
    for (std::size_t i = 0; i < a.size(); ++i) c.expected.push_back(binary<T>(op, a[i], b[i]));
    cases.push_back(std::move(c));
  }
}

template <class T>
void add_ternary(std::vector<Case>& cases) {
  std::vector<T> a, b, c;
  std::vector<bool> condition;
  for (const T x : few_values<T>())
    for (const T y : few_values<T>())
      for (const T z : few_values<T>()) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
        condition.push_back(a.size() % 3 == 0);
      }
  Case mulacc{title(Op::MulAcc, dtype_v<T>), nullptr, {scalars(a), scalars(b), scalars(c)}, {}};
  const auto& in = mulacc.inputs;
  mulacc.kernel =
      stored_kernel(LazyOp::ternary(Op::MulAcc, load(1, in[0]), load(2, in[1]), load(3, in[2])));
  Case where{title(Op::Where, dtype_v<T>), nullptr, {scalars(condition), in[0], in[1]}, {}};
  where.kernel = stored_kernel(
      LazyOp::ternary(Op::Where, load(1, where.inputs[0]), load(2, in[0]), load(3, in[1])));
  for (std::size_t i = 0; i < a.size(); ++i) {
    mulacc.expected.push_back(Scalar::of<T>(scalar::mulacc<T>(a[i], b[i], c[i])));
    where.expected.push_back(Scalar::of<T>(scalar::where<T>(condition[i], a[i], b[i])));
  }
  cases.push_back(std::move(mulacc));
  cases.push_back(std::move(where));
}

template <class T>
void add_casts(std::vector<Case>& cases) {
  const std::vector<Scalar> values = scalars(edge_values<T>());
  for (const DTypeInfo& to : dtype_table) {
    Case c{fmt::format("CAST {} to {}", name(dtype_v<T>), to.name), nullptr, {values}, {}};
    c.kernel = stored_kernel(LazyOp::cast(load(1, values), to.dtype));
    for (const Scalar& v : values) c.expected.push_back(convert(v, to.dtype));
    cases.push_back(c);
    if (to.itemsize != static_cast<int>(sizeof(T)) || is_bool(to.dtype)) continue;
    c.name = "bit" + c.name;
    c.kernel = stored_kernel(LazyOp::cast(load(1, values), to.dtype, true));
    c.expected.clear();
    for (const Scalar& v : values) c.expected.push_back(bitcast(v, to.dtype));
    cases.push_back(c);
  }
}

// Sums in sequence, in the accumulator's type.
Scalar summed(const std::vector<Scalar>& values, DType accumulator) {
  return with_storage(accumulator, [&]<class A>(std::type_identity<A>) {
    A sum{};
    for (const Scalar& v : values) sum = scalar::add(sum, convert(v, accumulator).as<A>());
    return convert(Scalar::of<A>(sum), values.front().dtype());
  });
}

template <class T>
void add_reduces(std::vector<Case>& cases) {
  const auto [a, b] = pairs(edge_values<T>());
  std::vector<T> mixed;  // rows of eight, from all pairs
  for (std::size_t i = 0; i + 1 < a.size(); i += 2) mixed.insert(mixed.end(), {a[i], b[i + 1]});
  while (mixed.size() % 8 != 0) mixed.push_back(mixed.front());
  const std::vector<Scalar> values = scalars(mixed);
  const auto rows = static_cast<std::int64_t>(values.size() / 8);
  const LazyOpPtr in = LazyOp::load(1, dtype_v<T>, ShapeTracker::contiguous({rows, 8}));
  Case max{title(Op::ReduceMax, dtype_v<T>),
           stored_kernel(LazyOp::reduce(Op::ReduceMax, in, {1})),
           {values},
           {}};
  Case sum{title(Op::ReduceSum, dtype_v<T>),
           stored_kernel(LazyOp::reduce(Op::ReduceSum, in, {1})),
           {values},
           {}};
  for (std::size_t row = 0; row < values.size(); row += 8) {
    T most = mixed[row];
    for (std::size_t i = row; i < row + 8; ++i) most = scalar::max<T>(most, mixed[i]);
    max.expected.push_back(Scalar::of<T>(most));
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row);
    sum.expected.push_back(summed({first, first + 8}, sum_accumulator(dtype_v<T>)));
  }
  cases.push_back(std::move(max));
  cases.push_back(std::move(sum));
}

// A number that grows by one from each float to the next.
std::int64_t ordinal(const Scalar& x) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * itemsize(x.dtype()) - 1);
  const auto magnitude = static_cast<std::int64_t>(x.bits() & (sign - 1));
  return (x.bits() & sign) != 0 ? -magnitude : magnitude;
}

bool agree(const Scalar& a, const Scalar& b, std::int64_t ulps) {
  if (a == b) return true;
  if (a.is_nan() || b.is_nan()) return a.is_nan() && b.is_nan();
  return ulps > 0 && std::abs(ordinal(a) - ordinal(b)) <= ulps;
}

std::vector<std::byte> bytes_of(const std::vector<Scalar>& values) {
  const std::size_t size = itemsize(values.front().dtype());
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = values[i].bits();
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return bytes;
}

void check(Device& device, const Case& c) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  buffers.push_back(std::make_unique<Buffer>(device, c.kernel->dtype(),
                                             static_cast<std::int64_t>(c.expected.size())));
  for (const auto& input : c.inputs) {
    buffers.push_back(std::make_unique<Buffer>(device, input.front().dtype(),
                                               static_cast<std::int64_t>(input.size())));
    buffers.back()->copy_in(bytes_of(input));
  }
  std::vector<Buffer*> given;
  for (const auto& b : buffers) given.push_back(b.get());
  run_kernel(device, c.kernel, given);
  int wrong = 0;
  for (std::size_t i = 0; i < c.expected.size() && wrong < 5; ++i) {
    const Scalar got = buffers[0]->at(static_cast<std::int64_t>(i));
    if (agree(got, c.expected[i], c.ulps)) continue;
    std::string operands;
    for (const auto& input : c.inputs)
      if (input.size() == c.expected.size()) operands += " " + input[i].str();
    ADD_FAILURE() << c.name << operands << ": got " << got.str() << " (bits " << got.bits()
                  << "), want " << c.expected[i].str() << " (bits " << c.expected[i].bits() << ")";
    ++wrong;
  }
}

// Vector bodies and loop tails must agree, so error-prone vector code is compiled with full
// optimisation.
void check_all(const std::vector<Case>& cases, int opt_level) {
  ClangOptions options = ClangOptions::from_environment();
  options.opt_level = opt_level;
  options.codegen.order = TermOrder::Source;
  const auto device = make_clang_device("OPS", options);
  std::vector<LazyOpPtr> kernels;
  for (const Case& c : cases) kernels.push_back(c.kernel);
  device->prepare(kernels);
  for (const Case& c : cases) check(*device, c);
}

TEST(ClangOps, AgreeWithTheTruthOnEveryType) {
  std::vector<Case> cases;
  for (const DTypeInfo& d : dtype_table)
    with_storage(d.dtype, [&]<class T>(std::type_identity<T>) {
      add_unary<T>(cases);
      add_binary<T>(cases);
      add_ternary<T>(cases);
    });
  check_all(cases, 1);
}

TEST(ClangOps, CastsAndReducesAgreeWithTheTruthOnEveryType) {
  std::vector<Case> cases;
  for (const DTypeInfo& d : dtype_table)
    with_storage(d.dtype, [&]<class T>(std::type_identity<T>) {
      add_casts<T>(cases);
      add_reduces<T>(cases);
    });
  check_all(cases, 2);
}

}  // namespace
}  // namespace touchstone
