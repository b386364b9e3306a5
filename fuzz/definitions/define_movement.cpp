#include <algorithm>
#include <numeric>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {

Array moved_axis(const Array& x, int from, int to) {
  want(from >= 0 && to >= 0 && std::max(from, to) < x.rank(), "an axis");
  Sizes shape = x.shape;
  const std::int64_t size = shape[static_cast<std::size_t>(from)];
  shape.erase(shape.begin() + from);
  shape.insert(shape.begin() + to, size);
  Array out = made(x.dtype, shape, [&](const Sizes& at) {
    Sizes source = at;
    source.erase(source.begin() + to);
    source.insert(source.begin() + from, at[static_cast<std::size_t>(to)]);
    return x[source];
  });
  out.signed_zeros = x.signed_zeros;
  return out;
}

namespace {

// An array that moves elements of x.
Array taken(const Array& x, Sizes shape, const std::function<Near(const Sizes& at)>& f) {
  Array out = made(x.dtype, std::move(shape), f);
  out.signed_zeros = true;
  return out;
}
/// The same with row-major positions: `source` maps a position of the result to one of x.
Array moved(const Array& x, Sizes shape, const std::function<void(Sizes& at)>& source) {
  return taken(x, std::move(shape), [&](const Sizes& at) {
    Sizes from = at;
    source(from);
    return x[from];
  });
}
Array reshaped(const Array& x, Sizes shape) {
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == -1) {
      want(open < 0, "two open sizes");
      open = static_cast<std::int64_t>(i);
    } else {
      want(shape[i] >= 0, "a size");
      known *= shape[i];
    }
  if (open >= 0) {
    want(known > 0 && x.size() % known == 0, "an open size");
    shape[static_cast<std::size_t>(open)] = x.size() / known;
    known = x.size();
  }
  want(known == x.size(), "another number of elements");
  Array out = x;
  out.shape = std::move(shape);
  return out;
}
std::size_t place_of(int axis) { return static_cast<std::size_t>(axis); }
std::size_t axis_arg(const Call& call, const Array& x, std::string_view key = "axis",
                     std::int64_t otherwise = 0) {
  return place_of(axis_in(call.whole(key, otherwise), x.rank()));
}

Arrays reshape_of(const Call& call, const Arrays& x) {
  return {reshaped(x[0], call.list("shape"))};
}
Arrays permute_of(const Call& call, const Arrays& x) {
  const Sizes order = call.list("order");
  want(static_cast<int>(order.size()) == x[0].rank(), "an axis each");
  (void)axes_in(order, x[0].rank());
  Sizes shape;
  for (const std::int64_t axis : order)
    shape.push_back(x[0].shape[place_of(axis_in(axis, x[0].rank()))]);
  return {taken(x[0], shape, [&](const Sizes& at) {
    Sizes from(at.size());
    for (std::size_t i = 0; i < at.size(); ++i)
      from[place_of(axis_in(order[i], x[0].rank()))] = at[i];
    return x[0][from];
  })};
}
Arrays transpose_of(const Call& call, const Arrays& x) {
  const std::size_t a = axis_arg(call, x[0], "a", -2), b = axis_arg(call, x[0], "b", -1);
  Sizes shape = x[0].shape;
  std::swap(shape[a], shape[b]);
  return {moved(x[0], shape, [&](Sizes& at) { std::swap(at[a], at[b]); })};
}
Arrays movedim_of(const Call& call, const Arrays& x) {
  return {moved_axis(x[0], axis_in(call.whole("from", 0), x[0].rank()),
                     axis_in(call.whole("to", 0), x[0].rank()))};
}
Arrays expand_of(const Call& call, const Arrays& x) {
  Sizes shape = call.list("shape");
  want(shape.size() >= x[0].shape.size(), "fewer axes");
  const std::size_t more = shape.size() - x[0].shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t size = i < more ? 1 : x[0].shape[i - more];
    if (shape[i] == -1) shape[i] = size;
    want(shape[i] == size || size == 1, "a size that does not expand");
  }
  return {moved(x[0], shape, [&](Sizes& at) { at = within(at, x[0].shape); })};
}

// The source of element `at` of an axis padded by `before` elements in front; -1: none.
std::int64_t from_padded(std::string_view mode, std::int64_t at, std::int64_t before,
                         std::int64_t size) {
  const std::int64_t i = at - before;
  if (i >= 0 && i < size) return i;
  if (mode == "constant") return -1;
  if (mode == "replicate") return i < 0 ? 0 : size - 1;
  if (mode == "circular") return i < 0 ? i + size : i - size;
  return i < 0 ? -i : 2 * (size - 1) - i;
}
Arrays pad_of(const Call& call, const Arrays& x) {
  const Sizes before = call.list("before"), after = call.list("after");
  const std::string_view mode = call.arg("mode").value_or("constant");
  want(before.size() == x[0].shape.size() && after.size() == before.size(), "a pair an axis");
  Sizes shape = x[0].shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t most = std::max(before[i], after[i]), size = shape[i];
    want(before[i] >= 0 && after[i] >= 0, "padding below 0");
    want(most == 0 || mode == "constant" || (mode == "reflect" && most < size) ||
             (mode == "circular" && most <= size) || (mode == "replicate" && size > 0),
         "more than the axis has");
    shape[i] += before[i] + after[i];
  }
  const Near around = as_type(x[0].dtype, static_cast<Real>(call.real("value", 0)));
  return {taken(x[0], shape, [&](const Sizes& at) {
    Sizes from = at;
    for (std::size_t i = 0; i < at.size(); ++i) {
      from[i] = from_padded(mode, at[i], before[i], x[0].shape[i]);
      if (from[i] < 0) return around;
    }
    return x[0][from];
  })};
}
Arrays pad2d_of(const Call& call, const Arrays& x) {
  const Sizes padding = call.list("padding");
  want(padding.size() % 2 == 0 && padding.size() / 2 <= x[0].shape.size(), "pairs");
  Sizes before(x[0].shape.size(), 0), shape = x[0].shape;
  for (std::size_t i = 0; i < padding.size() / 2; ++i) {
    const std::size_t axis = shape.size() - 1 - i;
    const std::int64_t taken_away =
        std::max<std::int64_t>(-padding[2 * i], 0) + std::max<std::int64_t>(-padding[2 * i + 1], 0);
    want(taken_away <= shape[axis], "more is taken than is there");
    before[axis] = padding[2 * i];
    shape[axis] += padding[2 * i] + padding[2 * i + 1];
  }
  const Near around = as_type(x[0].dtype, static_cast<Real>(call.real("value", 0)));
  return {taken(x[0], shape, [&](const Sizes& at) {
    Sizes from = at;
    for (std::size_t i = 0; i < at.size(); ++i) {
      from[i] -= before[i];
      if (from[i] < 0 || from[i] >= x[0].shape[i]) return around;
    }
    return x[0][from];
  })};
}
// The first elements of an axis, their negation, and their sums.
Arrays bind_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  const std::int64_t count = call.whole("count", 1);
  want(call.whole("axis", 0) >= 0, "an axis from the front");
  want(count >= 0 && count <= x[0].shape[axis] && x[0].shape[axis] > 0, "a count");
  want(is_float(x[0].dtype), "floats");
  Sizes shape = x[0].shape, rest = x[0].shape;
  shape[axis] = count;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
  Array turned = taken(x[0], shape, [&](const Sizes& at) { return -x[0][at]; });
  const Rounding of(x[0].dtype);
  return {turned, made(x[0].dtype, rest, [&](const Sizes& at) {
            Sum sum;
            Sizes from = at;
            from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), 0);
            for (std::int64_t& i = from[axis]; i < count; ++i) sum.add(turned[from]);
            return sum.value();
          })};
}
Arrays assign_of(const Call&, const Arrays& x) {
  want(x.size() == 2 && x[0].dtype == x[1].dtype && x[0].shape == x[1].shape, "two alike");
  return {x[1]};
}
Arrays broadcast_shape_of(const Call&, const Arrays& x) {
  want(x.size() == 2, "two shapes");
  const Sizes shape = broadcast(x[0].shape, x[1].shape);
  return {made(DType::Int64, {static_cast<std::int64_t>(shape.size())}, [&](const Sizes& at) {
    return Near(static_cast<Real>(shape[place_of(static_cast<int>(at[0]))]));
  })};
}
Arrays shrink_of(const Call& call, const Arrays& x) {
  const Sizes begin = call.list("begin"), end = call.list("end");
  want(begin.size() == x[0].shape.size() && end.size() == begin.size(), "a range an axis");
  Sizes shape;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    want(begin[i] >= 0 && begin[i] <= end[i] && end[i] <= x[0].shape[i], "a range");
    shape.push_back(end[i] - begin[i]);
  }
  return {moved(x[0], shape, [&](Sizes& at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += begin[i];
  })};
}
Arrays flip_of(const Call& call, const Arrays& x) {
  const std::vector<bool> chosen = axes_in(call.list("axes"), x[0].rank());
  return {moved(x[0], x[0].shape, [&](Sizes& at) {
    for (std::size_t i = 0; i < at.size(); ++i)
      if (chosen[i]) at[i] = x[0].shape[i] - 1 - at[i];
  })};
}

Arrays narrow_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  const std::int64_t begin = call.whole("begin", 0), size = call.whole("size", 1);
  want(begin >= 0 && size >= 0 && begin + size <= x[0].shape[axis], "a range");
  Sizes shape = x[0].shape;
  shape[axis] = size;
  return {moved(x[0], shape, [&](Sizes& at) { at[axis] += begin; })};
}
Arrays unsqueeze_of(const Call& call, const Arrays& x) {
  const int axis = axis_in(call.whole("axis", 0), x[0].rank() + 1);
  Sizes shape = x[0].shape;
  shape.insert(shape.begin() + axis, 1);
  return {reshaped(x[0], shape)};
}
Arrays squeeze_of(const Call& call, const Arrays& x) {
  Sizes shape = x[0].shape;
  if (call.has("axis")) {
    const std::size_t axis = axis_arg(call, x[0]);
    if (shape[axis] == 1) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  } else {
    std::erase(shape, 1);
  }
  return {reshaped(x[0], shape)};
}
Arrays flatten_of(const Call& call, const Arrays& x) {
  const std::int64_t first = call.whole("first", 0);
  const int axis = x[0].rank() == 0 ? 0 : axis_in(first, x[0].rank());
  want(x[0].rank() > 0 || first == 0, "an axis");
  std::int64_t together = 1;
  for (std::size_t i = place_of(axis); i < x[0].shape.size(); ++i) together *= x[0].shape[i];
  Sizes shape(x[0].shape.begin(), x[0].shape.begin() + axis);
  shape.push_back(together);
  return {reshaped(x[0], shape)};
}
Arrays unflatten_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  const Sizes sizes = call.list("sizes");
  Sizes shape = x[0].shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), sizes.begin(), sizes.end());
  std::int64_t whole = 1;
  for (const std::int64_t size : sizes) whole *= size == -1 ? 1 : size;
  want(whole > 0 && x[0].size() > 0, "an open size");
  return {reshaped(x[0], shape)};
}

// Consecutive slices of an axis, one per size.
Arrays parts_of(const Array& x, std::size_t axis, const Sizes& sizes) {
  Arrays out;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    want(size >= 0 && begin + size <= x.shape[axis], "a part");
    Sizes shape = x.shape;
    shape[axis] = size;
    out.push_back(moved(x, shape, [&](Sizes& at) { at[axis] += begin; }));
    begin += size;
  }
  want(begin == x.shape[axis], "parts that do not add up");
  return out;
}
Sizes even_parts(std::int64_t size, std::int64_t part) {
  Sizes sizes;
  for (std::int64_t left = size; left > 0; left -= part) sizes.push_back(std::min(left, part));
  if (sizes.empty()) sizes.push_back(0);
  return sizes;
}
Arrays split_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  if (call.has("sizes")) return parts_of(x[0], axis, call.list("sizes"));
  const std::int64_t size = call.whole("size", 1);
  want(size >= 1, "a size of parts");
  return parts_of(x[0], axis, even_parts(x[0].shape[axis], size));
}
Arrays chunk_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  const std::int64_t count = call.whole("count", 1), size = x[0].shape[axis];
  want(count >= 1, "a number of parts");
  return parts_of(x[0], axis,
                  even_parts(size, std::max<std::int64_t>(1, (size + count - 1) / count)));
}
Arrays repeat_of(const Call& call, const Arrays& x) {
  const Sizes times = call.list("times");
  want(times.size() >= x[0].shape.size(), "a number an axis");
  Sizes inner(times.size() - x[0].shape.size(), 1);
  inner.insert(inner.end(), x[0].shape.begin(), x[0].shape.end());
  Sizes shape = inner;
  for (std::size_t i = 0; i < times.size(); ++i) {
    want(times[i] >= 0, "how often");
    shape[i] *= times[i];
  }
  const Array whole = reshaped(x[0], inner);
  return {moved(whole, shape, [&](Sizes& at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] %= inner[i];
  })};
}
Arrays repeat_interleave_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  const std::int64_t times = call.whole("times", 1);
  want(times >= 0, "how often");
  Sizes shape = x[0].shape;
  shape[axis] *= times;
  return {moved(x[0], shape, [&](Sizes& at) { at[axis] /= times; })};
}
Arrays roll_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  const std::int64_t by = call.whole("by", 1), size = x[0].shape[axis];
  return {moved(x[0], x[0].shape,
                [&](Sizes& at) { at[axis] = ((at[axis] - by) % size + size) % size; })};
}
Arrays unfold_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  const std::int64_t size = call.whole("size", 1), step = call.whole("step", 1);
  want(size >= 1 && step >= 1 && size <= x[0].shape[axis], "a window");
  Sizes shape = x[0].shape;
  shape[axis] = (shape[axis] - size) / step + 1;
  shape.push_back(size);
  return {taken(x[0], shape, [&](const Sizes& at) {
    Sizes from(at.begin(), at.end() - 1);
    from[axis] = at[axis] * step + at.back();
    return x[0][from];
  })};
}
template <bool kUpper>
Arrays triangle_of(const Call& call, const Arrays& x) {
  want(x[0].rank() >= 2, "rows and columns");
  const std::int64_t k = call.whole("k", 0);
  return {taken(x[0], x[0].shape, [&](const Sizes& at) {
    const std::int64_t diagonal = at[at.size() - 1] - at[at.size() - 2];
    return (kUpper ? diagonal >= k : diagonal <= k) ? x[0][at] : Near(0);
  })};
}
Arrays diagonal_of(const Call& call, const Arrays& x) {
  const std::size_t a = axis_arg(call, x[0], "a", -2), b = axis_arg(call, x[0], "b", -1);
  want(a != b, "two axes");
  Sizes shape;
  for (std::size_t i = 0; i < x[0].shape.size(); ++i)
    if (i != a && i != b) shape.push_back(x[0].shape[i]);
  shape.push_back(std::min(x[0].shape[a], x[0].shape[b]));
  return {taken(x[0], shape, [&](const Sizes& at) {
    Sizes from;
    for (std::size_t i = 0, next = 0; i < x[0].shape.size(); ++i)
      from.push_back(i == a || i == b ? at.back() : at[next++]);
    return x[0][from];
  })};
}
Arrays cat_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_arg(call, x[0]);
  DType dtype = x[0].dtype;
  Sizes shape = x[0].shape;
  shape[axis] = 0;
  for (const Array& part : x) {
    want(part.rank() == x[0].rank(), "ranks that differ");
    for (std::size_t i = 0; i < shape.size(); ++i)
      want(i == axis || part.shape[i] == shape[i], "sizes that differ");
    dtype = promote(dtype, part.dtype);
    shape[axis] += part.shape[axis];
  }
  for (const Array& part : x) want(part.dtype == dtype, "types that differ");
  return {taken(x[0], shape, [&](const Sizes& at) {
    Sizes from = at;
    for (const Array& part : x) {
      if (from[axis] < part.shape[axis]) return part[from];
      from[axis] -= part.shape[axis];
    }
    return Near();
  })};
}
Arrays stack_of(const Call& call, const Arrays& x) {
  const auto axis = place_of(axis_in(call.whole("axis", 0), x[0].rank() + 1));
  Sizes shape = x[0].shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis),
               static_cast<std::int64_t>(x.size()));
  for (const Array& part : x)
    want(part.shape == x[0].shape && part.dtype == x[0].dtype, "parts that differ");
  return {taken(x[0], shape, [&](const Sizes& at) {
    Sizes from = at;
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis));
    return x[static_cast<std::size_t>(at[axis])][from];
  })};
}

// Creation: with the shape or type of x, or from numbers.
Array filled(DType dtype, const Sizes& shape, Real value) {
  return made(dtype, shape, [&](const Sizes&) { return as_type(dtype, value); });
}
DType given_type(const Call& call, DType otherwise) {
  return call.has("dtype") ? parse_dtype(call.required("dtype")) : otherwise;
}
Arrays full_of(const Call& call, const Arrays&) {
  return {filled(given_type(call, DType::Float32), call.list("shape"),
                 static_cast<Real>(call.real("value", 0)))};
}
template <int kValue>
Arrays constant_of(const Call& call, const Arrays&) {
  return {filled(given_type(call, DType::Float32), call.list("shape"), kValue)};
}
Arrays full_like_of(const Call& call, const Arrays& x) {
  return {
      filled(given_type(call, x[0].dtype), x[0].shape, static_cast<Real>(call.real("value", 0)))};
}
template <int kValue>
Arrays like_of(const Call& call, const Arrays& x) {
  return {filled(given_type(call, x[0].dtype), x[0].shape, kValue)};
}
Arrays arange_of(const Call& call, const Arrays&) {
  const bool whole = !call.has("fractions");
  const double begin = call.real("begin", 0), end = call.real("end", 0),
               step = call.real("step", 1);
  want(step != 0 && std::fabs((end - begin) / step) < 1000, "a step");
  const auto count =
      std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil((end - begin) / step)));
  const DType dtype = given_type(call, whole ? DType::Int32 : DType::Float32);
  const Rounding of(dtype);
  return {made(dtype, {count}, [&](const Sizes& at) {
    const double value = begin + static_cast<double>(at[0]) * step;
    return whole ? as_type(dtype, static_cast<Real>(value)) : rounded(static_cast<Real>(value));
  })};
}
Arrays linspace_of(const Call& call, const Arrays&) {
  const DType dtype = given_type(call, DType::Float32);
  const Real begin = static_cast<Real>(call.real("begin", 0)),
             end = static_cast<Real>(call.real("end", 1));
  const std::int64_t count = call.whole("count", 1);
  want(count >= 0 && count < 1000 && is_float(dtype), "a number of values");
  const Rounding of(dtype);
  return {made(dtype, {count}, [&](const Sizes& at) {
    const Real part = count < 2 ? 0 : static_cast<Real>(at[0]) / static_cast<Real>(count - 1);
    return rounded(begin + (end - begin) * part, (std::fabs(begin) + std::fabs(end)) * 1e-15L);
  })};
}
Arrays eye_of(const Call& call, const Arrays&) {
  const std::int64_t n = call.whole("n", 1);
  return {made(given_type(call, DType::Float32), {n, n},
               [](const Sizes& at) { return Near(at[0] == at[1]); })};
}

constexpr Definition kMovements[] = {
    {"reshape", reshape_of},
    {"permute", permute_of},
    {"transpose", transpose_of},
    {"movedim", movedim_of},
    {"expand", expand_of},
    {"pad", pad_of},
    {"pad2d", pad2d_of},
    {"shrink", shrink_of},
    {"flip", flip_of},
    {"narrow", narrow_of},
    {"unsqueeze", unsqueeze_of},
    {"squeeze", squeeze_of},
    {"flatten", flatten_of},
    {"unflatten", unflatten_of},
    {"split", split_of},
    {"chunk", chunk_of},
    {"repeat", repeat_of},
    {"repeat_interleave", repeat_interleave_of},
    {"roll", roll_of},
    {"unfold", unfold_of},
    {"triu", triangle_of<true>},
    {"tril", triangle_of<false>},
    {"diagonal", diagonal_of},
    {"cat", cat_of},
    {"stack", stack_of},
    {"full", full_of},
    {"zeros", constant_of<0>},
    {"ones", constant_of<1>},
    {"empty", constant_of<0>},
    {"full_like", full_like_of},
    {"zeros_like", like_of<0>},
    {"ones_like", like_of<1>},
    {"empty_like", like_of<0>},
    {"arange", arange_of},
    {"linspace", linspace_of},
    {"eye", eye_of},
    {"bind", bind_of},
    {"assign", assign_of},
    {"broadcast_shape", broadcast_shape_of},
};

}  // namespace

std::span<const Definition> movement_definitions() { return kMovements; }

}  // namespace touchstone::fuzz::defined
