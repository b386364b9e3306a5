// Numbers of few bits with scales, each for an array, a channel or a block.
#include <algorithm>
#include <cmath>

#include "touchstone/base/error.h"
#include "touchstone/define/library.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

void require_float_operand(const Array& x, std::string_view what, std::string_view of) {
  if (!x.is_number() && !is_float(x.dtype()))
    throw DTypeError(
        fmt::format("{}: {} must be floats, not {}; cast first", what, of, name(x.dtype())));
}

void require_whole(const std::optional<Array>& zero, std::string_view what) {
  if (zero && !zero->is_number() && !is_integer(zero->dtype()) &&
      !(is_float(zero->dtype()) && itemsize(zero->dtype()) == 1))
    throw DTypeError(
        fmt::format("{}: zero points must be integers or 8-bit floats, not {}; cast "
                    "first",
                    what, name(zero->dtype())));
}

// A scale or zero point beside x: a scalar, one for each place on the axis, or one for each block.
Array scales_of(const Array& value, const Array& x, const Blocks& blocks, std::string_view what) {
  if (value.rank() == 0) return value;
  if (value.shape() == Sizes{1} && blocks.size == 0) return value.reshape({});
  const auto at = static_cast<std::size_t>(axis_of(x, blocks.axis));
  const std::int64_t n = x.shape()[at];
  const std::int64_t block = std::min(blocks.size, std::max<std::int64_t>(n, 1));
  Sizes wanted = blocks.size == 0 ? Sizes{n} : x.shape();
  if (blocks.size > 0) wanted[at] = ceil_div(n, block);
  if (blocks.size < 0 || value.shape() != wanted)
    throw ShapeError(fmt::format(
        "{}: scales of shape {} for x {} along axis {}{}; expected one number or {}", what,
        str(value.shape()), str(x.shape()), at,
        blocks.size == 0 ? "" : fmt::format(" in blocks of {}", blocks.size), str(wanted)));
  if (blocks.size == 0) {
    Sizes shape(x.shape().size(), 1);
    shape[at] = n;
    return value.reshape(shape);
  }
  Pairs keep = whole_ranges(x.shape());
  return repeat(value, block, static_cast<int>(at)).shrink(keep);
}

// round(x / scale) + zero within [low, high], as a float.
Array levels(const Array& x, const Array& scale, const std::optional<Array>& zero, double low,
             double high, bool rounds, const Way& way) {
  Array q = way.reciprocal ? x * Array::apply(Op::Recip, {scale}) : x / scale;
  if (rounds) q = Array::call(NamedFunction::Round, {q});
  q = wide(q);
  if (zero) q = q + zero->cast(q.dtype());
  return maximum(minimum(q, Array(high)), Array(low));
}

}  // namespace

Array quantize(const Array& x, const Array& scale, const std::optional<Array>& zero,
               std::optional<DType> type, const Blocks& blocks, const Way& way) {
  require_float_operand(x, "quantize", "x");
  require_float_operand(scale, "quantize", "scales");
  require_whole(zero, "quantize");
  const DType to = type.value_or(zero && !zero->is_number() ? zero->dtype() : DType::UInt8);
  if (is_narrow(x, way) || is_narrow(scale, way))
    return quantize(wide(x), wide(scale), zero, to, blocks, way);
  if (is_bool(to) || itemsize(to) > (is_float(to) ? 1 : 2))
    throw DTypeError(
        fmt::format("quantize: to {}; expected an integer of 8 or 16 bits or an 8-bit "
                    "float",
                    name(to)));
  const DTypeInfo& row = info(to);
  const int bits = 8 * row.itemsize;
  const double most = row.infinities
                          ? std::ldexp(2 - std::ldexp(1.0, 1 - row.digits), row.max_exponent)
                      : is_float(to) ? Scalar::parse(to, "inf").to_double()
                                     : std::ldexp(1.0, is_unsigned(to) ? bits : bits - 1) - 1;
  const double least = is_float(to) ? -most : is_unsigned(to) ? 0 : -most - 1;
  const auto point = zero ? std::optional(scales_of(*zero, x, blocks, "quantize")) : std::nullopt;
  return levels(x, scales_of(scale, x, blocks, "quantize"), point, least, most, !is_float(to), way)
      .cast(to);
}

Array fake_quantize(const Array& x, const Array& scale, const std::optional<Array>& zero,
                    std::int64_t least, std::int64_t most, const Blocks& blocks, const Way& way) {
  require_float_operand(x, "fake_quantize", "x");
  require_float_operand(scale, "fake_quantize", "scales");
  require_whole(zero, "fake_quantize");
  if (is_narrow(x, way))
    return narrowed(fake_quantize(wide(x), wide(scale), zero, least, most, blocks, way), x.dtype());
  constexpr std::int64_t kLimit = std::int64_t{1} << 16;  // so that levels are exact
  if (least > most || least < -kLimit || most > kLimit)
    throw ShapeError(
        fmt::format("fake_quantize: levels {} to {}; expected quant_min <= quant_max "
                    "within [-65536, 65536]",
                    least, most));
  const Array s = scales_of(scale, x, blocks, "fake_quantize");
  const auto point =
      zero ? std::optional(scales_of(*zero, x, blocks, "fake_quantize")) : std::nullopt;
  const Array q =
      levels(x, s, point, static_cast<double>(least), static_cast<double>(most), true, way);
  return (point ? q - point->cast(q.dtype()) : q) * s;
}

Array dequantize(const Array& x, const Array& scale, const std::optional<Array>& zero,
                 const Blocks& blocks) {
  require_float_operand(scale, "dequantize", "scales");
  if (is_narrow(scale)) return narrowed(dequantize(x, wide(scale), zero, blocks), scale.dtype());
  const Array s = scales_of(scale, x, blocks, "dequantize");
  if (!zero) return x.cast(scale.dtype()) * s;
  require_whole(zero, "dequantize");
  const bool whole = is_integer(x.dtype()) && (zero->is_number() || is_integer(zero->dtype()));
  const DType type = whole ? DType::Int64 : scale.dtype();
  const Array point = scales_of(*zero, x, blocks, "dequantize");
  return (x.cast(type) - point.cast(type)).cast(scale.dtype()) * s;
}

Array dequantize_ggml(const Array& q, const std::optional<Array>& scale, int bits) {
  const std::string what = fmt::format("dequantize_q{}_0", bits);
  const std::int64_t bytes = std::int64_t{4} * bits, whole = scale ? bytes : bytes + 2;
  const bool is_signed = bits == 8 && scale;
  if (q.dtype() != (is_signed ? DType::Int8 : DType::UInt8))
    throw DTypeError(fmt::format("{}: the blocks have type {}; expected {}", what, name(q.dtype()),
                                 is_signed ? "int8 beside scales" : "uint8"));
  if (q.rank() == 0 || q.size(-1) % whole != 0)
    throw ShapeError(fmt::format("{}: the last axis of {} must hold whole blocks of {} bytes", what,
                                 str(q.shape()), whole));
  Sizes shape = q.shape();
  shape.back() /= whole;
  if (scale) {
    require_float_operand(*scale, what, "scales");
    if (scale->shape() != shape)
      throw ShapeError(fmt::format("{}: scales of shape {}; the blocks of {} take {}", what,
                                   str(scale->shape()), str(q.shape()), str(shape)));
  }
  shape.push_back(whole);
  const Array blocks = q.reshape(shape);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    Pairs keep = whole_ranges(blocks.shape());
    keep.back() = {begin, end};
    return blocks.shrink(keep);
  };
  shape.back() = 1;
  const auto high_byte = [&] { return part(1, 2).cast(DType::UInt16) * Array::number("256"); };
  const Array d = scale ? scale->reshape(shape)
                        : (part(0, 1).cast(DType::UInt16) + high_byte()).bitcast(DType::Float16);
  Array numbers = scale ? blocks : part(2, whole);
  if (bits == 8) {
    numbers = numbers.bitcast(DType::Int8);
  } else {  // the low digits of all bytes, then the high ones
    shape.back() = 1;
    shape.push_back(bytes);
    const Array packed = numbers.reshape(shape), sixteen = Array::number("16");
    const Array is_high = Array::constant(Scalar::of(true), {1, 1}).pad({{1, 0}, {0, 0}});
    const Array digits = where(is_high, packed / sixteen, Array::apply(Op::Mod, {packed, sixteen}));
    shape.pop_back();
    shape.back() = 32;
    numbers = digits.reshape(shape).cast(DType::Int32) - Array::number("8");
  }
  shape.pop_back();
  const DType type = is_narrow(d) ? DType::Float32 : d.dtype();
  shape.back() = checked_mul(shape.back(), 32);
  return (numbers.cast(type) * d.cast(type)).reshape(shape);
}

}  // namespace touchstone::define
