// Definitions and parameters by name, also by the names that libraries give them.
#include <algorithm>
#include <ranges>

#include "touchstone/base/suggest.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

// A name typed by users of other libraries, and ours. A text with a space is a hint: the error
// shows it. Of several parameters the first that the definition has is taken; "gather.dim" is dim
// of gather only. Case and underscores do not matter, except in names with a capital.
using Spelling = std::pair<std::string_view, std::string_view>;

// clang-format off
constexpr Spelling kNames[] = {
    {"absolute", "abs"}, {"adaptive_avg_pool", "adaptive_avg_pool1d or adaptive_avg_pool2d"}, {"addmm", "c + matmul(a, b)"}, {"byte", "u8"}, {"double", "f64"}, {"float", "f32"}, {"float8_e4m3fn", "float8_e4m3"}, {"fp16", "f16"}, {"half", "f16"}, {"int", "i32"}, {"long", "i64"}, {"qint8", "i8"}, {"qint32", "i32"}, {"quint8", "u8"},
    {"amax", "max"}, {"amin", "min"}, {"average", "mean"},
    {"bitwise_and", "bit_and"}, {"bitwise_not", "bit_not"}, {"bitwise_or", "bit_or"}, {"bitwise_xor", "xor"}, {"bmm", "matmul"}, {"broadcast_in_dim", "reshape and expand"}, {"broadcast_to", "expand"},
    {"cat", "concat"}, {"chunk", "slice(x, begin=[..], end=[..])"}, {"clip", "clamp"}, {"concatenate", "concat"}, {"conv", "conv1d, conv2d or conv3d"},
    {"conv_transpose", "conv_transpose1d, conv_transpose2d or conv_transpose3d"}, {"convert", "cast"}, {"count_leading_zeros", "clz"}, {"deg2rad", "x * 0.017453292519943295"},
    {"divide", "x / y, of floats: integers are cut"}, {"dot", "matmul"}, {"dot_general", "matmul"}, {"einsum", "matmul, or sum(a * b, axis=..)"}, {"embedding", "gather"}, {"eq", "x == y"},
    {"equal", "x == y"}, {"eye", "one_hot(arange(size=n), classes=n)"}, {"exponential", "exp"}, {"fft", "dft"}, {"flatten", "reshape(x, shape=[n,-1])"}, {"floor_divide", "floor_div"},
    {"fmax", "where(x != x, y, where(y != y, x, maximum(x, y)))"}, {"fmin", "where(x != x, y, where(y != y, x, minimum(x, y)))"}, {"fmod", "mod"}, {"full", "expand(value, shape=[..])"},
    {"gather_elements", "take_along"}, {"ge", "x >= y"}, {"gemm", "matmul(a, b) * alpha + c * beta"}, {"global_avg_pool", "mean(x, axis=[2,3], keep=1)"},
    {"global_max_pool", "max(x, axis=[2,3], keep=1)"}, {"greater", "x > y"}, {"gru", "gru_cell, of the states before each step"}, {"gt", "x > y"},
    {"hard_sigmoid", "hardsigmoid, or clamp(0.2 * x + 0.5, 0, 1)"}, {"hard_swish", "hardswish"}, {"iota", "arange"}, {"is_finite", "isfinite"}, {"le", "x <= y"}, {"less", "x < y"},
    {"log_sigmoid", "logsigmoid"}, {"logistic", "sigmoid"}, {"logical_and", "bit_and(x != 0, y != 0)"}, {"logical_not", "x == 0"}, {"logical_or", "bit_or(x != 0, y != 0)"},
    {"logical_xor", "xor(x != 0, y != 0)"}, {"lt", "x < y"}, {"masked_fill", "where(mask, value, x)"}, {"lstm", "lstm_cell and lstm_cell_c, of the states before each step"}, {"mm", "matmul"},
    {"moveaxis", "permute"}, {"mul_no_nan", "where(y == 0, 0, x * y)"}, {"multiply", "mul"}, {"mv", "matmul"}, {"ne", "x != y"}, {"negative", "neg"}, {"nextafter", "next_after"},
    {"norm", "l1_norm or l2_norm"}, {"not_equal", "x != y"}, {"ones_like", "x * 0 + 1"}, {"outer", "reshape(x, shape=[-1,1]) * y"}, {"permute_dims", "permute"}, {"power", "pow"},
    {"rad2deg", "x * 57.29577951308232"}, {"reciprocal", "recip"}, {"reduce_precision", "cast(cast(x, f16), f32)"}, {"repeat_interleave", "repeat"}, {"reverse", "flip"},
    {"rnn", "rnn_cell, of the states before each step"}, {"round_nearest_afz", "round_half_away"}, {"round_nearest_even", "round"}, {"scaled_dot_product_attention", "attention"},
    {"scatter_add", "scatter(x, index, updates, reduce=add)"}, {"scatter_elements", "scatter"}, {"pixel_shuffle", "depth_to_space(x, block=r, mode=crd)"},
    {"pixel_unshuffle", "space_to_depth(x, block=r, mode=crd)"}, {"replication_pad", "pad(x, before=[..], after=[..], mode=edge)"},
    {"scatter_reduce", "scatter(x, index, updates, axis=.., reduce=..)"}, {"select", "where(condition, x, y), or slice"}, {"squeeze", "reshape(x, shape=[..])"},
    {"stack", "concat of arrays with one more axis"}, {"subtract", "sub"}, {"swapaxes", "transpose"}, {"swish", "silu"}, {"take", "index_select(x, index, axis=..)"}, {"take_along_axis", "take_along"},
    {"topk", "top_k"}, {"true_divide", "x / y, of floats: integers are cut"}, {"trilu", "tril or triu"}, {"truncate", "trunc"}, {"unsqueeze", "reshape(x, shape=[..])"}, {"upsample", "interpolate"},
    {"view", "reshape"}, {"zeros_like", "x * 0"}, {"Max", "maximum(x, y), or max(x, axis=..)"}, {"Min", "minimum(x, y), or min(x, axis=..)"}, {"Sum", "x + y, or sum(x, axis=..)"},
    {"Mean", "(x + y) / 2, or mean(x, axis=..)"}, {"Mod", "remainder, or mod with fmod=1"}, {"Gather", "index_select(x, index, axis=..), or gather for rows"}, {"arccos", "acos"}, {"arcsin", "asin"},
    {"arctan", "atan"}, {"arctan2", "atan2"}, {"arccosh", "acosh"}, {"arcsinh", "asinh"}, {"arctanh", "atanh"}, {"fabs", "abs"}, {"rint", "round"}, {"around", "round"}, {"fix", "trunc"},
    {"gammaln", "lgamma"}, {"expit", "sigmoid"}, {"special_expit", "sigmoid"}, {"sgn", "sign"}, {"log_sum_exp", "logsumexp"}, {"exponential_minus_one", "expm1"}, {"log_plus_one", "log1p"},
    {"cosine", "cos"}, {"sine", "sin"}, {"tangent", "tan"}, {"float_power", "pow"}, {"ldexp", "x * exp2(y)"}, {"xlog1py", "xlogy(x, 1 + y), which rounds once more"}, {"identity", "x"},
    {"positive", "x"}, {"isposinf", "x == inf"}, {"isneginf", "x == -inf"}, {"left_shift", "shift_left"}, {"right_shift", "shift_right"}, {"bitwise_left_shift", "shift_left"},
    {"bitwise_right_shift", "shift_right"}, {"shift_right_arithmetic", "shift_right"}, {"bit_shift", "shift_left or shift_right_logical"}, {"popcnt", "popcount"}, {"population_count", "popcount"},
    {"bit_count", "popcount"}, {"bitwise_count", "popcount"}, {"and", "bit_and"}, {"or", "bit_or"}, {"not", "bit_not"}, {"bitcast_convert", "bitcast"}, {"bitcast_convert_type", "bitcast"},
    {"convert_element_type", "cast"}, {"cast_like", "cast(x, to=..)"}, {"greater_equal", "x >= y"}, {"greater_or_equal", "x >= y"}, {"less_equal", "x <= y"}, {"less_or_equal", "x <= y"},
    {"select_n", "where(condition, y, x)"}, {"convolution", "conv1d, conv2d or conv3d"}, {"average_pool", "avg_pool1d, avg_pool2d or avg_pool3d, with size="},
    {"avg_pool", "avg_pool1d, avg_pool2d or avg_pool3d"}, {"max_pool", "max_pool1d, max_pool2d or max_pool3d"}, {"lp_pool", "lp_pool1d or lp_pool2d"},
    {"reduce_window", "max_pool2d, or sum(windows(x, size=..), axis=..)"}, {"adaptive_max_pool", "adaptive_max_pool1d or adaptive_max_pool2d"}, {"global_average_pool", "mean(x, axis=[2,3], keep=1)"},
    {"global_lp_pool", "l2_norm(x, axis=[2,3], keep=1)"}, {"max_pool_with_indices", "max_pool2d and max_pool2d_index"}, {"max_with_indices", "max and argmax"}, {"max_unpool", "scatter of zeros"},
    {"product", "prod"}, {"reduce_mul", "prod"}, {"reduce_l1", "l1_norm"}, {"reduce_l2", "l2_norm"}, {"reduce_log_sum", "log(sum(x, axis=..))"}, {"reduce_sum_square", "sum(x * x, axis=..)"},
    {"cumulative_prod", "cumprod"}, {"cumulative_sum", "cumsum"}, {"cummax_indices", "cummax_index"}, {"cummin_indices", "cummin_index"}, {"nansum", "sum(where(x != x, 0, x))"},
    {"nanmax", "max(where(x != x, -inf, x))"}, {"nanmin", "min(where(x != x, inf, x))"}, {"nanmean", "sum(where(x != x, 0, x)) / count_nonzero(x == x)"}, {"ptp", "max(x) - min(x)"},
    {"aminmax", "min and max"}, {"var_mean", "var and mean"}, {"std_mean", "std and mean"}, {"msort", "sort(x, axis=0)"}, {"kthvalue", "slice of sort(x)"}, {"median", "slice of sort(x)"},
    {"top_k_indices", "top_k_index"}, {"topk_indices", "top_k_index"}, {"bucketize", "searchsorted(boundaries, x)"}, {"digitize", "searchsorted(boundaries, x, right=1)"},
    {"scatter_max", "scatter(x, index, updates, reduce=max)"}, {"scatter_min", "scatter(x, index, updates, reduce=min)"}, {"scatter_mul", "scatter(x, index, updates, reduce=mul)"},
    {"scatter_amax", "scatter(x, index, updates, reduce=max)"}, {"scatter_amin", "scatter(x, index, updates, reduce=min)"}, {"scatter_prod", "scatter(x, index, updates, reduce=mul)"}, {"scatter_nd_update", "scatter_nd"}, {"scatter_nd_add", "scatter_nd(x, index, updates, reduce=add)"}, {"tensor_scatter_nd_add", "scatter_nd(x, index, updates, reduce=add)"},
    {"put_along_axis", "scatter(x, index, updates, axis=..)"}, {"index_put", "scatter_nd"}, {"index_copy", "scatter, with an index for each element"},
    {"index_fill", "scatter, with an index for each element"}, {"index_reduce", "scatter(x, index, updates, reduce=..)"}, {"unsorted_segment_sum", "segment_sum"},
    {"segment_mean", "segment_sum / segment_sum of ones"}, {"bincount", "segment_sum of ones"}, {"embedding_renorm", "gather of normalized rows"}, {"take_along_dim", "take_along"},
    {"slice_scatter", "dynamic_update_slice"}, {"select_scatter", "dynamic_update_slice"}, {"resize", "interpolate(x, size=[..], mode=..)"}, {"upsample_nearest", "interpolate"},
    {"upsample_bilinear", "interpolate(x, size=[..], mode=bilinear, align_corners=1)"}, {"resize_bilinear", "interpolate(x, size=[..], mode=bilinear)"},
    {"bilinear", "interpolate(x, size=[..], mode=bilinear), or matmul"}, {"bicubic", "interpolate(x, size=[..], mode=bicubic)"}, {"nearest", "interpolate(x, size=[..], mode=nearest)"},
    {"sdpa", "attention"}, {"flash_attention", "attention"}, {"group_query_attention", "attention"}, {"multi_head_attention", "linear and attention, heads before the last two axes"},
    {"softmax2d", "softmax(x, axis=1)"}, {"softmax_cross_entropy", "cross_entropy"}, {"sparse_categorical_crossentropy", "cross_entropy"}, {"negative_log_likelihood", "nll_loss"}, {"bce", "binary_cross_entropy"},
    {"bce_with_logits", "binary_cross_entropy_with_logits"}, {"binary_crossentropy", "binary_cross_entropy(x, t), the prediction first"}, {"kl_divergence", "kl_div, whose first argument is a logarithm"}, {"hinge", "maximum(1 - t * x, 0)"},
    {"triplet", "triplet_margin_loss"}, {"rnn_tanh", "rnn_cell, of the states before each step"}, {"rnn_relu", "rnn_cell(.., activation=relu), of the states before each step"},
    {"rnn_tanh_cell", "rnn_cell"}, {"rnn_relu_cell", "rnn_cell(.., activation=relu)"}, {"quantize_linear", "quantize"}, {"dequantize_linear", "dequantize"}, {"uniform_quantize", "quantize"},
    {"uniform_dequantize", "dequantize"}, {"quantize_per_tensor", "quantize"}, {"quantize_per_channel", "quantize"}, {"quantize_per_block", "quantize(x, scale, block=..)"},
    {"dequantize_per_tensor", "dequantize"}, {"dequantize_per_channel", "dequantize"}, {"dynamic_quantize_linear", "quantize, with the scale as input"},
    {"fake_quantize_per_tensor_affine", "fake_quantize"}, {"fake_quantize_per_channel_affine", "fake_quantize"}, {"q4_0", "dequantize_q4_0(q)"}, {"q8_0", "dequantize_q8_0(q)"},
    {"quantize_q4_0", "quantize(x, scale, zero_point, block=32), saturated to 4 bits"}, {"quantize_q8_0", "quantize(x, scale, to=i8, block=32)"},
    {"quantize_fp8", "quantize(x, scale, to=float8_e4m3)"}, {"fp8", "cast(x, to=float8_e4m3)"}, {"int8", "cast(x, to=int8)"}, {"matmul_integer", "matmul of cast(x, i32) - zero_point"},
    {"conv_integer", "conv2d of cast(x, i32) - zero_point"}, {"qlinear_matmul", "quantize(matmul(dequantize(..), dequantize(..)), ..)"},
    {"qlinear_conv", "quantize(conv2d(dequantize(..), dequantize(..)), ..)"}, {"rotary", "rope"}, {"rotary_embedding", "rope"}, {"rotary_pos_emb", "rope"}, {"apply_rotary_pos_emb", "rope"},
    {"rotate_half", "concat of the negated second half and the first, within rope"}, {"complex", "concat of two arrays with one more axis, for real and imaginary parts"}, {"complex_add", "x + y"}, {"complex_sub", "x - y"},
    {"complex_conj", "concat of the real parts and the negated imaginary ones"}, {"conj", "concat of the real parts and the negated imaginary ones"},
    {"complex_div", "complex_mul(x, conjugate of y) / sum(y * y, axis=-1, keep=1)"}, {"view_as_complex", "x, whose last axis holds pairs"}, {"view_as_real", "x, whose last axis holds pairs"},
    {"real", "slice(x, begin=[0], end=[1])"}, {"imag", "slice(x, begin=[1], end=[2])"}, {"angle", "atan2(imaginary, real)"}, {"polar", "concat of r * cos(t) and r * sin(t)"}, {"ifft", "idft"},
    {"rfft", "dft of pairs with imaginary part 0"}, {"irfft", "idft, and its real parts"}, {"fft2", "dft along each axis"}, {"stft", "dft of windows"}, {"split", "slice(x, begin=[..], end=[..])"},
    {"narrow", "slice(x, begin=[..], end=[..])"}, {"unbind", "slice(x, begin=[..], end=[..])"}, {"tensor_split", "slice(x, begin=[..], end=[..])"}, {"hstack", "concat along axis 1, of vectors along axis 0"}, {"vstack", "concat along axis 0, of vectors after reshape to rows"},
    {"append", "concat of flat arrays"}, {"expand_dims", "reshape(x, shape=[..])"}, {"expand_as", "expand"}, {"ravel", "reshape(x, shape=[-1])"}, {"unflatten", "reshape(x, shape=[..])"}, {"view_as", "reshape"},
    {"movedim", "permute"}, {"swapdims", "transpose"}, {"im2col", "unfold"}, {"col2im", "fold"}, {"flipud", "flip(x, axis=0)"}, {"fliplr", "flip(x, axis=1)"}, {"rot90", "flip(transpose(x), axis=0)"},
    {"reflection_pad", "pad(x, before=[..], after=[..], mode=reflect)"}, {"zero_pad", "pad"}, {"constant_pad", "pad"}, {"constant_pad_nd", "pad"},
    {"circular_pad", "pad(x, before=[..], after=[..], mode=wrap)"}, {"channel_shuffle", "reshape, transpose and reshape"}, {"zeros", "expand(0, shape=[..])"}, {"ones", "expand(1, shape=[..])"},
    {"full_like", "x * 0 + value"}, {"eye_like", "one_hot(arange(size=n), classes=n)"}, {"linspace", "arange(size=n, dtype=f32) * step + start"}, {"range", "arange"}, {"addcmul", "x + value * a * b"},
    {"addcdiv", "x + value * a / b"}, {"baddbmm", "c * beta + matmul(a, b) * alpha"}, {"addmv", "c + matmul(a, b)"}, {"addr", "c + reshape(a, shape=[-1,1]) * b"}, {"inner", "matmul(a, transpose(b))"},
    {"vdot", "sum(x * y)"}, {"tensordot", "matmul of reshaped arrays"}, {"cdist", "pairwise_distance of reshaped arrays"}, {"clamp_min", "maximum(x, low)"}, {"clamp_max", "minimum(x, high)"},
    {"lrn", "local_response_norm"}, {"batch_normalization", "batch_norm(x, mean, var, w, b), mean and var first"}, {"instance_normalization", "instance_norm"}, {"layer_normalization", "layer_norm"}, {"group_normalization", "group_norm"},
    {"rms_normalization", "rms_norm"}, {"lp_normalization", "normalize(x, axis=..), or x / l1_norm(x, axis=.., keep=1)"}, {"gelu_new", "gelu_tanh"}, {"vector_norm", "l2_norm"},
    {"matrix_norm", "l2_norm(x, axis=[-2,-1])"}, {"frobenius_norm", "l2_norm"},
    {"degrees", "x * 57.29577951308232"}, {"logaddexp2", "logaddexp(x * 0.6931471805599453, y * 0.6931471805599453) * 1.4426950408889634"}, {"radians", "x * 0.017453292519943295"},
    {"sinc", "where(x == 0, 1, sin(x * 3.141592653589793) / (x * 3.141592653589793))"},
};

constexpr Spelling kParameters[] = {
    {"a_max", "high"}, {"a_min", "low"}, {"attn_mask", "mask"}, {"axes", "axis"}, {"axes", "order"}, {"axis1", "a"}, {"axis2", "b"}, {"bias", "b"}, {"constant_value", "value"}, {"ddof", "correction"},
    {"depth", "classes"}, {"dilations", "dilation"}, {"dim", "axis"}, {"dim0", "a"}, {"dim1", "b"}, {"dims", "axis"}, {"dims", "order"}, {"dtype", "to"}, {"epsilon", "eps"}, {"group", "groups"},
    {"indices", "index"}, {"input", "x"}, {"is_causal", "causal"}, {"keepdim", "keep"}, {"keepdims", "keep"}, {"kernel_shape", "size"}, {"kernel_size", "size"}, {"key", "k"}, {"labels", "target"},
    {"max", "high"}, {"min", "low"}, {"factor", "block"}, {"negative_slope", "slope"}, {"num_classes", "classes"}, {"num_groups", "groups"}, {"other", "y"}, {"output_size", "size"}, {"query", "q"},
    {"repeats", "times"}, {"running_mean", "mean"}, {"running_var", "var"}, {"self", "x"}, {"shifts", "shift"}, {"sizes", "size"}, {"src", "updates"}, {"strides", "stride"},
    {"unbiased", "correction"}, {"value", "v"}, {"weight", "w"}, {"window", "size"}, {"data", "x"}, {"operand", "x"}, {"tensor", "x"}, {"values", "x"}, {"scores", "x"}, {"sorted_sequence", "sorted"},
    {"source", "updates"}, {"source", "gradient"}, {"reduction", "reduce"}, {"window_dimensions", "size"}, {"window_strides", "stride"}, {"hx", "h"}, {"cx", "c"}, {"weight_ih", "w_ih"},
    {"weight_hh", "w_hh"}, {"bias_ih", "b_ih"}, {"bias_hh", "b_hh"}, {"weight_ih_l0", "w_ih"}, {"weight_hh_l0", "w_hh"}, {"bias_ih_l0", "b_ih"}, {"bias_hh_l0", "b_hh"}, {"nonlinearity", "activation"},
    {"per_sample_weights", "w"}, {"weights", "weight"}, {"scale", "w"}, {"input_mean", "mean"}, {"input_var", "var"}, {"x_scale", "scale"}, {"y_scale", "scale"}, {"x_zero_point", "zero_point"},
    {"y_zero_point", "zero_point"}, {"block_size", "block"}, {"blocksize", "block"}, {"upscale_factor", "block"}, {"downscale_factor", "block"}, {"cos_cache", "cos"}, {"sin_cache", "sin"},
    {"spatial_scale", "scale"}, {"perm", "order"}, {"newshape", "shape"}, {"starts", "begin"}, {"ends", "end"}, {"min_val", "low"}, {"max_val", "high"}, {"bias", "k"}, {"alpha", "slope"}, {"x1", "x"},
    {"x2", "y"}, {"x1", "a"}, {"x2", "b"}, {"select_last_index", "last"}, {"mat2", "b"}, {"trans_a", "transpose_a"}, {"trans_b", "transpose_b"}, {"lengths", "size"}, {"num_segments", "segments"}, {"segment_ids", "index"}, {"fmod", "leave it out"},
    {"embedding_bag.input", "index"}, {"embedding_bag.weight", "table"}, {"embedding_bag.data", "table"}, {"transpose.perm", "write permute(x, order=[..])"}, {"transpose.axes", "write permute(x, order=[..])"}, {"index_add.alpha", "multiply the updates"}, {"slice.axes", "it cuts the last axes"}, {"keepdim", "leave it out: axes of size 1 are ignored"}, {"keepdims", "leave it out: axes of size 1 are ignored"}, {"include_last_offset", "give each bag as a row of index"},
    {"gather.dim", "write take_along(x, index, axis=..), or index_select"},
    {"gather.axis", "write index_select(x, index, axis=..), or take_along"}, {"gelu.approximate", "write gelu_tanh(x) for approximate=tanh"}, {"dft.inverse", "write idft(x)"},
    {"dft.axis", "it transforms axis -2 of pairs"}, {"dft.dim", "it transforms axis -2 of pairs"}, {"hardsigmoid.alpha", "write clamp(alpha * x + beta, 0, 1)"},
    {"softplus.beta", "write softplus(beta * x) / beta"}, {"max_pool1d.return_indices", "write max_pool1d_index"}, {"max_pool2d.return_indices", "write max_pool2d_index"},
    {"searchsorted.side", "write right=1 for side=right"}, {"prod.dtype", "cast the operand first"}, {"arange.end", "write arange(size=n)"}, {"dtype", "cast the operand first"},
    {"scale_factor", "give the sizes, size=[..]"}, {"scales", "give the sizes, size=[..]"}, {"pads", "write pad(x, before=[..], after=[..]) before, with value=-inf for maxima"},
    {"pad_width", "write before=[..], after=[..]"}, {"auto_pad", "write padding=[..]"}, {"dropout_p", "write dropout=, an array of factors"}, {"exclusive", "write cumsum(x) - x, exact of integers"},
    {"reverse", "write flip(cumsum(flip(x)))"}, {"output_height", "write size=[rows, columns]"}, {"output_width", "write size=[rows, columns]"}, {"axis", "it has a fixed axis; permute the operand"},
    {"dim", "it has a fixed axis; permute the operand"}, {"antialias", "it is not defined here"}, {"coordinate_transformation_mode", "write align_corners=, or mode=nearest_exact"},
    {"sorted", "leave it out: the results are sorted"}, {"stable", "leave it out: the order is stable"}, {"kind", "leave it out: the order is stable"},
    {"training", "leave it out: the statistics are given"}, {"momentum", "leave it out"}, {"normalized_shape", "leave it out: it is the last axis"},
    {"saturate", "leave it out: results are saturated"}, {"stash_type", "leave it out"}, {"storage_order", "leave it out"}, {"enable_gqa", "leave it out: fewer heads of k and v are repeated"},
    {"include_self", "leave it out: x counts"}, {"inplace", "leave it out"}, {"out", "leave it out"}, {"return_indices", "leave it out"}, {"steps", "write stride(x, steps=[..])"},
    {"softcap", "it is not defined here"}, {"padding_idx", "give such positions the weight 0"}, {"offsets", "give each bag as a row of index"},
};

// Words of libraries for the values of arguments.
constexpr Spelling kWords[] = {
    {"byte", "u8"}, {"double", "f64"}, {"float", "f32"}, {"fp16", "f16"}, {"half", "f16"}, {"int", "i32"}, {"long", "i64"}, {"qint8", "i8"}, {"qint32", "i32"}, {"quint8", "u8"},
    {"amax", "max"}, {"amin", "min"}, {"cubic", "bicubic"}, {"linear", "bilinear"}, {"multiply", "mul"}, {"prod", "mul"}, {"sum", "add"},
};
// clang-format on

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// Small letters, without underscores: LayerNorm and layer_norm are alike.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::vector<Parameter> parameters(const Definition& definition) {
  std::vector<Parameter> out;
  std::string_view rest = definition.signature;
  rest.remove_prefix(rest.find('(') + 1);
  while (!rest.empty() && rest != ")") {
    const std::size_t end = rest.find_first_of(",)");
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(rest[end] == ',' ? end + 2 : end);
    Parameter p;
    if (const std::size_t equals = one.find('='); equals != std::string_view::npos) {
      p.fallback = one.substr(equals + 1);
      p.required = p.fallback == "...";
      p.name = one.substr(0, equals);
    } else {
      p.is_array = true;
      p.required = !one.ends_with('?');
      p.name = one.substr(0, one.find('?'));
    }
    out.push_back(std::move(p));
  }
  return out;
}

Given default_of(const Parameter& parameter) {
  const char first = parameter.fallback[0];
  if (first == '-' || (first >= '0' && first <= '9')) return Array::number(parameter.fallback);
  return Word{parameter.fallback};
}

const Parameter& parameter(const Definition& definition, std::span<const Parameter> known,
                           std::string_view name) {
  const auto find = [&](std::string_view word) {
    return std::ranges::find(known, word, &Parameter::name);
  };
  if (const auto found = find(name); found != known.end()) return *found;
  const std::string alike = plain(name), own = fmt::format("{}.{}", definition.name(), name);
  std::string hint;
  for (const bool of_own : {true, false})
    for (const auto& [typed, right] : kParameters) {
      if (of_own ? typed != own : plain(typed) != alike) continue;
      if (const auto found = find(right); found != known.end()) return *found;
      if (hint.empty() && right.find(' ') != right.npos) hint = fmt::format("; {}", right);
    }
  std::vector<std::string_view> names;
  for (const Parameter& one : known) {
    if (plain(one.name) == alike) return one;
    names.push_back(one.name);
  }
  throw ParseError(fmt::format("{} has no argument '{}'{}", definition.signature, name,
                               hint.empty() ? did_you_mean(name, names) : hint));
}

std::string_view our_word(std::string_view word) {
  const auto found = std::ranges::find(kWords, word, &Spelling::first);
  return found == std::end(kWords) ? std::string_view() : found->second;
}

DType element_type(std::string_view name) {
  if (name.starts_with("complex"))
    throw DTypeError("complex numbers are pairs of floats on the last axis, as x[8,2]");
  // float8_e4m3fn, FLOAT8E4M3FN, fp8_e5m2, e4m3.
  std::string digits = plain(name);
  for (const std::string_view before : {"float", "fp", "f", "8"})
    if (digits.starts_with(before)) digits.erase(0, before.size());
  if (digits == "e4m3" || digits == "e4m3fn") return DType::Float8E4M3;
  if (digits == "e5m2") return DType::Float8E5M2;
  const std::string_view ours = our_word(name);
  return parse_dtype(ours.empty() ? name : ours);
}

const Definition& definition(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Definition& d : definitions()) {
    if (d.name() == name) return d;
    known.push_back(d.name());
  }
  std::string_view right;
  const auto find = [&](const auto& same) -> const Definition* {
    const auto row = std::ranges::find_if(kNames, same, &Spelling::first);
    if (row != std::end(kNames)) right = row->second;
    for (const Definition& d : definitions())
      if (d.name() == right || (right.empty() && same(d.name()))) return &d;
    return nullptr;
  };
  const Definition* found = find([&](std::string_view of) { return of == name; });
  // Classes and nodes: LayerNorm, CrossEntropyLoss, bce, ReduceSum, BatchNorm2d.
  const std::string all = plain(name),
                    dimension = all.substr(all.size() - std::min<std::size_t>(all.size(), 2));
  std::vector<std::string> like{all, all + "loss"};
  if (all.ends_with("loss")) like.push_back(all.substr(0, all.size() - 4));
  if (all.starts_with("reduce")) like.push_back(all.substr(6));
  if (dimension == "1d" || dimension == "2d" || dimension == "3d")
    like.push_back(all.substr(0, all.size() - 2));
  for (const std::string& one : like)
    if (found == nullptr && right.empty())
      found = find([&](std::string_view of) {
        return plain(of) == one && std::ranges::none_of(of, is_capital);
      });
  if (found != nullptr) return *found;
  throw ParseError(
      fmt::format("there is no definition '{}'{}; touchstone kernel --list shows all", name,
                  right.empty() ? did_you_mean(name, known) : fmt::format("; write {}", right)));
}

}  // namespace touchstone::define
