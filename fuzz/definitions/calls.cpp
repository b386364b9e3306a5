#include "touchstone/fuzz/definitions/calls.h"

#include <algorithm>
#include <map>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/number_formats.h"

namespace touchstone::fuzz::defined {
namespace {

constexpr std::int64_t kMostCells = 20000;

// The nearest float of the type, ties to even.
Real nearest(DType dtype, Real value) {
  if (value == 0 || !std::isfinite(value)) {
    if (dtype == DType::Float8E4M3 && std::isinf(value)) return std::copysign(448, value);
    return value;
  }
  const int exponent = std::max(std::ilogb(value), info(dtype).min_exponent);
  const int shift = info(dtype).digits - 1 - exponent;
  const Real near = std::ldexp(std::nearbyint(std::ldexp(value, shift)), -shift);
  if (std::fabs(near) <= most_of(dtype)) return near == 0 ? std::copysign(Real{0}, value) : near;
  const bool infinities = dtype != DType::Float8E4M3;
  return std::copysign(infinities ? std::numeric_limits<Real>::infinity() : most_of(dtype), value);
}

}  // namespace

std::int64_t Array::size() const { return static_cast<std::int64_t>(cells.size()); }

std::size_t Array::place(const Sizes& at) const {
  std::int64_t flat = 0;
  want(at.size() == shape.size(), "an index of another rank");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    want(at[i] >= 0 && at[i] < shape[i], "an index outside");
    flat = flat * shape[i] + at[i];
  }
  return static_cast<std::size_t>(flat);
}

std::int64_t Array::whole(const Sizes& at) const {
  return static_cast<std::int64_t>((*this)[at].v);
}

void want(bool holds, std::string_view what) {
  if (!holds) throw ParseError(fmt::format("not a call: {}", what));
}

void each(const Sizes& shape, const std::function<void(const Sizes& at)>& f) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    want(size >= 0 && size <= kMostCells, "a size of a result");
    count *= size;
    want(count <= kMostCells, "the size of a result");
  }
  Sizes at(shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    f(at);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
}

Array made(DType dtype, Sizes shape, const std::function<Near(const Sizes& at)>& f) {
  Array out{dtype, std::move(shape), {}};
  each(out.shape, [&](const Sizes& at) { out.cells.push_back(f(at)); });
  return out;
}
Array taken(const Array& x, Sizes shape, const std::function<Near(const Sizes& at)>& f) {
  Array out = made(x.dtype, std::move(shape), f);
  out.signed_zeros = true;
  return out;
}
Array moved(const Array& x, Sizes shape, const std::function<void(Sizes& at)>& source) {
  return taken(x, std::move(shape), [&](Sizes at) {
    source(at);
    return std::ranges::find(at, -1) == at.end() ? x[at] : Near(0);
  });
}

Sizes head(const Sizes& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}
Sizes tail(const Sizes& all, std::size_t from) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}
Sizes joined(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Sizes spliced(const Sizes& all, std::size_t axis, std::size_t count, const Sizes& by) {
  return joined(joined(head(all, axis), by), tail(all, axis + count));
}

Real most_of(DType dtype) {
  if (!is_float(dtype)) return static_cast<Real>(definition::most(dtype));
  const Real beyond = std::ldexp(Real{1}, info(dtype).max_exponent + 1);
  return dtype == DType::Float8E4M3 ? 448 : beyond - std::ldexp(beyond, -info(dtype).digits);
}
Real least_of(DType dtype) {
  return is_float(dtype) ? -most_of(dtype) : static_cast<Real>(definition::least(dtype));
}
Near lowest(DType dtype) {
  return is_float(dtype) ? as_type(dtype, -std::numeric_limits<Real>::infinity())
                         : Near(least_of(dtype));
}

Near as_type(DType dtype, const Near& x) {
  if (!is_float(dtype))
    return std::isinf(x.e) ? x
                           : Near(static_cast<Real>(definition::wrapped(
                                 is_bool(dtype) ? Wide{x.v != 0} : static_cast<Wide>(x.v), dtype)));
  const Real value = nearest(dtype, x.v);
  if (x.exact() || std::isinf(x.e)) return {value, x.e};
  // Possibly too large: either result is right.
  if (std::isfinite(x.v) && std::fabs(x.v) + 2 * x.e >= most_of(dtype)) return anything();
  const Rounding of(dtype);
  return rounded(x.v, x.e);
}

Near cast_cell(DType from, DType to, const Near& x) {
  if (std::isinf(x.e)) return x;
  if (is_float(to)) return as_type(to, x);
  if (is_bool(to)) return std::isnan(x.v) || x.v != 0 ? 1 : 0;
  if (!is_float(from)) return as_type(to, x);
  if (std::isnan(x.v)) return 0;
  return std::clamp(std::trunc(x.v), least_of(to), most_of(to)) + 0;
}

Array cast_to(DType to, const Array& x) {
  if (to == x.dtype) return x;
  Array out{to, x.shape, {}, x.signed_zeros && is_float(x.dtype)};
  for (const Near& cell : x.cells) out.cells.push_back(cast_cell(x.dtype, to, cell));
  return out;
}

DType real_type(DType dtype) { return is_float(dtype) ? dtype : DType::Float32; }

DType summed_type(DType dtype) {
  if (is_float(dtype) || itemsize(dtype) >= 4) return dtype;
  return is_unsigned(dtype) ? DType::UInt32 : DType::Int32;
}

DType type_with(std::string_view number, DType met) {
  const bool fraction = number.find_first_of(".einf") != number.npos;
  if (fraction) return is_float(met) ? met : DType::Float32;
  return is_bool(met) ? DType::Int32 : met;
}

int axis_in(std::int64_t axis, int rank) {
  want(axis >= -rank && axis < rank, "an axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::size_t axis_of(const Call& call, const Array& x, std::string_view key,
                    std::int64_t otherwise) {
  return static_cast<std::size_t>(axis_in(call.whole(key, otherwise), x.rank()));
}

std::vector<bool> axes_in(const Sizes& axes, int rank) {
  std::vector<bool> chosen(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : axes) {
    const auto at = static_cast<std::size_t>(axis_in(axis, rank));
    want(!chosen[at], "an axis stands twice");
    chosen[at] = true;
  }
  return chosen;
}

Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1,
                       y = i < b.size() ? b[b.size() - 1 - i] : 1;
    want(x == y || x == 1 || y == 1, "shapes that do not broadcast");
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Sizes within(const Sizes& at, const Sizes& shape) {
  Sizes out(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    out[i] = shape[i] == 1 ? 0 : at[at.size() - shape.size() + i];
  return out;
}

DType narrowest(const Arrays& inputs) {
  DType in = DType::Float64;
  for (const Array& x : inputs)
    if (is_float(x.dtype) && info(x.dtype).digits < info(in).digits) in = x.dtype;
  return in;
}

Arrays inputs_of(const Call& call) {
  Arrays all;
  for (const CallInput& input : call.inputs) {
    Array x{input.dtype, input.shape, {}, true};
    for (std::int64_t i = 0, n = input.size(); i < n; ++i) {
      const Scalar value = input.at(i);
      if (is_float(input.dtype))
        x.cells.emplace_back(value.to_double());
      else if (input.dtype == DType::UInt64)
        x.cells.emplace_back(static_cast<Real>(value.as<std::uint64_t>()));
      else
        x.cells.emplace_back(static_cast<Real>(value.to_int64()));
    }
    all.push_back(std::move(x));
  }
  return all;
}

Arrays define(const Call& call, const Arrays& inputs) {
  if (call.name.starts_with(kKernelCall)) return define_kernel(call, inputs);
  static const auto known = [] {
    std::map<std::string_view, const Definition*> rows;
    for (const auto& table :
         {elementwise_definitions(), movement_definitions(), reduction_definitions(),
          window_definitions(), indexing_definitions(), layer_definitions(), loss_definitions(),
          cell_definitions(), optimizer_definitions()})
      for (const Definition& row : table)
        for (const std::string_view name : split(row.names, ' ')) rows.emplace(name, &row);
    return rows;
  }();
  const auto row = known.find(call.name);
  if (row == known.end())
    throw ParseError(fmt::format("there is no function '{}'", call.name.substr(0, 40)));
  want(!inputs.empty(), "it takes a tensor");
  // Results have the type of the first float operand.
  DType in = narrowest(inputs);
  for (const Array& x : inputs)
    if (!is_float(x.dtype) && in == DType::Float64) in = DType::Float32;
  const Rounding of(in);
  Arrays out = row->second->of(call, inputs);
  for (Array& y : out)
    for (Near& cell : y.cells) {
      if (is_float(y.dtype) && !cell.exact()) cell = as_type(y.dtype, cell);
      // Without an infinity in the type, results depend on the steps.
      if (is_float(y.dtype) && !info(y.dtype).infinities && !y.signed_zeros &&
          !std::isfinite(cell.v))
        cell = anything();
    }
  return out;
}

}  // namespace touchstone::fuzz::defined
