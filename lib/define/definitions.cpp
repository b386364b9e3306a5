#include "touchstone/define/definitions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "touchstone/base/suggest.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

Window window_of(const Arguments& c, bool dilates) {
  return {c.sizes("stride"), c.sizes("padding"), dilates ? c.sizes("dilation") : Sizes{1}};
}
Window pool_window_of(const Arguments& c, bool dilates) {
  Window window = window_of(c, dilates);
  window.ceil = c.flag("ceil_mode");
  return window;
}
template <int Spatial>
Array conv_of(const Arguments& c) {
  return conv(c.array("x"), c.array("w"), c.maybe("b"), window_of(c, true), c.integer("groups"),
              Spatial, c.way());
}
template <int Spatial>
Array conv_transpose_of(const Arguments& c) {
  return conv_transpose(c.array("x"), c.array("w"), c.maybe("b"), window_of(c, true),
                        c.sizes("output_padding"), c.integer("groups"), Spatial, c.way());
}
template <int Spatial>
Array avg_pool_of(const Arguments& c) {
  const Divisor divisor{c.flag("count_include_pad"),
                        Spatial > 1 ? c.integer("divisor_override") : 0};
  return avg_pool(c.array("x"), c.sizes("size"), pool_window_of(c, false), Spatial, divisor,
                  c.way());
}
template <int Spatial, Array (*Pool)(const Array&, const Sizes&, const Window&, int)>
Array max_pool_of(const Arguments& c) {
  return Pool(c.array("x"), c.sizes("size"), pool_window_of(c, true), Spatial);
}
// One size for each axis, or one for all.
template <std::size_t Spatial, bool OfMaxima>
Array adaptive_pool_of(const Arguments& c) {
  Sizes sizes = c.sizes("size");
  if (sizes.size() == 1) sizes.resize(Spatial, sizes[0]);
  if (sizes.size() != Spatial)
    throw ShapeError(fmt::format("size has {} entries for {} axes", sizes.size(), Spatial));
  return adaptive_pool(c.array("x"), sizes, OfMaxima, c.way());
}
template <int Spatial>
Array lp_pool_of(const Arguments& c) {
  return lp_pool(c.array("x"), c.real("p"), c.sizes("size"), pool_window_of(c, true), Spatial);
}
Array grid_sample_of(const Arguments& c) {
  static constexpr std::string_view kModes[] = {"bilinear", "nearest", "bicubic"},
                                    kBorders[] = {"zeros", "border", "reflection"};
  static constexpr Interpolation kOf[] = {Interpolation::Linear, Interpolation::Nearest,
                                          Interpolation::Cubic};
  return grid_sample(c.array("x"), c.array("grid"), kOf[c.choice("mode", kModes)],
                     static_cast<Border>(c.choice("padding_mode", kBorders)),
                     c.flag("align_corners"));
}

Array interpolate_of(const Arguments& c) {
  struct Mode {
    std::string_view name;
    Interpolation mode;
    std::size_t axes;  // 0: any
  };
  static constexpr Mode kModes[] = {
      {"nearest", Interpolation::Nearest, 0},  {"nearest_exact", Interpolation::NearestExact, 0},
      {"linear", Interpolation::Linear, 1},    {"bilinear", Interpolation::Linear, 2},
      {"trilinear", Interpolation::Linear, 3}, {"bicubic", Interpolation::Cubic, 2}};
  const std::string name = c.word("mode");
  const Sizes sizes = c.sizes("size");
  std::vector<std::string_view> known;
  for (const Mode& row : kModes) {
    known.push_back(row.name);
    if (row.name != name) continue;
    if (row.axes != 0 && row.axes != sizes.size())
      throw ShapeError(fmt::format("interpolate: {} takes {} size{}, not {}", name, row.axes,
                                   row.axes == 1 ? "" : "s", sizes.size()));
    return interpolate(c.array("x"), sizes, row.mode, c.flag("align_corners"), c.way());
  }
  throw ParseError(fmt::format("interpolate: unknown mode '{}'{}; known: {}", name,
                               did_you_mean(name, known), fmt::join(known, ", ")));
}

Array matmul_of(const Arguments& c) {
  Array a = c.array("a"), b = c.array("b");
  if (c.flag("transpose_a")) a = transpose(a);
  if (c.flag("transpose_b")) b = transpose(b);
  return matmul(a, b, c.maybe_dtype("accumulate"), c.way());
}

// [begin, end) of each axis, or of the last ones if there are fewer entries.
Array slice_of(const Arguments& c) {
  const Array x = c.array("x");
  const Sizes begin = c.sizes("begin"), end = c.sizes("end");
  if (begin.size() != end.size() || begin.size() > x.shape().size())
    throw ShapeError(
        fmt::format("slice: {} and {} entries for {} axes", begin.size(), end.size(), x.rank()));
  Pairs keep = whole_ranges(x.shape());
  for (std::size_t i = 0; i < begin.size(); ++i)
    keep[keep.size() - begin.size() + i] = {begin[i], end[i]};
  return x.shrink(keep);
}

Array pad_of(const Arguments& c) {
  const Array x = c.array("x");
  const Sizes before = c.sizes("before"), after = c.sizes("after");
  if (before.size() != after.size() || before.size() > x.shape().size())
    throw ShapeError(
        fmt::format("pad: {} and {} entries for {} axes", before.size(), after.size(), x.rank()));
  Pairs padding(x.shape().size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 0 || after[i] < 0)
      throw ShapeError(fmt::format("pad: ({}, {}) is negative; use slice", before[i], after[i]));
    padding[padding.size() - before.size() + i] = {before[i], after[i]};
  }
  static constexpr std::string_view kModes[] = {"constant", "reflect", "edge", "wrap", "symmetric"};
  const auto mode = static_cast<PadMode>(c.choice("mode", kModes));
  const Array value = c.array("value");
  const bool is_zero = value.is_number() && value.node()->number == "0";
  if (mode != PadMode::Constant && !is_zero)
    throw ParseError(fmt::format("value is for mode=constant; mode={} repeats elements of x",
                                 kModes[static_cast<std::size_t>(mode)]));
  if (mode != PadMode::Constant) return pad_by(x, padding, mode);
  return is_zero ? x.pad(padding) : pad_with(x, padding, value);
}

Array permute_of(const Arguments& c) {
  std::vector<int> order;
  const Array x = c.array("x");
  for (const std::int64_t axis : c.sizes("order")) order.push_back(axis_of(x, axis));
  return x.permute(order);
}

template <Combine By>
Array segments_of(const Arguments& c) {
  return segments(c.array("x"), c.array("index"), c.integer("segments"), By);
}
template <bool Inverse>
Array depth_to_space_of(const Arguments& c) {
  static constexpr std::string_view kOrders[] = {"dcr", "crd"};
  return depth_to_space(c.array("x"), c.integer("block"), c.choice("mode", kOrders) == 1, Inverse);
}
template <int Bits>
Array dequantize_ggml_of(const Arguments& c) {
  return dequantize_ggml(c.array("q"), c.maybe("scale"), Bits);
}

Array attention_of(const Arguments& c) {
  return attention(c.array("q"), c.array("k"), c.array("v"),
                   {c.maybe("mask"), c.flag("causal"), c.maybe("scale"), c.maybe("dropout"),
                    argument<EmptyRows>(c, "empty")},
                   c.way());
}

constexpr bool kLoose = true;

const Definition kNamed[] = {
    {"elementwise", "maximum(x, y)", "the larger; MAX of the op table", from<maximum>, kLoose},
    {"elementwise", "minimum(x, y)", "the smaller; NaN where either is", from<minimum>, kLoose},
    {"elementwise", "cast(x, to=...)", "converted to a type",
     [](const Arguments& c) { return c.array("x").cast(c.dtype("to")); }, kLoose},
    {"elementwise", "bitcast(x, to=...)", "the same bits as a type of that size",
     [](const Arguments& c) { return c.array("x").bitcast(c.dtype("to")); }},
    {"elementwise", "abs(x)", "maximum(x, -x)", from<abs>, kLoose},
    {"elementwise", "relu(x)", "maximum(x, 0)", from<relu>, kLoose},

    {"elementwise", "sign(x)", "-1, 1, 0, or NaN", from<sign>, kLoose},
    {"elementwise", "remainder(x, y)", "x - y floor(x / y), with the sign of y, as Python's %",
     from<remainder>, kLoose},
    {"elementwise", "floor_div(x, y)", "floor(x / y), as Python's //", from<floor_div>},
    {"elementwise", "signbit(x)", "true for negative numbers, -0 and negative NaN", from<signbit>},
    {"elementwise", "copysign(x, y)", "x with the sign of y", from<copysign>},
    {"elementwise", "round_half_away(x)", "the nearest whole number; ties away from 0",
     from<round_half_away>},
    {"elementwise", "next_after(x, y)", "the next float from x towards y", from<next_after>},
    {"elementwise", "bit_and(x, y)", "of integers and bool", from<bit_and>},
    {"elementwise", "bit_or(x, y)", "of integers and bool", from<bit_or>},
    {"elementwise", "bit_not(x)", "of integers and bool", from<bit_not>},
    {"elementwise", "shift_left(x, y)", "of integers; 0 if y is negative or not below the width",
     from<shift_left>},
    {"elementwise", "shift_right(x, y)", "as shift_left; fills with the sign", from<shift_right>},
    {"elementwise", "shift_right_logical(x, y)", "as shift_left; fills with zeros",
     from<shift_right_logical>},
    {"elementwise", "popcount(x)", "the number of ones of an integer", from<popcount>},
    {"elementwise", "clz(x)", "the number of zeros above the first one of an integer", from<clz>},

    {"reduces", "sum(x, axis=all, keep=0, accumulate=own)", "sums, in a type of its own or another",
     from<sum>},
    {"reduces", "max(x, axis=all, keep=0)", "maxima", from<max>, kLoose},
    {"reduces", "min(x, axis=all, keep=0)", "minima: -max(-x), of integers ~max(~x)", from<min>,
     kLoose},
    {"reduces", "mean(x, axis=all, keep=0)", "sum / n", from<mean>, kLoose},
    {"reduces", "var(x, axis=all, correction=0, keep=0)", "sum((x - mean)^2) / (n - correction)",
     from<var>, kLoose},
    {"reduces", "std(x, axis=all, correction=0, keep=0)", "sqrt(var)", from<std_of>, kLoose},
    {"reduces", "logsumexp(x, axis=-1)",
     "log(sum(exp(x - m))) + m, with m the maximum, or 0 where that is infinite", from<logsumexp>,
     kLoose},
    {"reduces", "cumsum(x, axis=-1)", "running sums, each a sum under a mask", from<cumsum>},
    {"reduces", "prod(x, axis=all, keep=0)", "products, in any order", from<prod>},
    {"reduces", "cumprod(x, axis=-1)", "running products", from<cumprod>},
    {"reduces", "any(x, axis=all, keep=0)", "true where an element is nonzero", from<any>},
    {"reduces", "all(x, axis=all, keep=0)", "true where all elements are nonzero", from<all>},
    {"reduces", "count_nonzero(x, axis=all, keep=0)", "the number of nonzero elements, int64",
     from<count_nonzero>},

    {"order", "argmax(x, axis=all, keep=0, last=0)",
     "the position of the maximum, int64: of NaN if there is one; of ties the first, or the last",
     from<argmax>},
    {"order", "argmin(x, axis=all, keep=0, last=0)", "the position of the minimum, as argmax",
     from<argmin>},
    {"order", "cummax(x, axis=-1)", "running maxima", from<cummax>, kLoose},
    {"order", "cummin(x, axis=-1)", "running minima", from<cummin>, kLoose},
    {"order", "cummax_index(x, axis=-1)", "their positions, int64, the last of ties",
     from<cummax_index>},
    {"order", "cummin_index(x, axis=-1)", "their positions, int64, the last of ties",
     from<cummin_index>},
    {"order", "sort(x, axis=-1, descending=0)", "stable; NaN is the largest", from<sort>},
    {"order", "argsort(x, axis=-1, descending=0)", "the positions of the sorted elements, int64",
     from<argsort>},
    {"order", "top_k(x, k=..., axis=-1, largest=1)", "the first k sorted elements", from<top_k>},
    {"order", "top_k_index(x, k=..., axis=-1, largest=1)",
     "their positions, int64, the lower of ties", from<top_k_index>},
    {"order", "hardmax(x, axis=-1)", "1 at the first maximum, else 0", from<hardmax>},
    {"order", "searchsorted(sorted, x, right=0)", "the number of elements below x, or not above it",
     from<searchsorted>},

    {"rows", "softmax(x, axis=-1)", "exp(x - max) / sum(exp(x - max))", from<softmax>, kLoose},
    {"rows", "log_softmax(x, axis=-1)", "x - max - log(sum(exp(x - max)))", from<log_softmax>,
     kLoose},
    {"rows", "layer_norm(x, w?, b?, eps=1e-5)", "(x - mean) * rsqrt(var + eps) * w + b",
     from<layer_norm>, kLoose},
    {"rows", "group_norm(x, w?, b?, groups=..., eps=1e-5)",
     "(x - mean) * rsqrt(var + eps) * w + b of each group of channels, axis 1",
     from<group_norm, 0, 3, 1, 2, 4>, kLoose},
    {"rows", "instance_norm(x, w?, b?, eps=1e-5)", "group_norm of each channel alone",
     [](const Arguments& c) {
       const Array x = c.array("x");
       return group_norm(x, x.rank() > 1 ? x.size(1) : 1, c.maybe("w"), c.maybe("b"),
                         c.array("eps"), c.way());
     },
     kLoose},
    {"rows", "rms_norm(x, w?, eps=1e-6)", "x * rsqrt(mean(x*x) + eps) * w", from<rms_norm>, kLoose},
    {"rows", "batch_norm(x, mean, var, w?, b?, eps=1e-5)",
     "(x - mean) * rsqrt(var + eps) * w + b of each channel, axis 1", from<batch_norm>, kLoose},
    {"rows", "local_response_norm(x, size=..., alpha=1e-4, beta=0.75, k=1)",
     "x / (k + alpha mean(x*x))^beta, of the channels around each, axis 1",
     from<local_response_norm>, kLoose},
    {"rows", "masked_softmax(x, mask, axis=-1, empty=nan)",
     "softmax where the mask is true, or of x + mask", from<masked_softmax>, kLoose},

    {"products", "matmul(a, b, transpose_a=0, transpose_b=0, accumulate=own)",
     "(.., n, k) by (.., k, m)", matmul_of},
    {"products", "linear(x, w, b?)", "x w^T + b; w: (out, in)", from<linear>},
    {"products", "attention_scores(q, k, mask?, causal=0, scale?)",
     "q k^T scale, scale 1/sqrt(d); -inf where masked",
     [](const Arguments& c) {
       return attention_scores(c.array("q"), c.array("k"),
                               {c.maybe("mask"), c.flag("causal"), c.maybe("scale")}, c.way());
     }},
    {"products", "attention(q, k, v, mask?, causal=0, scale?, dropout?, empty=nan)",
     "softmax(attention_scores) v; a mask is true where a key takes part, or is added",
     attention_of, kLoose},

    {"windows", "conv1d(x, w, b?, stride=1, padding=0, dilation=1, groups=1)",
     "x: (batch, in, size), w: (out, in/groups, window)", conv_of<1>},
    {"windows", "conv2d(x, w, b?, stride=1, padding=0, dilation=1, groups=1)",
     "lists give one number per axis", conv_of<2>},
    {"windows", "conv3d(x, w, b?, stride=1, padding=0, dilation=1, groups=1)",
     "the same over three axes", conv_of<3>},
    {"windows",
     "conv_transpose1d(x, w, b?, stride=1, padding=0, output_padding=0, dilation=1, groups=1)",
     "x: (batch, in, size), w: (in, out/groups, window)", conv_transpose_of<1>},
    {"windows",
     "conv_transpose2d(x, w, b?, stride=1, padding=0, output_padding=0, dilation=1, groups=1)",
     "the same over two axes", conv_transpose_of<2>},
    {"windows",
     "conv_transpose3d(x, w, b?, stride=1, padding=0, output_padding=0, dilation=1, groups=1)",
     "the same over three axes", conv_transpose_of<3>},
    {"windows", "avg_pool1d(x, size=..., stride=1, padding=0, ceil_mode=0, count_include_pad=1)",
     "means; padding counts as 0", avg_pool_of<1>, kLoose},
    {"windows",
     "avg_pool2d(x, size=..., stride=1, padding=0, ceil_mode=0, count_include_pad=1, "
     "divisor_override=0)",
     "the same over two axes; divisor_override=0: the size", avg_pool_of<2>, kLoose},
    {"windows",
     "avg_pool3d(x, size=..., stride=1, padding=0, ceil_mode=0, count_include_pad=1, "
     "divisor_override=0)",
     "the same over three axes", avg_pool_of<3>, kLoose},
    {"windows", "max_pool1d(x, size=..., stride=1, padding=0, dilation=1, ceil_mode=0)",
     "maxima; padding counts as -inf", max_pool_of<1, max_pool>, kLoose},
    {"windows", "max_pool2d(x, size=..., stride=1, padding=0, dilation=1, ceil_mode=0)",
     "the same over two axes", max_pool_of<2, max_pool>, kLoose},
    {"windows", "max_pool3d(x, size=..., stride=1, padding=0, dilation=1, ceil_mode=0)",
     "the same over three axes", max_pool_of<3, max_pool>, kLoose},
    {"windows", "max_pool1d_index(x, size=..., stride=1, padding=0, dilation=1, ceil_mode=0)",
     "indices of the first maxima, or of the last NaN", max_pool_of<1, max_pool_index>},
    {"windows", "max_pool2d_index(x, size=..., stride=1, padding=0, dilation=1, ceil_mode=0)",
     "the same in the flat plane of a channel", max_pool_of<2, max_pool_index>},
    {"windows", "adaptive_avg_pool1d(x, size=...)",
     "means from floor(i n/m) to before ceil((i+1) n/m)", adaptive_pool_of<1, false>, kLoose},
    {"windows", "adaptive_avg_pool2d(x, size=...)", "the same over two axes",
     adaptive_pool_of<2, false>, kLoose},
    {"windows", "adaptive_max_pool1d(x, size=...)", "maxima of the same", adaptive_pool_of<1, true>,
     kLoose},
    {"windows", "adaptive_max_pool2d(x, size=...)", "the same over two axes",
     adaptive_pool_of<2, true>, kLoose},
    {"windows", "lp_pool1d(x, p=2, size=..., stride=1, padding=0, dilation=1, ceil_mode=0)",
     "(sum of |x|^p)^(1/p)", lp_pool_of<1>, kLoose},
    {"windows", "lp_pool2d(x, p=2, size=..., stride=1, padding=0, dilation=1, ceil_mode=0)",
     "the same over two axes", lp_pool_of<2>, kLoose},
    {"windows", "grid_sample(x, grid, mode=bilinear, padding_mode=zeros, align_corners=0)",
     "x at positions from -1 to 1; nearest, bicubic; border, reflection", grid_sample_of, kLoose},
    {"windows", "affine_grid(theta, size=..., align_corners=0)",
     "theta times the positions of size=[rows, columns]", from<affine_grid>, kLoose},
    {"windows", "roi_align(x, rois, batch, size=..., scale=1, sampling_ratio=..., aligned=1)",
     "means of bilinear samples in the bins of boxes", from<roi_align>, kLoose},
    {"windows", "interpolate(x, size=..., mode=nearest, align_corners=0)",
     "of the last axes; nearest_exact, linear, bilinear, trilinear, bicubic", interpolate_of,
     kLoose},
    {"windows", "unfold(x, size=..., dilation=1, padding=0, stride=1)",
     "im2col: (n, c, rows, columns) to (n, c * window, windows)",
     [](const Arguments& c) { return unfold(c.array("x"), c.sizes("size"), window_of(c, true)); }},
    {"windows", "fold(x, output_size=..., size=..., dilation=1, padding=0, stride=1)",
     "col2im: adds windows into (n, c, output_size)",
     [](const Arguments& c) {
       return fold(c.array("x"), c.sizes("output_size"), c.sizes("size"), window_of(c, true));
     }},
    {"windows", "windows(x, size=..., stride=1, dilation=1)",
     "windows over the last axes, as new axes behind them", from<windows>},

    {"reads", "reshape(x, shape=...)", "the same elements; -1: inferred",
     [](const Arguments& c) { return c.array("x").reshape(c.sizes("shape")); }},
    {"reads", "permute(x, order=...)", "axis i is axis order[i] of x", permute_of},
    {"reads", "transpose(x, a=-2, b=-1)", "two axes exchanged", from<transpose>},
    {"reads", "expand(x, shape=...)", "axes of size 1 grow",
     [](const Arguments& c) { return c.array("x").expand(c.sizes("shape")); }},
    {"reads", "pad(x, before=..., after=..., value=0, mode=constant)",
     "of the last axes; constant, reflect, edge, wrap, symmetric", pad_of},
    {"reads", "slice(x, begin=..., end=...)", "[begin, end) of the last axes", slice_of},
    {"reads", "stride(x, steps=...)", "every n-th of each axis; negative: from the end",
     [](const Arguments& c) { return c.array("x").stride(c.sizes("steps")); }},
    {"reads", "flip(x, axis=all)", "from the end", from<flip>},
    {"reads", "roll(x, shift=..., axis=-1)", "rotated along an axis", from<roll>},
    {"reads", "repeat(x, times=..., axis=-1)", "each element repeated", from<repeat>},
    {"reads", "concat(x, y, axis=0)", "joined along an axis", from<concat>},
    {"reads", "tile(x, times=...)", "the whole array repeated along each axis", from<tile>},
    {"reads", "diff(x, axis=-1)", "x[i + 1] - x[i]", from<diff>},
    {"reads", "center_crop_pad(x, size=...)", "the middle of the last axes, or zeros around them",
     from<center_crop_pad>},
    {"reads", "depth_to_space(x, block=..., mode=dcr)",
     "(.., b b c, h, w) to (.., c, h b, w b); crd: of (.., c b b, h, w)", depth_to_space_of<false>},
    {"reads", "space_to_depth(x, block=..., mode=dcr)", "its inverse", depth_to_space_of<true>},
    {"reads", "as_strided(x, shape=..., strides=..., offset=0)",
     "elements at offset + sum(index * stride)",
     [](const Arguments& c) {
       return c.array("x").as_strided(c.sizes("shape"), c.sizes("strides"), c.integer("offset"));
     }},
    {"reads", "diagonal(x)", "of a matrix", from<diagonal>},
    {"reads", "tril(x, diagonal=0)", "0 above the diagonal", from<tril>},
    {"reads", "triu(x, diagonal=0)", "0 below the diagonal", from<triu>},
    {"reads", "arange(size=..., dtype=i32)", "0, 1, 2, ...", from<arange>},
    {"reads", "one_hot(index, classes=..., dtype=f32)", "1 at the index, else 0", from<one_hot>},
    {"reads", "gather(table, index, checked=0)",
     "rows of a table; outside it zeros, or an error with checked=1",
     [](const Arguments& c) {
       return gather(c.array("table"), c.array("index"),
                     c.flag("checked") ? Outside::Error : Outside::Zero);
     }},
    {"reads", "take_along(x, index, axis=-1)", "x[index[i, j], j]: the index along an axis",
     from<take_along>},
    {"reads", "index_select(x, index, axis=0)", "places on an axis", from<index_select>},
    {"reads", "gather_nd(x, index, batch_dims=0)", "x[index[i]] of rows of positions",
     from<gather_nd>},
    {"reads", "dynamic_slice(x, start, size=...)", "elements from positions that are moved to fit",
     from<dynamic_slice>},
    {"reads", "dynamic_update_slice(x, updates, start)", "x with such a part replaced",
     from<dynamic_update_slice>},
    {"reads", "reverse_sequence(x, lengths, time_axis=0, batch_axis=1)",
     "the first lengths[b] elements in reverse", from<reverse_sequence>},

    {"scatters", "scatter(x, index, updates, axis=0, reduce=none)",
     "x with updates[i, j] at (index[i, j], j); reduce: none (the last), add, max, min, mul",
     from<scatter>, kLoose},
    {"scatters", "scatter_nd(x, index, updates, reduce=none)", "x with updates[i] at x[index[i]]",
     from<scatter_nd>, kLoose},
    {"scatters", "index_add(x, index, updates, axis=0)",
     "x with updates added to places on an axis", from<index_add>},
    {"scatters", "segment_sum(x, index, segments=...)", "sums of the rows with one position",
     segments_of<Combine::Add>},
    {"scatters", "segment_max(x, index, segments=...)", "-inf, or the least integer, of none",
     segments_of<Combine::Max>, kLoose},
    {"scatters", "segment_min(x, index, segments=...)", "inf, or the largest integer, of none",
     segments_of<Combine::Min>, kLoose},
    {"scatters", "segment_prod(x, index, segments=...)", "1 of none",
     segments_of<Combine::Multiply>, kLoose},
    {"scatters", "embedding_bag(table, index, w?, mode=mean)",
     "rows of a table: the sum, weighted or not, mean or max of each bag", from<embedding_bag>,
     kLoose},
    {"scatters", "select_and_scatter(x, gradient, size=..., stride=1, padding=0)",
     "the gradient of each window added to its first maximum; one size per axis",
     [](const Arguments& c) {
       return select_and_scatter(c.array("x"), c.array("gradient"), c.sizes("size"),
                                 window_of(c, false));
     }},

    {"quantization", "quantize(x, scale, zero_point?, to=own, axis=1, block=0)",
     "round(x / scale) + zero_point, saturated; own: of zero_point, or u8; scales: one, along an "
     "axis, or for blocks of it",
     from<quantize>, kLoose},
    {"quantization", "dequantize(x, scale, zero_point?, axis=1, block=0)",
     "(x - zero_point) * scale, of the type of scale", from<dequantize>, kLoose},
    {"quantization",
     "fake_quantize(x, scale, zero_point?, quant_min=-128, quant_max=127, axis=1, block=0)",
     "quantized to the levels from quant_min to quant_max, and back", from<fake_quantize>, kLoose},
    {"quantization", "dequantize_q8_0(q, scale?)", "ggml's blocks of 32 int8",
     dequantize_ggml_of<8>},
    {"quantization", "dequantize_q4_0(q, scale?)", "ggml's blocks of 32 numbers of 4 bits",
     dequantize_ggml_of<4>},
};

std::string lower_name(Op op) {
  std::string out(name(op));
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// A function for each elementwise op.
template <int I>
Array apply_op(const Arguments& c) {
  constexpr Op op = static_cast<Op>(I);
  if constexpr (info(op).arity == 1) return Array::apply(op, {c.array("x")});
  if constexpr (info(op).arity == 2) return Array::apply(op, {c.array("x"), c.array("y")});
  if constexpr (op == Op::Where)
    return Array::apply(op, {c.array("condition"), c.array("x"), c.array("y")});
  if constexpr (info(op).arity == 3)
    return Array::apply(op, {c.array("x"), c.array("y"), c.array("z")});
  throw AstError("not elementwise");
}

template <int... I>
void add_ops(std::vector<Definition>& all, std::integer_sequence<int, I...>) {
  const auto add = [&](Op op, Array (*make)(const Arguments&)) {
    if (!is_elementwise(op) || op == Op::Cast || op == Op::Noop || op == Op::Max) return;
    const char* const names = op == Op::Where       ? "condition, x, y"
                              : info(op).arity == 1 ? "x"
                              : info(op).arity == 2 ? "x, y"
                                                    : "x, y, z";
    all.push_back({"elementwise", fmt::format("{}({})", lower_name(op), names),
                   fmt::format("{} of the op table", name(op)), make,
                   op == Op::Exp2 || op == Op::Log2 || op == Op::Sin});
  };
  (add(static_cast<Op>(I), &apply_op<I>), ...);
}

template <int I>
Array call_function(const Arguments& c) {
  constexpr NamedFunction function = static_cast<NamedFunction>(I);
  if constexpr (info(function).arity == 2)
    return Array::call(function, {c.array("x"), c.array("y")});
  else
    return Array::call(function, {c.array("x")});
}

template <int... I>
void add_functions(std::vector<Definition>& all, std::integer_sequence<int, I...>) {
  const auto add = [&](const FunctionInfo& row, Array (*make)(const Arguments&)) {
    all.push_back({"functions", fmt::format("{}({})", row.name, row.arity == 1 ? "x" : "x, y"),
                   std::string(row.meaning), make, kLoose});
  };
  (add(function_table[I], &call_function<I>), ...);
}

}  // namespace

std::string_view Definition::name() const {
  return std::string_view(signature).substr(0, signature.find('('));
}

std::span<const Definition> definitions() {
  static const std::vector<Definition> all = [] {
    std::vector<Definition> made;
    add_ops(made, std::make_integer_sequence<int, kOpCount>());
    add_functions(made, std::make_integer_sequence<int, kFunctionCount>());
    made.insert(made.end(), std::begin(kNamed), std::end(kNamed));
    const auto layers = layer_definitions();
    made.insert(made.end(), layers.begin(), layers.end());
    return made;
  }();
  return all;
}

}  // namespace touchstone::define
