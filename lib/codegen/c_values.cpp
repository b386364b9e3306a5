#include "touchstone/codegen/c_values.h"

#include <array>
#include <cmath>

#include "touchstone/codegen/c_functions.h"
#include "touchstone/codegen/c_ops.h"
#include "touchstone/codegen/text.h"

namespace touchstone::codegen {

namespace {

constexpr std::size_t kMostOperands = 3;

constexpr bool is_narrow(DType d) { return is_float(d) && itemsize(d) <= 2; }

template <class... Pieces>
CText call(const CText& x, const Pieces&... function) {
  return {joined(function..., "(", x.text, ")"), true};
}

bool is_call(std::string_view text) {
  return !text.empty() && text.back() == ')' && text.front() >= 'a' && text.front() <= 'z';
}

void append_operand(std::string& out, const CText& x) {
  if (x.atom)
    out += x.text;
  else
    append_all(out, "(", x.text, ")");
}

// Replaces "$a" and so on in the text.
std::string filled(std::string_view text, DType type, COperands src) {
  const bool arguments = is_call(text);
  std::string out;
  for (;;) {
    const std::size_t next = text.find('$');
    out += text.substr(0, next);
    if (next == std::string_view::npos) return out;
    const char what = text[next + 1];
    text.remove_prefix(next + 2);
    switch (what) {
      case 't': out += c_type(type); break;
      case 'u': out += itemsize(type) == 8 ? "u64" : "u32"; break;
      case 'm': out += type == DType::Float32 ? "f" : ""; break;
      default: {
        const CText& operand = *src[static_cast<std::size_t>(what - 'a')];
        if (arguments)
          out += operand.text;
        else
          append_operand(out, operand);
      }
    }
  }
}

CText in_type(std::string_view text, DType type, COperands src) {
  return {filled(text, type, src), is_call(text)};
}

// For float32 and float64.
std::string_view float_text(const COp& row, DType type, MathLevel math) {
  const std::string_view call = c_function_call(row.op, type, math);
  return call.empty() ? row.floats : call;
}

// An op on a narrow float: widens the operands and rounds the result back.
CText narrow_alu(const COp& row, DType type, MathLevel math, COperands src) {
  if (row.op == Op::Neg)
    return {filled(itemsize(type) == 1 ? "($t)($a ^ 0x80u)" : "($t)($a ^ 0x8000u)", type, src),
            false};
  if (row.narrow == Narrow::Bits) return in_type(row.floats, type, src);
  const bool nearest = math == MathLevel::CorrectlyRounded && is_function(row.op);
  const DType wide = nearest || (row.narrow == Narrow::Double && type == DType::BFloat16)
                         ? DType::Float64
                         : DType::Float32;
  std::array<CText, kMostOperands> widened;
  std::array<const CText*, kMostOperands> operands{};
  for (std::size_t i = 0; i < src.size(); ++i) {
    widened[i] = c_cast(type, DType::Float32, *src[i]);
    if (wide == DType::Float64) widened[i] = {"(f64)" + widened[i].text, false};
    operands[i] = &widened[i];
  }
  const CText result = in_type(float_text(row, wide, nearest ? MathLevel::OneUlp : math), wide,
                               COperands(operands).first(src.size()));
  const bool compares = row.op == Op::CmpLt || row.op == Op::CmpEq;
  return compares ? result : c_cast(wide, type, result);
}

std::string float_literal(double value, const char* suffix) {
  return fmt::format("{:a}{}", std::fabs(value), suffix);
}

}  // namespace

CText c_constant(const Scalar& value) {
  const DType d = value.dtype();
  const auto finish = [](std::string text, bool negative) -> CText {
    return negative ? CText{"(-" + text + ")", true} : CText{std::move(text), true};
  };
  if (is_narrow(d))
    return {fmt::format("(({}){:#0{}x}u)", c_type(d), value.bits(), 2 + 2 * itemsize(d)), true};
  if (is_float(d)) {
    const bool wide = d == DType::Float64;
    if (!std::isfinite(value.to_double()))
      return {wide ? fmt::format("f64_bits({:#x}ull)", value.bits())
                   : fmt::format("f32_bits({:#x}u)", value.bits()),
              true};
    return finish(float_literal(value.to_double(), wide ? "" : "f"),
                  std::signbit(value.to_double()));
  }
  if (is_unsigned(d))
    return {fmt::format("{}{}", value.bits(), itemsize(d) == 8 ? "ull" : "u"), true};
  const std::int64_t v = value.to_int64();
  if (v == INT64_MIN) return {"(-9223372036854775807 - 1)", true};
  return finish(fmt::format("{}", v < 0 ? -v : v), v < 0);
}

CText c_cast(DType from, DType to, const CText& x) {
  if (from == to) return x;
  if (is_narrow(from)) return c_cast(DType::Float32, to, call(x, c_type(from), "_to_f32"));
  if (is_bool(to)) return {x.operand() + " != 0", false};
  if (is_narrow(to)) {
    const std::string_view t = c_type(to);
    if (is_float(from)) return call(x, c_type(from), "_to_", t);
    if (itemsize(from) <= 2) return call({"(f32)" + x.operand(), false}, "f32_to_", t);
    // Except for bfloat16, values that a double cannot hold are out of range anyway.
    if (itemsize(from) == 8 && to == DType::BFloat16) return call(x, c_type(from), "_to_bf16");
    return call({"(f64)" + x.operand(), false}, "f64_to_", t);
  }
  if (is_float(from) && is_integer(to)) return call(x, c_type(from), "_to_", c_type(to));
  return {joined("(", c_type(to), ")", x.operand()), false};
}

CText c_bitcast(DType from, DType to, const CText& x) {
  if (from == to) return x;
  const bool from_float = is_float(from) && !is_narrow(from);
  const bool to_float = is_float(to) && !is_narrow(to);
  if (to_float)
    return call({joined("(", itemsize(to) == 8 ? "u64" : "u32", ")", x.operand()), false},
                itemsize(to) == 8 ? "f64_bits" : "f32_bits");
  const CText raw = from_float ? call(x, itemsize(from) == 8 ? "bits_f64" : "bits_f32") : x;
  if (is_bool(to)) return {raw.operand() + " != 0", false};
  return {joined("(", c_type(to), ")", raw.operand()), false};
}

CText c_alu(Op op, DType type, MathLevel math, COperands src) {
  const COp& row = c_for_op[static_cast<std::size_t>(op)];
  if (is_narrow(type)) return narrow_alu(row, type, math, src);
  return in_type(is_float(type)  ? float_text(row, type, math)
                 : is_bool(type) ? row.booleans
                                 : row.integers,
                 type, src);
}

CText c_alu(const LinearStep& u, DType type, MathLevel math, COperands src) {
  const Op op = std::get<Op>(u.arg);
  if (op != Op::Function) return c_alu(op, type, math, src);
  const DType in = type == DType::Float64 ? type : DType::Float32;
  const CText x = c_cast(type, in, *src.front()), y = c_cast(type, in, *src.back());
  const CText* const operands[] = {&x, &y};
  return c_cast(in, type, in_type(c_function_call(u.function, type, math), in, operands));
}

CText c_index(IndexOp op, COperands src) {
  return in_type(c_for_index_op[static_cast<std::size_t>(op)].text, DType::Int64, src);
}

}  // namespace touchstone::codegen
