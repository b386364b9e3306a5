#include "touchstone/interp/device/bits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/base/fp_guard.h"
#include "touchstone/base/suggest.h"
#include "touchstone/interp/device/exact_dot.h"
#include "touchstone/interp/device/exact_sum.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/device/scalar_ops.h"
#include "touchstone/ops/op.h"

namespace touchstone {
namespace {

// From noop on: other ops of the table.
constexpr std::string_view kNames[] = {
    "exp2",       "log2",      "sin",       "sqrt",       "recip",     "neg",
    "add",        "sub",       "mul",       "div",        "fma",       "max.maximum",
    "max.maxnum", "mod.trunc", "mod.floor", "div.trunc",  "div.floor", "cmplt",
    "cmpeq",      "xor",       "sum",       "dot",        "noop",      "max",
    "mod",        "mulacc",    "where",     "reduce_sum", "reduce_max"};

// nullopt: any number.
std::optional<std::size_t> arity_of(std::string_view op) {
  constexpr std::string_view kOne[] = {"exp2", "log2", "sin", "sqrt", "recip", "neg", "noop"},
                             kThree[] = {"fma", "mulacc", "where"};
  if (op == "sum" || op == "dot" || op.starts_with("reduce_")) return std::nullopt;
  if (std::ranges::find(kOne, op) != std::end(kOne)) return 1;
  return std::ranges::find(kThree, op) != std::end(kThree) ? 3 : 2;
}

// The differences between similar names, by common prefix.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kVariants = {{
    {"max", "max is the op of the table and max.maximum: NaN wins; max.maxnum: the number wins"},
    {"mod",
     "mod is the op of the table and mod.trunc: the sign of the dividend, as C's fmod and %; "
     "mod.floor: the sign of the divisor, as Python's %"},
    {"div", "div is the op of the table: integers as div.trunc, towards 0; div.floor: downwards"},
    {"mulacc",
     "mulacc is the op of the table: the product is rounded, and the sum; fma: rounds once"},
    {"fma", "fma rounds once; mulacc, the op of the table, rounds the product and the sum"},
    {"reduce_sum",
     "reduce_sum is the op of the table: rounded to the accumulator (float32 for "
     "narrower floats), then to the type; sum: rounded once, to the type"},
    {"cast",
     "cast:DTYPE is the op of the table; cast.saturate:DTYPE and cast.infinity:DTYPE are the "
     "two overflow modes of floats of 8 bits"},
}};
constexpr std::string_view kCast = "cast:";
constexpr std::string_view kWhere = "where";
constexpr std::pair<std::string_view, Overflow> kCastModes[] = {
    {"cast.saturate:", Overflow::Saturate}, {"cast.infinity:", Overflow::Infinity}};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

void require_known(std::string_view op) {
  if (std::ranges::find(kNames, op) != std::end(kNames)) return;
  for (const OpInfo& known : op_table)
    if (lower_case(known.name) == op && op != "cast")
      throw ParseError(fmt::format("{} is not an operation on elements", known.name));
  for (const auto& [name, differ] : kVariants)
    if (op.substr(0, op.find('.')) == name)
      throw ParseError(fmt::format("there is no operation '{}': {}", op.substr(0, 40), differ));
  std::vector<std::string_view> names{"cast:float32", "cast.saturate:float8_e5m2",
                                      "cast.infinity:float8_e4m3"};
  names.insert(names.end(), std::begin(kNames), std::end(kNames));
  const std::string_view shown = op.substr(0, 40);
  throw ParseError(fmt::format("there is no operation '{}'{}; known: {}", shown,
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

// Dot product of pairs: a1,b1,a2,b2, ...
template <class T>
Scalar dot_of(std::span<const Scalar> terms) {
  if (terms.size() % 2 != 0)
    throw ShapeError(fmt::format("'dot' takes pairs, a1,b1,a2,b2,..., but {} operands were given",
                                 terms.size()));
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

// Like the table's REDUCE_SUM: rounds to its accumulator first.
template <class T>
Scalar reduced_sum(std::span<const Scalar> terms) {
  if constexpr (is_float_storage<T>) {
    ExactSum<T> sum;
    for (const Scalar& t : terms) sum.add(t.as<T>());
    return with_storage(sum_accumulator(dtype_v<T>), [&]<class A>(std::type_identity<A>) -> Scalar {
      if constexpr (is_float_storage<A>)
        return Scalar::of(convert<T>(sum.template result<A>()));
      else
        return Scalar::of(T{});  // unreachable: floats are summed in floats
    });
  } else {
    return sum_of<T>(terms);
  }
}
template <class T>
Scalar reduced_max(std::span<const Scalar> terms) {
  T most{};
  if constexpr (is_float_storage<T>)
    most = convert<T>(-std::numeric_limits<float>::infinity());
  else
    most = std::numeric_limits<T>::min();
  for (const Scalar& t : terms) most = scalar::max(most, t.as<T>());
  return Scalar::of(most);
}

// nullopt if T does not support the operation; a bool Scalar for comparisons.
template <class T>
std::optional<Scalar> value_of(std::string_view op, std::span<const Scalar> in) {
  const auto x = [&](std::size_t i) { return in[i].as<T>(); };
  if (op == "neg") return Scalar::of(scalar::neg(x(0)));
  if (op == "add") return Scalar::of(scalar::add(x(0), x(1)));
  if (op == "sub") return Scalar::of(scalar::sub(x(0), x(1)));
  if (op == "mul") return Scalar::of(scalar::mul(x(0), x(1)));
  if (op == "max" || op == "max.maximum") return Scalar::of(scalar::max(x(0), x(1)));
  if (op == "max.maxnum") return Scalar::of(scalar::max_num(x(0), x(1)));
  if (op == "cmplt") return Scalar::of(scalar::cmplt(x(0), x(1)));
  if (op == "cmpeq") return Scalar::of(scalar::cmpeq(x(0), x(1)));
  if (op == "sum") return sum_of<T>(in);
  if (op == "dot") return dot_of<T>(in);
  if (op == "noop") return in[0];
  if (op == "mulacc") return Scalar::of(scalar::mulacc(x(0), x(1), x(2)));
  if (op == kWhere) return in[0].as<bool>() ? in[1] : in[2];
  if (op == "reduce_sum") return reduced_sum<T>(in);
  if (op == "reduce_max") return reduced_max<T>(in);
  if constexpr (!std::is_same_v<T, bool>) {
    if (op == "div") return Scalar::of(scalar::div(x(0), x(1)));
    if (op == "mod" || op == "mod.trunc") return Scalar::of(scalar::mod(x(0), x(1)));
    if (op == "mod.floor") return Scalar::of(scalar::mod_floor(x(0), x(1)));
  }
  if constexpr (is_integer_storage<T>) {
    if (op == "div.trunc") return Scalar::of(scalar::div(x(0), x(1)));
    if (op == "div.floor") return Scalar::of(scalar::div_floor(x(0), x(1)));
  }
  if constexpr (is_float_storage<T>) {
    if (op == "exp2") return Scalar::of(scalar::exp2(x(0)));
    if (op == "log2") return Scalar::of(scalar::log2(x(0)));
    if (op == "sin") return Scalar::of(scalar::sin(x(0)));
    if (op == "sqrt") return Scalar::of(scalar::sqrt(x(0)));
    if (op == "recip") return Scalar::of(scalar::recip(x(0)));
    if (op == "fma") return Scalar::of(scalar::fma(x(0), x(1), x(2)));
  } else {
    if (op == "xor") return Scalar::of(scalar::xor_(x(0), x(1)));
  }
  return std::nullopt;
}

// A cast to an 8-bit float with a named overflow mode.
Scalar cast_with(Overflow overflow, std::string_view op, const Scalar& x, DType to) {
  if (!is_float(x.dtype()) || !is_float(to) || itemsize(to) != 1)
    throw DTypeError(
        fmt::format("'{}' takes a float to float8_e4m3 or float8_e5m2, not {} to {}; use cast:{}",
                    op, name(x.dtype()), name(to), name(to)));
  const double value = x.to_double();  // exact
  if (to == DType::Float8E4M3) return Scalar::of(convert_to_float8<float8_e4m3>(value, overflow));
  return Scalar::of(convert_to_float8<float8_e5m2>(value, overflow));
}

// Parses an operand in the format of the interface.
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

std::optional<Scalar> scalar_answer(std::string_view named, DType dtype,
                                    std::span<const Scalar> operands) {
  const FpGuard guard;
  const std::string op = lower_case(named);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType wanted = op == kWhere && i == 0 ? DType::Bool : dtype;
    if (operands[i].dtype() != wanted)
      throw DTypeError(fmt::format("'{}' of {} was given an operand of {}", op, name(dtype),
                                   name(operands[i].dtype())));
  }
  if (op.starts_with(kCast)) {
    const DType to = parse_dtype(std::string_view(op).substr(kCast.size()));
    require_count(op, 1, operands.size());
    return convert(operands[0], to);
  }
  for (const auto& [prefix, overflow] : kCastModes)
    if (op.starts_with(prefix)) {
      const DType to = parse_dtype(std::string_view(op).substr(prefix.size()));
      require_count(op, 1, operands.size());
      return cast_with(overflow, op, operands[0], to);
    }
  require_known(op);
  if (const auto arity = arity_of(op)) require_count(op, *arity, operands.size());
  return with_storage(dtype, [&]<class T>(std::type_identity<T>) -> std::optional<Scalar> {
    if constexpr (is_integer_storage<T>)
      if ((op.starts_with("div") || op.starts_with("mod")) &&
          scalar::div_is_poison(operands[0].as<T>(), operands[1].as<T>()))
        return std::nullopt;
    std::optional<Scalar> value = value_of<T>(op, operands);
    if (!value) throw DTypeError(fmt::format("'{}' does not support {}", op, name(dtype)));
    return value;
  });
}

namespace {

// Ops that round nothing or return no float: the overflow mode is irrelevant.
bool never_overflows(std::string_view op) {
  constexpr std::array<std::string_view, 9> kExact{
      "neg", "noop", "max", "max.maximum", "max.maxnum", "where", "cmplt", "cmpeq", "reduce_max"};
  return std::ranges::find(kExact, op) != kExact.end();
}

// With one mode: the operation in float64, whose rounding is harmless for types of 3 or 4 digits,
// then the cast.
Scalar answer_with(Overflow overflow, const std::string& op, DType dtype,
                   std::span<const Scalar> operands) {
  const auto in_type = [&](DType wide, std::string_view wide_op, std::span<const Scalar> of) {
    std::vector<Scalar> in;
    for (const Scalar& x : of) in.push_back(convert(x, wide));
    return *scalar_answer(wide_op, wide, in);
  };
  if (op.starts_with(kCast)) {
    const DType to = parse_dtype(std::string_view(op).substr(kCast.size()));
    const Scalar x =
        is_float(dtype) ? operands[0] : in_type(DType::Float64, "noop", operands.first(1));
    return cast_with(overflow, op, x, to);
  }
  if (op == "mulacc") {  // rounds the product, too
    const std::array product{answer_with(overflow, "mul", dtype, operands.first(2)), operands[2]};
    return answer_with(overflow, "add", dtype, product);
  }
  if (op == "reduce_sum")
    return cast_with(overflow, op, in_type(sum_accumulator(dtype), "sum", operands), dtype);
  return cast_with(overflow, op, in_type(DType::Float64, op, operands), dtype);
}

}  // namespace

std::vector<Scalar> scalar_answers(std::string_view named, DType dtype,
                                   std::span<const Scalar> operands, Float8Overflow overflow) {
  const std::optional<Scalar> defined = scalar_answer(named, dtype, operands);
  if (!defined) return {};
  const std::string op = lower_case(named);
  const bool of_mode =
      std::ranges::any_of(kCastModes, [&](const auto& mode) { return op.starts_with(mode.first); });
  if (overflow == Float8Overflow::AsDefined || of_mode || never_overflows(op) ||
      !is_float(defined->dtype()) || itemsize(defined->dtype()) != 1)
    return {*defined};
  const FpGuard guard;
  std::vector<Scalar> answers;
  if (overflow != Float8Overflow::Infinity)
    answers.push_back(answer_with(Overflow::Saturate, op, dtype, operands));
  if (overflow != Float8Overflow::Saturates) {
    const Scalar other = answer_with(Overflow::Infinity, op, dtype, operands);
    if (answers.empty() || written(answers[0]) != written(other)) answers.push_back(other);
  }
  return answers;
}

std::string bits_names() {
  std::string text = fmt::format("{} cast:DTYPE cast.saturate:DTYPE cast.infinity:DTYPE\n",
                                 fmt::join(kNames, " "));
  for (const auto& [name, differ] : kVariants) text += fmt::format("{}\n", differ);
  return text;
}

std::string bits_answer(std::string_view line, Float8Overflow overflow) {
  constexpr std::string_view kForm =
      "a line must be an operation, a type and operands, op<TAB>dtype<TAB>in,in: "
      "add<TAB>float32<TAB>3f800000,40000000";
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t first = line.find('\t');
  if (first == std::string_view::npos) throw ParseError(std::string(kForm));
  const std::size_t second = line.find('\t', first + 1);
  // Only a sum has no operands; then nothing needs to follow the type.
  const std::string_view op = line.substr(0, first);
  const DType dtype = parse_dtype(line.substr(first + 1, second - first - 1));
  std::string_view rest = second == std::string_view::npos ? "" : line.substr(second + 1);
  if (rest.find('\t') != std::string_view::npos) throw ParseError(std::string(kForm));
  std::vector<Scalar> operands;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const bool condition = operands.empty() && lower_case(op) == kWhere;
    operands.push_back(read_operand(condition ? DType::Bool : dtype, rest.substr(0, comma)));
    if (comma + 1 == rest.size()) throw ParseError("an operand is missing after the last comma");
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  std::string text;
  for (const Scalar& answer : scalar_answers(op, dtype, operands, overflow))
    text += (text.empty() ? "" : "|") + written(answer);
  return text.empty() ? "undef" : text;
}

}  // namespace touchstone
