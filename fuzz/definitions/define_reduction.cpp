#include <algorithm>
#include <functional>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {
namespace {

using Cells = std::vector<Near>;

// The elements reduced to each element of the result, in row-major order; all without "axes".
std::vector<Cells> groups_of(const Call& call, const Array& x, Sizes& shape) {
  std::vector<bool> gone(x.shape.size(), true);
  if (call.has("axes")) gone = axes_in(call.list("axes"), x.rank());
  Array places{DType::Int64, x.shape, {}};
  shape.clear();
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) places.shape[i] = 1;
    if (!gone[i] || (call.has("axes") && call.whole("keep", 0) != 0))
      shape.push_back(places.shape[i]);
  }
  std::vector<Cells> groups;
  each(places.shape, [&](const Sizes&) { groups.emplace_back(); });
  each(x.shape,
       [&](const Sizes& at) { groups[places.place(within(at, places.shape))].push_back(x[at]); });
  return groups;
}

Near total(DType dtype, const Cells& all) {
  Sum sum;
  Near whole = 0;
  for (const Near& x : all)
    if (is_float(dtype))
      sum.add(x);
    else
      whole = as_type(dtype, modular(whole, x, std::plus<>()));
  return is_float(dtype) ? sum.value() : whole;
}
Near product_of(DType dtype, const Cells& all) {
  Near value = 1;
  Real high = 1;
  for (const Near& x : all) {
    value = is_float(dtype) ? value * x : as_type(dtype, modular(value, x, std::multiplies<>()));
    high *= std::fmax(1, std::fabs(x.v));
  }
  // In another order a partial product may overflow.
  if (is_float(dtype) && std::isfinite(value.v) && all.size() > 2 &&
      std::isinf(as_type(dtype, high).v))
    return anything();
  return value;
}
template <bool kMost>
Near extreme(DType dtype, const Cells& all) {
  Near value = kMost ? lowest(dtype) : is_float(dtype) ? -lowest(dtype) : Near(most_of(dtype));
  for (const Near& x : all) value = kMost ? larger(value, x) : smaller_of(value, x);
  return value;
}

Near mean_value(const Cells& all) {
  return total(DType::Float64, all) / Near(real(std::ssize(all)));
}
Near variance(DType dtype, const Cells& all, std::int64_t correction) {
  const Near mean = mean_value(all);
  Sum squares;
  for (const Near& x : all) squares.add((x - mean) * (x - mean));
  const Near sum = squares.value();
  if (std::isfinite(sum.v) && std::isinf(as_type(dtype, 2 * sum.v).v)) return anything();
  const std::int64_t count = std::ssize(all);
  // Division by 0: in a type without infinities, maybe the root of the largest number.
  if (count <= correction && !info(dtype).infinities) return anything();
  return sum / Near(real(std::max<std::int64_t>(count - correction, 0)));
}
Near log_sum_exp(const Cells& all) {
  const Near most = extreme<true>(DType::Float64, all);
  const Near shift = std::isfinite(most.v) ? most : Near(0);
  Sum sum;
  for (const Near& x : all) sum.add(exp(x - shift));
  return log(sum.value()) + shift;
}
bool is_true(const Near& x) { return x.v != 0; }  // NaN is

// The place of the extreme: of NaN if there is one, of ties the first, or the last.
template <bool kMost>
Near place_of(const Cells& all, bool last) {
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
  if (call.has("axis")) over.set("axes", Sizes{call.whole("axis", 0)});
  Array out{DType::Int32, {}, {}};
  for (const Cells& all : groups_of(over, x[0], out.shape)) {
    want(!all.empty(), "an empty axis");
    out.cells.push_back(place_of<kMost>(all, call.has("last")));
  }
  want(!out.cells.empty() || !call.has("axis") || x[0].shape[axis_of(call, x[0])] > 0,
       "an empty axis");
  return {out};
}

// A reduction of "axes", or all, or a scan along an axis, where element i reduces elements 0 to i.
using Reduce = Near (*)(const Call& call, DType dtype, const Cells& all);
Arrays reduced_by(Reduce f, DType dtype, const Call& call, const Arrays& x) {
  Array out{dtype, {}, {}};
  const Rounding of(dtype);
  for (const Cells& all : groups_of(call, is_float(dtype) ? cast_to(dtype, x[0]) : x[0], out.shape))
    out.cells.push_back(as_type(dtype, f(call, dtype, all)));
  return {out};
}
Arrays scanned(Reduce f, DType dtype, const Call& call, const Arrays& x) {
  const std::size_t axis = axis_of(call, x[0]);
  const Rounding of(dtype);
  return {made(dtype, x[0].shape, [&](const Sizes& at) {
    Cells all;
    Sizes from = at;
    for (from[axis] = 0; from[axis] <= at[axis]; ++from[axis]) all.push_back(x[0][from]);
    return as_type(dtype, f(call, dtype, all));
  })};
}

Arrays matmul_call(const Call&, const Arrays& x) {
  want(x.size() == 2, "two tensors");
  const DType product = promote(x[0].dtype, x[1].dtype);
  return {cast_to(product,
                  matmul_of(cast_to(product, x[0]), cast_to(product, x[1]), summed_type(product)))};
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
  const Sizes outer = head(sizes, n.result.size()), inner = tail(sizes, n.result.size());
  const Rounding of(summed);
  return {made(summed, outer, [&](const Sizes& at) {
    Cells terms;
    each(inner, [&](const Sizes& rest) {
      const Sizes all = joined(at, rest);
      Cells factors;
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

struct Reduction {
  std::string_view name;
  Arrays (*over)(Reduce f, DType dtype, const Call& call, const Arrays& x);
  DType (*type)(DType dtype);
  Reduce f;
};
// clang-format off
DType own(DType dtype) { return dtype; }
template <DType To>
DType always(DType) { return To; }
constexpr Reduction kReductions[] = {
    {"sum", reduced_by, summed_type, [](const Call&, DType t, const Cells& all) { return total(t, all); }},
    {"prod", reduced_by, summed_type, [](const Call&, DType t, const Cells& all) { return product_of(t, all); }},
    {"max", reduced_by, own, [](const Call&, DType t, const Cells& all) { return extreme<true>(t, all); }},
    {"min", reduced_by, own, [](const Call&, DType t, const Cells& all) { return extreme<false>(t, all); }},
    {"mean", reduced_by, real_type, [](const Call&, DType, const Cells& all) {
       const Near value = mean_value(all);
       return rounded(value.v, value.e, 2);
     }},
    {"var", reduced_by, real_type, [](const Call& call, DType t, const Cells& all) { return variance(t, all, call.whole("correction", 1)); }},
    {"std", reduced_by, real_type, [](const Call& call, DType t, const Cells& all) { return sqrt(variance(t, all, call.whole("correction", 1))); }},
    {"logsumexp", reduced_by, real_type, [](const Call&, DType, const Cells& all) { return log_sum_exp(all); }},
    {"any", reduced_by, always<DType::Bool>, [](const Call&, DType, const Cells& all) { return Near(std::ranges::any_of(all, is_true)); }},
    {"all", reduced_by, always<DType::Bool>, [](const Call&, DType, const Cells& all) { return Near(std::ranges::all_of(all, is_true)); }},
    {"cumsum", scanned, summed_type, [](const Call&, DType t, const Cells& all) { return total(t, all); }},
    {"cumprod", scanned, summed_type, [](const Call&, DType t, const Cells& all) { return product_of(t, all); }},
    {"cummax", scanned, own, [](const Call&, DType t, const Cells& all) { return extreme<true>(t, all); }},
    {"cummin", scanned, own, [](const Call&, DType t, const Cells& all) { return extreme<false>(t, all); }},
    {"cummax_index", scanned, always<DType::Int64>, [](const Call&, DType, const Cells& all) { return place_of<true>(all, true); }},
    {"cummin_index", scanned, always<DType::Int64>, [](const Call&, DType, const Cells& all) { return place_of<false>(all, true); }},
};
// clang-format on

}  // namespace

std::span<const Definition> reduction_definitions() {
  static const std::vector<Definition> all = [] {
    std::vector<Definition> rows = {{"argmax", position_of<true>},
                                    {"argmin", position_of<false>},
                                    {"matmul", matmul_call},
                                    {"einsum", einsum_of}};
    for (const Reduction& r : kReductions)
      rows.push_back({r.name, [&r](const Call& call, const Arrays& x) {
                        return r.over(r.f, r.type(x[0].dtype), call, x);
                      }});
    return rows;
  }();
  return all;
}

Near reduced_to(std::string_view by, DType dtype, const Cells& all) {
  return by == "add"   ? total(dtype, all)
         : by == "mul" ? as_type(dtype, product_of(summed_type(dtype), all))
         : by == "max" ? extreme<true>(dtype, all)
                       : extreme<false>(dtype, all);
}

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
  const Sizes rows = head(a, a.size() - 2), columns = head(b, b.size() - 2);
  Sizes shape = broadcast(rows, columns);
  const std::size_t outer = shape.size();
  if (x.rank() > 1) shape.push_back(a[a.size() - 2]);
  if (y.rank() > 1) shape.push_back(b.back());
  return made(type, shape, [&](const Sizes& at) {
    const Sizes front = head(at, outer), p = within(front, rows), q = within(front, columns);
    const std::int64_t row = x.rank() > 1 ? at[outer] : 0, column = y.rank() > 1 ? at.back() : 0;
    Cells terms;
    for (std::int64_t i = 0; i < k; ++i) {
      const Near &u = left[joined(p, {row, i})], &v = right[joined(q, {i, column})];
      if (is_float(x.dtype))
        terms.push_back(u * v);
      else  // a product in the operands' type
        terms.push_back(as_type(x.dtype, modular(u, v, std::multiplies<>())));
    }
    return as_type(type, total(type, terms));
  });
}

}  // namespace touchstone::fuzz::defined
