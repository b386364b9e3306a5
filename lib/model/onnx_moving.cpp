// ONNX's operators that move, select and make elements, and those about shapes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/emit/foreign_types.h"
#include "touchstone/model/onnx_texts.h"

namespace touchstone::model {
namespace {

std::string reshape(Step& s) {
  Sizes shape = s.ints(1);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 0 && s.whole("allowzero", 0) == 0) shape[i] = s.shape().at(i);
  return reshaped(s.name(0), shape);
}
std::string flatten(Step& s) {
  const std::int64_t axis = s.whole("axis", 1);
  const auto split = at(axis < 0 ? axis + s.rank() : axis);
  return reshaped(s.name(0), {count_of(s.shape(), 0, split), count_of(s.shape(), split)});
}
std::string transpose(Step& s) {
  Sizes order = counted(0, s.rank());
  std::ranges::reverse(order);
  return s.rank() < 2 ? s.name(0) : permuted(s.name(0), s.list("perm", order));
}
std::string expand(Step& s) {
  const Sizes out = broadcast(s, s.shape(), s.ints(1));
  Sizes shape(out.size() - s.shape().size(), 1);
  shape.insert(shape.end(), s.shape().begin(), s.shape().end());
  return fmt::format("expand({}, shape={})", reshaped(s.name(0), shape), listed(out));
}
std::string squeeze(Step& s) {
  const bool all = !s.is_set("axes") && !s.has(1);
  const Sizes axes = s.is_set("axes") ? s.list("axes") : s.has(1) ? s.ints(1) : Sizes{};
  std::vector<bool> gone(s.shape().size(), false);
  for (const std::int64_t a : axes) gone[at(s.axis_of(a, s.rank()))] = true;
  Sizes out;
  for (std::size_t i = 0; i < gone.size(); ++i)
    if (all ? s.shape().at(i) != 1 : !gone[i]) out.push_back(s.shape().at(i));
  return reshaped(s.name(0), out);
}
std::string unsqueeze(Step& s) {
  const Sizes axes = s.is_set("axes") ? s.list("axes") : s.ints(1);
  const int rank = s.rank() + static_cast<int>(axes.size());
  Sizes out(at(rank), 0);
  for (const std::int64_t a : axes) out[at(s.axis_of(a, rank))] = 1;
  std::size_t next = 0;
  for (std::int64_t& size : out)
    if (size == 0) size = next < s.shape().size() ? s.shape().at(next++) : 1;
  return reshaped(s.name(0), out);
}

std::string slices(Step& s) {
  const bool by_attributes = s.is_set("starts");
  const Sizes starts = by_attributes ? s.list("starts") : s.ints(1),
              ends = by_attributes ? s.list("ends") : s.ints(2);
  const Sizes axes = by_attributes ? s.list("axes", counted(0, static_cast<int>(starts.size())))
                     : s.has(3)    ? s.ints(3)
                                   : counted(0, static_cast<int>(starts.size()));
  const Sizes steps = !by_attributes && s.has(4) ? s.ints(4) : Sizes(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    s.fail("starts, ends, axes and steps have different lengths");
  Sizes begin(s.shape().size(), 0), end = s.shape(), step(s.shape().size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = at(s.axis_of(axes[i], s.rank()));
    const std::int64_t n = s.shape().at(axis), m = steps[i];
    if (m == 0) s.fail("a step is 0");
    const auto place = [&](std::int64_t v) {
      if (v < 0) v = v < -n ? -1 : v + n;
      return m > 0 ? std::clamp<std::int64_t>(v, 0, n) : std::clamp<std::int64_t>(v, -1, n - 1);
    };
    // As Python's range(n)[start:end:step].
    std::int64_t first = place(starts[i]), stop = place(ends[i]);
    if (m > 0) {
      first = std::max<std::int64_t>(first, 0), stop = std::max<std::int64_t>(stop, 0);
    }
    const std::int64_t far =
        m > 0 ? m : (m == std::numeric_limits<std::int64_t>::min() ? n + 1 : -m);
    const std::int64_t distance = m > 0 ? stop - first : first - stop;
    const std::int64_t count = distance > 0 ? (distance + far - 1) / far : 0;
    step[axis] = std::clamp<std::int64_t>(m, -n - 1, n + 1);
    if (count == 0) {
      begin[axis] = end[axis] = 0;
      step[axis] = 1;
      continue;
    }
    const std::int64_t last = m > 0 ? first + (count - 1) * far : first - (count - 1) * far;
    begin[axis] = std::min(first, last), end[axis] = std::max(first, last) + 1;
    if (count == 1) step[axis] = m > 0 ? 1 : -1;
  }
  return fmt::format("stride({}, steps={})", sliced(s.name(0), begin, end), listed(step));
}

Texts split(Step& s) {
  const auto axis = at(s.axis(0));
  const std::size_t outputs = s.op.outputs.size();
  Sizes sizes = s.is_set("split") ? s.list("split") : s.has(1) ? s.ints(1) : Sizes{};
  if (sizes.empty()) {
    const auto parts = static_cast<std::int64_t>(outputs);
    const std::int64_t each = (s.shape().at(axis) + parts - 1) / std::max<std::int64_t>(parts, 1);
    sizes.assign(outputs, each);
    if (parts > 0) sizes.back() = s.shape().at(axis) - each * (parts - 1);
  }
  if (sizes.size() != outputs) s.fail("it has another number of outputs than of sizes");
  Texts out;
  Sizes begin(s.shape().size(), 0), end = s.shape();
  for (const std::int64_t size : sizes) {
    end[axis] = begin[axis] + size;
    out.outputs.push_back(sliced(s.name(0), begin, end));
    begin[axis] = end[axis];
  }
  return out;
}

std::string concat(Step& s) {
  const std::vector<std::string> names = s.given();
  return names.empty() ? "" : joined(names, s.axis());
}

std::string pad(Step& s) {
  Sizes pads = s.is_set("pads") ? s.list("pads") : s.ints(1), before(s.shape().size(), 0),
        after = before;
  const Sizes axes = s.has(3) ? s.ints(3) : counted(0, s.rank());
  if (pads.size() != 2 * axes.size()) s.fail("pads do not fit the input's rank");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = at(s.axis_of(axes[i], s.rank()));
    before[axis] = pads[i], after[axis] = pads[axes.size() + i];
  }
  std::string x = s.name(0);
  const std::string mode = s.text("mode", "constant");
  Sizes begin(before.size(), 0), end = s.shape();  // negative ones cut
  bool cuts = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 0) begin[i] = -before[i], before[i] = 0, cuts = true;
    if (after[i] < 0) end[i] += after[i], after[i] = 0, cuts = true;
  }
  if (cuts) x = sliced(x, begin, end);
  const std::string value = s.has(2)            ? ", value=" + reshaped(s.name(2), {})
                            : s.is_set("value") ? ", value=" + real_text(s.real("value", 0))
                                                : "";
  return fmt::format("pad({}, before={}, after={}, mode={}{})", x, listed(before), listed(after),
                     mode, mode == "constant" ? value : "");
}

Row on_axis(std::string_view function) {
  return [function](Step& s) {
    return Texts{"",
                 {fmt::format("{}({}, {}, axis={})", function, s.name(0), s.name(1), s.axis(0))}};
  };
}

std::string compress(Step& s) {
  Sizes kept;
  const std::vector<double> condition = s.reals(1);
  const std::int64_t most = s.is_set("axis") ? s.shape().at(at(s.axis(0))) : count_of(s.shape());
  for (std::size_t i = 0; i < condition.size() && at(most) > i; ++i)
    if (condition[i] != 0) kept.push_back(static_cast<std::int64_t>(i));
  const auto count = static_cast<std::int64_t>(kept.size());
  const std::string places = s.constant(array_of(kept, {count}));
  return fmt::format("index_select({}, {}, axis={})",
                     s.is_set("axis") ? s.name(0) : reshaped(s.name(0), {-1}), places,
                     s.is_set("axis") ? s.axis(0) : 0);
}

Row scatter(std::string_view function) {
  return [function](Step& s) {
    const std::string axis = function == "scatter" ? fmt::format(", axis={}", s.axis(0)) : "";
    return Texts{"",
                 {fmt::format("{}({}, {}, {}{}, reduce={})", function, s.name(0), s.name(1),
                              s.name(2), axis, word_text(s.text("reduction", "none")))}};
  };
}

std::string one_hot(Step& s) {
  const auto depth = static_cast<std::int64_t>(s.reals(1).at(0));
  const int rank = s.rank() + 1, axis = s.axis_of(s.whole("axis", -1), rank);
  const std::string hot =
      fmt::format("one_hot(cast(where({0} < 0, {0} + {1}, {0}), i64), classes={1}, dtype=bool)",
                  s.name(0), depth);
  const auto value = [&](std::int64_t i) { return reshaped(sliced(s.name(2), {i}, {i + 1}), {}); };
  return fmt::format("where({}, {}, {})", moved(hot, rank, rank - 1, axis), value(1), value(0));
}

std::string eye_like(Step& s) {
  const std::optional<DType> to =
      s.is_set("dtype") ? emit::dtype_of_onnx(s.whole("dtype", 1)) : s.operand(0).dtype;
  if (!to || s.rank() != 2) return "";
  return fmt::format("one_hot(arange(size={}) + {}, classes={}, dtype={})", s.shape().at(0),
                     s.whole("k", 0), s.shape().at(1), info(*to).short_name);
}

std::string range(Step& s) {
  const long double first = exact_of(s.operand(0)).at(0), end = exact_of(s.operand(1)).at(0),
                    step = exact_of(s.operand(2)).at(0);
  const long double count = std::max(std::ceil((end - first) / step), 0.0L);
  if (!(count <= 1e8L)) s.fail("it has too many numbers");
  return fmt::format("{} + {} * arange(size={}, dtype={})", s.name(0), s.name(2),
                     static_cast<std::int64_t>(count), s.type());
}

std::string constant(Step& s) {
  if (const HostArray* value = s.tensor("value")) return s.constant(*value);
  if (s.is_set("value_float"))
    return s.constant(array_of({s.real("value_float", 0)}, {}, DType::Float32));
  if (s.is_set("value_int")) return s.constant(array_of(Sizes{s.whole("value_int", 0)}, {}));
  if (s.is_set("value_ints")) {
    const Sizes v = s.list("value_ints");
    return s.constant(array_of(v, {static_cast<std::int64_t>(v.size())}));
  }
  if (const auto it = s.op.attributes.find("value_floats"); it != s.op.attributes.end())
    if (const auto* v = std::get_if<std::vector<double>>(&it->second))
      return s.constant(array_of(*v, {static_cast<std::int64_t>(v->size())}, DType::Float32));
  return "";
}
std::string constant_of_shape(Step& s) {
  const Sizes shape = s.ints(0);
  HostArray value = array_of(std::vector<double>{0}, {}, DType::Float32);
  if (const HostArray* given = s.tensor("value")) value = *given;
  if (value.size() != 1) s.fail("its value has not one element");
  value.shape = Sizes(shape.size(), 1);
  return fmt::format("expand({}, shape={})", s.constant(std::move(value)), listed(shape));
}

std::string shape_of(Step& s) {
  const std::int64_t rank = s.rank();
  const auto place = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  const std::int64_t begin = place(s.whole("start", 0)),
                     end = std::max(place(s.whole("end", rank)), begin);
  const Sizes out(s.shape().begin() + begin, s.shape().begin() + end);
  return s.constant(array_of(out, {static_cast<std::int64_t>(out.size())}));
}

std::string non_zero(Step& s) {
  const std::vector<double> values = s.reals(0);
  Sizes places;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  Sizes out;
  for (std::size_t axis = 0; axis < s.shape().size(); ++axis)
    for (const std::int64_t p : places)
      out.push_back(p / count_of(s.shape(), axis + 1) % s.shape().at(axis));
  return s.constant(array_of(out, {s.rank(), static_cast<std::int64_t>(places.size())}));
}

// The distinct slices along an axis, or elements; then where each is first, which of them each
// slice is, and how often each occurs.
Texts unique(Step& s) {
  const bool flat = !s.is_set("axis");
  const auto axis = flat ? 0 : at(s.axis(0));
  const Sizes shape = flat ? Sizes{count_of(s.shape())} : s.shape();
  const std::vector<long double> values = exact_of(s.operand(0));
  const std::int64_t inner = count_of(shape, axis + 1), n = shape[axis];
  std::map<std::vector<long double>, std::array<std::int64_t, 2>> found;  // first place and count
  std::vector<std::vector<long double>> slices(at(n));
  for (std::size_t i = 0; i < values.size(); ++i)
    slices[at(static_cast<std::int64_t>(i) / inner % n)].push_back(values[i]);
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::ranges::any_of(slices[at(i)], [](long double v) { return std::isnan(v); }))
      return {"", {"", "", "", ""}};
    ++found.try_emplace(slices[at(i)], std::array<std::int64_t, 2>{i, 0}).first->second[1];
  }
  std::vector<std::array<std::int64_t, 2>> order;
  for (const auto& [slice, place] : found) order.push_back(place);
  if (s.whole("sorted", 1) == 0) std::ranges::sort(order);
  Sizes first, inverse(at(n)), counts;
  for (const auto& [place, count] : order) {
    for (std::int64_t i = 0; i < n; ++i)
      if (slices[at(i)] == slices[at(place)])
        inverse[at(i)] = static_cast<std::int64_t>(first.size());
    first.push_back(place), counts.push_back(count);
  }
  const auto many = static_cast<std::int64_t>(first.size());
  const std::string places = s.constant(array_of(first, {many}));
  return {"",
          {fmt::format("index_select({}, {}, axis={})",
                       flat ? reshaped(s.name(0), {-1}) : s.name(0), places, axis),
           places, s.constant(array_of(inverse, {n})), s.constant(array_of(counts, {many}))}};
}

// The boxes of each class by falling score, without those that overlap one taken before.
std::string suppressed(Step& s) {
  const std::vector<double> boxes = s.reals(0), scores = s.reals(1);
  const std::int64_t batches = s.shape(1).at(0), classes = s.shape(1).at(1),
                     count = s.shape(1).at(2);
  const std::int64_t most = s.has(2) ? s.ints(2).at(0) : 0;
  const double overlap = s.has(3) ? s.reals(3).at(0) : 0,
               least = s.has(4) ? s.reals(4).at(0) : -HUGE_VAL;
  const bool centers = s.whole("center_point_box", 0) != 0;
  if (s.shape(0).size() != 3 || s.shape(0).at(0) != batches || s.shape(0).at(1) != count ||
      s.shape(0).at(2) != 4)
    s.fail("boxes and scores do not fit");
  struct Box {
    double low[2], high[2];
  };
  const auto box = [&](std::int64_t b, std::int64_t i) {
    const double* v = boxes.data() + 4 * (b * count + i);
    Box out{};
    for (int k : {0, 1}) {
      const double p = v[k], q = v[k + 2];
      out.low[k] = centers ? p - q / 2 : std::min(p, q);
      out.high[k] = centers ? p + q / 2 : std::max(p, q);
    }
    return out;
  };
  const auto area = [](const Box& x) { return (x.high[0] - x.low[0]) * (x.high[1] - x.low[1]); };
  Sizes out;
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t c = 0; c < classes; ++c) {
      const double* score = scores.data() + (b * classes + c) * count;
      Sizes order = counted(0, static_cast<int>(count)), taken;
      std::ranges::stable_sort(order,
                               [&](std::int64_t i, std::int64_t j) { return score[i] > score[j]; });
      for (const std::int64_t i : order) {
        if (static_cast<std::int64_t>(taken.size()) >= most) break;
        if (!(score[i] > least)) continue;
        const Box x = box(b, i);
        const bool hidden = std::ranges::any_of(taken, [&](std::int64_t j) {
          const Box y = box(b, j);
          double both = 1;
          for (int k : {0, 1})
            both *= std::max(std::min(x.high[k], y.high[k]) - std::max(x.low[k], y.low[k]), 0.0);
          return both / (area(x) + area(y) - both) > overlap;
        });
        if (hidden) continue;
        taken.push_back(i);
        out.insert(out.end(), {b, c, i});
      }
    }
  return s.constant(array_of(out, {static_cast<std::int64_t>(out.size() / 3), 3}));
}

}  // namespace

std::vector<NamedRow> moving_rows() {
  return {
      {"Reshape", one(reshape)},
      {"Flatten", one(flatten)},
      {"Transpose", one(transpose)},
      {"Expand", one(expand)},
      {"Squeeze", one(squeeze)},
      {"Unsqueeze", one(unsqueeze)},
      {"Slice", one(slices)},
      {"Split", split},
      {"Concat", one(concat)},
      {"Pad", one(pad)},
      {"Tile",
       [](Step& s) {
         return Texts{"", {fmt::format("tile({}, times={})", s.name(0), listed(s.ints(1)))}};
       }},
      {"Gather", on_axis("index_select")},
      {"GatherElements",
       [](Step& s) {
         Sizes end = s.shape(1);
         const auto axis = at(s.axis(0));
         end.at(axis) = s.shape().at(axis);
         const std::string x = sliced(s.name(0), Sizes(end.size(), 0), end);
         return Texts{"", {fmt::format("take_along({}, {}, axis={})", x, s.name(1), axis)}};
       }},
      {"GatherND", formula("gather_nd({0}, {1}, batch_dims={batch_dims=0})")},
      {"Compress", one(compress)},
      {"ScatterElements", scatter("scatter")},
      {"Scatter", scatter("scatter")},
      {"ScatterND", scatter("scatter_nd")},
      {"OneHot", one(one_hot)},
      {"Trilu",
       [](Step& s) {
         return Texts{"",
                      {fmt::format("tri{}({}, diagonal={})", s.whole("upper", 1) != 0 ? 'u' : 'l',
                                   s.name(0), s.has(1) ? s.ints(1).at(0) : 0)}};
       }},
      {"EyeLike", one(eye_like)},
      {"Range", one(range)},
      {"Constant", one(constant)},
      {"ConstantOfShape", one(constant_of_shape)},
      {"Shape", one(shape_of)},
      {"Size",
       [](Step& s) {
         return Texts{"", {s.constant(array_of(Sizes{count_of(s.shape())}, {}))}};
       }},
      {"NonZero", one(non_zero)},
      {"Unique", unique},
      {"NonMaxSuppression", one(suppressed)},
      {"SpaceToDepth", formula("space_to_depth({0}, block={blocksize=1})")},
      {"DepthToSpace", formula("depth_to_space({0}, block={blocksize=1}, mode={mode=dcr})")},
      {"ReverseSequence",
       formula("reverse_sequence({0}, {1}, time_axis={time_axis=0}, batch_axis={batch_axis=1})")},
  };
}

}  // namespace touchstone::model
