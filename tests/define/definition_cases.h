// Formulas, each as calls of the functions in fuzz/definitions.
#pragma once

#include <string>
#include <vector>

namespace touchstone::define {

/// `text`: "T" stands for the type of floats. `calls`: one after the other, separated by ";". Each
/// takes the values that it names: "%n" counts inputs and then results, "$" is the latest result.
/// Without names the first takes all inputs, others the latest result.
struct Case {
  std::string text, calls;
};

// clang-format off
inline std::vector<Case> elementwise_cases() {
  return {
      {"exp2(x[3,5]:T)", "exp2"},
      {"log2(abs(x[7]:T) + 1)", "abs; operator+ number=1; log2"},
      {"sin(x[4]:T)", "sin"},
      {"sqrt(x[4]:T * x)", "square; sqrt"},
      {"recip(x[9]:T * x + 1)", "square; operator+ number=1; reciprocal"},
      {"neg(x[2,1]:T)", "neg"},
      {"-x[2,1]:T", "neg"},
      {"add(x[5]:T, y[5]:T)", "operator+"},
      {"sub(x[5]:T, y[5]:T)", "operator-"},
      {"mul(x[5]:T, y[5]:T)", "operator*"},
      {"div(x[5]:T, y[5]:T*y + 1)", "square %1; operator+ number=1; operator/ %0 $"},
      {"mod(x[5]:T, y[5]:T*y + 1)", "square %1; operator+ number=1; mod %0 $"},
      {"xor(cast(x[5]:T, i32), cast(y[5]:T, i32))", "cast to=int32 %0; cast to=int32 %1; operator^ %2 %3"},
      {"maximum(x[6]:T, y[6]:T)", "maximum"},
      {"minimum(x[6]:T, y[6]:T)", "minimum"},
      {"mulacc(x[6]:T, y[6]:T, x)", "operator* %0 %1; operator+ $ %0"},
      {"where(cmplt(x[6]:T, y[6]:T), x, 2*y)", "operator< %0 %1; operator* number=2 %1; where %2 %0 %3"},
      {"where(cmpeq(x[6]:T, y[6]:T), 1, x)", "operator== %0 %1; where a=1 $ %0"},
      {"where(x[9]:T <= y[9]:T, 1.5, x)", "operator<= %0 %1; where a=1.5 $ %0"},
      {"where(x[9]:T >= 0.5, y[9]:T, x)", "operator>= number=0.5 %0; where $ %1 %0"},
      {"where(x[9]:T != 1, y[9]:T, 3)", "operator!= number=1 %0; where b=3 $ %1"},
      {"where(x[9]:T > y[9]:T, y, -x)", "operator> %0 %1; neg %0; where %2 %1 %3"},
      {"abs(x[8]:T)", "abs"},
      {"exp(x[8]:T)", "exp"},
      {"log(x[8]:T*x + 2)", "square; operator+ number=2; log"},
      {"rsqrt(x[8]:T*x + 2)", "square; operator+ number=2; rsqrt"},
      {"sigmoid(x[8]:T)", "sigmoid"},
      {"tanh(x[8]:T)", "tanh"},
      {"relu(x[8]:T)", "relu"},
      {"silu(x[8]:T)", "silu"},
      {"gelu(x[8]:T)", "gelu form=erf"},
      {"gelu_tanh(x[8]:T)", "gelu"},
      {"expm1(x[8]:T)", "expm1"},
      {"log1p(x[8]:T*x)", "square; log1p"},
      {"erf(x[8]:T)", "erf"},
      {"softplus(x[8]:T)", "softplus"},
      {"cos(x[8]:T)", "cos"},
      {"sinh(x[8]:T)", "sinh"},
      {"cosh(x[8]:T)", "cosh"},
      {"asinh(x[8]:T)", "asinh"},
      {"acosh(x[8]:T*x + 2)", "square; operator+ number=2; acosh"},
      {"floor(x[8]:T)", "floor"},
      {"ceil(x[8]:T)", "ceil"},
      {"round(x[8]:T)", "round"},
      {"trunc(x[8]:T)", "trunc"},
      {"cast(cast(x[8]:T, to=i32), T)", "trunc"},
      {"1 + 2*x[4]:T - (3 - x)/2", "operator* number=2; operator+ number=1; operator- number=3 side=left %0; operator/ number=2; operator- %2 $"},
  };
}

inline std::vector<Case> row_cases() {
  std::vector<Case> all = {
      {"var(x[3,4]:T, axis=-1, correction=1)", "var axes=-1 correction=1"},
      {"layer_norm(x[2,6]:T, w[6]:T, b[6]:T, eps=0.5)", "layer_norm axes=1 eps=0.5"},
      {"batch_norm(x[2,3,4]:T, m[3]:T, v[3]:T * v, w[3]:T, b[3]:T, eps=0.5)", "square %2; batch_norm eps=0.5 %0 %1 $ %3 %4"},
      {"batch_norm(x[5,2]:T, m[2]:T, v[2]:T * v)", "square %2; batch_norm eps=1e-5 %0 %1 $"},
      {"group_norm(x[2,6,3]:T, groups=2, w=w[6]:T, b=b[6]:T, eps=0.5)", "group_norm groups=2 eps=0.5"},
      {"group_norm(x[2,4,2,3]:T, groups=4, eps=0.5)", "group_norm groups=4 eps=0.5"},
      {"instance_norm(x[2,3,5]:T, w[3]:T, b[3]:T, eps=0.5)", "instance_norm eps=0.5"},
      {"std(x[3,4]:T, axis=0, correction=1)", "std axes=0 correction=1"},
      {"sum(x[3,4,2]:T)", "sum"},
      {"sum(x[3,4,2]:T, axis=[0,2], keep=1)", "sum axes=0,2 keep=1"},
      {"softmax(x[4,3]:T, axis=0)", "softmax axis=0"},
      {"cumsum(x[4,3]:T, axis=0)", "cumsum axis=0"},
      {"pad(softmax(x[2,3]:T), before=[1,0], after=[0,2])", "softmax axis=-1; pad before=1,0 after=0,2"},
  };
  // Rows of the last axis: text before and after the input.
  const char* const kRows[][3] = {
      {"sum(", ", axis=-1)", "sum axes=-1"},
      {"max(", ", axis=-1)", "max axes=-1"},
      {"min(", ", axis=-1)", "min axes=-1"},
      {"mean(", ", -1)", "mean axes=-1"},
      {"var(", ", axis=-1)", "var axes=-1 correction=0"},
      {"logsumexp(", ")", "logsumexp axes=-1"},
      {"softmax(", ")", "softmax axis=-1"},
      {"log_softmax(", ")", "log_softmax axis=-1"},
      {"layer_norm(", ")", "layernorm axis=-1 eps=1e-5"},
      {"rms_norm(", ", eps=0.25)", "rms_norm eps=0.25"},
      {"cumsum(", ")", "cumsum axis=-1"},
      {"flip(", ", axis=-1)", "flip axes=-1"},
      {"roll(", ", shift=2)", "roll by=2 axis=-1"},
  };
  for (const char* shape : {"3,5", "1,1", "4,1", "1,7", "2,3,4", "6", "0,4", "2,33"})
    for (const auto& [before, after, call] : kRows)
      all.push_back({std::string(before) + "x[" + shape + "]:T" + after, call});
  return all;
}

inline std::vector<Case> product_cases() {
  return {
      {"matmul(a[3,4]:T, b[4,5]:T)", "matmul"},
      {"matmul(a[1,1]:T, b[1,1]:T)", "matmul"},
      {"matmul(a[3,0]:T, b[0,2]:T)", "matmul"},
      {"matmul(a[0,3]:T, b[3,2]:T)", "matmul"},
      {"matmul(a[4,3]:T, b[4,5]:T, transpose_a=1)", "transpose a=0 b=1 %0; matmul $ %1"},
      {"matmul(a[3,4]:T, b[5,4]:T, transpose_b=1)", "transpose a=0 b=1 %1; matmul %0 $"},
      {"matmul(a[2,3,4]:T, b[4,2]:T)", "matmul"},
      {"matmul(a[2,1,3,4]:T, b[3,4,2]:T)", "matmul"},
      {"matmul(a[4]:T, b[4]:T)", "matmul"},
      {"matmul(a[2,4]:T, b[4]:T)", "matmul"},
      {"matmul(a[4]:T, b[4,2]:T)", "matmul"},
      {"linear(x[3,4]:T, w[2,4]:T, b[2]:T)", "linear"},
      {"relu(matmul(a[3,2]:T, b[2,4]:T) + c[4]:T)", "matmul %0 %1; operator+ $ %2; relu"},
      {"attention_scores(q[3,4]:T, k[5,4]:T)", "transpose a=0 b=1 %1; matmul %0 $; operator* number=0.5"},
      {"attention(q[3,4]:T, k[5,4]:T, v[5,2]:T)", "scaled_dot_product_attention"},
      {"attention(q[4,2]:T, k[4,2]:T, v[4,3]:T, causal=1)", "scaled_dot_product_attention causal=1"},
      {"attention(q[1,1]:T, k[1,1]:T, v[1,1]:T, causal=1, scale=0.25)", "scaled_dot_product_attention causal=1 scale=0.25"},
      {"softmax(attention_scores(q[4,2]:T, k[4,2]:T, causal=1))", "eye n=4 dtype=float64 %0; scaled_dot_product_attention causal=1 %0 %1 $"},
      // No such class: the sum keeps no term.
      {"cross_entropy(x[5,4]:T, target[5]:i32)", "cross_entropy reduction=none; isnan; where a=0 $ %2"},
  };
}

inline std::vector<Case> window_cases() {
  return {
      {"conv2d(x[2,3,5,6]:T, w[4,3,2,3]:T)", "conv2d"},
      {"conv2d(x[1,2,5,5]:T, w[2,2,3,3]:T, b[2]:T, padding=1)", "conv2d padding=1"},
      {"conv2d(x[1,4,6,5]:T, w[6,2,2,2]:T, stride=2, padding=1, groups=2)", "conv2d stride=2 padding=1 groups=2"},
      {"conv2d(x[2,2,7,7]:T, w[2,1,2,2]:T, stride=3, padding=2, dilation=2, groups=2)", "conv2d stride=3 padding=2 dilation=2 groups=2"},
      {"conv2d(x[1,1,1,1]:T, w[1,1,1,1]:T)", "conv2d"},
      {"conv2d(x[0,1,3,3]:T, w[1,1,2,2]:T)", "conv2d"},
      {"conv2d(relu(x[1,2,4,4]:T), w[1,2,2,2]:T, padding=1)", "relu %0; conv2d padding=1 $ %1"},
      {"conv1d(x[2,3,7]:T, w[2,3,3]:T)", "conv1d"},
      {"conv1d(x[1,4,8]:T, w[4,1,2]:T, stride=2, padding=1, dilation=3, groups=4)", "conv1d stride=2 padding=1 dilation=3 groups=4"},
      {"avg_pool2d(x[2,4,5]:T, size=2)", "avg_pool kernel=2,2 stride=1,1"},
      {"avg_pool2d(x[1,2,6,6]:T, size=3, stride=2, padding=1)", "avg_pool kernel=3,3 stride=2,2 padding=1"},
      {"max_pool2d(x[2,4,5]:T, size=2)", "max_pool kernel=2,2 stride=1,1"},
      {"max_pool2d(x[1,2,6,6]:T, size=[3,3], stride=[2,2], padding=[1,1])", "max_pool kernel=3,3 stride=2,2 padding=1"},
      {"max_pool1d(x[2,7]:T, size=3, stride=2)", "max_pool kernel=3 stride=2"},
      {"avg_pool1d(x[2,7]:T, size=4, stride=3)", "avg_pool kernel=4 stride=3"},
      {"avg_pool1d(x[2,7]:T, size=3, stride=2, padding=1, ceil_mode=1)", "avg_pool kernel=3 stride=2 padding=1 ceil=1"},
      {"avg_pool1d(x[2,8]:T, size=3, stride=2, ceil_mode=1)", "avg_pool kernel=3 stride=2 ceil=1"},
      {"avg_pool1d(x[3,5]:T, size=2, stride=3, padding=1, ceil_mode=1)", "avg_pool kernel=2 stride=3 padding=1 ceil=1"},
      {"avg_pool2d(x[1,2,6,7]:T, size=3, stride=2, padding=1, count_include_pad=0)", "avg_pool kernel=3,3 stride=2,2 padding=1 include_pad=0"},
      {"avg_pool2d(x[2,6,5]:T, size=[3,2], stride=[2,3], padding=[1,0], ceil_mode=1, count_include_pad=0)", "avg_pool kernel=3,2 stride=2,3 padding=1,0 ceil=1 include_pad=0"},
      {"avg_pool2d(x[2,6,6]:T, size=3, stride=2, padding=1, ceil_mode=1, divisor_override=7)", "avg_pool kernel=3,3 stride=2,2 padding=1 ceil=1 divisor=7"},
      {"avg_pool3d(x[1,2,4,5,3]:T, size=2, stride=2, ceil_mode=1)", "avg_pool kernel=2,2,2 stride=2,2,2 ceil=1"},
      {"max_pool1d(x[2,8]:T, size=3, stride=2, ceil_mode=1)", "max_pool kernel=3 stride=2 ceil=1"},
      {"max_pool2d(x[1,2,6,7]:T, size=2, stride=3, padding=1, dilation=2, ceil_mode=1)", "max_pool kernel=2,2 stride=3,3 dilation=2 padding=1 ceil=1"},
      {"max_pool3d(x[1,4,5,3]:T, size=[2,3,1], stride=2)", "max_pool kernel=2,3,1 stride=2,2,2"},
      {"cast(max_pool1d_index(x[3,9]:T, size=3, stride=2, padding=1), T)", "max_pool_index kernel=3 stride=2 padding=1; cast to=float64"},
      {"cast(max_pool2d_index(x[2,6,5]:T, size=3, stride=2, padding=1, ceil_mode=1), T)", "max_pool_index kernel=3,3 stride=2,2 padding=1 ceil=1; cast to=float64"},
      {"cast(max_pool2d_index(x[1,2,7,7]:T, size=2, dilation=2), T)", "max_pool_index kernel=2,2 stride=1,1 dilation=2; cast to=float64"},
      {"conv3d(x[1,2,4,5,3]:T, w[2,2,2,3,1]:T, b[2]:T, padding=[0,1,0], stride=[2,1,1])", "conv3d padding=0,1,0 stride=2,1,1"},
      {"conv_transpose1d(x[2,3,5]:T, w[3,2,3]:T, b[2]:T, stride=2, padding=1, output_padding=1)", "conv_transpose stride=2 padding=1 output_padding=1"},
      {"conv_transpose1d(x[1,4,4]:T, w[4,3,2]:T, stride=3, dilation=2, groups=2)", "conv_transpose stride=3 dilation=2 groups=2"},
      {"conv_transpose1d(x[1,1,3]:T, w[1,1,2]:T, padding=2, stride=3)", "conv_transpose padding=2 stride=3"},
      {"conv_transpose2d(x[1,2,3,4]:T, w[2,2,3,2]:T, b[2]:T, stride=[2,1], padding=[1,0], dilation=[1,2])", "conv_transpose stride=2,1 padding=1,0 dilation=1,2"},
      {"conv_transpose2d(x[2,4,2,3]:T, w[4,1,2,2]:T, b[4]:T, stride=2, output_padding=1, groups=4)", "conv_transpose stride=2 output_padding=1 groups=4"},
      {"adaptive_avg_pool1d(x[2,7]:T, size=3)", "adaptive_avg_pool sizes=3"},
      {"adaptive_avg_pool1d(x[3,4]:T, size=6)", "adaptive_avg_pool sizes=6"},
      {"adaptive_avg_pool2d(x[2,7,10]:T, size=[4,5])", "adaptive_avg_pool sizes=4,5"},
      {"adaptive_avg_pool2d(x[1,2,6,4]:T, size=2)", "adaptive_avg_pool sizes=2,2"},
      {"adaptive_avg_pool2d(relu(x[2,5,3]:T), size=2)", "relu; adaptive_avg_pool sizes=2,2"},
      {"interpolate(x[2,5]:T, size=8)", "interpolate sizes=8 mode=nearest"},
      {"interpolate(x[2,2,7]:T, size=[5,3])", "interpolate sizes=5,3 mode=nearest"},
      {"interpolate(-x[2,3,4]:T, size=[4,6])", "neg; interpolate sizes=4,6 mode=nearest"},
      {"interpolate(x[2,5,3]:T, size=[7,2], mode=nearest_exact)", "interpolate sizes=7,2 mode=nearest_exact"},
      {"interpolate(x[1,2,3,2,4]:T, size=[5,3,2], mode=trilinear)", "interpolate sizes=5,3,2 mode=linear"},
      {"interpolate(x[3,4]:T, size=9, mode=linear)", "interpolate sizes=9 mode=linear"},
      {"interpolate(x[2,9]:T, size=5, mode=linear, align_corners=1)", "interpolate sizes=5 mode=linear corners=1"},
      {"interpolate(x[2,3,4]:T, size=[7,5], mode=bilinear)", "interpolate sizes=7,5 mode=linear"},
      {"interpolate(x[2,6,5]:T, size=[1,9], mode=bilinear, align_corners=1)", "interpolate sizes=1,9 mode=linear corners=1"},
      {"interpolate(exp(x[1,3,2]:T), size=[4,4], mode=bilinear)", "exp; interpolate sizes=4,4 mode=linear"},
      {"interpolate(x[2,4,5]:T, size=[7,3], mode=bicubic)", "bicubic sizes=7,3"},
      {"interpolate(x[2,4,3]:T, size=[6,5], mode=bicubic, align_corners=1)", "bicubic sizes=6,5 corners=1"},
      {"unfold(x[2,2,5,6]:T, size=[2,3], dilation=[2,1], padding=1, stride=2)", "im2col kernel=2,3 dilation=2,1 padding=1 stride=2"},
      {"fold(x[2,8,12]:T, output_size=[4,5], size=2)", "col2im sizes=4,5 kernel=2,2"},
      {"fold(x[1,12,6]:T, output_size=[6,5], size=[2,3], dilation=[2,1], padding=1, stride=[3,2])", "col2im sizes=6,5 kernel=2,3 dilation=2,1 padding=1 stride=3,2"},
      {"windows(x[3,8]:T, size=3, stride=2, dilation=2)", "pool kernel=3 stride=2 dilation=2"},
  };
}

// A gather is a product with the positions' one-hot rows: 0 where there is no such row.
inline std::vector<Case> read_cases() {
  return {
      {"reshape(x[4,6]:T, [3,-1])", "reshape shape=3,-1"},
      {"reshape(transpose(x[4,6]:T), [8,3])", "transpose a=0 b=1; reshape shape=8,3"},
      {"permute(x[2,3,4]:T, order=[2,0,1])", "permute order=2,0,1"},
      {"transpose(x[3,2]:T)", "transpose a=0 b=1"},
      {"transpose(x[3,2,4]:T, a=0, b=2)", "transpose a=0 b=2"},
      {"expand(x[3,1]:T, shape=[2,3,4])", "expand shape=2,3,4"},
      {"pad(x[3,2]:T, before=[1,0], after=[2,3])", "pad before=1,0 after=2,3"},
      {"pad(x[4]:T, before=2, after=1, value=7)", "pad before=2 after=1 mode=constant value=7"},
      {"slice(x[5,6]:T, begin=[1,2], end=[4,6])", "shrink begin=1,2 end=4,6"},
      {"slice(x[5,6]:T, begin=2, end=2)", "shrink begin=0,2 end=5,2"},
      {"stride(x[5,7]:T, steps=[2,-3])", "slice parts=::2,::-3"},
      {"flip(x[3,4]:T)", "flip axes=0,1"},
      {"roll(x[5,2]:T, shift=-1, axis=0)", "roll by=-1 axis=0"},
      {"repeat(x[3,2]:T, times=3)", "repeat_interleave times=3 axis=-1"},
      {"repeat(x[3,2]:T, times=2, axis=0)", "repeat_interleave times=2 axis=0"},
      {"concat(x[2,3]:T, y[4,3]:T)", "cat axis=0"},
      {"concat(x[2,1]:T, exp(y[2,3]:T), axis=-1)", "exp %1; cat axis=-1 %0 $"},
      {"as_strided(x[4,5]:T, shape=[3,4], strides=[6,-1], offset=3)", "flatten first=0; take axis=0 at=3,2,1,0,9,8,7,6,15,14,13,12; reshape shape=3,4"},
      {"diagonal(x[4,6]:T)", "diagonal a=0 b=1"},
      {"sum(diagonal(exp(x[5,3]:T)))", "exp; diagonal a=0 b=1; sum"},
      {"tril(x[4,5]:T)", "tril k=0"},
      {"tril(x[2,3,4]:T, diagonal=-1)", "tril k=-1"},
      {"triu(x[4,3]:T, diagonal=1)", "triu k=1"},
      {"triu(x[2,2]:T, diagonal=-9)", "triu k=-9"},
      {"tril(x[2,2]:T, diagonal=-9)", "tril k=-9"},
      {"arange(size=5, dtype=T) * x[1]:T", "arange begin=0 end=5 dtype=float64 %0; operator* $ %0"},
      {"one_hot(index[4]:i32, classes=3, dtype=T)", "one_hot classes=3"},
      {"gather(table[5,3]:T, index[2,4]:i32)", "one_hot classes=5 %1; double_; matmul $ %0"},
      {"gather(table[5,3]:T * 2, index[4]:i8)", "operator* number=2 %0; one_hot classes=5 %1; double_; matmul $ %2"},
      {"transpose(gather(transpose(flip(table[3,5]:T, axis=0)), index[2,4]:i64), 0, 2)", "flip axes=0 %0; transpose a=0 b=1; one_hot classes=5 %1; double_; matmul $ %3; transpose a=0 b=2"},
      {"exp(pad(gather(table[5,3]:T, 4 - index[4]:i32), before=[1,0], after=[0,2]))", "operator- number=4 side=left %1; one_hot classes=5; double_; matmul $ %0; pad before=1,0 after=0,2; exp"},
      {"as_strided(gather(table[5,3]:T, index[2]:i32), shape=[3,2], strides=[-2,1], offset=4)", "one_hot classes=5 %1; double_; matmul $ %0; flatten first=0; take axis=0 at=4,5,2,3,0,1; reshape shape=3,2"},
      {"sum(reshape(gather(slice(table[7,3]:T, begin=[1,0], end=[6,2]), index[3,2]:i16), [4,3]) * x[4,3]:T, axis=0)", "shrink begin=1,0 end=6,2 %0; one_hot classes=5 %1; double_; matmul $ %3; reshape shape=4,3; operator* $ %2; sum axes=0"},
      {"max(gather(table[1,3]:T, index[4,1]:i32), axis=-1)", "one_hot classes=1 %1; double_; matmul $ %0; max axes=-1"},
      {"gather(table[0,3]:T, index[2]:i32)", "one_hot classes=0 %1; double_; matmul $ %0"},
  };
}
// clang-format on

}  // namespace touchstone::define
