#include "touchstone/fuzz/judge/edges.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "touchstone/ops/op_cases.h"

namespace touchstone::fuzz {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The edges of a float type.
struct FloatEdges {
  double largest, normal, least, ulp;  // normal: the least normal number; ulp: of 1

  explicit FloatEdges(DType d) {
    const DTypeInfo& f = info(d);
    ulp = std::ldexp(1, 1 - f.digits);
    largest = std::ldexp(2 - ulp, f.max_exponent);
    normal = std::ldexp(1, f.min_exponent);
    least = std::ldexp(1, f.min_exponent - f.digits + 1);
  }
};

using EdgeRows = std::vector<std::vector<double>>;
using Integers = std::vector<std::vector<std::int64_t>>;

template <class Number>
std::vector<Operands> converted(DType d, const std::vector<std::vector<Number>>& rows) {
  std::vector<Operands> out;
  for (const std::vector<Number>& row : rows) {
    Operands& operands = out.emplace_back();
    for (const Number x : row)
      operands.push_back(std::is_same_v<Number, double>
                             ? Scalar::from_double(d, static_cast<double>(x))
                             : Scalar::from_int(d, static_cast<std::int64_t>(x)));
  }
  return out;
}

std::vector<Scalar> float_values(DType d) {
  const auto [largest, normal, least, ulp] = FloatEdges(d);
  std::vector<Scalar> out;
  for (const Operands& some :
       converted(d, EdgeRows{{0.0, 1.0, -0.0, -1.0, kNan, kInf, -kInf},
                             {least, -least, normal, -normal, largest, -largest, 1 + ulp},
                             {0.5, 2.0, -2.5, 255.5, -129.0, 65504.0, 1e10}}))
    out.insert(out.end(), some.begin(), some.end());
  return out;
}

// The largest value of an integer type; for uint64 the int64 with its bits.
std::int64_t most_of(DType d) {
  const int digits = info(d).digits;
  return digits == 64 ? -1 : static_cast<std::int64_t>((std::uint64_t{1} << digits) - 1);
}
std::int64_t least_of(DType d) { return is_unsigned(d) ? 0 : -most_of(d) - 1; }
// The first unsigned value that is negative in the signed type of that width.
std::int64_t middle_of(DType d) {
  const int width = 8 * info(d).itemsize;
  return static_cast<std::int64_t>(std::uint64_t{1} << (width - 1));
}

std::vector<Scalar> make_values(DType d) {
  if (is_bool(d)) return {Scalar::of(false), Scalar::of(true)};
  if (is_float(d)) return float_values(d);
  const std::int64_t most = most_of(d), least = least_of(d);
  // Halving uint64's largest value as a signed number gives another result.
  const std::int64_t middle = d == DType::UInt64 ? middle_of(d) : most / 2 + 1;
  return converted(d, Integers{{0, 1, -1, 2, most, least, most - 1, least + 1, middle, 7, -7}})[0];
}

// Operands of named functions: ends of domains, poles, turning points, thresholds of overflow.
EdgeRows of_functions(DType d) {
  const auto [largest, normal, least, ulp] = FloatEdges(d);
  const double top = (info(d).max_exponent + 1) * std::numbers::ln2;
  const double bottom = (info(d).min_exponent - info(d).digits) * std::numbers::ln2;
  return {{kNan},    {-0.0},     {kInf},  {-kInf},  {0.0},   {-1.0},    {1.0},      {1 + ulp},
          {1 - ulp}, {top},      {-top},  {bottom}, {0.5},   {-0.75},   {least},    {-least},
          {3.0},     {-2.0},     {-2.5},  {9.25},   {-5.5},  {largest}, {-largest}, {1e10},
          {22.0},    {3.140625}, {0.001}, {-12.7},  {normal}};
}

// The functions of one float.
EdgeRows float_unary(Op op, DType d) {
  const auto [largest, normal, least, ulp] = FloatEdges(d);
  const double top = info(d).max_exponent, low = info(d).min_exponent;
  const double bottom = low - info(d).digits;
  switch (op) {
    case Op::Exp2:
      return {{kNan},      {-kInf},     {kInf},       {-0.0},         {top + 3},
              {top + 1},   {top + 0.5}, {bottom + 1}, {bottom + 0.5}, {bottom},
              {low - 0.5}, {0.7},       {-0.3},       {ulp},          {1 - ulp}};
    case Op::Log2:
      return {{0.0},     {-0.0},        {-1.0},    {kNan},      {kInf},  {least},  {1.0},
              {1 + ulp}, {1 - ulp / 2}, {largest}, {3 * least}, {-kInf}, {-least}, {8.0}};
    case Op::Sin:
      return {{-0.0},          {kInf},  {-kInf}, {kNan},  {largest}, {3.140625}, {22.0},
              {0.75 * normal}, {355.0}, {11.0},  {710.0}, {60000.0}, {-largest}, {1e10}};
    case Op::Sqrt:
      return {{-0.0},  {-1.0},   {kInf},    {0.0},    {kNan},        {least},   {2.0},
              {-kInf}, {-least}, {largest}, {normal}, {1 - ulp / 2}, {1 + ulp}, {3 * least}};
    case Op::Recip:
      return {{0.0},    {-0.0},    {kInf},       {-kInf},  {kNan},    {least},       {3.0},
              {normal}, {largest}, {normal * 2}, {-least}, {1 + ulp}, {1 - ulp / 2}, {7.0}};
    TOUCHSTONE_CASES_ARITHMETIC:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  return {{-0.0}, {0.0}, {kNan}, {kInf}, {-kInf}, {least}, {-1.0}, {largest}};
}

EdgeRows float_binary(Op op, DType d) {
  const auto [largest, normal, least, ulp] = FloatEdges(d);
  switch (op) {
    case Op::Add:
      return {{-0.0, -0.0},   {0.0, -0.0},      {kNan, 1},          {1, kNan},
              {kInf, -kInf},  {kInf, 1},        {largest, largest}, {-largest, -largest},
              {least, least}, {normal, -least}, {1, ulp / 2},       {1 + ulp, ulp / 2},
              {-1, 1},        {least, -0.0},    {kInf, kInf}};
    case Op::Sub: {
      EdgeRows rows = float_binary(Op::Add, d);
      for (std::vector<double>& row : rows) row[1] = -row[1];
      rows.insert(rows.end(), {{0.0, least}, {1, kInf}});
      return rows;
    }
    case Op::Mul:
      return {{0.0, -1},     {0.0, kInf},        {kNan, 0.0},   {1, kNan},        {largest, 2},
              {-largest, 2}, {least, 0.5},       {normal, 0.5}, {3 * least, 0.5}, {kInf, -1},
              {-0.0, -1},    {1 + ulp, 1 + ulp}, {least, 1},    {kInf, 0.0},      {-3, 5}};
    case Op::Div:
      return {{1, 0.0},     {1, -0.0},  {0.0, 0.0},  {kNan, 1},      {1, kNan},
              {kInf, kInf}, {1, 3},     {normal, 2}, {largest, 0.5}, {0.0, -1},
              {1, kInf},    {kInf, -1}, {least, 2},  {least, least}, {-5, 3}};
    case Op::Mod:
      return {
          {5, 3},    {-5, 3},   {5, -3},  {1, 0.0}, {kInf, 1},    {1, kInf},           {kNan, 1},
          {1, kNan}, {-0.0, 1}, {-5, -3}, {-6, 3},  {largest, 3}, {normal, least * 3}, {5.5, 0.25}};
    case Op::Max:
      return {{0.0, -0.0},   {-0.0, 0.0},       {kNan, 1},      {1, kNan}, {-1, -2},
              {-kInf, kNan}, {kNan, -kInf},     {-kInf, -kInf}, {kInf, 1}, {-least, -0.0},
              {least, 0.0},  {-kInf, -largest}, {kNan, kNan},   {1, 2},    {2, 1}};
    // comparisons; neighbours have different results, so that swapped results show
    case Op::Noop:
    case Op::Cast:
    case Op::Neg:
    case Op::Xor:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  return {{0.0, -0.0},  {kNan, 1},    {-0.0, 0.0},   {1, kNan},    {-2, -1},
          {kNan, kNan}, {-1, 1},      {1, -1},       {1, 1},       {-kInf, kInf},
          {kInf, kInf}, {least, 0.0}, {-least, 0.0}, {1 + ulp, 1}, {1, 1 + ulp}};
}

EdgeRows float_ternary(DType d) {  // MULACC
  const auto [largest, normal, least, ulp] = FloatEdges(d);
  return {{kNan, 1, 1}, {1, kNan, 1},      {1, 1, kNan},    {0.0, kInf, 1}, {1, kInf, -kInf},
          {1, -1, 0.0}, {0.0, -1, -0.0},   {largest, 2, 1}, {2, 3, kInf},   {2, 3, -6},
          {2, 3, 5},    {least, 1, least}, {1, -0.0, -0.0}, {0.0, 2, 3}};
}

Integers integer_operands(Op op, DType d) {
  const std::int64_t most = most_of(d), least = least_of(d), middle = middle_of(d);
  const auto half = static_cast<std::int64_t>(std::uint64_t{1} << (4 * info(d).itemsize));
  switch (op) {
    case Op::Add:
      return {{most, 1},        {least, -1}, {most, most}, {least, least},
              {middle, middle}, {-1, 1},     {100, 100},   {-100, -100}};
    case Op::Sub:
      return {{least, 1},    {most, -1},  {0, least}, {0, 1},
              {least, most}, {100, -100}, {3, 5},     {-1, middle}};
    case Op::Mul:
      return {{most, 2},     {least, -1}, {most, most}, {half, half}, {middle, 2},
              {most - 2, 3}, {11, 13},    {-3, 5},      {100, 100}};
    case Op::Div:
    case Op::Mod:
      return {{7, 2},      {-7, 2}, {7, -2},       {-7, -2},        {least, 2},
              {most, 3},   {-1, 2}, {least, most}, {most, -1},      {middle, 3},
              {least, -1}, {1, 0},  {least, 3},    {most - 1, most}};
    case Op::Max:
    case Op::CmpLt:
    case Op::CmpEq:
      return {{-1, 1},     {1, -1},        {least, most},    {most, least},    {middle, 1},
              {1, middle}, {1, 1},         {most - 1, most}, {most, most - 1}, {-7, -8},
              {256, 0},    {least, least}, {most, 0}};
    case Op::Xor: return {{-1, 0}, {most, least}, {5, 3}, {-1, -1}, {6, 6}, {middle, 1}};
    case Op::MulAcc:
      return {{most, 2, 1},    {3, 5, 7},       {most, 1, 1}, {-3, 5, -7},
              {half, half, 1}, {least, -1, -1}, {0, 2, 3}};
    case Op::Noop:
    case Op::Cast:
    case Op::Neg:
    case Op::Where:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return {{least}, {most}, {-1}, {0}, {1}, {middle}};
}

// A number halfway between two of `to`, or slightly above; the ends of `to`.
EdgeRows float_to_float(DType d, DType to) {
  const auto [largest, normal, least, ulp] = FloatEdges(to);
  const FloatEdges own(d);
  const double tie = 1 + ulp / 2, above = tie + std::max(0x1p-40, own.ulp);
  const double beyond = std::ldexp(2 - ulp / 2, info(to).max_exponent);
  // Less and more than half a step too large.
  const double less = largest * (1 + ulp / 4), more = largest * (1 + ulp / 3);
  return {{kNan},      {3 * least},     {tie},       {above},       {-0.0},         {largest * 2},
          {kInf},      {-kInf},         {tie + ulp}, {-tie},        {-largest * 2}, {0.75 * normal},
          {own.least}, {own.largest},   {largest},   {least / 2},   {less},         {more},
          {beyond},    {0.625 * least}, {0.0},       {1 + own.ulp}, {2.7}};
}
EdgeRows float_to_integer(DType to) {
  const double most = std::ldexp(1, info(to).digits);  // one above the largest
  return {{kNan},  {2.7},    {-2.7},     {300.7}, {kInf},   {-kInf},   {most},
          {-most}, {-1.5},   {1e10},     {0.4},   {-0.0},   {-0.6},    {most / 2},
          {2.5},   {-129.0}, {-70000.0}, {3e9},   {0x1p63}, {2 * most}};
}
EdgeRows float_to_bool(DType d) {
  return {{kNan}, {-0.0}, {0.4}, {0.0}, {FloatEdges(d).least}, {-0.4}, {kInf}, {1}, {256}};
}

Integers from_integer(DType d, DType to) {
  const std::int64_t most = most_of(d), least = least_of(d);
  Integers out{{most}, {least}, {-1}, {most - 1}, {middle_of(d)}, {0}, {1}, {300}, {-129}, {257}};
  if (!is_float(to) || info(d).digits <= info(to).digits) return out;
  // Ties of both kinds, and a near tie that becomes one if rounded to float or double first.
  const std::int64_t last = std::int64_t{1} << info(to).digits;
  out.insert(out.begin(), {{last + 3}, {last + 1}, {-last - 3}});
  for (const int bits : {30, 60})
    if (info(d).digits > bits && info(to).digits < bits - 8)
      out.insert(out.begin(),
                 {(std::int64_t{1} << bits) + (std::int64_t{1} << (bits - info(to).digits)) + 1});
  return out;
}

std::vector<Operands> of_bools(int arity) {
  std::vector<Operands> out;
  for (int bits = 0; bits < 1 << arity; ++bits) {
    Operands& operands = out.emplace_back();
    for (int i = 0; i < arity; ++i) operands.push_back(Scalar::of((bits >> i & 1) != 0));
  }
  return out;
}

// Each arm beside a value that would show through.
std::vector<Operands> of_where(DType d) {
  const std::vector<Scalar>& values = edge_values(d);
  std::vector<Operands> out;
  for (std::size_t i = 0; i < values.size() && i < 8; ++i) {
    const Scalar& other = values[(i + 1) % values.size()];
    out.push_back({Scalar::of(true), other, values[i]});
    out.push_back({Scalar::of(false), values[i], other});
  }
  return out;
}

std::vector<Scalar> make_neutral(DType d) {
  if (is_bool(d)) return {Scalar::of(false), Scalar::of(true)};
  if (is_float(d)) return converted(d, EdgeRows{{0, 1, -1, -0.0, kInf, -kInf}})[0];
  return converted(d, Integers{{0, 1, -1, least_of(d), most_of(d)}})[0];
}

using ValueTable = std::array<std::vector<Scalar>, kDTypeCount>;

ValueTable table_of(std::vector<Scalar> (*make)(DType)) {
  ValueTable out;
  for (int d = 0; d < kDTypeCount; ++d)
    out[static_cast<std::size_t>(d)] = make(static_cast<DType>(d));
  return out;
}

}  // namespace

const std::vector<Scalar>& edge_values(DType dtype) {
  static const ValueTable table = table_of(make_values);
  return table[static_cast<std::size_t>(dtype)];
}

const std::vector<Scalar>& neutral_values(DType dtype) {
  static const ValueTable table = table_of(make_neutral);
  return table[static_cast<std::size_t>(dtype)];
}

std::vector<Operands> edge_operands(Op op, DType dtype, DType to) {
  if (op == Op::Function) return converted(dtype, of_functions(dtype));
  if (!is_elementwise(op) || !takes(op, dtype)) return {};
  const int arity = info(op).arity;
  if (op == Op::Cast && is_float(dtype)) {
    std::vector<Operands> out = converted(dtype, is_float(to)  ? float_to_float(dtype, to)
                                                 : is_bool(to) ? float_to_bool(dtype)
                                                               : float_to_integer(to));
    // A NaN only by its last bit: truncated, it is infinity.
    if (info(dtype).digits > 8)
      out.insert(out.begin() + 1,
                 {Scalar::from_bits(dtype, Scalar::from_double(dtype, kInf).bits() + 1)});
    return out;
  }
  if (op == Op::Cast && is_integer(dtype)) return converted(dtype, from_integer(dtype, to));
  if (op == Op::Where) return of_where(dtype);
  if (is_bool(dtype)) return of_bools(arity);
  if (!is_float(dtype)) return converted(dtype, integer_operands(op, dtype));
  if (arity == 1) return converted(dtype, float_unary(op, dtype));
  return converted(dtype, arity == 2 ? float_binary(op, dtype) : float_ternary(dtype));
}

std::vector<EdgeRow> edge_rows(Op reduce, DType dtype) {
  if (is_bool(dtype))
    return {{Scalar::of(true), Scalar::of(false)},
            {Scalar::of(false), Scalar::of(true)},
            {Scalar::of(false), Scalar::of(false)}};
  const auto rows = [&](const auto& pairs) {
    std::vector<EdgeRow> out;
    for (const Operands& pair : converted(dtype, pairs)) out.push_back({pair[0], pair[1]});
    return out;
  };
  const std::int64_t most = most_of(dtype), end = least_of(dtype);
  if (!is_float(dtype))
    return rows(Integers{{most, most}, {end, end}, {-1, -2}, {most, end}, {middle_of(dtype), 1}});
  const auto [largest, normal, least, ulp] = FloatEdges(dtype);
  if (reduce == Op::ReduceMax)
    return rows(EdgeRows{{kNan, 1},
                         {-kInf, -kInf},
                         {-1, -2},
                         {0.0, -0.0},
                         {-0.0, -1},
                         {kNan, -kInf},
                         {-least, -1},
                         {kInf, 1},
                         {-largest, -kInf}});
  return rows(EdgeRows{{kNan, 1},
                       {kInf, -1},
                       {-kInf, 1},
                       {least, 0.0},
                       {least, -0.0},
                       {normal, -least},
                       {largest, 0.0},
                       {kInf, -kInf},
                       {-0.0, 0.0},
                       {0.0, -0.0}});
}

}  // namespace touchstone::fuzz
