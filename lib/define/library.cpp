#include "touchstone/define/library.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "touchstone/define/parts.h"

namespace touchstone::define {

void require_float(const Array& x, std::string_view what) {
  if (!x.is_number() && !is_float(x.dtype()))
    throw DTypeError(
        fmt::format("{} takes floats, not {}; cast the operand first", what, name(x.dtype())));
}
void require_rank(const Array& x, int least, std::string_view what, std::string_view of) {
  if (x.rank() < least)
    throw ShapeError(fmt::format("{}: {} needs {} ax{}, shape {} has {}", what, of, least,
                                 least == 1 ? "is" : "es", str(x.shape()), x.rank()));
}
Array exp(const Array& x) { return Array::call(NamedFunction::Exp, {x}); }
Array log(const Array& x) { return Array::call(NamedFunction::Log, {x}); }
Array count(std::int64_t n) { return Array::number(std::to_string(n)); }
Array over(const Array& x, const Array& divisor, bool reciprocal) {
  if (!reciprocal) return x / divisor;
  return x * (Array(1) / (divisor.is_number() ? typed(divisor, x.dtype()) : divisor));
}
Array stage(const Array& x, const Way& way, std::string_view name, bool may_narrow) {
  if (way.stores != nullptr) {
    way.stores->known.emplace(name);
    for (const auto& [stage, type] : way.stores->types)
      if (stage == name) return x.cast(type).cast(x.dtype());
  }
  return may_narrow && way.stored ? wide(narrowed(x, *way.stored)) : x;
}
Array typed(const Array& number, DType dtype) {
  return Array::constant(Scalar::parse(dtype, number.node()->number));
}

namespace {

Array rsqrt(const Array& x) { return Array::call(NamedFunction::Rsqrt, {x}); }
Array sqrt(const Array& x) { return Array::apply(Op::Sqrt, {x}); }

std::int64_t terms(const Array& x, const Axes& axes) {
  std::int64_t n = 1;
  for (const int axis : axes) n = checked_mul(n, x.size(axis));
  return n;
}

// x - max(x) of each row, so that exponentials cannot overflow.
Array centred(const Array& x, int axis, const Way& way) {
  return way.unshifted ? x : x - max(x, {axis}, true);
}
// exp(centred(x)).
Array exponentials(const Array& x, int axis, const Way& way) {
  if (!way.base2) return exp(centred(x, axis, way));
  const Array log2_e = Array::number("1.4426950408889634");
  const Array scaled = x * log2_e;
  return Array::apply(Op::Exp2, {way.unshifted ? scaled : scaled - max(x, {axis}, true) * log2_e});
}

// Operands broadcast to x.
Array scaled(const Array& x, const std::optional<Array>& exact_mean, const Array& variance,
             const std::optional<Array>& weight, const std::optional<Array>& bias, const Array& eps,
             const Way& way) {
  const Array spread = stage(variance, way, "variance", false);
  const auto mean = exact_mean ? std::optional(stage(*exact_mean, way, "mean")) : std::nullopt;
  if (way.scaling == Scaling::Divided) {
    const Array y = (mean ? x - *mean : x) / sqrt(spread + eps);
    const Array weighted = weight ? y * *weight : y;
    return bias ? weighted + *bias : weighted;
  }
  const Array r = stage(rsqrt(spread + eps), way, "r");
  const bool early = way.scaling == Scaling::ScaleFirst || way.scaling == Scaling::Folded;
  const Array s = early && weight ? r * *weight : r;
  if (way.scaling == Scaling::Folded && mean)
    return x * s + (bias ? *bias - *mean * s : -(*mean * s));
  Array y = !mean ? x * s : way.scaling == Scaling::Shifted ? x * s - *mean * s : (x - *mean) * s;
  if (weight && !early) y = y * *weight;
  return bias ? y + *bias : y;
}

}  // namespace

Axes all_axes(const Array& x) {
  Axes axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Sizes for_each_axis(const Sizes& values, std::size_t axes, std::string_view what) {
  if (values.size() == 1) return Sizes(axes, values[0]);
  if (values.size() != axes)
    throw ShapeError(fmt::format("{} has {} entries for {} axes", what, values.size(), axes));
  return values;
}
Pairs whole_ranges(const Sizes& shape) {
  Pairs ranges;
  for (const std::int64_t size : shape) ranges.emplace_back(0, size);
  return ranges;
}
std::int64_t product_of(const Sizes& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) all = checked_mul(all, size);
  return all;
}
Axes last_axes(int count) {
  Axes axes;
  for (int i = -count; i < 0; ++i) axes.push_back(i);
  return axes;
}
Array spaced(const Array& x, std::int64_t step, int at) {
  const auto axis = static_cast<std::size_t>(x.rank() - at);
  Sizes split = x.shape(), joined = x.shape();
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  Pairs gaps(split.size());
  gaps[axis + 1].second = step - 1;
  joined[axis] = checked_mul(joined[axis], step);
  return x.reshape(split).pad(gaps).reshape(joined);
}
Array with_axis(const Array& x, int at, std::int64_t size) {
  Sizes shape = x.shape();
  shape.insert(shape.begin() + at, 1);
  const Array split = x.reshape(shape);
  shape[static_cast<std::size_t>(at)] = size;
  return split.expand(shape);
}
Array computed_once(const Array& x) { return max(with_axis(x, x.rank()), {-1}); }

bool is_narrow(const Array& x, const Way& way) {
  return !way.own_type && !x.is_number() && is_float(x.dtype()) && itemsize(x.dtype()) < 4;
}
Array wide(const Array& x) { return is_narrow(x) ? x.cast(DType::Float32) : x; }
std::optional<Array> wide(const std::optional<Array>& x) {
  return x ? std::optional(wide(*x)) : std::nullopt;
}
Way in_stages(Way way, const Array& x) {
  if (way.narrow_stages) way.stored = x.dtype();
  return way;
}
Array narrowed(const Array& x, DType to) { return Array::apply(Op::Noop, {x.cast(to)}); }

Array abs(const Array& x) { return is_unsigned(x.dtype()) ? x : maximum(x, -x); }
Array minimum(const Array& a, const Array& b) {
  const DType type = maximum(a, b).dtype();
  // Uses MAX for its NaN rule; the least integer cannot be negated.
  if (!is_float(type)) return where(less(b, a), b, a);
  return -maximum(-a.cast(type), -b.cast(type));
}
Array relu(const Array& x) { return maximum(x, Array::number("0")); }

Array sum(const Array& x, const Axes& axes, bool keep, std::optional<DType> accumulator) {
  return x.reduce(Op::ReduceSum, axes, keep, accumulator);
}
Array max(const Array& x, const Axes& axes, bool keep) {
  return x.reduce(Op::ReduceMax, axes, keep);
}
Array reversed(const Array& x) {
  if (is_float(x.dtype())) return -x;
  const std::uint64_t ones = is_bool(x.dtype()) ? 1 : ~std::uint64_t{0};
  return Array::apply(Op::Xor, {x, Array::constant(Scalar::from_bits(x.dtype(), ones))});
}
Array min(const Array& x, const Axes& axes, bool keep) {
  return reversed(max(reversed(x), axes, keep));
}
Array mean(const Array& x, const Axes& axes, bool keep, const Way& way) {
  if (is_narrow(x, way)) return narrowed(mean(wide(x), axes, keep, way), x.dtype());
  require_float(x, "mean");
  const std::int64_t n = terms(x, axes);
  if (way.running && n > 0) return sum(over(x, count(n), true), axes, keep);
  return over(sum(x, axes, keep), count(n), way.reciprocal && n > 0);
}
Array var(const Array& x, const Axes& axes, int correction, bool keep, const Way& way) {
  if (is_narrow(x, way)) return narrowed(var(wide(x), axes, correction, keep, way), x.dtype());
  require_float(x, "var");
  const std::int64_t n = terms(x, axes);
  const Array divisor = count(std::max<std::int64_t>(checked_sub(n, correction), 0));
  const bool reciprocal = way.reciprocal && n > correction;
  if (way.moments) {
    const Array m = mean(x, axes, keep);
    return over(sum(x * x, axes, keep) - count(n) * m * m, divisor, reciprocal);
  }
  const Array off = x - mean(x, axes, true, way);
  return over(sum(off * off, axes, keep), divisor, reciprocal);
}
Array std_of(const Array& x, const Axes& axes, int correction, bool keep, const Way& way) {
  if (is_narrow(x, way)) return narrowed(std_of(wide(x), axes, correction, keep, way), x.dtype());
  return sqrt(var(x, axes, correction, keep, way));
}

Array softmax(const Array& x, int axis, const Way& way) {
  if (is_narrow(x, way)) return narrowed(softmax(wide(x), axis, in_stages(way, x)), x.dtype());
  require_float(x, "softmax");
  const Array e = stage(exponentials(x, axis, way), way, "exponentials");
  return over(e, stage(sum(e, {axis}, true), way, "sum"), way.reciprocal);
}
Array log_softmax(const Array& x, int axis, const Way& way) {
  if (is_narrow(x, way)) return narrowed(log_softmax(wide(x), axis, in_stages(way, x)), x.dtype());
  require_float(x, "log_softmax");
  const Array off = stage(centred(x, axis, way), way, "shifted");
  const Array total = stage(sum(stage(exp(off), way, "exponentials"), {axis}, true), way, "sum");
  const Array log_sum = stage(log(total), way, "log");
  return way.sum_first ? x - (max(x, {axis}, true) + log_sum) : off - log_sum;
}
Array logsumexp(const Array& x, int axis, const Way& way) {
  if (is_narrow(x, way)) return narrowed(logsumexp(wide(x), axis, in_stages(way, x)), x.dtype());
  require_float(x, "logsumexp");
  if (way.unshifted) return log(sum(exp(x), {axis}));
  const Array most = max(x, {axis}, true);
  // A row with an infinite maximum is not shifted: inf - inf would be NaN instead of that infinity.
  const Array off = info(most.dtype()).infinities
                        ? where(equal(abs(most), Array::number("inf")), Array::number("0"), most)
                        : most;
  Sizes kept = x.shape();
  kept.erase(kept.begin() + axis_of(x, axis));
  const Array e = stage(exp(stage(x - off, way, "shifted")), way, "exponentials");
  return stage(log(stage(sum(e, {axis}), way, "sum")), way, "log") + off.reshape(kept);
}
Array layer_norm(const Array& x, const std::optional<Array>& weight,
                 const std::optional<Array>& bias, const Array& eps, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(layer_norm(wide(x), wide(weight), wide(bias), eps, in_stages(way, x)),
                    x.dtype());
  require_float(x, "layer_norm");
  require_rank(x, 1, "layer_norm", "x");
  return scaled(x, mean(x, {-1}, true, way), var(x, {-1}, 0, true, way), weight, bias, eps, way);
}
Array group_norm(const Array& x, std::int64_t groups, const std::optional<Array>& weight,
                 const std::optional<Array>& bias, const Array& eps, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(group_norm(wide(x), groups, wide(weight), wide(bias), eps, in_stages(way, x)),
                    x.dtype());
  require_float(x, "group_norm");
  require_rank(x, 2, "group_norm", "x");
  if (groups < 1 || x.size(1) % groups != 0)
    throw ShapeError(fmt::format("group_norm: the {} channels of {} do not make {} groups",
                                 x.size(1), str(x.shape()), groups));
  const std::int64_t n = x.size(0), channels = x.size(1), each = channels / groups;
  const Sizes& sizes = x.shape();
  const std::int64_t places = std::accumulate(sizes.begin() + 2, sizes.end(), std::int64_t{1},
                                              [](auto a, auto b) { return checked_mul(a, b); });
  const Array grouped = x.reshape({n, groups, each, places});
  Sizes beside(x.shape().size(), 1);
  beside[1] = channels;
  const auto of_channels = [&](const std::optional<Array>& a) {
    return a ? std::optional(a->reshape(beside)) : a;
  };
  // One for each channel, beside x in its own shape, as x in groups would be summed once an
  // element.
  beside[0] = n;
  const auto of_groups = [&](const Array& a) {
    return a.reshape({n, groups, 1}).expand({n, groups, each}).reshape(beside);
  };
  const Array average = of_groups(mean(grouped, {2, 3}, true, way));
  const Array variance = of_groups(var(grouped, {2, 3}, 0, true, way));
  beside[0] = 1;
  return scaled(x, average, variance, of_channels(weight), of_channels(bias), eps, way);
}
Array rms_norm(const Array& x, const std::optional<Array>& weight, const Array& eps,
               const Way& way) {
  if (is_narrow(x, way))
    return narrowed(rms_norm(wide(x), wide(weight), eps, in_stages(way, x)), x.dtype());
  require_float(x, "rms_norm");
  require_rank(x, 1, "rms_norm", "x");
  return scaled(x, {}, mean(x * x, {-1}, true, way), weight, {}, eps, way);
}
Array batch_norm(const Array& x, const Array& mean, const Array& variance,
                 const std::optional<Array>& weight, const std::optional<Array>& bias,
                 const Array& eps, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(batch_norm(wide(x), wide(mean), wide(variance), wide(weight), wide(bias), eps,
                               in_stages(way, x)),
                    x.dtype());
  require_float(x, "batch_norm");
  require_rank(x, 2, "batch_norm", "x");
  const auto of_channels = [&](const std::optional<Array>& a) -> std::optional<Array> {
    if (!a) return a;
    if (a->shape() != Sizes{x.size(1)})
      throw ShapeError(fmt::format("batch_norm: {} must be ({}), a number for each channel of {}",
                                   str(a->shape()), x.size(1), str(x.shape())));
    Sizes beside(x.shape().size(), 1);
    beside[1] = x.size(1);
    return a->reshape(beside);
  };
  return scaled(x, of_channels(mean), *of_channels(variance), of_channels(weight),
                of_channels(bias), eps, way);
}
Array cumsum(const Array& x, int axis, const Way& way) {
  const int at = axis_of(x, axis);
  const std::int64_t n = x.size(at);
  Sizes repeated = x.shape();
  repeated.insert(repeated.begin() + at, 1);  // the sums; the terms come after it
  Sizes mask_shape(repeated.size(), 1);
  mask_shape[static_cast<std::size_t>(at)] = n;
  mask_shape[static_cast<std::size_t>(at) + 1] = n;
  const Array up_to = transpose(upper_triangle(n, n, 0)).reshape(mask_shape);
  const Array terms = x.reshape(repeated), none = Array::number("0");
  if (way.subtracts) return sum(x, {at}, true) - sum(where(up_to, none, terms), {at + 1});
  return sum(where(up_to, terms, none), {at + 1});
}

Array matmul(const Array& a, const Array& b, std::optional<DType> accumulator, const Way& way) {
  if (is_narrow(a) && is_narrow(b) && !accumulator)
    return narrowed(matmul(wide(a), wide(b), {}, way), promote(a.dtype(), b.dtype()));
  require_rank(a, 1, "matmul", "the first operand");
  require_rank(b, 1, "matmul", "the second operand");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const Array left = row ? a.reshape({1, a.size(0)}) : a;
  const Array right = transpose(column ? b.reshape({b.size(0), 1}) : b);  // (.., m, k)
  if (left.size(-1) != right.size(-1))
    throw ShapeError(fmt::format("matmul: {} by {}: sizes {} and {} differ", str(a.shape()),
                                 str(b.shape()), left.size(-1), right.size(-1)));
  if (way.rearranged == Rearranged::Strassen && !row && !column && is_float(a.dtype()))
    return strassen(a, b);
  Sizes rows = left.shape(), columns = right.shape();
  rows.insert(rows.end() - 1, 1);
  columns.insert(columns.end() - 2, 1);
  Array product = sum(left.reshape(rows) * right.reshape(columns), {-1}, false, accumulator);
  Sizes shape = product.shape();
  if (column) shape.erase(shape.end() - 1);
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return product.reshape(shape);
}
Array linear(const Array& x, const Array& weight, const std::optional<Array>& bias,
             const Way& way) {
  if (is_narrow(x, way) && is_narrow(weight, way) && (!bias || is_narrow(*bias, way)))
    return way.narrow_product && bias
               ? linear(x, weight, {}) + *bias
               : narrowed(linear(wide(x), wide(weight), wide(bias), way), x.dtype());
  if (weight.rank() != 2)
    throw ShapeError(fmt::format("linear: the weight {} must be (out, in)", str(weight.shape())));
  if (!bias) return matmul(x, transpose(weight), {}, way);
  if (!way.bias_first)
    return stage(matmul(x, transpose(weight), {}, way), way, "product", false) + *bias;
  return matmul(with_one(x), transpose(concat(bias->reshape({weight.size(0), 1}), weight, 1)));
}
namespace {

AttentionArgs wide(AttentionArgs args) {
  args.mask = wide(args.mask);
  args.scale = wide(args.scale);
  args.dropout = wide(args.dropout);
  return args;
}

// Repeats the heads of k or v, the axis before the rows, up to the number of heads of q.
Array with_heads_of(const Array& q, const Array& x) {
  if (q.rank() < 3 || x.rank() < 3) return x;
  const std::int64_t heads = q.size(-3), given = x.size(-3);
  return given > 1 && given < heads && heads % given == 0 ? repeat(x, heads / given, -3) : x;
}

// Broadcast to the shape of the scores.
Array for_scores(const Array& x, const Array& scores, std::string_view what) {
  try {
    return x.expand(scores.shape());
  } catch (const ShapeError& e) {
    throw ShapeError(fmt::format("attention: the {} does not fit the scores: {}", what, e.what()));
  }
}

Array has_no_key(const Array& scores) {
  return equal(max(scores, {-1}, true), Array::number("-inf"));
}

}  // namespace

Array masked(const Array& scores, const Array& mask) {
  if (is_bool(mask.dtype())) return where(mask, scores, Array::number("-inf"));
  if (!is_float(mask.dtype()))
    throw DTypeError(fmt::format(
        "a mask is bool, true where an element takes part, or a float that is added, not {}; "
        "compare or cast it",
        name(mask.dtype())));
  const Array sum = scores + mask;
  return sum.dtype() == scores.dtype() ? sum : narrowed(sum, scores.dtype());
}
Array masked_softmax(const Array& x, const Array& mask, int axis, EmptyRows empty, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(masked_softmax(wide(x), wide(mask), axis, empty, in_stages(way, x)), x.dtype());
  require_float(x, "masked_softmax");
  const Array scores = masked(x, mask), weights = softmax(scores, axis, way);
  if (empty == EmptyRows::Nan) return weights;
  const Array none = equal(max(scores, {axis}, true), Array::number("-inf"));
  return where(none, Array::number("0"), weights);
}

Array attention_scores(const Array& q, const Array& k, const AttentionArgs& args, const Way& way) {
  if (is_narrow(q, way) && !way.narrow_stages)
    return narrowed(attention_scores(wide(q), wide(k), wide(args), way), q.dtype());
  require_float(q, "attention");
  require_rank(q, 2, "attention", "q");
  require_rank(k, 2, "attention", "k");
  const double size = static_cast<double>(q.size(-1));
  const auto& scale = args.scale;
  const Array factor = scale.value_or(1 / std::sqrt(size));
  const Array root = !scale ? Array(1 / std::sqrt(std::sqrt(size)))
                            : sqrt(scale->is_number() ? typed(*scale, q.dtype()) : *scale);
  int exponent = 0;  // division by a power of 2 is the product
  const bool divides =
      way.scale_at == ScaleAt::Divided && !scale && std::frexp(std::sqrt(size), &exponent) != 0.5;
  const Array keys = with_heads_of(q, k);
  Array scores = way.scale_at == ScaleAt::Queries ? matmul(q * factor, transpose(keys))
                 : way.scale_at == ScaleAt::Both  ? matmul(q * root, transpose(keys * root))
                 : divides ? matmul(q, transpose(keys)) / Array(std::sqrt(size))
                           : matmul(q, transpose(keys)) * factor;
  if (args.mask) scores = masked(scores, for_scores(*args.mask, scores, "mask"));
  scores = stage(scores, way, "scores", false);
  if (!args.causal) return scores;
  const Array behind = upper_triangle(scores.size(-2), scores.size(-1), 1);
  return where(behind, Array::number("-inf"), scores);
}
Array attention(const Array& q, const Array& k, const Array& v, const AttentionArgs& args,
                const Way& way) {
  const bool narrow = is_narrow(q, way) && is_narrow(k, way) && is_narrow(v, way);
  const bool in_float32 = narrow && !way.narrow_stages;
  const AttentionArgs a = in_float32 ? wide(args) : args;
  const Array scores =
      in_float32 ? attention_scores(wide(q), wide(k), a, way) : attention_scores(q, k, a, way);
  if (a.dropout) require_float(*a.dropout, "dropout, kept / (1 - p) for each weight,");
  const bool zeros = args.empty == EmptyRows::Zero;
  // The weights, without rows that have no key and with those dropped.
  const auto stored = [&](const Array& weights) {
    Array w = zeros ? where(has_no_key(scores), Array::number("0"), weights) : weights;
    if (a.dropout) w = w * for_scores(*a.dropout, scores, "dropout");
    w = stage(w, way, "weights", false);
    return in_float32 && way.narrow_weights ? wide(w.cast(v.dtype())) : w;
  };
  const Array values = with_heads_of(q, in_float32 ? wide(v) : v);
  if (!way.late || (narrow && way.narrow_stages)) {
    const Array y = matmul(stored(softmax(scores, -1, way)), values);
    return in_float32 ? narrowed(y, q.dtype()) : y;
  }
  const Array e = exponentials(scores, -1, way);
  const Array y =
      over(matmul(stored(e), values), stage(sum(e, {-1}, true), way, "sum", false), way.reciprocal);
  const Array whole = zeros ? where(has_no_key(scores), Array::number("0"), y) : y;
  return in_float32 ? narrowed(whole, q.dtype()) : whole;
}

}  // namespace touchstone::define
