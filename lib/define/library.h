#pragma once

#include <optional>
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
/// Where attention applies its scale.
enum class ScaleAt : std::uint8_t { Scores, Queries, Both };

/// Algorithms with fewer multiplications, which lose digits. Convolutions by them have stride and
/// dilation 1; Winograd's have windows of 3.
enum class Rearranged : std::uint8_t { No, Strassen, WinogradTwo, WinogradFour, Fourier };

/// How a composite is computed; the default is its definition. forms.h names the others.
struct Way {
  Scaling scaling = Scaling::ByDefinition;
  ScaleAt scale_at = ScaleAt::Scores;
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
  Rearranged rearranged = Rearranged::No;
  bool subtracts = false;        // running sums are the total less the later terms
  bool float_positions = false;  // nearest elements by positions in float32
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
/// The same values as the maximum over an axis of size 1: values of reduces that repeat along an
/// axis are computed once, those of other operations for every reader.
Array computed_once(const Array& x);

// ---- elementwise
Array abs(const Array& x);                      // max(x, -x)
Array minimum(const Array& a, const Array& b);  // NaN if either is, as in MAX
Array relu(const Array& x);
Array sign(const Array& x);  // -1, 1, or x if that is 0 or NaN
/// x - y floor(x / y), with the sign of y, as Python's %; a zero has the sign of y.
Array remainder(const Array& x, const Array& y);
/// floor(x / y), of floats as Python's // computes it; narrow ones in float32.
Array floor_div(const Array& x, const Array& y);
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
/// The number of ones.
Array popcount(const Array& x);

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
/// -log_softmax(x)[target] of each row. x: (rows, classes), target: (rows), integers.
Array cross_entropy(const Array& x, const Array& target, const Way& way = {});
/// Sums of the elements up to each place along the axis, as a masked sum.
Array cumsum(const Array& x, int axis = -1, const Way& way = {});

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
/// q k^T scale; if causal, -inf for keys after the query. q: (.., n, d), k: (.., m, d).
Array attention_scores(const Array& q, const Array& k, bool causal,
                       const std::optional<Array>& scale, const Way& way = {});
/// softmax of the scores, times v: (.., m, e). Nests four reduces.
Array attention(const Array& q, const Array& k, const Array& v, bool causal,
                const std::optional<Array>& scale, const Way& way = {});

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
/// Means of elements floor(i in / out) to ceil((i + 1) in / out) - 1, as in PyTorch.
Array adaptive_avg_pool(const Array& x, const Sizes& sizes, const Way& way = {});

// ---- masks, positions and indexing
/// True where column - row >= diagonal; uses views only.
Array upper_triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal);
/// 0, 1, 2, ... as a sum over a triangle of ones.
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
Array pad_with(const Array& x, const Pairs& before_after, const Array& value);
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
