#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {
namespace {

struct Group {
  Sizes at;                    // in the result, reduced axes kept
  std::vector<Near> elements;  // in row-major order
};

// The elements reduced to each element of the result; all without "axes".
std::vector<Group> groups_of(const Call& call, const Array& x, Sizes& shape) {
  std::vector<bool> gone(x.shape.size(), true);
  if (call.has("axes")) gone = axes_in(call.list("axes"), x.rank());
  Sizes kept = x.shape;
  shape.clear();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (gone[i]) kept[i] = 1;
    if (!gone[i] || (call.has("axes") && call.whole("keep", 0) != 0)) shape.push_back(kept[i]);
  }
  std::vector<Group> groups;
  each(kept, [&](const Sizes& at) { groups.push_back({at, {}}); });
  const Array places{DType::Int64, kept, {}};
  each(x.shape, [&](const Sizes& at) {
    Sizes of = at;
    for (std::size_t i = 0; i < of.size(); ++i)
      if (gone[i]) of[i] = 0;
    groups[places.place(of)].elements.push_back(x[at]);
  });
  return groups;
}

template <class F>
Arrays reduced(const Call& call, const Array& x, DType dtype, F f) {
  Array out{dtype, {}, {}};
  const Rounding of(dtype);
  for (const Group& g : groups_of(call, x, out.shape))
    out.cells.push_back(as_type(dtype, f(g.elements)));
  return {out};
}

Near total(DType dtype, const std::vector<Near>& all) {
  Sum sum;
  Real whole = 0;
  for (const Near& x : all) {
    sum.add(x);
    if (!is_float(dtype))
      whole = as_type(dtype, static_cast<Real>(static_cast<std::int64_t>(
                                 static_cast<std::uint64_t>(static_cast<Wide>(whole)) +
                                 static_cast<std::uint64_t>(static_cast<Wide>(x.v)))))
                  .v;
  }
  return is_float(dtype) ? sum.value() : Near(whole);
}
Near product_of(DType dtype, const std::vector<Near>& all) {
  Near value = 1;
  Real high = 1;
  for (const Near& x : all)
    if (is_float(dtype)) {
      value = value * x;
      high *= std::fmax(1, std::fabs(x.v));
    } else {
      const auto bits = static_cast<std::uint64_t>(static_cast<Wide>(value.v)) *
                        static_cast<std::uint64_t>(static_cast<Wide>(x.v));
      value = as_type(dtype, static_cast<Real>(static_cast<std::int64_t>(bits)));
    }
  // In another order a partial sum may overflow.
  if (is_float(dtype) && std::isfinite(value.v) && all.size() > 2 &&
      std::isinf(as_type(dtype, high).v))
    return anything();
  return value;
}
Near least_of(DType dtype) {
  if (is_float(dtype)) return as_type(dtype, -std::numeric_limits<Real>::infinity());
  if (is_bool(dtype) || is_unsigned(dtype)) return 0;
  return -std::ldexp(Real{1}, info(dtype).digits);
}
Near most_of_type(DType dtype) {
  if (is_float(dtype)) return -least_of(dtype);
  return is_bool(dtype) ? Near(1) : Near(std::ldexp(Real{1}, info(dtype).digits) - 1);
}

Arrays sum_of(const Call& call, const Arrays& x) {
  const DType dtype = summed_type(x[0].dtype);
  return reduced(call, x[0], dtype, [&](const auto& all) { return total(dtype, all); });
}
Near mean_value(const std::vector<Near>& all) {
  return total(DType::Float64, all) / Near(static_cast<Real>(all.size()));
}
Arrays mean_of(const Call& call, const Arrays& x) {
  const DType dtype = real_type(x[0].dtype);
  return reduced(call, cast_to(dtype, x[0]), dtype, [&](const auto& all) {
    const Near value = mean_value(all);
    return rounded(value.v, value.e, 2);
  });
}
Near variance(DType dtype, const std::vector<Near>& all, std::int64_t correction) {
  const Near mean = mean_value(all);
  Sum squares;
  for (const Near& x : all) squares.add((x - mean) * (x - mean));
  const Near sum = squares.value();
  if (std::isfinite(sum.v) && std::isinf(as_type(dtype, 2 * sum.v).v)) return anything();
  const auto count = static_cast<std::int64_t>(all.size());
  // Division by 0: in a type without infinities, maybe the root of the largest number.
  if (count <= correction && !info(dtype).infinities) return anything();
  return sum / Near(static_cast<Real>(std::max<std::int64_t>(count - correction, 0)));
}
template <bool kRoot>
Arrays variance_of(const Call& call, const Arrays& x) {
  const DType dtype = real_type(x[0].dtype);
  return reduced(call, cast_to(dtype, x[0]), dtype, [&](const auto& all) {
    const Near v = variance(dtype, all, call.whole("correction", 1));
    return kRoot ? sqrt(v) : v;
  });
}
template <bool kMost>
Near extreme(DType dtype, const std::vector<Near>& all) {
  Near value = kMost ? least_of(dtype) : most_of_type(dtype);
  for (const Near& x : all) value = kMost ? larger(value, x) : smaller_of(value, x);
  return value;
}
template <bool kMost>
Arrays extreme_of(const Call& call, const Arrays& x) {
  return reduced(call, x[0], x[0].dtype,
                 [&](const auto& all) { return extreme<kMost>(x[0].dtype, all); });
}
Arrays prod_of(const Call& call, const Arrays& x) {
  const DType dtype = summed_type(x[0].dtype);
  return reduced(call, x[0], dtype, [&](const auto& all) { return product_of(dtype, all); });
}
template <bool kAll>
Arrays truth_of(const Call& call, const Arrays& x) {
  return reduced(call, x[0], DType::Bool, [](const auto& all) {
    const auto holds = [](const Near& v) { return v.v != 0; };  // NaN is true
    return Near(kAll ? std::ranges::all_of(all, holds) : std::ranges::any_of(all, holds));
  });
}
Near log_sum_exp(const std::vector<Near>& all) {
  const Near most = extreme<true>(DType::Float64, all);
  const Near shift = std::isfinite(most.v) ? most : Near(0);
  Sum sum;
  for (const Near& x : all) sum.add(exp(x - shift));
  return log(sum.value()) + shift;
}
Arrays logsumexp_of(const Call& call, const Arrays& x) {
  const DType dtype = real_type(x[0].dtype);
  return reduced(call, cast_to(dtype, x[0]), dtype,
                 [](const auto& all) { return log_sum_exp(all); });
}

// The place of the extreme: of NaN if there is one, of ties the first, or the last.
template <bool kMost>
Near place_of(const std::vector<Near>& all, bool last) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Real now = all[i].v, was = all[best].v;
    if (std::isnan(now) || std::isnan(was) ? std::isnan(now) && (last || !std::isnan(was))
        : now == was                       ? last
                                           : kMost == (now > was))
      best = i;
  }
  return static_cast<Real>(best);
}
template <bool kMost>
Arrays position_of(const Call& call, const Arrays& x) {
  Call over = call;
  if (call.has("axis")) {
    over.set("axes", Sizes{call.whole("axis", 0)});
  }
  Array out{DType::Int32, {}, {}};
  for (const Group& g : groups_of(over, x[0], out.shape)) {
    want(!g.elements.empty(), "an empty axis");
    out.cells.push_back(place_of<kMost>(g.elements, call.has("last")));
  }
  if (out.cells.empty() && call.has("axis"))
    want(x[0].shape[static_cast<std::size_t>(axis_in(call.whole("axis", 0), x[0].rank()))] > 0,
         "an empty axis");
  return {out};
}

// Element i reduces elements 0..i.
template <class F>
Arrays scanned(const Call& call, const Array& x, DType dtype, F f) {
  const auto axis = static_cast<std::size_t>(axis_in(call.whole("axis", 0), x.rank()));
  const Rounding of(dtype);
  return {made(dtype, x.shape, [&](const Sizes& at) {
    std::vector<Near> all;
    Sizes from = at;
    for (from[axis] = 0; from[axis] <= at[axis]; ++from[axis]) all.push_back(x[from]);
    return as_type(dtype, f(all));
  })};
}
Arrays cumsum_of(const Call& call, const Arrays& x) {
  const DType dtype = summed_type(x[0].dtype);
  return scanned(call, x[0], dtype, [&](const auto& all) { return total(dtype, all); });
}
Arrays cumprod_of(const Call& call, const Arrays& x) {
  const DType dtype = summed_type(x[0].dtype);
  return scanned(call, x[0], dtype, [&](const auto& all) { return product_of(dtype, all); });
}
template <bool kMost>
Arrays cumulated(const Call& call, const Arrays& x) {
  return scanned(call, x[0], x[0].dtype,
                 [&](const auto& all) { return extreme<kMost>(x[0].dtype, all); });
}
template <bool kMost>
Arrays cumulated_place(const Call& call, const Arrays& x) {
  return scanned(call, x[0], DType::Int64,
                 [](const auto& all) { return place_of<kMost>(all, true); });
}

Arrays matmul_call(const Call&, const Arrays& x) {
  want(x.size() == 2, "two tensors");
  const DType product = promote(x[0].dtype, x[1].dtype);
  return {matmul_of(cast_to(product, x[0]), cast_to(product, x[1]), summed_type(product))};
}

// Letters of the operands and the result; "." is an axis of "...".
struct Notation {
  std::vector<std::string> operands;
  std::string result;
};
Notation notation_of(std::string_view text, const Arrays& x) {
  Notation n;
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  std::size_t widest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t comma = std::min(left.find(','), left.size());
    n.operands.emplace_back(left.substr(0, comma));
    left.remove_prefix(std::min(comma + 1, left.size()));
    const std::size_t dots = n.operands[i].find("...");
    if (dots == std::string::npos) continue;
    want(n.operands[i].size() - 3 <= x[i].shape.size(), "letters");
    widest = std::max(widest, x[i].shape.size() - (n.operands[i].size() - 3));
  }
  // The axes of "..." are named from the last on: '0', '1', ...
  const auto spelled = [&](std::string letters, std::size_t axes) {
    const std::size_t dots = letters.find("...");
    if (dots == std::string::npos) return letters;
    std::string names;
    for (std::size_t i = axes; i-- > 0;) names += static_cast<char>('0' + i);
    return letters.replace(dots, 3, names);
  };
  bool dotted = false;
  for (const std::string& o : n.operands) dotted = dotted || o.find("...") != std::string::npos;
  want(arrow == text.npos || dotted == (text.find("...", arrow) != text.npos), "dots");
  std::string all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::string& o = n.operands[i];
    if (o.find("...") != std::string::npos) o = spelled(o, x[i].shape.size() - (o.size() - 3));
    want(o.size() == x[i].shape.size(), "a letter an axis");
    all += o;
  }
  if (arrow != text.npos) {
    n.result = spelled(std::string(text.substr(arrow + 2)), widest);
    return n;
  }
  std::ranges::sort(all);
  for (std::size_t i = widest; i-- > 0;) n.result += static_cast<char>('0' + i);
  for (const char c : all)
    if (std::ranges::count(all, c) == 1 && c >= 'A') n.result += c;
  return n;
}

Arrays einsum_of(const Call& call, const Arrays& x) {
  const Notation n = notation_of(call.required("notation"), x);
  std::string letters = n.result;
  DType summed = summed_type(x[0].dtype);
  for (std::size_t i = 0; i < x.size(); ++i) {
    summed = promote(summed, summed_type(x[i].dtype));
    for (const char c : n.operands[i])
      if (letters.find(c) == std::string::npos) letters += c;
  }
  Sizes sizes(letters.size(), 1);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < n.operands[i].size(); ++k) {
      std::int64_t& size = sizes[letters.find(n.operands[i][k])];
      const std::int64_t here = x[i].shape[k];
      want(size == here || size == 1 || (here == 1 && n.operands[i][k] < 'A'), "sizes that differ");
      if (size == 1) size = here;
    }
  for (std::size_t i = 0; i < x.size(); ++i)  // only the axes of "..." broadcast
    for (std::size_t k = 0; k < n.operands[i].size(); ++k)
      want(n.operands[i][k] < 'A' || x[i].shape[k] == sizes[letters.find(n.operands[i][k])],
           "sizes that differ");
  for (const char c : n.result)
    want(std::ranges::count(n.result, c) == 1, "a letter twice in the result");
  const Sizes outer(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(n.result.size())),
      inner(sizes.begin() + static_cast<std::ptrdiff_t>(n.result.size()), sizes.end());
  const Rounding of(summed);
  return {made(summed, outer, [&](const Sizes& at) {
    std::vector<Near> terms;
    each(inner, [&](const Sizes& rest) {
      Sizes all = at;
      all.insert(all.end(), rest.begin(), rest.end());
      std::vector<Near> factors;
      for (std::size_t i = 0; i < x.size(); ++i) {
        Sizes from;
        for (std::size_t k = 0; k < n.operands[i].size(); ++k)
          from.push_back(x[i].shape[k] == 1 ? 0 : all[letters.find(n.operands[i][k])]);
        factors.push_back(cast_cell(x[i].dtype, summed, x[i][from]));
      }
      terms.push_back(product_of(summed, factors));
    });
    return as_type(summed, total(summed, terms));
  })};
}

constexpr Definition kReductions[] = {
    {"sum", sum_of},
    {"mean", mean_of},
    {"max", extreme_of<true>},
    {"min", extreme_of<false>},
    {"var", variance_of<false>},
    {"std", variance_of<true>},
    {"prod", prod_of},
    {"any", truth_of<false>},
    {"all", truth_of<true>},
    {"logsumexp", logsumexp_of},
    {"argmax", position_of<true>},
    {"argmin", position_of<false>},
    {"cumsum", cumsum_of},
    {"cumprod", cumprod_of},
    {"cummax", cumulated<true>},
    {"cummin", cumulated<false>},
    {"cummax_index", cumulated_place<true>},
    {"cummin_index", cumulated_place<false>},
    {"matmul", matmul_call},
    {"einsum", einsum_of},
};

}  // namespace

std::span<const Definition> reduction_definitions() { return kReductions; }

Array matmul_of(const Array& x, const Array& y, DType type) {
  want(x.rank() > 0 && y.rank() > 0, "a scalar");
  Sizes a = x.shape, b = y.shape;
  if (x.rank() == 1) a.insert(a.begin(), 1);
  if (y.rank() == 1) b.push_back(1);
  const std::int64_t k = a.back();
  want(b[b.size() - 2] == k, "inner sizes");
  Array left = x, right = y;
  left.shape = a;
  right.shape = b;
  const Sizes rows(a.begin(), a.end() - 2), columns(b.begin(), b.end() - 2);
  Sizes shape = broadcast(rows, columns);
  const std::size_t outer = shape.size();
  if (x.rank() > 1) shape.push_back(a[a.size() - 2]);
  if (y.rank() > 1) shape.push_back(b.back());
  return made(type, shape, [&](const Sizes& at) {
    const Sizes front(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(outer));
    Sizes p = within(front, rows), q = within(front, columns);
    p.push_back(x.rank() > 1 ? at[outer] : 0);
    p.push_back(0);
    q.push_back(0);
    q.push_back(y.rank() > 1 ? at.back() : 0);
    std::vector<Near> terms;
    for (std::int64_t i = 0; i < k; ++i) {
      p.back() = i;
      q[q.size() - 2] = i;
      const Near &u = left[p], &v = right[q];
      if (is_float(x.dtype))
        terms.push_back(u * v);
      else  // a product in the operands' type
        terms.push_back(as_type(x.dtype, product_of(DType::Int64, {u, v})));
    }
    return as_type(type, total(type, terms));
  });
}

}  // namespace touchstone::fuzz::defined
