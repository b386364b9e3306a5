#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/define/array.h"

// Operations on arrays under their usual names, each as a formula for one kernel. Float operations
// throw DTypeError for other types; mismatches throw ShapeError. Axes may be negative. Operations
// on rows, products, windows, means and variances of float16, bfloat16 and 8-bit floats are
// computed in float32 and rounded once, as frameworks do. Named functions: Array::call.

namespace touchstone::define {

using Axes = std::vector<int>;

/// How rows are scaled, with r = rsqrt(variance + eps).
enum class Scaling : std::uint8_t {
  ByDefinition,  // (x - mean) * r * w + b
  Divided,       // (x - mean) / sqrt(variance + eps) * w + b
  ScaleFirst,    // (x - mean) * (r*w) + b
  Shifted,       // (x*r - mean*r) * w + b
  Folded,        // x * (r*w) + (b - mean*(r*w))
};
/// How the binary cross entropy of p = sigmoid(x) and t is computed.
enum class Entropy : std::uint8_t {
  ByDefinition,  // (t - 1) log1p(-p) - t log(p); of x: (1 - t) x + softplus(-x)
  Textbook,      // with log(1 - p); of x: max(x, 0) - x t + log1p(exp(-|x|))
  Parts,         // of x: t softplus(-x) + (1 - t) softplus(x)
};
/// Where attention applies its scale.
enum class ScaleAt : std::uint8_t { Scores, Queries, Both, Divided };

/// Algorithms with fewer multiplications, which lose digits. Convolutions by them have stride and
/// dilation 1; Winograd's have windows of 3.
enum class Rearranged : std::uint8_t { No, Strassen, WinogradTwo, WinogradFour, Fourier };

/// The types to which a profile rounds stages, by their names, and the names that a definition has.
struct Stores {
  std::vector<std::pair<std::string, DType>> types;
  std::set<std::string> known = {};
};

/// How a composite is computed; the default is its definition. forms.h names the others.
struct Way {
  Scaling scaling = Scaling::ByDefinition;
  ScaleAt scale_at = ScaleAt::Scores;
  Entropy entropy = Entropy::ByDefinition;
  bool reciprocal = false;      // multiplies by 1/n or 1/sum
  bool running = false;         // a mean is a sum of x/n, as running means are
  bool base2 = false;           // exp2 of x log2(e)
  bool unshifted = false;       // without subtracting the maximum
  bool sum_first = false;       // x - (max + log(sum)), not x - max - log(sum)
  bool late = false;            // attention divides by the sum after the product with v
  bool narrow_weights = false;  // attention rounds its weights to the type of v
  /// Narrow floats: scores, weights, exponentials, sums, means and r may be rounded to their type.
  bool narrow_stages = false;
  std::optional<DType> stored = {};  // that type, where the operands have been cast to float32
  bool narrow_product = false;       // a narrow product is rounded before the bias is added
  bool bias_first = false;           // the bias is the first term of the sum
  bool moments = false;              // the variance is mean(x^2) - mean(x)^2
  bool own_type = false;             // computes narrow floats in their own type
  bool factored = false;             // kl_div is t (log(t) - x)
  bool gate_first = false;           // hardswish multiplies by min(max(x/6 + 1/2, 0), 1)
  Rearranged rearranged = Rearranged::No;
  bool subtracts = false;        // running sums are the total less the later terms
  bool float_positions = false;  // nearest elements by positions in float32
  Stores* stores = nullptr;
};

/// True for floats narrower than float32 that a definition casts to float32.
bool is_narrow(const Array& x, const Way& way = {});
Array wide(const Array& x);
std::optional<Array> wide(const std::optional<Array>& x);
/// x rounded to a narrower type, unless the device may keep it (a NOOP marks such a CAST).
Array narrowed(const Array& x, DType to);
/// The way for the float32 of narrow operands `x`.
Way in_stages(Way way, const Array& x);
Axes all_axes(const Array& x);
/// The same values, as the maximum over an axis of size 1. Where values repeat along an axis,
/// devices compute a reduce once, but other operations once per reader.
Array computed_once(const Array& x);

// ---- elementwise
Array abs(const Array& x);                      // max(x, -x)
Array minimum(const Array& a, const Array& b);  // NaN if either is, as in MAX
Array relu(const Array& x);
Array sign(const Array& x);  // -1, 1, 0 of either sign, or NaN
/// x - y floor(x / y), with the sign of y, as Python's %; a zero has the sign of y.
Array remainder(const Array& x, const Array& y);
/// floor(x / y), of floats as Python's // computes it; narrow ones in float32.
Array floor_div(const Array& x, const Array& y);
/// True for negative numbers, also -0 and NaN with a sign.
Array signbit(const Array& x);
/// x with the sign of y, of floats.
Array copysign(const Array& x, const Array& y);
/// The nearest whole number; ties go away from 0, as in C's round.
Array round_half_away(const Array& x);
/// The next float from x towards y. Throws DTypeError for other types.
Array next_after(const Array& x, const Array& y);

// ---- bits of integers, the first three also of bool; other types throw DTypeError
Array bit_and(const Array& a, const Array& b);
Array bit_or(const Array& a, const Array& b);
Array bit_not(const Array& x);
/// Counts below 0 or from the width on shift every bit out.
Array shift_left(const Array& x, const Array& count);
/// Fills with copies of the sign.
Array shift_right(const Array& x, const Array& count);
/// Fills with zeros.
Array shift_right_logical(const Array& x, const Array& count);
/// The number of ones, and of zeros above the first one.
Array popcount(const Array& x);
Array clz(const Array& x);

// ---- reduces
Array sum(const Array& x, const Axes& axes, bool keep = false,
          std::optional<DType> accumulator = std::nullopt);
Array max(const Array& x, const Axes& axes, bool keep = false);
Array min(const Array& x, const Axes& axes, bool keep = false);
Array mean(const Array& x, const Axes& axes, bool keep = false, const Way& way = {});
/// Sum of (x - mean)^2, divided by n - correction.
Array var(const Array& x, const Axes& axes, int correction = 0, bool keep = false,
          const Way& way = {});
/// sqrt(var).
Array std_of(const Array& x, const Axes& axes, int correction = 0, bool keep = false,
             const Way& way = {});

/// The product, of the type of x; 1 of no factors. Floats (at most 2^22 factors): in any order, so
/// with a relative error of up to n units of rounding; narrow ones in float32. Where the order
/// decides if a partial product overflows or is subnormal, each result is legal. Integers (at most
/// 1,024 factors) wrap; bool: all.
Array prod(const Array& x, const Axes& axes, bool keep = false, const Way& way = {});
/// True where any, or all, elements are nonzero; NaN is. Of no elements: false, or true.
Array any(const Array& x, const Axes& axes, bool keep = false);
Array all(const Array& x, const Axes& axes, bool keep = false);
/// int64.
Array count_nonzero(const Array& x, const Axes& axes, bool keep = false);

// ---- order, of all types. NaN is above all numbers; zeros are alike. Positions are int64.
/// The position of the maximum on one axis, or in the flat array over all axes. Of equal elements
/// it is the first, or the last if `last`. NaN counts as the maximum. As in NumPy, PyTorch and ONNX
/// (select_last_index). Throws ShapeError if the axis is empty.
Array argmax(const Array& x, const Axes& axes, bool keep = false, bool last = false);
/// The same for the minimum: a NaN comes before all numbers here, too.
Array argmin(const Array& x, const Axes& axes, bool keep = false, bool last = false);
/// The maximum, or minimum, of the elements up to each place; NaN from the first NaN on.
Array cummax(const Array& x, int axis = -1);
Array cummin(const Array& x, int axis = -1);
/// Their positions: the last of ties and of NaNs, as PyTorch computes them on CPUs.
Array cummax_index(const Array& x, int axis = -1);
Array cummin_index(const Array& x, int axis = -1);
/// Sorts along the axis. Equal elements keep their order, but zeros may have either sign. NaN comes
/// last, or first if `descending`, as in NumPy and PyTorch. Makes n^2 comparisons.
Array sort(const Array& x, int axis = -1, bool descending = false);
/// The positions of the sorted elements.
Array argsort(const Array& x, int axis = -1, bool descending = false);
/// 1 at the first maximum along the axis, else 0, of the type of x, as ONNX.
Array hardmax(const Array& x, int axis = -1);
/// For each x the number of elements of `sorted` below it (`right`: not above it), int64, as NumPy.
/// An unsorted vector is counted alike. Compares all pairs.
Array searchsorted(const Array& sorted, const Array& x, bool right = false);
/// The first k elements in descending order, or in ascending order unless `largest`: of ties those
/// with lower positions, as JAX and ONNX do. Throws ShapeError unless 0 <= k <= the size.
Array top_k(const Array& x, std::int64_t k, int axis = -1, bool largest = true);
/// The positions of these.
Array top_k_index(const Array& x, std::int64_t k, int axis = -1, bool largest = true);

// ---- rows
Array softmax(const Array& x, int axis = -1, const Way& way = {});
Array log_softmax(const Array& x, int axis = -1, const Way& way = {});
/// log(sum(exp(x - m))) + m, where m is the maximum, or 0 if that is infinite: infinite if a row
/// has +inf or only -inf.
Array logsumexp(const Array& x, int axis = -1, const Way& way = {});
/// (x - mean) rsqrt(var + eps) over the last axis, times weight, plus bias.
Array layer_norm(const Array& x, const std::optional<Array>& weight,
                 const std::optional<Array>& bias, const Array& eps, const Way& way = {});
/// layer_norm over each of `groups` groups of channels, axis 1; weight, bias: (channels).
Array group_norm(const Array& x, std::int64_t groups, const std::optional<Array>& weight,
                 const std::optional<Array>& bias, const Array& eps, const Way& way = {});
/// x rsqrt(mean(x^2) + eps) over the last axis, times weight.
Array rms_norm(const Array& x, const std::optional<Array>& weight, const Array& eps,
               const Way& way = {});
/// (x - mean) rsqrt(variance + eps) of each channel, times weight, plus bias.
/// x: (n, channels, ...); the others: (channels).
Array batch_norm(const Array& x, const Array& mean, const Array& variance,
                 const std::optional<Array>& weight, const std::optional<Array>& bias,
                 const Array& eps, const Way& way = {});
/// Sums of the elements up to each place along the axis, as a masked sum.
Array cumsum(const Array& x, int axis = -1, const Way& way = {});
/// Products of the elements up to each place, as `prod` computes them; of integers on axes of at
/// most 512.
Array cumprod(const Array& x, int axis = -1, const Way& way = {});

// ---- products
/// (.., n, k) by (.., k, m) with leading axes broadcast. A vector is a row or a column whose axis
/// is dropped from the result.
Array matmul(const Array& a, const Array& b, std::optional<DType> accumulator = std::nullopt,
             const Way& way = {});
/// One level of Strassen's algorithm, of matrices: seven products of halves.
Array strassen(const Array& a, const Array& b);
/// x weight^T + bias. x: (.., in), weight: (out, in), bias: (out).
Array linear(const Array& x, const Array& weight, const std::optional<Array>& bias,
             const Way& way = {});
/// The result of rows in which no element takes part.
enum class EmptyRows : std::uint8_t { Nan, Zero };
/// Bool masks: the score where true, else -inf. Float masks: scores + mask, in scores' type.
Array masked(const Array& scores, const Array& mask);
/// softmax of the masked x. Empty rows, all of them -inf, are NaN or zeros.
Array masked_softmax(const Array& x, const Array& mask, int axis = -1,
                     EmptyRows empty = EmptyRows::Nan, const Way& way = {});
struct AttentionArgs {
  /// Broadcast to (.., n, m). Bool: true where a key takes part; a float is added to the scores.
  std::optional<Array> mask = {};
  bool causal = false;              // keys after the query take no part
  std::optional<Array> scale = {};  // 1/sqrt(d)
  /// Multiplied to the weights, broadcast to (.., n, m): 0 or 1 / (1 - p).
  std::optional<Array> dropout = {};
  EmptyRows empty = EmptyRows::Nan;  // Zero: as PyTorch from 2.5 on
};
/// q k^T scale, masked. q: (.., heads, n, d), k: (.., heads, m, d). k may have fewer heads if their
/// number divides that of q; then consecutive heads of q share one.
Array attention_scores(const Array& q, const Array& k, const AttentionArgs& args = {},
                       const Way& way = {});
/// softmax of the scores, times v: (.., heads, m, e), with as many heads as k. A value that is not
/// finite makes the result NaN even where its weight is 0. Nests four reduces. As
/// PyTorch's scaled_dot_product_attention; a mask and `causal` may be given together.
Array attention(const Array& q, const Array& k, const Array& v, const AttentionArgs& args = {},
                const Way& way = {});
/// Rotary position embedding of the last axis, of even size d: pairs (a, b) become
/// (a cos - b sin, b cos + a sin). Pairs are (i, i + d/2), as in LLaMA, or (2i, 2i + 1) if
/// `interleaved`, as in GPT-J. x: (.., n, d); cos, sin: (n, d/2), or (n, d) as libraries store
/// them, with the elements of a pair equal or not; other axes broadcast.
Array rope(const Array& x, const Array& cos, const Array& sin, bool interleaved = false,
           const Way& way = {});

// ---- windows; lists have one entry per spatial axis, or one for all
struct Window {
  Sizes stride{1}, padding{0}, dilation{1};
  /// Pools: a last window may reach beyond the padding, if it starts in the input or the padding
  /// before it (PyTorch's ceil_mode).
  bool ceil = false;
};
/// x: (batch, in, sizes...), weight: (out, in / groups, windows...), bias: (out).
Array conv(const Array& x, const Array& weight, const std::optional<Array>& bias,
           const Window& window, std::int64_t groups, int spatial, const Way& way = {});
/// conv with windows of 3, stride and dilation 1, in tiles of 2 or 4 outputs per spatial axis
/// (Winograd's F(2,3) and F(4,3)). x is padded.
Array winograd(const Array& x, const Array& weight, std::int64_t groups, int spatial,
               std::int64_t tile);
/// conv over one spatial axis with stride and dilation 1 as a product of discrete Fourier
/// transforms. x is padded.
Array fourier(const Array& x, const Array& weight, std::int64_t groups);
/// The same over two axes, whose rows are joined to one.
Array fourier_plane(const Array& x, const Array& weight, std::int64_t groups);
/// Adds x times the weight into windows of the result, as PyTorch does; infinite weights meet no
/// zeros. x: (batch, in, sizes...), weight: (in, out / groups, windows...), bias: (out). An axis
/// has (n - 1) stride - 2 padding + dilation (window - 1) + output_padding + 1 elements.
Array conv_transpose(const Array& x, const Array& weight, const std::optional<Array>& bias,
                     const Window& window, const Sizes& output_padding, std::int64_t groups,
                     int spatial, const Way& way = {});
/// Divides by `fixed`, or if that is 0 by the elements in a window, of the padded input or of the
/// input alone.
struct Divisor {
  bool with_padding = true;
  std::int64_t fixed = 0;
};
/// Pools the last `spatial` axes; padding adds 0 to the sum and is ignored by the maximum, which is
/// NaN if an element is. Floats. With window.ceil, and without padding in the divisor, padding is
/// at most half of the window.
Array avg_pool(const Array& x, const Sizes& size, const Window& window, int spatial,
               const Divisor& divisor = {}, const Way& way = {});
Array max_pool(const Array& x, const Sizes& size, const Window& window, int spatial);
/// x / (k + alpha mean(x^2))^beta, of `size` channels around each, axis 1.
Array local_response_norm(const Array& x, std::int64_t size, const Array& alpha, const Array& beta,
                          const Array& k);
/// (sum of |x|^p)^(1/p), as ONNX; PyTorch takes x^p, which is the same for even p.
Array lp_pool(const Array& x, double p, const Sizes& size, const Window& window, int spatial);
/// Row-major indices, int64, of the maxima in the last `spatial` axes: of the first one, or as in
/// PyTorch of the last NaN.
Array max_pool_index(const Array& x, const Sizes& size, const Window& window, int spatial);
/// Windows over the last size.size() axes; the axes within a window go last.
Array windows(const Array& x, const Sizes& size, const Sizes& stride, const Sizes& dilation);
/// im2col: (n, channels, rows, columns) becomes (n, channels * window, windows).
Array unfold(const Array& x, const Sizes& size, const Window& window);
/// col2im, its transpose: adds the windows into an array of (n, channels, output...).
Array fold(const Array& x, const Sizes& output, const Sizes& size, const Window& window);

// ---- resampling of the last sizes.size() axes, from 1 to 2^23 elements each
enum class Interpolation : std::uint8_t { Nearest, NearestExact, Linear, Cubic };
/// As PyTorch's interpolate with sizes: element i is at (i + 1/2) in / out - 1/2, or with
/// align_corners at i (in - 1) / (out - 1); Linear takes 0 for less, and elements beyond an end are
/// the last. Nearest is element floor(i in / out), NearestExact floor((i + 1/2) in / out), of any
/// type; others take floats. Cubic is Keys' kernel with a = -3/4. An infinity or NaN counts where
/// its weight is not 0; where it is 0 under `library` it may.
Array interpolate(const Array& x, const Sizes& sizes, Interpolation mode,
                  bool align_corners = false, const Way& way = {});
/// Means or maxima of elements floor(i in / out) to ceil((i + 1) in / out) - 1, as in PyTorch.
Array adaptive_pool(const Array& x, const Sizes& sizes, bool of_maxima, const Way& way = {});
/// x at the positions of a grid, from -1 to 1 between the ends of the first and last element, or
/// with align_corners between their middles: PyTorch's grid_sample. x: (n, channels, sizes...), 2
/// or 3 of them, grid: (n, outer..., 2 or 3), the position on the last axis first. A result depends
/// on rounding where `Nearest` ties. NaN is outside. Each result passes over a whole plane of x.
enum class Border : std::uint8_t { Zeros, Edge, Reflection };
Array grid_sample(const Array& x, const Array& grid, Interpolation mode = Interpolation::Linear,
                  Border border = Border::Zeros, bool align_corners = false);
/// theta (n, 2, 3) times the positions of (rows, columns), as a grid for grid_sample; or (n, 3, 4).
Array affine_grid(const Array& theta, const Sizes& sizes, bool align_corners = false);
/// Means over boxes (x1, y1, x2, y2), each in `size` bins of samples^2 bilinear samples: ONNX
/// RoiAlign of mode avg, and torchvision's roi_align. x: (n, channels, rows, columns), rois:
/// (boxes, 4), batch: integers (boxes). `aligned` moves by half an element (half_pixel).
Array roi_align(const Array& x, const Array& rois, const Array& batch, const Sizes& size,
                const Array& scale, std::int64_t samples, bool aligned = true);

/// The gradient of max_pool over the last size.size() axes: each window's element is added to its
/// maximum, of equal ones to the first, of NaN to the last, as PyTorch; padding is never chosen.
/// Each result compares all pairs of elements of its windows. gradient: the shape of the maxima.
Array select_and_scatter(const Array& x, const Array& gradient, const Sizes& size,
                         const Window& window);

// ---- quantization
/// Scales and zero points beside x: one number, one for each place on `axis`, or, if size > 0, one
/// for each block of that size on the axis. The last block may be shorter.
struct Blocks {
  int axis = 1;
  std::int64_t size = 0;
};
/// x / scale, rounded to even, plus the zero point, saturated, as ONNX QuantizeLinear. To an 8-bit
/// float only saturated, then cast. to: 8 or 16 bits, else the type of the zero points, or uint8.
/// NaN has no integer.
Array quantize(const Array& x, const Array& scale, const std::optional<Array>& zero,
               std::optional<DType> to = {}, const Blocks& blocks = {}, const Way& way = {});
/// (x - zero) scale of the type of scale, as ONNX DequantizeLinear. x: integers or floats.
Array dequantize(const Array& x, const Array& scale, const std::optional<Array>& zero,
                 const Blocks& blocks = {});
/// (q - zero) scale, where q is round(x / scale) + zero within [least, most], as PyTorch. NaN
/// stays.
Array fake_quantize(const Array& x, const Array& scale, const std::optional<Array>& zero,
                    std::int64_t least = -128, std::int64_t most = 127, const Blocks& blocks = {},
                    const Way& way = {});
/// ggml's q8_0 and q4_0, by `bits`: blocks of 32 numbers times a scale, in float32. q: the numbers
/// of all blocks on the last axis, int8 or bytes with the first 16 numbers in the low digits and
/// the others in the high ones, less 8. Without scales: uint8, each block after its float16 scale.
Array dequantize_ggml(const Array& q, const std::optional<Array>& scale, int bits);

// ---- losses; the mean of no elements is NaN
enum class Reduction : std::uint8_t { None, Mean, Sum, BatchMean };  // sum / size of axis 0
struct ClassLossArgs {
  std::optional<Array> weight = {};  // (classes): of each target
  std::int64_t ignore_index = -100;  // targets without a loss
  double label_smoothing = 0;        // the share of all classes alike
  Reduction reduction = Reduction::None;
};
/// -x[target] of log-probabilities x: (n, classes, ...), target: integers (n, ...); or x: (classes)
/// and a scalar. The loss of targets outside the classes is 0, as of those ignored; both are left
/// out of the mean, which divides by the sum of the weights of the others. As PyTorch's nll_loss.
Array nll_loss(const Array& x, const Array& target, const ClassLossArgs& args = {},
               const Way& way = {});
/// nll_loss of log_softmax over the classes, with PyTorch's label smoothing; or, for targets of the
/// shape of x, -sum(log_softmax(x) target), whose mean divides by the number of sums.
Array cross_entropy(const Array& x, const Array& target, const ClassLossArgs& args = {},
                    const Way& way = {});
/// (x - target)^2. Losses of two arrays broadcast.
Array mse_loss(const Array& x, const Array& target, Reduction reduction = Reduction::None,
               const Way& way = {});
/// |x - target|.
Array l1_loss(const Array& x, const Array& target, Reduction reduction = Reduction::None,
              const Way& way = {});
/// d^2 / (2 beta) where d = |x - target| < beta, else d - beta/2.
Array smooth_l1_loss(const Array& x, const Array& target, const Array& beta,
                     Reduction reduction = Reduction::None, const Way& way = {});
/// d^2 / 2 where d = |x - target| < delta, else delta (d - delta/2).
Array huber_loss(const Array& x, const Array& target, const Array& delta,
                 Reduction reduction = Reduction::None, const Way& way = {});
/// (t - 1) max(log1p(-x), -100) - t max(log(x), -100), times weight; NaN for x outside [0, 1]. As
/// PyTorch's.
Array binary_cross_entropy(const Array& x, const Array& target, const std::optional<Array>& weight,
                           Reduction reduction = Reduction::None, const Way& way = {});
/// (1 - t) x + p softplus(-x) with p = 1 + (pos_weight - 1) t, times weight.
Array binary_cross_entropy_with_logits(const Array& x, const Array& target,
                                       const std::optional<Array>& weight,
                                       const std::optional<Array>& pos_weight,
                                       Reduction reduction = Reduction::None, const Way& way = {});
/// The mean over classes of max(margin - x[target] + x, 0), or of its square.
Array multi_margin_loss(const Array& x, const Array& target, bool squared, const Array& margin,
                        Reduction reduction, const Way& way = {});
/// t log(t) - t x, 0 log(0) = 0, of log-probabilities x; if log_target, exp(t) (t - x).
Array kl_div(const Array& x, const Array& target, bool log_target = false,
             Reduction reduction = Reduction::None, const Way& way = {});
/// x / (1 - p) where kept, else 0; a `kept` of floats is a factor instead. p: in [0, 1].
Array dropout(const Array& x, const Array& kept, double p);

// ---- activations, as PyTorch's; NaN stays NaN, narrow floats are computed in float32
/// min(max(x, low), high), of any type but bool: `high` if low > high.
Array clamp(const Array& x, const std::optional<Array>& low, const std::optional<Array>& high);
Array leaky_relu(const Array& x, const Array& slope);
/// leaky_relu with a slope for each channel, axis 1, if `slope` is (channels); else it broadcasts.
Array prelu(const Array& x, const Array& slope);
Array elu(const Array& x, const Array& alpha);   // x > 0 ? x : alpha expm1(x)
Array celu(const Array& x, const Array& alpha);  // x > 0 ? x : alpha expm1(x / alpha)
Array selu(const Array& x);                      // 1.0507 elu(x, 1.6733), of float64 constants
Array hardsigmoid(const Array& x, const Way& way = {});  // min(max(x + 3, 0), 6) / 6
Array hardswish(const Array& x, const Way& way = {});    // x min(max(x + 3, 0), 6) / 6
Array mish(const Array& x);                              // x tanh(softplus(x))
Array softsign(const Array& x);                          // x / (1 + |x|)
Array logsigmoid(const Array& x);                        // -softplus(-x)
/// x, or `value` where x <= threshold, of any type.
Array threshold(const Array& x, const Array& threshold, const Array& value);
/// f(first) * second, or first * f(second) if `second_gates`. Without `second`, they are the
/// halves of `first` along the axis.
Array gated(NamedFunction f, const Array& first, const std::optional<Array>& second, int axis,
            bool second_gates);

// ---- recurrent cells, with PyTorch's weights: w_ih (gates hidden, in), w_hh (gates hidden,
// hidden), biases (gates hidden). x: (.., in), h, c: (.., hidden). A sequence is judged in one call
// from the states before each step: x: (steps, .., in), h: (steps, .., hidden).
struct CellWeights {
  Array w_ih, w_hh;
  std::optional<Array> b_ih = {}, b_hh = {};
};
/// tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.
Array rnn_cell(const Array& x, const Array& h, const CellWeights& weights, bool with_relu = false,
               const Way& way = {});
/// Gates i, f, g, o: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
/// Returns h', or c' if `gives_c`.
Array lstm_cell(const Array& x, const Array& h, const Array& c, const CellWeights& weights,
                bool gives_c = false, const Way& way = {});
/// Gates r, z, n: n = tanh(W x + b_ih + r (W h + b_hh)), h' = (1 - z) n + z h; without
/// `linear_before_reset`, as in ONNX, n = tanh(W x + b_ih + W (r h) + b_hh).
Array gru_cell(const Array& x, const Array& h, const CellWeights& weights,
               bool linear_before_reset = true, const Way& way = {});

// ---- complex numbers: pairs (real, imaginary) on the last axis, of size 2
Array complex_mul(const Array& x, const Array& y);
Array complex_exp(const Array& x);
/// hypot of the pairs; the last axis is dropped.
Array complex_abs(const Array& x);
/// (.., n, k, 2) by (.., k, m, 2): each part is one sum of 2 k products.
Array complex_matmul(const Array& x, const Array& y);
/// sum over n of x[n] e^(-2 pi i k n / N), or with + and divided by N if `inverse`: norm "backward"
/// of numpy.fft. x: (.., N, 2), N <= kMostPoints, since the cost grows as N^2. Coefficients are
/// computed in float64 from angles reduced as integers, then rounded to the type of x.
Array dft(const Array& x, bool inverse = false);
inline constexpr std::int64_t kMostPoints = 1'024;

// ---- masks, positions and indexing
/// True where column - row >= diagonal; uses views only.
Array upper_triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal);
/// 0, 1, 2, ...
Array arange(std::int64_t size, DType dtype = DType::Int32);
Array tril(const Array& x, std::int64_t diagonal = 0);
Array triu(const Array& x, std::int64_t diagonal = 0);
Array one_hot(const Array& index, std::int64_t classes, DType dtype = DType::Float32);
/// The result of a position outside the table.
enum class Outside : std::uint8_t { Zero, Error };
/// Selects rows of a table; positions out of range give zeros, or an error that names the position.
/// Rows of an input, moved or not, are loads (GATHER); rows of a computed table are masked sums
/// over it, without errors. table: (rows, size), index: integers of any shape. Throws ShapeError,
/// DTypeError.
Array gather(const Array& table, const Array& index, Outside outside = Outside::Zero);
/// index_select and scatter take int64 positions, counted from the end if negative; those outside
/// read 0 and write nothing. Selected elements keep their bits.
/// x[index[i, r], r], with the index on `axis`, as torch.gather, numpy.take_along_axis and ONNX
/// GatherElements. On other axes the index may be shorter than x, as in PyTorch; size 1 against
/// more is an error, since NumPy repeats it. x of size 1 is repeated.
Array take_along(const Array& x, const Array& index, int axis = -1);
/// Replaces the axis by the axes of the index, as numpy.take and ONNX Gather do. The index of
/// torch.index_select has one axis.
Array index_select(const Array& x, const Array& index, int axis = 0);
/// How an element and the updates at its position make the result. Add: a sum in any order, x
/// included. Max and Min: NaN wins. Last: the last update in row-major order replaces x, as NumPy
/// does; PyTorch, JAX and ONNX leave the choice open.
/// Multiply: as `prod`, x included; of integers at most 1,023 updates on the axis.
enum class Combine : std::uint8_t { Last, Add, Max, Min, Multiply };
/// x with updates[i, r] at (index[i, r], r), as torch.scatter, scatter_add and scatter_reduce
/// (include_self), and ONNX ScatterElements. The index may be shorter than x on other axes, and
/// than the updates, whose type must be that of x; a number is written everywhere. Each result
/// passes over all updates along the axis.
Array scatter(const Array& x, const Array& index, const Array& updates, int axis = 0,
              Combine by = Combine::Last);
/// x[index[i...]] for rows of positions in the axes after the first `batch_dims`, as ONNX GatherND
/// and tf.gather_nd. index: (batch..., .., k).
Array gather_nd(const Array& x, const Array& index, std::int64_t batch_dims = 0);
/// `size` elements from `start`, (axes), which is moved to fit, as in XLA; and x with such a part
/// replaced.
Array dynamic_slice(const Array& x, const Array& start, const Sizes& size);
Array dynamic_update_slice(const Array& x, const Array& updates, const Array& start);
/// x with the first lengths[b] elements of the time axis reversed, as ONNX ReverseSequence.
Array reverse_sequence(const Array& x, const Array& lengths, int time_axis = 0, int batch_axis = 1);
/// x with updates added to the places of `index`, (n), on an axis, as torch.index_add.
Array index_add(const Array& x, const Array& index, const Array& updates, int axis = 0);
/// x with updates[i...] at x[index[i...]], as ONNX ScatterND. index: (.., k), updates: (.., rest of
/// x after k axes).
Array scatter_nd(const Array& x, const Array& index, const Array& updates,
                 Combine by = Combine::Last);
/// Rows of x with the same position, combined; by: not Last. Negative positions count as outside,
/// empty segments are 0 or the end of the type's range, as in jax.ops. x: (n, ..), index: (n).
Array segments(const Array& x, const Array& index, std::int64_t count, Combine by = Combine::Add);
enum class Bag : std::uint8_t { Sum, Mean, Max };
/// Rows of a table combined over each bag, as PyTorch; positions outside, also negative ones, are
/// rows of 0, empty bags are 0. index, weights (only of sums): (bags, n).
Array embedding_bag(const Array& table, const Array& index,
                    const std::optional<Array>& weights = {}, Bag mode = Bag::Mean,
                    const Way& way = {});
Array pad_with(const Array& x, const Pairs& before_after, const Array& value);
/// Padded as numpy.pad: Reflect without the first element, Symmetric with it. Loads of an input;
/// of a computed value each element passes over the axis.
enum class PadMode : std::uint8_t { Constant, Reflect, Edge, Wrap, Symmetric };
Array pad_by(const Array& x, const Pairs& before_after, PadMode mode);
/// The middle of the last axes with that many elements, or zeros around them: ONNX CenterCropPad.
Array center_crop_pad(const Array& x, const Sizes& sizes);
/// (.., c b b, h, w) to (.., c, h b, w b), or back if `inverse`. The channels are (b, b, c), ONNX's
/// DCR, or (c, b, b) if `channel_first`: CRD, PyTorch's pixel_shuffle.
Array depth_to_space(const Array& x, std::int64_t block, bool channel_first, bool inverse = false);
/// The whole array repeated along each axis, as numpy.tile.
Array tile(const Array& x, const Sizes& times);
Array diff(const Array& x, int axis = -1);  // x[i + 1] - x[i]; of bool: x[i + 1] != x[i]
/// Each row begins with a 1.
Array with_one(const Array& x);
Array concat(const Array& a, const Array& b, int axis);
Array flip(const Array& x, const Axes& axes);
Array roll(const Array& x, std::int64_t shift, int axis);
Array transpose(const Array& x, int a = -2, int b = -1);
Array diagonal(const Array& x);  // of a matrix
/// Repeats each element `times` times along the axis.
Array repeat(const Array& x, std::int64_t times, int axis);

}  // namespace touchstone::define
