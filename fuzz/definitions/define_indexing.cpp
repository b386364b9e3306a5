#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {

Array combined(Array x, const std::vector<Write>& writes, std::string_view by) {
  const Rounding of(x.dtype);
  std::vector<std::optional<Sum>> sums(x.cells.size());
  std::map<std::size_t, Array> factors;
  for (const Write& w : writes) {
    if (std::ranges::find(w.to, -1) != w.to.end()) continue;
    Near& cell = x[w.to];
    if (by == "none") cell = w.value;
    if (by == "max") cell = larger(cell, w.value);
    if (by == "min") cell = smaller_of(cell, w.value);
    if (by == "mul") {
      const std::size_t place = x.place(w.to);
      Array& all = factors.try_emplace(place, Array{x.dtype, {1}, {cell}}).first->second;
      ++all.shape[0];
      all.cells.push_back(w.value);
    }
    if (by != "add") continue;
    if (!is_float(x.dtype)) {
      const auto sum = static_cast<std::uint64_t>(static_cast<Wide>(cell.v)) +
                       static_cast<std::uint64_t>(static_cast<Wide>(w.value.v));
      cell = is_bool(x.dtype)
                 ? Near(sum != 0)
                 : as_type(x.dtype, Near(static_cast<Real>(static_cast<std::int64_t>(sum))));
      continue;
    }
    std::optional<Sum>& sum = sums[x.place(w.to)];
    if (!sum) sum.emplace().add(cell);
    sum->add(w.value);
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (sums[i]) x.cells[i] = sums[i]->value();
  for (const auto& [place, all] : factors)
    x.cells[place] = cast_to(x.dtype, chained("prod", {all})).cells[0];
  x.signed_zeros = false;
  return x;
}

namespace {

std::size_t axis_of_call(const Call& call, const Array& x, std::int64_t otherwise = -1) {
  return static_cast<std::size_t>(axis_in(call.whole("axis", otherwise), x.rank()));
}

// Integer positions; negative ones count from the end.
std::int64_t position_in(const Array& at, const Sizes& index, std::int64_t size) {
  want(is_integer(at.dtype), "positions");
  const std::int64_t p = at.whole(index);
  want(p >= -size && p < size, "a position");
  return p < 0 ? p + size : p;
}
Array moved_elements(const Array& x, Sizes shape, const std::function<Near(const Sizes&)>& f) {
  Array out = made(x.dtype, std::move(shape), f);
  out.signed_zeros = true;
  return out;
}

// Replaces x's `axis` by the axes of the positions.
Array taken_rows(const Array& x, const Array& at, std::size_t axis) {
  each(at.shape, [&](const Sizes& i) { (void)position_in(at, i, x.shape[axis]); });
  Sizes shape = x.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), at.shape.begin(), at.shape.end());
  return moved_elements(x, shape, [&](const Sizes& out) {
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(axis);
    const Sizes index(begin, begin + at.rank());
    Sizes from(out.begin(), begin);
    from.push_back(position_in(at, index, x.shape[axis]));
    from.insert(from.end(), begin + at.rank(), out.end());
    return x[from];
  });
}
Arrays take_call(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of_call(call, x[0], 0);
  if (!call.has("at")) {
    want(x.size() == 2, "positions");
    return {taken_rows(x[0], x[1], axis)};
  }
  Array at{DType::Int64, {}, {}};
  for (const std::int64_t p : call.list("at")) at.cells.emplace_back(static_cast<Real>(p));
  at.shape = {at.size()};
  return {taken_rows(x[0], at, axis)};
}
Arrays embedding_call(const Call&, const Arrays& x) {
  want(x.size() == 2 && x[0].rank() == 2, "a table and positions");
  return {taken_rows(x[0], x[1], 0)};
}

void want_like(const Array& x, const Array& at, std::size_t axis) {
  want(at.rank() == x.rank(), "ranks");
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    want(i == axis || at.shape[i] <= x.shape[i], "more positions than elements");
  each(at.shape, [&](const Sizes& i) { (void)position_in(at, i, x.shape[axis]); });
}
Arrays gather_call(const Call& call, const Arrays& x) {
  want(x.size() == 2, "positions");
  const std::size_t axis = axis_of_call(call, x[0]);
  want_like(x[0], x[1], axis);
  return {moved_elements(x[0], x[1].shape, [&](const Sizes& at) {
    Sizes from = at;
    from[axis] = position_in(x[1], at, x[0].shape[axis]);
    return x[0][from];
  })};
}
template <bool kAdd>
Arrays scatter_call(const Call& call, const Arrays& x) {
  want(x.size() == 3 && x[2].shape == x[1].shape && x[2].dtype == x[0].dtype, "a source");
  want(!kAdd || !is_bool(x[0].dtype), "sums of bool");
  const std::size_t axis = axis_of_call(call, x[0]);
  want_like(x[0], x[1], axis);
  std::vector<Write> writes;
  each(x[1].shape, [&](const Sizes& at) {
    Sizes to = at;
    to[axis] = position_in(x[1], at, x[0].shape[axis]);
    writes.push_back({to, x[2][at]});
  });
  Array out = combined(x[0], writes, kAdd ? "add" : "none");
  out.signed_zeros = !kAdd;
  return {out};
}
Arrays masked_fill_call(const Call& call, const Arrays& x) {
  want(x.size() == 2 && is_bool(x[1].dtype), "a mask");
  want(broadcast(x[0].shape, x[1].shape) == x[0].shape, "a mask that fits");
  const Near value = as_type(x[0].dtype, static_cast<Real>(call.real("value", 0)));
  want(type_with(call.required("value"), x[0].dtype) == x[0].dtype, "a number of the type");
  return {moved_elements(x[0], x[0].shape, [&](const Sizes& at) {
    return x[1][within(at, x[1].shape)].v != 0 ? value : x[0][at];
  })};
}
Arrays nonzero_call(const Call&, const Arrays& x) {
  Array out{DType::Int64, {0, x[0].rank()}, {}};
  each(x[0].shape, [&](const Sizes& at) {
    if (x[0][at].v == 0) return;  // NaN counts
    ++out.shape[0];
    for (const std::int64_t i : at) out.cells.emplace_back(static_cast<Real>(i));
  });
  return {out};
}
Arrays one_hot_call(const Call& call, const Arrays& x) {
  const std::int64_t classes = call.whole("classes", 1);
  want(is_integer(x[0].dtype) && classes >= 0, "labels");
  Sizes shape = x[0].shape;
  shape.push_back(classes);
  return {made(DType::Bool, shape, [&](const Sizes& at) {
    const Sizes of(at.begin(), at.end() - 1);
    return Near(x[0].whole(of) == at.back());
  })};
}

// The order of a row's elements: stable, NaN largest.
std::vector<std::int64_t> order_of(const Array& x, Sizes at, std::size_t axis, bool descending) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.shape[axis]));
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](std::int64_t i) {
    at[axis] = i;
    return x[at].v;
  };
  const auto before = [](Real p, Real q) { return std::isnan(q) ? !std::isnan(p) : p < q; };
  std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
    Real p = value(a), q = value(b);
    if (descending) std::swap(p, q);
    if (before(p, q) != before(q, p)) return before(p, q);
    return a < b;
  });
  return order;
}
Arrays sorted_call(const Call& call, const Arrays& x) {
  const bool top = call.name == "topk";
  const std::size_t axis = axis_of_call(call, x[0]);
  const bool descending =
      call.arg("order").value_or(top ? "descending" : "ascending") == "descending";
  const std::int64_t k = top ? call.whole("k", 1) : x[0].shape[axis];
  want(k >= 0 && k <= x[0].shape[axis], "so many");
  Sizes shape = x[0].shape;
  shape[axis] = k;
  Array places = made(DType::Int32, shape, [&](const Sizes& at) {
    return Near(static_cast<Real>(
        order_of(x[0], at, axis, descending)[static_cast<std::size_t>(at[axis])]));
  });
  if (call.name == "argsort") return {places};
  const Array values = moved_elements(x[0], shape, [&](const Sizes& at) {
    Sizes from = at;
    from[axis] = places.whole(at);
    return x[0][from];
  });
  return {values, places};
}

// A slice as written: "begin:end:step", each part optional.
struct Steps {
  std::vector<std::int64_t> at;
};
Steps steps_of(std::string_view text, std::int64_t size) {
  std::optional<std::int64_t> part[3];
  for (int i = 0; i < 3; ++i) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (colon > 0) part[i] = number(text.substr(0, colon));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  const std::int64_t step = part[2].value_or(1);
  want(step != 0 && text.empty(), "a step");
  const auto from_end = [&](std::int64_t p) { return p < 0 ? p + size : p; };
  Steps out;
  if (step > 0) {
    const std::int64_t end = std::min(part[1] ? from_end(*part[1]) : size, size);
    for (std::int64_t i = std::max<std::int64_t>(part[0] ? from_end(*part[0]) : 0, 0); i < end;
         i += step)
      out.at.push_back(i);
  } else {
    const std::int64_t end = std::max<std::int64_t>(part[1] ? from_end(*part[1]) : -1, -1);
    for (std::int64_t i = std::min(part[0] ? from_end(*part[0]) : size - 1, size - 1); i > end;
         i += step)
      out.at.push_back(i);
  }
  return out;
}

// The selection of index(): the place in x of each element of the result.
struct Chosen {
  Sizes shape;
  std::vector<Sizes> from;
};
// `parts`: "2", "1:5:2", "new", "...", "tensor" (the call's next tensor).
Chosen chosen_by(const Call& call, const Array& x, std::span<const Array> tensors) {
  std::vector<std::string_view> parts = split(call.arg("parts").value_or(""), ',');
  std::size_t covered = 0, next = 0;
  bool dots = false;
  for (const std::string_view p : parts) {
    if (p == "...") {
      want(!dots, "two ellipses");
      dots = true;
    } else if (p == "tensor") {
      want(next < tensors.size(), "a tensor");
      const Array& t = tensors[next++];
      want(is_bool(t.dtype) || is_integer(t.dtype), "positions");
      covered += is_bool(t.dtype) ? t.shape.size() : 1;
      want(!is_bool(t.dtype) || t.rank() > 0, "a mask of no axis");
    } else if (p != "new") {
      ++covered;
    }
  }
  want(covered <= x.shape.size() && next == tensors.size(), "more parts than axes");
  if (!dots) parts.push_back("...");

  // An axis of the result: it walks one axis of x, or none.
  struct Axis {
    std::int64_t of = -1;
    std::vector<std::int64_t> at;
  };
  struct Positions {
    std::size_t axis;
    Array at;
  };
  std::vector<Axis> axes;
  std::vector<Positions> advanced;
  std::vector<std::int64_t> fixed(x.shape.size(), -1);
  std::size_t axis = 0, front = 0;
  bool together = true;
  std::optional<std::size_t> last;  // part of the last tensor
  bool apart = false;               // another part than a number follows it
  next = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view p = parts[i];
    apart = apart || (p != "tensor" && (p == "new" || p == "..." || p.find(':') != p.npos));
    if (p == "new") {
      axes.push_back({-1, {0}});
    } else if (p == "...") {
      for (std::size_t left = x.shape.size() - covered; left > 0; --left, ++axis)
        axes.push_back({static_cast<std::int64_t>(axis), steps_of("::", x.shape[axis]).at});
    } else if (p == "tensor") {
      const Array& t = tensors[next++];
      if (!last) front = axes.size();
      if (last && apart) together = false;
      last = i;
      apart = false;
      if (!is_bool(t.dtype)) {
        advanced.push_back({axis++, t});
        continue;
      }
      std::vector<Array> found(t.shape.size(), Array{DType::Int64, {0}, {}});
      for (std::size_t k = 0; k < t.shape.size(); ++k)
        want(t.shape[k] == x.shape[axis + k], "a mask that fits");
      each(t.shape, [&](const Sizes& at) {
        if (t[at].v == 0) return;
        for (std::size_t k = 0; k < at.size(); ++k) {
          found[k].cells.emplace_back(static_cast<Real>(at[k]));
          ++found[k].shape[0];
        }
      });
      for (Array& f : found) advanced.push_back({axis++, std::move(f)});
    } else if (p.find(':') != p.npos) {
      axes.push_back({static_cast<std::int64_t>(axis), steps_of(p, x.shape[axis]).at});
      ++axis;
    } else {
      const std::int64_t size = x.shape[axis], at = number(p);
      want(at >= -size && at < size, "a position");
      fixed[axis++] = at < 0 ? at + size : at;
    }
  }
  Sizes wide;
  for (const Positions& a : advanced) wide = broadcast(wide, a.at.shape);
  if (!together) front = 0;
  Chosen out;
  for (std::size_t i = 0; i <= axes.size(); ++i) {
    if (i == front && !advanced.empty())
      out.shape.insert(out.shape.end(), wide.begin(), wide.end());
    if (i < axes.size()) out.shape.push_back(static_cast<std::int64_t>(axes[i].at.size()));
  }
  each(out.shape, [&](const Sizes& at) {
    Sizes from = fixed;
    const auto begin = at.begin() + static_cast<std::ptrdiff_t>(front);
    const Sizes index(begin,
                      advanced.empty() ? begin : begin + static_cast<std::ptrdiff_t>(wide.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i].of >= 0)
        from[static_cast<std::size_t>(axes[i].of)] =
            axes[i].at[static_cast<std::size_t>(at[i < front ? i : i + index.size()])];
    for (const Positions& a : advanced)
      from[a.axis] = position_in(a.at, within(index, a.at.shape), x.shape[a.axis]);
    out.from.push_back(from);
  });
  return out;
}
Arrays index_call(const Call& call, const Arrays& x) {
  const Chosen chosen = chosen_by(call, x[0], std::span(x).subspan(1));
  Array out{x[0].dtype, chosen.shape, {}, true};
  for (const Sizes& from : chosen.from) out.cells.push_back(x[0][from]);
  return {out};
}
// Writes a number or the last tensor to the elements that index() would select.
Arrays set_index_call(const Call& call, const Arrays& x) {
  const bool number_given = call.has("value");
  want(number_given || x.size() >= 2, "values");
  const Chosen chosen =
      chosen_by(call, x[0], std::span(x).subspan(1, x.size() - (number_given ? 1 : 2)));
  Array out = x[0];
  Array values{x[0].dtype, {}, {}};
  if (number_given) {
    want(type_with(call.required("value"), x[0].dtype) == x[0].dtype, "a number of the type");
    values.cells = {as_type(x[0].dtype, static_cast<Real>(call.real("value", 0)))};
  } else {
    values = x.back();
  }
  want(values.dtype == x[0].dtype && broadcast(values.shape, chosen.shape) == chosen.shape,
       "values that fit");
  std::size_t next = 0;
  each(chosen.shape,
       [&](const Sizes& at) { out[chosen.from[next++]] = values[within(at, values.shape)]; });
  return {out};
}

constexpr Definition kIndexing[] = {
    {"take", take_call},
    {"Embedding", embedding_call},
    {"gather", gather_call},
    {"scatter", scatter_call<false>},
    {"scatter_add", scatter_call<true>},
    {"masked_fill", masked_fill_call},
    {"nonzero", nonzero_call},
    {"one_hot", one_hot_call},
    {"sort", sorted_call},
    {"argsort", sorted_call},
    {"topk", sorted_call},
    {"index", index_call},
    {"slice", index_call},
    {"set_index", set_index_call},
    {"set", set_index_call},
};

}  // namespace

std::span<const Definition> indexing_definitions() { return kIndexing; }

}  // namespace touchstone::fuzz::defined
