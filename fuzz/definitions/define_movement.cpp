#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {

Array moved_axis(const Array& x, int from, int to) {
  want(from >= 0 && to >= 0 && std::max(from, to) < x.rank(), "an axis");
  const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
  Array out = moved(x, spliced(spliced(x.shape, a, 1), b, 0, {x.shape[a]}),
                    [&](Sizes& at) { at = spliced(spliced(at, b, 1), a, 0, {at[b]}); });
  out.signed_zeros = x.signed_zeros;
  return out;
}

std::int64_t continued(std::string_view mode, std::int64_t i, std::int64_t n) {
  if (mode == "constant" && (i < 0 || i >= n)) return -1;
  if (mode == "edge" || n == 1) i = std::clamp<std::int64_t>(i, 0, n - 1);
  const bool reflects = mode == "reflect";
  while (i < 0 || i >= n) {
    if (mode == "wrap") i += i < 0 ? n : -n;
    if (mode != "wrap") i = i < 0 ? (reflects ? 0 : -1) - i : 2 * n - (reflects ? 2 : 1) - i;
  }
  return i;
}

namespace {

Array reshaped(const Array& x, Sizes shape) {
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& size : shape)
    if (size == -1) {
      want(open == nullptr, "two open sizes");
      open = &size;
    } else {
      want(size >= 0, "a size");
      known *= size;
    }
  if (open != nullptr) {
    want(known > 0 && x.size() % known == 0, "an open size");
    *open = x.size() / known;
    known = x.size();
  }
  want(known == x.size(), "another number of elements");
  return {x.dtype, std::move(shape), x.cells, x.signed_zeros};
}
Sizes resized(Sizes shape, std::size_t axis, std::int64_t size) {
  shape[axis] = size;
  return shape;
}

Arrays permute_of(const Call& call, const Arrays& x) {
  Sizes order = call.list("order"), shape;
  want(order.size() == x[0].shape.size(), "an axis each");
  (void)axes_in(order, x[0].rank());
  for (std::int64_t& axis : order) {
    axis = axis_in(axis, x[0].rank());
    shape.push_back(x[0].shape[static_cast<std::size_t>(axis)]);
  }
  return {moved(x[0], shape, [&](Sizes& at) {
    const Sizes here = at;
    for (std::size_t i = 0; i < at.size(); ++i) at[static_cast<std::size_t>(order[i])] = here[i];
  })};
}
Arrays transpose_of(const Call& call, const Arrays& x) {
  const std::size_t a = axis_of(call, x[0], "a", -2), b = axis_of(call, x[0], "b", -1);
  Sizes shape = x[0].shape;
  std::swap(shape[a], shape[b]);
  return {moved(x[0], shape, [&](Sizes& at) { std::swap(at[a], at[b]); })};
}
Arrays movedim_of(const Call& call, const Arrays& x) {
  return {moved_axis(x[0], static_cast<int>(axis_of(call, x[0], "from")),
                     static_cast<int>(axis_of(call, x[0], "to")))};
}
Arrays expand_of(const Call& call, const Arrays& x) {
  Sizes shape = call.list("shape");
  want(shape.size() >= x[0].shape.size(), "fewer axes");
  const Sizes before = joined(Sizes(shape.size() - x[0].shape.size(), 1), x[0].shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) shape[i] = before[i];
    want(shape[i] == before[i] || before[i] == 1, "a size that does not expand");
  }
  return {moved(x[0], shape, [&](Sizes& at) { at = within(at, x[0].shape); })};
}

// `before` and `after` elements more on each axis, or fewer where negative.
Arrays padded(const Call& call, const Array& x, const Sizes& before, const Sizes& after,
              std::string_view mode) {
  Sizes shape = x.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] += before[i] + after[i];
  const Near around = as_type(x.dtype, static_cast<Real>(call.real("value", 0)));
  return {taken(x, shape, [&](Sizes at) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      at[i] = continued(mode, at[i] - before[i], x.shape[i]);
      if (at[i] < 0) return around;
    }
    return x[at];
  })};
}
Arrays pad_of(const Call& call, const Arrays& x) {
  const Sizes before = call.list("before"), after = call.list("after");
  const std::string_view mode = call.arg("mode").value_or("constant");
  want(before.size() == x[0].shape.size() && after.size() == before.size(), "a pair an axis");
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::int64_t most = std::max(before[i], after[i]), size = x[0].shape[i];
    want(before[i] >= 0 && after[i] >= 0, "padding below 0");
    want(most == 0 || mode == "constant" || (mode == "reflect" && most < size) ||
             (mode == "circular" && most <= size) || (mode == "replicate" && size > 0),
         "more than the axis has");
  }
  return padded(call, x[0], before, after,
                mode == "replicate"  ? "edge"
                : mode == "circular" ? "wrap"
                                     : mode);
}
// Pairs from the last axis on.
Arrays pad2d_of(const Call& call, const Arrays& x) {
  const Sizes padding = call.list("padding");
  want(padding.size() % 2 == 0 && padding.size() / 2 <= x[0].shape.size(), "pairs");
  Sizes before(x[0].shape.size(), 0), after = before;
  for (std::size_t i = 0, axis = before.size(); i < padding.size(); i += 2) {
    before[--axis] = padding[i];
    after[axis] = padding[i + 1];
    want(std::max<std::int64_t>(-before[axis], 0) + std::max<std::int64_t>(-after[axis], 0) <=
             x[0].shape[axis],
         "more is taken than is there");
  }
  return padded(call, x[0], before, after, "constant");
}
// The first elements of an axis, their negation, and their sums.
Arrays bind_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  const std::int64_t count = call.whole("count", 1);
  want(call.whole("axis", 0) >= 0, "an axis from the front");
  want(count >= 0 && count <= x[0].shape[axis] && x[0].shape[axis] > 0, "a count");
  want(is_float(x[0].dtype), "floats");
  const Array turned =
      taken(x[0], resized(x[0].shape, axis, count), [&](const Sizes& at) { return -x[0][at]; });
  const Rounding of(x[0].dtype);
  return {turned, made(x[0].dtype, spliced(x[0].shape, axis, 1), [&](const Sizes& at) {
            Sum sum;
            for (std::int64_t i = 0; i < count; ++i) sum.add(turned[spliced(at, axis, 0, {i})]);
            return sum.value();
          })};
}
Arrays assign_of(const Call&, const Arrays& x) {
  want(x.size() == 2 && x[0].dtype == x[1].dtype && x[0].shape == x[1].shape, "two alike");
  return {x[1]};
}
Arrays broadcast_shape_of(const Call&, const Arrays& x) {
  want(x.size() == 2, "two shapes");
  Array out{DType::Int64, {}, {}};
  for (const std::int64_t size : broadcast(x[0].shape, x[1].shape)) out.cells.push_back(real(size));
  out.shape = {out.size()};
  return {out};
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
Array narrowed(const Array& x, std::size_t axis, std::int64_t begin, std::int64_t size) {
  want(begin >= 0 && size >= 0 && begin + size <= x.shape[axis], "a range");
  return moved(x, resized(x.shape, axis, size), [&](Sizes& at) { at[axis] += begin; });
}
Arrays narrow_of(const Call& call, const Arrays& x) {
  return {narrowed(x[0], axis_of(call, x[0]), call.whole("begin", 0), call.whole("size", 1))};
}
std::size_t new_axis(const Call& call, const Array& x) {
  return static_cast<std::size_t>(axis_in(call.whole("axis", 0), x.rank() + 1));
}
Arrays unsqueeze_of(const Call& call, const Arrays& x) {
  return {reshaped(x[0], spliced(x[0].shape, new_axis(call, x[0]), 0, {1}))};
}
Arrays squeeze_of(const Call& call, const Arrays& x) {
  Sizes shape = x[0].shape;
  if (!call.has("axis")) std::erase(shape, 1);
  if (call.has("axis"))
    if (const std::size_t axis = axis_of(call, x[0]); shape[axis] == 1)
      shape = spliced(shape, axis, 1);
  return {reshaped(x[0], shape)};
}
Arrays flatten_of(const Call& call, const Arrays& x) {
  want(x[0].rank() > 0 || call.whole("first", 0) == 0, "an axis");
  const std::size_t axis = x[0].rank() == 0 ? 0 : axis_of(call, x[0], "first");
  std::int64_t together = 1;
  for (const std::int64_t size : tail(x[0].shape, axis)) together *= size;
  return {reshaped(x[0], joined(head(x[0].shape, axis), {together}))};
}
Arrays unflatten_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  const Sizes sizes = call.list("sizes");
  std::int64_t whole = 1;
  for (const std::int64_t size : sizes) whole *= size == -1 ? 1 : size;
  want(whole > 0 && x[0].size() > 0, "an open size");
  return {reshaped(x[0], spliced(x[0].shape, axis, 1, sizes))};
}

// Consecutive slices of an axis: of these sizes, of one size, or so many.
Arrays parts_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  const std::int64_t size = x[0].shape[axis], count = call.whole("count", 1);
  Sizes sizes = call.list("sizes");
  if (!call.has("sizes")) {
    const bool chunks = call.name == "chunk";
    want(chunks ? count >= 1 : call.whole("size", 1) >= 1, "a size or number of parts");
    const std::int64_t part =
        chunks ? std::max<std::int64_t>(1, (size + count - 1) / count) : call.whole("size", 1);
    for (std::int64_t left = size; left > 0; left -= part) sizes.push_back(std::min(left, part));
    if (sizes.empty()) sizes.push_back(0);
  }
  Arrays out;
  std::int64_t begin = 0;
  for (const std::int64_t part : sizes) {
    out.push_back(narrowed(x[0], axis, begin, part));
    begin += part;
  }
  want(begin == size, "parts that do not add up");
  return out;
}
Arrays repeat_of(const Call& call, const Arrays& x) {
  const Sizes times = call.list("times");
  want(times.size() >= x[0].shape.size(), "a number an axis");
  const Sizes inner = joined(Sizes(times.size() - x[0].shape.size(), 1), x[0].shape);
  Sizes shape = inner;
  for (std::size_t i = 0; i < times.size(); ++i) {
    want(times[i] >= 0, "how often");
    shape[i] *= times[i];
  }
  return {moved(reshaped(x[0], inner), shape, [&](Sizes& at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] %= inner[i];
  })};
}
Arrays repeat_interleave_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  const std::int64_t times = call.whole("times", 1);
  want(times >= 0, "how often");
  return {moved(x[0], resized(x[0].shape, axis, x[0].shape[axis] * times),
                [&](Sizes& at) { at[axis] /= times; })};
}
Arrays roll_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  const std::int64_t by = call.whole("by", 1), size = x[0].shape[axis];
  return {moved(x[0], x[0].shape,
                [&](Sizes& at) { at[axis] = ((at[axis] - by) % size + size) % size; })};
}
Arrays unfold_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  const std::int64_t size = call.whole("size", 1), step = call.whole("step", 1);
  want(size >= 1 && step >= 1 && size <= x[0].shape[axis], "a window");
  const Sizes shape = resized(x[0].shape, axis, (x[0].shape[axis] - size) / step + 1);
  return {moved(x[0], joined(shape, {size}), [&](Sizes& at) {
    at[axis] = at[axis] * step + at.back();
    at.pop_back();
  })};
}
Arrays triangle_of(const Call& call, const Arrays& x) {
  want(x[0].rank() >= 2, "rows and columns");
  const std::int64_t k = call.whole("k", 0);
  return {taken(x[0], x[0].shape, [&](const Sizes& at) {
    const std::int64_t diagonal = at[at.size() - 1] - at[at.size() - 2];
    return (call.name == "triu" ? diagonal >= k : diagonal <= k) ? x[0][at] : Near(0);
  })};
}
Arrays diagonal_of(const Call& call, const Arrays& x) {
  const std::size_t a = axis_of(call, x[0], "a", -2), b = axis_of(call, x[0], "b", -1);
  want(a != b, "two axes");
  const std::size_t first = std::min(a, b), second = std::max(a, b);
  const std::int64_t size = std::min(x[0].shape[a], x[0].shape[b]);
  return {moved(x[0], joined(spliced(spliced(x[0].shape, second, 1), first, 1), {size}),
                [&](Sizes& at) {
                  const std::int64_t i = at.back();
                  at.pop_back();
                  at = spliced(spliced(at, first, 0, {i}), second, 0, {i});
                })};
}
Arrays cat_of(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  DType dtype = x[0].dtype;
  Sizes shape = resized(x[0].shape, axis, 0);
  for (const Array& part : x) {
    want(part.rank() == x[0].rank(), "ranks that differ");
    want(resized(part.shape, axis, 0) == resized(shape, axis, 0), "sizes that differ");
    dtype = promote(dtype, part.dtype);
    shape[axis] += part.shape[axis];
  }
  for (const Array& part : x) want(part.dtype == dtype, "types that differ");
  return {taken(x[0], shape, [&](Sizes at) {
    std::size_t part = 0;
    for (; at[axis] >= x[part].shape[axis]; ++part) at[axis] -= x[part].shape[axis];
    return x[part][at];
  })};
}
Arrays stack_of(const Call& call, const Arrays& x) {
  const std::size_t axis = new_axis(call, x[0]);
  for (const Array& part : x)
    want(part.shape == x[0].shape && part.dtype == x[0].dtype, "parts that differ");
  return {taken(x[0], spliced(x[0].shape, axis, 0, {std::ssize(x)}), [&](const Sizes& at) {
    return x[static_cast<std::size_t>(at[axis])][spliced(at, axis, 1)];
  })};
}

// Creation: with the shape or type of x, or from numbers.
DType given_type(const Call& call, DType otherwise) {
  return call.has("dtype") ? parse_dtype(call.required("dtype")) : otherwise;
}
Arrays full_of(const Call& call, const Arrays& x) {
  const bool like = call.name.ends_with("_like");
  const Real value = call.name.starts_with("full") ? static_cast<Real>(call.real("value", 0))
                                                   : Real(call.name.starts_with("ones"));
  const DType dtype = given_type(call, like ? x[0].dtype : DType::Float32);
  return {made(dtype, like ? x[0].shape : call.list("shape"),
               [&](const Sizes&) { return as_type(dtype, value); })};
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
    const Real part = count < 2 ? 0 : real(at[0]) / real(count - 1);
    return rounded(begin + (end - begin) * part, (std::fabs(begin) + std::fabs(end)) * 1e-15L);
  })};
}
Arrays eye_of(const Call& call, const Arrays&) {
  const std::int64_t n = call.whole("n", 1);
  return {made(given_type(call, DType::Float32), {n, n},
               [](const Sizes& at) { return Near(at[0] == at[1]); })};
}

const Definition kMovements[] = {
    {"reshape",
     [](const Call& call, const Arrays& x) -> Arrays {
       return {reshaped(x[0], call.list("shape"))};
     }},
    // clang-format off
    {"permute", permute_of}, {"transpose", transpose_of}, {"movedim", movedim_of},
    {"expand", expand_of}, {"pad", pad_of}, {"pad2d", pad2d_of}, {"shrink", shrink_of},
    {"flip", flip_of}, {"narrow", narrow_of}, {"unsqueeze", unsqueeze_of}, {"squeeze", squeeze_of},
    {"flatten", flatten_of}, {"unflatten", unflatten_of}, {"split chunk", parts_of},
    {"repeat", repeat_of}, {"repeat_interleave", repeat_interleave_of}, {"roll", roll_of},
    {"unfold", unfold_of}, {"triu tril", triangle_of}, {"diagonal", diagonal_of}, {"cat", cat_of},
    {"stack", stack_of},
    {"full zeros ones empty full_like zeros_like ones_like empty_like", full_of},
    {"arange", arange_of}, {"linspace", linspace_of}, {"eye", eye_of}, {"bind", bind_of},
    {"assign", assign_of}, {"broadcast_shape", broadcast_shape_of},
    // clang-format on
};

}  // namespace

std::span<const Definition> movement_definitions() { return kMovements; }

}  // namespace touchstone::fuzz::defined
