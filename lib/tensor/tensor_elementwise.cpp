#include <limits>
#include <numbers>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone {

Tensor mlops::real(const Tensor& x) { return x.cast(real_type(x)); }
DType mlops::real_type(const Tensor& x) { return is_float(x.dtype()) ? x.dtype() : DType::Float32; }
Tensor mlops::wide(const Tensor& x) {
  return is_float(x.dtype()) && itemsize(x.dtype()) >= itemsize(DType::Float32)
             ? x
             : x.cast(DType::Float32);
}

namespace {

using mlops::Binary;
using mlops::Unary;

Tensor unary(Unary op, const Tensor& x) { return mlops::apply(op, mlops::real(x)); }

std::pair<Tensor, Tensor> matched(const Tensor& a, const Tensor& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  const Shape shape = broadcast_shape(a.shape(), b.shape());
  return {a.cast(dtype).expand(shape), b.cast(dtype).expand(shape)};
}

Tensor binary(Binary op, const Tensor& a, const Tensor& b) {
  const auto [x, y] = matched(a, b);
  return mlops::apply(op, x, y);
}

Tensor of_reals(Binary op, const Tensor& a, const Tensor& b) {
  const auto [x, y] = matched(a, b);
  return mlops::apply(op, mlops::real(x), mlops::real(y));
}

Tensor plain(Op op, const Tensor& a, const Tensor& b) {  // no gradient
  const auto [x, y] = matched(a, b);
  return Tensor(LazyBuffer::e(op, {x.lazy(), y.lazy()}));
}

Tensor either(const Tensor& a, const Tensor& b) { return plain(Op::Max, a, b); }  // of bools

// The number as a constant of the shape of `x`.
Tensor beside(const Tensor& x, const Number& number) {
  return Tensor::full(x.shape(), number, {number.dtype_with(x.dtype()), x.device()});
}

}  // namespace

Shape broadcast_shape(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape both(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const sint x = i < a.size() ? a[a.size() - 1 - i] : sint(1);
    const sint y = i < b.size() ? b[b.size() - 1 - i] : sint(1);
    if (x != y && x != sint(1) && y != sint(1))
      throw ShapeError(
          fmt::format("shapes {} and {} do not broadcast: sizes {} and {} of axis {} "
                      "from the right differ and neither is 1; reshape, expand or "
                      "transpose one",
                      str(a), str(b), x.str(), y.str(), i + 1));
    both[rank - 1 - i] = x == sint(1) ? y : x;
  }
  return both;
}

Tensor operator+(const Tensor& a, const Tensor& b) { return binary(Binary::Add, a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return binary(Binary::Sub, a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return binary(Binary::Mul, a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return binary(Binary::Div, a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return plain(Op::CmpLt, a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return plain(Op::CmpLt, b, a); }
Tensor operator==(const Tensor& a, const Tensor& b) { return plain(Op::CmpEq, a, b); }
// The negated opposite would be true for NaN.
Tensor operator<=(const Tensor& a, const Tensor& b) { return either(a < b, a == b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return either(b < a, a == b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return -(a == b); }
Tensor maximum(const Tensor& a, const Tensor& b) {
  const OriginScope origin("maximum");
  return binary(Binary::Max, a, b);
}
Tensor atan2(const Tensor& y, const Tensor& x) { return of_reals(Binary::Atan2, y, x); }
Tensor hypot(const Tensor& x, const Tensor& y) { return of_reals(Binary::Hypot, x, y); }
Tensor minimum(const Tensor& a, const Tensor& b) {
  const OriginScope origin("minimum");
  const DType dtype = promote(a.dtype(), b.dtype());
  if (is_float(dtype)) return -maximum(-a.cast(dtype), -b.cast(dtype));
  // ~x reverses the order of integers; -x overflows for the least one.
  const Tensor ones = is_bool(dtype) ? Tensor::full({}, true, {dtype, a.device()})
                                     : Tensor::full({}, -1, {dtype, a.device()});
  return plain(Op::Xor, maximum(plain(Op::Xor, a, ones), plain(Op::Xor, b, ones)), ones);
}
Tensor mod(const Tensor& a, const Tensor& b) {
  const OriginScope origin("mod");
  return plain(Op::Mod, a, b);
}

namespace {

// The common dtype of a and b, which have bits.
DType of_bits(const char* what, const Tensor& a, const Tensor& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  if (is_float(dtype))
    throw DTypeError(fmt::format("{}: {} and {}: bits of integers and bool only; cast them", what,
                                 name(a.dtype()), name(b.dtype())));
  return dtype;
}

// The quotient rounded down and its remainder, of one shape and dtype.
struct Division {
  Tensor quotient, rest;
};
Division divided(const Tensor& a, const Tensor& b) {
  const auto [x, y] = matched(a.detach(), b.detach());
  if (is_bool(x.dtype())) return divided(x.cast(DType::Int8), y.cast(DType::Int8));
  if (is_float(x.dtype()) && itemsize(x.dtype()) < itemsize(DType::Float32)) {
    const auto [quotient, rest] = divided(mlops::wide(x), mlops::wide(y));
    return {quotient.cast(x.dtype()), rest.cast(x.dtype())};
  }
  const Tensor rest = plain(Op::Mod, x, y);
  const Tensor other_side = minimum(maximum(rest<0, rest> 0), (rest < 0) != (y < 0));
  const Tensor above = Tensor::where(other_side, rest + y, rest);
  if (!is_float(x.dtype())) return {Tensor::where(other_side, x / y - 1, x / y), above};
  const Tensor of_infinity = (x - x) - other_side.cast(x.dtype());  // NaN, 0 or -1
  return {Tensor::where(y == 0, x / y,
                        Tensor::where(y.isinf(), of_infinity, ((x - above) / y).round())),
          above};
}

}  // namespace

Tensor floor_div(const Tensor& a, const Tensor& b) {
  const OriginScope origin("floor_div");
  return divided(a, b).quotient;
}
Tensor remainder(const Tensor& a, const Tensor& b) {
  const OriginScope origin("remainder");
  const auto [quotient, rest] = divided(a, b);
  Tensor out = rest;
  if (a.requires_grad()) out = out + (a - a.detach());
  if (b.requires_grad()) {  // an infinity less itself, or times 0, is NaN
    const Tensor finite = Tensor::where(b.detach().isinf(), 0, b);
    const Tensor times = Tensor::where(quotient.isinf(), 0, quotient);
    out = out - times * (finite - finite.detach());
  }
  return out;
}

Tensor operator^(const Tensor& a, const Tensor& b) {
  const OriginScope origin("xor");
  (void)of_bits("^", a, b);
  return plain(Op::Xor, a, b);
}
Tensor operator&(const Tensor& a, const Tensor& b) {
  const OriginScope origin("and");
  const DType dtype = of_bits("&", a, b);
  if (is_bool(dtype)) return minimum(a, b);
  // a + b = (a ^ b) + 2 (a & b), in a type where the sum does not overflow.
  const auto both = [](const Tensor& x, const Tensor& y) { return (x + y - (x ^ y)) / 2; };
  if (itemsize(dtype) < 8) return both(a.cast(DType::Int64), b.cast(DType::Int64)).cast(dtype);
  const std::int64_t half = std::int64_t{1} << 32;
  const auto [x, y] = matched(a, b);
  const Tensor high_x = touchstone::floor_div(x, half), high_y = touchstone::floor_div(y, half);
  return both(high_x, high_y) * half + both(x - high_x * half, y - high_y * half);
}
Tensor operator|(const Tensor& a, const Tensor& b) {
  const OriginScope origin("or");
  return is_bool(of_bits("|", a, b)) ? maximum(a, b) : (a ^ b) ^ (a & b);
}

Tensor operator&(const Tensor& a, Number b) { return a & beside(a, b); }
Tensor operator|(const Tensor& a, Number b) { return a | beside(a, b); }
Tensor floor_div(const Tensor& a, Number b) { return floor_div(a, beside(a, b)); }
Tensor floor_div(Number a, const Tensor& b) { return floor_div(beside(b, a), b); }
Tensor remainder(const Tensor& a, Number b) { return remainder(a, beside(a, b)); }
Tensor remainder(Number a, const Tensor& b) { return remainder(beside(b, a), b); }
Tensor operator^(const Tensor& a, Number b) { return a ^ beside(a, b); }
Tensor operator^(Number a, const Tensor& b) { return beside(b, a) ^ b; }
Tensor pow(Number a, const Tensor& b) { return pow(beside(b, a), b); }
Tensor Tensor::pow(int exponent) const { return touchstone::pow(*this, exponent); }
Tensor Tensor::pow(double exponent) const { return touchstone::pow(*this, exponent); }
Tensor operator+(const Tensor& a, Number b) { return a + beside(a, b); }
Tensor operator+(Number a, const Tensor& b) { return beside(b, a) + b; }
Tensor operator-(const Tensor& a, Number b) { return a - beside(a, b); }
Tensor operator-(Number a, const Tensor& b) { return beside(b, a) - b; }
Tensor operator*(const Tensor& a, Number b) { return a * beside(a, b); }
Tensor operator*(Number a, const Tensor& b) { return beside(b, a) * b; }
Tensor operator/(const Tensor& a, Number b) { return a / beside(a, b); }
Tensor operator/(Number a, const Tensor& b) { return beside(b, a) / b; }
Tensor operator<(const Tensor& a, Number b) { return a < beside(a, b); }
Tensor operator<=(const Tensor& a, Number b) { return a <= beside(a, b); }
Tensor operator>(const Tensor& a, Number b) { return a > beside(a, b); }
Tensor operator>=(const Tensor& a, Number b) { return a >= beside(a, b); }
Tensor operator==(const Tensor& a, Number b) { return a == beside(a, b); }
Tensor operator!=(const Tensor& a, Number b) { return a != beside(a, b); }
Tensor maximum(const Tensor& a, Number b) { return maximum(a, beside(a, b)); }
Tensor minimum(const Tensor& a, Number b) { return minimum(a, beside(a, b)); }
Tensor mod(const Tensor& a, Number b) { return mod(a, beside(a, b)); }

Tensor Tensor::operator-() const { return mlops::apply(Unary::Neg, *this); }
Tensor Tensor::exp() const { return unary(Unary::Exp, *this); }
Tensor Tensor::exp2() const { return unary(Unary::Exp2, *this); }
Tensor Tensor::log() const { return unary(Unary::Log, *this); }
Tensor Tensor::log2() const { return unary(Unary::Log2, *this); }
Tensor Tensor::sin() const { return unary(Unary::Sin, *this); }
Tensor Tensor::sqrt() const { return unary(Unary::Sqrt, *this); }
Tensor Tensor::rsqrt() const { return unary(Unary::Rsqrt, *this); }
Tensor Tensor::reciprocal() const { return unary(Unary::Recip, *this); }
Tensor Tensor::relu() const { return mlops::apply(Unary::Relu, *this); }
Tensor Tensor::sigmoid() const { return unary(Unary::Sigmoid, *this); }
Tensor Tensor::tanh() const { return unary(Unary::Tanh, *this); }
Tensor Tensor::erf() const { return unary(Unary::Erf, *this); }
Tensor Tensor::erfc() const { return unary(Unary::Erfc, *this); }
Tensor Tensor::log10() const { return unary(Unary::Log10, *this); }
Tensor Tensor::log1p() const { return unary(Unary::Log1p, *this); }
Tensor Tensor::expm1() const { return unary(Unary::Expm1, *this); }
Tensor Tensor::cos() const { return unary(Unary::Cos, *this); }
Tensor Tensor::tan() const { return unary(Unary::Tan, *this); }
Tensor Tensor::asin() const { return unary(Unary::Asin, *this); }
Tensor Tensor::acos() const { return unary(Unary::Acos, *this); }
Tensor Tensor::atan() const { return unary(Unary::Atan, *this); }
Tensor Tensor::sinh() const { return unary(Unary::Sinh, *this); }
Tensor Tensor::cosh() const { return unary(Unary::Cosh, *this); }
Tensor Tensor::asinh() const { return unary(Unary::Asinh, *this); }
Tensor Tensor::acosh() const { return unary(Unary::Acosh, *this); }
Tensor Tensor::atanh() const { return unary(Unary::Atanh, *this); }
Tensor Tensor::cbrt() const { return unary(Unary::Cbrt, *this); }
Tensor Tensor::lgamma() const { return unary(Unary::Lgamma, *this); }
Tensor Tensor::digamma() const { return unary(Unary::Digamma, *this); }
Tensor Tensor::erfinv() const { return unary(Unary::Erfinv, *this); }
Tensor Tensor::softplus() const { return unary(Unary::Softplus, *this); }
Tensor Tensor::silu() const { return unary(Unary::Silu, *this); }
Tensor Tensor::gelu(GeluForm form) const {
  return unary(form == GeluForm::Erf ? Unary::Gelu : Unary::GeluTanh, *this);
}

Tensor Tensor::abs() const {
  const OriginScope origin("abs");
  if (is_bool(dtype()) || is_unsigned(dtype())) return *this;
  if (!is_float(dtype())) return where(*this < 0, -*this, *this);  // the least integer stays
  return relu() + (-*this).relu();  // 0 for -0.0, with a gradient of 0
}

Tensor Tensor::square() const { return mlops::apply(Unary::Square, *this); }

Tensor Tensor::logical_not() const {
  const OriginScope origin("logical_not");
  return *this == 0;
}

Tensor Tensor::where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const OriginScope origin("where");
  const Tensor bools = is_bool(condition.dtype()) ? condition : condition != 0;
  const auto [x, y] = matched(a, b);
  const Shape shape = broadcast_shape(bools.shape(), x.shape());
  return apply<mlops::Where>({bools.expand(shape), x.expand(shape), y.expand(shape)});
}

Tensor Tensor::where(const Tensor& condition, const Tensor& a, Number b) {
  return where(condition, a, full({}, b, {b.dtype_with(a.dtype()), a.device()}));
}
Tensor Tensor::where(const Tensor& condition, Number a, const Tensor& b) {
  return where(condition, full({}, a, {a.dtype_with(b.dtype()), b.device()}), b);
}
Tensor Tensor::where(const Tensor& condition, Number a, Number b) {
  const DType dtype = promote(a.dtype_with(DType::Bool), b.dtype_with(DType::Bool));
  return where(condition, full({}, a, {dtype, condition.device()}),
               full({}, b, {dtype, condition.device()}));
}

Tensor Tensor::sequential(
    const std::vector<std::function<Tensor(const Tensor&)>>& functions) const {
  Tensor x = *this;
  for (const auto& f : functions) x = f(x);
  return x;
}

}  // namespace touchstone
