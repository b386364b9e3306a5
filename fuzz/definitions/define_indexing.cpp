#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {

Array combined(Array x, const std::vector<Write>& writes, std::string_view by) {
  const Rounding of(x.dtype);
  std::map<std::size_t, std::vector<Near>> at;  // the numbers that meet in a place, x's first
  for (const Write& w : writes)
    if (std::ranges::find(w.to, -1) == w.to.end())
      at.try_emplace(x.place(w.to), 1, x[w.to]).first->second.push_back(w.value);
  for (const auto& [place, all] : at)
    x.cells[place] = by == "none" ? all.back() : reduced_to(by, x.dtype, all);
  x.signed_zeros = false;
  return x;
}

std::int64_t position(const Array& index, const Sizes& at, std::int64_t size, Outside outside,
                      bool wraps) {
  want(is_integer(index.dtype), "positions");
  const std::int64_t p = index.whole(at) + (wraps && index.whole(at) < 0 ? size : 0);
  const bool inside = p >= 0 && p < size && index[at].v < 9e18L;
  want(inside || outside == Outside::None, "a position");
  return inside ? p : -1;
}
void want_positions(const Array& index, std::int64_t size) {
  each(index.shape, [&](const Sizes& at) { (void)position(index, at, size, Outside::Refused); });
}
Array selected(const Array& x, const Array& index, std::size_t axis, Outside outside, bool wraps) {
  const std::size_t rank = index.shape.size();
  if (outside == Outside::Refused) want_positions(index, x.shape[axis]);
  return moved(x, spliced(x.shape, axis, 1, index.shape), [&](Sizes& at) {
    const Sizes of = head(tail(at, axis), rank);
    at = spliced(at, axis, rank, {position(index, of, x.shape[axis], outside, wraps)});
  });
}
Array selected_along(const Array& x, const Array& index, std::size_t axis, Outside outside) {
  return moved(x, index.shape, [&](Sizes& at) {
    const std::int64_t p = position(index, at, x.shape[axis], outside);
    at = within(at, x.shape);
    at[axis] = p;
  });
}
std::vector<Write> writes_along(const Array& x, const Array& index, const Array& updates,
                                std::size_t axis, Outside outside) {
  std::vector<Write> writes;
  each(index.shape, [&](const Sizes& at) {
    writes.push_back({at, updates[at]});
    writes.back().to[axis] = position(index, at, x.shape[axis], outside);
  });
  return writes;
}

namespace {

Arrays take_call(const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  Array at{DType::Int64, {}, {}};
  want(call.has("at") || x.size() == 2, "positions");
  for (const std::int64_t p : call.list("at")) at.cells.emplace_back(real(p));
  at.shape = {at.size()};
  return {selected(x[0], call.has("at") ? at : x[1], axis, Outside::Refused)};
}
Arrays embedding_call(const Call&, const Arrays& x) {
  want(x.size() == 2 && x[0].rank() == 2, "a table and positions");
  return {selected(x[0], x[1], 0, Outside::Refused)};
}

std::size_t axis_like(const Call& call, const Array& x, const Array& at) {
  const std::size_t axis = axis_of(call, x, "axis", -1);
  want(at.rank() == x.rank(), "ranks");
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    want(i == axis || at.shape[i] <= x.shape[i], "more positions than elements");
  want_positions(at, x.shape[axis]);
  return axis;
}
Arrays gather_call(const Call& call, const Arrays& x) {
  want(x.size() == 2, "positions");
  return {selected_along(x[0], x[1], axis_like(call, x[0], x[1]), Outside::Refused)};
}
Arrays scatter_call(const Call& call, const Arrays& x) {
  const bool adds = call.name == "scatter_add";
  want(x.size() == 3 && x[2].shape == x[1].shape && x[2].dtype == x[0].dtype, "a source");
  want(!adds || !is_bool(x[0].dtype), "sums of bool");
  const std::size_t axis = axis_like(call, x[0], x[1]);
  Array out =
      combined(x[0], writes_along(x[0], x[1], x[2], axis, Outside::Refused), adds ? "add" : "none");
  out.signed_zeros = !adds;
  return {out};
}
Near given_value(const Call& call, const Array& x) {
  want(type_with(call.required("value"), x.dtype) == x.dtype, "a number of the type");
  return as_type(x.dtype, static_cast<Real>(call.real("value", 0)));
}
Arrays masked_fill_call(const Call& call, const Arrays& x) {
  want(x.size() == 2 && is_bool(x[1].dtype), "a mask");
  want(broadcast(x[0].shape, x[1].shape) == x[0].shape, "a mask that fits");
  const Near value = given_value(call, x[0]);
  return {taken(x[0], x[0].shape, [&](const Sizes& at) {
    return x[1][within(at, x[1].shape)].v != 0 ? value : x[0][at];
  })};
}
// The positions of the elements that are not 0; NaN counts.
Array places_of(const Array& x) {
  Array out{DType::Int64, {0, x.rank()}, {}};
  each(x.shape, [&](const Sizes& at) {
    if (x[at].v == 0) return;
    ++out.shape[0];
    for (const std::int64_t i : at) out.cells.emplace_back(real(i));
  });
  return out;
}
Arrays one_hot_call(const Call& call, const Arrays& x) {
  const std::int64_t classes = call.whole("classes", 1);
  want(is_integer(x[0].dtype) && classes >= 0, "labels");
  return {made(DType::Bool, joined(x[0].shape, {classes}), [&](const Sizes& at) {
    return Near(x[0].whole(head(at, at.size() - 1)) == at.back());
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
  const std::size_t axis = axis_of(call, x[0], "axis", -1);
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
  const Array values = taken(x[0], shape, [&](const Sizes& at) {
    Sizes from = at;
    from[axis] = places.whole(at);
    return x[0][from];
  });
  return {values, places};
}

// A slice as written: "begin:end:step", each part optional.
Sizes steps_of(std::string_view text, std::int64_t size) {
  std::optional<std::int64_t> part[3];
  for (auto& p : part) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (colon > 0) p = number(text.substr(0, colon));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  const std::int64_t step = part[2].value_or(1);
  want(step != 0 && text.empty(), "a step");
  for (auto* p : {&part[0], &part[1]})
    if (*p && **p < 0) **p += size;
  Sizes out;
  const std::int64_t first = step > 0 ? std::max<std::int64_t>(part[0].value_or(0), 0)
                                      : std::min(part[0].value_or(size - 1), size - 1),
                     end = step > 0 ? std::min(part[1].value_or(size), size)
                                    : std::max<std::int64_t>(part[1].value_or(-1), -1);
  for (std::int64_t i = first; step > 0 ? i < end : i > end; i += step) out.push_back(i);
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

  // An axis of the result walks one axis of x, or none: -1.
  std::vector<std::pair<std::int64_t, Sizes>> axes;
  std::vector<std::pair<std::size_t, Array>> advanced;  // positions on an axis
  Sizes fixed(x.shape.size(), -1);
  std::size_t axis = 0, front = 0;
  bool together = true;
  bool apart = false;  // another part than a number follows the last tensor
  next = 0;
  for (const std::string_view p : parts) {
    apart = apart || (p != "tensor" && (p == "new" || p == "..." || p.find(':') != p.npos));
    if (p == "new") {
      axes.push_back({-1, {0}});
    } else if (p == "...") {
      for (std::size_t left = x.shape.size() - covered; left > 0; --left, ++axis)
        axes.push_back({static_cast<std::int64_t>(axis), steps_of("::", x.shape[axis])});
    } else if (p == "tensor") {
      if (next == 0) front = axes.size();
      if (next > 0 && apart) together = false;
      apart = false;
      const Array& t = tensors[next++];
      if (!is_bool(t.dtype)) {
        advanced.emplace_back(axis++, t);
        continue;
      }
      want(t.shape == head(tail(x.shape, axis), t.shape.size()), "a mask that fits");
      const Array found = places_of(t);  // a row each
      for (std::int64_t k = 0; k < t.rank(); ++k)
        advanced.emplace_back(axis++, made(DType::Int64, {found.shape[0]}, [&](const Sizes& at) {
                                return found[{at[0], k}];
                              }));
    } else if (p.find(':') != p.npos) {
      axes.push_back({static_cast<std::int64_t>(axis), steps_of(p, x.shape[axis])});
      ++axis;
    } else {
      const std::int64_t size = x.shape[axis], at = number(p);
      want(at >= -size && at < size, "a position");
      fixed[axis++] = at < 0 ? at + size : at;
    }
  }
  Sizes wide;
  for (const auto& [of, at] : advanced) wide = broadcast(wide, at.shape);
  if (!together) front = 0;
  Chosen out;
  for (const auto& [of, at] : axes) out.shape.push_back(std::ssize(at));
  out.shape = spliced(out.shape, front, 0, wide);
  each(out.shape, [&](const Sizes& at) {
    Sizes from = fixed;
    const Sizes index = head(tail(at, front), wide.size()), rest = spliced(at, front, wide.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i].first >= 0)
        from[static_cast<std::size_t>(axes[i].first)] =
            axes[i].second[static_cast<std::size_t>(rest[i])];
    for (const auto& [of, positions] : advanced)
      from[of] = position(positions, within(index, positions.shape), x.shape[of], Outside::Refused);
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
  const Array values = number_given ? Array{x[0].dtype, {}, {given_value(call, x[0])}} : x.back();
  want(values.dtype == x[0].dtype && broadcast(values.shape, chosen.shape) == chosen.shape,
       "values that fit");
  std::size_t next = 0;
  each(chosen.shape,
       [&](const Sizes& at) { out[chosen.from[next++]] = values[within(at, values.shape)]; });
  return {out};
}

const Definition kIndexing[] = {
    {"take", take_call},
    {"Embedding", embedding_call},
    {"gather", gather_call},
    {"scatter scatter_add", scatter_call},
    {"masked_fill", masked_fill_call},
    {"nonzero", [](const Call&, const Arrays& x) { return Arrays{places_of(x[0])}; }},
    {"one_hot", one_hot_call},
    {"sort argsort topk", sorted_call},
    {"index slice", index_call},
    {"set_index set", set_index_call},
};

}  // namespace

std::span<const Definition> indexing_definitions() { return kIndexing; }

}  // namespace touchstone::fuzz::defined
