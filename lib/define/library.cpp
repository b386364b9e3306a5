#include "touchstone/define/library.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace touchstone::define {
namespace {

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
Array rsqrt(const Array& x) { return Array::call(NamedFunction::Rsqrt, {x}); }
Array count(std::int64_t n) { return Array::number(std::to_string(n)); }

std::int64_t terms(const Array& x, const Axes& axes) {
  std::int64_t n = 1;
  for (const int axis : axes) n = checked_mul(n, x.size(axis));
  return n;
}

// x - max(x) of each row, so that exponentials cannot overflow.
Array centred(const Array& x, int axis) { return x - max(x, {axis}, true); }

}  // namespace

Axes all_axes(const Array& x) {
  Axes axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool is_narrow(const Array& x) {
  return !x.is_number() && is_float(x.dtype()) && itemsize(x.dtype()) < 4;
}
Array wide(const Array& x) { return is_narrow(x) ? x.cast(DType::Float32) : x; }
std::optional<Array> wide(const std::optional<Array>& x) {
  return x ? std::optional(wide(*x)) : std::nullopt;
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
Array min(const Array& x, const Axes& axes, bool keep) {
  if (is_float(x.dtype())) return -max(-x, axes, keep);
  // ~x reverses the order of integers and bool; -x overflows for the least integer.
  const std::uint64_t ones = is_bool(x.dtype()) ? 1 : ~std::uint64_t{0};
  const Array all = Array::constant(Scalar::from_bits(x.dtype(), ones));
  return Array::apply(Op::Xor, {max(Array::apply(Op::Xor, {x, all}), axes, keep), all});
}
Array mean(const Array& x, const Axes& axes, bool keep) {
  if (is_narrow(x)) return narrowed(mean(wide(x), axes, keep), x.dtype());
  require_float(x, "mean");
  return sum(x, axes, keep) / count(terms(x, axes));
}
Array var(const Array& x, const Axes& axes, int correction, bool keep) {
  if (is_narrow(x)) return narrowed(var(wide(x), axes, correction, keep), x.dtype());
  require_float(x, "var");
  const Array off = x - mean(x, axes, true);
  return sum(off * off, axes, keep) / count(checked_sub(terms(x, axes), correction));
}

Array softmax(const Array& x, int axis) {
  if (is_narrow(x)) return narrowed(softmax(wide(x), axis), x.dtype());
  require_float(x, "softmax");
  const Array e = exp(centred(x, axis));
  return e / sum(e, {axis}, true);
}
Array log_softmax(const Array& x, int axis) {
  if (is_narrow(x)) return narrowed(log_softmax(wide(x), axis), x.dtype());
  require_float(x, "log_softmax");
  const Array off = centred(x, axis);
  return off - log(sum(exp(off), {axis}, true));
}
Array logsumexp(const Array& x, int axis) {
  if (is_narrow(x)) return narrowed(logsumexp(wide(x), axis), x.dtype());
  require_float(x, "logsumexp");
  const Array most = max(x, {axis}, true);
  // A row with an infinite maximum is not shifted: inf - inf would be NaN instead of that infinity.
  const Array off = info(most.dtype()).infinities
                        ? where(equal(abs(most), Array::number("inf")), Array::number("0"), most)
                        : most;
  Sizes kept = x.shape();
  kept.erase(kept.begin() + axis_of(x, axis));
  return log(sum(exp(x - off), {axis})) + off.reshape(kept);
}
Array layer_norm(const Array& x, const std::optional<Array>& weight,
                 const std::optional<Array>& bias, const Array& eps) {
  if (is_narrow(x)) return narrowed(layer_norm(wide(x), wide(weight), wide(bias), eps), x.dtype());
  require_float(x, "layer_norm");
  require_rank(x, 1, "layer_norm", "x");
  Array y = (x - mean(x, {-1}, true)) * rsqrt(var(x, {-1}, 0, true) + eps);
  if (weight) y = y * *weight;
  return bias ? y + *bias : y;
}
Array rms_norm(const Array& x, const std::optional<Array>& weight, const Array& eps) {
  if (is_narrow(x)) return narrowed(rms_norm(wide(x), wide(weight), eps), x.dtype());
  require_float(x, "rms_norm");
  require_rank(x, 1, "rms_norm", "x");
  const Array y = x * rsqrt(mean(x * x, {-1}, true) + eps);
  return weight ? y * *weight : y;
}
Array batch_norm(const Array& x, const Array& mean, const Array& variance,
                 const std::optional<Array>& weight, const std::optional<Array>& bias,
                 const Array& eps) {
  if (is_narrow(x))
    return narrowed(batch_norm(wide(x), wide(mean), wide(variance), wide(weight), wide(bias), eps),
                    x.dtype());
  require_float(x, "batch_norm");
  require_rank(x, 2, "batch_norm", "x");
  const auto of_channels = [&](const Array& a) {
    if (a.shape() != Sizes{x.size(1)})
      throw ShapeError(fmt::format("batch_norm: {} must be ({}), a number for each channel of {}",
                                   str(a.shape()), x.size(1), str(x.shape())));
    Sizes beside(x.shape().size(), 1);
    beside[1] = x.size(1);
    return a.reshape(beside);
  };
  Array y = (x - of_channels(mean)) * rsqrt(of_channels(variance) + eps);
  if (weight) y = y * of_channels(*weight);
  return bias ? y + of_channels(*bias) : y;
}
Array cross_entropy(const Array& x, const Array& target) {
  if (is_narrow(x)) return narrowed(cross_entropy(wide(x), target), x.dtype());
  if (x.rank() != 2 || target.rank() != 1 || x.size(0) != target.size(0))
    throw ShapeError(fmt::format("cross_entropy: {} and {} must be (rows, classes) and (rows)",
                                 str(x.shape()), str(target.shape())));
  const Array chosen = one_hot(target, x.size(1), DType::Bool);
  return -sum(where(chosen, log_softmax(x, 1), Array::number("0")), {1});
}
Array cumsum(const Array& x, int axis) {
  const int at = axis_of(x, axis);
  const std::int64_t n = x.size(at);
  Sizes repeated = x.shape();
  repeated.insert(repeated.begin() + at, 1);  // the sums; the terms come after it
  Sizes mask_shape(repeated.size(), 1);
  mask_shape[static_cast<std::size_t>(at)] = n;
  mask_shape[static_cast<std::size_t>(at) + 1] = n;
  const Array before = transpose(upper_triangle(n, n, 0)).reshape(mask_shape);
  return sum(where(before, x.reshape(repeated), Array::number("0")), {at + 1});
}

Array matmul(const Array& a, const Array& b, std::optional<DType> accumulator) {
  if (is_narrow(a) && is_narrow(b) && !accumulator)
    return narrowed(matmul(wide(a), wide(b)), promote(a.dtype(), b.dtype()));
  require_rank(a, 1, "matmul", "the first operand");
  require_rank(b, 1, "matmul", "the second operand");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const Array left = row ? a.reshape({1, a.size(0)}) : a;
  const Array right = transpose(column ? b.reshape({b.size(0), 1}) : b);  // (.., m, k)
  if (left.size(-1) != right.size(-1))
    throw ShapeError(fmt::format("matmul: {} by {}: sizes {} and {} differ", str(a.shape()),
                                 str(b.shape()), left.size(-1), right.size(-1)));
  Sizes rows = left.shape(), columns = right.shape();
  rows.insert(rows.end() - 1, 1);
  columns.insert(columns.end() - 2, 1);
  Array product = sum(left.reshape(rows) * right.reshape(columns), {-1}, false, accumulator);
  Sizes shape = product.shape();
  if (column) shape.erase(shape.end() - 1);
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return product.reshape(shape);
}
Array linear(const Array& x, const Array& weight, const std::optional<Array>& bias) {
  if (is_narrow(x) && is_narrow(weight) && (!bias || is_narrow(*bias)))
    return narrowed(linear(wide(x), wide(weight), wide(bias)), x.dtype());
  if (weight.rank() != 2)
    throw ShapeError(fmt::format("linear: the weight {} must be (out, in)", str(weight.shape())));
  const Array y = matmul(x, transpose(weight));
  return bias ? y + *bias : y;
}
Array attention_scores(const Array& q, const Array& k, bool causal,
                       const std::optional<Array>& scale) {
  if (is_narrow(q))
    return narrowed(attention_scores(wide(q), wide(k), causal, wide(scale)), q.dtype());
  require_float(q, "attention");
  require_rank(q, 2, "attention", "q");
  require_rank(k, 2, "attention", "k");
  const Array scores =
      matmul(q, transpose(k)) * scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  if (!causal) return scores;
  const Array behind = upper_triangle(scores.size(-2), scores.size(-1), 1);
  return where(behind, Array::number("-inf"), scores);
}
Array attention(const Array& q, const Array& k, const Array& v, bool causal,
                const std::optional<Array>& scale) {
  if (is_narrow(q) && is_narrow(k) && is_narrow(v))
    return narrowed(attention(wide(q), wide(k), wide(v), causal, wide(scale)), q.dtype());
  return matmul(softmax(attention_scores(q, k, causal, scale)), v);
}

}  // namespace touchstone::define
