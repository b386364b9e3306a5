#include "touchstone/interp/bits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/base/suggest.h"
#include "touchstone/interp/exact_dot.h"
#include "touchstone/interp/exact_sum.h"
#include "touchstone/interp/scalar_named.h"
#include "touchstone/interp/scalar_ops.h"

namespace touchstone {
namespace {

enum class Name {
  Exp2,
  Log2,
  Sin,
  Sqrt,
  Recip,
  Neg,
  Add,
  Sub,
  Mul,
  Div,
  Fma,
  Maximum,
  MaxNum,
  ModTrunc,
  ModFloor,
  DivTrunc,
  DivFloor,
  CmpLt,
  CmpEq,
  Xor,
  Sum,
  Dot,
};

constexpr int kAnyNumber = -1;

struct Row {
  std::string_view name;
  Name op;
  int arity;
};

constexpr std::array<Row, 22> kRows = {{
    {"exp2", Name::Exp2, 1},
    {"log2", Name::Log2, 1},
    {"sin", Name::Sin, 1},
    {"sqrt", Name::Sqrt, 1},
    {"recip", Name::Recip, 1},
    {"neg", Name::Neg, 1},
    {"add", Name::Add, 2},
    {"sub", Name::Sub, 2},
    {"mul", Name::Mul, 2},
    {"div", Name::Div, 2},
    {"fma", Name::Fma, 3},
    {"max.maximum", Name::Maximum, 2},
    {"max.maxnum", Name::MaxNum, 2},
    {"mod.trunc", Name::ModTrunc, 2},
    {"mod.floor", Name::ModFloor, 2},
    {"div.trunc", Name::DivTrunc, 2},
    {"div.floor", Name::DivFloor, 2},
    {"cmplt", Name::CmpLt, 2},
    {"cmpeq", Name::CmpEq, 2},
    {"xor", Name::Xor, 2},
    {"sum", Name::Sum, kAnyNumber},
    {"dot", Name::Dot, kAnyNumber},
}};
constexpr std::string_view kCast = "cast:";
constexpr std::pair<std::string_view, Overflow> kCastModes[] = {
    {"cast.saturate:", Overflow::Saturate}, {"cast.infinity:", Overflow::Infinity}};

const Row& row_of(std::string_view op) {
  for (const Row& row : kRows)
    if (row.name == op) return row;
  std::vector<std::string_view> names{"cast:float32", "cast.saturate:float8_e5m2",
                                      "cast.infinity:float8_e4m3"};
  for (const Row& row : kRows) names.push_back(row.name);
  const std::string_view shown = op.substr(0, 40);
  throw ParseError(fmt::format("no operation is called '{}'{}; there are: {}", shown,
                               did_you_mean(shown, names), fmt::join(names, " ")));
}

void require_count(std::string_view op, std::size_t wanted, std::size_t given) {
  if (wanted != given)
    throw ShapeError(fmt::format("'{}' takes {} operand{}, and {} {} given", op, wanted,
                                 wanted == 1 ? "" : "s", given, given == 1 ? "was" : "were"));
}

template <class T>
Scalar sum_of(std::span<const Scalar> terms) {
  if constexpr (is_float_storage<T>) {
    ExactSum<T> sum;
    for (const Scalar& t : terms) sum.add(t.as<T>());
    return Scalar::of(sum.result());
  } else {
    T sum{0};
    for (const Scalar& t : terms) sum = scalar::add(sum, t.as<T>());
    return Scalar::of(sum);
  }
}

// Of pairs: a1,b1,a2,b2 and on.
template <class T>
Scalar dot_of(std::span<const Scalar> terms) {
  if (terms.size() % 2 != 0)
    throw ShapeError(fmt::format(
        "'dot' takes pairs, a1,b1,a2,b2 and on, and {} operands were given", terms.size()));
  if constexpr (is_float_storage<T>) {
    ExactDot<T> sum;
    for (std::size_t i = 0; i < terms.size(); i += 2)
      sum.add(terms[i].as<T>(), terms[i + 1].as<T>());
    return Scalar::of(sum.result());
  } else {
    T sum{0};
    for (std::size_t i = 0; i < terms.size(); i += 2)
      sum = scalar::add(sum, scalar::mul(terms[i].as<T>(), terms[i + 1].as<T>()));
    return Scalar::of(sum);
  }
}

// Nothing where T does not have the operation; Scalar of bool for comparisons.
template <class T>
std::optional<Scalar> value_of(Name op, std::span<const Scalar> in) {
  const auto x = [&](std::size_t i) { return in[i].as<T>(); };
  switch (op) {
    case Name::Neg:
      return Scalar::of(scalar::neg(x(0)));
    case Name::Add:
      return Scalar::of(scalar::add(x(0), x(1)));
    case Name::Sub:
      return Scalar::of(scalar::sub(x(0), x(1)));
    case Name::Mul:
      return Scalar::of(scalar::mul(x(0), x(1)));
    case Name::Maximum:
      return Scalar::of(scalar::max(x(0), x(1)));
    case Name::MaxNum:
      return Scalar::of(scalar::max_num(x(0), x(1)));
    case Name::CmpLt:
      return Scalar::of(scalar::cmplt(x(0), x(1)));
    case Name::CmpEq:
      return Scalar::of(scalar::cmpeq(x(0), x(1)));
    case Name::Sum:
      return sum_of<T>(in);
    case Name::Dot:
      return dot_of<T>(in);
    default:
      break;
  }
  if constexpr (!std::is_same_v<T, bool>) {
    if (op == Name::Div) return Scalar::of(scalar::div(x(0), x(1)));
    if (op == Name::ModTrunc) return Scalar::of(scalar::mod(x(0), x(1)));
    if (op == Name::ModFloor) return Scalar::of(scalar::mod_floor(x(0), x(1)));
  }
  if constexpr (is_integer_storage<T>) {
    if (op == Name::DivTrunc) return Scalar::of(scalar::div(x(0), x(1)));
    if (op == Name::DivFloor) return Scalar::of(scalar::div_floor(x(0), x(1)));
  }
  if constexpr (is_float_storage<T>) {
    if (op == Name::Exp2) return Scalar::of(scalar::exp2(x(0)));
    if (op == Name::Log2) return Scalar::of(scalar::log2(x(0)));
    if (op == Name::Sin) return Scalar::of(scalar::sin(x(0)));
    if (op == Name::Sqrt) return Scalar::of(scalar::sqrt(x(0)));
    if (op == Name::Recip) return Scalar::of(scalar::recip(x(0)));
    if (op == Name::Fma) return Scalar::of(scalar::fma(x(0), x(1), x(2)));
  } else {
    if (op == Name::Xor) return Scalar::of(scalar::xor_(x(0), x(1)));
  }
  return std::nullopt;
}

// A cast to a float of 8 bits with an overflow mode by name.
Scalar cast_with(Overflow overflow, std::string_view op, const Scalar& x, DType to) {
  return with_storage(x.dtype(), [&]<class From>(std::type_identity<From>) {
    return with_storage(to, [&]<class To>(std::type_identity<To>) -> Scalar {
      if constexpr (is_float_storage<From> && is_float_storage<To> && sizeof(To) == 1)
        return Scalar::of(convert_to_float8<To>(x.as<From>(), overflow));
      else
        throw DTypeError(fmt::format(
            "'{}' takes a float to float8_e4m3 or float8_e5m2, not {} to {}; use cast:{}", op,
            name(x.dtype()), name(to), name(to)));
    });
  });
}

bool divides(Name op) {
  return op == Name::Div || op == Name::DivTrunc || op == Name::DivFloor || op == Name::ModTrunc ||
         op == Name::ModFloor;
}

// An operand as the interface writes it.
Scalar read_operand(DType dtype, std::string_view text) {
  if (!is_float(dtype)) return Scalar::parse(dtype, text);
  if (text == "nan") return Scalar::from_double(dtype, std::numeric_limits<double>::quiet_NaN());
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [p, ec] = std::from_chars(text.data(), end, bits, 16);
  if (ec != std::errc() || p != end || text.size() != 2 * itemsize(dtype))
    throw ParseError(
        fmt::format("cannot read '{}' as {}: write its bits as {} hexadecimal digits, "
                    "or nan",
                    text.substr(0, 40), name(dtype), 2 * itemsize(dtype)));
  return Scalar::from_bits(dtype, bits);
}

std::string written(const Scalar& x) {
  if (is_bool(x.dtype())) return x.bits() != 0 ? "1" : "0";
  if (!is_float(x.dtype())) return x.str();
  if (x.is_nan()) return "nan";
  return fmt::format("{:0{}x}", x.bits(), 2 * itemsize(x.dtype()));
}

}  // namespace

std::optional<Scalar> scalar_answer(std::string_view op, DType dtype,
                                    std::span<const Scalar> operands) {
  const FpGuard guard;
  for (const Scalar& x : operands)
    if (x.dtype() != dtype)
      throw DTypeError(
          fmt::format("'{}' of {} was given an operand of {}", op, name(dtype), name(x.dtype())));
  if (op.starts_with(kCast)) {
    const DType to = parse_dtype(op.substr(kCast.size()));
    require_count(op, 1, operands.size());
    return convert(operands[0], to);
  }
  for (const auto& [prefix, overflow] : kCastModes)
    if (op.starts_with(prefix)) {
      const DType to = parse_dtype(op.substr(prefix.size()));
      require_count(op, 1, operands.size());
      return cast_with(overflow, op, operands[0], to);
    }
  const Row& row = row_of(op);
  if (row.arity != kAnyNumber)
    require_count(op, static_cast<std::size_t>(row.arity), operands.size());
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) -> std::optional<Scalar> {
    if constexpr (is_integer_storage<T>)
      if (divides(row.op) && scalar::div_is_poison(operands[0].as<T>(), operands[1].as<T>()))
        return std::nullopt;
    std::optional<Scalar> value = value_of<T>(row.op, operands);
    if (!value) throw DTypeError(fmt::format("'{}' does not take {}", op, name(dtype)));
    return value;
  });
}

std::string bits_answer(std::string_view line) {
  constexpr std::string_view kForm =
      "a line is an operation, a type and operands, op<TAB>dtype<TAB>in,in: "
      "add<TAB>float32<TAB>3f800000,40000000";
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t first = line.find('\t');
  if (first == std::string_view::npos) throw ParseError(std::string(kForm));
  const std::size_t second = line.find('\t', first + 1);
  // Only a sum has no operands, and then nothing needs to follow the type.
  const std::string_view op = line.substr(0, first);
  const DType dtype = parse_dtype(line.substr(first + 1, second - first - 1));
  std::string_view rest = second == std::string_view::npos ? "" : line.substr(second + 1);
  if (rest.find('\t') != std::string_view::npos) throw ParseError(std::string(kForm));
  std::vector<Scalar> operands;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    operands.push_back(read_operand(dtype, rest.substr(0, comma)));
    if (comma + 1 == rest.size()) throw ParseError("an operand is missing after the last comma");
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  const std::optional<Scalar> answer = scalar_answer(op, dtype, operands);
  return answer ? written(*answer) : "undef";
}

}  // namespace touchstone
