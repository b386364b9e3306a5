// Definitions and parameters by name, also by the names that libraries give them.
#include <algorithm>
#include <ranges>

#include "touchstone/base/suggest.h"
#include "touchstone/define/definitions.h"

namespace touchstone::define {
namespace {

// A name typed by users of other libraries, and ours. A text with a space is a hint: the error
// shows it. Of several parameters the first that the definition has is taken.
using Spelling = std::pair<std::string_view, std::string_view>;

constexpr Spelling kNames[] = {
    {"absolute", "abs"},
    {"adaptive_avg_pool", "adaptive_avg_pool1d or adaptive_avg_pool2d"},
    {"addmm", "c + matmul(a, b)"},
    {"amax", "max"},
    {"amin", "min"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"average", "mean"},
    {"bitwise_and", "bit_and"},
    {"bitwise_not", "bit_not"},
    {"bitwise_or", "bit_or"},
    {"bitwise_xor", "xor"},
    {"bmm", "matmul"},
    {"broadcast_in_dim", "reshape and expand"},
    {"broadcast_to", "expand"},
    {"cat", "concat"},
    {"chunk", "slice(x, begin=[..], end=[..])"},
    {"clip", "clamp"},
    {"concatenate", "concat"},
    {"conv", "conv1d, conv2d or conv3d"},
    {"conv_transpose", "conv_transpose1d, conv_transpose2d or conv_transpose3d"},
    {"convert", "cast"},
    {"count_leading_zeros", "clz"},
    {"deg2rad", "x * 0.017453292519943295"},
    {"degrees", "x * 57.29577951308232"},
    {"divide", "x / y, of floats: integers are cut"},
    {"dot", "matmul"},
    {"dot_general", "matmul"},
    {"einsum", "matmul, or sum(a * b, axis=..)"},
    {"embedding", "gather"},
    {"eq", "x == y"},
    {"equal", "x == y"},
    {"eye", "one_hot(arange(size=n), classes=n)"},
    {"exponential", "exp"},
    {"fabs", "abs"},
    {"fft", "dft"},
    {"flatten", "reshape(x, shape=[n,-1])"},
    {"float_power", "pow"},
    {"floor_divide", "floor_div"},
    {"fmax", "where(x != x, y, where(y != y, x, maximum(x, y)))"},
    {"fmin", "where(x != x, y, where(y != y, x, minimum(x, y)))"},
    {"fmod", "mod"},
    {"full", "expand(value, shape=[..])"},
    {"gather_elements", "take_along"},
    {"ge", "x >= y"},
    {"gemm", "matmul(a, b) * alpha + c * beta"},
    {"global_avg_pool", "mean(x, axis=[2,3], keep=1)"},
    {"global_max_pool", "max(x, axis=[2,3], keep=1)"},
    {"greater", "x > y"},
    {"gru", "gru_cell, of the states before each step"},
    {"gt", "x > y"},
    {"hard_sigmoid", "hardsigmoid, or clamp(0.2 * x + 0.5, 0, 1)"},
    {"hard_swish", "hardswish"},
    {"iota", "arange"},
    {"is_finite", "isfinite"},
    {"le", "x <= y"},
    {"less", "x < y"},
    {"log_sigmoid", "logsigmoid"},
    {"logaddexp2",
     "logaddexp(x * 0.6931471805599453, y * 0.6931471805599453) * 1.4426950408889634"},
    {"logistic", "sigmoid"},
    {"logical_and", "bit_and(x != 0, y != 0)"},
    {"logical_not", "x == 0"},
    {"logical_or", "bit_or(x != 0, y != 0)"},
    {"logical_xor", "xor(x != 0, y != 0)"},
    {"lt", "x < y"},
    {"masked_fill", "where(mask, value, x)"},
    {"lstm", "lstm_cell and lstm_cell_c, of the states before each step"},
    {"mm", "matmul"},
    {"moveaxis", "permute"},
    {"mul_no_nan", "where(y == 0, 0, x * y)"},
    {"multiply", "mul"},
    {"mv", "matmul"},
    {"ne", "x != y"},
    {"negative", "neg"},
    {"nextafter", "next_after"},
    {"norm", "l1_norm or l2_norm"},
    {"not_equal", "x != y"},
    {"ones_like", "x * 0 + 1"},
    {"outer", "reshape(x, shape=[-1,1]) * y"},
    {"permute_dims", "permute"},
    {"power", "pow"},
    {"rad2deg", "x * 57.29577951308232"},
    {"radians", "x * 0.017453292519943295"},
    {"reciprocal", "recip"},
    {"reduce_precision", "cast(cast(x, f16), f32)"},
    {"repeat_interleave", "repeat"},
    {"reverse", "flip"},
    {"rint", "round"},
    {"rnn", "rnn_cell, of the states before each step"},
    {"round_nearest_afz", "round_half_away"},
    {"round_nearest_even", "round"},
    {"scaled_dot_product_attention", "attention"},
    {"scatter_add", "scatter(x, index, updates, reduce=add)"},
    {"scatter_elements", "scatter"},
    {"pixel_shuffle", "depth_to_space(x, block=r, mode=crd)"},
    {"pixel_unshuffle", "space_to_depth(x, block=r, mode=crd)"},
    {"replication_pad", "pad(x, before=[..], after=[..], mode=edge)"},
    {"scatter_reduce", "scatter(x, index, updates, axis=.., reduce=..)"},
    {"select", "where(condition, x, y), or slice"},
    {"sinc", "where(x == 0, 1, sin(x * 3.141592653589793) / (x * 3.141592653589793))"},
    {"spacing", "next_after(x, inf) - x"},
    {"squeeze", "reshape(x, shape=[..])"},
    {"stack", "concat of arrays with one more axis"},
    {"subtract", "sub"},
    {"swapaxes", "transpose"},
    {"swish", "silu"},
    {"take", "index_select(x, index, axis=..)"},
    {"take_along_axis", "take_along"},
    {"topk", "top_k"},
    {"true_divide", "x / y, of floats: integers are cut"},
    {"trilu", "tril or triu"},
    {"truncate", "trunc"},
    {"unsqueeze", "reshape(x, shape=[..])"},
    {"upsample", "interpolate"},
    {"view", "reshape"},
    {"zeros_like", "x * 0"},
};

constexpr Spelling kParameters[] = {
    {"a_max", "high"},
    {"a_min", "low"},
    {"attn_mask", "mask"},
    {"axes", "axis"},
    {"axes", "order"},
    {"axis1", "a"},
    {"axis2", "b"},
    {"bias", "b"},
    {"constant_value", "value"},
    {"ddof", "correction"},
    {"depth", "classes"},
    {"dilations", "dilation"},
    {"dim", "axis"},
    {"dim0", "a"},
    {"dim1", "b"},
    {"dims", "axis"},
    {"dims", "order"},
    {"dtype", "to"},
    {"epsilon", "eps"},
    {"group", "groups"},
    {"indices", "index"},
    {"input", "x"},
    {"is_causal", "causal"},
    {"keepdim", "keep"},
    {"keepdims", "keep"},
    {"kernel_shape", "size"},
    {"kernel_size", "size"},
    {"key", "k"},
    {"labels", "target"},
    {"max", "high"},
    {"min", "low"},
    {"factor", "block"},
    {"negative_slope", "slope"},
    {"num_classes", "classes"},
    {"num_groups", "groups"},
    {"other", "y"},
    {"output_size", "size"},
    {"query", "q"},
    {"repeats", "times"},
    {"running_mean", "mean"},
    {"running_var", "var"},
    {"self", "x"},
    {"shifts", "shift"},
    {"sizes", "size"},
    {"src", "updates"},
    {"strides", "stride"},
    {"unbiased", "correction"},
    {"value", "v"},
    {"weight", "w"},
    {"window", "size"},
};

std::string_view right_of(std::span<const Spelling> table, std::string_view typed) {
  const auto found = std::ranges::find(table, typed, &Spelling::first);
  return found == table.end() ? std::string_view() : found->second;
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
  for (const auto& [typed, right] : kParameters)
    if (const auto found = find(right); typed == name && found != known.end()) return *found;
  std::vector<std::string_view> names;
  for (const Parameter& one : known) names.push_back(one.name);
  throw ParseError(fmt::format("{} has no argument '{}'{}", definition.signature, name,
                               did_you_mean(name, names)));
}

const Definition& definition(std::string_view name) {
  const std::string_view right = right_of(kNames, name);
  std::vector<std::string_view> known;
  for (const Definition& d : definitions()) {
    if (d.name() == name || d.name() == right) return d;
    known.push_back(d.name());
  }
  throw ParseError(
      fmt::format("there is no definition '{}'{}; touchstone kernel --list shows all", name,
                  right.empty() ? did_you_mean(name, known) : fmt::format("; write {}", right)));
}

}  // namespace touchstone::define
