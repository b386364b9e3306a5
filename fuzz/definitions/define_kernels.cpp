// The definitions of `touchstone kernel --list`: calls of the functions of the tensor library, and
// loops for those that it does not have or has otherwise.
#include <algorithm>
#include <optional>

#include "touchstone/base/error.h"
#include "touchstone/define/definitions.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/given_arrays.h"

namespace touchstone::fuzz::defined {

namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

// "2", or the digit of a function's name for "d".
std::int64_t axes_of(std::string_view text, const std::string& name) {
  return text == "d" ? name.at(name.find_first_of("123")) - '0' : number(text);
}

// What stands for `{name...}` in the calls of a row; nothing to leave the argument out.
std::optional<std::string> replacement(std::string_view part, const GivenArrays& g) {
  const std::size_t end = part.find_first_of(":*?-");
  const std::string_view name = part.substr(0, end);
  if (name == "name")
    return g.call.name.substr(0,
                              g.call.name.size() - (end == part.npos ? 0 : part.size() - end - 1));
  if (const Array* array = g.find(name)) return std::string(touchstone::name(array->dtype));
  const std::optional<std::string_view> given = g.call.arg(name);
  if (!given || *given == "own") return std::nullopt;
  std::string value(*given);
  // Fractions have the type of floats, float32 at least.
  const bool is_wide = !g.arrays.empty() && g.arrays[0].second.dtype == DType::Float64;
  if (!is_wide && value.find_first_of(".") != value.npos)
    value =
        Scalar::from_double(DType::Float64, Scalar::parse(DType::Float32, value).to_double()).str();
  const char what = end == part.npos ? ' ' : part[end];
  if (what == '?') return value == "0" ? std::nullopt : std::optional(value);
  if (what == ':') return std::string(split(part.substr(end + 1), ',').at(value == "0" ? 0 : 1));
  if (what == '*' && value.find(',') == value.npos)
    for (std::int64_t n = axes_of(part.substr(end + 1), g.call.name); n > 1; --n)
      value += "," + std::string(*given);
  if (value != "all") return value;
  Sizes all(g.arrays.at(0).second.shape.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return listed(all);
}

std::string filled(std::string_view calls, const GivenArrays& g) {
  std::string out;
  for (std::size_t at = 0; at < calls.size();) {
    if (calls[at] != '{') {
      out += calls[at++];
      continue;
    }
    const std::size_t end = calls.find('}', at);
    const auto value = replacement(calls.substr(at + 1, end - at - 1), g);
    at = end + 1;
    if (value)
      out += *value;
    else
      out.erase(out.rfind(' '));
  }
  return out;
}

// Elements of x, or of x and y in their common type, to numbers of that type.
template <Near (*F)(const Near& a, const Near& b, DType t)>
Array of_two(const GivenArrays& g) {
  const DType t = promote(g["x"].dtype, g["y"].dtype);
  const Array a = cast_to(t, g["x"]), b = cast_to(t, g["y"]);
  const Rounding of(t);
  return taken(a, broadcast(a.shape, b.shape), [&](const Sizes& at) {
    return F(a[within(at, a.shape)], b[within(at, b.shape)], t);
  });
}
template <Near (*F)(const Near& x, DType t)>
Array of_one(const GivenArrays& g) {
  const Array& x = g["x"];
  return taken(x, x.shape, [&](const Sizes& at) { return F(x[at], x.dtype); });
}

// ---- bits, quotients and neighbours

int bits_of(DType t) { return is_bool(t) ? 1 : 8 * static_cast<int>(itemsize(t)); }
WideBits mask_of(DType t) { return (WideBits{1} << bits_of(t)) - 1; }
WideBits pattern(const Near& x, DType t) {
  return static_cast<WideBits>(static_cast<Wide>(x.v)) & mask_of(t);
}
Near number_of(WideBits bits, DType t) {
  return as_type(t, Near(static_cast<Real>(bits & mask_of(t))));
}
Near bit_and(const Near& a, const Near& b, DType t) {
  return number_of(pattern(a, t) & pattern(b, t), t);
}
Near bit_or(const Near& a, const Near& b, DType t) {
  return number_of(pattern(a, t) | pattern(b, t), t);
}
template <bool kLeft, bool kLogical>
Near shifted(const Near& a, const Near& by, DType t) {
  const bool out = by.v < 0 || by.v >= bits_of(t);
  if (!kLeft && !kLogical && out) return a.v < 0 ? -1 : 0;
  if (out) return 0;
  const int n = static_cast<int>(by.v);
  if (kLeft) return number_of(pattern(a, t) << n, t);
  if (kLogical) return number_of(pattern(a, t) >> n, t);
  return std::floor(std::ldexp(a.v, -n));
}
Near bit_not(const Near& x, DType t) { return number_of(~pattern(x, t), t); }
Near popcount(const Near& x, DType t) {
  Real ones = 0;
  for (WideBits bits = pattern(x, t); bits != 0; bits >>= 1) ones += (bits & 1) != 0 ? 1 : 0;
  return ones;
}
Near clz(const Near& x, DType t) {
  int zeros = bits_of(t);
  for (WideBits bits = pattern(x, t); bits != 0; bits >>= 1) --zeros;
  return static_cast<Real>(zeros);
}
Near sign(const Near& x, DType) {
  return std::isnan(x.v) || x.v == 0 ? x : Near(std::copysign(Real{1}, x.v));
}
Near round_half_away(const Near& x, DType) { return std::round(x.v); }
Near copysign(const Near& x, const Near& y, DType) { return std::copysign(x.v, y.v); }
Array signbit(const GivenArrays& g) {
  return made(DType::Bool, g["x"].shape,
              [&](const Sizes& at) { return Near(std::signbit(g["x"][at].v)); });
}

// x = q y + r with a whole q, and r of y's sign.
Near remainder(const Near& x, const Near& y, DType t) {
  if (y.v == 0 && !is_float(t)) return anything();
  const Real r = is_float(t) ? std::fmod(x.v, y.v)
                             : static_cast<Real>(static_cast<Wide>(x.v) % static_cast<Wide>(y.v));
  if (std::isnan(r)) return r;
  if (r == 0) return is_float(t) ? std::copysign(Real{0}, y.v) : 0;
  if (std::signbit(r) == std::signbit(y.v)) return r;
  return is_float(t) && std::isfinite(y.v) ? rounded(r + y.v) : Near(r + y.v);
}
Near floor_div(const Near& x, const Near& y, DType t) {
  if (!is_float(t)) {
    if (y.v == 0) return anything();
    const Wide a = static_cast<Wide>(x.v), b = static_cast<Wide>(y.v);
    return as_type(t, Near(static_cast<Real>(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0))));
  }
  if (y.v == 0 && !std::isnan(x.v)) return x.v / y.v;
  if (std::isinf(x.v)) return std::numeric_limits<Real>::quiet_NaN();
  if (std::isinf(y.v) && x.v != 0 && !std::isnan(x.v) && std::signbit(x.v) != std::signbit(y.v))
    return -1;
  const Real q = std::floor(x.v / y.v);
  // Exact where the quotient in long double cannot round up to a whole number.
  if (std::isfinite(q) && std::fabs(q) > std::ldexp(Real{1}, info(t).digits - 3))
    return rounded(q, 0, 4);
  if (!std::isfinite(q) || q == 0) return q == 0 ? x.v / std::copysign(kInfinity, y.v) : q;
  const Real down = q * y.v == x.v || std::fma(q, y.v, -x.v) * (y.v > 0 ? 1 : -1) <= 0 ? 0 : 1;
  return q - down;
}
Near next_after(const Near& x, const Near& y, DType t) {
  if (std::isnan(x.v) || std::isnan(y.v)) return std::numeric_limits<Real>::quiet_NaN();
  if (x.v == y.v) return y.v;
  const int least = info(t).min_exponent, digits = info(t).digits;
  if (x.v == 0) return std::copysign(std::ldexp(Real{1}, least - digits + 1), y.v);
  const bool grows = (y.v > x.v) == (x.v > 0);
  if (std::isinf(x.v)) return info(t).infinities ? std::copysign(most_of(t), x.v) : anything();
  int exponent = std::max(std::ilogb(x.v), least);
  const Real power = std::ldexp(Real{1}, exponent);
  if (!grows && std::fabs(x.v) == power && exponent > least) --exponent;
  const Real step = std::ldexp(Real{1}, exponent - digits + 1);
  const Real next = std::fabs(x.v) + (grows ? step : -step);
  if (next > most_of(t)) return info(t).infinities ? std::copysign(kInfinity, x.v) : anything();
  return std::copysign(next, x.v);
}

// ---- positions

Array index_select(const GivenArrays& g) {
  return selected(g["x"], g["index"], g.axis(g["x"]), Outside::None);
}
Array gather(const GivenArrays& g) {
  want(g["table"].rank() == 2, "rows");
  return selected(g["table"], g["index"], 0, Outside::None, false);
}
// Places from the entries at the end of an index.
Sizes places(const Array& index, const Array& x, const Sizes& at, std::size_t first = 0) {
  Sizes to;
  for (std::int64_t k = 0; k < index.shape.back(); ++k)
    to.push_back(position(index, joined(at, {k}), x.shape[first + to.size()], Outside::None));
  return to;
}
Array gather_nd(const GivenArrays& g) {
  const Array &x = g["x"], &index = g["index"];
  const std::int64_t batches = g.call.whole("batch_dims", 0);
  want(batches < std::min(x.rank(), index.rank()) && index.shape.back() >= 1, "positions");
  const auto batch = static_cast<std::size_t>(batches), outer = index.shape.size() - 1,
             axes = batch + static_cast<std::size_t>(index.shape.back());
  want(axes <= x.shape.size() && head(x.shape, batch) == head(index.shape, batch), "batches");
  return moved(x, joined(head(index.shape, outer), tail(x.shape, axes)), [&](Sizes& at) {
    const Sizes entry = head(at, outer);
    at = joined(joined(head(at, batch), places(index, x, entry, batch)), tail(at, outer));
  });
}
// Where a part of x begins, moved so that it fits.
Sizes begin_of(const GivenArrays& g, const Sizes& part) {
  const Array &x = g["x"], &start = g["start"];
  want(start.shape == Sizes{x.rank()} && part.size() == x.shape.size(), "an entry for each axis");
  Sizes begin;
  for (std::size_t i = 0; i < part.size(); ++i) {
    want(part[i] >= 0 && part[i] <= x.shape[i], "a part that fits");
    begin.push_back(std::clamp<std::int64_t>(start.whole({static_cast<std::int64_t>(i)}), 0,
                                             x.shape[i] - part[i]));
  }
  return begin;
}
Sizes moved_by(Sizes at, const Sizes& by) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] += by[i];
  return at;
}
Array dynamic_slice(const GivenArrays& g) {
  const Sizes size = g.call.list("size"), begin = begin_of(g, size);
  return moved(g["x"], size, [&](Sizes& at) { at = moved_by(at, begin); });
}
Array dynamic_update_slice(const GivenArrays& g) {
  Array x = g["x"];
  const Array& updates = g["updates"];
  const Sizes begin = begin_of(g, updates.shape);
  each(updates.shape, [&](const Sizes& at) { x[moved_by(at, begin)] = updates[at]; });
  return x;
}
// Nothing is known of a row that is shorter than its length.
Array reverse_sequence(const GivenArrays& g) {
  const Array &x = g["x"], &lengths = g["lengths"];
  const std::size_t time = g.axis(x, "time_axis"), batch = g.axis(x, "batch_axis");
  want(time != batch && lengths.shape == Sizes{x.shape[batch]}, "a length for each row");
  return taken(x, x.shape, [&](Sizes at) {
    const std::int64_t n = lengths.whole({at[batch]});
    if (n > x.shape[time]) return anything();
    if (at[time] < n) at[time] = n - 1 - at[time];
    return x[at];
  });
}
Array searchsorted(const GivenArrays& g) {
  const Array &sorted = g["sorted"], &x = g["x"];
  want(sorted.rank() == 1 && sorted.dtype == x.dtype, "a row");
  const auto below = [](Real a, Real b) { return a < b || (!std::isnan(a) && std::isnan(b)); };
  return made(DType::Int64, x.shape, [&](const Sizes& at) {
    return Near(static_cast<Real>(std::ranges::count_if(sorted.cells, [&](const Near& s) {
      return g.is("right") ? !below(x[at].v, s.v) : below(s.v, x[at].v);
    })));
  });
}
Array hardmax(const GivenArrays& g) {
  const Array most = g.by("argmax axis={axis} keep=1");
  const std::size_t axis = g.axis(g["x"]);
  return made(g["x"].dtype, g["x"].shape, [&](const Sizes& at) {
    return Near(at[axis] == most.whole(within(at, most.shape)));
  });
}
Array take_along(const GivenArrays& g) {
  const Array &x = g["x"], &index = g["index"];
  const std::size_t axis = g.axis(x);
  want(index.rank() == x.rank(), "ranks");
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    want(i == axis || x.shape[i] == 1 || (index.shape[i] <= x.shape[i] && index.shape[i] != 1),
         "an index that fits");
  return selected_along(x, index, axis, Outside::None);
}

Array scatter(const GivenArrays& g) {
  const Array &x = g["x"], &index = g["index"], &updates = g["updates"];
  const std::size_t axis = g.axis(x);
  want(index.rank() == x.rank() && updates.rank() == x.rank() && updates.dtype == x.dtype, "ranks");
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    want(index.shape[i] <= updates.shape[i] && (i == axis || index.shape[i] <= x.shape[i]),
         "sizes");
  return combined(x, writes_along(x, index, updates, axis, Outside::None), g.word("reduce"));
}
// Whole rows of the last axes: `to` gives the front of a row's place.
Array rows_written(const Array& x, const Array& updates, std::size_t axes, std::string_view by,
                   const std::function<Sizes(const Sizes& at)>& to) {
  want(updates.dtype == x.dtype, "types that differ");
  std::vector<Write> writes;
  each(updates.shape, [&](const Sizes& at) {
    writes.push_back({joined(to(head(at, axes)), tail(at, axes)), updates[at]});
  });
  return combined(x, writes, by);
}
Array scatter_nd(const GivenArrays& g) {
  const Array &x = g["x"], &index = g["index"];
  want(index.rank() >= 1 && index.shape.back() >= 1 && index.shape.back() <= x.rank(), "positions");
  const std::size_t axes = index.shape.size() - 1;
  const auto taken_axes = static_cast<std::size_t>(index.shape.back());
  want(g["updates"].shape == joined(head(index.shape, axes), tail(x.shape, taken_axes)), "updates");
  return rows_written(x, g["updates"], axes, g.word("reduce"),
                      [&](const Sizes& at) { return places(index, x, at); });
}
Array index_add(const GivenArrays& g) {
  const auto axis = static_cast<int>(g.axis(g["x"]));
  const Array x = moved_axis(g["x"], axis, 0), updates = moved_axis(g["updates"], axis, 0);
  want(g["index"].shape == Sizes{updates.shape[0]} && x.rank() == updates.rank(), "positions");
  want(tail(x.shape, 1) == tail(updates.shape, 1), "rows");
  const auto to = [&](const Sizes& at) {
    return Sizes{position(g["index"], at, x.shape[0], Outside::None)};
  };
  return moved_axis(rows_written(x, updates, 1, "add", to), 0, axis);
}
Array segments(const GivenArrays& g) {
  const Array& x = g["x"];
  const std::string_view by = g.call.name.ends_with("sum")    ? "add"
                              : g.call.name.ends_with("prod") ? "mul"
                              : g.call.name.ends_with("max")  ? "max"
                                                              : "min";
  want(x.rank() >= 1 && g["index"].shape == Sizes{x.shape[0]}, "positions");
  const Sizes shape = joined({g.call.whole("segments", 1)}, tail(x.shape, 1));
  const Near none = reduced_to(by, x.dtype, {});
  const Array start = made(x.dtype, shape, [&](const Sizes&) { return none; });
  return rows_written(start, x, 1, by, [&](const Sizes& at) {
    return Sizes{position(g["index"], at, shape[0], Outside::None, false)};
  });
}
Array embedding_bag(const GivenArrays& g) {
  Array rows = gather(g);  // (bags, n, size)
  const Rounding of(rows.dtype);
  const std::string_view mode = g.word("mode");
  want(g["index"].rank() == 2 && is_integer(g["index"].dtype), "bags");
  if (const Array* w = g.find("w")) {
    want(mode == "sum" && w->shape == g["index"].shape, "weights of a sum");
    each(rows.shape, [&](const Sizes& at) { rows[at] = rows[at] * (*w)[{at[0], at[1]}]; });
  }
  return chained(rows.shape[1] == 0 ? "sum axes=1" : fmt::format("{} axes=1", mode), {rows});
}
// Of equal maxima the first, of NaN the last.
Array select_and_scatter(const GivenArrays& g) {
  const Array& x = g["x"];
  const Sizes size = g.call.list("size");
  Call pool;
  pool.name = "max_pool_index";
  for (const char* key : {"stride", "padding"}) pool.set(key, std::string(g.word(key)));
  pool.set("kernel", size);
  const Array places = define(pool, {x})[0];
  want(places.shape == g["gradient"].shape, "a gradient");
  const std::size_t lead = x.shape.size() - size.size();
  std::vector<Write> writes;
  each(places.shape, [&](const Sizes& at) {
    Sizes to = at;
    std::int64_t place = places.whole(at);
    for (std::size_t i = x.shape.size(); i-- > lead; place /= x.shape[i])
      to[i] = place % x.shape[i];
    writes.push_back({to, g["gradient"][at]});
  });
  return combined(made(g["gradient"].dtype, x.shape, [](const Sizes&) { return Near(); }), writes,
                  "add");
}

// ---- quantization

// The scale or zero point of an element.
Near scale_at(const GivenArrays& g, const Array& scale, const Array& x, Sizes at) {
  const std::int64_t block = g.call.whole("block", 0);
  if (scale.rank() == 0 || (scale.shape == Sizes{1} && block == 0)) return scale.cells[0];
  const std::size_t axis = g.axis(x);
  if (block == 0) at = {at[axis]};
  if (block > 0) at[axis] /= block;
  want(at.size() == scale.shape.size(), "a scale");
  for (std::size_t i = 0; i < at.size(); ++i) want(at[i] < scale.shape[i], "a scale");
  return scale[at];
}
Near zero_at(const GivenArrays& g, const Array& x, const Sizes& at) {
  const Array* zero = g.find("zero_point");
  return zero == nullptr ? Near(0) : scale_at(g, *zero, x, at);
}
DType wider(DType a, DType b) {
  return a == DType::Float64 || b == DType::Float64 ? DType::Float64 : DType::Float32;
}
// Nothing is known where the rounded quotient may be nearer to another whole number.
Near level(const GivenArrays& g, const Sizes& at, Real low, Real high, bool rounds) {
  const Array& x = g["x"];
  const Rounding of(wider(x.dtype, g["scale"].dtype));
  const Near q = x[at] / scale_at(g, g["scale"], x, at), zero = zero_at(g, x, at);
  if (std::isnan(q.v) || std::isinf(q.e)) return std::isinf(q.e) ? anything() : q;
  const Real whole = rounds ? std::nearbyint(q.v) : q.v;
  const bool is_open = rounds && std::fabs(q.v) < 1e6L &&
                       std::nearbyint(q.v - 2 * q.e) != std::nearbyint(q.v + 2 * q.e);
  if (is_open && q.v != std::floor(q.v) + 0.5L) return anything();
  return {std::clamp(whole + zero.v, low, high), rounds ? 0 : q.e};
}
Array quantize(const GivenArrays& g) {
  const DType to = parse_dtype(g.word("to"));
  const Rounding of(to);
  return made(to, g["x"].shape, [&](const Sizes& at) {
    const Near q = level(g, at, least_of(to), most_of(to), !is_float(to));
    return std::isnan(q.v) && !is_float(to) ? anything() : as_type(to, q);
  });
}
Array fake_quantize(const GivenArrays& g) {
  const Rounding of(g["x"].dtype);
  const auto low = static_cast<Real>(g.call.whole("quant_min", 0)),
             high = static_cast<Real>(g.call.whole("quant_max", 0));
  return made(g["x"].dtype, g["x"].shape, [&](const Sizes& at) {
    const Near q = level(g, at, low, high, true), z = zero_at(g, g["x"], at);
    return std::isinf(q.e) ? q : Near(q.v - z.v) * scale_at(g, g["scale"], g["x"], at);
  });
}
Array dequantize(const GivenArrays& g) {
  const Rounding of(g["scale"].dtype);
  return made(g["scale"].dtype, g["x"].shape, [&](const Sizes& at) {
    const Real x = g["x"][at].v - zero_at(g, g["x"], at).v;
    if (std::fabs(x) >= 9e18L) return anything();
    return rounded(x) * scale_at(g, g["scale"], g["x"], at);
  });
}
// Blocks of ggml: two bytes of a float16, then 32 numbers; of 4 bits the low halves come first.
template <int kBits>
Array dequantize_ggml(const GivenArrays& g) {
  const Array& q = g["q"];
  const Array* scale = g.find("scale");
  constexpr std::int64_t kBytes = 4 * kBits;
  const std::int64_t step = scale != nullptr ? kBytes : kBytes + 2;
  want(q.rank() >= 1 && q.shape.back() % step == 0, "whole blocks");
  want(q.dtype == (kBits == 8 && scale != nullptr ? DType::Int8 : DType::UInt8), "bytes");
  const DType dtype =
      scale != nullptr && scale->dtype == DType::Float64 ? scale->dtype : DType::Float32;
  const Rounding of(dtype);
  Sizes shape = q.shape;
  shape.back() = q.shape.back() / step;
  want(scale == nullptr || scale->shape == shape, "a scale for each block");
  shape.back() *= 32;
  return made(dtype, shape, [&](const Sizes& at) {
    Sizes from = at, block = at;
    block.back() = at.back() / 32;
    from.back() = block.back() * step;
    const auto byte = [&](std::int64_t i) {
      Sizes place = from;
      place.back() += i;
      return q.whole(place);
    };
    const std::int64_t i = at.back() % 32,
                       k = (scale != nullptr ? 0 : 2) + (kBits == 4 ? i % 16 : i);
    const std::int64_t code = byte(k);
    const Real n = static_cast<Real>(kBits == 8 ? (code > 127 ? code - 256 : code)
                                     : i < 16   ? code % 16 - 8
                                                : code / 16 - 8);
    if (scale != nullptr) return Near(n) * (*scale)[block];
    const auto bits = static_cast<std::uint64_t>(byte(0) + 256 * byte(1));
    return Near(n) * Near(Scalar::from_bits(DType::Float16, bits).to_double());
  });
}

// ---- products, rows, gates and losses

Array matmul(const GivenArrays& g) {
  Array x[2];
  for (const int i : {0, 1}) {
    const Array& a = g[i == 0 ? "a" : "b"];
    x[i] = g.is(i == 0 ? "transpose_a" : "transpose_b") ? moved_axis(a, a.rank() - 1, a.rank() - 2)
                                                        : a;
  }
  const DType type = promote(x[0].dtype, x[1].dtype);
  return cast_to(type, chained("matmul", {x[0], x[1]}));
}
// Fewer heads of keys and values, on the axis before the last two, are repeated.
Array with_heads(const Array& x, const Array& q) {
  if (x.rank() < 3 || q.rank() != x.rank()) return x;
  const std::size_t at = x.shape.size() - 3;
  if (x.shape[at] < 2 || q.shape[at] % x.shape[at] != 0) return x;
  return chained(fmt::format("repeat_interleave times={} axis={}", q.shape[at] / x.shape[at], at),
                 {x});
}
Array scores(const GivenArrays& g) {
  const Array* given = g.find("scale");
  const Array& q = g["q"];
  const Real usual = 1 / std::sqrt(static_cast<Real>(q.shape.back()));
  const Near scale = given != nullptr            ? given->cells[0]
                     : q.dtype == DType::Float64 ? Near(usual)
                                                 : Near(static_cast<float>(usual));
  return scores_of(q, with_heads(g["k"], q), g.find("mask"), g.is("causal"), &scale);
}
// Softmax, 0 in rows of -inf only if `empty` is zero.
Array weights_of(const GivenArrays& g, const Array& x, int axis) {
  Array out = softmax_of(x, axis, false);
  if (g.word("empty") != "zero") return out;
  const Array most = chained(fmt::format("max axes={} keep=1", axis), {x});
  each(out.shape, [&](const Sizes& at) {
    if (most[within(at, most.shape)].v == -kInfinity) out[at] = Near(0);
  });
  return out;
}
Array attention(const GivenArrays& g) {
  const Array x = scores(g), v = with_heads(g["v"], g["q"]);
  want(x.shape.back() > 0, "keys");
  Array weights = weights_of(g, x, x.rank() - 1);
  if (const Array* dropout = g.find("dropout")) weights = chained("operator*", {weights, *dropout});
  Array out = matmul_of(weights, v, g["q"].dtype);
  if (std::ranges::any_of(v.cells, [](const Near& cell) { return !std::isfinite(cell.v); }))
    for (Near& cell : out.cells) cell = anything();
  return out;
}
Array masked_softmax(const GivenArrays& g) {
  const bool adds = !is_bool(g["mask"].dtype);
  const Array x = g.by(adds ? "operator+ %0 %1" : "where b=-inf %1 %0");
  return weights_of(g, x, static_cast<int>(g.axis(x)));
}
Array clamp(const GivenArrays& g) {
  Array x = g["x"];
  if (const Array* low = g.find("low")) x = chained("maximum", {x, cast_to(x.dtype, *low)});
  if (const Array* high = g.find("high")) x = chained("minimum", {x, cast_to(x.dtype, *high)});
  return x;
}
Array prelu(const GivenArrays& g) {
  Array slope = g["slope"];
  if (slope.rank() == 1 && slope.shape[0] != 1) {
    want(g["x"].rank() >= 2, "channels");
    slope.shape.resize(g["x"].shape.size() - 1, 1);
  }
  return chained("operator* %0 %1; operator> number=0 %0; where $ %0 %2", {g["x"], slope});
}
// A function that goes to 0 faster than x to -inf.
Array with_limit(std::string_view f, const Array& x) {
  Array out = chained(f, {x});
  for (std::size_t i = 0; i < out.cells.size(); ++i)
    if (x.cells[i].v == -kInfinity) out.cells[i] = Near(0);
  return out;
}
Array selu(const GivenArrays& g) {
  if (g["x"].dtype == DType::Float64) return g.by("selu");
  Array out = g.by(fmt::format("elu alpha={}", 1.6732632423543772848F));
  for (Near& cell : out.cells) cell = cell * Near(1.0507009873554804934F);
  return out;
}
// f of one half times the other.
Array gated(const GivenArrays& g, std::string_view f, std::size_t gate) {
  Arrays x = {g["x"]};
  if (const Array* y = g.find("y")) {
    x.push_back(*y);
  } else {
    const std::size_t axis = g.axis(x[0]);
    want(x[0].shape[axis] % 2 == 0, "halves");
    x = define(
        Call::parse(fmt::format("call split sizes={0},{0} axis={1}", x[0].shape[axis] / 2, axis)),
        x);
  }
  return chained("operator*", {with_limit(f, x[gate]), x[1 - gate]});
}
Array dropout(const GivenArrays& g) {
  const std::string kept = fmt::format("operator/ number={} $", 1 - g.call.real("p", 0));
  return g.by(is_bool(g["kept"].dtype) ? "operator* number=1 %0; " + kept + "; where b=0 %1 $"
                                       : "operator* %0 %1; " + kept);
}
}  // namespace

Array reduced(const GivenArrays& g, Array losses) {
  if (const Array* w = g.find("weight")) losses = chained("operator*", {losses, *w});
  const std::string_view by = g.word("reduction");
  if (by == "none") return losses;
  if (by != "batchmean") return chained(by, {losses});
  return chained(fmt::format("sum; operator/ number={}", losses.shape.at(0)), {losses});
}

namespace {

// Of classes: targets outside have no loss.
template <bool kLogits>
Array class_loss(const GivenArrays& g) {
  const bool shares = kLogits && is_float(g["target"].dtype);
  Array target = shares ? g["target"] : cast_to(DType::Int64, g["target"]);
  const std::int64_t ignored = g.call.whole("ignore_index", -100);
  want(g["x"].rank() >= 2 && !(shares && ignored >= 0), "classes");
  for (Near& cell : target.cells)
    if (!shares && (cell.v < 0 || cell.v >= static_cast<Real>(g["x"].shape[1])))
      cell = static_cast<Real>(ignored);
  Arrays x = {g["x"], target};
  if (const Array* w = g.find("weight")) x.push_back(*w);
  return chained(filled(kLogits ? "cross_entropy nd=1 ignore={ignore_index} "
                                  "smoothing={label_smoothing} reduction={reduction}"
                                : "nll_loss nd=1 ignore={ignore_index} reduction={reduction}",
                        g),
                 x);
}
Array bce(const GivenArrays& g) {
  return reduced(g, chained("binary_cross_entropy reduction=none", {g["x"], g["target"]}));
}
// (1 - t) x + (1 + (p - 1) t) softplus(-x)
Array bce_logits_of(const GivenArrays& g) {
  const Array* positive = g.find("pos_weight");
  const Arrays x = {g["x"], g["target"]};
  if (positive == nullptr)
    return reduced(g, chained("binary_cross_entropy_with_logits reduction=none", x));
  return reduced(
      g, chained("operator- number=1 %2; operator* %1 $; operator+ number=1; neg %0; softplus; "
                 "operator* %5 $; operator- number=1 side=left %1; operator* $ %0; operator+ $ %8",
                 {x[0], x[1], *positive}));
}
Array bce_logits(const GivenArrays& g) {
  Array losses = bce_logits_of(g);
  for (const Near& x : g["x"].cells)
    if (std::isinf(x.v)) losses.cells.assign(losses.cells.size(), anything());
  return losses;
}
Array kl_div(const GivenArrays& g) {
  const Array losses =
      chained(filled("kl_div log_target={log_target?} reduction=none", g), {g["x"], g["target"]});
  return reduced(g, losses);
}
// Missing biases are 0.
Array cell(const GivenArrays& g, const std::string& call) {
  Arrays x;
  for (const auto& [name, array] : g.arrays) x.push_back(array);
  const Array& w = g["w_ih"];
  while (x.size() < (g.find("c") != nullptr ? 7U : 6U))
    x.push_back(made(w.dtype, {w.shape.at(0)}, [](const Sizes&) { return Near(); }));
  return chained(filled(call, g), x);
}

// ---- movement

Sizes whole_list(const GivenArrays& g, std::string_view key, const Sizes& otherwise) {
  const Sizes last = g.call.list(key);
  want(last.size() <= otherwise.size(), "entries for axes");
  Sizes all = otherwise;
  std::ranges::copy(last, all.end() - std::ssize(last));
  return all;
}
Array pad(const GivenArrays& g) {
  const Array& x = g["x"];
  const Sizes none(x.shape.size(), 0), before = whole_list(g, "before", none),
                                       after = whole_list(g, "after", none);
  const std::string_view mode = g.word("mode");
  if (mode == "constant")
    return chained(fmt::format("pad before={} after={} mode=constant value={}", listed(before),
                               listed(after), g.word("value")),
                   {x});
  const Sizes shape = moved_by(moved_by(x.shape, before), after);
  for (std::size_t i = 0; i < shape.size(); ++i)
    want(x.shape[i] > 0 || shape[i] == 0, "an element to continue");
  return moved(x, shape, [&](Sizes& at) {
    for (std::size_t i = 0; i < at.size(); ++i)
      at[i] = continued(mode, at[i] - before[i], x.shape[i]);
  });
}
Array center_crop_pad(const GivenArrays& g) {
  const Array& x = g["x"];
  const Sizes shape = whole_list(g, "size", x.shape);
  return moved(x, shape, [&](Sizes& at) {
    for (std::size_t i = 0; i < at.size(); ++i)
      at[i] = continued("constant", at[i] + (x.shape[i] - shape[i]) / 2, x.shape[i]);
  });
}
Array tile(const GivenArrays& g) {
  Sizes times = g.call.list("times");
  const std::size_t rank = g["x"].shape.size();
  if (times.size() < rank) times = joined(Sizes(rank - times.size(), 1), times);
  return chained("repeat times=" + listed(times), {g["x"]});
}
Array diff(const GivenArrays& g) {
  const Array& x = g["x"];
  const std::size_t axis = g.axis(x);
  Sizes shape = x.shape;
  shape[axis] = std::max<std::int64_t>(shape[axis] - 1, 0);
  const Rounding of(x.dtype);
  return made(x.dtype, shape, [&](const Sizes& at) {
    Sizes next = at;
    ++next[axis];
    return is_float(x.dtype) ? x[next] - x[at]
                             : as_type(x.dtype, static_cast<Real>(x[next].v - x[at].v));
  });
}
// Channel c of the result at row i, column j of a block is channel (i b + j) C + c of the other, or
// c b b + i b + j.
template <bool kInverse>
Array depth_to_space(const GivenArrays& g) {
  const Array& x = g["x"];
  const std::int64_t b = g.call.whole("block", 1);
  want(b >= 1 && x.rank() >= 3, "blocks");
  const std::size_t c = x.shape.size() - 3;
  Sizes shape = x.shape;
  for (std::size_t i = c; i <= c + 2; ++i) {
    const bool grows = kInverse == (i == c);
    const std::int64_t by = i == c ? b * b : b;
    want(grows || shape[i] % by == 0, "whole blocks");
    shape[i] = grows ? shape[i] * by : shape[i] / by;
  }
  const std::int64_t channels = kInverse ? x.shape[c] : shape[c];
  const bool first = g.word("mode") == "crd";
  return moved(x, shape, [&](Sizes& at) {
    std::int64_t &channel = at[c], &row = at[c + 1], &column = at[c + 2];
    if (kInverse) {
      const std::int64_t place = first ? channel % (b * b) : channel / channels;
      channel = first ? channel / (b * b) : channel % channels;
      row = row * b + place / b;
      column = column * b + place % b;
    } else {
      const std::int64_t place = row % b * b + column % b;
      channel = first ? channel * b * b + place : place * channels + channel;
      row /= b;
      column /= b;
    }
  });
}
Array slice(const GivenArrays& g) {
  const Sizes& shape = g["x"].shape;
  return chained(
      fmt::format("shrink begin={} end={}", listed(whole_list(g, "begin", Sizes(shape.size(), 0))),
                  listed(whole_list(g, "end", shape))),
      {g["x"]});
}
Array stride(const GivenArrays& g) {
  const Sizes steps = g.call.list("steps");
  want(steps.size() == g["x"].shape.size(), "a step an axis");
  std::string parts;
  for (const std::int64_t step : steps)
    parts += fmt::format("{}::{}", parts.empty() ? "" : ",", step);
  return steps.empty() ? g["x"] : chained("slice parts=" + parts, {g["x"]});
}
Array as_strided(const GivenArrays& g) {
  const Sizes shape = g.call.list("shape"), strides = g.call.list("strides");
  want(strides.size() == shape.size(), "a stride an axis");
  return taken(g["x"], shape, [&](const Sizes& at) {
    std::int64_t place = g.call.whole("offset", 0);
    for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * strides[i];
    want(place >= 0 && place < g["x"].size(), "a place");
    return g["x"].cells[static_cast<std::size_t>(place)];
  });
}
Array arange(const GivenArrays& g) {
  const DType dtype = parse_dtype(g.word("dtype"));
  return made(dtype, {g.call.whole("size", 1)}, [&](const Sizes& at) {
    return cast_cell(DType::Int64, dtype, Near(static_cast<Real>(at[0])));
  });
}
Array interpolate(const GivenArrays& g) {
  const std::string_view mode = g.word("mode");
  const bool cubic = mode == "bicubic", nearest = mode.starts_with("nearest");
  Array out = g.by(cubic     ? "bicubic sizes={size} corners={align_corners}"
                   : nearest ? "interpolate sizes={size} mode={mode}"
                             : "interpolate sizes={size} mode=linear corners={align_corners}");
  // What has no weight may count if it is not finite.
  if (!nearest &&
      std::ranges::any_of(g["x"].cells, [](const Near& c) { return !std::isfinite(c.v); }))
    for (Near& cell : out.cells) cell = std::isfinite(cell.v) ? cell : anything();
  return out;
}

// clang-format off
constexpr KernelLoops kKernelLoops[] = {
    {"exp2 log2 sin sqrt", 'F', "*", "{name}"},
    {"recip", 'F', "*", "reciprocal"},
    {"neg", 'N', "*", "neg"},
    {"add", 'N', "~;~", "operator+"},
    {"sub", 'N', "~;~", "operator-"},
    {"mul", 'A', "~;~", "operator*"},
    {"div", 'N', "~;~", "operator/"},
    {"mod", 'N', "~;~", "mod"},
    {"cmplt", 'A', "~;~", "operator<"},
    {"cmpeq", 'A', "~;~", "operator=="},
    {"xor", 'I', "~;~", "operator^"},
    {"mulacc", 'N', "~;~;~", "operator* %0 %1; operator+ $ %2"},
    {"where", 'A', "~:b;~;~", "where"},
    {"gelu", 'F', "*", "", [](const GivenArrays& g) { return with_limit("gelu form=erf", g["x"]); }},
    {"gelu_tanh", 'F', "*", "", [](const GivenArrays& g) { return with_limit("gelu", g["x"]); }},
    {"silu", 'F', "*", "", [](const GivenArrays& g) { return with_limit("silu", g["x"]); }},
    {"maximum minimum", 'A', "~;~", "{name}"},
    {"cast", 'A', "*", "cast to={to}"},
    {"bitcast", 'I', "*", "bitcast to={to}"},
    {"abs", 'N', "*", "abs"},
    {"relu", 'N', "*", "relu"},
    {"sign", 'n', "*", "", of_one<sign>},
    {"remainder", 'N', "~;~", "", of_two<remainder>},
    {"floor_div", 'N', "~;~", "", of_two<floor_div>},
    {"next_after", 'F', "~;~", "", of_two<next_after>},
    {"bit_and", 'B', "~;~", "", of_two<bit_and>},
    {"bit_or", 'B', "~;~", "", of_two<bit_or>},
    {"bit_not", 'B', "*", "", of_one<bit_not>},
    {"shift_left", 'I', "~;~:i", "", of_two<shifted<true, false>>},
    {"shift_right", 'I', "~;~:i", "", of_two<shifted<false, false>>},
    {"shift_right_logical", 'I', "~;~:i", "", of_two<shifted<false, true>>},
    {"popcount", 'I', "*", "", of_one<popcount>},
    {"clz", 'I', "*", "", of_one<clz>},
    {"signbit", 'A', "*", "", signbit},
    {"copysign", 'F', "~;~", "", of_two<copysign>},
    {"round_half_away", 'F', "*", "", of_one<round_half_away>},

    {"sum prod", 'N', "*", "{name} axes={axis} keep={keep}; cast to={x}"},
    {"max min any all", 'A', "*", "{name} axes={axis} keep={keep}"},
    {"mean", 'F', "*", "mean axes={axis} keep={keep}"},
    {"var std", 'F', "*", "{name} axes={axis} correction={correction} keep={keep}"},
    {"logsumexp", 'F', ".,a", "logsumexp axes={axis}"},
    {"cumsum cumprod", 'N', ".,a", "{name} axis={axis}; cast to={x}"},
    {"count_nonzero", 'A', "*", "bool_; long_; sum axes={axis} keep={keep}"},
    {"argmax argmin", 'A', ".,a", "{name} axis={axis} keep={keep} last={last?}; long_"},
    {"cummax cummin cummax_index cummin_index", 'A', ".,a", "{name} axis={axis}"},
    {"sort", 'a', ".,a", "sort axis={axis} order={descending:ascending,descending}"},
    {"argsort", 'A', ".,a", "argsort axis={axis} order={descending:ascending,descending}; long_"},
    {"top_k", 'a', ".,a", "topk axis={axis} k={k} order={largest:ascending,descending}"},
    {"top_k_index", 'A', ".,a", "topk#1 axis={axis} k={k} order={largest:ascending,descending}; long_"},
    {"hardmax", 'A', ".,a", "", hardmax},
    {"searchsorted", 'A', "n;*", "", searchsorted},

    {"softmax log_softmax", 'F', ".,a", "{name} axis={axis}"},
    {"layer_norm", 'F', ".,k;k;k", "layer_norm axes=1 eps={eps}"},
    {"group_norm", 'F', "n,Gc,.;Gc;Gc", "group_norm groups={groups} eps={eps}"},
    {"instance_norm", 'F', "n,c,a;c;c", "instance_norm eps={eps}"},
    {"rms_norm", 'F', ".,k;k", "rms_norm eps={eps}"},
    {"batch_norm", 'F', "n,c,.;c;c:+;c;c", "batch_norm eps={eps}"},
    {"masked_softmax", 'F', "*;~:m", "", masked_softmax},

    {"matmul", 'N', ".,n,k;^,k,m", "", matmul},
    {"matmul", 'N', ".,n,k;k", "", matmul},
    {"matmul", 'N', "k;k", "", matmul},
    {"matmul", 'N', "k;k,m", "", matmul},
    {"linear", 'F', ".,k;m,k;m", "linear"},
    {"attention_scores", 'F', ".,q,d;^,k,d;q,k:m", "", scores},
    {"attention", 'F', ".,q,d;^,k,d;^,k,e;q,k:m;q,k:d", "", attention},
    {"attention", 'F', "n,2h,q,d;n,h,k,d;n,h,k,e;k:m;q,k:d", "", attention},

    {"conv1d conv2d conv3d", 'F', "n,Gc,W;Go,c,S;Go", "{name} stride={stride} padding={padding} dilation={dilation} groups={groups}"},
    {"conv_transpose1d conv_transpose2d conv_transpose3d", 'F', "n,Gc,O;Gc,o,S;Go", "conv_transpose stride={stride} padding={padding} output_padding={output_padding} dilation={dilation} groups={groups}"},
    {"avg_pool1d avg_pool2d avg_pool3d", 'F', ".,W", "avg_pool kernel={size*d} stride={stride} padding={padding} ceil={ceil_mode} include_pad={count_include_pad} divisor={divisor_override}"},
    {"max_pool1d max_pool2d max_pool3d", 'F', ".,W", "max_pool kernel={size*d} stride={stride} padding={padding} dilation={dilation} ceil={ceil_mode}"},
    {"max_pool1d_index max_pool2d_index", 'F', ".,W", "max_pool_index kernel={size*d} stride={stride} padding={padding} dilation={dilation} ceil={ceil_mode}"},
    {"adaptive_avg_pool1d adaptive_max_pool1d", 'F', ".,a", "{name-1d} sizes={size}"},
    {"adaptive_avg_pool2d adaptive_max_pool2d", 'F', ".,a,b", "{name-2d} sizes={size*2}"},
    {"lp_pool1d lp_pool2d", 'F', ".,W", "lp_pool p={p} kernel={size*d} stride={stride} padding={padding} dilation={dilation} ceil={ceil_mode}"},
    {"interpolate", 'F', ".,W", "", interpolate},
    {"unfold", 'A', "n,c,W", "im2col kernel={size*2} dilation={dilation} padding={padding} stride={stride}"},
    {"fold", 'F', "n,cS,O", "col2im sizes={output_size*2} kernel={size*2} dilation={dilation} padding={padding} stride={stride}"},
    {"windows", 'A', ".,W", "pool kernel={size} stride={stride} dilation={dilation}"},

    {"reshape", 'A', "*", "reshape shape={shape}"},
    {"permute", 'A', "*", "permute order={order}"},
    {"transpose", 'A', ".,a,b", "transpose a={a} b={b}"},
    {"expand", 'A', "*", "expand shape={shape}"},
    {"pad", 'A', "*", "", pad},
    {"slice", 'A', "*", "", slice},
    {"stride", 'A', "*", "", stride},
    {"flip", 'A', "*", "flip axes={axis}"},
    {"roll", 'A', ".,a", "roll by={shift} axis={axis}"},
    {"repeat", 'A', ".,a", "repeat_interleave times={times} axis={axis}"},
    {"concat", 'A', ".,a;.,b", "cat axis={axis}"},
    {"tile", 'A', "*", "", tile},
    {"diff", 'A', ".,a", "", diff},
    {"center_crop_pad", 'A', "*", "", center_crop_pad},
    {"depth_to_space", 'A', ".,cKK,h,w", "", depth_to_space<false>},
    {"space_to_depth", 'A', ".,c,hK,wK", "", depth_to_space<true>},
    {"as_strided", 'A', "*", "", as_strided},
    {"diagonal", 'A', "a,b", "diagonal a=0 b=1"},
    {"tril triu", 'A', ".,a,b", "{name} k={diagonal}"},
    {"arange", 'F', "", "", arange},
    {"one_hot", 'F', "*:k", "one_hot classes={classes}; cast to={dtype}"},
    {"gather", 'A', "k,a;*:k", "", gather},
    {"take_along", 'A', "*;%:@", "", take_along},
    {"index_select", 'A', "k,.;*:k", "", index_select},
    {"gather_nd", 'A', "k,j,a;n,2:k", "", gather_nd},
    {"gather_nd", 'A', "n,k,.;n,m,1:k", "", gather_nd},
    {"dynamic_slice", 'A', "*;R:k", "", dynamic_slice},
    {"dynamic_update_slice", 'A', "*;<;R:k", "", dynamic_update_slice},
    {"reverse_sequence", 'A', "a,n,.;n:a", "", reverse_sequence},
    {"reverse_sequence", 'A', "n,a,.;n:a", "", reverse_sequence},

    {"scatter", 'A', "*;%:@;%", "", scatter},
    {"scatter_nd", 'A', "k,j,a;n,2:k;n,a", "", scatter_nd},
    {"scatter_nd", 'A', "k,.;*,1:k;*,.", "", scatter_nd},
    {"index_add", 'N', "k,.;m:k;m,.", "", index_add},
    {"segment_sum", 'N', "m,.;m:k", "", segments},
    {"segment_max segment_min segment_prod", 'A', "m,.;m:k", "", segments},
    {"embedding_bag", 'F', "k,a;n,m:k;n,m", "", embedding_bag},
    {"select_and_scatter", 'F', ".,W;.,O", "", select_and_scatter},

    {"quantize", 'F', ".,a;Z:+;Z:z", "", quantize},
    {"dequantize", 'I', ".,a;Z:f;Z:z", "", dequantize},
    {"fake_quantize", 'F', ".,a;Z:+;Z:z", "", fake_quantize},
    {"dequantize_q8_0", 'F', ".,34n:u", "", dequantize_ggml<8>},
    {"dequantize_q8_0", 'F', ".,32n:s;.,n", "", dequantize_ggml<8>},
    {"dequantize_q4_0", 'F', ".,18n:u", "", dequantize_ggml<4>},
    {"dequantize_q4_0", 'F', ".,16n:u;.,n", "", dequantize_ggml<4>},

    {"leaky_relu", 'f', "*", "leaky_relu slope={slope}"},
    {"prelu", 'f', "n,c,.;c", "", prelu},
    {"prelu", 'f', "*;1", "", prelu},
    {"elu celu", 'F', "*", "{name} alpha={alpha}"},
    {"selu", 'F', "*", "", selu},
    {"clamp", 'f', "*;~;~", "", clamp},
    {"hardtanh", 'F', "*", "hardtanh low={low} high={high}"},
    {"relu6 hardsigmoid hardswish mish softsign", 'F', "*", "{name}"},
    {"logsigmoid", 'F', "*", "log_sigmoid"},
    {"threshold", 'f', "*", "operator<= number={threshold} %0; where a={value} $ %0"},
    {"glu", 'F', ".,2a;.,2a", "", [](const GivenArrays& g) { return gated(g, "sigmoid", 1); }},
    {"swiglu", 'F', ".,2a;.,2a", "", [](const GivenArrays& g) { return gated(g, "silu", 0); }},
    {"geglu", 'F', ".,2a;.,2a", "", [](const GivenArrays& g) { return gated(g, "gelu form=erf", 0); }},
    {"dropout", 'f', "*;*:m", "", dropout},

    {"cross_entropy", 'F', "n,K,.;n,.:K;K:+", "", class_loss<true>},
    {"cross_entropy", 'F', "n,K,.;n,K,.:p;K:+", "", class_loss<true>},
    {"nll_loss", 'F', "n,K,.;n,.:K;K:+", "", class_loss<false>},
    {"mse_loss l1_loss", 'F', "*;*", "{name} reduction={reduction}"},
    {"smooth_l1_loss", 'F', "*;*", "huber_loss delta={beta} reduction={reduction}; operator/ number={beta}"},
    {"huber_loss", 'F', "*;*", "huber_loss delta={delta} reduction={reduction}"},
    {"binary_cross_entropy", 'F', "*:p;*:p;*", "", bce},
    {"binary_cross_entropy_with_logits", 'F', "*;*;*", "", bce_logits},
    {"kl_div", 'F', "a,.;a,.:p", "", kl_div},

    {"rnn_cell", 'F', ".,i;.,h;h,i;h,h;h;h", "", [](const GivenArrays& g) { return cell(g, "rnn_cell activation={activation}"); }},
    {"lstm_cell lstm_cell_c", 'F', ".,i;.,h;.,h;4h,i;4h,h;4h;4h", "", [](const GivenArrays& g) { return cell(g, "{name}"); }},
    {"gru_cell", 'F', ".,i;.,h;3h,i;3h,h;3h;3h", "", [](const GivenArrays& g) {
       return cell(g, g.is("linear_before_reset") ? "gru_cell" : "gru_cell reset_first=1"); }},
    {"rope", 'F', ".,n,2d;n,d;n,d", "rope interleaved={interleaved?}"},
    {"complex_mul", 'F', ".,2;^,2", "complex_mul"},
    {"complex_exp complex_abs", 'F', ".,2", "{name}"},
    {"complex_matmul", 'F', "n,k,2;k,m,2", "complex_matmul"},
    {"dft idft", 'F', ".,n,2", "{name}"},
};
// clang-format on

}  // namespace

Array GivenArrays::by(std::string_view calls) const {
  Arrays all;
  for (const auto& [name, array] : arrays) all.push_back(array);
  return chained(filled(calls, *this), std::move(all));
}

Array chained(std::string_view calls, Arrays values) {
  const std::size_t inputs = values.size();
  while (!calls.empty()) {
    const std::string_view one = calls.substr(0, calls.find(';'));
    calls.remove_prefix(std::min(one.size() + 1, calls.size()));
    std::string call = "call";
    Arrays operands;
    for (const std::string_view word : split(one, ' '))
      if (word == "$")
        operands.push_back(values.back());
      else if (word[0] == '%')
        operands.push_back(values.at(static_cast<std::size_t>(number(word.substr(1)))));
      else
        call += fmt::format(" {}", word);
    if (operands.empty()) operands = values.size() == inputs ? values : Arrays{values.back()};
    Call of = Call::parse(call);
    const std::size_t hash = std::min(of.name.find('#'), of.name.size());
    const std::size_t which = hash < of.name.size() ? 1 : 0;
    of.name.resize(hash);
    values.push_back(define(of, operands).at(which));
  }
  return values.back();
}

std::span<const KernelLoops> kernel_loops() {
  // Named functions are called as they are.
  static const std::vector<KernelLoops> all = [] {
    std::vector<KernelLoops> rows;
    for (const auto& table :
         {std::span<const KernelLoops>(kKernelLoops), sampling_and_formula_loops()})
      for (const KernelLoops& row : table)
        for (const std::string_view name : split(row.name, ' ')) {
          rows.push_back(row);
          rows.back().name = name;
        }
    for (const define::Definition& d : define::definitions())
      if (d.group == "functions" &&
          std::ranges::find(rows, d.name(), &KernelLoops::name) == rows.end())
        rows.push_back({d.name(), 'F', define::parameters(d).size() == 1 ? "*" : "~;~", d.name()});
    return rows;
  }();
  return all;
}

Arrays define_kernel(const Call& call, const Arrays& inputs) {
  const std::string_view name = std::string_view(call.name).substr(kKernelCall.size());
  const auto row = std::ranges::find(kernel_loops(), name, &KernelLoops::name);
  if (row == kernel_loops().end())
    throw ParseError(fmt::format("there is no definition '{}'", name.substr(0, 40)));
  GivenArrays given;
  given.call.name = name;
  std::size_t next = 0, known = 0;
  const auto omitted = split(call.arg("omit").value_or(""), ',');
  for (const define::Parameter& p : define::parameters(define::definition(name))) {
    const auto value = call.arg(p.name);
    known += value ? 1 : 0;
    if (!p.is_array) {
      want(value || !p.required, "an argument is missing");
      given.call.set(p.name, std::string(value.value_or(p.fallback)));
    } else if (value) {  // a number
      const DType dtype =
          !inputs.empty() && is_float(inputs[0].dtype) ? inputs[0].dtype : DType::Float32;
      given.arrays.emplace_back(
          p.name,
          Array{dtype, {}, {as_type(dtype, Near(static_cast<Real>(call.real(p.name, 0))))}});
    } else if (std::ranges::find(omitted, p.name) == omitted.end() && next < inputs.size()) {
      given.arrays.emplace_back(p.name, inputs[next++]);
    } else {
      want(!p.required, "an array is missing");
    }
  }
  want(next == inputs.size() && known + (call.has("omit") ? 1 : 0) == call.args.size(),
       "unknown arguments");
  // Narrow floats round as their types do.
  const Rounding of(narrowest(inputs));
  const bool open_zeros = row->types >= 'a';
  Array out = row->of != nullptr ? row->of(given) : given.by(row->calls);
  out.signed_zeros = out.signed_zeros && !open_zeros;
  for (Near& cell : out.cells) {
    if (is_float(out.dtype) && !cell.exact()) cell = as_type(out.dtype, cell);
    if (is_float(out.dtype) && !info(out.dtype).infinities &&
        (std::isinf(cell.v) || (std::isnan(cell.v) && !out.signed_zeros)))
      cell = anything();
  }
  return {out};
}

}  // namespace touchstone::fuzz::defined
