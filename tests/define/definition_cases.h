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
      {"argmax(x[4,3]:T)", "argmax"},
      {"sum(prod(x[4,3,2]:T, axis=[0,2]))", "prod axes=0,2; sum"},
      {"top_k(x[7,2]:T, k=3, axis=0, largest=0)", "topk axis=0 k=3 order=ascending"},
      {"top_k_index(x[2,7]:T, k=3)", "argsort axis=-1 order=descending; shrink begin=0,0 end=2,3"},
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
      {"prod(", ", axis=-1)", "prod axes=-1"},
      {"cumprod(", ")", "cumprod axis=-1"},
      {"any(", ", axis=-1)", "any axes=-1"},
      {"all(", ", axis=-1)", "all axes=-1"},
      {"count_nonzero(", ", axis=-1)", "bool_; long_; sum axes=-1"},
      {"argmax(", ", axis=-1)", "argmax axis=-1"},
      {"argmin(", ", axis=-1)", "argmin axis=-1"},
      {"cummax(", ")", "cummax axis=-1"},
      {"cummin(", ")", "cummin axis=-1"},
      {"sort(", ")", "sort axis=-1"},
      {"sort(", ", descending=1)", "sort axis=-1 order=descending"},
      {"argsort(", ")", "argsort axis=-1"},
      {"top_k(", ", k=1)", "topk axis=-1 k=1"},
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
      {"attention(q[3,4]:T, k[5,4]:T, v[5,2]:T, mask[3,5]:T)", "scaled_dot_product_attention"},
      {"attention(q[2,3,4]:T, k[5,4]:T, v[2,5,2]:T, mask[3,1]:T, scale=0.25)", "scaled_dot_product_attention scale=0.25"},
      {"attention(q[4,3]:T, k[6,3]:T, v[6,2]:T, mask[4,6]:T < 1, causal=1)", "operator< number=1 %3; scaled_dot_product_attention causal=1 %0 %1 %2 $"},
      {"attention(q[4,3]:T, k[2,3]:T, v[2,2]:T, mask[4,2]:T < 0, empty=zero)", "operator< number=0 %3; scaled_dot_product_attention %0 %1 %2 $; isnan; where a=0 $ %5"},
      {"attention(q[3,2]:T, k[4,2]:T, v[4,3]:T, dropout=d[3,4]:T)", "transpose a=0 b=1 %1; matmul %0 $; operator* number=0.7071067811865475244; softmax axis=-1; operator* $ %3; matmul $ %2"},
      {"attention(q[2,4,3,2]:T, k[2,2,5,2]:T, v[2,2,5,3]:T, mask[5]:T)", "repeat_interleave times=2 axis=1 %1; repeat_interleave times=2 axis=1 %2; scaled_dot_product_attention %0 %4 %5 %3"},
      {"softmax(attention_scores(q[3,2]:T, k[4,2]:T, mask[3,4]:T < 1))", "operator< number=1 %2; eye n=4 dtype=float64 %0; scaled_dot_product_attention %0 %1 $ %3"},
      {"masked_softmax(x[3,4]:T, mask[4]:T < 1)", "operator< number=1 %1; where b=-inf $ %0; softmax axis=-1"},
      {"masked_softmax(x[3,4]:T, mask[3,1]:T, axis=0, empty=zero)", "operator+; softmax axis=0"},
      // No such class: the sum keeps no term.
      {"cross_entropy(x[5,4]:T, target[5]:i32)", "cross_entropy reduction=none; isnan; where a=0 $ %2"},
  };
}

inline std::vector<Case> layer_cases() {
  std::vector<Case> all = {
      {"leaky_relu(x[9]:T, slope=0.25)", "leaky_relu slope=0.25"},
      {"prelu(x[2,3,4]:T, w[3]:T)", "reshape shape=3,1 %1; operator* $ %0; operator< number=0 %0; where $ %3 %0"},
      {"prelu(x[3,4]:T, w[1]:T)", "operator*; operator< number=0 %0; where $ %2 %0"},
      {"elu(x[9]:T)", "elu"},
      {"elu(x[9]:T, alpha=0.3)", "elu alpha=0.3"},
      {"celu(x[9]:T, alpha=0.7)", "celu alpha=0.7"},
      {"clamp(x[9]:T, low=-1, high=0.5)", "clamp low=-1 high=0.5"},
      {"clamp(x[9]:T, low=y[9]:T)", "maximum"},
      {"clamp(x[9]:T, high=y[9]:T)", "minimum"},
      {"hardtanh(x[9]:T)", "hardtanh"},
      {"hardtanh(x[9]:T, low=0, high=0.3)", "hardtanh low=0 high=0.3"},
      {"relu6(3*x[9]:T)", "operator* number=3; relu6"},
      {"hardsigmoid(2*x[9]:T)", "operator* number=2; hardsigmoid"},
      {"hardswish(2*x[9]:T)", "operator* number=2; hardswish"},
      {"mish(x[9]:T)", "mish"},
      {"softsign(x[9]:T)", "softsign"},
      {"logsigmoid(x[9]:T)", "log_sigmoid"},
      {"threshold(x[9]:T, threshold=0.5, value=7)", "operator<= number=0.5 %0; where a=7 $ %0"},
      {"glu(x[2,6]:T)", "shrink begin=0,3 end=2,6 %0; sigmoid; shrink begin=0,0 end=2,3 %0; operator* $ %2"},
      {"glu(x[3]:T, y[3]:T)", "sigmoid %1; operator* $ %0"},
      {"swiglu(x[4,2]:T, axis=0)", "shrink begin=0,0 end=2,2 %0; silu; shrink begin=2,0 end=4,2 %0; operator* $ %2"},
      {"geglu(x[2,3]:T, y[3]:T)", "gelu form=erf %0; operator* $ %1"},
      {"dropout(x[9]:T, kept[9]:T < 1, p=0.25)", "operator< number=1 %1; operator/ number=0.75 %0; where b=0 %2 $"},
      {"dropout(x[9]:T, kept[9]:T)", "operator*; operator/ number=0.5"},
      {"cross_entropy(x[2,3,4]:T, abs(t[2,4]:i32))", "abs %1; cross_entropy nd=1 reduction=none %0 $; isnan; where a=0 $ %3"},
      {"cross_entropy(x[3,5,2,2]:T, abs(t[3,2,2]:i16), w[5]:T, label_smoothing=0.3)", "abs %1; cross_entropy nd=1 reduction=none smoothing=0.3 %0 $ %2"},
      {"cross_entropy(x[4,6]:T, abs(t[4]:i8), ignore_index=1, label_smoothing=0.1, reduction=mean)", "abs %1; cross_entropy nd=1 ignore=1 smoothing=0.1 %0 $"},
      {"cross_entropy(x[4,6,2]:T, abs(t[4,2]:i32), w[6]:T*w + 1, ignore_index=0, reduction=mean)", "square %2; operator+ number=1; abs %1; cross_entropy nd=1 ignore=0 %0 $ %4"},
      {"cross_entropy(x[4,6]:T, t[4]:i32, ignore_index=7, reduction=sum)", "abs %1; cross_entropy nd=1 reduction=none %0 %1; isnan; where a=0 $ %3; sum"},
      {"nll_loss(x[3,5]:T, abs(t[3]:i64))", "abs %1; nll_loss reduction=none %0 $"},
      {"nll_loss(x[3,5,2]:T, abs(t[3,2]:i64), w[5]:T*w + 1, reduction=mean)", "square %2; operator+ number=1; abs %1; nll_loss nd=1 %0 $ %4"},
      {"mse_loss(x[3,4]:T, y[3,4]:T)", "mse_loss reduction=none"},
      {"l1_loss(x[3,4]:T, y[3,4]:T)", "l1_loss reduction=none"},
      {"smooth_l1_loss(x[3,4]:T, y[3,4]:T, beta=0.7)", "smooth_l1_loss reduction=none beta=0.7"},
      {"huber_loss(x[3,4]:T, y[3,4]:T, delta=1.5)", "huber_loss reduction=none delta=1.5"},
      {"binary_cross_entropy(sigmoid(x[7]:T/64), sigmoid(y[7]:T/64))", "operator/ number=64 %0; sigmoid; operator/ number=64 %1; sigmoid; binary_cross_entropy reduction=none %3 $"},
      {"binary_cross_entropy(sigmoid(x[7]:T/64), sigmoid(y[7]:T/64), w[7]:T)", "operator/ number=64 %0; sigmoid; operator/ number=64 %1; sigmoid; binary_cross_entropy reduction=none %4 $; operator* $ %2"},
      {"binary_cross_entropy_with_logits(x[7]:T, sigmoid(y[7]:T/64))", "operator/ number=64 %1; sigmoid; binary_cross_entropy_with_logits reduction=none %0 $"},
      {"binary_cross_entropy_with_logits(x[7]:T, y[7]:T, w[7]:T, pos_weight=3)", "operator- number=1 side=left %1; operator* $ %0; operator* number=2 %1; operator+ number=1; neg %0; softplus; operator* $ %6; operator+ $ %4; operator* $ %2"},
      {"kl_div(x[3,4]:T, abs(t[3,4]:T))", "abs %1; kl_div reduction=none %0 $"},
      {"kl_div(x[3,4]:T, t[3,4]:T, log_target=1)", "kl_div log_target=1 reduction=none"},
      {"kl_div(x[3,4]:T, t[3,4]:T, log_target=1, reduction=batchmean)", "kl_div log_target=1 reduction=sum; operator/ number=3"},
      {"rnn_cell(x[3,4]:T, h[3,2]:T, w[2,4]:T, u[2,2]:T, b[2]:T, d[2]:T)", "rnn_cell"},
      {"rnn_cell(x[4]:T, h[2]:T, w[2,4]:T, u[2,2]:T, b[2]:T, d[2]:T, activation=relu)", "rnn_cell activation=relu"},
      {"lstm_cell(x[3,4]:T, h[3,2]:T, c[3,2]:T, w[8,4]:T, u[8,2]:T, b[8]:T, d[8]:T)", "lstm_cell"},
      {"lstm_cell_c(x[3,4]:T, h[3,2]:T, c[3,2]:T, w[8,4]:T, u[8,2]:T, b[8]:T, d[8]:T)", "lstm_cell_c"},
      {"gru_cell(x[3,4]:T, h[3,2]:T, w[6,4]:T, u[6,2]:T, b[6]:T, d[6]:T)", "gru_cell"},
      {"gru_cell(x[3,4]:T, h[3,2]:T, w[6,4]:T, u[6,2]:T, b[6]:T, d[6]:T, linear_before_reset=0)", "gru_cell reset_first=1"},
      {"rope(x[2,3,6]:T, c[3,3]:T, s[3,3]:T)", "rope"},
      {"rope(x[2,3,6]:T, c[3,6]:T, s[3,6]:T, interleaved=1)", "rope interleaved=1"},
      {"rope(x[3,4]:T, c[3,4]:T, s[3,2]:T)", "rope"},
      {"rope(x[3,4]:T, c[3,2]:T, s[1,2]:T, interleaved=1)", "rope interleaved=1"},
      {"complex_mul(x[3,2]:T, y[4,1,2]:T)", "complex_mul"},
      {"complex_exp(x[3,2]:T)", "complex_exp"},
      {"complex_abs(x[3,4,2]:T)", "complex_abs"},
      {"complex_matmul(x[3,4,2]:T, y[4,2,2]:T)", "complex_matmul"},
  };
  for (const char* loss : {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"})
    for (const char* reduction : {"mean", "sum"})
      all.push_back({std::string(loss) + "(x[3,4]:T, y[3,4]:T, reduction=" + reduction + ")", std::string(loss) + " reduction=" + reduction});
  for (const char* size : {"1", "2", "3", "4", "5", "6", "8", "12", "15"})
    for (const char* name : {"dft", "idft"})
      all.push_back({std::string(name) + "(x[2," + size + ",2]:T)", name});
  return all;
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
      {"take_along(x[5,3]:T, index[4,3]:i32, axis=0)", "gather axis=0"},
      {"take_along(x[2,6]:T, index[2,9]:i64)", "gather axis=-1"},
      {"take_along(x[3,5,4]:T, index[2,7,3]:i8, axis=1)", "gather axis=1"},
      {"take_along(transpose(x[2,3,6]:T), index[2,4,3]:i32, axis=-2)", "transpose a=1 b=2 %0; gather axis=1 $ %1"},
      {"take_along(x[3,5]:T * 2, index[3,4]:i8)", "operator* number=2 %0; gather axis=-1 $ %1"},
      {"sum(exp(take_along(x[3,90]:T, index[3,4]:i32)), axis=0)", "gather axis=-1; exp; sum axes=0"},
      {"take_along(exp(x[3,90]:T), index[3,4]:i32)", "exp %0; gather axis=-1 $ %1"},
      {"index_select(x[5,3]:T, index[4]:i32)", "take axis=0"},
      {"index_select(x[2,5,3]:T, index[4,2]:i64, axis=-2)", "take axis=1"},
      {"index_select(2 - x[2,5,3]:T, index[4,2]:i64, axis=1)", "operator- number=2 side=left %0; take axis=1 $ %1"},
      {"index_select(x[5]:T, index[]:i32)", "take axis=0"},
  };
}

inline std::vector<Case> scatter_cases() {
  return {
      {"scatter(x[6,3]:T, index[4,3]:i32, u[4,3]:T)", "scatter axis=0"},
      {"scatter(x[3,5]:T, index[2,9]:i64, u[2,9]:T, axis=-1)", "scatter axis=-1"},
      {"scatter(2*x[2,5,2]:T, index[2,3,2]:i8, u[2,3,2]:T*u, axis=1)", "operator* number=2 %0; square %2; scatter axis=1 %3 %1 %4"},
      {"scatter(x[80]:T, index[9]:i32, u[9]:T, reduce=add)", "scatter_add axis=0"},
      {"scatter(x[3,5]:T, index[2,9]:i64, u[2,9]:T, axis=1, reduce=add)", "scatter_add axis=1"},
      {"relu(scatter(x[3,5]:T, index[3,2]:i64, x*x, axis=1, reduce=add))", "square %0; shrink begin=0,0 end=3,2; scatter_add axis=1 %0 %1 $; relu"},
      {"scatter(x[5]:T, index[1]:i32, u[1]:T, reduce=max) + scatter(x, index, u, reduce=min)", "gather axis=0 %0 %1; minimum $ %2; scatter axis=0 %0 %1 $; gather axis=0 %0 %1; maximum $ %2; scatter axis=0 %0 %1 $; operator+ %5 %8"},
      {"scatter_nd(x[6,3]:T, index[2,1]:i32, u[2,3]:T, reduce=add)", "expand shape=2,3 %1; scatter_add axis=0 %0 $ %2"},
      {"index_add(x[5,3]:T, index[4]:i32, u[4,3]:T)", "reshape shape=4,1 %1; expand shape=4,3; scatter_add axis=0 %0 $ %2"},
      {"index_add(x[2,5]:T, index[4]:i32, u[2,4]:T, axis=1)", "reshape shape=1,4 %1; expand shape=2,4; scatter_add axis=1 %0 $ %2"},
      {"segment_sum(x[7,2]:T, index[7]:i32, segments=3)", "one_hot classes=3 %1; double_; transpose a=0 b=1; matmul $ %0"},
      {"embedding_bag(t[5,3]:T, index[4,2]:i32, mode=sum)", "one_hot classes=5 %1; double_; matmul $ %0; sum axes=1"},
      {"embedding_bag(t[5,3]:T, index[4,2]:i32)", "one_hot classes=5 %1; double_; matmul $ %0; mean axes=1"},
      {"embedding_bag(t[5,3]:T, index[4,2]:i32, mode=max)", "one_hot classes=5 %1; double_; matmul $ %0; max axes=1"},
      {"embedding_bag(t[5,3]:T, index[4,6]:i32, w[4,6]:T, mode=sum)", "one_hot classes=5 %1; double_; matmul $ %0; reshape shape=4,6,1 %2; operator* %5 %6; sum axes=1"},
  };
}
// clang-format on

}  // namespace touchstone::define
