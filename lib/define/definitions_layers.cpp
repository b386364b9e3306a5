#include <algorithm>

#include "touchstone/define/parts.h"
#include "touchstone/define/text.h"

namespace touchstone::define {
namespace {

constexpr bool kMayDiffer = true;  // Definition::is_loose

template <NamedFunction F, bool SecondGates>
Array gated_of(const Arguments& c) {
  return gated(F, c.array("x"), c.maybe("y"), c.axis("axis"), SecondGates);
}

template <Array (*F)(const Array&, const Array&, const ClassLossArgs&, const Way&)>
Array class_loss_of(const Arguments& c, double label_smoothing) {
  return F(c.array("x"), c.array("target"),
           {c.maybe("weight"), c.integer("ignore_index"), label_smoothing,
            argument<Reduction>(c, "reduction")},
           c.way());
}

template <bool GivesC>
Array lstm_of(const Arguments& c) {
  return lstm_cell(c.array("x"), c.array("h"), c.array("c"), argument<CellWeights>(c, ""), GivesC,
                   c.way());
}

// clang-format off
// var has the shape of x, without its last axis or with size 1 there.
const Definition kGaussian{"losses", "gaussian_nll_loss(x, target, var, full=0, eps=1e-6, reduction=none)", "0.5 * (log(maximum(var, eps)) + (x - target) * (x - target) / maximum(var, eps)) + full * 0.9189385332046727", nullptr, kMayDiffer};
Array gaussian_of(const Arguments& c) {
  auto given = c.given();
  const Array x = c.array("x"), var = c.array("var");
  Sizes rows = x.shape();
  if (!rows.empty()) rows.back() = 1;
  if (!var.is_number() && var.rank() + 1 == x.rank() && std::ranges::equal(var.shape(), std::span(rows).first(rows.size() - 1)))
    given.insert_or_assign("var", var.reshape(rows));
  return called(kGaussian, Arguments(std::move(given), c.way()), {}).value;
}

constexpr std::string_view kTanhOrRelu[] = {"tanh", "relu"}, kOneOrTwo[] = {"1", "2"};

const Definition kLayers[] = {
    {"formulas", "square(x)", "x * x", nullptr, kMayDiffer},
    {"formulas", "isnan(x)", "x != x", nullptr, kMayDiffer},
    {"formulas", "isinf(x)", "abs(x) == inf", nullptr, kMayDiffer},
    {"formulas", "isfinite(x)", "abs(x) < inf", nullptr, kMayDiffer},
    {"formulas", "nan_to_num(x, nan=0, posinf=..., neginf=...)", "where(x != x, nan, where(x == inf, posinf, where(x == -inf, neginf, x)))", nullptr, kMayDiffer},
    {"formulas", "frac(x)", "x - trunc(x)", nullptr, kMayDiffer},
    {"formulas", "lerp(x, y, weight)", "where(abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight))", nullptr, kMayDiffer},
    {"formulas", "heaviside(x, y)", "where(x < 0, 0, where(x == 0, y, where(x != x, x, 1)))", nullptr, kMayDiffer},
    {"formulas", "xlogy(x, y)", "where(y != y, y, where(x == 0, 0, x * log(y)))", nullptr, kMayDiffer},
    {"formulas", "logaddexp(x, y)", "maximum(x, y) + log1p(exp(-abs(where(x == y, 0, x - y))))", nullptr, kMayDiffer},
    {"formulas", "logit(x)", "log(x / (1 - x))", nullptr, kMayDiffer},
    {"formulas", "quick_gelu(x)", "x * sigmoid(1.702 * x)", nullptr, kMayDiffer},
    {"formulas", "tanhshrink(x)", "x - tanh(x)", nullptr, kMayDiffer},
    {"formulas", "hardshrink(x, lambd=0.5)", "where(x <= lambd, where(x >= -lambd, 0, x), x)", nullptr, kMayDiffer},
    {"formulas", "softshrink(x, lambd=0.5)", "where(x > lambd, x - lambd, where(x < -lambd, x + lambd, where(x != x, x, 0)))", nullptr, kMayDiffer},
    {"formulas", "shrink(x, lambd=0.5, bias=0)", "where(x < -lambd, x + bias, where(x > lambd, x - bias, 0))", nullptr, kMayDiffer},
    {"formulas", "thresholded_relu(x, alpha=1)", "where(x > alpha, x, 0)", nullptr, kMayDiffer},
    {"formulas", "softmin(x, axis=-1)", "softmax(-x, axis=axis)", nullptr, kMayDiffer},
    {"formulas", "l1_norm(x, axis=all, keep=0)", "sum(abs(x), axis=axis, keep=keep)", nullptr, kMayDiffer},
    {"formulas", "l2_norm(x, axis=all, keep=0)", "sqrt(sum(x * x, axis=axis, keep=keep))", nullptr, kMayDiffer},
    {"formulas", "normalize(x, axis=1, eps=1e-12)", "x / maximum(l2_norm(x, axis=axis, keep=1), eps)", nullptr, kMayDiffer},
    {"formulas", "mean_variance_normalization(x, axis=...)", "(x - mean(x, axis=axis, keep=1)) / (std(x, axis=axis, keep=1) + 1e-9)", nullptr, kMayDiffer},
    {"formulas", "trace(x)", "sum(diagonal(x))", nullptr, kMayDiffer},
    {"formulas", "cosine_similarity(x, y, axis=1, eps=1e-8)", "sum(x / maximum(l2_norm(x, axis=axis, keep=1), eps) * (y / maximum(l2_norm(y, axis=axis, keep=1), eps)), axis=axis)", nullptr, kMayDiffer},
    {"formulas", "pairwise_distance(x, y, eps=1e-6, keep=0)", "l2_norm(x - y + eps, axis=-1, keep=keep)", nullptr, kMayDiffer},

    {"activations", "leaky_relu(x, slope=0.01)", "x > 0 ? x : slope x", from<leaky_relu>, kMayDiffer},
    {"activations", "prelu(x, slope)", "leaky_relu; slope: one number or (channels), axis 1", from<prelu>, kMayDiffer},
    {"activations", "elu(x, alpha=1)", "x > 0 ? x : alpha expm1(x)", from<elu>, kMayDiffer},
    {"activations", "celu(x, alpha=1)", "x > 0 ? x : alpha expm1(x / alpha)", from<celu>, kMayDiffer},
    {"activations", "selu(x)", "1.0507 (x > 0 ? x : 1.6733 expm1(x))", from<selu>, kMayDiffer},
    {"activations", "clamp(x, low?, high?)", "min(max(x, low), high)", from<clamp>, kMayDiffer},
    {"activations", "hardtanh(x, low=-1, high=1)", "clamp", from<clamp>, kMayDiffer},
    {"activations", "relu6(x)", "clamp(x, 0, 6)",
     [](const Arguments& c) { return clamp(c.array("x"), Array::number("0"), Array::number("6")); }, kMayDiffer},
    {"activations", "hardsigmoid(x)", "relu6(x + 3) / 6", from<hardsigmoid>, kMayDiffer},
    {"activations", "hardswish(x)", "x relu6(x + 3) / 6", from<hardswish>, kMayDiffer},
    {"activations", "mish(x)", "x tanh(softplus(x))", from<mish>, kMayDiffer},
    {"activations", "softsign(x)", "x / (1 + |x|)", from<softsign>, kMayDiffer},
    {"activations", "logsigmoid(x)", "-softplus(-x)", from<logsigmoid>, kMayDiffer},
    {"activations", "threshold(x, threshold=..., value=...)", "value where x <= threshold, else x", from<threshold>},
    {"activations", "glu(x, y?, axis=-1)", "x sigmoid(y); without y, the halves of x", gated_of<NamedFunction::Sigmoid, true>, kMayDiffer},
    {"activations", "swiglu(x, y?, axis=-1)", "silu(x) y; without y, the halves of x", gated_of<NamedFunction::Silu, false>, kMayDiffer},
    {"activations", "geglu(x, y?, axis=-1)", "gelu(x) y; without y, the halves of x", gated_of<NamedFunction::Gelu, false>, kMayDiffer},
    {"activations", "dropout(x, kept, p=0.5)", "x / (1 - p) where kept, a bool; a float is a factor", from<dropout>, kMayDiffer},

    {"losses", "cross_entropy(x, target, weight?, ignore_index=-100, label_smoothing=0, reduction=none)",
     "-log_softmax(x) at the target; x: (n, classes, ...), target: (n, ...), or probabilities as x",
     [](const Arguments& c) { return class_loss_of<cross_entropy>(c, c.real("label_smoothing")); }, kMayDiffer},
    {"losses", "nll_loss(x, target, weight?, ignore_index=-100, reduction=none)", "-x at the target",
     [](const Arguments& c) { return class_loss_of<nll_loss>(c, 0); }, kMayDiffer},
    {"losses", "mse_loss(x, target, reduction=none)", "(x - target)^2", from<mse_loss>, kMayDiffer},
    {"losses", "l1_loss(x, target, reduction=none)", "|x - target|", from<l1_loss>, kMayDiffer},
    {"losses", "smooth_l1_loss(x, target, beta=1, reduction=none)", "d^2 / (2 beta) where d = |x - target| < beta, else d - beta/2",
     from<smooth_l1_loss>, kMayDiffer},
    {"losses", "huber_loss(x, target, delta=1, reduction=none)", "d^2 / 2 where d = |x - target| < delta, else delta (d - delta/2)",
     from<huber_loss>, kMayDiffer},
    {"losses", "binary_cross_entropy(x, target, weight?, reduction=none)", "-t log(x) - (1 - t) log(1 - x), logarithms at least -100",
     from<binary_cross_entropy>, kMayDiffer},
    {"losses", "binary_cross_entropy_with_logits(x, target, weight?, pos_weight?, reduction=none)", "the same of sigmoid(x)",
     from<binary_cross_entropy_with_logits>, kMayDiffer},
    {"losses", "kl_div(x, target, log_target=0, reduction=none)", "t log(t) - t x, of log-probabilities x; batchmean: sum / n",
     [](const Arguments& c) { return kl_div(c.array("x"), c.array("target"), c.flag("log_target"), static_cast<Reduction>(c.choice("reduction", kReductions)), c.way()); }, kMayDiffer},

    {"losses", "hinge_embedding_loss(x, target, margin=1, reduction=none)", "where(target == 1, 0, maximum(margin - x, 0)) + where(target == -1, 0, x)", nullptr, kMayDiffer},
    {"losses", "margin_ranking_loss(x, y, target, margin=0, reduction=none)", "maximum(margin - target * (x - y), 0)", nullptr, kMayDiffer},
    {"losses", "soft_margin_loss(x, target, reduction=none)", "softplus(-target * x)", nullptr, kMayDiffer},
    {"losses", "poisson_nll_loss(x, target, log_input=1, full=0, eps=1e-8, reduction=none)", "where(log_input == 1, exp(x) - target * x, x - target * log(x + eps)) + where(full * target > 1, target * log(target) - target + 0.5 * log(6.283185307179586 * target), 0)", nullptr, kMayDiffer},
    {"losses", kGaussian.signature, kGaussian.summary, gaussian_of, kMayDiffer},
    {"losses", "triplet_margin_loss(x, positive, negative, margin=1, eps=1e-6, reduction=none)", "maximum(margin + pairwise_distance(x, positive, eps=eps) - pairwise_distance(x, negative, eps=eps), 0)", nullptr, kMayDiffer},
    {"losses", "cosine_embedding_loss(x, y, target, margin=0, reduction=none)", "where(target == 1, 1 - sum(x * y, axis=-1) / sqrt((sum(x * x, axis=-1) + 1e-12) * (sum(y * y, axis=-1) + 1e-12)), where(target == -1, maximum(sum(x * y, axis=-1) / sqrt((sum(x * x, axis=-1) + 1e-12) * (sum(y * y, axis=-1) + 1e-12)) - margin, 0), 0))", nullptr, kMayDiffer},
    {"losses", "multilabel_soft_margin_loss(x, target, reduction=none)", "-mean(target * logsigmoid(x) + (1 - target) * logsigmoid(-x), axis=-1)", nullptr, kMayDiffer},
    {"losses", "multi_margin_loss(x, target, p=1, margin=1, reduction=none)", "the mean over classes of max(margin - x[target] + x, 0)^p; p: 1 or 2",
     [](const Arguments& c) { return multi_margin_loss(c.array("x"), c.array("target"), c.choice("p", kOneOrTwo) == 1, c.array("margin"), argument<Reduction>(c, "reduction"), c.way()); }, kMayDiffer},

    {"cells", "rnn_cell(x, h, w_ih, w_hh, b_ih?, b_hh?, activation=tanh)", "tanh or relu of W_ih x + b_ih + W_hh h + b_hh",
     [](const Arguments& c) { return rnn_cell(c.array("x"), c.array("h"), argument<CellWeights>(c, ""), c.choice("activation", kTanhOrRelu) == 1, c.way()); }, kMayDiffer},
    {"cells", "lstm_cell(x, h, c, w_ih, w_hh, b_ih?, b_hh?)", "h'; rows of the weights: i, f, g, o", lstm_of<false>, kMayDiffer},
    {"cells", "lstm_cell_c(x, h, c, w_ih, w_hh, b_ih?, b_hh?)", "c' of the same", lstm_of<true>, kMayDiffer},
    {"cells", "gru_cell(x, h, w_ih, w_hh, b_ih?, b_hh?, linear_before_reset=1)", "h'; rows of the weights: r, z, n",
     from<gru_cell, 0, 1, 2, 6>, kMayDiffer},

    {"pairs", "rope(x, cos, sin, interleaved=0)", "pairs rotated: (i, i + d/2), or (2i, 2i + 1)", from<rope>, kMayDiffer},
    {"pairs", "complex_mul(x, y)", "of pairs (real, imaginary) on the last axis", from<complex_mul>, kMayDiffer},
    {"pairs", "complex_exp(x)", "e^x", from<complex_exp>, kMayDiffer},
    {"pairs", "complex_abs(x)", "hypot(real, imaginary)", from<complex_abs>, kMayDiffer},
    {"pairs", "complex_matmul(x, y)", "(.., n, k, 2) by (.., k, m, 2)", from<complex_matmul>, kMayDiffer},
    {"pairs", "dft(x)", "sum of x[n] e^(-2 pi i k n / N); x: (.., N, 2)",
     [](const Arguments& c) { return dft(c.array("x"), false); }, kMayDiffer},
    {"pairs", "idft(x)", "sum of x[n] e^(2 pi i k n / N) / N",
     [](const Arguments& c) { return dft(c.array("x"), true); }, kMayDiffer},
};
// clang-format on

}  // namespace

std::span<const Definition> layer_definitions() { return kLayers; }

}  // namespace touchstone::define
