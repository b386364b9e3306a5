// Losses, each with a reduction.
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

Array none() { return Array::number("0"); }

}  // namespace

Array reduced(const Array& losses, Reduction reduction, const Way& way) {
  const Array stored = stage(losses, way, "losses");
  switch (reduction) {
    case Reduction::None: break;
    case Reduction::Mean: return mean(stored, all_axes(stored));
    case Reduction::Sum: return sum(stored, all_axes(stored));
    case Reduction::BatchMean:
      require_rank(stored, 1, "batchmean", "x");
      return sum(stored, all_axes(stored)) / count(stored.size(0));
  }
  return stored;
}

namespace {

// The losses f of two arrays, narrow ones in float32.
template <class F>
Array elementwise_loss(std::string_view what, const Array& x, const Array& y, Reduction reduction,
                       const Way& way, const F& f) {
  require_float(x, what);
  require_float(y, what);
  const Array both = maximum(x, y);
  if (!is_narrow(both, way)) return reduced(f(x, y), reduction, way);
  const Way inner = in_stages(way, both);
  return narrowed(reduced(f(wide(x), wide(y)), reduction, inner), both.dtype());
}

// A parameter beside x: numbers take its type before they meet each other.
Array beside(const Array& parameter, const Array& x) {
  return parameter.is_number() ? parameter.cast(x.dtype()) : wide(parameter);
}
Array weighted(const Array& losses, const std::optional<Array>& weight) {
  return weight ? losses * wide(*weight) : losses;
}

// Losses of log-probabilities at the targets.
Array class_loss(std::string_view what, const Array& log_p, const Array& target,
                 const ClassLossArgs& args, const Way& way) {
  require_float(log_p, what);
  require_rank(log_p, 1, what, "x");
  const bool shares = what == "cross_entropy" && is_float(target.dtype());
  if (!shares && !is_integer(target.dtype()))
    throw DTypeError(fmt::format("{}: targets are numbers of classes, integers{}, not {}", what,
                                 what == "cross_entropy" ? ", or probabilities" : "",
                                 name(target.dtype())));
  const int axis = log_p.rank() > 1 ? 1 : 0;
  const std::int64_t classes = log_p.size(axis);
  Sizes places = log_p.shape();
  places.erase(places.begin() + axis);
  if (const Sizes& wanted = shares ? log_p.shape() : places; target.shape() != wanted)
    throw ShapeError(fmt::format("{}: x {} has {} {}, not {}; expected (n, classes, ...) and {}",
                                 what, str(log_p.shape()), shares ? "probabilities" : "targets",
                                 str(wanted), str(target.shape()),
                                 shares ? "the same" : "(n, ...)"));
  if (args.weight && args.weight->shape() != Sizes{classes})
    throw ShapeError(fmt::format("{}: weight {} must be ({}), a number for each class", what,
                                 str(args.weight->shape()), classes));
  const double smoothing = args.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    throw ShapeError(fmt::format("{}: label_smoothing {} is not in [0, 1]", what, smoothing));
  if (args.reduction == Reduction::BatchMean)
    throw ShapeError(fmt::format("{}: reduction is none, mean or sum", what));
  if (shares && args.ignore_index >= 0)
    throw ShapeError(fmt::format("{}: ignore_index is for numbers of classes", what));
  Sizes column(log_p.shape().size(), 1), spread = log_p.shape();
  column[static_cast<std::size_t>(axis)] = classes;
  spread[static_cast<std::size_t>(axis)] = 1;
  const auto weight = args.weight ? std::optional(args.weight->reshape(column)) : std::nullopt;
  const Array terms = weight ? log_p * *weight : log_p;
  const Array smooth = smoothing / static_cast<double>(classes);
  if (shares) {
    const Array p = smoothing > 0 ? wide(target) * Array(1 - smoothing) + smooth : wide(target);
    return reduced(-sum(terms * p, {axis}), args.reduction, way);
  }
  // In 64 bits: a narrow type may not hold the number of every class.
  const Array label = target.cast(DType::Int64);
  const Array chosen = equal(label.reshape(spread), arange(classes, DType::Int64).reshape(column));
  Array counts = less(Array::number("-1"), label) * less(label, count(classes));
  if (args.ignore_index >= 0 && args.ignore_index < classes)
    counts = counts * -equal(label, count(args.ignore_index));
  Array loss = -sum(where(chosen, terms, none()), {axis});
  if (smoothing > 0) loss = loss * Array(1 - smoothing) - sum(terms, {axis}) * smooth;
  loss = stage(where(counts, loss, none()), way, "losses");
  if (args.reduction == Reduction::None) return loss;
  const Array total = sum(loss, all_axes(loss));
  if (args.reduction == Reduction::Sum) return total;
  const Array of_each = weight ? where(counts, sum(where(chosen, *weight, none()), {axis}), none())
                               : counts.cast(DType::Int64);
  return total / sum(of_each, all_axes(of_each)).cast(total.dtype());
}

template <class F>
Array wide_class_loss(const Array& x, ClassLossArgs args, const Way& way, const F& f) {
  if (!is_narrow(x, way)) return f(x, args, way);
  args.weight = wide(args.weight);
  return narrowed(f(wide(x), args, in_stages(way, x)), x.dtype());
}

Array softplus(const Array& x) { return Array::call(NamedFunction::Softplus, {x}); }

}  // namespace

Array nll_loss(const Array& x, const Array& target, const ClassLossArgs& args, const Way& way) {
  return wide_class_loss(x, args, way, [&](const Array& p, const ClassLossArgs& a, const Way& w) {
    return class_loss("nll_loss", p, target, a, w);
  });
}
Array cross_entropy(const Array& x, const Array& target, const ClassLossArgs& args,
                    const Way& way) {
  require_rank(x, 1, "cross_entropy", "x");
  return wide_class_loss(x, args, way, [&](const Array& y, const ClassLossArgs& a, const Way& w) {
    const Array log_p = log_softmax(y, y.rank() > 1 ? 1 : 0, w);
    return class_loss("cross_entropy", stage(log_p, w, "log_p"), target, a, w);
  });
}

Array mse_loss(const Array& x, const Array& target, Reduction reduction, const Way& way) {
  return elementwise_loss("mse_loss", x, target, reduction, way,
                          [](const Array& a, const Array& b) { return (a - b) * (a - b); });
}
Array l1_loss(const Array& x, const Array& target, Reduction reduction, const Way& way) {
  return elementwise_loss("l1_loss", x, target, reduction, way,
                          [](const Array& a, const Array& b) { return abs(a - b); });
}
Array smooth_l1_loss(const Array& x, const Array& target, const Array& beta, Reduction reduction,
                     const Way& way) {
  const Array half = 0.5;
  return elementwise_loss("smooth_l1_loss", x, target, reduction, way,
                          [&](const Array& a, const Array& b) {
                            const Array d = abs(a - b), limit = beside(beta, d);
                            return where(less(d, limit), d * half * d / limit, d - half * limit);
                          });
}
Array huber_loss(const Array& x, const Array& target, const Array& delta, Reduction reduction,
                 const Way& way) {
  const Array half = 0.5;
  return elementwise_loss("huber_loss", x, target, reduction, way,
                          [&](const Array& a, const Array& b) {
                            const Array d = abs(a - b), limit = beside(delta, d);
                            return where(less(d, limit), d * half * d, limit * (d - half * limit));
                          });
}
Array binary_cross_entropy(const Array& x, const Array& target, const std::optional<Array>& weight,
                           Reduction reduction, const Way& way) {
  const auto losses = [&](const Array& p, const Array& t) {
    const Array least = -100, rest = way.entropy == Entropy::Textbook
                                         ? log(1 - p)
                                         : Array::call(NamedFunction::Log1p, {-p});
    return weighted((t - 1) * maximum(rest, least) - t * maximum(log(p), least), weight);
  };
  return elementwise_loss("binary_cross_entropy", x, target, reduction, way, losses);
}
Array binary_cross_entropy_with_logits(const Array& x, const Array& target,
                                       const std::optional<Array>& weight,
                                       const std::optional<Array>& pos_weight, Reduction reduction,
                                       const Way& way) {
  const auto losses = [&](const Array& v, const Array& t) {
    if (pos_weight) {
      const Array p = 1 + (beside(*pos_weight, v) - 1) * t;
      return weighted((1 - t) * v + p * softplus(-v), weight);
    }
    if (way.entropy == Entropy::Parts)
      return weighted(t * softplus(-v) + (1 - t) * softplus(v), weight);
    if (way.entropy == Entropy::ByDefinition) return weighted((1 - t) * v + softplus(-v), weight);
    const Array tail = Array::call(NamedFunction::Log1p, {exp(-abs(v))});
    return weighted(relu(v) - v * t + tail, weight);
  };
  return elementwise_loss("binary_cross_entropy_with_logits", x, target, reduction, way, losses);
}
Array kl_div(const Array& x, const Array& target, bool log_target, Reduction reduction,
             const Way& way) {
  return elementwise_loss("kl_div", x, target, reduction, way, [&](const Array& v, const Array& t) {
    if (log_target) return exp(t) * (t - v);
    if (way.factored) return where(equal(t, none()), none(), t * (log(t) - v));
    return where(equal(t, none()), none(), t * log(t)) - t * v;
  });
}

Array multi_margin_loss(const Array& x, const Array& target, bool squared, const Array& margin,
                        Reduction reduction, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(
        multi_margin_loss(wide(x), target, squared, margin, reduction, in_stages(way, x)),
        x.dtype());
  require_float(x, "multi_margin_loss");
  if (x.rank() != 2 || target.shape() != Sizes{x.size(0)} || !is_integer(target.dtype()))
    throw ShapeError(
        fmt::format("multi_margin_loss: x {} and targets {} of {}; expected (n, classes) and "
                    "integers (n)",
                    str(x.shape()), str(target.shape()), name(target.dtype())));
  const Array chosen =
      equal(target.cast(DType::Int64).reshape({-1, 1}), arange(x.size(1), DType::Int64));
  const Array right = sum(where(chosen, x, none()), {1}, true);
  const Array d = maximum(beside(margin, x) - right + x, none());
  return reduced(sum(where(chosen, none(), squared ? d * d : d), {1}) / count(x.size(1)), reduction,
                 way);
}

Array dropout(const Array& x, const Array& kept, double p) {
  if (!(p >= 0 && p <= 1)) throw ShapeError(fmt::format("dropout: p = {} is not in [0, 1]", p));
  if (is_narrow(x)) return narrowed(dropout(wide(x), wide(kept), p), x.dtype());
  require_float(x, "dropout");
  if (is_bool(kept.dtype())) return where(kept, x / (1 - p), none());
  require_float(kept, "dropout: kept, of bool or a factor,");
  return x * kept / (1 - p);
}

}  // namespace touchstone::define
